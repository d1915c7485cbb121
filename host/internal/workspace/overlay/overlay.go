// Package overlay mounts snapshots where a copy of them would be: a view is the read-only filesystem that a process of its own
// serves, a branch is an overlay of the kernel with such a filesystem below and a directory of what is written above.
//
// What a mounted directory is made of is in a directory beside it, its layers. They say what is to be mounted, so that it can be
// mounted again after the machine was started or the process was killed.
//
// Guarantees:
//   - Only what Tidemark mounted is unmounted. Layers are removed when nothing is mounted from them any more.
//   - A directory that a program uses is not unmounted: that is an error, and the next call tries again. A mount whose process
//     has ended is detached, as nothing can be read in it.
//   - What was written in a branch is on disk, and survives both.
//
// It imports only package mounts.
package overlay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// layersPrefix begins the name of the directory of layers. The name of the mounted directory follows.
const layersPrefix = ".layers-"

// The names in a directory of layers. Base is what the snapshot of a branch is mounted on, upper what is written in a branch,
// which has them, and a view has not.
const (
	indexName   = "index"
	changesName = "changes"
	packsName   = "packs"
	lockName    = "lock"
	baseName    = "base"
	upperName   = "upper"
	workName    = "work"
)

// Source is what the table of mounts names as the source of what Tidemark mounts.
const Source = "tidemark"

// ErrUnsupported means that the system does not mount snapshots.
var ErrUnsupported = errors.New("Tidemark mounts snapshots on Linux only")

func layers(dir string) string {
	return filepath.Join(filepath.Dir(dir), layersPrefix+filepath.Base(dir))
}

func layer(dir, name string) string { return filepath.Join(layers(dir), name) }

// Of returns the directory that has layers of that name beside it, "" for another name.
func Of(name string) string {
	dir, ok := strings.CutPrefix(name, layersPrefix)
	if !ok {
		return ""
	}
	return dir
}

// Is reports whether a directory has layers: it is mounted, or is to be.
func Is(dir string) bool {
	_, err := os.Lstat(layers(dir))
	return err == nil
}

func writable(dir string) bool {
	_, err := os.Lstat(layer(dir, upperName))
	return err == nil
}

// Served is what a process serves for a directory.
type Served struct {
	// Index, Changes and Packs are those of the image, At is where it is mounted. Lock is a file that the process locks while it runs.
	Index, Changes, Packs, At, Lock string
	// Sealed is true for a view: nothing may be written.
	Sealed bool
}

// ServedFor returns what a process serves for a directory.
func ServedFor(dir string) Served {
	s := Served{Index: layer(dir, indexName), Changes: layer(dir, changesName), Packs: layer(dir, packsName), Lock: layer(dir, lockName), At: dir, Sealed: !writable(dir)}
	if !s.Sealed {
		s.At = layer(dir, baseName)
	}
	return s
}

// Prepare makes the layers of a directory, of a branch or of a view, and the directory, which must not exist. Fill makes the
// image of what is served. Nothing is mounted. After an error neither exists.
func Prepare(dir string, branch bool, fill func(Served) error) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "mount", Path: dir, Err: fs.ErrExist}
	}
	if err := Release(dir); err != nil { // of one that was interrupted
		return err
	}
	err := os.Mkdir(layers(dir), 0o700)
	if branch {
		for _, name := range []string{baseName, upperName, workName} {
			err = errors.Join(err, os.Mkdir(layer(dir, name), 0o700))
		}
	}
	if err == nil {
		err = fill(ServedFor(dir))
	}
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return errors.Join(err, Release(dir), remove(dir))
	}
	return nil
}

// remove removes an empty directory that may not exist.
func remove(dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Ready is the line that a process prints when it serves its directory.
const Ready = "ready"

// Written returns the directory of what was written in a branch.
func Written(dir string) string { return layer(dir, upperName) }
