// Package lazyregexp compiles a regular expression when it is first used.
//
// The hook and the native-messaging host are started often and use few of the program's expressions. It guarantees that an
// expression is compiled at most once, from any number of goroutines, and in a test program when the package that declares it
// is initialized, so that a mistake in one fails the first test of its package (as Go's own internal/lazyregexp does).
package lazyregexp

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// inTest reports whether this is a test program. Go names those PACKAGE.test, with .exe on Windows.
var inTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), ".test")

// New returns a function that compiles an expression in [regexp.MustCompile]'s syntax at its first call and returns it at
// each. It panics where the expression is wrong: in a test program New itself does.
func New(expr string) func() *regexp.Regexp {
	get := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	if inTest {
		get()
	}
	return get
}
