package diff

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// degradedFactor, degradedMs and degradedSample define an endpoint that may be degraded: slower than the mean of at least so
// many earlier requests by more than the factor, and than so many milliseconds.
const (
	degradedFactor = 3
	degradedMs     = 100
	degradedSample = 3
)

// A development server often answers requests of the application while it compiles. One request that a page makes within
// updateMs after a hot update must take compileMs longer than it would otherwise have to.
const (
	updateMs  = 1000
	compileMs = 500
)

// A browser has a few connections to a server, so of many requests that are made at once, most wait for a connection: at least
// crowd of the same origin during one, others than of its endpoint.
const crowd = 6

// maxSlow bounds how many slow requests of an endpoint are looked at, maxCrowd with how many others each is compared.
const (
	maxSlow  = 64
	maxCrowd = 256
)

// timing is the evidence that an endpoint is degraded: durations in milliseconds, and the time of the slow requests.
type timing struct {
	before, now []float64
	from, to    float64
	others      []float64 // by how much other requests of that time were slower than their endpoints' means
	slow        []*slowRequest
	updated     bool // the first request was made by a page that had just been updated
}

// slowRequest is a request that took longer than usual, with how long others of its origin took that were under way with it.
type slowRequest struct {
	from, to float64
	origin   string
	others   []float64
}

// waited reports whether the request took about as long as many others of the same moment.
func (r *slowRequest) waited() bool {
	return len(r.others) >= crowd && r.to-r.from <= degradedFactor*share(r.others, 1, 2)
}

// degradation finds the degraded endpoints of a computation.
type degradation struct{ *computation }

// find returns which endpoints are degraded. A busy machine slows all requests down, and some requests are slow now and
// then. So an endpoint is degraded only if it is slower than other requests of the same time by the factor too, each
// compared with its own endpoint's mean, and if half of its requests took longer than nine in ten did before. Requests that took
// as long as many others that were made at the same time do not count, whether or not those were made before. A single
// request may just have waited for the processor, so it must have taken degradedMs longer than those. A single
// document is often the first one of a server that was just started. Pages that a development server compiles are no endpoints.
func (c degradation) find(found map[capture.EndpointKey]*endpointWindow, order []*endpointWindow) map[*endpointWindow]bool {
	evidence := map[*endpointWindow]*timing{}
	for _, w := range order {
		if mean := w.meanMs(); w.known && !w.static && !w.isOneDocument() && w.base.Measured >= degradedSample && mean > degradedMs && mean > degradedFactor*w.base.MeanMs() && !c.isCompiled(w) {
			evidence[w] = &timing{}
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	c.time(found, evidence)
	slower := map[*endpointWindow]bool{}
	for w, t := range evidence {
		slower[w] = t.isSlower(w)
	}
	return slower
}

// isOneDocument says whether the only answer in the window is a document.
func (w *endpointWindow) isOneDocument() bool {
	return w.answered == 1 && w.slowest.Resource == "document"
}

// isCompiled says whether the slowest answer is a page that a router asked a development server for, which compiles each route when
// it is first asked for. Next.js marks such a request in its query.
func (c degradation) isCompiled(w *endpointWindow) bool {
	return strings.Contains(w.slowest.URL, "_rsc=") && c.isDeveloped(w.slowest.Tab())
}

// isDeveloped says whether a development server has updated the page of a tab.
func (c degradation) isDeveloped(tab int) bool {
	for _, u := range c.View.Updates.From(0) {
		if u.How == "hot_update" && u.Tab() == tab {
			return true
		}
	}
	return false
}

// time gathers the evidence: earlier requests as far as the buffer has them, and the window's.
func (c degradation) time(found map[capture.EndpointKey]*endpointWindow, evidence map[*endpointWindow]*timing) {
	window := c.From.Pos[capture.Network]
	of := func(e *event.Network) (*endpointWindow, *timing) {
		if !capture.Measures(e) || !c.Options.InScope(e.Subject) {
			return nil, nil
		}
		w := found[capture.KeyOf(e)]
		return w, evidence[w]
	}
	for pos, e := range c.View.Network().InRing().From(0) {
		if pos >= window {
			break
		}
		if _, t := of(e); t != nil {
			t.before = append(t.before, e.Duration)
		}
	}
	for _, e := range c.View.Network().From(window) {
		if w, t := of(e); t != nil {
			began := float64(e.Began())
			if len(t.now) == 0 {
				t.from, t.to, t.updated = began, began, c.updatedBefore(e)
			}
			t.from, t.to, t.now = min(t.from, began), max(t.to, began+e.Duration), append(t.now, e.Duration)
			if e.Duration > degradedMs && len(t.slow) < maxSlow {
				t.slow = append(t.slow, &slowRequest{from: began, to: began + e.Duration, origin: w.key.Origin})
			}
		}
	}
	for _, e := range c.View.Network().From(window) {
		for w, t := range evidence {
			t.compare(w, e)
		}
	}
	for _, e := range c.View.Network().From(window) {
		w, own := of(e)
		if w == nil || w.base.Measured == 0 {
			continue
		}
		for _, t := range evidence {
			if began := float64(e.Began()); t != own && began <= t.to && began+e.Duration >= t.from {
				t.others = append(t.others, (e.Duration+jitterMs)/(w.base.MeanMs()+jitterMs))
			}
		}
	}
}

// updatedBefore reports whether a request was made soon after a hot update of its page, or while that was being loaded.
func (c degradation) updatedBefore(e *event.Network) bool {
	for _, u := range c.View.Updates.From(0) {
		if since := e.Began() - u.At; u.How == "hot_update" && u.Subject == e.Subject && since <= updateMs && since >= -updateMs {
			return true
		}
	}
	return false
}

// jitterMs is added to durations that are compared: a few milliseconds more say nothing of a file that took one.
const jitterMs = 20

// compare takes a request that may have been made at the same time as slow ones of an endpoint.
func (t *timing) compare(w *endpointWindow, e *event.Network) {
	k := capture.KeyOf(e)
	if k == w.key || e.Stream {
		return
	}
	began := float64(e.Began())
	for _, r := range t.slow {
		if k.Origin == r.origin && began <= r.to && began+e.Duration >= r.from && len(r.others) < maxCrowd {
			r.others = append(r.others, e.Duration)
		}
	}
}

func (t *timing) isSlower(w *endpointWindow) bool {
	if n := len(t.slow); n > 0 && n < maxSlow && !slices.ContainsFunc(t.slow, func(r *slowRequest) bool { return !r.waited() }) {
		return false
	}
	if mean := w.meanMs(); len(t.others) > 0 && mean <= degradedFactor*w.base.MeanMs()*max(1, share(t.others, 1, 2)) {
		return false
	}
	usual := w.base.MeanMs()
	if len(t.before) >= degradedSample {
		usual = share(t.before, 9, 10)
	}
	if len(t.now) == 1 {
		usual += degradedMs
		if t.updated {
			usual += compileMs
		}
	}
	return share(t.now, 1, 2) > usual
}

// share returns the value that a share of the values does not exceed.
func share(values []float64, part, of int) float64 {
	slices.Sort(values)
	return values[(part*len(values)+of-1)/of-1]
}
