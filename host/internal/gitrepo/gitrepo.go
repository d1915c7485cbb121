// Package gitrepo runs Git in a repository that it does not trust, and adds worktrees to it.
//
// Guarantees:
//   - Programs that the repository's settings name for hooks, file watching and filters of files do not run.
//   - Git fetches nothing, not even objects that a partial clone lacks.
//   - Variables of Git in the environment, such as GIT_DIR, have no effect.
//   - A worktree with changes is never removed.
//   - Git ends with the context, and so does what it started.
package gitrepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/installer/safefile"
)

// Run runs Git in a directory and returns its output. Env is added to the environment.
func Run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	return feed(ctx, dir, env, "", args...)
}

// feed is [Run] with an input.
func feed(ctx context.Context, dir string, env []string, input string, args ...string) (string, error) {
	options := []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}
	if filtering[args[0]] {
		more, err := unfiltered(ctx, dir, env, args)
		if err != nil {
			return "", err
		}
		options = append(options, more...)
	}
	cmd := exec.CommandContext(ctx, "git", append(options, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	subprocess.Whole(cmd)
	for _, v := range os.Environ() {
		switch key, _, _ := strings.Cut(v, "="); key {
		case "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL": // not the dates, which would be those of another commit
		default:
			if strings.HasPrefix(key, "GIT_") && !strings.HasPrefix(key, "GIT_CONFIG") {
				continue
			}
		}
		cmd.Env = append(cmd.Env, v)
	}
	protocol := "none"
	if args[0] == "clone" { // of another directory
		protocol = "file"
	}
	cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL="+protocol)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if failed := failedFilter().FindSubmatch(exit.Stderr); failed != nil && slices.Contains(options, "filter."+string(failed[1])+".required=true") {
			return "", refused(string(failed[1]))
		}
		return "", fmt.Errorf("git %s: %s", args[0], event.OneLine(strings.TrimSpace(string(exit.Stderr))))
	}
	return strings.TrimSpace(string(out)), err
}

// Top returns the top directory of the worktree that a directory is in, without links.
func Top(ctx context.Context, dir string) (string, error) {
	top, err := Run(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(top)
}

// HasBranch reports whether a repository has a branch.
func HasBranch(ctx context.Context, dir, branch string) bool {
	_, err := Run(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	return err == nil
}

// HasTag reports whether a repository has a tag.
func HasTag(ctx context.Context, dir, tag string) bool {
	_, err := Run(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "refs/tags/"+tag)
	return err == nil
}

// IsAt reports whether a branch is at a commit. A branch that does not exist is no error.
func IsAt(ctx context.Context, dir, branch, commit string) (bool, error) {
	at, err := Run(ctx, dir, nil, "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
	return at == commit, err
}

// CreateBranch makes a branch at a commit that the repository has. One that exists stays.
func CreateBranch(ctx context.Context, dir, branch, commit string) error {
	_, err := Run(ctx, dir, nil, "update-ref", "-m", "tidemark: branch "+branch, "refs/heads/"+branch, commit, strings.Repeat("0", len(commit)))
	return err
}

// DeleteBranch deletes a branch that is at a commit. One that is checked out, or that has other commits, stays.
func DeleteBranch(ctx context.Context, dir, branch, commit string) error {
	at, err := Run(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if err != nil {
		return usererr.New(usererr.NotFound, "the repository has no branch %s any more", branch)
	}
	if at != commit {
		return usererr.New(usererr.ActionRefused, "the branch %s in Git is at %.10s now, so it was not deleted. Delete it with `git branch -D`.", branch, at)
	}
	_, err = Run(ctx, dir, nil, "branch", "--quiet", "-D", "--", branch)
	return err
}

// Main returns the top directory of a repository's main worktree.
func Main(ctx context.Context, dir string) (string, error) {
	list, err := Run(ctx, dir, nil, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(list, "\x00")
	top, ok := strings.CutPrefix(first, "worktree ")
	if !ok {
		return "", fmt.Errorf("git worktree list: %q names no directory", event.OneLine(first))
	}
	return top, nil
}

// worktreeBranch is the branch of a worktree, as Claude Code names it.
func worktreeBranch(name string) string { return "worktree-" + name }

// AddWorktree makes a worktree where Claude Code has its own, with what is checked out, and returns its directory. One of the same
// name that is there already is used again. Names that differ are directories and branches that differ, see [Slug].
func AddWorktree(ctx context.Context, dir, name string) (string, error) {
	name = Slug(name)
	top, err := Main(ctx, dir)
	if err != nil {
		return "", err
	}
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return "", err
	}
	path := filepath.Join(top, ".claude", "worktrees", name)
	if at, err := Top(ctx, path); err == nil && at == path {
		return path, nil
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) { // it may have been removed by hand
		if err := forget(ctx, top, path); err != nil {
			return "", err
		}
	}
	args := []string{"worktree", "add", "--quiet", "-b", worktreeBranch(name), "--", path}
	if HasBranch(ctx, top, worktreeBranch(name)) {
		args = []string{"worktree", "add", "--quiet", "--", path, worktreeBranch(name)}
	}
	if _, err = Run(ctx, dir, nil, args...); err != nil {
		return "", err
	}
	return path, include(ctx, top, path)
}

// maxInclude bounds the patterns of a .worktreeinclude, in bytes.
const maxInclude = 256 << 10

// include copies the ignored files that .worktreeinclude names, as Claude Code does.
func include(ctx context.Context, top, path string) error {
	const list = ".worktreeinclude"
	patterns, err := safefile.Read(filepath.Join(top, list), maxInclude)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // most projects have none
	}
	if err != nil {
		return err
	}
	// Git gets what was read: the repository can replace the file.
	dir, err := os.MkdirTemp("", "tidemark-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	read := filepath.Join(dir, "include")
	if err := os.WriteFile(read, patterns, 0o600); err != nil {
		return err
	}
	var lists [2][]string
	for i, which := range []string{"--exclude-from=" + read, "--exclude-standard"} {
		out, err := Run(ctx, top, nil, "ls-files", "--others", "--ignored", "-z", which)
		if err != nil {
			return err
		}
		lists[i] = strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	}
	from, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	for _, name := range lists[0] {
		info, err := from.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || !slices.Contains(lists[1], name) {
			continue
		}
		data, err := from.ReadFile(name)
		if err == nil {
			err = to.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err == nil {
			err = to.WriteFile(name, data, info.Mode().Perm())
		}
		if err != nil {
			return fmt.Errorf("cannot copy %s, which %s names: %w", event.OneLine(name), list, err)
		}
	}
	return nil
}

// BranchOf returns the branch that is checked out in a worktree, "" for none.
func BranchOf(ctx context.Context, path string) string {
	branch, err := Run(ctx, path, nil, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return ""
	}
	return branch
}

// RemoveWorktree removes a worktree without changes, and its branch where that has no commit of its own. Git forgets one whose
// directory no longer exists, where another directory is in the repository.
func RemoveWorktree(ctx context.Context, dir, path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return forgetMissing(ctx, dir, filepath.Clean(path))
	}
	top, err := Main(ctx, path)
	if err != nil {
		return err
	}
	branch := BranchOf(ctx, path)
	if _, err := Run(ctx, top, nil, "worktree", "remove", "--", path); err != nil {
		return err
	}
	return Unregister(ctx, top, path, branch)
}

// maxSlug bounds a slug in bytes. maxHash are those of the hash in one.
const (
	maxSlug = 40
	maxHash = 8
)

var (
	// plain is a name that is its own slug, hashed one that looks like a slug with a hash.
	plain  = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,39}$`)
	hashed = lazyregexp.New(`-[0-9a-f]{8}$`)
)

// Slug returns a name as the name of a directory and of a branch: lower-case letters, digits, - and _. A name that has other
// characters or is long gets a hash, so that names that differ have slugs that differ.
func Slug(name string) string {
	if plain().MatchString(name) && !hashed().MatchString(name) {
		return name
	}
	slug := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	slug = strings.Trim(slug[:min(len(slug), maxSlug-1-maxHash)], "-_")
	if slug == "" {
		slug = "worktree"
	}
	sum := sha256.Sum256([]byte(name))
	return slug + "-" + hex.EncodeToString(sum[:maxHash/2])
}

// Apart removes the ".git" files of worktrees from a copy of a project: they name what belongs to the worktrees in the project itself, and
// Git in the copy would change those. The worktrees are those of repositories that begin in the project or in a directory of it.
func Apart(project, dir string) error {
	var known []string
	for _, pattern := range []string{".git", "*"} { // a bare repository beside its worktrees has another name
		list, err := filepath.Glob(filepath.Join(globbed(project), pattern, "worktrees", "*", "gitdir"))
		if err != nil {
			return err
		}
		known = append(known, list...)
	}
	for _, name := range known {
		data, err := safefile.Read(name, maxGitFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		at := strings.TrimSpace(string(data))
		if !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(name), at)
		}
		rel, err := filepath.Rel(project, at)
		if err != nil || !filepath.IsLocal(rel) || rel == ".git" || filepath.Base(rel) != ".git" {
			continue
		}
		copied := filepath.Join(dir, rel)
		if info, err := os.Lstat(copied); err == nil && info.Mode().IsRegular() {
			if err := os.Remove(copied); err != nil {
				return err
			}
		}
	}
	return nil
}

// globbed returns a path as a pattern that matches it alone.
func globbed(path string) string {
	if filepath.Separator == '\\' { // there, a pattern escapes nothing
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// maxGitFile bounds a file that names a worktree in bytes.
const maxGitFile = 64 << 10
