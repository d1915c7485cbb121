package redact

import "strings"

// namedKey is a secret key that appears as a value: `name="password" value="…"`, as in forms, lists of headers and
// pages.
type namedKey struct {
	key      string
	strength strength
	// end is where the name ends.
	end int
	// left counts down the pairs that may hold the value.
	left int
}

// maxNamed is how many pairs after its name a value may be. It does not count bytes: masking changes the length of the
// text in between, and masking twice must equal masking once.
const maxNamed = 4

func isName(key string) bool { return isAny(key, "name", "key") }

func isNamedValue(key string) bool { return isAny(key, "value", "val", "content") }

func isAny(key string, names ...string) bool {
	for _, n := range names {
		if len(key) == len(n) && lower(key) == n {
			return true
		}
	}
	return false
}

// namedKey reads the name after the separator. It returns the zero value for a key that is not secret.
func (r *Redactor) namedKey(s string, sep int) namedKey {
	v := r.valueAfter(s, sep, false, 0)
	if v.from >= v.to || v.to-v.from > maxKey {
		return namedKey{}
	}
	name := s[v.from:v.to]
	// A name with a masked part does not count: masking again would see another name.
	if strings.ContainsFunc(name, func(c rune) bool { return c < 0x80 && c != ' ' && c != '\\' && !isKeyByte(byte(c)) }) || strings.Contains(name, r.mask[:len(r.mask)-1]) {
		return namedKey{}
	}
	strength := r.keyStrength(name)
	if strength == innocent && r.headers[lower(name)] {
		strength = weak
	}
	if strength == innocent {
		return namedKey{}
	}
	return namedKey{name, strength, v.to, maxNamed + 1}
}

// part finds the content of the part of a multipart form that has this name (RFC 7578): between the
// empty line after the part's headers and the next boundary.
func (n namedKey) part(s string, k keyAt) (from, to int) {
	if n.key == "" || !inFormData(s[:k.from]) {
		return 0, 0
	}
	for from = n.end; ; { // the rest of the part's headers, line by line
		i := strings.IndexByte(s[from:], '\n')
		if i < 0 || strings.HasPrefix(s[from:], "--") {
			return 0, 0
		}
		empty := from > n.end && strings.TrimRight(s[from:from+i], "\r") == ""
		if from += i + 1; empty {
			break
		}
	}
	if strings.HasPrefix(s[from:], "--") {
		return 0, 0
	}
	to = len(s)
	if i := strings.Index(s[from:], "\n--"); i >= 0 {
		to = from + i
		if to > from && s[to-1] == '\r' {
			to--
		}
	}
	return from, to
}

// inFormData reports whether a text ends within the header of a part of a form.
func inFormData(s string) bool {
	s = s[max(0, len(s)-maxPartHeader):]
	return strings.Contains(lower(s[strings.LastIndexByte(s, '\n')+1:]), "form-data;")
}

// maxPartHeader is how much of a part's header is read before its name, in bytes.
const maxPartHeader = 300

// secretElement finds the text of an XML element that is named like a secret key: `<wsse:Password Type="…">…</wsse:Password>`.
// full is what its start tag has between the brackets, opening the first one as it is written. The tag ends at a byte. In an
// element whose name is weak evidence, text with spaces is prose unless it looks like a secret.
func (r *Redactor) secretElement(s, full string, end int, opening string) (name string, from, to int) {
	slashes := ""
	if opening[0] == '\\' { // JSON in JSON has more of them
		slashes = `\`
	}
	space := " \t\r\n" + slashes
	full = strings.TrimRight(full, slashes)
	if full == "" || !isLetter(full[0]) && full[0] < 0x80 || full[len(full)-1] == '/' {
		return "", 0, 0
	}
	if i := strings.IndexAny(full, space); i >= 0 {
		full = full[:i]
	}
	name = full[strings.LastIndexByte(full, ':')+1:]
	strength := r.keyStrength(name)
	if strength == innocent {
		return "", 0, 0
	}
	from = skipSpace(s, end)
	if strings.HasPrefix(s[from:], cdata) {
		from += len(cdata)
		to = len(s) // the text was cut off here
		if i := strings.Index(s[from:], "]]>"); i >= 0 {
			to = from + i
		}
	} else {
		i := strings.Index(s[from:], opening)
		if i < 0 || !strings.HasPrefix(s[from+i+len(opening):], "/"+full) {
			return "", 0, 0
		}
		to = from + len(strings.TrimRight(s[from:from+i], space))
	}
	// A custom element's name has a dash, and its text is more often a label.
	structured := !strings.Contains(name, "-")
	if from < to && strings.ContainsAny(s[from:to], " \t\r\n") {
		structured = structured && strength == strong
	}
	if from >= to || !r.isSecretValue(s, valueAt{from, to, true}, min(strength, weak), structured) {
		return "", 0, 0
	}
	return name, from, to
}

const cdata = "<![CDATA["

// spokenKey finds a secret key of several words before the separator ("API key: …"), of which k is the last. The
// evidence is weak: a sentence may continue after it.
func (r *Redactor) spokenKey(s string, k keyAt) (string, strength) {
	if k.before(s) != ' ' || !r.phraseLast[lower(s[k.from:k.to])] {
		return "", innocent
	}
	from := k.from
	for range 2 {
		start := from - 1
		for start > 0 && isLetter(s[start-1]) && from-start <= maxScheme {
			start--
		}
		if from == 0 || s[from-1] != ' ' || start == from-1 {
			break
		}
		from = start
		if phrase := s[from:k.to]; containsAny(" "+lower(phrase)+" ", r.phrases) {
			return phrase, weak
		}
	}
	return "", innocent
}
