package redact

import "strings"

// A shell puts the parts of a word together, whatever quotes they are in: pa''ssword="hunter"2.

// shellKey finds the key before a shell's = that quotes divide, and returns it without them; "" where there is none.
func shellKey(s string, sep int) (k keyAt, plain string) {
	if s[sep] != '=' {
		return k, ""
	}
	from, quotes := sep, 0
	for from > 0 && sep-from < maxKey && (isKeyByte(s[from-1]) || isShellQuote(s[from-1])) {
		from--
		if isShellQuote(s[from]) {
			quotes++
		}
	}
	word := s[from:sep]
	if quotes == 0 || !beginsWord(s, from) || shellWordEnd(word, 0) != len(word) {
		return k, ""
	}
	return keyAt{from, sep, false}, strings.NewReplacer(`"`, "", "'", "").Replace(word)
}

// shellValue returns a value with the parts that quotes divide from it. Where it has one, it begins at its first quote.
func shellValue(s string, k keyAt, sep int, v valueAt) valueAt {
	if s[sep] != '=' || k.quoted || v.from == v.to || !beginsWord(s, k.from) {
		return v
	}
	from := v.from
	if v.quoted {
		if from--; from != sep+1 || !isShellQuote(s[from]) {
			return v
		}
	}
	to := shellWordEnd(s, from)
	if end := v.to + v.from - from; to <= end || to < len(s) && s[to] == '=' {
		return v
	}
	return valueAt{from, wordEnd(s, to), false} // as a word without quotes ends
}

// shellWordEnd returns where the parts of a word end. A part in quotes is empty or begins with a letter or a digit, and ends in its
// line.
func shellWordEnd(s string, from int) int {
	for i := from; i < len(s); i++ {
		if !isShellQuote(s[i]) {
			if !isWordByte(s[i]) {
				return i
			}
			continue
		}
		end := strings.IndexByte(s[i+1:], s[i])
		if end < 0 || end == 0 && (i+2 == len(s) || !isWordByte(s[i+2])) || end > 0 && !isPart(s[i+1:i+1+end]) {
			return i
		}
		i += end + 1
	}
	return len(s)
}

// isPart reports whether a text in quotes is a part of a word.
func isPart(s string) bool {
	return isWordByte(s[0]) && !strings.ContainsAny(s, "\r\n\\=:,;{}[]()<>")
}

// beginsWord reports whether a word of a shell may begin at a byte.
func beginsWord(s string, i int) bool {
	return i == 0 || strings.IndexByte(" \t\n\r;&|(", s[i-1]) >= 0
}

func isShellQuote(c byte) bool { return c == '"' || c == '\'' }

// isWordByte reports whether a byte needs no quotes in a word.
func isWordByte(c byte) bool {
	return isKeyByte(c) && c != '[' && c != ']' || c == '/' || c == '+' || c == '@' || c == '~' || c == '!' || c == '^' || c == '*'
}
