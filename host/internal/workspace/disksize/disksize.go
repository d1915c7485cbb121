// Package disksize counts what directories take on disk. It imports only packages mounts and subvolume.
package disksize

import (
	"io/fs"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
)

// Of returns what the files in a directory take on disk, in bytes. What cannot be read counts as nothing. So do subvolumes and
// what is mounted, whose files share the room of the workspace's. A file with several names counts once.
func Of(dir string) int64 { return Counted{}.Add(dir, "") }

// Counted are the files with several names that were counted.
type Counted map[fileID]bool

// Add is [Of] without what was counted already, and without a directory.
func (counted Counted) Add(dir, without string) (bytes int64) {
	mounted := map[string]bool{}
	list, _ := mounts.Below(dir) // where that is not known, nothing is
	for _, m := range list {
		mounted[m.At] = true
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (mounted[path] || path == without || subvolume.Is(path)) {
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		if id, several := linked(info); several {
			if counted[id] {
				return nil
			}
			counted[id] = true
		}
		bytes += allocated(info)
		return nil
	})
	return bytes
}
