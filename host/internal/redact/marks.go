package redact

import "strings"

// quoteMarks are how a quote is written inside an attribute, in HTML within HTML, and in a shell's single quotes.
var quoteMarks = [...]string{
	"&quot;", "&#34;", "&#034;", "&#x22;", "&apos;", "&#39;", "&#039;", "&#x27;", "&amp;quot;", "&amp;#34;", "&amp;apos;", "&amp;#39;",
	`'"'"'`, `'\"'\"'`, `'\''`, `'\\''`,
}

// quoteMarkBefore returns the length of the mark that ends at a byte, 0 for none.
func quoteMarkBefore(s string, end int) int {
	if end > 0 && (s[end-1] == ';' || s[end-1] == '\'') {
		for _, mark := range quoteMarks {
			if strings.HasSuffix(s[:end], mark) {
				return len(mark)
			}
		}
	}
	return 0
}

// quoteMarkAt returns the mark at a byte, "" for none.
func quoteMarkAt(s string, i int) string {
	if i < len(s) && (s[i] == '&' || s[i] == '\'') {
		for _, mark := range quoteMarks {
			if strings.HasPrefix(s[i:], mark) {
				return mark
			}
		}
	}
	return ""
}

// shellQuote returns how many bytes follow the quote at i if it is the first one of `'"'"'`: a single quote in a shell's single
// quotes. So many backslashes are before each of its double quotes. It returns 0 for another quote.
func shellQuote(s string, i, slashes int) int {
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

// angleAt returns the bracket at a byte, as it is written, "" for none. Opens is true for the one that begins an element.
func angleAt(s string, i int) (bracket string, opens bool) {
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
