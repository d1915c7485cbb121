package redact

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// literal matches what languages write between a key and the quote of its value: Python's b'x', PHP's string(1) "x", Go's
// (string) (len=1) "x" and []byte("x"), Rust's Some("x"), Haskell's Just "x", JavaScript's process.env.X || "x", and the String {"x"}
// of browsers. A bracket is group 1.
var literal = lazyregexp.New("^(?:[bBuUrRfFLNE@$]|[rR][bB]|[bB][rR]|u8|[ \\t\\r\\n\\f]*string\\(\\d+\\) |(?:\\([\\w.*]+\\) ){1,2}|(?:\\([\\w.*]+\\) )?\\(len=\\d+\\) |Just |Some |[A-Za-z_$][\\w.$]*[ \\t]*(?:\\|\\||\\?\\?)[ \\t]*|((?:[A-Z][\\w:.]*\\([ \\t\\r\\n\\f]*)+|\\[\\]byte\\(|[A-Z]\\w* \\{))\\\\*[\"'`]")

// phpNumber matches how PHP begins a number.
var phpNumber = lazyregexp.New(`^[ \t\r\n\f]*(?:int|float|bool)\(`)

// insideLiteral returns where the quote of a value is that a literal has, i where there is none.
func insideLiteral(s string, i int) int {
	if i == len(s) || !isLetter(s[i]) && s[i] != '(' && s[i] != '@' && s[i] != '$' && s[i] != '\n' && !strings.HasPrefix(s[i:], "[]byte(") {
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

// propertyEnd returns where the key of an element or a property ends, with its quote: ["password"]=>, [password:protected] => and
// Symbol(password):. It is end for other keys.
func propertyEnd(s string, end int) int {
	if end > 1 && s[end-1] == ')' {
		if open := strings.LastIndexByte(s[max(0, end-maxKey):end], '('); open > 0 && strings.HasSuffix(s[:max(0, end-maxKey)+open], "Symbol") {
			return end - 1
		}
	}
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

// declared matches the type of a declared variable behind its colon, up to the sign of its value: Rust's : &'static str = "x".
var declared = lazyregexp.New("^[ \\t]*(?:&(?:'[a-z]+ )?(?:mut )?)?(?:(?:[A-Za-z.]+[<\\[])?(?:[sS]tring|str|[bB]ytes|SecretStr|CharSequence|Text|any|unknown|Any|Final)[>\\]]?(?:\\[\\])?[?!]?(?:[ \\t]*\\|[ \\t]*(?:None|null|undefined|number|string|str|bytes))*[ \\t]*=[ \\t]*(?:\\r?\\n[ \\t]*)?|[A-Z][\\w.]*(?:<[^<>=\\n]{0,40}>)? =(?: |\\r?\\n[ \\t]*))(?:[bBuUrRfFLNE@$]|[rR][bB]|[bB][rR]|u8|[A-Z]\\w*\\()?\\\\*[\"'`]")

// declaredSign returns where the = of a declaration is whose colon is at an offset: password: string = "x". It is sep for others.
func declaredSign(s string, sep int) int {
	if s[sep] != ':' {
		return sep
	}
	return sep + max(0, strings.LastIndexByte(s[sep:sep+1+len(declared().FindString(s[sep+1:]))], '='))
}

// types are the types that Go writes between a variable and the sign of its value: var password string = "x".
var types = map[string]bool{"string": true, "[]byte": true, "[]string": true}

// assignedKey is keyBefore that knows operators (?=, +=, ||=), optional fields (apiKey?:) and declarations as Go has them. sure is
// true for these: a key that is not secret says nothing.
func assignedKey(s string, sep int) (k keyAt, sure bool) {
	if s[sep] == ':' && sep > 1 && s[sep-1] == '?' { // an optional field of TypeScript, which has a type otherwise
		if v := skipSpace(s, sep+1); v < len(s) && isQuote(s[v]) || declaredSign(s, sep) > sep {
			return keyBefore(s, sep-1), true
		}
	}
	if s[sep] != '=' || sep < 2 {
		return keyBefore(s, sep), false
	}
	if c := s[sep-1]; c == '?' || c == '+' || c == '|' {
		at := sep - 1
		if s[at-1] == c {
			at--
		}
		if at > 0 && (s[at-1] == ' ' || s[at-1] == '\t' || isUpper(s[at-1])) {
			return keyBefore(s, at), true
		}
	}
	k = keyBefore(s, sep)
	if k.from < 2 || s[k.from-1] != ' ' || k.quoted || !types[s[k.from:k.to]] {
		return k, false
	}
	if v := skipSpace(s, sep+1); v == len(s) || !isQuote(s[v]) {
		return k, false
	}
	return keyBefore(s, k.from), true
}
