package redact

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// maskPairs masks, from s[at:] on, the values of secret keys in `key: value` and `key=value`, quoted or
// not, with any level of backslashes before the quotes (JSON inside JSON); in `name="key" value="…"`;
// in parts of a form named by a secret key; and in `<key>value</key>`. Quotes and angle brackets may be escaped ([quoteMarks],
// [angleAt]).
func (r *Redactor) maskPairs(s string, at int, strict bool, tr *trace) (string, int) {
	p := r.pass(s, tr)
	first := false // no comma has come since an array began
	tag := -1      // the offset at which a start tag began
	opening := ""  // its bracket
	var named namedKey
	for i := at; i < len(s); i++ {
		last := i // of the separator
		switch s[i] {
		case ':', '=':
		case '\xef':
			if !strings.HasPrefix(s[i:], wide) && !strings.HasPrefix(s[i:], wideEquals) {
				continue
			}
			last += len(wide) - 1
		case '[':
			first = true
			continue
		case ',':
			if first {
				if key, v := r.pairInArray(s, i); v.from < v.to {
					p.mask(v.from, v.to, KindKey, key)
					i = v.to - 1
				}
			}
			first = false
			continue
		case '<', '>', '&', '\\':
			switch bracket, opens := angleAt(s, i); {
			case bracket == "":
			case opens:
				tag, opening = i, bracket
			case tag >= 0:
				if name, from, to := r.secretElement(s, s[tag+len(opening):i], i+len(bracket), opening); from < to {
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
				if from, to := named.part(s, k); from < to && s[from:to] != r.mask {
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
		if s[i] == ':' && !k.quoted && strength > maybe && endsInAny(key, r.codeFiles) {
			strength = maybe
		}
		structured := k.inStructure(s, i, strict)
		v := r.valueAfter(s, last, structured, k.before(s))
		if v.from == v.to && v.from < len(s) && s[v.from] == '[' {
			if end := secretTexts(r, s, v.from, k.quoted, strength); end > 0 {
				p.mask(v.from, end, KindKey, key)
				i = end - 1
			}
			continue
		}
		if strict && !v.quoted && s[i] == '=' && (k.before(s) == '\n' || k.before(s) == 0) && v.to < len(s) && s[v.to] == ' ' {
			v.to += lineEnd(s[v.to:]) // a field of a form of text/plain
		}
		if !v.quoted && s[i] == '=' && isConnection(s, k.from) {
			v.to += strings.IndexAny(s[v.to:]+";", connectionEnd)
		}
		if !v.quoted && (k.before(s) == '?' || k.before(s) == '&') && v.to < len(s) && s[v.to] == ')' { // an address in a frame
			v.to = withoutPlace(s, v.from, v.to)
		}
		if s[i] == ':' && k.before(s) == '/' && v.from == i+1 && withoutPlace(s, i, v.to) == i { // a page or a file without an extension
			continue
		}
		structured = structured || k.quoted && v.quoted
		if v.from >= v.to || r.isCount(key, s, v) || s[v.from] == '{' && !v.quoted && (r.isOpen(s[k.from:k.to]) || k.quoted && k.before(s) == '/' || isSchema(s[v.from:v.to], r.schemaTypes)) || !r.isSecretValue(s, v, strength, structured) {
			continue
		}
		p.mask(v.from, v.to, KindKey, key)
		i = v.to - 1
	}
	return p.done()
}

// Separators as texts in Chinese and Japanese have them.
const (
	wide       = "："
	wideEquals = "＝"
)

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
	if end > 0 && (s[end-1] <= ' ' || s[end-1] >= 0x7f) {
		end = skipBlanksBefore(s, sep, false)
		if lines := skipBlanksBefore(s, sep, true); lines > 0 && isQuote(s[lines-1]) {
			end = lines // only a quoted key may be on another line
		}
	}
	quoted := false
	if mark := quoteMarkBefore(s, end); mark > 0 {
		quoted = true
		end -= mark
	} else if end > 0 && isQuote(s[end-1]) {
		quoted = true
		end--
		for end > 0 && s[end-1] == '\\' {
			end--
		}
	}
	start := end
	for start > 0 && end-start < maxKey {
		n := 1
		switch c := s[start-1]; {
		case isKeyByte(c):
		case c == '\\' && start < end && (s[start] == '\\' || isUnit(s[start:end])):
		case c >= 0x80 && blankBefore(s, start) == 0:
			_, n = utf8.DecodeLastRuneInString(s[:start])
		default:
			return keyAt{start, end, quoted}
		}
		start -= n
	}
	return keyAt{start, end, quoted}
}

// isUnit reports whether a text begins like a JSON escape behind its backslash: u0070.
func isUnit(s string) bool {
	return len(s) > 4 && s[0] == 'u' && isHex(s[1]) && isHex(s[2]) && isHex(s[3]) && isHex(s[4])
}

// maxBlanks bounds the blanks between a key and its separator.
const maxBlanks = 16

func skipBlanksBefore(s string, end int, lines bool) int {
	for range maxBlanks {
		n := blankBefore(s, end)
		if n == 0 && lines && end > 0 && (s[end-1] == '\n' || s[end-1] == '\r') {
			n = 1
		}
		if n == 0 {
			break
		}
		end -= n
	}
	return end
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

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
	for i < len(s) {
		if structured && (s[i] == '\n' || s[i] == '\r') {
			i++
		} else if n := blankAt(s, i); n > 0 {
			i += n
		} else {
			break
		}
	}
	if strings.HasPrefix(s[i:], "/*") {
		if end := strings.Index(s[i:], "*/"); end > 0 { // a comment before the value
			i = skipSpace(s, i+end+len("*/"))
		}
	}
	if s[sep] == ':' && !structured {
		if from, to := yamlBlock(s, i); from < to {
			return valueAt{from, to, true}
		}
	}
	if mark := quoteMarkAt(s, i); mark != "" {
		from, escape := i+len(mark), strings.HasPrefix(mark, `'\`)
		end := closingMark(s, from, mark)
		switch {
		case escape && (end < 0 || isValueEnd(s[from])): // '\'' is also how programs write one quote
		case end < 0:
			return valueAt{from, len(s), true}
		default:
			return valueAt{from, end, true}
		}
	}
	slashes := 0
	for i+slashes < len(s) && s[i+slashes] == '\\' {
		slashes++
	}
	if q := i + slashes; q < len(s) && isQuote(s[q]) {
		if mark := s[i : q+1]; strings.HasPrefix(s[q+1:], mark) && strings.HasPrefix(s[q+1+len(mark):], mark) {
			from := q + 1 + 2*len(mark)
			return valueAt{from, closingBlock(s, from, strings.Repeat(mark, 3)), true}
		}
		return valueAt{q + 1, closingQuote(s, q+1, s[q], slashes), true}
	}
	if i < len(s) && (s[i] == '{' || s[i] == '[') && !strings.HasPrefix(s[i:], r.mask) {
		if !structured {
			return valueAt{i, i, false}
		}
		return valueAt{i, maskedWordEnd(s, closingBracket(s, i), r.mask), false} // with what JSON has not behind it
	}
	to := maskedWordEnd(s, i, r.mask)
	if to+1 < len(s) && s[to] == ' ' && to-i <= maxScheme {
		switch word := lower(s[i:to]); {
		case r.schemes[word]: // `Authorization: Bearer abc` is one value
			to = maskedWordEnd(s, to+1, r.mask)
		case r.lineSchemes[word]: // and so is `Authorization: Digest username="ann", response="abc"`
			for to < len(s) && s[to] != '\n' && s[to] != '\r' && (s[to] != before || !isQuote(before)) {
				to++
			}
		}
	}
	return valueAt{i, to, false}
}

// withoutPlace returns where the line and the column begin that end s[from:to], as in :12:34; to if there is none.
func withoutPlace(s string, from, to int) int {
	at := to
	for range 2 {
		digits := at
		for digits > from && s[digits-1] >= '0' && s[digits-1] <= '9' {
			digits--
		}
		if digits == at || digits == from || s[digits-1] != ':' {
			return to
		}
		at = digits - 1
	}
	return at
}

// maxScheme is the length of the longest word that can be a scheme, in bytes.
const maxScheme = 20

func wordEnd(s string, i int) int {
	for i < len(s) && !isValueEnd(s[i]) {
		i++
	}
	return i
}

// maskedWordEnd is wordEnd for a word that may have masks in it.
func maskedWordEnd(s string, i int, mask string) int {
	from := i
	for {
		i = wordEnd(s, i)
		if i == len(s) || s[i] != ']' || !strings.HasSuffix(s[from:i+1], mask) {
			return i
		}
		i++
	}
}

// yamlHead begins a text of several lines in YAML, which follow it.
var yamlHead = lazyregexp.New(`^[|>][-+]?[1-9]?[-+]?[ \t]*\r?\n([ \t]+)`)

// yamlBlock returns the lines of such a text, without the blanks before the first. They end before the first that does not
// begin with as many blanks.
func yamlBlock(s string, i int) (from, to int) {
	if i == len(s) || s[i] != '|' && s[i] != '>' {
		return 0, 0
	}
	head := yamlHead().FindStringSubmatchIndex(s[i:])
	if head == nil {
		return 0, 0
	}
	indent := s[i+head[2] : i+head[3]]
	from = i + head[1]
	for to = from; ; {
		to += lineEnd(s[to:])
		next := to
		for next < len(s) && (s[next] == '\n' || s[next] == '\r') {
			next++
		}
		if next == to || !strings.HasPrefix(s[next:], indent) {
			return from, to
		}
		to = next
	}
}

// connectionEnd has the characters of which one ends a value of a connection string.
const connectionEnd = "; \t\r\n\"'`"

// isConnection reports whether a key at an offset is one of a connection string, Server=db;Password=a&b. In HTML, ; may end an &
// that is escaped.
func isConnection(s string, key int) bool {
	before, ok := strings.CutSuffix(s[:key], ";")
	return ok && !strings.HasSuffix(before, "&amp") && !strings.HasSuffix(before, "&#38") && !strings.HasSuffix(before, "&#x26")
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

// lineEnd is the length of a line without its end.
func lineEnd(s string) int {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return i
	}
	return len(s)
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
	begin, run := i, 0
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			run++
			continue
		case s[i] == quote && run <= slashes:
			n := shellQuote(s, i, run)
			if n == 0 || i-run == begin {
				return i - run
			}
			i += n
		}
		run = 0
	}
	return len(s)
}

// closingBlock finds the end of a block string of GraphQL or Python, whose quotes are three. It returns the end of s if
// the string is cut off.
func closingBlock(s string, i int, block string) int {
	for from := i; ; {
		n := strings.Index(s[from:], block)
		if n < 0 {
			return len(s)
		}
		if at := from + n; at == i || s[at-1] != '\\' { // \""" does not end it
			return at
		}
		from += n + 1
	}
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

// isCount reports whether a value is a number of secrets, after a key in the plural: `tokens: 512`.
func (r *Redactor) isCount(key, s string, v valueAt) bool {
	return !v.quoted && endsInAny(lower(key), r.counted) && strings.Trim(s[v.from:v.to], "0123456789._,[] ") == ""
}

func (r *Redactor) isSecretValue(s string, v valueAt, key strength, structured bool) bool {
	v.from = behindMasks(s, v, r.mask)
	value := s[v.from:v.to]
	if value == "" || r.isPlaceholder(value) || r.isMessage(s, v) || v.quoted && isVersion(value) {
		return false
	}
	switch {
	case key == maybe && !v.quoted && s[v.from] == '[':
		return structured && slices.ContainsFunc(strings.FieldsFunc(value, isListed), func(part string) bool {
			return r.looksSecret(part, true) && strings.ContainsFunc(part, isLetterRune)
		}) && !strings.Contains(value, "{")
	case key == maybe && !v.quoted && s[v.from] == '{':
		return structured && r.hasTokens(value)
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

// behindMasks returns where a value begins that has a mask in front, as what was masked before and what only looks like
// it have. Nothing but cuts, blanks and masks is left of a value that was masked.
func behindMasks(s string, v valueAt, mask string) int {
	from := v.from
	for strings.HasPrefix(s[from:v.to], mask) {
		rest := strings.TrimLeft(s[from+len(mask):v.to], "… \t\r\n")
		from = v.to - len(rest)
	}
	return from
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

// isListed reports whether a character stands between the texts of a list.
func isListed(c rune) bool { return strings.ContainsRune("[]\", \t\r\n", c) }

func isLetterRune(c rune) bool { return isUpperRune(c) || isLowerRune(c) }
func isUpperRune(c rune) bool  { return c >= 'A' && c <= 'Z' }
func isLowerRune(c rune) bool  { return c >= 'a' && c <= 'z' }

// isPlaceholder reports whether a value appears in place of a secret: null, ••••, [REDACTED].
func (r *Redactor) isPlaceholder(value string) bool {
	word := strings.Trim(value, "[]{}()<>*•.!")
	return word == "" || isSized(word) || len(word) <= maxScheme && r.placeholders[lower(word)]
}

// isSchema reports whether an object says of which type a value is, as JSON Schema and OpenAPI do.
func isSchema(object string, types map[string]bool) bool {
	if strings.HasPrefix(object[skipSpace(object, 1):], `"$ref"`) {
		return true
	}
	found := schema().FindStringSubmatch(object)
	return found != nil && types[found[1]]
}

// schema matches an object that begins with a type, perhaps behind its description.
var schema = lazyregexp.New(`^\{[ \t\r\n]*(?:"description"[ \t\r\n]*:[ \t\r\n]*"(?:[^"\\]|\\.)*"[ \t\r\n]*,[ \t\r\n]*)?"type"[ \t\r\n]*:[ \t\r\n]*"([A-Za-z]*)"`)

// isVersion reports whether a value is a version, or a range of them, of a package that is named like a secret.
func isVersion(s string) bool {
	s = strings.TrimLeft(s, "^~<>= ")
	for part := range 3 {
		digits := 0
		for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
			digits++
		}
		if digits == 0 || digits > 4 {
			return false
		}
		if s = s[digits:]; part < 2 {
			if s == "" || s[0] != '.' {
				return false
			}
			s = s[1:]
		}
	}
	return s == ""
}

// isSized reports whether a value is how browsers write a list that they do not show: Array(2).
func isSized(word string) bool {
	name, count, ok := strings.Cut(word, "(")
	return ok && count != "" && strings.Trim(count, "0123456789") == "" && (name == "Array" || name == "Map" || name == "Set")
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
