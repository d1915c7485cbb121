package redact

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/redact/marks"
)

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
			n := max(doubled(s, i, quote, run), marks.ShellQuote(s, i, run))
			if n == 0 || i-run == begin {
				return i - run
			}
			i += n
		}
		run = 0
	}
	return len(s)
}

// doubled returns how many bytes follow the quote at i that stands for one in a text, as in 'it”s' of SQL and YAML: 1 or 0.
func doubled(s string, i int, quote byte, slashes int) int {
	if quote != '\'' || slashes > 0 || !strings.HasPrefix(s[i+1:], "'") {
		return 0
	}
	if end := strings.IndexAny(s[i+2:], "'\n"); end < 0 || s[i+2+end] == '\n' {
		return 0
	}
	return 1
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

// doubledValue returns the doubled quote at a byte if the key before the separator ends with the same one, "" for none.
func doubledValue(s string, sep, i int) string {
	mark := marks.DoubledAt(s, i)
	if mark == "" || !strings.HasSuffix(s[:skipBlanksBefore(s, sep, true)], mark) {
		return ""
	}
	return mark
}
