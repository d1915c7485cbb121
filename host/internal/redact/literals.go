package redact

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// literal matches what languages write between a key and the quote of its value: Python's b'x', PHP's string(1) "x", Go's
// (string) (len=1) "x", Rust's Some("x"), Haskell's Just "x", and the String {"x"} of browsers. A bracket is group 1.
var literal = lazyregexp.New("^(?:[bBuUrRfFLNE@$]|[rR][bB]|[bB][rR]|u8|[ \\t\\r\\n\\f]*string\\(\\d+\\) |(?:\\([\\w.*]+\\) ){1,2}|(?:\\([\\w.*]+\\) )?\\(len=\\d+\\) |Just |Some |((?:[A-Z][\\w:.]*\\([ \\t\\r\\n\\f]*)+|[A-Z]\\w* \\{))\\\\*[\"'`]")

// phpNumber matches how PHP begins a number.
var phpNumber = lazyregexp.New(`^[ \t\r\n\f]*(?:int|float|bool)\(`)

// insideLiteral returns where the quote of a value is that a literal has, i where there is none.
func insideLiteral(s string, i int) int {
	if i == len(s) || !isLetter(s[i]) && s[i] != '(' && s[i] != '@' && s[i] != '$' && s[i] != '\n' {
		return i
	}
	if n := phpNumber().FindStringIndex(s[i:]); n != nil {
		return i + n[1]
	}
	found := literal().FindStringSubmatchIndex(s[i:])
	if found == nil {
		return i
	}
	quote := i + found[1] - 1
	at := quote
	for s[at-1] == '\\' {
		at--
	}
	if found[2] >= 0 {
		end := closingQuote(s, quote+1, s[quote], quote-at) + quote - at + 1
		if end < len(s) {
			if end = skipSpace(s, end); end < len(s) && s[end] == ',' {
				end = skipSpace(s, end+1)
			}
			if end < len(s) && s[end] != ')' && s[end] != '}' {
				return i // a call with more than one argument
			}
		}
	}
	return at
}

// propertyEnd returns where the key of an element or a property ends, with its quote: ["password"]=> and [password:protected] =>.
// It is end for other keys.
func propertyEnd(s string, end int) int {
	if end < 2 || s[end-1] != ']' {
		return end
	}
	if isQuote(s[end-2]) {
		return end - 1
	}
	if rest, ok := strings.CutSuffix(s[:end], ":protected]"); ok {
		return len(rest)
	}
	if rest, ok := strings.CutSuffix(s[:end], ":private]"); ok {
		at := len(rest)
		for at > 0 && len(rest)-at < maxKey && isClassByte(rest[at-1]) {
			at--
		}
		if at > 0 && rest[at-1] == ':' {
			return at - 1
		}
	}
	return end
}

// isClassByte reports whether a byte may be in the name of a class with its namespace and quotes.
func isClassByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '\\' || c == '"' || c == '\''
}

// visibility matches what PHP writes between a property and its bracket.
var visibility = lazyregexp.New(`^(?:["'\\]*[\w\\]+["'\\]*:)?(?:private|protected)\]`)

// isVisibility reports whether a text says who may see a property instead of having its value.
func isVisibility(s string) bool { return visibility().MatchString(s) }
