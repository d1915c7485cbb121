package redact

import "strings"

// maskPairs masks, from s[at:] on, the values of secret keys in `key: value` and `key=value`, quoted or
// not, with any level of backslashes before the quotes (JSON inside JSON); in `name="key" value="…"`;
// in parts of a form named by a secret key; and in `<key>value</key>`.
func (r *Redactor) maskPairs(s string, at int, strict bool, tr *trace) (string, int) {
	p := r.pass(s, tr)
	tag := -1 // the offset at which a start tag began
	var named namedKey
	for i := at; i < len(s); i++ {
		switch s[i] {
		case ':', '=':
		case '<':
			tag = i
			continue
		case '>':
			if tag >= 0 {
				if name, from, to := r.secretElement(s, tag, i); from < to {
					p.mask(from, to, KindKey, name)
					i = to - 1
				}
				tag = -1
			}
			continue
		default:
			continue
		}
		k := keyBefore(s, i)
		if k.from == k.to {
			continue
		}
		named.left--
		key := s[k.from:k.to]
		strength := r.keyStrength(key)
		if strength == innocent {
			spoken, spokenStrength := r.spokenKey(s, k)
			switch {
			case spokenStrength != innocent:
				key, strength = spoken, spokenStrength
			case isName(key):
				named = r.namedKey(s, i)
				if from, to := named.part(s, k); from < to && !strings.HasPrefix(s[from:], r.mask) {
					p.mask(from, to, KindKey, named.key)
					i = to - 1
				}
				continue
			case isNamedValue(key) && named.left > 0:
				key, strength = named.key, named.strength
			default:
				continue
			}
		}
		structured := k.inStructure(s, i, strict)
		v := r.valueAfter(s, i, structured, k.before(s))
		structured = structured || k.quoted && v.quoted
		if v.from >= v.to || s[v.from] == '{' && !v.quoted && r.isOpen(s[k.from:k.to]) || !r.isSecretValue(s, v, strength, structured) {
			continue
		}
		p.mask(v.from, v.to, KindKey, key)
		i = v.to - 1
	}
	return p.done()
}

// maxKey bounds the length of a key before its separator, in bytes.
const maxKey = 64

// keyAt is the position of a key, without its quotes.
type keyAt struct {
	from, to int
	quoted   bool
}

// before is the byte before the key, 0 at the start.
func (k keyAt) before(s string) byte {
	if k.from == 0 {
		return 0
	}
	return s[k.from-1]
}

// inStructure reports whether a key belongs to structured data: in quotes in JSON, a parameter of an address, a field of
// a form. The strings of JSON may be prose.
func (k keyAt) inStructure(s string, sep int, strict bool) bool {
	if k.quoted {
		return strict
	}
	switch k.before(s) {
	case '?', '&', '#':
		return true
	case 0, ';', '{', ',':
		return strict
	case '\n':
		return strict && s[sep] == '='
	}
	return false
}

// keyBefore finds the key that ends at the separator.
func keyBefore(s string, sep int) keyAt {
	end := sep
	for end > 0 && (s[end-1] == ' ' || s[end-1] == '\t') && sep-end < 3 {
		end--
	}
	quoted := false
	if end > 0 && isQuote(s[end-1]) {
		quoted = true
		end--
		for end > 0 && s[end-1] == '\\' {
			end--
		}
	} else if entity := quoteEntityBefore(s, end); entity > 0 {
		quoted = true
		end -= entity
	}
	start := end
	for start > 0 && end-start < maxKey && isKeyByte(s[start-1]) {
		start--
	}
	return keyAt{start, end, quoted}
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// quoteEntities are the HTML entities for quotes inside an attribute.
var quoteEntities = [...]string{"&quot;", "&#34;", "&#39;", "&#x27;"}

func quoteEntityBefore(s string, end int) int {
	if end > 0 && s[end-1] == ';' {
		for _, e := range quoteEntities {
			if strings.HasSuffix(s[:end], e) {
				return len(e)
			}
		}
	}
	return 0
}

func quoteEntityAt(s string, i int) string {
	if i < len(s) && s[i] == '&' {
		for _, e := range quoteEntities {
			if strings.HasPrefix(s[i:], e) {
				return e
			}
		}
	}
	return ""
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '-' || c == '.' || c == '%' || c == '[' || c == ']' || c == '$'
}

// valueAt is the position of a value, without its quotes.
type valueAt struct {
	from, to int
	quoted   bool
}

// valueAfter finds the value after the separator. In structured data a whole object or array counts as a value. In free
// text it does not, and its own keys are checked.
func (r *Redactor) valueAfter(s string, sep int, structured bool, before byte) valueAt {
	i := sep + 1
	for i < len(s) && (s[i] == '=' || s[i] == '>') && i-sep < 3 {
		i++
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || structured && (s[i] == '\n' || s[i] == '\r')) {
		i++
	}
	slashes := 0
	for i+slashes < len(s) && s[i+slashes] == '\\' {
		slashes++
	}
	if q := i + slashes; q < len(s) && isQuote(s[q]) {
		return valueAt{q + 1, closingQuote(s, q+1, s[q], slashes), true}
	}
	if entity := quoteEntityAt(s, i); entity != "" {
		from, to := i+len(entity), len(s)
		if n := strings.Index(s[from:], entity); n >= 0 {
			to = from + n
		}
		return valueAt{from, to, true}
	}
	if i < len(s) && (s[i] == '{' || s[i] == '[') {
		if !structured {
			return valueAt{i, i, false}
		}
		return valueAt{i, closingBracket(s, i), false}
	}
	to := wordEnd(s, i)
	if to+1 < len(s) && s[to] == ' ' && to-i <= maxScheme {
		switch word := lower(s[i:to]); {
		case r.schemes[word]: // `Authorization: Bearer abc` is one value
			to = wordEnd(s, to+1)
		case r.lineSchemes[word]: // and so is `Authorization: Digest username="ann", response="abc"`
			for to < len(s) && s[to] != '\n' && s[to] != '\r' && (s[to] != before || !isQuote(before)) {
				to++
			}
		}
	}
	return valueAt{i, to, false}
}

// maxScheme is the length of the longest word that can be a scheme, in bytes.
const maxScheme = 20

func wordEnd(s string, i int) int {
	for i < len(s) && !isValueEnd(s[i]) {
		i++
	}
	return i
}

// lower is strings.ToLower for ASCII only, as in the JavaScript implementation.
func lower(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

func isValueEnd(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', ';', '&', ')', '}', ']', '"', '\'', '`', '<', '>', '#', '\\':
		return true
	}
	return false
}

// closingQuote finds the end of a string whose quotes have that many backslashes. It returns the end of s if the string
// is cut off.
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

// closingBracket finds the end of a JSON object or array. It returns the end of s if that is cut off.
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

func (r *Redactor) isSecretValue(s string, v valueAt, key strength, structured bool) bool {
	value := s[v.from:v.to]
	if strings.HasPrefix(s[v.from:], r.mask) || r.isPlaceholder(value) || r.isMessage(s, v) {
		return false
	}
	switch {
	case key == maybe:
		return r.looksSecret(value, v.quoted || structured) && !strings.ContainsAny(value, " \t\n") && strings.ContainsFunc(value, isLetterRune)
	case structured:
		return true
	case key == weak:
		return r.looksSecret(value, v.quoted)
	case v.quoted:
		return true
	}
	return !r.isVariable(value) && !r.prose[lower(strings.TrimRight(value, ".!?:"))]
}

// looksSecret reports whether a value is not a word of a sentence: it has digits, or is long and in mixed case. A mask
// in it and the text after the mask are not evidence, because masking twice would mask more.
func (r *Redactor) looksSecret(value string, delimited bool) bool {
	spaces := strings.ContainsAny(value, " \t\n")
	if i := strings.Index(value, r.mask[:len(r.mask)-1]); i >= 0 { // a value ends before a bracket
		value = value[:i]
	}
	if strings.ContainsAny(value, "0123456789") {
		return len(value) >= 6 && (delimited || len(value) >= 8)
	}
	return len(value) >= 16 && !spaces && strings.ContainsFunc(value, isUpperRune) && strings.ContainsFunc(value, isLowerRune)
}

func isLetterRune(c rune) bool { return isUpperRune(c) || isLowerRune(c) }
func isUpperRune(c rune) bool  { return c >= 'A' && c <= 'Z' }
func isLowerRune(c rune) bool  { return c >= 'a' && c <= 'z' }

// isPlaceholder reports whether a value appears in place of a secret: null, ••••, [REDACTED].
func (r *Redactor) isPlaceholder(value string) bool {
	word := strings.Trim(value, "[]{}()<>*•.!")
	return word == "" || len(word) <= maxScheme && r.placeholders[lower(word)]
}

// isVariable reports whether a value is the name of a variable in GraphQL, a shell, a template or a program.
func (r *Redactor) isVariable(value string) bool {
	for _, begin := range r.variables {
		name, ok := strings.CutPrefix(value, begin)
		if ok && name != "" && !strings.ContainsFunc(name, func(c rune) bool { return !isLetterRune(c) && c != '_' && c != '.' }) {
			return true
		}
	}
	return false
}
