// Package rawtext writes what a page says into the lines of raw reads.
//
// It guarantees: text of a page begins no line, and ends none but its own.
package rawtext

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/tokens"
)

// maxWord bounds an address or a name, in bytes.
const maxWord = 300

// Word returns an address or a name of a page without blanks, shortened.
func Word(s string) string {
	s = event.Unbroken(s)
	if len(s) > maxWord {
		s = strings.ToValidUTF8(s[:maxWord], "") + "…"
	}
	return cmp.Or(s, "-")
}

// Phrase returns a name of a page on one line, shortened.
func Phrase(s string) string { return event.Tail(event.OneLine(s), maxWord) }

// Address returns a URL, without its origin if it is the page's.
func Address(url, page string) string {
	if origin, _ := capture.SplitURL(url); origin == page && strings.HasPrefix(url, origin+"/") {
		url = url[len(origin):]
	}
	return Word(url)
}

// Clip cuts a text to about so many tokens. The note says what is left, "" if nothing was cut.
func Clip(name, s string, most int) (cut, note string) {
	if len(s) <= most {
		return s, ""
	}
	all := tokens.Estimate(s)
	if all <= most {
		return s, ""
	}
	n := len(s) * max(most, 0) / all
	for cut = strings.ToValidUTF8(s[:n], ""); tokens.Estimate(cut) > most && n > 0; cut = strings.ToValidUTF8(s[:n], "") {
		n = n * 9 / 10
	}
	return cut, fmt.Sprintf("%s %d of %d bytes", name, len(cut), len(s))
}

// usual are request and response headers that hardly ever explain a failure; lines only count them.
var usual = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`accept accept-encoding accept-language accept-ranges age alt-svc cache-control connection content-length date dnt
		etag host keep-alive last-modified pragma priority referer server transfer-encoding upgrade-insecure-requests user-agent vary via x-powered-by
		sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user sec-gpc`) {
		usual[name] = true
	}
}

// Exchange adds lines for headers and a body.
func Exchange(lines []string, sign string, headers map[string]string, body string) []string {
	var shown []string
	left := 0
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if usual[strings.ToLower(name)] {
			left++
			continue
		}
		shown = append(shown, Word(name)+": "+event.Apart(headers[name], "|"))
	}
	if left > 0 {
		shown = append(shown, fmt.Sprintf("(%d usual headers)", left))
	}
	if len(shown) > 0 {
		lines = append(lines, sign+" "+strings.Join(shown, " | "))
	}
	if body == "" {
		return lines
	}
	for i, line := range strings.FieldsFunc(body, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }) {
		if i == 0 {
			lines = append(lines, sign+" body: "+line)
		} else {
			lines = append(lines, sign+"   "+line)
		}
	}
	return lines
}
