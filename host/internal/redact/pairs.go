package redact

import "strings"

// maskPairs masks the values of secret keys in `key: value` and `key=value`, quoted or not, with
// any level of backslashes before the quotes (JSON inside JSON).
func (r *Redactor) maskPairs(s string, strict bool) (string, int) {
	var out []byte // nil until something is masked
	copied, n := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] != ':' && s[i] != '=' {
			continue
		}
		sep := i
		key, before := keyBefore(s, sep)
		if key == "" {
			continue
		}
		strength := r.keyStrength(key)
		if strength == innocent {
			continue
		}
		pairStrict := strict || before == '?' || before == '&'
		from, to, quoted := valueAfter(s, sep, pairStrict)
		if from >= to || !r.isSecretValue(s, from, to, strength, quoted, pairStrict) {
			continue
		}
		out = append(out, s[copied:from]...)
		out = append(out, r.mask...)
		copied, n = to, n+1
		i = to - 1
	}
	if n == 0 {
		return s, 0
	}
	return string(append(out, s[copied:]...)), n
}

// maxKey bounds how far a key is looked for before its separator, in bytes.
const maxKey = 64

// keyBefore finds the key that ends at the separator, and the byte before the key (0 at the start).
func keyBefore(s string, sep int) (key string, before byte) {
	end := sep
	for end > 0 && (s[end-1] == ' ' || s[end-1] == '\t') && sep-end < 3 {
		end--
	}
	if end > 0 && isQuote(s[end-1]) {
		end--
		for end > 0 && s[end-1] == '\\' {
			end--
		}
	}
	start := end
	for start > 0 && end-start < maxKey && isKeyByte(s[start-1]) {
		start--
	}
	if start > 0 {
		before = s[start-1]
	}
	return s[start:end], before
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '-' || c == '.' || c == '%' || c == '[' || c == ']' || c == '$'
}

// valueAfter finds the value behind the separator, without its quotes. In structured data an object
// or array counts as a value as a whole; in free text it does not, its own keys are looked at.
func valueAfter(s string, sep int, strict bool) (from, to int, quoted bool) {
	i := sep + 1
	for i < len(s) && (s[i] == '=' || s[i] == '>') && i-sep < 3 {
		i++
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || strict && (s[i] == '\n' || s[i] == '\r')) {
		i++
	}
	slashes := 0
	for i+slashes < len(s) && s[i+slashes] == '\\' {
		slashes++
	}
	if q := i + slashes; q < len(s) && isQuote(s[q]) {
		return q + 1, closingQuote(s, q+1, s[q], slashes), true
	}
	if i < len(s) && (s[i] == '{' || s[i] == '[') {
		if !strict {
			return i, i, false
		}
		return i, closingBracket(s, i), false
	}
	to = wordEnd(s, i)
	if isScheme(s[i:to]) && to < len(s) && s[to] == ' ' {
		to = wordEnd(s, to+1) // `Authorization: Bearer abc` is one value
	}
	return i, to, false
}

func wordEnd(s string, i int) int {
	for i < len(s) && !isValueEnd(s[i]) {
		i++
	}
	return i
}

func isScheme(word string) bool {
	return strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic") || strings.EqualFold(word, "digest")
}

func isValueEnd(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', ';', '&', ')', '}', ']', '"', '\'', '`', '<', '>', '#', '\\':
		return true
	}
	return false
}

// closingQuote finds the end of a string whose quotes carry that many backslashes; the end of s when
// it was cut off.
func closingQuote(s string, i int, quote byte, slashes int) int {
	run := 0
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			run++
			continue
		case s[i] == quote && run <= slashes:
			return i - run
		}
		run = 0
	}
	return len(s)
}

// closingBracket finds the end of a JSON object or array; the end of s when it was cut off.
func closingBracket(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = closingQuote(s, i+1, '"', 0)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

type strength int

const (
	innocent strength = iota
	weak              // a secret in structured data; in free text only when the value looks like one
	strong
)

func (r *Redactor) isSecretValue(s string, from, to int, key strength, quoted, strict bool) bool {
	value := s[from:to]
	if strings.HasPrefix(s[from:], r.mask) || strings.Trim(value, "*•.") == "" {
		return false
	}
	switch value {
	case "null", "undefined", "true", "false", "NaN", "{}", "[]":
		return false
	}
	if strict {
		return true
	}
	if key == weak {
		return len(value) >= 6 && strings.ContainsAny(value, "0123456789") && (quoted || len(value) >= 8)
	}
	return quoted || !r.prose[strings.ToLower(strings.TrimRight(value, ".!?:"))]
}

// SecretKey says whether the values of this key are secrets: `accessToken`, `user[password]`,
// `X-Api-Key`, but not `password_length` or `tokenizer`.
func (r *Redactor) SecretKey(key string) bool { return r.keyStrength(key) != innocent }

func (r *Redactor) keyStrength(key string) strength {
	if !r.hasStem(key) {
		return innocent
	}
	words := keyWords(key)
	if len(words) == 0 {
		return innocent
	}
	last := words[len(words)-1]
	if r.innocentLast[last] {
		return innocent
	}
	for _, w := range words {
		if r.any[w] {
			return strong
		}
	}
	if len(words) > 1 {
		joined := " " + strings.Join(words, " ") + " "
		for _, p := range r.phrases {
			if strings.Contains(joined, p) {
				return strong
			}
		}
	}
	if r.last[last] {
		return weak
	}
	return innocent
}

func (r *Redactor) hasStem(key string) bool {
	var buf [maxKey]byte
	if len(key) > maxKey {
		key = key[len(key)-maxKey:]
	}
	for i := range len(key) {
		c := key[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	lower := buf[:len(key)]
	for _, stem := range r.stems {
		if containsBytes(lower, stem) {
			return true
		}
	}
	return false
}

func containsBytes(b []byte, s string) bool {
	for i := 0; i+len(s) <= len(b); i++ {
		if b[i] == s[0] && string(b[i:i+len(s)]) == s {
			return true
		}
	}
	return false
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
