package redact

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/redact/marks"
)

// namedKey is a key that appears as a value: `name="password" value="…"`, as in forms, lists of headers, messages about fields
// and pages.
type namedKey struct {
	key      string
	strength strength
	// label is the key of the name itself.
	label string
	// loose is true for a label that more often has something else than a name.
	loose bool
	// end is where the name ends.
	end int
	// left counts down the pairs that may hold the value.
	left int
	// depth counts the braces since. It is below 0 when the object or tag of the name has ended.
	depth int
}

// maxNamed is how many pairs after or before its name a value may be. It does not count bytes: masking changes the length of
// the text in between, and masking twice must equal masking once.
const maxNamed = 4

// label is what a key says about the text after it.
type label uint8

const (
	noLabel    label = iota
	nameLabel        // it is a name
	looseLabel       // it may be a name
	hintLabel        // it may speak of a name
	valueLabel       // it is the value of a name
	textLabel        // it may be the value of a name
)

// labels are the keys that are labels, by their first letters.
var labels = [32][]struct {
	key  string
	kind label
}{
	'a' & 31: {{"attribute", looseLabel}},
	'c' & 31: {{"content", valueLabel}, {"currentvalue", valueLabel}},
	'd' & 31: {{"defaultvalue", valueLabel}},
	'e' & 31: {{"element", hintLabel}},
	'f' & 31: {{"field", looseLabel}, {"fieldname", looseLabel}, {"field_name", looseLabel}, {"fieldvalue", valueLabel}},
	'h' & 31: {{"header", looseLabel}},
	'i' & 31: {{"id", looseLabel}, {"input", valueLabel}},
	'k' & 31: {{"key", nameLabel}, {"k", looseLabel}},
	'l' & 31: {{"label", hintLabel}, {"loc", looseLabel}},
	'n' & 31: {{"name", nameLabel}, {"newvalue", valueLabel}},
	'o' & 31: {{"oldvalue", valueLabel}},
	'p' & 31: {{"path", looseLabel}, {"param", looseLabel}, {"property", looseLabel}, {"parameter", looseLabel}},
	'r' & 31: {{"rejectedvalue", valueLabel}},
	's' & 31: {{"selector", hintLabel}},
	't' & 31: {{"type", looseLabel}, {"target", hintLabel}, {"text", textLabel}},
	'v' & 31: {{"value", valueLabel}, {"v", valueLabel}, {"val", valueLabel}, {"variable", looseLabel}},
}

func labelOf(key string) label {
	for _, l := range labels[key[0]&31] {
		if len(key) == len(l.key) && strings.EqualFold(key, l.key) {
			return l.kind
		}
	}
	return noLabel
}

// namedKey reads the name after the separator of a label. Its strength is innocent for a key that is not secret.
func (r *Redactor) namedKey(s string, sep int, label string) namedKey {
	v := valueOfLabel(r, s, sep, 0)
	n := namedKey{label: label, loose: labelOf(label) != nameLabel, end: v.to, left: maxNamed + 1}
	if v.from == v.to && v.from < len(s) && s[v.from] == '[' {
		v.from, v.to = lastListed(s, v.from)
	}
	if v.from >= v.to || v.to-v.from > maxKey {
		return n
	}
	n.key = s[v.from:v.to]
	kind := labelOf(label)
	if kind == hintLabel {
		n.key = strings.TrimSuffix(n.key, " field") // which is innocent elsewhere
	}
	n.strength = nameStrength(r, n.key)
	if len(label) == len("type") && strings.EqualFold(label, "type") && r.keyStrength(n.key) != strong {
		n.strength = innocent // of a token of a language, more often
	}
	if kind == hintLabel {
		n.strength = min(n.strength, maybe)
	}
	return n
}

// nameStrength is keyStrength of a key that appears as a value.
func nameStrength(r *Redactor, key string) strength {
	// A name with a masked part does not count: masking again would see another name.
	if strings.ContainsFunc(key, func(c rune) bool { return c < 0x80 && !strings.ContainsRune(` \/#`, c) && !isKeyByte(byte(c)) }) || strings.Contains(key, r.mask[:len(r.mask)-1]) {
		return innocent
	}
	if strength := r.keyStrength(key); strength != innocent || !r.headers[lower(key)] {
		return strength
	}
	return weak
}

// maxList bounds the length of a list that ends with a name, in bytes of ASCII.
const maxList = 256

// lastListed returns the last text of a list, as in "loc":["body","password"].
func lastListed(s string, from int) (int, int) {
	end := strings.IndexByte(s[from:min(len(s), from+maxList)], ']')
	if end <= 0 || !isQuote(s[from+end-1]) {
		return from, from
	}
	to := from + end - 1
	quote := strings.LastIndexByte(s[from:to], s[to])
	if quote < 0 {
		return from, from
	}
	return from + quote + 1, strings.IndexByte(s[from+quote+1:to+1], s[to]) + from + quote + 1
}

// isOpen reports whether the object or the tag of a name goes on. A name that is not secret says nothing of objects in its own.
func (n namedKey) isOpen() bool {
	return n.depth == 0 || n.depth > 0 && n.strength != innocent
}

// isNone reports whether there is no name: a label that is none more often, and none that is secret.
func (n namedKey) isNone() bool { return n.label == "" || n.loose && n.strength == innocent }

// replaces reports whether a name counts instead of the one before it.
func (n namedKey) replaces(before namedKey) bool {
	if before.isNone() || !before.isOpen() || strings.EqualFold(n.label, before.label) {
		return true
	}
	return !n.isNone() && (n.strength != innocent || before.strength == innocent)
}

// nameOf returns the name of a value with such a key: the one before it in its object, else the one behind it, else the last one.
func nameOf(r *Redactor, s string, value keyAt, sep int, named namedKey) namedKey {
	open := named.left > 0 && named.isOpen() && !named.isNone()
	short := value.to-value.from == 1
	if open && !named.loose && !short && labelOf(s[value.from:value.to]) == valueLabel {
		return named
	}
	v := valueOfLabel(r, s, sep, value.before(s))
	text := s[v.from:v.to]
	if strings.EqualFold(s[value.from:value.to], "content") && strings.Contains(text, " ") {
		return namedKey{}
	}
	if labelOf(s[value.from:value.to]) == textLabel {
		named.strength = min(named.strength, maybe)
		if !open {
			return namedKey{}
		}
		return named
	}
	if !v.quoted && text != "" && (len(text) < minCode || isFraction(text)) {
		return namedKey{}
	}
	name := named
	if !open {
		if name = nameAfter(r, s, v.to); name.left <= 0 {
			if name = passed(named); short != (len(name.label) == 1) {
				return namedKey{} // v is the value of k alone
			}
			return name
		}
	}
	if short != (len(name.label) == 1) {
		return namedKey{}
	}
	if !open {
		if strings.Contains(lower(name.key), lower(text)) {
			return namedKey{} // a label
		}
	}
	if !v.quoted {
		name.strength = min(name.strength, weak)
	}
	return name
}

// passed returns a name that came before, if a value may still follow it.
func passed(named namedKey) namedKey {
	if named.left <= 0 {
		return namedKey{}
	}
	return named
}

// minCode is the length of the shortest value without quotes that may come before its name, in bytes.
const minCode = 3

// isFraction reports whether a value is a number with a point, which measures something.
func isFraction(value string) bool {
	return strings.Trim(value, "0123456789.-") == "" && strings.Count(value, ".") == 1
}

// nameAfter returns the name that follows a value in the same object or tag, before anything nested.
func nameAfter(r *Redactor, s string, i int) namedKey {
	for pairs := 0; i < len(s); i++ {
		switch s[i] {
		case '{', '}', '[', ']', '<', '>':
			return namedKey{}
		case ';':
			if (i+1 == len(s) || s[i+1] <= ' ') && marks.QuoteBefore(s, i+1) == 0 { // a statement ends
				return namedKey{}
			}
		case ':', '=':
			k := keyBefore(s, i)
			if k.from == k.to {
				continue
			}
			switch key := s[k.from:k.to]; labelOf(key) {
			case nameLabel:
				return r.namedKey(s, i, key)
			case looseLabel, hintLabel:
				if n := r.namedKey(s, i, key); n.strength != innocent {
					return n
				}
			}
			if pairs++; pairs == maxNamed {
				return namedKey{}
			}
			i = max(i, valueOfLabel(r, s, i, k.before(s)).to-1)
		}
	}
	return namedKey{}
}

// part finds the content of the part of a multipart form that has this name (RFC 7578): between the
// empty line after the part's headers and the next boundary. Where no header says that it is a form, the name is alone in its line.
func (n namedKey) part(r *Redactor, s string, k keyAt) (from, to int) {
	if n.strength == innocent || k.quoted {
		return 0, 0
	}
	if !inFormData(s[:k.from]) {
		return n.partAlone(r, s, k)
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

// alone matches a name's quote and an empty line, and after it a line of text: before a boundary (group 1), or the last one (2, 3).
var alone = lazyregexp.New(`^["'` + "`" + `]\r*\n\r*\n(?:(-?[^ \t\r\n\v\f-][^\r\n]*)\r?\n--+\w|([^ \t\r\n\v\f<>\[\]{}#=-][^ \t\r\n\v\f=]*)\r?\n?$|([^ \t\r\n\v\f<>\[\]{}#=-][^\r\n<>{}=\[\]]*)\r?(?:\n--|\n?$))`)

// partAlone is part where no header says that it is a form. Masking again would see another line if there was a mask in it.
func (n namedKey) partAlone(r *Redactor, s string, k keyAt) (from, to int) {
	line := s[max(0, k.from-maxPartHeader):k.from]
	if before := strings.TrimRight(line, " \t"); before != "" && !strings.HasSuffix(before, "\n") {
		return 0, 0
	}
	found := alone().FindStringSubmatchIndex(s[n.end:])
	for group := 1; found != nil && group <= 3; group++ {
		if at := found[2*group]; at >= 0 && !strings.Contains(s[n.end+at:n.end+found[2*group+1]], r.mask[:len(r.mask)-1]) {
			return n.end + at, n.end + found[2*group+1]
		}
	}
	return 0, 0
}

// inFormData reports whether a text ends within the header of a part of a form.
func inFormData(s string) bool {
	s = s[max(0, len(s)-maxPartHeader):]
	return strings.Contains(lower(s[strings.LastIndexByte(s, '\n')+1:]), "form-data;")
}

// maxPartHeader is how much of a part's header is read before its name, in bytes.
const maxPartHeader = 300

// spokenKey finds a secret key of several words before the separator ("API key: …"), of which k is the last. The
// evidence is weak: a sentence may continue after it.
func (r *Redactor) spokenKey(s string, k keyAt) (string, strength) {
	key := s[k.from:k.to]
	if k.before(s) != ' ' || !r.phraseLast[lower(key)] && !isForeignWord(key) {
		return "", innocent
	}
	from := k.from
	for range 2 {
		start := from - 1
		for start > 0 && (isLetter(s[start-1]) || s[start-1] >= 0x80) && from-start <= maxScheme {
			start--
		}
		if from == 0 || s[from-1] != ' ' || start == from-1 {
			break
		}
		from = start
		phrase := s[from:k.to]
		plain := lower(phrase)
		if isUnusual(phrase) {
			plain = strings.ToLower(plainKey(phrase))
		}
		if containsAny(" "+plain+" ", r.phrases) || isUnusual(phrase) && isForeign(strings.ReplaceAll(plain, " ", ""), r.foreign) {
			return phrase, weak
		}
	}
	return "", innocent
}

// isForeignWord reports whether a key is one word that has other characters than ASCII.
func isForeignWord(key string) bool {
	foreign := false
	for i := range len(key) {
		if key[i] >= 0x80 {
			foreign = true
		} else if !isLetter(key[i]) {
			return false
		}
	}
	return foreign
}
