// Package inflight lists the requests of pages that have not ended.
//
// It guarantees: a client gets those of its scope alone. It is pure.
package inflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/rawtext"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tokens"
)

// Most bounds the requests that [List] returns.
const Most = 5

// maxAddress bounds the address in a line, in tokens.
const maxAddress = 75

// Request is a request that has not ended. It has no position yet.
type Request struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	// Operation is the name of its GraphQL operation.
	Operation string      `json:"operation,omitempty"`
	StartedAt report.Time `json:"started_at"`
	OpenMs    int64       `json:"open_ms"`
	Tab       int         `json:"tab"`

	page string // the page's origin
}

// List returns the newest requests in a scope that have a method, a part of an address and a tab, and counts all. Empty
// values match any.
func List(v *capture.View, scope checkpoint.Scope, method, url string, tab int) (newest []Request, total int) {
	var found []capture.Flight
	for _, f := range v.Flights {
		if scope.Covers(f.Subject()) && (tab == 0 || f.Tab == tab) && (method == "" || strings.EqualFold(method, f.Method)) && strings.Contains(f.URL, url) {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b capture.Flight) int { return cmp.Compare(a.Number, b.Number) })
	for _, f := range found[max(0, len(found)-Most):] {
		newest = append(newest, Request{
			Method: f.Method, URL: f.URL, Operation: f.Operation, StartedAt: report.Time{Time: f.Began}, OpenMs: v.At.Sub(f.Began).Milliseconds(), Tab: f.Tab, page: f.Origin,
		})
	}
	return newest, len(found)
}

// Fit leaves out the oldest requests of a list until the others need at most so many tokens, in lines or as JSON. It returns
// the others and how many tokens they need.
func Fit(list []Request, most int, asJSON bool) (kept []Request, need int) {
	for i := range slices.Backward(list) {
		n := tokens.Estimate(list[i].Line() + "\n")
		if asJSON {
			data, err := report.Encode(&list[i])
			if err != nil {
				continue // plain values always marshal
			}
			n = tokens.Estimate(data) + 1
		}
		if need+n > most {
			return list[i+1:], need
		}
		need += n
	}
	return list, need
}

// Line describes the request in a line of a raw read.
func (r *Request) Line() string {
	address, _ := rawtext.Clip("url", r.URL, maxAddress)
	what := rawtext.Address(address, r.page)
	if r.Operation != "" {
		what += " " + rawtext.Word(r.Operation)
	}
	return fmt.Sprintf("# open: %s %s since %s, %s", event.Method(r.Method), what, r.StartedAt, (time.Duration(r.OpenMs) * time.Millisecond).Round(time.Second))
}
