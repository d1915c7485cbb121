package branches

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// commit makes a branch in the repository of root with the files of a session's workspace.
func commit(ctx context.Context, root string, s *records.Session, p CommitParams) (*Committed, error) {
	top, err := gitrepo.Top(ctx, root)
	if err != nil {
		return nil, usererr.New(usererr.NotFound, "cannot commit the branch: %s is not in a Git repository (%v)", root, err)
	}
	if top != root {
		return nil, usererr.New(usererr.NotFound, "cannot commit the branch: the repository begins at %s, and the workspace is %s. Copy the changes with `tidemark branch apply`.", top, root)
	}
	ref := "refs/heads/" + p.As
	if _, err := gitrepo.Run(ctx, root, nil, "check-ref-format", ref); err != nil || strings.HasPrefix(p.As, "-") {
		return nil, usererr.Invalid("%q cannot be the name of a branch in Git", event.Clean(p.As))
	}
	if gitrepo.HasBranch(ctx, root, p.As) {
		return nil, usererr.New(usererr.AlreadyExists, "the repository already has a branch %q. Choose another name with --as.", p.As)
	}
	c := &Committed{Branch: p.As}
	c.Parent, c.Note = parentOf(ctx, root, s.Started)
	dir, err := gitrepo.Run(ctx, root, nil, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "tidemark-index-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	env := []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + s.Workspace, "GIT_INDEX_FILE=" + filepath.Join(temp, "index")}
	in := func(args ...string) (string, error) { return gitrepo.Run(ctx, s.Workspace, env, args...) }
	if c.Parent != "" {
		if _, err := in("read-tree", c.Parent); err != nil {
			return nil, err
		}
	}
	if _, err := in("add", "--all", "."); err != nil {
		return nil, err
	}
	tree, err := in("write-tree")
	if err != nil {
		return nil, err
	}
	args := []string{"commit-tree", "-m", p.Message, tree}
	if c.Parent != "" {
		args = append(args, "-p", c.Parent)
		changed, err := in("diff-tree", "-r", "--name-only", c.Parent, tree)
		if err != nil {
			return nil, err
		}
		if c.Files = len(strings.Fields(changed)); changed == "" {
			return nil, usererr.New(usererr.NotFound, "branch %s has no change that Git would commit: its files are those of %.10s", s.Name, c.Parent)
		}
	}
	if c.Commit, err = in(args...); err != nil {
		return nil, err
	}
	_, err = gitrepo.Run(ctx, root, nil, "update-ref", "-m", "tidemark: branch "+s.Name, ref, c.Commit, strings.Repeat("0", len(c.Commit)))
	return c, err
}

// parentOf returns the commit that was checked out at a time, "" where there is none. Note says where it is another one.
func parentOf(ctx context.Context, root string, at time.Time) (commit, note string) {
	head, err := gitrepo.Run(ctx, root, nil, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return "", "the repository has no commit yet"
	}
	then, err := gitrepo.Run(ctx, root, nil, "rev-parse", "--verify", "--quiet", "HEAD@{"+at.UTC().Format("2006-01-02 15:04:05 +0000")+"}")
	if err != nil || then == "" {
		return head, "what was checked out at that time is not known, so the parent is the present commit"
	}
	return then, ""
}
