// Package imagefs serves an [image.Image] by FUSE on Linux and macOS, and by WinFsp on Windows: read-only, or as the
// lower files of a [union.Union].
//
// Guarantees:
//   - Nothing can be written to a read-only one, by root either. Programs in both get no privileges and no devices (nosuid, nodev).
//   - The kernel may keep everything that it has read: an image never changes, and a union through the mount alone.
//   - What a program wrote to a union is written before the program continues. The kernel keeps only what was written by mmap.
//   - It ends when it is unmounted. Its process unmounts it when it is asked to end.
package imagefs

import (
	"tidemark.dev/tidemark/host/internal/workspace/image"
)

// Name is the type of the filesystem in the table of mounts, behind "fuse.".
const Name = "tidemark"

// Options are how an image is served.
type Options struct {
	// Image is what is served, Dir is the directory that it is mounted on.
	Image image.Files
	Dir   string
	// Source is what the table of mounts names.
	Source string
	// Written is the directory of what is written to a union, "" for a read-only filesystem.
	Written string
	// Sealed takes the permission to write from all modes, as a view has them.
	Sealed bool
	// Asked has a value when the process is asked to unmount it, unless a program uses it. It is nil where others unmount it.
	Asked <-chan struct{}
	// Ready is called when it is mounted.
	Ready func()
}
