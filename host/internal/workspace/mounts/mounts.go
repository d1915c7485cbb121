// Package mounts finds what is mounted in a directory. It imports nothing of Tidemark. Elsewhere than on Linux it finds nothing.
package mounts

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Mount is a filesystem at a place.
type Mount struct {
	// At is the directory. Root is the directory of the filesystem that is seen there, "/" for the whole.
	At, Root string
	// Type is the filesystem, such as "btrfs". Source is what is mounted, such as a device.
	Type, Source string
	// Flags are the options of the mount, such as "ro,nosuid", Options those of the filesystem. Commas separate them.
	Flags, Options string
}

const table = "/proc/self/mountinfo"

// all returns what is mounted. A mount that hides an earlier one of the same directory is after it.
func all() ([]Mount, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	data, err := os.ReadFile(table) //nolint:forbidigo // it is the kernel's
	if err != nil {
		return nil, err
	}
	var list []Mount
	for line := range strings.Lines(string(data)) {
		place, what, ok := strings.Cut(line, " - ")
		at, of := strings.Fields(place), strings.Fields(what)
		if !ok || len(at) < 6 || len(of) < 2 {
			return nil, fmt.Errorf("%s has a line that is not understood: %q", table, line)
		}
		list = append(list, Mount{
			At: unescape.Replace(at[4]), Root: unescape.Replace(at[3]), Type: of[0], Source: unescape.Replace(of[1]), Flags: at[5], Options: of[len(of)-1],
		})
	}
	return list, nil
}

// unescape reads a path as the kernel writes it in its table.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)

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
	longest := Mount{At: "/"}
	for _, m := range found {
		if len(m.At) >= len(longest.At) && (m.At == dir || strings.HasPrefix(dir, strings.TrimSuffix(m.At, "/")+"/")) {
			longest = m
		}
	}
	return longest, nil
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
