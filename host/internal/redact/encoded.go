package redact

import (
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of encoded values that is searched.
const maxDepth = 2

// maskEncoded masks secrets inside percent-encoded text: the JSON or the address in a parameter. The result is encoded
// again, except for the mask.
func (r *Redactor) maskEncoded(s string, depth int, tr *trace) (string, int) {
	i := strings.IndexByte(s, '%')
	if i < 0 || depth == maxDepth {
		return s, 0
	}
	p := r.pass(s, tr)
	inside := isEncodedByte
	if strings.Contains(s, "PRIVATE%20KEY") { // its base64 has slashes, which encodeURI and Python's quote keep
		inside = func(c byte) bool { return c == '/' || isEncodedByte(c) }
	}
	for end := 0; i >= 0 && i < len(s); {
		if !isEscape(s, i) {
			i = nextPercent(s, i+1)
			continue
		}
		from := i
		for from > end && inside(s[from-1]) {
			from--
		}
		for end = i; end < len(s) && inside(s[end]); end++ {
		}
		if decoded, ok := unescape(s[from:end]); ok {
			var inner *trace
			if tr != nil {
				inner = &trace{}
			}
			if clean, n := r.text(decoded, depth+1, inner); n > 0 {
				encoded := escape(clean, r.mask, inside)
				p.replace(from, end, encoded, n)
				if tr != nil {
					tr.add(from, end, len(encoded), inner.findings()...)
				}
			}
		}
		i = nextPercent(s, end)
	}
	return p.done()
}

func nextPercent(s string, i int) int {
	if j := strings.IndexByte(s[i:], '%'); j >= 0 {
		return i + j
	}
	return -1
}

func isEscape(s string, i int) bool { return i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) }

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// isEncodedByte reports whether a byte may be part of an encoded value: the characters that encodeURIComponent keeps,
// its escapes, and the brackets of a mask.
func isEncodedByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c != 0 && strings.IndexByte("-_.~%+!*'()[]", c) >= 0
}

// unescape undoes percent-encoding. It returns false for a text that is not encoded or whose result is not UTF-8.
func unescape(s string) (decoded string, ok bool) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if !isEscape(s, i) {
			return "", false
		}
		b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
		i += 2
	}
	return string(b), utf8.Valid(b)
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

func escape(s, mask string, kept func(c byte) bool) string {
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)*3)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '[' && strings.HasPrefix(s[i:], mask):
			b = append(b, mask...)
			i += len(mask) - 1
		case c != '%' && kept(c):
			b = append(b, c)
		default:
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}
