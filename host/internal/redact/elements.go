package redact

import "strings"

// startTag is a start tag: where it begins and ends, and its brackets as they are written.
type startTag struct {
	from, to         int
	opening, closing string
}

// maxValued is how many elements that have a value may be inside each other. maxTag bounds the length of their tags, in bytes.
const (
	maxValued = 3
	maxTag    = 100
)

// isNaming reports whether an element names the value in the next one, as in property lists of Apple:
// <key>password</key><string>…</string>.
func isNaming(name string) bool { return lower(name) == "key" || lower(name) == "name" }

// isValued reports whether an element has a value for the element around it, or for the name before it.
func isValued(name string) bool {
	switch lower(name) {
	case "value", "val", "string", "integer", "int", "i4", "data", "base64":
		return true
	}
	return false
}

// secretElement finds the text of an XML element that is named like a secret key, `<wsse:Password Type="…">…</wsse:Password>`, or of
// the one after such a name. In an element whose name is weak evidence, text with spaces is prose unless it looks like a secret. So
// is all text in an element that has the key as an attribute: <property name="password">…</property>.
func (r *Redactor) secretElement(s string, tag startTag, attribute namedKey) (name string, from, to int) {
	full := tag.name(s)
	if full == "" {
		return "", 0, 0
	}
	name = full[strings.LastIndexByte(full, ':')+1:]
	strength := r.keyStrength(name)
	byName := strength != innocent
	if !byName {
		name, strength = attribute.key, attribute.strength
	}
	if strength != innocent {
		// A custom element's name has a dash, and its text is more often a label.
		from, to = secretText(r, s, tag, full, maxValued, strength, byName && !strings.Contains(name, "-"))
		return name, from, to
	}
	if !isNaming(full) {
		return "", 0, 0
	}
	from, to = tag.text(s, full, 0)
	if from >= to || to-from > maxKey {
		return "", 0, 0
	}
	name = s[from:to]
	end := strings.Index(s[to:], tag.closing)
	if strength = nameStrength(r, name); strength == innocent || end < 0 {
		return "", 0, 0
	}
	value, full := tag.valueAfter(s, to+end+len(tag.closing))
	if full == "" {
		return "", 0, 0
	}
	from, to = secretText(r, s, value, full, maxValued-1, strength, true)
	return name, from, to
}

// secretText returns the text of an element if it is a secret.
func secretText(r *Redactor, s string, tag startTag, full string, depth int, key strength, structured bool) (from, to int) {
	from, to = tag.text(s, full, depth)
	if from >= to {
		return 0, 0
	}
	blanks := strings.ContainsAny(s[from:to], " \t\r\n")
	if to == len(s) && !strings.HasSuffix(s[:from], cdata) { // what stands behind the name of an element in a sentence is no value
		if blanks {
			return 0, 0
		}
		structured = false
	}
	structured = structured && (!blanks || key == strong)
	if !r.isSecretValue(s, valueAt{from, to, true}, min(key, weak), structured) {
		return 0, 0
	}
	return from, to
}

// slashes are backslashes where a bracket is escaped in JSON: JSON in JSON has more of them.
func (t startTag) slashes() string {
	if t.opening[0] == '\\' {
		return `\`
	}
	return ""
}

// name returns the name in a start tag, "" where there is none.
func (t startTag) name(s string) string {
	full := strings.TrimRight(s[t.from+len(t.opening):t.to], t.slashes())
	if full == "" || !isLetter(full[0]) && full[0] < 0x80 || full[len(full)-1] == '/' {
		return ""
	}
	if i := strings.IndexAny(full, " \t\r\n"+t.slashes()); i >= 0 {
		full = full[:i]
	}
	return full
}

// valueAfter returns the start tag of a value that follows, with brackets like those of this tag, and its name, which is "" where
// there is none.
func (t startTag) valueAfter(s string, from int) (startTag, string) {
	from = skipBetween(s, from)
	for strings.HasPrefix(s[from:], `\\`) {
		from++
	}
	if !strings.HasPrefix(s[from:], t.opening) {
		return t, ""
	}
	end := strings.Index(s[from:min(len(s), from+maxTag)], t.closing)
	if end < len(t.opening) {
		return t, ""
	}
	t.from, t.to = from, from+end
	if name := t.name(s); isValued(name) {
		return t, name
	}
	return t, ""
}

// skipBetween skips what may stand between two elements, in JSON too.
func skipBetween(s string, i int) int {
	for {
		i = skipSpace(s, i)
		n := i
		for n < len(s) && s[n] == '\\' {
			n++
		}
		if n == i || n == len(s) || s[n] != 'n' && s[n] != 'r' && s[n] != 't' {
			return i
		}
		i = n + 1
	}
}

const cdata = "<![CDATA["

// text returns the text of an element with this name, or of the value in it.
func (t startTag) text(s, full string, depth int) (from, to int) {
	from = skipSpace(s, t.to+len(t.closing))
	if strings.HasPrefix(s[from:], cdata) {
		from += len(cdata)
		if i := strings.Index(s[from:], "]]>"); i >= 0 {
			return from, from + i
		}
		return from, len(s) // it may be cut off
	}
	if depth > 0 {
		if value, name := t.valueAfter(s, from); name != "" {
			return value.text(s, name, depth-1)
		}
	}
	i := strings.Index(s[from:], t.opening)
	if i < 0 {
		return from, len(s) // it may be cut off
	}
	if !strings.HasPrefix(s[from+i+len(t.opening):], "/"+full) {
		return 0, 0
	}
	return from, from + len(strings.TrimRight(s[from:from+i], " \t\r\n"+t.slashes()))
}
