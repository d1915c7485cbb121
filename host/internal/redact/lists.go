package redact

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/redact/marks"
)

// Secrets in lists: a key and its value as two texts of an array, tokens in an object, and a header that is a list.

// pairInArray finds the value of a secret key that are the only two texts of an array or of a call: ["password","hunter2"],
// setItem("password", "hunter2"). sep is the comma between them. It returns an empty value where there is none.
func (r *Redactor) pairInArray(s string, sep int) (key string, v valueAt) {
	if sep == 0 || !isQuote(s[sep-1]) {
		return "", v
	}
	k := keyBefore(s, sep)
	quote := k.from - 1
	if !k.quoted || k.from == k.to || quote < 0 || s[quote] != s[sep-1] {
		return "", v
	}
	quote = marks.SlashesFrom(s, quote)
	if doubled := marks.DoubledBefore(s, sep); doubled > 0 {
		quote = max(0, k.from-doubled)
	}
	width := k.from - quote
	open := skipSpaceBefore(s, quote)
	if open == 0 || s[open-1] != '[' && s[open-1] != '(' {
		return "", v
	}
	key = s[k.from:k.to]
	strength := r.keyStrength(key)
	if r.headers[lower(key)] {
		strength = strong
	}
	if strength < weak {
		return "", v
	}
	value := r.valueAfter(s, sep, true, 0)
	end := value.to + width
	if end > len(s) || !value.quoted {
		return "", v
	}
	if end = skipSpace(s, end); end == len(s) || s[end] != ']' && s[end] != ')' {
		return "", v
	}
	// One array alone may as well be a list of names.
	outer := skipSpaceBefore(s, open-1)
	nested := s[open-1] == '[' && outer > 0 && (s[outer-1] == '[' || s[outer-1] == ',')
	if !r.isSecretValue(s, value, min(strength, weak), nested && strength == strong) {
		return "", v
	}
	return key, value
}

// secretTexts returns the end of an array of texts behind a secret key where structure does not say that it is a value: in a sentence,
// and in objects as programs write them, {passwords: ['a', 'b']}. It is 0 where the array has no secret, or anything but texts.
// The array may be cut off.
func secretTexts(r *Redactor, s string, at int, quoted bool, key strength) (end int) {
	secret, messages := false, true
	for i := at; ; {
		i = skipSpace(s, i+1) // behind the bracket or the comma
		slashes := 0
		for i+slashes < len(s) && s[i+slashes] == '\\' {
			slashes++
		}
		from := i + slashes + 1
		if from > len(s) || !isQuote(s[from-1]) {
			return 0
		}
		to := closingQuote(s, from, s[from-1], slashes)
		end := min(to+slashes+1, len(s))
		if mark := marks.DoubledAt(s, i); mark != "" && !endsText(s, i+len(mark)) {
			from = i + len(mark)
			if to = marks.Closing(s, from, mark); to < 0 {
				to = len(s)
			}
			end = min(to+len(mark), len(s))
		}
		text := s[from:to]
		if to == len(s) && strings.Contains(text, r.mask) {
			return 0 // it was no end before the text behind it was masked
		}
		messages = messages && isListedMessage(r, text)
		secret = secret || !r.isPlaceholder(text) && !startsLikePath(text) && (quoted && key == strong || r.looksSecret(text, true) && strings.ContainsFunc(text, isLetterRune))
		switch i = skipSpace(s, end); {
		case i < len(s) && s[i] == ',':
			continue
		case i < len(s) && s[i] != ']' || messages || !secret:
			return 0
		default:
			return maskedWordEnd(s, min(i+1, len(s)), r.mask) // with what is not JSON behind it
		}
	}
}

// valueInObject matches a text behind a key of an object or of a map.
var valueInObject = lazyregexp.New("(?:[:=]|=>)[ \\t]*[\"'`]([^\"'`\\n]*)")

// classBefore matches the class of an object before its bracket, as consoles show it: Map(1) {, Credentials {.
var classBefore = lazyregexp.New(`^[A-Z]\w{0,40}(?:\(\d+\))? \{`)

// maxObject bounds the length of an object behind a name without quotes, in bytes.
const maxObject = 1000

// secretObject returns where an object ends that stands behind the name of a secret without quotes, and in which a text looks like a
// secret: password: {v: 'x'}, password: Map(1) {'a' => 'x'}. It is 0 for others.
func secretObject(r *Redactor, s string, v valueAt, key strength) (end int) {
	if key != strong || v.quoted || v.from == len(s) {
		return 0
	}
	open := v.from
	if s[open] != '{' {
		open += len(classBefore().FindString(s[open:])) - 1
	}
	if open < v.from {
		return 0
	}
	end = closingBracket(s[:min(len(s), open+maxObject)], open)
	if isSchema(s[open:end], r.schemaTypes) {
		return 0
	}
	for _, found := range valueInObject().FindAllStringSubmatch(s[open:end], -1) {
		if text := found[1]; r.looksSecret(text, true) && !strings.Contains(text, " ") && strings.ContainsFunc(text, isLetterRune) && !startsLikePath(text) {
			return maskedWordEnd(s, end, r.mask)
		}
	}
	return 0
}

// endsText reports whether a text in an array ends before a byte.
func endsText(s string, i int) bool {
	return i == len(s) || s[i] == ',' || s[i] == ']' || s[i] <= ' '
}

func skipSpaceBefore(s string, i int) int {
	for i > 0 && (s[i-1] == ' ' || s[i-1] == '\t' || s[i-1] == '\n' || s[i-1] == '\r') {
		i--
	}
	return i
}

// hasTokens reports whether an object under a key such as `tokens` has a token, by its own keys.
func (r *Redactor) hasTokens(object string) bool {
	key := ""
	for i := 0; i < len(object); i++ {
		if object[i] != '"' {
			continue
		}
		from := i + 1
		i = closingQuote(object, from, '"', 0)
		text := object[from:i]
		if next := skipSpace(object, min(i+1, len(object))); next < len(object) && object[next] == ':' {
			key = lower(text)
			continue
		}
		if r.tokens[key] && len(text) >= 16 && r.looksSecret(text, true) && !strings.ContainsAny(text, " \t\n") {
			return true
		}
		key = ""
	}
	return false
}

// maskListHeader masks the tokens in a header that is a list of names.
func maskListHeader(r *Redactor, name, value string, tr *trace) (string, int) {
	p := r.pass(value, tr)
	after := false // the name before says what follows
	for from := 0; from < len(value); {
		to := len(value)
		if i := strings.IndexByte(value[from:], ','); i >= 0 {
			to = from + i
		}
		start := from
		for start < to && (value[start] == ' ' || value[start] == '\t') {
			start++
		}
		part := strings.TrimRight(value[start:to], " \t")
		tail := strings.LastIndexByte(part, '.') + 1
		switch {
		case part == r.mask || part == "":
		case after:
			p.mask(start, start+len(part), KindHeader, name)
		case isToken(part[tail:]):
			p.mask(start+tail, start+len(part), KindHeader, name)
		}
		after = r.SecretKey(part)
		from = to + 1
	}
	return p.done()
}

// isToken reports whether a part of a name is not made of words.
func isToken(s string) bool {
	return len(s) >= 16 && strings.ContainsAny(s, "0123456789") && strings.ContainsFunc(s, isLetterRune) && !strings.ContainsAny(s, "[]")
}
