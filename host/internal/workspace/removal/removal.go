// Package removal removes views, branches and the like.
//
// It removes nothing if anything is mounted on the directory or below it that Tidemark did not mount, or that a program uses.
package removal

import (
	"errors"
	"os"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
)

// All removes a directory with everything in it: read-only files too, subvolumes, clones of ZFS, and what Tidemark mounted, snapshots of
// NILFS2 too. A
// directory that does not exist is no error.
func All(dir string) error {
	for _, release := range []func(string) error{overlay.Release, nilfscp.Release, dataset.Release} {
		if err := release(dir); errors.Is(err, os.ErrNotExist) {
			return nil
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
