// Package removal removes views, branches and the like.
//
// It removes nothing if anything is mounted on the directory or below it that Tidemark did not mount, or that a program uses. What is
// mounted during the removal is not entered either.
package removal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
)

// UsedError means that a program uses what is mounted on a directory. Nothing of that was removed.
type UsedError struct{ error }

// Unwrap returns the error of the system.
func (e *UsedError) Unwrap() error { return e.error }

// All removes a directory with everything in it: read-only files too, subvolumes, clones of ZFS, and what Tidemark mounted, snapshots of
// NILFS2 too. A directory that does not exist is no error.
func All(dir string) error { return all(dir, overlay.Release) }

// Used is [All] of a directory that programs may use, where Tidemark mounted it: what they have open stays for them until they end.
func Used(dir string) error { return all(dir, overlay.Detach) }

func all(dir string, unmount func(string) error) error {
	if err := foreign(dir); err != nil {
		return err
	}
	for _, release := range []func(string) error{unmount, nilfscp.Release, dataset.Release} {
		if err := release(dir); errors.Is(err, os.ErrNotExist) {
			return nil
		} else if errors.Is(err, syscall.EBUSY) {
			return &UsedError{err}
		} else if err != nil {
			return err
		}
	}
	if subvolume.Is(dir) && subvolume.Delete(dir) == nil {
		return nil
	}
	if err := mounts.RemoveAll(dir); err == nil {
		return nil
	}
	if err := foreign(dir); err != nil {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		switch {
		case d == nil || !d.IsDir():
		case subvolume.Is(path) && subvolume.Delete(path) == nil:
			return filepath.SkipDir
		default:
			if subvolume.Is(path) {
				_ = subvolume.SetReadOnly(path, false)
			}
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory needs its x
		}
		return nil
	})
	return mounts.RemoveAll(dir)
}

// foreign returns an error where something is mounted on a directory or below it that Tidemark did not mount.
func foreign(dir string) error {
	list, err := mounts.Within(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, m := range list {
		if !overlay.Mounted(m) && !nilfscp.Mounted(m) && !dataset.Ours(m) {
			return fmt.Errorf("%s was not removed, because something is mounted on %s. Unmount it first.", dir, m.At)
		}
	}
	return err
}
