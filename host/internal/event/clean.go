package event

import (
	"strings"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/redact"
)

// Clean removes characters from page text that could mislead a terminal or a reader: control characters except line feed
// and tab, ANSI escape sequences, bidirectional controls and characters that show nothing. Invalid UTF-8 becomes U+FFFD.
// Text without any is returned unchanged. extension/clean.ts does the same before it looks for secrets.
func Clean(s string) string {
	i := 0
	for i < len(s) && isOrdinary(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	for i < len(s) {
		if s[i] == 0x1b {
			i = skipEscape(s, i)
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !redact.Hidden(r) {
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func isOrdinary(c byte) bool { return c >= 0x20 && c < 0x7f || c == '\n' || c == '\t' }

// skipEscape returns where an ANSI sequence that begins at i ends (ECMA-48: CSI, OSC and two-byte).
func skipEscape(s string, i int) int {
	i++
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '[':
		for i++; i < len(s) && s[i] >= 0x20 && s[i] < 0x40; i++ {
		}
		return skipRune(s, i)
	case ']', 'P', '_', '^', 'X':
		for i++; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b {
				return skipRune(s, i+1)
			}
		}
		return i
	}
	return skipRune(s, i)
}

func skipRune(s string, i int) int {
	_, n := utf8.DecodeRuneInString(s[i:])
	return i + n
}

// Tail shortens a name to at most limit bytes of its end, behind an ellipsis, without splitting a character.
func Tail(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const ellipsis = "…"
	from := len(s) - limit + len(ellipsis)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return ellipsis + s[from:]
}

// cut shortens s to at most limit bytes without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
