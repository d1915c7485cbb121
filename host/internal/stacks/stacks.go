// Package stacks reads the stacks of code that browsers record.
//
// Guarantees:
//   - Any text may be a line of a stack. What is no frame is left out.
//   - Memory is bounded, however many stacks are read.
package stacks

import (
	"slices"
	"strconv"
	"strings"
)

// Frame is one line of a stack.
type Frame struct {
	Function, URL string
	Line, Column  int
}

// Parse reads a line of a stack: "function (url:line:column)".
func Parse(s string) (f Frame, ok bool) {
	function, place, ok := strings.Cut(s, " (")
	if !ok || !strings.HasSuffix(place, ")") {
		return Frame{}, false
	}
	rest, column, ok1 := cutLast(place[:len(place)-1])
	url, line, ok2 := cutLast(rest)
	return Frame{function, url, line, column}, ok1 && ok2
}

// ParseAll reads the lines of a stack that are frames.
func ParseAll(stack []string) (frames []Frame) {
	for _, line := range stack {
		if f, ok := Parse(line); ok {
			frames = append(frames, f)
		}
	}
	return frames
}

// cutLast splits off the number after the last colon.
func cutLast(s string) (string, int, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

// IsWeb says whether a frame is a line of a script that can be fetched.
func (f Frame) IsWeb() bool {
	return f.Line > 0 && (strings.HasPrefix(f.URL, "http://") || strings.HasPrefix(f.URL, "https://"))
}

// IsLibrary reports whether a file is not the project's own: an installed package, or the client of a development server.
func IsLibrary(file string) bool {
	return slices.ContainsFunc([]string{"node_modules/", "/.vite/", "/@vite/", "/@react-refresh", "webpack/runtime/", "webpack/bootstrap"}, func(part string) bool {
		return strings.Contains("/"+file, part) // an original name may lack the slash
	})
}
