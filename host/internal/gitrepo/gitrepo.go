// Package gitrepo runs Git in a repository that it does not trust, and adds worktrees to it.
//
// Guarantees:
//   - Programs that the repository's settings name for hooks and file watching do not run.
//   - Variables of Git in the environment, such as GIT_DIR, have no effect.
//   - A worktree with changes is never removed.
//   - Git ends with the context, and so does what it started.
package gitrepo

import (
	"context"
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
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/installer/safefile"
)

// Run runs Git in a directory and returns its output. Env is added to the environment.
func Run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	subprocess.Whole(cmd)
	for _, v := range os.Environ() {
		if key, _, _ := strings.Cut(v, "="); !strings.HasPrefix(key, "GIT_") || strings.HasPrefix(key, "GIT_AUTHOR") || strings.HasPrefix(key, "GIT_COMMITTER") || strings.HasPrefix(key, "GIT_CONFIG") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
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

// AddWorktree makes a worktree where Claude Code has its own, with what is checked out, and returns its directory. One that is
// there already is used again.
func AddWorktree(ctx context.Context, dir, name string) (string, error) {
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

// Register makes a directory with files a worktree of the repository that another directory is in, with a new branch at what is
// checked out there. The files of the directory stay as they are. It returns the branch.
func Register(ctx context.Context, dir, path, name string) (branch string, err error) {
	for n := 1; branch == "" || HasBranch(ctx, dir, branch); n++ {
		if branch = worktreeBranch(name); n > 1 {
			branch = fmt.Sprintf("%s-%d", branch, n)
		}
	}
	above, err := os.MkdirTemp(filepath.Dir(path), ".worktree-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(above) }()
	made := filepath.Join(above, filepath.Base(path))
	if _, err := Run(ctx, dir, nil, "worktree", "add", "--quiet", "--no-checkout", "-b", branch, "--", made); err != nil {
		return "", err
	}
	err = os.Rename(filepath.Join(made, ".git"), filepath.Join(path, ".git"))
	for _, args := range [][]string{{"worktree", "repair"}, {"read-tree", "HEAD"}} {
		if err == nil {
			_, err = Run(ctx, path, nil, args...)
		}
	}
	if err != nil {
		return "", errors.Join(err, Unregister(ctx, dir, made, branch))
	}
	return branch, nil
}

// Unregister forgets a worktree whose directory was removed or will be, and its branch where that has no commit of its own.
func Unregister(ctx context.Context, dir, path, branch string) error {
	if err := os.Remove(filepath.Join(path, ".git")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	_, err := Run(ctx, dir, nil, "worktree", "prune")
	if err == nil && branch != "" {
		_, _ = Run(ctx, dir, nil, "branch", "--delete", "--", branch) // Git refuses one that is not merged
	}
	return err
}

// BranchOf returns the branch that is checked out in a worktree, "" for none.
func BranchOf(ctx context.Context, path string) string {
	branch, err := Run(ctx, path, nil, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return ""
	}
	return branch
}

// RemoveWorktree removes a worktree without changes, and its branch where that has no commit of its own.
func RemoveWorktree(ctx context.Context, path string) error {
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

// maxSlug bounds a slug in bytes.
const maxSlug = 40

// Slug returns a name as the name of a directory and of a branch: lower-case letters, digits, - and _.
func Slug(name string) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	slug = strings.TrimLeft(slug[:min(len(slug), maxSlug)], "-_")
	if slug == "" {
		return "worktree"
	}
	return slug
}
