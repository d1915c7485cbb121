package diff

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// degradedFactor, degradedMs and degradedSample define a degraded endpoint: slower than the mean of
// at least so many earlier requests by more than the factor, and than so many milliseconds.
const (
	degradedFactor = 3
	degradedMs     = 100
	degradedSample = 3
)

// endpointWindow is what happened to one endpoint in the window.
type endpointWindow struct {
	key   capture.EndpointKey
	tab   int
	known bool             // before the window
	base  capture.Endpoint // as it was before the window
	now   capture.Endpoint // after the newest request

	failures  int            // requests of a failure that is news
	stillBad  int            // requests of one that is not
	failure   *event.Network // the newest request of it
	before    int            // status before it began to fail, 0 when there was none
	answered  int
	answerMs  float64
	last      uint64
	firstPath string
	manyPaths bool
	ref       *Ref // to all its requests of the window
	failed    *Ref // to those that failed
}

func (c *computation) network() *NetworkDiff {
	d := &NetworkDiff{}
	found := map[capture.EndpointKey]*endpointWindow{}
	var order []*endpointWindow
	for pos, e := range c.v.Network().From(c.from.Pos[capture.Network]) {
		if !c.o.InScope(e.Subject) {
			continue
		}
		d.TotalNewRequests++
		if !capture.Counts(e) || c.hides(e) {
			continue
		}
		key := capture.KeyOf(e)
		w := found[key]
		if w == nil {
			w = &endpointWindow{key: key}
			w.base, w.known = c.from.Endpoints.Get(key)
			if w.base.Failing && c.hidesFailure(key, w.base) {
				w.base.Failing = false // so that failing in another way is news
			}
			w.now = w.base
			found[key] = w
			order = append(order, w)
		}
		w.take(pos, e)
		w.refer(c, pos, e)
	}
	c.networkLists(d, order)
	return d
}

func (w *endpointWindow) take(pos uint64, e *event.Network) {
	w.last, w.tab = pos, e.Tab()
	_, path := capture.SplitURL(e.URL)
	if w.firstPath == "" {
		w.firstPath = path
	} else if w.firstPath != path {
		w.manyPaths = true
	}
	switch {
	case e.Failed() && w.now.Failing && w.failures == 0:
		w.stillBad++
	case e.Failed():
		if !w.now.Failing {
			w.before = w.now.Status
		}
		w.failures++
		w.failure = e
	case capture.Measures(e):
		w.answered++
		w.answerMs += e.Duration
	}
	w.now = w.now.After(e)
}

// refer has a request belong to what is told of the endpoint.
func (w *endpointWindow) refer(c *computation, pos uint64, e *event.Network) {
	point := func(r **Ref) {
		if *r == nil {
			if *r = c.ref(pos, e); *r != nil {
				(*r).Endpoint = w.key
			}
			return
		}
		(*r).add(pos)
	}
	point(&w.ref)
	if e.Failed() {
		point(&w.failed)
		if w.failed != nil {
			w.failed.Event = e
		}
	}
}

func (c *computation) networkLists(d *NetworkDiff, order []*endpointWindow) {
	var failures []*tally[Failure]
	var degraded []*tally[Degraded]
	var recovered []*tally[Changed]
	var fresh []*tally[Endpoint]
	for _, w := range order {
		url, tab := w.shownURL(), c.tab(w.tab)
		if w.failures > 0 {
			f := Failure{
				Method: w.key.Method, URL: url, Status: w.failure.Status, PreviousStatus: w.before,
				Error: Shorten(w.failure.Error), Count: several(w.failures), Tab: tab, Ref: w.failed,
			}
			if f.Status >= 400 {
				f.Error = "" // the status says it
			}
			if !w.now.Failing {
				f.NowStatus = w.now.Status
			}
			failures = append(failures, &tally[Failure]{entry: f, count: w.failures, last: w.last})
		}
		if w.stillBad > 0 && w.now.Failing && w.failures == 0 {
			d.StillFailing++
		}
		if w.known && w.base.Failing && !w.now.Failing {
			recovered = append(recovered, &tally[Changed]{entry: Changed{Method: w.key.Method, URL: url, Status: w.now.Status, PreviousStatus: w.base.Status, Tab: tab, Ref: w.ref}, count: 1, last: w.last})
		}
		if !w.known && w.failures == 0 {
			fresh = append(fresh, &tally[Endpoint]{entry: Endpoint{Method: w.key.Method, URL: url, Status: w.now.Status, Tab: tab, Ref: w.ref}, count: 1, last: w.last})
		}
		if mean, before := w.meanMs(), w.base.MeanMs(); w.known && w.base.Measured >= degradedSample && mean > degradedMs && mean > degradedFactor*before {
			degraded = append(degraded, &tally[Degraded]{entry: Degraded{Method: w.key.Method, URL: url, AvgMs: int(mean + 0.5), PreviousAvgMs: int(before + 0.5), Tab: tab, Ref: w.ref}, count: w.answered, last: w.last})
		}
	}
	c.count(len(failures), "network failure", Error)
	c.count(len(degraded), "degraded endpoint", Warning)

	r := newRoom()
	d.Failures = entries(take(r, byFrequency(failures)))
	d.Degraded = entries(take(r, byFrequency(degraded)))
	d.Recovered = entries(take(r, byFrequency(recovered)))
	d.NewEndpoints = entries(take(r, byFrequency(fresh)))
	d.Omitted = r.omitted
}

func entries[T any](list []*tally[T]) []T {
	var out []T
	for _, t := range list {
		out = append(out, t.entry)
	}
	return out
}

func (w *endpointWindow) meanMs() float64 {
	if w.answered == 0 {
		return 0
	}
	return w.answerMs / float64(w.answered)
}

// shownURL is the path when the endpoint is the page's own, else with its origin; the template when
// several addresses were asked for.
func (w *endpointWindow) shownURL() string {
	path := w.firstPath
	if w.manyPaths {
		path = w.key.Path
	}
	return shownURL(w.key.Page, w.key.Origin, path)
}

// shownURL is cut as messages are; the tools that read entries have it whole.
func shownURL(page, origin, path string) string {
	if origin == page || origin == "" {
		return Shorten(path)
	}
	return Shorten(origin + path)
}

// sockets' addresses are shown as requests' are: the path when the host is the page's own.
func shownSocketURL(page, raw string) string {
	origin, path := capture.SplitURL(raw)
	asHTTP := "http" + strings.TrimPrefix(origin, "ws")
	return shownURL(page, pick(asHTTP == page, page, origin), path)
}

func pick(cond bool, a, b string) string {
	if cond {
		return a
	}
	return b
}

func (d *NetworkDiff) filter(errorsOnly bool) int {
	n := dropAll(&d.NewEndpoints) + dropAll(&d.Recovered)
	if errorsOnly {
		n += dropAll(&d.Degraded)
	}
	return n
}

func (d *NetworkDiff) quotes() bool {
	return len(d.Failures)+len(d.NewEndpoints)+len(d.Degraded)+len(d.Recovered) > 0
}

func (d *NetworkDiff) omitted() int { return d.Omitted }

func (d *NetworkDiff) empty() bool { return d.TotalNewRequests == 0 }
