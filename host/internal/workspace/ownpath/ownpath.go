// Package ownpath runs a program that sees directories at the paths of others, such as a branch at the path of its project. Other
// programs see both as before. It imports nothing of Tidemark.
package ownpath

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// ErrUnsupported means that the system has no namespaces of mounts.
var ErrUnsupported = errors.New("a program can be given other paths on Linux only")

// Bind is a directory, and the path at which a program sees it instead of what is there.
type Bind struct {
	Dir string `json:"dir"`
	At  string `json:"at"`
}

// Env is the variable by which a program and those that it starts know their binds.
const Env = "TIDEMARK_PATHS"

// Here returns the binds of this process: those in its environment that hold. A program may have left the namespace and kept the
// environment, as a server does that another one asks to start a program.
func Here() []Bind {
	text := os.Getenv(Env)
	if text == "" {
		return nil
	}
	var list, here []Bind
	_ = json.Unmarshal([]byte(text), &list) // another text names none
	for _, b := range list {
		dir, err := os.Stat(b.Dir)
		at, err2 := os.Stat(b.At)
		if err == nil && err2 == nil && os.SameFile(dir, at) {
			here = append(here, b)
		}
	}
	return here
}

// Outside returns the path that other programs have for what a program with binds sees at a path.
func Outside(binds []Bind, path string) string {
	return moved(path, binds, func(b Bind) (string, string) { return b.At, b.Dir })
}

// Inside returns the path at which a program with binds sees what other programs have at a path.
func Inside(binds []Bind, path string) string {
	return moved(path, binds, func(b Bind) (string, string) { return b.Dir, b.At })
}

// moved returns a path in one directory as a path in another one. Of several directories that it is in, the deepest counts.
func moved(path string, binds []Bind, of func(Bind) (from, to string)) string {
	longest, result := 0, path
	for _, b := range binds {
		from, to := of(b)
		if rest, ok := strings.CutPrefix(path, from); ok && len(from) > longest && (rest == "" || rest[0] == filepath.Separator) {
			longest, result = len(from), to+rest
		}
	}
	return result
}

// Covers reports whether one of two directories is in the other, or is it. Then one cannot be seen at the path of the other.
func Covers(a, b string) bool { return within(a, b) || within(b, a) }

func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && (rest == "" || rest[0] == filepath.Separator)
}
