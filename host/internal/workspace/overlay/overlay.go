// Package overlay mounts snapshots where a copy of them would be. A view is the read-only filesystem that a process of its own
// serves. A branch is an overlay of the kernel with such a filesystem below and a directory of what is written above. Where the
// kernel refuses that, the process serves a filesystem that can be written to.
//
// What a mounted directory is made of is in a directory beside it, its layers. They say what is to be mounted, and in which form, so
// that it can be mounted again after the machine was started or the process was killed.
//
// Guarantees:
//   - Only what Tidemark mounted is unmounted. Layers are removed when nothing is mounted from them any more.
//   - A directory that a program uses is not unmounted: that is an error, and the next call tries again. A mount whose process
//     has ended is detached, as nothing can be read in it.
//   - Where such a directory is detached all the same, its layers stay until no program uses them.
//   - What was written in a branch is on disk, and survives both.
//
// It imports only package mounts.
package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// layersPrefix begins the name of the directory of layers. The name of the mounted directory follows.
const layersPrefix = ".layers-"

// The names in a directory of layers. Base is what the snapshot of a branch is mounted on that is an overlay of the kernel, upper
// what is written in it. Written is what is written in a branch by FUSE alone. A view has none of them.
const (
	indexName   = "index"
	changesName = "changes"
	packsName   = "packs"
	lockName    = "lock"
	baseName    = "base"
	upperName   = "upper"
	workName    = "work"
	writtenName = "written"
	// spentName is a file in the layers of a directory that was unmounted while programs used it. See [Detach].
	spentName = "spent"
)

// goneSuffix ends the name of layers that are being removed.
const goneSuffix = "~"

// Form is how a directory is mounted.
type Form int

// The forms. A view cannot be written to. A branch is an overlay of the kernel above a FUSE mount, or FUSE alone.
const (
	View Form = iota
	Kernel
	Alone
)

// of are the directories that the layers of a form have.
func (f Form) of() []string {
	switch f {
	case Kernel:
		return []string{baseName, upperName, workName}
	case Alone:
		return []string{writtenName}
	}
	return nil
}

// Short names a form, Long says how files get into a directory of that form.
func (f Form) Short() string { return forms[f].short + untested() }

// Long is documented at [Form.Short].
func (f Form) Long() string { return forms[f].long + untested() }

var forms = map[Form]struct{ short, long string }{
	View:   {"FUSE", "a FUSE mount of the snapshot"},
	Kernel: {"overlay of the kernel above a FUSE mount of the snapshot", "an overlay of the kernel above a FUSE mount of the snapshot"},
	Alone:  {"FUSE alone", "a writable FUSE mount of the snapshot"},
}

func untested() string {
	if Untested == "" {
		return ""
	}
	return " by " + Untested + ", which we have not tried"
}

// Allowed returns why nothing is mounted here, nil if it can be tried. On a system where nobody has tried it, that needs the user's
// setting.
func Allowed(setting bool) error {
	if Untested != "" && !setting {
		return fmt.Errorf("mounts by %s are built, but we have not tried them. To try them, install %s, set untested_mounts = true under [snapshots] in config.toml, and run `tidemark stop`.", Untested, Untested)
	}
	return Refused()
}

// FormOf returns the form of a directory with layers.
func FormOf(dir string) Form {
	for _, f := range []Form{Kernel, Alone} {
		if exists(Written(dir, f)) {
			return f
		}
	}
	return View
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Source is what the table of mounts names as the source of what Tidemark mounts.
const Source = "tidemark"

// ErrKernel means that the kernel does not mount an overlay.
var ErrKernel = errors.New("the kernel does not mount an overlay")

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

// Is reports whether a directory has layers: it is mounted, or is to be. Those that only programs use which had it open do not count.
func Is(dir string) bool { return exists(layers(dir)) && !exists(layer(dir, spentName)) }

// Served is what a process serves for a directory.
type Served struct {
	// Index, Changes and Packs are those of the image, At is where it is mounted. Lock is a file that the process locks while it runs.
	Index, Changes, Packs, At, Lock string
	// Written is the directory of what is written by FUSE alone, else "".
	Written string
	// Sealed is true for a view: nothing may be written.
	Sealed bool
}

// ServedFor returns what a process serves for a directory.
func ServedFor(dir string) Served {
	s := Served{Index: layer(dir, indexName), Changes: layer(dir, changesName), Packs: layer(dir, packsName), Lock: layer(dir, lockName), At: dir}
	switch FormOf(dir) {
	case View:
		s.Sealed = true
	case Kernel:
		s.At = layer(dir, baseName)
	case Alone:
		s.Written = Written(dir, Alone)
	}
	return s
}

// Dead reports whether the process has ended that served a directory with layers: nothing can be read there. It is false while something is
// mounted or unmounted.
func Dead(dir string) bool {
	if !Is(dir) || !mounting.TryLock() {
		return false
	}
	defer mounting.Unlock()
	return Is(dir) && !serving(ServedFor(dir).Lock)
}

// Prepare makes the layers of a directory in a form, and the directory, which must not exist. Fill makes the image
// of what is served. Nothing is mounted. After an error neither exists.
func Prepare(dir string, form Form, fill func(Served) error) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "mount", Path: dir, Err: fs.ErrExist}
	}
	if err := Release(dir); err != nil { // of one that was interrupted
		return err
	}
	if exists(layer(dir, spentName)) {
		return fmt.Errorf("programs still use what was in %s before", dir)
	}
	err := os.Mkdir(layers(dir), 0o700)
	for _, name := range form.of() {
		err = errors.Join(err, os.Mkdir(layer(dir, name), 0o700))
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

// Written returns the directory of what is written in a branch of a form.
func Written(dir string, form Form) string {
	if form == Alone {
		return layer(dir, writtenName)
	}
	return layer(dir, upperName)
}
