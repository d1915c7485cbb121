package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/installer/safefile"
)

// Register makes a directory with files a worktree of the repository that another directory is in, with a new branch at what is
// checked out there. The files of the directory stay as they are. Temp is a directory for what Git makes meanwhile. It returns the branch.
func Register(ctx context.Context, dir, path, temp, name string) (branch string, err error) {
	forgetInterrupted(ctx, dir)
	if err := forgetMissing(ctx, dir, path); err != nil && usererr.CodeOf(err) != usererr.NotFound { // its directory was removed by hand
		return "", err
	}
	for n := 1; branch == "" || HasBranch(ctx, dir, branch); n++ {
		if branch = worktreeBranch(name); n > 1 {
			branch = fmt.Sprintf("%s-%d", branch, n)
		}
	}
	if err := attach(ctx, dir, path, temp, "-b", branch); err != nil {
		return "", errors.Join(err, Unregister(ctx, dir, path, branch))
	}
	return branch, nil
}

// attach makes a directory with files a worktree, with what is checked out in another one. Git makes an empty worktree elsewhere
// first, which may be on another filesystem: a branch can be a mount.
func attach(ctx context.Context, dir, path, temp string, as ...string) error {
	above, err := os.MkdirTemp(temp, unfinished)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(above) }()
	if above, err = filepath.EvalSymlinks(above); err != nil { // Git names it so
		return err
	}
	made := filepath.Join(above, filepath.Base(path))
	args := append([]string{"worktree", "add", "--quiet", "--no-checkout"}, as...)
	if _, err := Run(ctx, dir, nil, append(args, "--", made)...); err != nil {
		return err
	}
	of, err := Run(ctx, made, nil, "rev-parse", "--absolute-git-dir")
	if err == nil {
		err = link(path, of)
	}
	if err == nil { // `git worktree repair` would change other worktrees too, and fails if one is broken
		err = os.WriteFile(filepath.Join(of, "gitdir"), []byte(filepath.Join(path, ".git")+"\n"), 0o644) //nolint:gosec // as Git writes it
	}
	if err == nil {
		_, err = Run(ctx, path, nil, "read-tree", "HEAD")
	}
	if err == nil {
		err = copyMarks(ctx, dir, path)
	}
	if err != nil {
		return errors.Join(err, forget(ctx, dir, made), forget(ctx, dir, path))
	}
	return attachSubmodules(ctx, dir, path, of, temp)
}

// unfinished begins the names of the directories in which Git makes worktrees.
const unfinished = "tidemark-worktree-"

// forgetInterrupted has Git forget the worktrees that a kill kept from getting their place, and their branches.
func forgetInterrupted(ctx context.Context, dir string) {
	list, _ := worktrees(ctx, dir)
	for _, one := range list {
		if !strings.HasPrefix(filepath.Base(filepath.Dir(one.path)), unfinished) {
			continue
		}
		if _, err := os.Lstat(filepath.Dir(one.path)); !errors.Is(err, os.ErrNotExist) {
			continue // it is being made
		}
		_ = forgetMissing(ctx, dir, one.path) // else Git prunes it later
	}
}

// attachSubmodules gives the submodules of a worktree, whose files are there, repositories like those of another one, where
// `git submodule update` has them. They are not shared: Git would write the original's settings. A submodule for which
// that is not possible is one that is not initialized: Git works in the worktree then, too.
func attachSubmodules(ctx context.Context, dir, path, known, temp string) error {
	subs, err := Submodules(ctx, path, nil)
	if err != nil {
		return err
	}
	for _, sub := range subs {
		sub = filepath.FromSlash(sub)
		from, to := filepath.Join(dir, sub), filepath.Join(path, sub)
		if at, err := filepath.EvalSymlinks(to); err != nil || at != to {
			continue // the worktree has none there
		}
		copied := filepath.Join(to, ".git")
		if info, err := os.Lstat(copied); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := os.Remove(copied); err != nil { // it names a directory beside the original
			return err
		}
		if top, err := Top(ctx, from); err != nil || top != from {
			continue
		}
		within := filepath.Join(known, "modules", sub)
		if err := attachSubmodule(ctx, from, to, within, temp); err != nil {
			if err := errors.Join(ctx.Err(), os.RemoveAll(within)); err != nil {
				return err
			}
			if err := os.Remove(copied); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// attachSubmodule gives a submodule whose files are there a repository in a directory, like that of another one.
func attachSubmodule(ctx context.Context, from, to, known, temp string) error {
	head, err := Run(ctx, from, nil, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return err
	}
	above, err := os.MkdirTemp(temp, unfinished)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(above) }()
	if err := os.MkdirAll(filepath.Dir(known), 0o755); err != nil { //nolint:gosec // as Git makes it
		return err
	}
	if _, err := Run(ctx, above, nil, "clone", "--quiet", "--no-checkout", "--template=", "--separate-git-dir="+known, "--", from, filepath.Join(above, "empty")); err != nil {
		return err
	}
	settings := [][]string{{"config", "core.worktree", to}}
	if url, err := Run(ctx, from, nil, "config", "remote.origin.url"); err == nil {
		settings = append(settings, []string{"config", "remote.origin.url", url})
	}
	for _, args := range settings {
		if _, err := Run(ctx, known, nil, args...); err != nil {
			return err
		}
	}
	if err := link(to, known); err != nil {
		return err
	}
	for _, args := range [][]string{{"update-ref", "--no-deref", "HEAD", head}, {"read-tree", "HEAD"}} {
		if _, err := Run(ctx, to, nil, args...); err != nil {
			return err
		}
	}
	if err := copyMarks(ctx, from, to); err != nil {
		return err
	}
	return attachSubmodules(ctx, from, to, known, temp)
}

// Submodules returns the paths, with slashes, that an index has as repositories of their own. Env is added to the environment, as in
// [Run].
func Submodules(ctx context.Context, dir string, env []string) (list []string, err error) {
	index, err := Run(ctx, dir, env, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(index, "\x00") {
		if about, name, _ := strings.Cut(entry, "\t"); strings.HasPrefix(about, "160000 ") {
			list = append(list, name)
		}
	}
	return list, nil
}

// copyMarks marks the files in the index of a worktree as those of another one are marked: skip-worktree, as in a sparse checkout,
// and assume-unchanged.
func copyMarks(ctx context.Context, dir, path string) error {
	theirs, err := Run(ctx, dir, nil, "ls-files", "-v", "-z")
	if err != nil {
		return err
	}
	var skipped, assumed []string
	for entry := range strings.SplitSeq(theirs, "\x00") {
		tag, name, _ := strings.Cut(entry, " ")
		if tag == "S" || tag == "s" {
			skipped = append(skipped, name)
		}
		if tag != "" && tag == strings.ToLower(tag) && tag != "?" {
			assumed = append(assumed, name)
		}
	}
	if len(skipped)+len(assumed) == 0 {
		return nil
	}
	mine, err := Run(ctx, path, nil, "ls-files", "-z")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for name := range strings.SplitSeq(mine, "\x00") {
		known[name] = true
	}
	for mark, names := range map[string][]string{"--skip-worktree": skipped, "--assume-unchanged": assumed} {
		names = slices.DeleteFunc(names, func(name string) bool { return !known[name] }) // it is not in the commit
		if len(names) == 0 {
			continue
		}
		if _, err := feed(ctx, path, nil, strings.Join(names, "\x00")+"\x00", "update-index", mark, "-z", "--stdin"); err != nil {
			return err
		}
	}
	return nil
}

// link writes the file that has Git find what it knows of a worktree.
func link(path, known string) error {
	f, err := os.OpenFile(filepath.Join(path, ".git"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // as Git writes it
	if err != nil {
		return err
	}
	_, err = f.WriteString("gitdir: " + known + "\n")
	return errors.Join(err, f.Close())
}

// worktree is what Git knows of a worktree: the directory in which it has that, and where the worktree is.
type worktree struct{ known, path string }

// worktrees returns the worktrees of a repository that are not its main one.
func worktrees(ctx context.Context, dir string) (list []worktree, err error) {
	common, err := Run(ctx, dir, nil, "rev-parse", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(dir, common)
	}
	above := filepath.Join(common, "worktrees")
	entries, err := os.ReadDir(above)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		one := filepath.Join(above, entry.Name())
		at, err := safefile.Read(filepath.Join(one, "gitdir"), maxLink)
		if err != nil || !entry.IsDir() {
			continue // Git removes what is left of it
		}
		file := filepath.FromSlash(strings.TrimRight(string(at), "\r\n"))
		if !filepath.IsAbs(file) {
			file = filepath.Join(one, file)
		}
		if filepath.Base(file) == ".git" {
			list = append(list, worktree{one, filepath.Dir(file)})
		}
	}
	return list, err
}

// known returns the directories in which Git has what it knows of the worktrees at a path. There can be several.
func known(ctx context.Context, dir, path string) (list []string, err error) {
	all, err := worktrees(ctx, dir)
	for _, one := range all {
		if one.path == filepath.Clean(path) {
			list = append(list, one.known)
		}
	}
	return list, err
}

// maxLink bounds the file that names a worktree, in bytes.
const maxLink = 64 << 10

// forget has Git forget the worktrees at a path, and no other ones: a branch that is not mounted now looks as if it were missing.
func forget(ctx context.Context, dir, path string) error {
	list, err := known(ctx, dir, path)
	for _, one := range list {
		err = errors.Join(err, os.RemoveAll(one))
	}
	return err
}

// forgetMissing has Git forget a worktree whose directory no longer exists, with its branch where that has no commit of its own.
func forgetMissing(ctx context.Context, dir, path string) error {
	list, err := known(ctx, dir, path)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return usererr.New(usererr.NotFound, "%s does not exist and is not a worktree", event.OneLine(path))
	}
	head, err := safefile.Read(filepath.Join(list[0], "HEAD"), maxLink)
	if err != nil {
		return err
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if strings.HasPrefix(branch, "ref: ") || branch == strings.TrimSpace(string(head)) {
		branch = ""
	}
	return Unregister(ctx, dir, path, branch)
}

// Unregister forgets a worktree whose directory was removed or will be, and its branch where that has no commit of its own.
func Unregister(ctx context.Context, dir, path, branch string) error {
	if err := os.Remove(filepath.Join(path, ".git")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err := forget(ctx, dir, path)
	if err == nil && branch != "" {
		_, _ = Run(ctx, dir, nil, "branch", "--delete", "--", branch) // Git refuses one that is not merged
	}
	return err
}
