// Package subvolume makes and removes the subvolumes of Btrfs, by the system's calls and without a program. It imports
// nothing of Tidemark. Elsewhere than on Linux no directory is a subvolume.
package subvolume

import "errors"

// ErrUnsupported means that a directory is not on Btrfs, or that the system is too old.
var ErrUnsupported = errors.New("the filesystem has no subvolumes")
