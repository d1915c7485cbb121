package redact

import "strings"

// quoteMarks are how a quote is written inside an attribute, in HTML within HTML, and in a shell's single quotes.
var quoteMarks = [...]string{
	"&quot;", "&#34;", "&#034;", "&#x22;", "&apos;", "&#39;", "&#039;", "&#x27;", "&amp;quot;", "&amp;#34;", "&amp;apos;", "&amp;#39;",
	`'"'"'`, `'\"'\"'`, `'\''`, `'\\''`,
}

// quoteMarkBefore returns the length of the mark that ends at a byte, with the backslashes before an entity; 0 for none.
func quoteMarkBefore(s string, end int) int {
	if end > 0 && s[end-1] == '"' {
		return doubledBefore(s, end)
	}
	if end == 0 || s[end-1] != ';' && s[end-1] != '\'' {
		return 0
	}
	for _, mark := range quoteMarks {
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

// doubledBefore returns the length of the doubled quote that ends at a byte, 0 for none. JSON has it in a cell of CSV. Backslashes
// may be before it, as in JSON in JSON, or before each quote, as in CSV in JSON.
func doubledBefore(s string, end int) int {
	second := end - 1
	if second < 1 || s[second] != '"' {
		return 0
	}
	at := slashesFrom(s, second)
	if at == 0 || s[at-1] != '"' {
		return 0
	}
	from := slashesFrom(s, at-1)
	if between := second - at; between != 0 && between != at-1-from {
		return 0
	}
	return end - from
}

// slashesFrom returns where the backslashes before a byte begin.
func slashesFrom(s string, at int) int {
	for at > 0 && s[at-1] == '\\' {
		at--
	}
	return at
}

// doubledAt returns the doubled quote at a byte, "" for none.
func doubledAt(s string, i int) string {
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

// doubledValue returns the doubled quote at a byte if the key before the separator ends with the same one, "" for none.
func doubledValue(s string, sep, i int) string {
	mark := doubledAt(s, i)
	if mark == "" || !strings.HasSuffix(s[:skipBlanksBefore(s, sep, true)], mark) {
		return ""
	}
	return mark
}

// quoteMarkAt returns the mark at a byte, with the backslashes before an entity; "" for none.
func quoteMarkAt(s string, i int) string {
	from := i
	for from < len(s) && s[from] == '\\' {
		from++
	}
	if from == len(s) || s[from] != '&' && (s[from] != '\'' || from > i) {
		return ""
	}
	for _, mark := range quoteMarks {
		if end := from + len(mark); end <= len(s) && strings.EqualFold(s[from:end], mark) {
			return s[i:end]
		}
	}
	return ""
}

// closingMark returns where a value ends that begins behind a mark, -1 where the text was cut off. An entity or a doubled quote with
// more backslashes before it belongs to the value.
func closingMark(s string, from int, mark string) int {
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
		if at-end <= len(mark)-len(bare) {
			return end
		}
	}
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
