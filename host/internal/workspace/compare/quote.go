package compare

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/redact"
)

// Quote returns a path as Git writes it: as it is, or in double quotes with escapes where it has quotes, backslashes,
// invalid UTF-8, or characters that are invisible or control a terminal.
func Quote(path string) string {
	plain := true
	for i, r := range path {
		if r == '"' || r == '\\' || r == '\t' || !visible(path, i, r) {
			plain = false
			break
		}
	}
	if plain {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case visible(path, i, r):
			b.WriteString(path[i : i+n])
		default:
			for _, c := range []byte(path[i : i+n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}

// visible reports whether the rune at an offset can be shown: it controls no terminal, and is neither invisible nor
// invalid. A tab can.
func visible(s string, at int, r rune) bool {
	switch {
	case r >= 0x20 && r < 0x7f || r == '\t':
		return true
	case r == utf8.RuneError:
		return strings.HasPrefix(s[at:], "\ufffd")
	case redact.Hidden(r): // some of these are not assigned
		return false
	}
	return r >= 0xa0 && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Escape makes a line safe for a terminal: control characters, invisible characters and invalid UTF-8 become \x1b, \u202e
// or \xff. It counts them. A carriage return at the end stays, because it is harmless there and belongs to the line.
func Escape(line string) (string, int) {
	body := strings.TrimSuffix(line, "\r")
	i := 0
	for i < len(body) && (body[i] >= 0x20 && body[i] < 0x7f || body[i] == '\t') {
		i++
	}
	if i == len(body) {
		return line, 0
	}
	var b strings.Builder
	n := 0
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRuneInString(body[i:])
		switch {
		case visible(body, i, r):
			b.WriteString(body[i : i+size])
		case r == utf8.RuneError || r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, body[i])
			n++
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
			n++
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
			n++
		}
		i += size
	}
	b.WriteString(line[len(body):])
	return b.String(), n
}
