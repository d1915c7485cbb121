// Package pathfs serves an [image.Image], read-only or as the lower files of a [union.Union], where files are asked for by their
// paths. That is how WinFsp asks on Windows, through cgofuse. Its tests on Linux mount it by libfuse.
//
// Guarantees:
//   - A file that is open stays the same file when it is renamed or removed.
//   - With Fold, names are found in any case, and keep the case in which they were made. No directory gets two that differ in case alone.
//   - What a program wrote is written before the program continues.
//   - Nothing can be written to a read-only one.
//
// What is in this file needs neither. What talks to cgofuse is built for Windows without cgo, and elsewhere with the tag cgofuse.
package pathfs

import (
	"errors"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/union"
)

// Options are how an image is served.
type Options struct {
	// Image is what is served, Dir is the directory that it is mounted on. On Windows it must not exist.
	Image image.Files
	Dir   string
	// Source and Name are what the table of mounts names as the source and the type.
	Source, Name string
	// Written is the directory of what is written to a union, "" for a read-only filesystem.
	Written string
	// Sealed takes the permission to write from all modes, as a view has them.
	Sealed bool
	// Fold finds names in any case, as Windows does.
	Fold bool
	// Asked has a value when it is to be unmounted, unless a program uses it.
	Asked <-chan struct{}
	// Ready is called when it is mounted.
	Ready func()
}

// files are nodes by their paths, and those that programs have open. It is safe for concurrent use.
type files struct {
	*union.Union
	readOnly, sealed, fold bool

	// mu is held while names are read or changed.
	mu sync.Mutex
	// folded are the names of directories by [folding] them, count is how many they are.
	folded map[uint64]map[string]string
	count  int

	handles sync.Mutex
	open    map[uint64]uint64 // handles, each with its node
	next    uint64
}

// maxFolded bounds the names that are kept folded, in all directories together.
const maxFolded = 200_000

func newFiles(u *union.Union, o Options) *files {
	return &files{Union: u, readOnly: o.Written == "", sealed: o.Sealed, fold: o.Fold, folded: map[uint64]map[string]string{}, open: map[uint64]uint64{}}
}

// folding is a name without its case, by single letters as Windows has it.
func folding(name string) string { return strings.Map(unicode.ToUpper, name) }

// namesOf returns the folded names of a directory. The files are locked.
func (f *files) namesOf(dir uint64) (map[string]string, error) {
	if names := f.folded[dir]; names != nil {
		return names, nil
	}
	names := map[string]string{}
	for place := uint64(0); ; {
		l, err := f.List(dir, place)
		if errors.Is(err, syscall.ENOENT) {
			break
		}
		if err != nil {
			return nil, err
		}
		names[folding(l.Name)] = l.Name
		place = l.Next
	}
	if f.count += len(names); f.count > maxFolded {
		clear(f.folded)
		f.count = len(names)
	}
	f.folded[dir] = names
	return names, nil
}

// named notes that a directory got a name, unnamed that it lost one. The files are locked.
func (f *files) named(dir uint64, name string) {
	if names := f.folded[dir]; names != nil {
		names[folding(name)] = name
		f.count++
	}
}

func (f *files) unnamed(dir uint64, name string) {
	if names := f.folded[dir]; names != nil && names[folding(name)] == name {
		delete(names, folding(name))
	}
}

// entry returns what a name in a directory is, and the name as the directory has it. The files are locked.
func (f *files) entry(dir uint64, name string) (a union.Attr, as string, err error) {
	a, err = f.Lookup(dir, name)
	if !f.fold || !errors.Is(err, syscall.ENOENT) {
		return a, name, err
	}
	names, failed := f.namesOf(dir)
	if failed != nil {
		return a, name, failed
	}
	as, ok := names[folding(name)]
	if !ok {
		return a, name, err
	}
	a, err = f.Lookup(dir, as)
	return a, as, err
}

// walk is [files.find] while the files are locked. As is the path as the directories have it.
func (f *files) walk(path string) (a union.Attr, as string, err error) {
	a, err = f.Attr(union.Root)
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" || err != nil {
			continue
		}
		if a.Mode&union.TypeMask != union.Dir {
			return a, as, syscall.ENOTDIR
		}
		a, name, err = f.entry(a.Number, name)
		as += "/" + name
	}
	return a, as, err
}

// parent returns the directory of a path, and the name in it. The files are locked.
func (f *files) parent(path string) (dir uint64, name string, err error) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndexByte(path, '/')
	if name = path[i+1:]; name == "" {
		return 0, "", syscall.EBUSY // the root has no name
	}
	a, _, err := f.walk(path[:max(i, 0)])
	if err == nil && a.Mode&union.TypeMask != union.Dir {
		err = syscall.ENOTDIR
	}
	return a.Number, name, err
}

// find describes what is at a path, and returns the path as the directories have it.
func (f *files) find(path string) (union.Attr, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.walk(path)
}

// noHandle is the handle of a request that has none.
const noHandle = ^uint64(0)

// at returns the node of a handle, else that of a path.
func (f *files) at(path string, handle uint64) (uint64, error) {
	f.handles.Lock()
	number, ok := f.open[handle]
	f.handles.Unlock()
	if ok {
		return number, nil
	}
	a, _, err := f.find(path)
	return a.Number, err
}

// hold returns a handle of a node.
func (f *files) hold(number uint64) uint64 {
	f.Hold(number)
	f.handles.Lock()
	defer f.handles.Unlock()
	f.next++
	f.open[f.next] = number
	return f.next
}

// release ends a handle.
func (f *files) release(handle uint64) {
	f.handles.Lock()
	number, ok := f.open[handle]
	delete(f.open, handle)
	f.handles.Unlock()
	if ok {
		f.Forget(number, 1)
	}
}

// used reports whether a program has something open. On Windows that is so for its working directory too.
func (f *files) used() bool {
	f.handles.Lock()
	defer f.handles.Unlock()
	return len(f.open) > 0
}

// openPath returns a handle of what is at a path.
func (f *files) openPath(path string) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, _, err := f.walk(path)
	if err != nil {
		return noHandle, err
	}
	return f.hold(a.Number), nil
}

// change calls a function that changes names, with the directory of a path and the name in it.
func (f *files) change(path string, do func(dir uint64, name string) error) error {
	if f.readOnly {
		return syscall.EROFS
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, name, err := f.parent(path)
	if err != nil {
		return err
	}
	return do(dir, name)
}

// free is an error unless a directory can get a name. The files are locked.
func (f *files) free(dir uint64, name string) error {
	_, _, err := f.entry(dir, name)
	switch {
	case err == nil:
		return syscall.EEXIST
	case errors.Is(err, syscall.ENOENT):
		return nil
	}
	return err
}

// make makes a node at a path, and returns a handle of it if one is wanted.
func (f *files) make(path string, m union.Made, open bool) (handle uint64, err error) {
	handle = noHandle
	err = f.change(path, func(dir uint64, name string) error {
		if err := f.free(dir, name); err != nil {
			return err
		}
		a, err := f.Make(dir, name, m)
		if err != nil {
			return err
		}
		f.named(dir, name)
		if open {
			handle = f.hold(a.Number)
		}
		return nil
	})
	return handle, err
}

// link gives what is at a path another one.
func (f *files) link(path, to string) error {
	return f.change(to, func(dir uint64, name string) error {
		a, _, err := f.walk(path)
		if err == nil {
			err = f.free(dir, name)
		}
		if err == nil {
			_, err = f.Link(a.Number, dir, name)
		}
		if err == nil {
			f.named(dir, name)
		}
		return err
	})
}

// remove removes a path: of an empty directory with isDir, else of anything else.
func (f *files) remove(path string, isDir bool) error {
	return f.change(path, func(dir uint64, name string) error {
		a, as, err := f.entry(dir, name)
		if err != nil {
			return err
		}
		if err = f.Remove(dir, as, isDir); err == nil {
			f.unnamed(dir, as)
			delete(f.folded, a.Number)
		}
		return err
	})
}

// rename moves a path to another one, as [union.Union.Rename] does.
func (f *files) rename(path, to string, how int) error {
	return f.change(path, func(dir uint64, name string) error {
		toDir, toName, err := f.parent(to)
		if err != nil {
			return err
		}
		a, name, err := f.entry(dir, name)
		if err != nil {
			return err
		}
		other, as, err := f.entry(toDir, toName)
		if err != nil && !errors.Is(err, syscall.ENOENT) {
			return err
		}
		if taken := err == nil; !taken || as == toName || other.Number == a.Number && dir == toDir && as == name {
			as = toName // else what has the name in another case is replaced first
		}
		if err := f.Rename(dir, name, toDir, as, how); err != nil {
			return err
		}
		if how == union.Exchange {
			return nil
		}
		f.unnamed(dir, name)
		if as != toName {
			if err := f.Rename(toDir, as, toDir, toName, union.Keep); err != nil {
				f.named(toDir, as)
				return err
			}
		}
		f.named(toDir, toName)
		return nil
	})
}

// set sets what is known of a node.
func (f *files) set(path string, handle uint64, set union.Set) error {
	if f.readOnly {
		return syscall.EROFS
	}
	number, err := f.at(path, handle)
	if err != nil {
		return err
	}
	return f.Set(number, set)
}

// mode is the mode that programs see of a node.
func (f *files) mode(mode uint32) uint32 {
	if !f.sealed || mode&union.TypeMask == union.Link {
		return mode
	}
	if mode &^= 0o222; mode&union.TypeMask == union.Dir {
		mode |= 0o500 // it can be listed, whatever the directory allowed
	}
	return mode
}
