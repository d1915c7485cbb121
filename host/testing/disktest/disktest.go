// Package disktest mounts small filesystems for tests, and shows where files are on them. Without root, or without the
// program that makes the filesystem, a test skips itself and prints the reason. Every mount ends with its test.
package disktest

import (
	"path/filepath"
	"testing"
)

// Small mounts an empty tmpfs of a size such as "16m".
func Small(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	mount(t, dir, "tmpfs", "size="+size)
	return dir
}

// Sharing mounts an empty filesystem that shares extents: "xfs" or "btrfs".
func Sharing(t *testing.T, kind string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("making a filesystem takes too long for -short")
	}
	return made(t, kind, Options{})
}

// Seconds mounts an empty ext4 that records the times of files in whole seconds.
func Seconds(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("making a filesystem takes too long for -short")
	}
	return made(t, "ext4", Options{Bytes: 1 << 30})
}

// Options are how a filesystem is made and mounted. Zero values are the usual ones.
type Options struct {
	// Bytes is the size.
	Bytes int64
	// Mount are options of mount(8), such as "user_subvol_rm_allowed".
	Mount string
}

// Btrfs mounts an empty Btrfs.
func Btrfs(t *testing.T, o Options) string {
	t.Helper()
	if testing.Short() {
		t.Skip("making a filesystem takes too long for -short")
	}
	return made(t, "btrfs", o)
}

// Shared returns how many bytes of two files are the same blocks on disk.
func Shared(t *testing.T, a, b string) int64 {
	t.Helper()
	blocks := map[uint64]bool{}
	for _, e := range extentsOf(t, a) {
		for at := e.physical; at < e.physical+e.length; at += block {
			blocks[at] = true
		}
	}
	var n int64
	for _, e := range extentsOf(t, b) {
		for at := e.physical; at < e.physical+e.length; at += block {
			if blocks[at] {
				n += block
			}
		}
	}
	return n
}

// block is the size of a block in bytes.
const block = 4096

// extent is a part of a file on disk, in bytes.
type extent struct{ physical, length uint64 }
