// Package removal removes views, branches and the like.
//
// It removes nothing if anything is mounted on the directory or below it that Tidemark did not mount, or that a program uses.
package removal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
)

// UsedError means that a program uses what is mounted on a directory. Nothing of that was removed.
type UsedError struct{ error }

// Unwrap returns the error of the system.
func (e *UsedError) Unwrap() error { return e.error }

// All removes a directory with everything in it: read-only files too, subvolumes, clones of ZFS, and what Tidemark mounted, snapshots of
// NILFS2 too. A
// directory that does not exist is no error.
func All(dir string) error { return all(dir, overlay.Release) }

// Used is [All] of a directory that programs may use, where Tidemark mounted it: what they have open stays for them until they end.
func Used(dir string) error { return all(dir, overlay.Detach) }

func all(dir string, unmount func(string) error) error {
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
	if err := os.RemoveAll(dir); err == nil {
		return nil
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
	return os.RemoveAll(dir)
}
