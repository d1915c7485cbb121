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

// maxPath bounds a path in a text, in bytes. A deep tree has paths of many thousands.
const maxPath = 300

// Path shortens a path, or a line that begins with one, for a text that people read: its end is what tells it from others. Data has paths
// as a whole.
func Path(path string) string { return Tail(path, maxPath) }

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

// endPart is the part of a shortened text that is its end: a quarter.
const endPart = 4

// maxKeyRest bounds the rest of a private key, in bytes.
const maxKeyRest = 16 << 10

// AfterCut returns where a text whose beginning was cut off can be read from, so that it does not begin within a secret: at a line
// that begins in the first near bytes, or else behind a space, and not within a private key. It is the end of the text where
// there is no such place.
func AfterCut(text string, near int) int {
	at := strings.IndexByte(text[:min(near, len(text))], '\n') + 1
	if at == 0 {
		if at = strings.IndexAny(text, " \t\r\n") + 1; at == 0 {
			return len(text)
		}
	}
	rest := text[at:min(len(text), at+maxKeyRest)]
	end := strings.Index(rest, "-----END ")
	if begin := strings.Index(rest, "-----BEGIN "); end < 0 || begin >= 0 && begin < end {
		return at
	}
	line := strings.IndexByte(text[at+end:], '\n')
	if line < 0 {
		return len(text)
	}
	return at + end + line + 1
}

// beforeCut returns where a text whose end was cut off can be read to, so that it does not end within a word, unless that is longer than
// near bytes.
func beforeCut(text string, near int) int {
	from := max(0, len(text)-near)
	if at := strings.LastIndexAny(text[from:], " \t\r\n"); at >= 0 {
		return from + at + 1
	}
	return len(text)
}

// Shorten shortens a text, in which secrets are masked, to a limit in bytes, and keeps its end too. It adds what it left out to n.
func Shorten(s string, limit, n int) (string, int) {
	if len(s) <= limit {
		return s, n
	}
	return without(s, limit-limit/endPart, len(s)-limit/endPart, n)
}

// ShortenUnmasked is [Shorten] for a text whose secrets are not masked: neither part begins or ends within one.
func ShortenUnmasked(s string, limit, n int) (string, int) {
	if len(s) <= limit {
		return s, n
	}
	near := limit / endPart / endPart
	head, tail := beforeCut(s[:limit-limit/endPart], near), len(s)-limit/endPart
	return without(s, head, tail+AfterCut(s[tail:], near), n)
}

// without leaves out what is from head to tail of a text.
func without(s string, head, tail, n int) (string, int) {
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "\n…\n" + s[tail:], n + tail - head
}
