// Package marks finds quotes, brackets and separators that are written by an escape.
//
// It guarantees: it changes nothing and keeps nothing. Each function reads a bounded part of the text, but for [Closing].
package marks

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// quotes are how a quote is written inside an attribute, in HTML within HTML, and in a shell's single quotes.
var quotes = [...]string{
	"&quot;", "&#34;", "&#034;", "&#x22;", "&apos;", "&#39;", "&#039;", "&#x27;", "&amp;quot;", "&amp;#34;", "&amp;apos;", "&amp;#39;",
	`'"'"'`, `'\"'\"'`, `'\''`, `'\\''`,
}

// QuoteBefore returns the length of the mark that ends at a byte, with the backslashes before an entity; 0 for none.
func QuoteBefore(s string, end int) int {
	if end > 0 && s[end-1] == '"' {
		return DoubledBefore(s, end)
	}
	if n := quoteCodeBefore(s, end); n > 0 {
		return n
	}
	if end == 0 || s[end-1] != ';' && s[end-1] != '\'' {
		return 0
	}
	for _, mark := range quotes {
		from := end - len(mark)
		if from < 0 || !strings.EqualFold(s[from:end], mark) {
			continue
		}
		for mark[0] == '&' && from > 0 && s[from-1] == '\\' {
			from--
		}
		return end - from
	}
	return 0
}

// DoubledBefore returns the length of the doubled quote that ends at a byte, 0 for none. JSON has it in a cell of CSV. Backslashes
// may be before it, as in JSON in JSON, or before each quote, as in CSV in JSON.
func DoubledBefore(s string, end int) int {
	second := end - 1
	if second < 1 || s[second] != '"' {
		return 0
	}
	at := SlashesFrom(s, second)
	if at == 0 || s[at-1] != '"' {
		return 0
	}
	from := SlashesFrom(s, at-1)
	if between := second - at; between != 0 && between != at-1-from {
		return 0
	}
	return end - from
}

// SlashesFrom returns where the backslashes before a byte begin.
func SlashesFrom(s string, at int) int {
	for at > 0 && s[at-1] == '\\' {
		at--
	}
	return at
}

// DoubledAt returns the doubled quote at a byte, "" for none.
func DoubledAt(s string, i int) string {
	first := i
	for first < len(s) && s[first] == '\\' {
		first++
	}
	if first == len(s) || s[first] != '"' {
		return ""
	}
	if strings.HasPrefix(s[first+1:], `"`) {
		return s[i : first+2]
	}
	if mark := s[i : first+1]; strings.HasPrefix(s[first+1:], mark) {
		return s[i : first+1+len(mark)]
	}
	return ""
}

// QuoteAt returns the mark at a byte, with the backslashes before an entity; "" for none.
func QuoteAt(s string, i int) string {
	if n := quoteCode(s, i); n > 0 {
		return s[i : i+n]
	}
	from := i
	for from < len(s) && s[from] == '\\' {
		from++
	}
	if from == len(s) || s[from] != '&' && (s[from] != '\'' || from > i) {
		return ""
	}
	for _, mark := range quotes {
		if end := from + len(mark); end <= len(s) && strings.EqualFold(s[from:end], mark) {
			return s[i:end]
		}
	}
	return ""
}

// quoteCodes are the codes of quotes behind their backslashes, as encoders of JSON write them in texts of JSON.
var quoteCodes = [...]string{"u0022", "u0027", "x22", "x27"}

// quoteCode returns the length of the code of a quote at a byte, with its backslashes; 0 for none.
func quoteCode(s string, i int) int {
	from := i
	for from < len(s) && s[from] == '\\' {
		from++
	}
	for _, code := range quoteCodes {
		if from > i && strings.HasPrefix(s[from:], code) {
			return from + len(code) - i
		}
	}
	return 0
}

// quoteCodeBefore is quoteCode for the code that ends at a byte.
func quoteCodeBefore(s string, end int) int {
	if end == 0 || s[end-1] != '2' && s[end-1] != '7' {
		return 0
	}
	for _, code := range quoteCodes {
		if at := end - len(code); strings.HasSuffix(s[:end], code) && SlashesFrom(s, at) < at {
			return end - SlashesFrom(s, at)
		}
	}
	return 0
}

// separators matches how a separator is escaped in JSON and in HTML.
var separators = lazyregexp.New(`^(?:\\+(?:x3[AaDd]|u003[AaDd]|u\{3[AaDd]\}|07[25])|&(?:amp;)?(?:#(?:58|61|x3[AaDd])|colon|equals);)`)

// SeparatorAt returns the length of the separator that is escaped at a byte, with its backslashes; 0 for none.
func SeparatorAt(s string, i int) int {
	if s[i] != '&' && (s[i] != '\\' || i > 0 && s[i-1] == '\\') {
		return 0
	}
	return len(separators().FindString(s[i:min(len(s), i+maxSeparator)]))
}

// keyEnd matches the code, behind its backslash, of a character that ends a key.
var keyEnd = lazyregexp.New(`^(?:(?:x|u00)(?:2[267Cc]|3[A-Fa-f]|7[BbDd])|u\{(?:2[267Cc]|3[A-Fa-f]|7[BbDd])\}|0(?:46|7[2-7]))`)

// EndOfKey returns the length of such a code that a text begins with; 0 for none.
func EndOfKey(s string) int { return len(keyEnd().FindString(s[:min(len(s), maxSeparator)])) }

// maxSeparator bounds the length of a separator that is escaped, in bytes.
const maxSeparator = 32

// Closing returns where a value ends that begins behind a mark, -1 where the text was cut off. An entity, a code or a doubled
// quote with more backslashes before it belongs to the value.
func Closing(s string, from int, mark string) int {
	bare := strings.TrimLeft(mark, `\`)
	for at := from; ; at += len(bare) {
		n := strings.Index(s[at:], bare)
		if n < 0 {
			return -1
		}
		at += n
		end := at
		for bare[0] != '\'' && end > from && s[end-1] == '\\' {
			end--
		}
		if at-end <= len(mark)-len(bare) && (at > end || bare[0] != 'u' && bare[0] != 'x') {
			return end
		}
	}
}

// ShellQuote returns how many bytes follow the quote at i if it is the first one of `'"'"'`: a single quote in a shell's single
// quotes. So many backslashes are before each of its double quotes. It returns 0 for another quote.
func ShellQuote(s string, i, slashes int) int {
	if s[i] != '"' || i == slashes || s[i-slashes-1] != '\'' {
		return 0
	}
	rest := s[i+1:]
	if n := slashes + 3; len(rest) >= n && rest[0] == '\'' && strings.Trim(rest[1:n-2], `\`) == "" && rest[n-2:n] == `"'` {
		return n
	}
	return 0
}

// angles are how the brackets of elements are escaped in HTML, in HTML within HTML, and in JSON.
var angles = [...]struct {
	text  string
	opens bool
}{
	{"&lt;", true},
	{"&gt;", false},
	{"&#60;", true},
	{"&#62;", false},
	{"&#x3c;", true},
	{"&#x3e;", false},
	{"&amp;lt;", true},
	{"&amp;gt;", false},
	{`\u003c`, true},
	{`\u003e`, false},
}

// BracketAt returns the bracket at a byte, as it is written, "" for none. Opens is true for the one that begins an element.
func BracketAt(s string, i int) (bracket string, opens bool) {
	switch {
	case s[i] == '<' || s[i] == '>':
		return s[i : i+1], s[i] == '<'
	case s[i] == '\\' && (i+1 == len(s) || s[i+1] != 'u'):
		return "", false
	}
	for _, a := range angles {
		if end := i + len(a.text); end <= len(s) && strings.EqualFold(s[i:end], a.text) {
			return s[i:end], a.opens
		}
	}
	return "", false
}
