package redact

import (
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// strength is how certain it is that the value of a key is secret.
type strength int

const (
	innocent strength = iota
	maybe             // a secret when the value looks like one
	weak              // a secret in structured data; in free text when the value looks like one
	strong
)

// SecretKey reports whether the values of this key are secret: `accessToken`, `user[password]`,
// `X-Api-Key`, but not `password_length` or `tokenizer`.
func (r *Redactor) SecretKey(key string) bool { return r.keyStrength(key) > maybe }

func (r *Redactor) keyStrength(key string) strength {
	if isUnusual(key) {
		if key = plainKey(key); isForeign(key, r.foreign) {
			return weak
		}
	}
	if !r.stems.in(key) {
		return innocent
	}
	words := keyWords(key)
	if len(words) == 0 {
		return innocent
	}
	joined := ""
	if len(words) > 1 || len(r.named) > 0 {
		joined = " " + strings.Join(words, " ") + " "
	}
	if containsAny(joined, r.named) {
		return strong
	}
	last := words[len(words)-1]
	if r.innocentLast[last] || r.public[strings.ToLower(key)] {
		return innocent
	}
	for _, w := range words {
		if r.any[w] || endsInAny(w, r.anyEnd) {
			return strong
		}
	}
	switch {
	case len(words) > 1 && containsAny(joined, r.phrases):
		return strong
	case r.last[last] || endsInAny(last, r.lastEnd):
		return weak
	case r.maybe[last]:
		return maybe
	}
	return innocent
}

// isOpen reports whether an object under this key is searched, because it holds more than the secret.
func (r *Redactor) isOpen(key string) bool {
	words := keyWords(plainKey(key))
	return len(words) > 0 && r.open[words[len(words)-1]] && r.keyStrength(key) == weak
}

// isForeign reports whether one of the words of a key that is not ASCII ends like a secret in another language.
func isForeign(key string, ends []string) bool {
	words := strings.FieldsFunc(strings.ToLower(key), func(c rune) bool { return c < 0x80 && !isLetterRune(c) || isWideBlank(c) })
	return slices.ContainsFunc(words, func(word string) bool { return endsInAny(word, ends) })
}

// isUnusual reports whether a key has escapes or other characters than ASCII.
func isUnusual(key string) bool {
	for i := range len(key) {
		if c := key[i]; c >= 0x80 || c == '%' || c == '\\' {
			return true
		}
	}
	return false
}

// plainKey undoes percent-encoding, escapes with the code of a character and accents that are characters of their own in a key:
// pass%77ord, \u0070assword, \u{70}assword, \x70assword, \160assword, n and U+0303 for ñ. It does what a terminal does with
// the escapes of colors and of a backspace: pass\e[1mword, pass\bsword.
func plainKey(key string) string {
	key = colors().ReplaceAllLiteralString(key, "")
	key = codes().ReplaceAllStringFunc(key, func(escape string) string {
		digits, base := strings.TrimLeft(escape, `\`), 8
		if digits == "b" {
			return "\b"
		}
		if !isOctal(digits[0]) {
			digits, base = strings.Trim(digits[1:], "{}"), 16
		}
		c, _ := strconv.ParseUint(digits, base, 32) // as many digits as the pattern allows
		if c >= 0xd800 && c < 0xe000 || c > 0xffff {
			return " "
		}
		return string(rune(c))
	})
	key = percentEscapes().ReplaceAllStringFunc(key, func(run string) string {
		if decoded, ok := unescape(run); ok {
			return decoded
		}
		return " "
	})
	shown := make([]rune, 0, len(key))
	for _, c := range key {
		switch {
		case c == '\b':
			shown = shown[:max(0, len(shown)-1)]
		case c < 0x300 || c > 0x36f:
			shown = append(shown, c)
		}
	}
	return string(shown)
}

var (
	codes          = lazyregexp.New(`\\+(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|0?1[0-7]{2}|0[0-7]{2}|b)`)
	colors         = lazyregexp.New(`\\+(?:[eE]|033|x1[bB]|u001[bB])\[[0-9;]*m`)
	percentEscapes = lazyregexp.New(`(?:%[0-9A-Fa-f]{2})+`)
)

// isCode reports whether a text begins like the code of a character behind its backslash: u0070, u{70}, U00000070, x70, 160, 0160,
// b for a backspace, or e[ of a color.
func isCode(s string) bool {
	switch {
	case len(s) > 3 && s[0] == 'u' && s[1] == '{':
		n := hexDigits(s[2:])
		return n > 0 && len(s) > n+2 && s[n+2] == '}'
	case len(s) > 4 && s[0] == 'u':
		return isHex(s[1]) && isHex(s[2]) && isHex(s[3]) && isHex(s[4])
	case len(s) > 8 && s[0] == 'U':
		return hexDigits(s[1:]) == 6 && isHex(s[7]) && isHex(s[8])
	case len(s) > 2 && s[0] == 'x':
		return isHex(s[1]) && isHex(s[2])
	case s[0] == 'b' || len(s) > 1 && (s[0] == 'e' || s[0] == 'E') && s[1] == '[':
		return true
	}
	return len(s) > 2 && (s[0] == '0' || s[0] == '1') && isOctal(s[1]) && isOctal(s[2])
}

// hexDigits counts the hexadecimal digits that a text begins with, up to 6.
func hexDigits(s string) int {
	n := 0
	for n < min(len(s), 6) && isHex(s[n]) {
		n++
	}
	return n
}

// endsBraced reports whether a text ends with such a code in braces.
func endsBraced(s string) bool {
	at := strings.LastIndexByte(s[max(0, len(s)-len(`u{10ffff}`)):], '{')
	if at < 0 {
		return false
	}
	at += max(0, len(s)-len(`u{10ffff}`))
	return at > 1 && s[at-1] == 'u' && s[at-2] == '\\' && at+1+hexDigits(s[at+1:]) == len(s)-1 && s[at+1] != '}'
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func endsInAny(s string, ends []string) bool {
	for _, e := range ends {
		if strings.HasSuffix(s, e) {
			return true
		}
	}
	return false
}

// stems are texts of which a secret key contains one, by their first two letters.
type stems [1 << 10][]string

// in reports whether a key, or the end of a long one, contains one of the stems.
func (s *stems) in(key string) bool {
	key = key[max(0, len(key)-maxKey):]
	for i := range len(key) {
		next := byte(0)
		if i+1 < len(key) {
			next = key[i+1]
		}
		for _, stem := range s[stemIndex(key[i], next)] {
			if len(key)-i >= len(stem) && strings.EqualFold(key[i:i+len(stem)], stem) {
				return true
			}
		}
	}
	return false
}

// stemIndex is where stems are that begin with two letters of any case.
func stemIndex(a, b byte) int { return int(a&31)<<5 | int(b&31) }

// add adds a stem, which is in lower case.
func (s *stems) add(stem string) {
	for b := range byte(32) { // a stem of one letter may be followed by anything
		if len(stem) > 1 {
			b = stem[1]
		}
		i := stemIndex(stem[0], b)
		s[i] = append(s[i], stem)
		if len(stem) > 1 {
			break
		}
	}
}

// keyWords splits a key into lower-case words: at anything but letters and digits, at %XX, at
// changes from lower to upper case, and before the last letter of an acronym. Digits at a word's
// end are dropped (password2).
func keyWords(key string) []string {
	var words []string
	start := 0
	flush := func(end int) {
		w := strings.TrimRight(key[start:end], "0123456789")
		if w != "" {
			words = append(words, strings.ToLower(w))
		}
	}
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case c == '%' && i+2 < len(key):
			flush(i)
			i += 2
			start = i + 1
		case !isLetter(c) && (c < '0' || c > '9'):
			flush(i)
			start = i + 1
		case i > start && isUpper(c) && (!isUpper(key[i-1]) || i+1 < len(key) && isLetter(key[i+1]) && !isUpper(key[i+1])):
			flush(i)
			start = i
		}
	}
	if start < len(key) {
		flush(len(key))
	}
	return words
}

func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isLetter(c byte) bool { return isUpper(c) || c >= 'a' && c <= 'z' }
