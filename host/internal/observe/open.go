package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/rawtext"
)

// maxOpenRequests bounds the open requests that an answer lists.
const maxOpenRequests = 5

// OpenRequest is a request that has not ended. It has no position yet.
type OpenRequest struct {
	Method    string    `json:"method"`
	URL       string    `json:"url"`
	StartedAt diff.Time `json:"started_at"`
	OpenMs    int64     `json:"open_ms"`
	Tab       int       `json:"tab"`

	page string // the page's origin
}

// open returns the newest requests that match and have not ended, and how many match. A request without an answer matches
// no status, and the later pages of a read repeat none.
func (p *RequestsParams) open(v *capture.View, scope checkpoint.Scope) (newest []OpenRequest, total int) {
	if p.StatusMin > 0 || p.After != nil {
		return nil, 0
	}
	var found []capture.Flight
	for _, f := range v.Flights {
		if scope.Covers(f.Subject()) && (p.Tab == 0 || f.Tab == p.Tab) && (p.Method == "" || strings.EqualFold(p.Method, f.Method)) && strings.Contains(f.URL, p.URL) {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b capture.Flight) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.URL, b.URL)) })
	for _, f := range found[max(0, len(found)-maxOpenRequests):] {
		newest = append(newest, OpenRequest{
			Method: f.Method, URL: f.URL, StartedAt: diff.Time{Time: f.Began}, OpenMs: v.At.Sub(f.Began).Milliseconds(), Tab: f.Tab, page: f.Origin,
		})
	}
	return newest, len(found)
}

// line describes the request in a line.
func (r *OpenRequest) line() string {
	address, _ := rawtext.Clip("url", r.URL, leastEntry/2)
	return fmt.Sprintf("%s %s since %s, %s", rawtext.Word(r.Method), rawtext.Address(address, r.page), r.StartedAt, (time.Duration(r.OpenMs) * time.Millisecond).Round(time.Second))
}
