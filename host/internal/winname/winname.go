// Package winname knows which names Windows gives to no file (pure): devices, streams of other files, and names that it changes
// before it uses them. A name that a repository, a page or an archive chose is checked before a file of it is written there.
package winname

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// devices are the names that mean a device in every directory, with any extension.
var devices = []string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}

// Problem returns why Windows has no file of a name, "" if it can have one.
func Problem(name string) string {
	if at := strings.IndexFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune(`<>:"/\|?*`, r) }); at >= 0 {
		if name[at] == ':' {
			return `on Windows, ":" names a part of another file`
		}
		return fmt.Sprintf("on Windows, no name has %q in it", name[at])
	}
	if name != "." && name != ".." && strings.TrimRight(name, ". ") != name {
		return "on Windows, no name ends with a dot or a blank"
	}
	stem, _, _ := strings.Cut(name, ".")
	if stem = strings.ToUpper(strings.TrimRight(stem, " ")); device(stem) {
		return fmt.Sprintf("on Windows, %s is a device", stem)
	}
	return ""
}

// device reports whether a name without extension, in capitals, means a device.
func device(stem string) bool {
	if slices.Contains(devices, stem) {
		return true
	}
	number, is := strings.CutPrefix(stem, "COM")
	if !is {
		number, is = strings.CutPrefix(stem, "LPT")
	}
	return is && slices.Contains([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"}, number)
}

// InPath returns the [Problem] of the first part of a path with "/" that has one, and the path up to it.
func InPath(path string) (at, why string) {
	for end := 0; end < len(path); end++ {
		begin := end
		if slash := strings.IndexByte(path[begin:], '/'); slash >= 0 {
			end = begin + slash
		} else {
			end = len(path)
		}
		if why := Problem(path[begin:end]); why != "" {
			return path[:end], why
		}
	}
	return "", ""
}

// Here is [InPath] on Windows. On other systems no path has a problem.
func Here(path string) (at, why string) {
	if runtime.GOOS != "windows" {
		return "", ""
	}
	return InPath(path)
}
