package redact

import "strings"

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

// BeforeCut returns where a text whose end was cut off can be read to, so that it does not end within a word, unless that is longer than
// near bytes.
func BeforeCut(text string, near int) int {
	from := max(0, len(text)-near)
	if at := strings.LastIndexAny(text[from:], " \t\r\n"); at >= 0 {
		return from + at + 1
	}
	return len(text)
}
