package capture

import "tidemark.dev/tidemark/host/internal/event"

// A page that polls is never quiet. Requests are polling when their endpoint was asked at a steady rhythm, for
// steadyFor and over steadyGaps periods at least, and when they come in that rhythm: those of a page that
// has just been loaded do not. One that begins within loopGap of the end of the one before is part of a loop. All times
// are in milliseconds. A rhythm of minPeriod or more for each request is polling: what is faster is a loop (packages diff and rhythm).
const (
	steadyFor  = 3_000
	loopGap    = 100
	steadyGaps = 4
	// maxInterleaved is how many polls of one endpoint are distinguished.
	maxInterleaved = 3
	minPeriod      = 125
	maxPeriod      = 10_000
	longAnswer     = 2_000
	// pollEnds is how long an endpoint may not be asked until its rhythm is forgotten.
	pollEnds = 3 * maxPeriod
	maxPolls = 1_000
)

// polls knows which endpoints are asked at a steady rhythm.
type polls map[pollKey]*poll

type pollKey struct {
	tab                             int
	method, origin, path, operation string
}

// poll is the rhythm of one endpoint.
type poll struct {
	starts        []int64 // of the newest requests, the newest last
	period, since int64   // 0: no rhythm
	open          int     // requests that have not ended
	ended         int64   // when one ended last
	long          bool    // it is a long poll
}

// takes records a request. It returns the rhythm of its endpoint, nil if it has none, and whether the request is polling.
func (p *polls) takes(e *event.Request) (*poll, bool) {
	switch e.Resource {
	case "fetch", "xhr", "preflight", "eventsource", "ping":
	default:
		return nil, false // every update reloads the resources of a page
	}
	if *p == nil || len(*p) >= maxPolls {
		*p = polls{}
	}
	origin, path := SplitURL(e.URL)
	key := pollKey{e.Tab(), e.Method, origin, TemplatePath(path), e.Operation}
	r := (*p)[key]
	if r == nil {
		r = &poll{}
		(*p)[key] = r
	}
	return r, r.takes(e.At)
}

// ends records the end of a request that [polls.takes] has recorded.
func (r *poll) ends(at int64) { r.open, r.ended = max(0, r.open-1), at }

func (r *poll) takes(at int64) bool {
	if n := len(r.starts); n > 0 {
		last := r.starts[n-1]
		r.long = r.long || r.open == 0 && r.ended-last >= longAnswer && at-r.ended <= loopGap
		if at < last || at-last > pollEnds {
			*r = poll{long: r.long} // another clock, or another time
		}
	}
	polling := r.long || r.expects(at) && (r.open > 0 || at-r.ended > loopGap)
	r.open++
	if len(r.starts) > steadyGaps*maxInterleaved {
		r.starts = append(r.starts[:0], r.starts[1:]...)
	}
	r.starts = append(r.starts, at)
	if period, since := r.rhythm(); period > 0 && (r.period == 0 || !near(period, r.period)) {
		r.period, r.since = period, since
	}
	return polling
}

// expects reports whether a request at that time is one period after another.
func (r *poll) expects(at int64) bool {
	if r.period == 0 || at-r.since < steadyFor {
		return false
	}
	for _, s := range r.starts {
		if near(at-s, r.period) {
			return true
		}
	}
	return false
}

// rhythm is the period of the newest requests, and since when they have it; 0 when they have none.
func (r *poll) rhythm() (period, since int64) {
	newest := len(r.starts) - 1
	for k := 1; k <= maxInterleaved && newest >= steadyGaps*k; k++ {
		period = r.starts[newest] - r.starts[newest-k]
		steady := period >= minPeriod*int64(k) && period <= maxPeriod
		for i := newest - k; steady && i > newest-steadyGaps*k; i -= k {
			steady = near(r.starts[i]-r.starts[i-k], period)
		}
		if steady {
			return period, r.starts[newest-steadyGaps*k]
		}
	}
	return 0, 0
}

// near reports whether two spans are equal except for the jitter of timers and answers.
func near(a, b int64) bool { return max(a-b, b-a) <= max(75, b*3/10) }
