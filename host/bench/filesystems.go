package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/btrfs"
	snapshots "tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/watch"
)

// What snapshots of the filesystem itself promise.
const (
	nativePairs  = 30
	budgetNative = 1.5 // times the filesystem's own call
	budgetBranch = 100 * time.Millisecond
	nativeBytes  = 4 << 30
)

// filesystems measures snapshots and branches on filesystems, which it makes in files. That needs root.
func filesystems(r *run) (err error) {
	top, err := os.MkdirTemp("", "tidemark-filesystems")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tracked.RemoveAll(top)) }()
	if err := onBtrfs(r, top); err != nil {
		return err
	}
	return branches(r, top)
}

// mountImage mounts an empty filesystem of a kind, which it makes in a file.
func mountImage(top, kind string) (dir string, end func() error, err error) {
	image, dir := filepath.Join(top, kind+".image"), filepath.Join(top, kind)
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, nativeBytes), os.Mkdir(dir, 0o755)); err != nil {
		return "", nil, err
	}
	for _, args := range [][]string{{"mkfs." + kind, "-q", image}, {"mount", "-o", "loop", image, dir}} {
		if err := command(args[0], args[1:]...); err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(image), os.Remove(dir))
		}
	}
	return dir, func() error { return errors.Join(command("umount", dir), os.Remove(image), os.Remove(dir)) }, nil
}

func onBtrfs(r *run, top string) (err error) {
	files := r.third(filesSmall)
	s := r.sheet(fmt.Sprintf("Snapshots on Btrfs: %d files, %d edited, a record of the changes included", files, filesEdited))
	dir, end, err := mountImage(top, "btrfs")
	if err != nil {
		s.note("not measured: " + err.Error())
		return s.print()
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := subvolume.Create(filepath.Join(dir, "workspace")); err != nil {
		return err
	}
	at := filepath.Join(dir, "bare")
	err = onFilesystem(r, s, native{
		dir: dir, home: dir, files: files, open: btrfs.Open, row: "a snapshot / the filesystem's own call",
		bare: func() (time.Duration, error) {
			one, err := timed(func() error { return subvolume.Snapshot(filepath.Join(dir, "workspace"), at, true) })
			return one, errors.Join(err, subvolume.Delete(at))
		},
	})
	if err != nil {
		return err
	}
	return s.print()
}

// native is a filesystem whose own snapshots are measured.
type native struct {
	// dir has the workspace, home what Tidemark keeps.
	dir, home string
	files     int
	open      func(ctx context.Context, workspace, dir string, clock func() time.Time) (*snapshots.Store, error)
	// bare takes a snapshot without Tidemark, and removes it, which it does not time.
	bare func() (time.Duration, error)
	row  string
}

func onFilesystem(r *run, s *sheet, n native) (err error) {
	dir := n.dir
	w, err := newWorkspace(dir, n.files)
	if err != nil {
		return err
	}
	store, err := n.open(context.Background(), w.dir, filepath.Join(n.home, "native"), time.Now)
	if err != nil {
		return err
	}
	if w.watcher, err = watch.New(watch.Options{Dir: w.dir, Cookies: filepath.Join(n.home, "cookies")}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.watcher.Close()) }()
	w.provider, err = tracked.Open(tracked.Options{
		Workspace: w.dir, Store: filepath.Join(n.home, "store"), Changes: w.watcher, Clock: time.Now, Freezer: store, Deleting: func(n []uint64) { store.Forget(n...) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.provider.Close()) }()
	last, err := w.take()
	if err != nil {
		return err
	}
	// In turn, each after as many edits, which are all that is not on disk yet. Which one is first changes.
	var bare, ours []time.Duration
	for i := range r.third(nativePairs) {
		pair := []func() error{
			func() error {
				one, err := n.bare()
				bare = append(bare, one)
				return err
			},
			func() error {
				one, err := timed(func() error { last, err = w.take(); return err })
				ours = append(ours, one)
				return errors.Join(err, store.Failed())
			},
		}
		for k := range pair {
			err := exec.CommandContext(context.Background(), "sync", "-f", dir).Run() //nolint:gosec // a directory of its own
			if err == nil {
				_, err = w.edit(fileSize)
			}
			if err == nil {
				err = pair[(i+k)%2]()
			}
			if err != nil {
				return err
			}
		}
	}
	share := float64(quantile(ours, .5)) / float64(quantile(bare, .5))
	s.row(n.row, fmt.Sprintf("%.2f times (%s, %s)", share, ms(quantile(ours, .5)), ms(quantile(bare, .5))), fmt.Sprintf("at most %.1f times", budgetNative), share <= budgetNative)
	for _, how := range []struct {
		what     string
		checkout func(dir string) error
		budget   time.Duration
	}{
		{"a branch", func(dir string) error { return store.Checkout(context.Background(), w.provider, last, dir, false) }, budgetBranch},
		{"a view", func(dir string) error { return store.Checkout(context.Background(), w.provider, last, dir, true) }, budgetBranch},
		{"a branch of a state without a snapshot of the filesystem", func(dir string) error { return w.provider.Checkout(context.Background(), last, dir, false) }, 0},
	} {
		var took []time.Duration
		for i := range r.third(9) {
			at := filepath.Join(n.home, fmt.Sprintf("out%d", i))
			one, err := timed(func() error { return how.checkout(at) })
			if err = errors.Join(err, tracked.RemoveAll(at)); err != nil {
				return err
			}
			if took = append(took, one); how.budget == 0 && i == 2 {
				break // it takes seconds
			}
		}
		if p50 := quantile(took, .5); how.budget == 0 {
			s.figure(how.what, ms(p50))
		} else {
			s.within(how.what, p50, how.budget, r.byLoop(), "")
		}
	}
	return nil
}
