// Package jsondepth finds JSON that is nested so deep that a reader that calls itself for each level would exhaust its stack,
// which ends a Go program. It is pure.
package jsondepth

import "bytes"

// Most is how deep JSON that others wrote may be nested. The JSON readers of Go and of browsers take as much.
const Most = 1000

// Exceeds reports whether a text opens more than most lists and objects in each other, whether it is JSON or not.
func Exceeds(text []byte, most int) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			if depth++; depth > most {
				return true
			}
		case ']', '}':
			depth--
		case '"':
			n := quoted(text[i+1:])
			if n < 0 {
				return false
			}
			i += n + 1
		}
	}
	return false
}

// quoted returns the length of a string without its end, -1 if it has none.
func quoted(text []byte) int {
	for at := 0; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return -1
		}
		at += n
		escapes := 0
		for escapes < at && text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
		at++
	}
}
