package event

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// The functions of this file own how text of a page stands in a line with Tidemark's own words: as a word of a closed
// list, as one word, or in quotes. A blank is any character that Unicode has for white space.

// OneLine cleans an address or a name. The result is always one line.
func OneLine(s string) string {
	s = Clean(s)
	if !strings.ContainsAny(s, "\n\t\u2028\u2029") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Apart returns a text of a page for a line that has more beside it: in quotes if it contains one of the separators, so that
// it reads neither as two texts nor as Tidemark's own words.
func Apart(s string, separators ...string) string {
	s = OneLine(s)
	plain := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, s)
	if slices.ContainsFunc(separators, func(sep string) bool { return strings.Contains(plain, sep) }) {
		return strconv.Quote(s)
	}
	return s
}

// Named is [Apart] for the name of a file or an element: in quotes if it has a blank, a quote, the sign of a count, or a
// parenthesis that would end those around it.
func Named(s string) string {
	if strings.Count(s, ")") != strings.Count(s, "(") {
		return strconv.Quote(OneLine(s))
	}
	return Apart(s, " ", `"`, "×")
}

// plainSelector is a CSS selector whose names are words and whose values are in quotes.
var plainSelector = lazyregexp.New(`^` + compound + `(?: > ` + compound + `)*$`)

const compound = `(?:[#.]?[\pL\pN_-]+|\[[\w-]+=(?:[\w-]+|"(?:[^"\\]|\\.)*")\]|:[\w-]+(?:\(\d+\))?|\*)+`

// Selector is [Named] for a CSS selector, which has blanks between the elements that it names.
func Selector(s string) string {
	if s = OneLine(s); plainSelector().MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// namedByText is how an element is named that has no reference: by its role or tag, and a text in quotes.
var namedByText = lazyregexp.New(`^[a-z][a-z0-9-]* "(?:[^"\\]|\\.)*"$`)

// Described is [Selector] for an element that may also be named by its role and its text: button "Save". A pseudo-element is
// one of an element: ::after of button "Save".
func Described(s string) string {
	s = OneLine(s)
	for _, pseudo := range []string{"::before of ", "::after of "} {
		if of, is := strings.CutPrefix(s, pseudo); is {
			return pseudo + Described(of)
		}
	}
	if namedByText().MatchString(s) {
		return s
	}
	return Selector(s)
}

// methods are the registered methods of HTTP, with those that servers of caches and of searches have.
var methods = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(`ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT CONNECT COPY DELETE GET HEAD LABEL LINK LOCK MERGE MKACTIVITY
		MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE OPTIONS ORDERPATCH PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH TRACE
		UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL`) {
		all[name] = true
	}
	return all
}()

// Method returns the method of a request: in quotes if it is none that is registered, because a page can choose any word.
func Method(s string) string {
	if s == "" || methods[s] {
		return s
	}
	return strconv.Quote(Unbroken(s))
}

// Unbroken returns a text of a page on one line and without blanks, so that it is one word.
func Unbroken(s string) string {
	s = OneLine(s)
	if strings.IndexFunc(s, unicode.IsSpace) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsSpace(r) {
			b.WriteString(url.PathEscape(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
