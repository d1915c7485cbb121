// Package pictures finds pictures, such as screenshots, in texts. They are not recorded: rules that mask text do not apply to them. Tools
// answer with them in base64, in objects of several forms, in URLs, and in JSON that is itself a text.
package pictures

import (
	"fmt"
	"slices"
	"strings"
)

// minPicture is the length of the shortest picture in base64, in bytes.
const minPicture = 400

// starts are how PNG, JPEG, GIF and WebP begin in base64.
var starts = []string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"}

// is reports whether a text is the type of a picture.
func is(mime string) bool { return strings.HasPrefix(mime, "image/") }

// Of reports whether an object has the type of a picture.
func Of(object map[string]any) bool {
	for _, v := range object {
		if s, ok := v.(string); ok && is(s) {
			return true
		}
	}
	return false
}

// Without returns a text with a note in place of each picture, and adds to n the bytes that are missing. Typed means that
// the text is beside the type of a picture.
func Without(s string, n int, typed bool) (string, int) {
	typed = typed || strings.Contains(s, "image/")
	if len(s) < minPicture || !typed && !slices.ContainsFunc(starts, func(start string) bool { return strings.Contains(s, start) }) {
		return s, n
	}
	var b strings.Builder
	done := 0
	for from, to := encoded(s, 0); from < len(s); from, to = encoded(s, to) {
		data := s[from:to]
		if len(data) < minPicture || !typed && !slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(data, start) }) {
			continue
		}
		b.WriteString(s[done:from])
		fmt.Fprintf(&b, "(a picture, %d bytes, not recorded)", len(data))
		n, done = n+len(data), to
	}
	b.WriteString(s[done:])
	return b.String(), n
}

// Of lines of data, the first has at least this length in bytes, and the others this one.
const (
	firstLine = 40
	otherLine = 20
)

// encoded returns where the next data in base64 is from a place on, with line breaks in it, also escaped ones. Without more, it is
// at the end.
func encoded(s string, at int) (from, to int) {
	for from = at; from < len(s); from = to + 1 {
		if to = run(s, from); to-from < firstLine {
			continue
		}
		for {
			next := breaks(s, to)
			end := run(s, next)
			if next == to || end-next < otherLine {
				return from, to
			}
			to = end
		}
	}
	return len(s), len(s)
}

// run returns where characters of base64 end.
func run(s string, at int) int {
	for ; at < len(s); at++ {
		c := s[at]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' && c != '-' && c != '_' {
			break
		}
	}
	return at
}

// breaks returns where line breaks end.
func breaks(s string, at int) int {
	for at < len(s) {
		switch {
		case s[at] == '\n' || s[at] == '\r':
			at++
		case s[at] == '\\' && at+1 < len(s) && (s[at+1] == 'n' || s[at+1] == 'r'):
			at += 2
		default:
			return at
		}
	}
	return at
}
