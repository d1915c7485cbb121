// Package mounts finds what is mounted in a directory, and removes directories. It imports nothing of Tidemark. On macOS it finds what
// FUSE serves, on Windows nothing.
package mounts

import (
	"path/filepath"
	"slices"
	"strings"
)

// Mount is a filesystem at a place.
type Mount struct {
	// Device is that of the filesystem.
	Device string
	// At is the directory. Root is the directory of the filesystem that is seen there, "/" for the whole.
	At, Root string
	// Type is the filesystem, such as "btrfs". Source is what is mounted, such as a device.
	Type, Source string
	// Flags are the options of the mount, such as "ro,nosuid", Options those of the filesystem. Commas separate them.
	Flags, Options string
	// Private is true where nothing that is unmounted elsewhere is unmounted here too. It is known on Linux.
	Private bool
}

// all returns what is mounted. A mount that hides an earlier one of the same directory is after it.
func all() ([]Mount, error) { return allOf("self") }

// Within returns what is mounted on a directory and below it. The directory above it must exist.
func Within(dir string) (list []Mount, err error) {
	found, err := all()
	if err != nil {
		return nil, err
	}
	if dir, err = real(dir); err != nil {
		return nil, err
	}
	for _, m := range found {
		if m.At == dir || strings.HasPrefix(m.At, strings.TrimSuffix(dir, "/")+"/") {
			list = append(list, m)
		}
	}
	return list, nil
}

// Below is [Within] without what is mounted on the directory itself.
func Below(dir string) ([]Mount, error) {
	list, err := Within(dir)
	if err != nil {
		return nil, err
	}
	dir, err = real(dir)
	return slices.DeleteFunc(list, func(m Mount) bool { return m.At == dir }), err
}

// On returns what is mounted on a directory itself.
func On(dir string) (m Mount, ok bool) {
	list, err := Within(dir)
	if err != nil {
		return m, false
	}
	if dir, err = real(dir); err != nil {
		return m, false
	}
	for _, other := range list {
		if other.At == dir {
			m, ok = other, true
		}
	}
	return m, ok
}

// Of returns the mount that a directory is on.
func Of(dir string) (Mount, error) {
	found, err := all()
	if err != nil {
		return Mount{}, err
	}
	if dir, err = real(dir); err != nil {
		return Mount{}, err
	}
	return longest(found, dir), nil
}

// longest returns the mount that a path without links is on.
func longest(found []Mount, path string) Mount {
	longest := Mount{At: "/"}
	for _, m := range found {
		if len(m.At) >= len(longest.At) && (m.At == path || strings.HasPrefix(path, strings.TrimSuffix(m.At, "/")+"/")) {
			longest = m
		}
	}
	return longest
}

// Place returns where a path without links is in its filesystem, as a process sees it; "self" is this one. Two paths with the same
// place are the same directory, whatever each process sees elsewhere. It reads no directory.
func Place(process, path string) (string, error) {
	found, err := allOf(process)
	if err != nil {
		return "", err
	}
	m := longest(found, path)
	return m.Device + ":" + filepath.Join(m.Root, strings.TrimPrefix(path, strings.TrimSuffix(m.At, "/"))), nil
}

// real returns a path of which only the last part may be a link.
func real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}
