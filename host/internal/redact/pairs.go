package redact

import (
	"strings"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/redact/marks"
)

// maskPairs masks, from s[at:] on, the values of secret keys in `key: value` and `key=value`, quoted or
// not, with any level of backslashes before the quotes (JSON inside JSON); in `name="key" value="…"`;
// in parts of a form named by a secret key; and in `<key>value</key>`. Quotes and angle brackets may be escaped ([marks.QuoteAt],
// [marks.BracketAt]).
func (r *Redactor) maskPairs(s string, at int, strict bool, tr *trace) (string, int) {
	p := r.pass(s, tr)
	first := false // no comma has come since an array began
	tag := -1      // the offset at which a start tag began
	opening := ""  // its bracket
	var named namedKey
	for i := at; i < len(s); i++ {
		for i < len(s) && !signs[s[i]] {
			i++
		}
		if i == len(s) {
			break
		}
		last := i // of the separator
		switch s[i] {
		case ':', '=':
		case '\xef':
			if !strings.HasPrefix(s[i:], wide) && !strings.HasPrefix(s[i:], wideEquals) {
				continue
			}
			last += len(wide) - 1
		case '[', '(':
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
		case '{':
			if named.depth >= 0 {
				named.depth++
			}
			continue
		case '}':
			named.depth--
			continue
		case '<', '>', '&', '\\':
			if n := marks.SeparatorAt(s, i); n > 0 {
				last += n - 1
				break
			}
			switch bracket, opens := marks.BracketAt(s, i); {
			case bracket == "":
			case opens:
				tag, opening = i, bracket
			case tag >= 0:
				inTag := namedKey{}
				if named.end > tag && !named.loose {
					inTag = named
				}
				if name, from, to := r.secretElement(s, startTag{tag, i, opening, bracket}, inTag); from < to {
					p.mask(from, to, KindKey, name)
					i = to - 1
				}
				tag = -1
				named.depth = -1
			}
			continue
		default:
			continue
		}
		k, sure := assignedKey(s, i)
		if k.from == k.to {
			continue
		}
		named.left--
		key := s[k.from:k.to]
		strength := r.keyStrength(key)
		if strength == innocent {
			if sure {
				continue
			}
			spoken, spokenStrength := r.spokenKey(s, k)
			label := labelOf(key)
			word, plain := shellKey(s, i)
			switch {
			case spokenStrength != innocent:
				key, strength = spoken, spokenStrength
			case plain != "" && r.keyStrength(plain) == strong:
				k, key, strength = word, plain, strong
			case label == nameLabel || label == looseLabel || label == hintLabel:
				if k.to <= p.copied {
					continue // it was masked, and masking again would not see it
				}
				name := r.namedKey(s, last, key)
				if from, to := name.part(r, s, k); from < to && s[from:to] != r.mask {
					p.mask(from, to, KindKey, name.key)
					i = to - 1
				}
				if name.replaces(named) {
					named = name
				}
				continue
			case label == valueLabel || label == textLabel:
				name := nameOf(r, s, k, last, named)
				if key, strength = name.key, name.strength; strength == innocent {
					continue
				}
			default:
				continue
			}
		}
		if s[i] == ':' && !k.quoted && strength > maybe && endsInAny(key, r.codeFiles) {
			strength = maybe
		}
		if s[i] == ':' && isVisibility(s[i+1:]) {
			continue
		}
		structured := k.inStructure(s, i, strict)
		if !k.quoted && last == i {
			last = declaredSign(s, i)
		}
		v := r.valueAfter(s, last, structured, k.before(s))
		if v.from == v.to && v.from < len(s) && s[v.from] == '[' {
			if end := secretTexts(r, s, v.from, k.quoted, strength); end > 0 {
				p.mask(v.from, end, KindKey, key)
				i = end - 1
			}
			continue
		}
		if end := secretObject(r, s, v, strength); end > 0 {
			p.mask(v.from, end, KindKey, key)
			i = end - 1
			continue
		}
		v = shellValue(s, k, i, v)
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
		if !k.quoted && (endsString(s, k, v) || isReference(key, s[v.from:])) || k.quoted && !v.quoted && v.to+1 < len(s) && s[v.to] == ' ' && isQuote(s[v.to+1]) && r.SecretKey(s[v.from:v.to]) { // "api-secrets" : secret "api-secrets" not found
			continue
		}
		if v.from == v.to && s[i] == ':' && !k.quoted && strength > maybe {
			if v = valueBelow(s, v.from, strength == strong); v.from < v.to && r.isSecretValue(s, v, weak, false) {
				p.mask(v.from, v.to, KindKey, key)
				i = v.to - 1
			}
			continue
		}
		if s[i] == '=' && !v.quoted && isMember(s[k.from:k.to]) && isShortName(s[v.from:v.to]) || !v.quoted && isShortVariable(s, k, i, v) {
			continue
		}
		structured = structured || k.quoted && v.quoted
		if v.from >= v.to || r.isCount(key, s, v) || isDirectory(key, s[v.from:v.to]) || s[v.from] == '{' && !v.quoted && (r.isOpen(s[k.from:k.to]) || k.quoted && (k.before(s) == '/' || k.before(s) == '+') || isSchema(s[v.from:v.to], r.schemaTypes)) {
			continue
		}
		if !r.isSecretValue(s, v, strength, structured) {
			if s[v.from] == '[' && behindMasks(s, v, r.mask) == v.to {
				i = v.to - 1 // what is before a value, such as a comment, is passed as the first time
			}
			continue
		}
		p.mask(v.from, v.to, KindKey, key)
		i = v.to - 1
	}
	return p.done()
}

// endsString reports whether the quote before a value is the one that ends a text which the key begins: log('password:', x).
func endsString(s string, k keyAt, v valueAt) bool {
	return v.quoted && isQuote(k.before(s)) && s[v.from-1] == k.before(s) && v.from < len(s) && strings.IndexByte(" ,);+:=", s[v.from]) >= 0
}

// isReference reports whether a key and the text after it are the address of a link in Markdown: [auth]: https://…
func isReference(key, after string) bool {
	return strings.HasPrefix(key, "[") && strings.HasSuffix(key, "]") && strings.HasPrefix(after, "http")
}

// isMember reports whether a key is a part of an object with a short name, as in minified code: e.cookies=t.
func isMember(key string) bool { return len(key) > 1 && key[1] == '.' && isShortName(key[:1]) }

// isShortName reports whether a text is a name of one or two characters, as variables have in minified code.
func isShortName(s string) bool {
	return len(s) > 0 && len(s) < 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$") == ""
}

// shortVariable matches a variable of minified code, perhaps with what a condition has after it.
var shortVariable = lazyregexp.New(`^[A-Za-z_$][\w$]?(?::[A-Za-z_$][\w$]?\.[\w$.]*\[?)?$`)

// isShortVariable reports whether a value is a variable of minified code, in an object or after a key in brackets: {password:e},
// h["x-api-key"]=e. Dumps of Go have such objects too, where keys begin with a capital letter.
func isShortVariable(s string, k keyAt, sep int, v valueAt) bool {
	if v.from != sep+1 || v.to == len(s) || k.from == 0 || !shortVariable().MatchString(s[v.from:v.to]) {
		return false
	}
	if s[sep] == '=' {
		return k.quoted && s[sep-1] == ']'
	}
	before := s[k.from-1]
	return (s[v.to] == ',' || s[v.to] == '}') && (k.quoted && isQuote(s[sep-1]) || (before == '{' || before == ',') && !isUpperRune(rune(s[k.from])))
}

// signs are the bytes at which maskPairs stops.
var signs = [256]bool{':': true, '=': true, '\xef': true, '[': true, '(': true, ',': true, '{': true, '}': true, '<': true, '>': true, '&': true, '\\': true}

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
	end = propertyEnd(s, end)
	quoted := false
	if mark := marks.QuoteBefore(s, end); mark > 0 {
		quoted = true
		end -= mark
	} else if end > 0 && isQuote(s[end-1]) {
		quoted = true
		end--
		for end > 0 && s[end-1] == '\\' {
			end--
		}
		end = signsBefore(s, end)
	} else {
		for end > 0 && s[end-1] == '*' { // **password**: in Markdown
			end--
		}
	}
	start := end
	for start > 0 && end-start < maxKey {
		n := 1
		switch c := s[start-1]; {
		case isKeyByte(c):
		case c == '\\' && start < end && s[start] == '\\':
		case c == '\\' && start < end && isCode(s[start:end]):
			if n := marks.EndOfKey(s[start:end]); n > 0 {
				return keyAt{start + n, end, quoted}
			}
		case c == '}' && endsBraced(s[:start]):
		case c == '{' && start < end && start > 2 && s[start-3] == '\\' && isCode(s[start-2:end]):
		case c >= 0x80 && blankBefore(s, start) == 0:
			_, n = utf8.DecodeLastRuneInString(s[:start])
		default:
			return keyAt{start, end, quoted}
		}
		start -= n
	}
	return keyAt{start, end, quoted}
}

// signsBefore returns where a key in quotes ends that has signs behind it, as labels of fields do: "Password *".
func signsBefore(s string, end int) int {
	bare := len(strings.TrimRight(s[:end], " *?!:"))
	if bare == end {
		return end
	}
	from := bare
	for from > 0 && (s[from-1] >= 0x80 || isKeyByte(s[from-1])) {
		from--
	}
	if from == 0 || !isQuote(s[from-1]) {
		return end
	}
	return bare
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
	return shortValueAfter(r, s, sep, structured, before, len(s))
}

// endsLine reports whether a text in quotes ends its line, but for a sign that ends a statement or a part of a list.
func endsLine(s string, quote int) bool {
	end := closingQuote(s, quote+1, s[quote], 0)
	if !isQuote(s[quote]) || end == len(s) { // without an end, what is masked in it could be one
		return false
	}
	if end++; end < len(s) && (s[end] == ',' || s[end] == ';') {
		end++
	}
	return end == len(s) || s[end] == '\n' || s[end] == '\r'
}

// valueOfLabel is valueAfter for a label, whose value is read to find a name: a long value without quotes is none.
func valueOfLabel(r *Redactor, s string, sep int, before byte) valueAt {
	return shortValueAfter(r, s, sep, false, before, 1000)
}

// shortValueAfter is valueAfter that reads only so many bytes of a value without quotes.
func shortValueAfter(r *Redactor, s string, sep int, structured bool, before byte, longest int) valueAt {
	i := sep + 1
	for i < len(s) && (s[i] == '=' || s[i] == '>' || s[i] == '*') && i-sep < 3 { // ==, =>, and **password:** in Markdown
		i++
	}
	for i < len(s) {
		if structured && s[sep] != '=' && (s[i] == '\n' || s[i] == '\r') {
			i++
		} else if n := max(blankAt(s, i), writtenBlankAt(s, i)); n > 0 {
			i += n
		} else {
			break
		}
	}
	if i < len(s) && (s[i] == '\n' || s[i] == '\r') {
		next := skipSpace(s, i)
		if quote := strings.TrimLeft(s[next:min(len(s), next+8)], `\`); quote != "" && isQuote(quote[0]) && (isQuote(before) || endsLine(s, next)) {
			i = next // a quoted value may be on another line: behind a quoted key, and alone as formatters of code put it
		}
	}
	if strings.HasPrefix(s[i:], "/*") {
		if end := strings.Index(s[i:], "*/"); end > 0 { // a comment before the value
			i = skipSpace(s, i+end+len("*/"))
		}
	}
	i = insideLiteral(s, i)
	if s[sep] == ':' && !structured {
		if from, to := yamlBlock(s, i); from < to {
			return valueAt{from, to, true}
		}
	}
	mark := marks.QuoteAt(s, i)
	if mark == "" {
		mark = doubledValue(s, sep, i)
	}
	if mark != "" {
		from, escape := i+len(mark), strings.HasPrefix(mark, `'\`)
		end := marks.Closing(s, from, mark)
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
	to := maskedWordEnd(s[:min(len(s), i+longest)], i, r.mask)
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

// writtenBlank matches the escape of a blank, of a tab or of a color.
var writtenBlank = lazyregexp.New(`^\\+(?:t|x20|u0020|040|(?:[eE]|033|x1[bB]|u001[bB])\[[0-9;]*m)`)

// writtenBlankAt returns the length of the escape at i that a terminal shows as a blank or not at all, and 0 where there is none.
func writtenBlankAt(s string, i int) int {
	if s[i] != '\\' {
		return 0
	}
	return len(writtenBlank().FindString(s[i:]))
}

// below matches a word that is alone in one of the next two lines.
var below = lazyregexp.New("^(?:[ \\t]*\\r?\\n){1,2}[ \\t]*([^ \\t\\r\\n\\v\\f\"'`<>{}()\\[\\]:=,;/\\\\#]+)[ \\t]*(?:\\r?\\n|$)")

// valueBelow finds the value that a label in a text has in the next line: "Your password:" and a line with it. It has a letter.
// After a clear label it counts as quoted.
func valueBelow(s string, at int, quoted bool) valueAt {
	if at == len(s) || s[at] != '\n' && s[at] != '\r' {
		return valueAt{at, at, false}
	}
	found := below().FindStringSubmatchIndex(s[at:])
	if found == nil || !strings.ContainsFunc(s[at+found[2]:at+found[3]], isLetterRune) {
		return valueAt{at, at, false}
	}
	return valueAt{at + found[2], at + found[3], quoted}
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
