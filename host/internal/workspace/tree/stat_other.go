//go:build !linux && !darwin && !windows

package tree

import "os"

// fill adds nothing: the system has no more.
func fill(*Stat, os.FileInfo) {}
