// Package extents copies files without copying their bytes, where the filesystem lets files share their extents: XFS, Btrfs
// and others on Linux, APFS on macOS.
//
// Guarantee: a copy is whole, or there is none. It is the content that the file had during the call. Whether the file was
// being changed is for the caller to find out.
package extents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var (
	// ErrUnsupported means that the filesystem, or the system, does not share extents.
	ErrUnsupported = errors.New("the filesystem does not share extents")
	// ErrElsewhere means that the two files are on different filesystems.
	ErrElsewhere = errors.New("it is on another filesystem")
)

// Clone creates a file that shares the extents of an open one, and returns it open for writing. It has the content, and no
// more: mode and times are those of a new file (0600).
func Clone(in *os.Root, name string, from *os.File) (*os.File, error) { return clone(in, name, from) }

// Copy is [Clone] by the system's own copy. It shares the extents where the filesystem can, also between parts of a filesystem
// that count as different ones, as a snapshot and a dataset of OpenZFS do. Elsewhere the bytes are copied, and holes may be filled.
// It is [ErrUnsupported] except on Linux.
func Copy(in *os.Root, name string, from *os.File) (*os.File, error) { return copied(in, name, from) }

// probed bounds how many entries are looked at to find a file that can be cloned.
const probed = 1000

// Shares tries whether files of a directory can be cloned into another one. The error says why not: [ErrUnsupported],
// [ErrElsewhere], or that it cannot be tried. It writes and removes a file in the directory to, and writes nothing to from.
func Shares(from, to string) error {
	removeLeft(to)
	random, err := os.MkdirTemp(to, probe)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(random) }()
	in, err := os.OpenRoot(random)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	var reason error
	seen, done := 0, false
	if err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if d == nil {
			return err
		}
		if seen++; seen > probed {
			return fs.SkipAll
		}
		if !d.Type().IsRegular() {
			return nil
		}
		f, err := open(path)
		if err != nil {
			return nil // another one can be read
		}
		defer func() { _ = f.Close() }()
		copied, err := Clone(in, fmt.Sprint(seen), f)
		if reason = err; err == nil {
			_ = copied.Close()
			done = true
		}
		if done || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrElsewhere) {
			return fs.SkipAll
		}
		return nil // it is this file's
	}); err != nil {
		return err
	}
	if done || reason != nil {
		return reason
	}
	return sharesWithin(from, in)
}

// probe begins the names of directories in which is tried what is shared. One that is older than abandoned belongs to a
// process that was killed.
const (
	probe     = ".tidemark-probe-"
	abandoned = time.Minute
)

// removeLeft removes what processes that were killed have left in a directory.
func removeLeft(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), probe) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// sharesWithin is [Shares] for a directory without a file: it clones a file of the other one, if both are on one filesystem.
func sharesWithin(from string, in *os.Root) error {
	f, err := in.OpenFile("from", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if same, err := sameFilesystem(from, f); err != nil {
		return err
	} else if !same {
		return ErrElsewhere
	}
	copied, err := Clone(in, "to", f)
	if err != nil {
		return err
	}
	return copied.Close()
}
