// Package alike decides what is the same to a reader: messages that differ in numbers and ids alone, one failure that is
// reported several times, and an entry that a later report has again.
//
// It guarantees: the same input gives the same answer, in every program. It is pure: no clock, no files, no network.
package alike

import "strings"

// Fingerprint folds what changes from one occurrence of a message to the next, so that equal
// messages can be counted: UUIDs become {uuid}, ISO 8601 times {ts}, blob and object URLs {blob},
// numbers of four or more digits, decimals and hexadecimal ids {n}. Words are never folded: a
// hexadecimal id has a digit in it, and stands alone.
func Fingerprint(s string) string {
	var b strings.Builder
	copied, i := 0, 0
	for i < len(s) {
		c := s[i]
		if !isWord(c) {
			i++
			continue
		}
		word := wordLen(s[i:])
		// What is folded begins with a digit or a hexadecimal letter. Of those that begin with a letter, only blob: is shorter
		// than eight.
		if isDigit(c) || isHexLetter(c) && (word >= 8 || c == 'b') {
			if n, fold := foldAt(s, i); n > 0 {
				if copied == 0 {
					b.Grow(len(s))
				}
				b.WriteString(s[copied:i])
				b.WriteString(fold)
				i += n
				copied = i
				continue
			}
		}
		i += word // a word that is not folded stays whole, so that nothing inside it is
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// foldAt says how many bytes at i are one dynamic value, and what stands for it.
func foldAt(s string, i int) (int, string) {
	rest := s[i:]
	c := rest[0]
	if !isDigit(c) && !isHexLetter(c) {
		return 0, ""
	}
	if c == 'b' && strings.HasPrefix(rest, "blob:") {
		return blobLen(rest), "{blob}"
	}
	if n := uuidLen(rest); n > 0 {
		return n, "{uuid}"
	}
	if isDigit(c) {
		if n := timeLen(rest); n > 0 {
			return n, "{ts}"
		}
		if n := decimalLen(rest); n > 0 {
			return n, "{n}"
		}
	}
	return numberLen(rest)
}

func isDigit(c byte) bool     { return c >= '0' && c <= '9' }
func isHexLetter(c byte) bool { return c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
func isWord(c byte) bool      { return wordBytes[c] }

// wordBytes are the bytes that words are made of.
var wordBytes = func() (is [256]bool) {
	for i := range is {
		c := byte(i)
		is[i] = isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
	}
	return is
}()

func wordLen(s string) int {
	n := 0
	for n < len(s) && wordBytes[s[n]] {
		n++
	}
	return n
}

func digitsLen(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func blobLen(s string) int {
	n := 5
	for n < len(s) && s[n] > ' ' && !strings.ContainsRune("\"'`()<>[]{},;", rune(s[n])) {
		n++
	}
	return n
}

func uuidLen(s string) int {
	if len(s) < 36 || len(s) > 36 && isWord(s[36]) {
		return 0
	}
	for i := range 36 {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return 0
			}
		} else if !isDigit(s[i]) && !isHexLetter(s[i]) {
			return 0
		}
	}
	return 36
}

// timeLen matches dates and times of ISO 8601: 2026-01-02, 2026-01-02T03:04, with seconds, a
// fraction, and Z or an offset.
func timeLen(s string) int {
	if !matches(s, "dddd-dd-dd") {
		return 0
	}
	n := 10
	if len(s) > n && (s[n] == 'T' || s[n] == 't' || s[n] == ' ') && matches(s[n+1:], "dd:dd") {
		n += 6
		if matches(s[n:], ":dd") {
			n += 3
			if len(s) > n+1 && (s[n] == '.' || s[n] == ',') && isDigit(s[n+1]) {
				n += 1 + digitsLen(s[n+1:])
			}
		}
		switch {
		case len(s) > n && (s[n] == 'Z' || s[n] == 'z'):
			n++
		case len(s) > n && (s[n] == '+' || s[n] == '-') && matches(s[n+1:], "dd:dd"):
			n += 6
		case len(s) > n && (s[n] == '+' || s[n] == '-') && matches(s[n+1:], "dddd"):
			n += 5
		}
	}
	if n < len(s) && isWord(s[n]) {
		return 0
	}
	return n
}

// matches compares s with a pattern in which d stands for a digit.
func matches(s, pattern string) bool {
	if len(s) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] == 'd' && !isDigit(s[i]) || pattern[i] != 'd' && s[i] != pattern[i] {
			return false
		}
	}
	return true
}

// decimalLen matches 12.5 and 0.001, but not the parts of a version (1.2.3) or an address. What
// follows may be a unit (12.5ms).
func decimalLen(s string) int {
	whole := digitsLen(s)
	if whole+1 >= len(s) || s[whole] != '.' || !isDigit(s[whole+1]) {
		return 0
	}
	n := whole + 1 + digitsLen(s[whole+1:])
	if n+1 < len(s) && s[n] == '.' && isDigit(s[n+1]) {
		return 0
	}
	return n
}

// numberLen matches a number of four or more digits (a unit may follow it), and hexadecimal ids:
// 0x…, or eight or more hexadecimal digits with a digit among them.
func numberLen(s string) (int, string) {
	word := wordLen(s)
	digits := digitsLen(s)
	switch {
	case digits == word && digits >= 4:
		return digits, "{n}"
	case word > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && isHex(s[2:word]):
		return word, "{n}"
	case word >= 8 && isHex(s[:word]) && strings.ContainsAny(s[:word], "0123456789"):
		return word, "{n}"
	case digits >= 4 && isUnit(s[digits:word]):
		return digits, "{n}"
	case isVersion(s):
		return versionLen(s), s[:versionLen(s)]
	}
	return 0, ""
}

func isHex(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) && !isHexLetter(s[i]) {
			return false
		}
	}
	return s != ""
}

// isUnit says whether letters that follow digits are a unit (ms, px, KB) and not a word.
func isUnit(s string) bool {
	switch strings.ToLower(s) {
	case "ms", "s", "px", "b", "kb", "mb", "gb", "kib", "mib", "us", "µs", "ns", "em", "rem":
		return true
	}
	return false
}

func isVersion(s string) bool { return versionLen(s) > 0 }

// versionLen matches three or more numbers joined by dots: a version or an IPv4 address, copied as
// it is.
func versionLen(s string) int {
	n, parts := 0, 0
	for {
		d := digitsLen(s[n:])
		if d == 0 {
			return 0
		}
		n += d
		parts++
		if n+1 >= len(s) || s[n] != '.' || !isDigit(s[n+1]) {
			break
		}
		n++
	}
	if parts < 3 {
		return 0
	}
	return n
}
