// Package imagefs serves an [image.Image] as a read-only filesystem by FUSE, on Linux.
//
// Guarantees:
//   - Nothing can be written to it, by root either. Programs in it get no privileges and no devices (ro, nosuid, nodev).
//   - The kernel may keep everything that it has read: an image never changes.
//   - It ends when it is unmounted. Its process unmounts it when it is asked to end.
package imagefs

import (
	"errors"

	"tidemark.dev/tidemark/host/internal/workspace/image"
)

// ErrUnsupported means that the system has no FUSE, or that Tidemark does not use it there.
var ErrUnsupported = errors.New("Tidemark mounts snapshots on Linux only")

// Name is the type of the filesystem in the table of mounts, behind "fuse.".
const Name = "tidemark"

// Options are how an image is served.
type Options struct {
	// Image is what is served, Dir is the directory that it is mounted on.
	Image image.Files
	Dir   string
	// Source is what the table of mounts names.
	Source string
	// Sealed takes the permission to write from all modes, as a view has them.
	Sealed bool
	// Ready is called when it is mounted.
	Ready func()
}
