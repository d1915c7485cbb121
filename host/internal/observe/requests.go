package observe

import (
	"context"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/inflight"
	"tidemark.dev/tidemark/host/internal/rawtext"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// RequestsParams are the arguments of get_network_requests.
type RequestsParams struct {
	Method string `json:"method,omitempty"`
	// URL is a part of the address.
	URL string `json:"url,omitempty"`
	// StatusMin is the lowest status to include. Requests that failed without a status, or with GraphQL errors, always
	// match.
	StatusMin int `json:"status_min,omitempty"`
	ReadParams
}

// RequestEntry is one request.
type RequestEntry struct {
	EntryHead
	Method string `json:"method"`
	URL    string `json:"url"`
	// Operation is the name of the GraphQL operation.
	Operation  string      `json:"operation,omitempty"`
	Resource   string      `json:"resource,omitempty"`
	Status     int         `json:"status"`
	Error      string      `json:"error,omitempty"`
	Canceled   bool        `json:"canceled,omitempty"`
	StartedAt  report.Time `json:"started_at"`
	DurationMs float64     `json:"duration_ms"`
	Mime       string      `json:"mime,omitempty"`
	Size       int64       `json:"size,omitempty"`
	Cached     bool        `json:"cached,omitempty"`
	Stream     bool        `json:"stream,omitempty"`
	// Initiator is the code that made the request, as file:line; Generated is true where that is generated code.
	Initiator string `json:"initiator,omitempty"`
	Generated bool   `json:"generated,omitempty"`
	// CalledAt is the project's own code that called Initiator, where that is in another file, of a request that failed or
	// writes. A line has it where the request failed.
	CalledAt string `json:"called_at,omitempty"`
	// Detail is the first meaningful line of a failed answer.
	Detail     string `json:"detail,omitempty"`
	Target     string `json:"target,omitempty"`
	Backfilled bool   `json:"backfilled,omitempty"`

	page string    // the page's origin
	sent time.Time // orders requests that were sent in the same millisecond
	load int       // numbers the load of the tab
	// library is true for a request that succeeded, and that only code of libraries made. A line does not name that code.
	library bool
}

// BodiesParams are the arguments of get_network_bodies.
type BodiesParams struct {
	// Positions select requests; none: all that the other arguments select.
	Positions []uint64 `json:"positions,omitempty"`
	RequestsParams
}

// BodiesEntry is one request with what was sent and received.
type BodiesEntry struct {
	RequestEntry
	RequestHeaders  map[string]string `json:"request_headers,omitempty"`
	RequestBody     string            `json:"request_body,omitempty"`
	ResponseHeaders map[string]string `json:"response_headers,omitempty"`
	ResponseBody    string            `json:"response_body,omitempty"`
	BodyNote        string            `json:"body_note,omitempty"`
}

// shortBody is the length of a body, in bytes, from which on the detail of a failure helps to find it.
const shortBody = 1000

const requestFilters = `
		"method":{"type":"string"},
		"url":{"type":"string","description":"part of the address"},
		"status_min":{"type":"integer","description":"400: failures"},`

var getNetworkRequestsTool = newRawTool(tool.Definition{
	Name: "get_network_requests", Title: "Requests", Effect: tool.Reads,
	Description: "List requests, a line each: position, status, start, duration, size, initiator. Omits loaded pages, scripts and images unless filtered.",
	Arguments:   requestFilters + paging,
}, readRequests)

var getNetworkBodiesTool = newRawTool(tool.Definition{
	Name: "get_network_bodies", Title: "Request bodies", Effect: tool.Reads,
	Description: "Show headers and text bodies of requests, secrets masked. Use it to see why a request failed.",
	Arguments: `
		"positions":{"type":"array","items":{"type":"integer"},"description":"of get_network_requests"},` + requestFilters + paging,
}, readBodies)

// readRequests answers get_network_requests. Successful requests for the files that a page is made of are only counted,
// unless a filter selects them.
func readRequests(ctx context.Context, o *Observer, client *checkpoint.Client, p RequestsParams) (*Listing[RequestEntry], error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var file func(*event.Network) bool
	if p.Method == "" && p.URL == "" && p.StatusMin == 0 {
		file = capture.IsFile
	}
	return WithPlaces(ctx, defaultTimeout, func(bool) (*Listing[RequestEntry], *Places, error) {
		v := o.store.View(o.clock())
		places, loads := o.OriginalsIn(v), rawtext.LoadsIn(v)
		page, err := read[event.Network](v, client.Scope, p.ReadParams, reading[event.Network, RequestEntry]{
			pick:  (*capture.View).Network,
			match: p.matches,
			show: func(h EntryHead, n *event.Network) RequestEntry {
				e := requestEntry(h, n, places)
				e.load = loads.At(n)
				return e
			},
			file: file,
			open: func() ([]inflight.Request, int) {
				if p.StatusMin > 0 {
					return nil, 0 // a request without an answer has no status
				}
				return inflight.List(v, client.Scope, p.Method, p.URL, p.Tab)
			},
			what: "requests",
		})
		return page, places, err
	})
}

// readBodies answers get_network_bodies.
func readBodies(ctx context.Context, o *Observer, client *checkpoint.Client, p BodiesParams) (*Listing[BodiesEntry], error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return WithPlaces(ctx, defaultTimeout, func(bool) (*Listing[BodiesEntry], *Places, error) {
		v := o.store.View(o.clock())
		places := o.OriginalsIn(v)
		found := map[uint64]bool{}
		page, err := read[event.Network](v, client.Scope, p.ReadParams, reading[event.Network, BodiesEntry]{
			pick: (*capture.View).Network,
			match: func(pos uint64, n *event.Network) bool {
				if len(p.Positions) > 0 && !slices.Contains(p.Positions, pos) || !p.matches(pos, n) {
					return false
				}
				found[pos] = true
				return true
			},
			show: func(h EntryHead, n *event.Network) BodiesEntry { return bodiesEntry(h, n, places) },
			what: "requests",
		})
		if err != nil {
			return nil, nil, err
		}
		for _, pos := range p.Positions {
			if !found[pos] {
				page.Missing = append(page.Missing, pos)
			}
		}
		return page, places, nil
	})
}

func (p *RequestsParams) check() error {
	if p.StatusMin < 0 || p.StatusMin > 599 {
		return usererr.Invalid("status_min is %d; it must be from 0 to 599", p.StatusMin)
	}
	return nil
}

func (p *RequestsParams) matches(_ uint64, n *event.Network) bool {
	return (p.Method == "" || strings.EqualFold(p.Method, n.Method)) && strings.Contains(n.URL, p.URL) &&
		(n.Status >= p.StatusMin || n.Status < 400 && n.Failed())
}

func requestEntry(h EntryHead, n *event.Network, places *Places) RequestEntry {
	e := RequestEntry{
		EntryHead: h, Method: n.Method, URL: n.URL, Operation: n.Operation, Resource: n.Resource, Status: n.Status, Error: n.Error, Canceled: n.Canceled,
		StartedAt: report.Time{Time: time.UnixMilli(n.Started)}, DurationMs: n.Duration, Mime: n.Mime, Size: n.Size, Cached: n.Cached, Stream: n.Stream,
		Detail: n.Detail, Target: n.Target, Backfilled: n.Backfilled, page: n.Origin(), sent: n.Sent(),
	}
	by := places.CallerOf(n)
	place := by.place()
	e.Initiator, e.Generated, e.library = report.PlaceName(place), place.Generated, by.library && !n.Failed()
	if n.Failed() || n.Writes() {
		e.CalledAt = report.PlaceName(places.CalledAt(n))
	}
	return e
}

func bodiesEntry(h EntryHead, n *event.Network, places *Places) BodiesEntry {
	e := BodiesEntry{
		RequestEntry: requestEntry(h, n, places), RequestHeaders: n.RequestHeaders, RequestBody: n.RequestBody,
		ResponseHeaders: n.ResponseHeaders, ResponseBody: n.ResponseBody, BodyNote: n.BodyNote,
	}
	if n := len(e.ResponseBody); n > 0 && n < shortBody {
		e.Detail = "" // the body says it
	}
	return e
}
