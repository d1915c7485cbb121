package event

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Clean removes characters from page text that could mislead a terminal or a reader: control characters except line feed
// and tab, ANSI escape sequences, bidirectional controls and zero-width characters. Invalid UTF-8 becomes U+FFFD. Text
// without any is returned unchanged.
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
		if !isHidden(r) {
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func isOrdinary(c byte) bool { return c >= 0x20 && c < 0x7f || c == '\n' || c == '\t' }

// isHidden names what Clean removes; the ranges are those of Unicode's Bidi_Control property,
// the C0 and C1 controls, and the zero-width format characters. U+200D stays inside emoji only as
// far as it is harmless: it is removed too, which splits a joined emoji into its parts.
func isHidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r == 0xad || r == 0x61c || r == 0x180e || r == 0xfeff || r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

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
		return min(i+1, len(s))
	case ']', 'P', '_', '^', 'X':
		for i++; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b {
				return min(i+2, len(s))
			}
		}
		return i
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return i + n
}

// OneLine cleans an address or a name. The result is always one line.
func OneLine(s string) string {
	s = Clean(s)
	if !strings.ContainsAny(s, "\n\t\u2028\u2029") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Apart returns a text of a page for a line that has more beside it: in quotes if it contains one of the separators, so that
// it reads neither as two texts nor as Tidemark's own words.
func Apart(s string, separators ...string) string {
	s = OneLine(s)
	if slices.ContainsFunc(separators, func(sep string) bool { return strings.Contains(s, sep) }) {
		return strconv.Quote(s)
	}
	return s
}

// Named is [Apart] for the name of a file or an element: in quotes if it has a blank or a quote.
func Named(s string) string { return Apart(s, " ", `"`) }

// Unbroken returns a text of a page on one line and without blanks, so that it is one word.
func Unbroken(s string) string { return strings.ReplaceAll(OneLine(s), " ", "%20") }

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
