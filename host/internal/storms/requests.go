package storms

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
)

// Requests of one endpoint that differ in their addresses or bodies are pages, uploads or somebody's typing, until they are
// this many, over this many milliseconds. A fast loop is recognized earlier, and so is one at a steady rhythm (package
// rhythm).
const (
	variedRequests, variedSpan = 100, 20_000
	fastRequests, fastSpan     = 300, 10_000
)

// isVaried reports whether a repetition of such requests is a storm.
func (p *pace) isVaried() bool {
	span := p.to - p.from
	return p.total >= variedRequests && span >= variedSpan || p.total >= fastRequests && span >= fastSpan
}

// sameRequest is what makes requests the same. Endpoints alone have neither address nor body.
type sameRequest struct {
	endpoint  capture.EndpointKey
	tab       int
	url, body string
	size      int
}

// maxSameBody is how much of a body is compared, in bytes.
const maxSameBody = 1024

func sameAs(e *event.Network, of capture.EndpointKey) sameRequest {
	_, rest := capture.SplitURL(e.URL)
	if path, query, ok := strings.Cut(e.URL, "?"); ok {
		rest = path + "?" + alike.Query(query) // which folds time stamps and random numbers
	}
	return sameRequest{of, e.Tab(), rest, e.RequestBody[:min(len(e.RequestBody), maxSameBody)], len(e.RequestBody)}
}

// MayRepeat says whether a request may be one of a storm. Files of a page are none: a page that shows the pictures of a camera
// loads them anew all the time. Requests that a page gives up are, where it makes them anew each time.
func MayRepeat(e *event.Network) bool {
	return (capture.Counts(e) || e.Canceled && e.Resource != "preflight") && !e.IsStatic()
}

// Requests finds the storms among the requests of those endpoints that may have one, and returns which have.
func (f *Finder) Requests(may func(capture.EndpointKey) bool) map[capture.EndpointKey]bool {
	found := repetitions[sameRequest]{w: f.w, tempo: &requestTempo}
	start := f.w.From.Pos[capture.Network]
	for pos, e := range f.w.View.Network().From(before(f.w.View.Network(), start, f.w.From.At.UnixMilli())) {
		if !f.w.Options.InScope(e.Subject) || !MayRepeat(e) {
			continue
		}
		of := capture.KeyOf(e)
		if !may(of) || f.w.KeepsOut(e) || e.Resource != "document" && e.Began() <= f.updated[e.Tab()] {
			continue
		}
		same, began := sameAs(e, of), e.Began()
		found.add(same, pos, e, began, began+int64(e.Duration), pos >= start)
		varied := found.add(sameRequest{endpoint: same.endpoint, tab: same.tab}, pos, e, began, began+int64(e.Duration), pos >= start)
		if e.Method == "GET" && len(e.Stack) > 0 {
			varied.loop.Take(e.Stack[0], e.URL, began, began+int64(e.Duration))
		}
	}
	stormy := map[capture.EndpointKey]bool{}
	names := map[loop]*alike.Pattern{}
	for k, r := range found.storms {
		if e := r.newest.(*event.Network); k.url != "" {
			l := loopOf(e)
			if names[l] == nil {
				names[l] = &alike.Pattern{}
			}
			names[l].Add(report.RequestName(e))
		}
	}
	for k, r := range found.storms {
		if e := r.newest.(*event.Network); k.url != "" {
			stormy[k.endpoint] = true
			l := loopOf(e)
			if s := f.storm(names[l].Path(), &requestTempo, r); s != nil {
				s.family = l.endpoint
			}
		}
	}
	for k, r := range found.storms {
		if k.url == "" && !stormy[k.endpoint] && (r.pace.isVaried() || r.loop.Found()) {
			stormy[k.endpoint] = true
			f.storm(report.EndpointName(r.newest.(*event.Network)), &requestTempo, r)
		}
	}
	return stormy
}

// loop is what makes storms one: the line of code that makes their requests, and endpoints that differ in numbers alone.
type loop struct {
	endpoint capture.EndpointKey
	tab      int
	by       string
}

func loopOf(e *event.Network) loop {
	l := loop{endpoint: alike.OutcomeOf(e).Endpoint, tab: e.Tab()}
	if len(e.Stack) > 0 {
		l.by = e.Stack[0]
	}
	return l
}
