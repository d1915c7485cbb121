package branches

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/installer/safefile"
)

// commit makes a commit in the repository of root with the files of a session's workspace. The caller has a branch name it. What the
// workspace lacks, and what Git hides from its user, stays as it was. Index is the path of a temporary index. Before is the operation
// that made the branch in Git, nil for none: a commit that would be the same is that of before.
func commit(ctx context.Context, root, index string, s *records.Session, p CommitParams, before *records.Operation, lacks func(path string) bool) (*Committed, error) {
	top, err := gitrepo.Top(ctx, root)
	if err != nil {
		return nil, usererr.New(usererr.NotFound, "cannot commit the branch: %s is not in a Git repository (%v)", root, err)
	}
	if top != root {
		return nil, usererr.New(usererr.NotFound, "cannot commit the branch: the repository begins at %s, and the workspace is %s. Copy the changes with `tidemark branch apply`.", top, root)
	}
	if name, err := gitrepo.Run(ctx, root, nil, "check-ref-format", "--branch", p.As); err != nil || name != p.As {
		return nil, usererr.Invalid("%q cannot be the name of a branch in Git", event.Clean(p.As))
	}
	taken := usererr.New(usererr.AlreadyExists, "the repository already has a branch %q. Choose another name with --as.", p.As)
	if !gitrepo.HasBranch(ctx, root, p.As) {
		before = nil
	} else if before == nil {
		return nil, taken
	} else if is, err := gitrepo.IsAt(ctx, root, p.As, before.Commit); err != nil || !is {
		return nil, cmp.Or(err, taken)
	}
	c := &Committed{Branch: p.As, Ref: p.As}
	if gitrepo.HasTag(ctx, root, p.As) {
		c.Ref = "heads/" + p.As
	}
	notes := []string{}
	if c.Parent, c.Note = parentOf(ctx, root, s.Started); c.Note != "" {
		notes = append(notes, c.Note)
	}
	dir, err := gitrepo.Run(ctx, root, nil, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	env := []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + s.Workspace, "GIT_INDEX_FILE=" + index}
	in := func(args ...string) (string, error) { return gitrepo.Run(ctx, s.Workspace, env, args...) }
	if c.Parent != "" {
		if _, err := in("read-tree", c.Parent); err != nil {
			return nil, err
		}
	}
	modules, err := gitrepo.Submodules(ctx, s.Workspace, env)
	if err != nil {
		return nil, err
	}
	if _, err := in(append([]string{"add", "--all", "--", "."}, excluded(modules)...)...); err != nil {
		return nil, err
	}
	others, err := gitrepo.Submodules(ctx, s.Workspace, env)
	if err != nil {
		return nil, err
	}
	others = slices.DeleteFunc(others, func(path string) bool { return slices.Contains(modules, path) })
	hidden, err := unstage(ctx, in, root, c.Parent, others, lacks)
	if err != nil {
		return nil, err
	}
	if len(hidden) > 0 {
		notes = append(notes, fmt.Sprintf("what changed in files that the index of the original hides (assume-unchanged, skip-worktree) is not in the commit: %s", event.OneLine(strings.Join(hidden, ", "))))
	}
	if len(modules) > 0 {
		notes = append(notes, fmt.Sprintf("the commit leaves out what is in submodules, because they are repositories of their own: %s", event.OneLine(strings.Join(modules, ", "))))
	}
	if sign, _ := in("config", "--type=bool", "commit.gpgsign"); sign == "true" {
		notes = append(notes, "the commit is not signed: a signature may need you. `git commit --amend --no-edit -S` signs it")
	}
	c.Note = strings.Join(notes, "; ")
	tree, err := in("write-tree")
	if err != nil {
		return nil, err
	}
	if before != nil {
		was, err := in("show", "-s", "--format=%T%n%P%n%B", before.Commit)
		if err != nil {
			return nil, err
		}
		if call := tool.CallOf(ctx); call != "" && call == before.Call {
			tree, c.Parent, _ = strings.Cut(was, "\n")
			c.Parent, _, _ = strings.Cut(c.Parent, "\n")
		} else if was != tree+"\n"+c.Parent+"\n"+p.Message {
			return nil, taken
		}
	}
	args := []string{"commit-tree", "-m", p.Message, tree}
	if c.Parent == "" {
		all, err := in("ls-tree", "-r", "-z", "--name-only", tree)
		if err != nil {
			return nil, err
		}
		c.Files = strings.Count(all, "\x00")
	} else {
		args = append(args, "-p", c.Parent)
		changed, err := in("diff-tree", "-r", "-z", "--name-only", c.Parent, tree)
		if err != nil {
			return nil, err
		}
		if c.Files = strings.Count(changed, "\x00"); changed == "" {
			return nil, usererr.New(usererr.NotFound, "branch %s has no change that Git would commit: its files are those of %.10s", s.Name, c.Parent)
		}
	}
	if before != nil {
		c.Commit = before.Commit
		return c, nil
	}
	env = append(env, author(in)...)
	c.Commit, err = in(args...)
	return c, err
}

// author returns the variables by which a commit is of whom the repository's settings name. The environment of the daemon may be that of
// a hook of Git, with the author of another commit.
func author(in func(args ...string) (string, error)) (env []string) {
	for setting, variable := range map[string]string{"user.name": "NAME", "user.email": "EMAIL"} {
		if value, err := in("config", setting); err == nil && value != "" {
			env = append(env, "GIT_AUTHOR_"+variable+"="+value, "GIT_COMMITTER_"+variable+"="+value)
		}
	}
	return env
}

// excluded returns paths as pathspecs of what is left out.
func excluded(paths []string) (specs []string) {
	for _, path := range paths {
		specs = append(specs, ":(exclude,top,literal)"+path)
	}
	return specs
}

// unstage sets the entries of an index back to those of a commit that a branch says nothing about: other repositories in it, deleted
// files that it lacks, and files that the index of the original hides, such as those outside of a sparse checkout. It returns those of
// the last that the branch changed.
func unstage(ctx context.Context, in func(args ...string) (string, error), root, parent string, others []string, lacks func(path string) bool) (changed []string, err error) {
	for _, path := range others {
		if _, err := in("update-index", "--force-remove", "--", path); err != nil {
			return nil, err
		}
	}
	if parent == "" {
		return nil, nil
	}
	differing := func(how string) (string, error) {
		return in("diff", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter="+how, parent)
	}
	deleted, err := differing("D")
	if err != nil {
		return nil, err
	}
	edited, err := differing("AMT")
	if err != nil {
		return nil, err
	}
	hidden, err := gitrepo.Run(ctx, root, nil, "ls-files", "-v", "-z")
	if err != nil {
		return nil, err
	}
	var list []string
	for path := range strings.SplitSeq(deleted, "\x00") {
		if path != "" && lacks(path) {
			list = append(list, path)
		}
	}
	for entry := range strings.SplitSeq(hidden, "\x00") { // S for skip-worktree; lower case for assume-unchanged
		if tag, path, _ := strings.Cut(entry, " "); tag == "S" || tag != strings.ToUpper(tag) {
			if list = append(list, path); strings.Contains("\x00"+edited, "\x00"+path+"\x00") {
				changed = append(changed, path)
			}
		}
	}
	for some := range slices.Chunk(list, maxPaths) {
		if _, err := in(append([]string{"--literal-pathspecs", "reset", "-q", parent, "--"}, some...)...); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// maxPaths bounds the paths in one command.
const maxPaths = 500

// parentOf returns the commit that was checked out at a time, "" where there was none. Note says why there is none, or that it is
// another one.
func parentOf(ctx context.Context, root string, at time.Time) (commit, note string) {
	head, err := gitrepo.Run(ctx, root, nil, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return parentOfUnborn(ctx, root, at)
	}
	then, err := gitrepo.Run(ctx, root, nil, "rev-parse", "--verify", "--quiet", "HEAD@{"+at.UTC().Format("2006-01-02 15:04:05 +0000")+"}")
	if err != nil || then == "" {
		return head, "what was checked out at that time is not known, so the parent is the present commit"
	}
	return then, ""
}

// parentOfUnborn is [parentOf] where a branch without a commit is checked out now. Git does not log when such a branch was checked out,
// but writes HEAD then.
func parentOfUnborn(ctx context.Context, root string, at time.Time) (commit, note string) {
	if any, err := gitrepo.Run(ctx, root, nil, "rev-list", "--max-count=1", "--all"); err == nil && any == "" {
		return "", "the repository has no commit yet, so this is its first one"
	}
	path := func(name string) string {
		path, err := gitrepo.Run(ctx, root, nil, "rev-parse", "--git-path", name)
		if err != nil || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(root, path)
	}
	if info, err := os.Lstat(path("HEAD")); err == nil && info.ModTime().After(at) {
		if log, err := safefile.Read(path("logs/HEAD"), maxHeadLog); err == nil {
			commit = loggedAt(string(log), at)
		}
		if _, err := gitrepo.Run(ctx, root, nil, "rev-parse", "--verify", "--quiet", commit+"^{commit}"); commit != "" && err == nil {
			return commit, ""
		}
	}
	name, err := gitrepo.Run(ctx, root, nil, "symbolic-ref", "--short", "HEAD")
	if err != nil {
		name = "HEAD"
	}
	return "", fmt.Sprintf("this commit has no parent, because the branch that is checked out, %s, has no commit yet. Other branches take it over only with `git merge --allow-unrelated-histories`", event.Clean(name))
}

// maxHeadLog bounds the log of HEAD in bytes.
const maxHeadLog = 64 << 20

// loggedAt returns the commit that a log of HEAD has for a time, "" for none.
func loggedAt(log string, at time.Time) (commit string) {
	for line := range strings.Lines(log) {
		head, _, _ := strings.Cut(line, "\t")
		fields := strings.Fields(head) // before, after, the author, seconds, time zone
		if len(fields) < 4 {
			continue
		}
		if seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64); err == nil && seconds <= at.Unix() {
			commit = fields[1]
		}
	}
	return commit
}
