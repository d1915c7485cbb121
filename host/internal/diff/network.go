package diff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// endpointWindow is what happened to one endpoint in the window.
type endpointWindow struct {
	key   capture.EndpointKey
	tab   int
	known bool             // before the window
	base  capture.Endpoint // as it was before the window
	now   capture.Endpoint // after the newest request

	failures  int            // requests of a failure that is news
	repeated  int            // requests of another one that the reader was already given
	keys      []alike.Entry  // of the failures
	stillBad  int            // requests that failed as the endpoint did before the window
	still     *event.Network // the newest of them
	failure   *event.Network // the newest request of a failure that is news
	first     *event.Network // the first one that failed as it did
	before    int            // status before it began to fail, 0 when there was none
	counted   int
	answered  int
	answerMs  float64
	slowest   *event.Network // of those answered
	newest    *event.Network
	static    bool // all its requests were for files of a page
	run       run
	last      uint64
	firstPath string
	manyPaths bool
	ref       *Ref // to all its requests of the window
	failed    *Ref // to those that failed
}

func (c *computation) network() *NetworkDiff {
	d := &NetworkDiff{}
	c.duplicates.findOverlays(c)
	found := map[capture.EndpointKey]*endpointWindow{}
	var order []*endpointWindow
	for pos, e := range c.v.Network().From(c.from.Pos[capture.Network]) {
		if !c.o.covers(c.section, pos, e.Subject, e.Started) {
			continue
		}
		d.TotalNewRequests++
		counts := capture.Counts(e)
		if counts && c.hides(e) || !counts && (!repeats(e) || c.keptOut(e)) {
			continue
		}
		key := capture.KeyOf(e)
		w := found[key]
		if w == nil {
			w = &endpointWindow{key: key, static: true}
			w.base, w.known = c.from.Endpoints.Get(key)
			if w.base.Failing && c.hidesFailure(key, w.base) {
				w.base.Failing = false // so that failing in another way is news
			}
			w.now = w.base
			found[key] = w
			order = append(order, w)
		}
		w.static = w.static && isStatic(e)
		w.run.add(&requestTempo, startOf(e))
		if counts {
			w.take(c, pos, e)
			w.refer(c, pos, e)
		}
	}
	c.networkLists(d, found, order)
	d.Late = late(c, d)
	return d
}

// mayStorm says whether an endpoint may have a storm.
func (c stormFinder) mayStorm(w *endpointWindow) bool {
	return w != nil && !w.static && (w.run.long || w.run.near && c.short())
}

func (w *endpointWindow) take(c *computation, pos uint64, e *event.Network) {
	w.last, w.tab, w.newest = pos, e.Tab(), e
	w.counted++
	_, path := capture.SplitURL(e.URL)
	if w.firstPath == "" {
		w.firstPath = path
	} else if w.firstPath != path {
		w.manyPaths = true
	}
	switch {
	case isStatic(e) && c.duplicates.showsModule(e):
	case e.Failed():
		w.fail(c, e)
	case capture.Measures(e):
		w.answered++
		w.answerMs += e.Duration
		if w.slowest == nil || e.Duration > w.slowest.Duration {
			w.slowest = e
		}
	}
	w.now = w.now.After(e)
}

// fail takes a request that failed. That is news unless the endpoint failed in the same way before the window. To a reader
// that folds it is the same failure only if it was given it: the same address, status and detail.
func (w *endpointWindow) fail(c *computation, e *event.Network) {
	c.duplicates.lists(e)
	same := w.base.Failing && w.base.Status == e.Status && w.base.Error == e.Error
	var entry alike.Entry
	if c.o.Given != nil {
		entry = alike.Failure(e)
		if w.repeats(c, e, entry, same) {
			return
		}
	} else if same {
		w.stillBad++
		w.still = e
		return
	}
	if !w.now.Failing || w.now.Status != e.Status {
		w.before = w.now.Status
	}
	w.failures++
	if w.failure == nil || !w.failure.Refused || !w.failure.EngineIO() || e.Refused { // polls of a refused connection fail afterwards
		w.failure = e
	}
	if w.first == nil || !failsAlike(w.first, w.failure) {
		w.first = w.failure
	}
	if c.o.Given != nil {
		if w.keys = addEntry(w.keys, entry); len(w.keys) == maxKeys {
			w.keys = append(w.keys, others(entry))
		}
	}
}

// failsAlike reports whether two requests to an endpoint failed in the same way, as far as is known: a detail may not have arrived.
func failsAlike(a, b *event.Network) bool {
	return a.Status == b.Status && a.Error == b.Error && (a.Detail == "" || b.Detail == "" || alike.Fingerprint(a.Detail) == alike.Fingerprint(b.Detail))
}

// repeats counts a failure that the reader was already given, and returns false for any other. same says that the endpoint
// failed in this way before the window.
func (w *endpointWindow) repeats(c *computation, e *event.Network, entry alike.Entry, same bool) bool {
	all := same && c.o.given(others(entry))
	if all {
		entry = others(entry)
	} else if !c.o.given(entry) && !(same && givenUndetailed(c, e)) {
		return false
	}
	k := repeatKey{section: c.section, as: entry.As, tab: c.tab(e.Tab())}
	r := c.repeated.found[k]
	if r == nil {
		if all {
			r = c.repeated.of(k, Error, failureLine(e, shownURL(w.key.Page, w.key.Origin, w.key.Path), ""))
		} else {
			origin, path := capture.SplitURL(e.URL)
			r = c.repeated.of(k, Error, failureLine(e, shownURL(e.Origin(), origin, path), e.Detail))
			r.longer = failureLine(e, shownPath(e), e.Detail)
		}
		r.request = e
	}
	r.Count++
	r.entries = addEntry(r.entries, entry)
	if same {
		w.stillBad++
	} else {
		w.repeated++
	}
	return true
}

// givenUndetailed reports whether the reader was given a failure without a detail that may be the same: it had not arrived.
func givenUndetailed(c *computation, e *event.Network) bool {
	bare := *e
	bare.Detail = ""
	return c.o.given(alike.Failure(&bare))
}

// others stands for the failures of an endpoint that are too many to be known one by one.
func others(e alike.Entry) alike.Entry { return alike.Entry{Of: e.Of, As: e.Of} }

// failureLine is a failed request in a line: "POST /graphql AddToCart 500: no such table".
func failureLine(e *event.Network, url, detail string) string {
	parts := slices.DeleteFunc([]string{e.Method, url, e.Operation, howFailed(e)}, func(s string) bool { return s == "" })
	text := strings.Join(parts, " ")
	if detail != "" {
		text += ": " + detail
	}
	return text
}

// howFailed is the status of a failed request, or why it has none.
func howFailed(e *event.Network) string {
	if e.Status >= 400 {
		return strconv.Itoa(e.Status)
	}
	return reason(e)
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

func (c *computation) networkLists(d *NetworkDiff, found map[capture.EndpointKey]*endpointWindow, order []*endpointWindow) {
	var failures, known []*tally[Failure]
	var degraded []*tally[Degraded]
	var recovered []*tally[Changed]
	var fresh []*tally[Endpoint]
	var stormy map[capture.EndpointKey]bool
	if find := (stormFinder{c}); slices.ContainsFunc(order, find.mayStorm) {
		stormy = find.requestStorms(func(k capture.EndpointKey) bool { return find.mayStorm(found[k]) })
	}
	slower := degradation{c}.find(found, order)
	for _, w := range order {
		if w.counted == 0 {
			continue
		}
		url, tab := w.shownURL(), c.tab(w.tab)
		if w.failures > 0 {
			f := w.shownFailure(w.failure, w.failures, url, tab)
			f.PreviousStatus = w.before
			failures = append(failures, &tally[Failure]{entry: f, count: w.failures, last: w.last, shown: w.failure, began: w.first, keys: w.keys})
		} else if w.still != nil {
			known = append(known, &tally[Failure]{entry: w.shownFailure(w.still, w.stillBad, url, tab), count: w.stillBad, last: w.last, shown: w.still})
		}
		if w.stillBad > 0 && w.now.Failing && w.failures+w.repeated == 0 {
			d.StillFailing++
		}
		if w.known && w.base.Failing && !w.now.Failing {
			recovered = append(recovered, &tally[Changed]{entry: Changed{Method: w.key.Method, URL: url, Status: w.now.Status, PreviousStatus: w.base.Status, Tab: tab, Ref: w.ref}, count: 1, last: w.last, shown: w.newest, keys: w.identity()})
			c.repeated.forget(alike.Endpoint(w.key))
		}
		if !w.known && w.failures+w.repeated == 0 && !w.static && !stormy[w.key] {
			fresh = append(fresh, &tally[Endpoint]{entry: Endpoint{Method: w.key.Method, URL: url, Status: w.now.Status, Tab: tab, Ref: w.ref}, count: 1, last: w.last, shown: w.newest})
		}
		if slower[w] && !stormy[w.key] {
			degraded = append(degraded, &tally[Degraded]{entry: Degraded{Method: w.key.Method, URL: url, AvgMs: int(w.meanMs() + 0.5), PreviousAvgMs: int(w.base.MeanMs() + 0.5), Tab: tab, Ref: w.ref}, count: w.answered, last: w.last, shown: w.slowest})
		}
	}
	c.count(len(failures), "network failure", Error)
	countKnown(c, known)
	c.count(len(degraded), "degraded endpoint", Warning)

	r := newRoom()
	failures, known = byStart(take(r, byFrequency(failures))), byStart(take(r, byFrequency(known)))
	degraded = byStart(take(r, byFrequency(degraded)))
	recovered, fresh = byStart(take(r, byFrequency(recovered))), byStart(take(r, byFrequency(fresh)))
	d.Omitted = r.omitted

	places := locate(&c.o, shownBy(failures), shownBy(known), shownBy(degraded), shownBy(recovered), shownBy(fresh))
	request := func(e event.Event) Request {
		n, initiator, generated := e.(*event.Network), places.source(e), places.of[e].Generated
		return Request{
			Operation: n.Operation, StartedAt: Time{time.UnixMilli(startOf(n)).UTC()}, DurationMs: int(n.Duration + 0.5),
			Initiator: initiator, Generated: generated,
		}
	}
	for _, t := range failures {
		t.entry.Request = request(t.shown)
	}
	for _, t := range known {
		t.entry.Request = request(t.shown)
	}
	introduce(&c.o, failures, func(f *Failure) **Introduced { return &f.IntroducedBy })
	for _, t := range degraded {
		t.entry.Request = request(t.shown)
	}
	for _, t := range recovered {
		t.entry.Request = request(t.shown)
	}
	for _, t := range fresh {
		t.entry.Request = request(t.shown)
	}
	d.Failures, d.KnownFailures = entries(failures), entries(known)
	d.Degraded, d.Recovered, d.NewEndpoints = entries(degraded), entries(recovered), entries(fresh)
	d.shown, d.over = keysOf(failures), keysOf(recovered)
}

// shownFailure is a failure of the endpoint as one of its requests shows it.
func (w *endpointWindow) shownFailure(e *event.Network, count int, url string, tab int) Failure {
	f := Failure{
		Method: w.key.Method, URL: url, Status: e.Status, Error: Shorten(reason(e)), Count: several(count), Detail: e.Detail, Tab: tab, Ref: w.failed,
	}
	if f.Status >= 400 {
		f.Error = "" // the status says it
	}
	if !w.now.Failing {
		f.NowStatus = w.now.Status
	}
	return f
}

// countKnown counts endpoints that failed as they did before the window. That is worth a warning.
func countKnown(c *computation, list []*tally[Failure]) {
	for _, t := range list {
		if t.entry.NowStatus == 0 {
			c.stillBad++
		} else {
			c.wasBad++
		}
		c.warnings++
		c.raise(Warning)
	}
}

// reason is why a request failed, where no status says it.
func reason(e *event.Network) string {
	switch {
	case e.Error != "" || !e.Refused:
		return e.Error
	case e.EngineIO():
		return "connection refused by Socket.IO"
	}
	return "GraphQL error"
}

// byStart orders entries by when the requests began that they are shown by.
func byStart[T any](list []*tally[T]) []*tally[T] {
	slices.SortStableFunc(list, func(a, b *tally[T]) int {
		return cmp.Compare(startOf(a.shown.(*event.Network)), startOf(b.shown.(*event.Network)))
	})
	return list
}

// shownBy returns the requests that entries are shown by.
func shownBy[T any](list []*tally[T]) []event.Event {
	shown := make([]event.Event, len(list))
	for i, t := range list {
		shown[i] = t.shown
	}
	return shown
}

// identity is what the failures of the endpoint are about.
func (w *endpointWindow) identity() []alike.Entry {
	return []alike.Entry{{Of: alike.Endpoint(w.key)}}
}

func entries[T any](list []*tally[T]) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, t := range list {
		out[i] = t.entry
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
	n := dropAll(&d.NewEndpoints) + dropAll(&d.Recovered) + dropAll(&d.Late)
	d.over = nil
	if errorsOnly {
		n += dropAll(&d.Degraded) + dropAll(&d.KnownFailures)
	}
	return n
}

func (d *NetworkDiff) given() (shown []alike.Entry, over []uint64) {
	for _, e := range d.over {
		over = append(over, e.Of)
	}
	return d.shown, over
}

func (d *NetworkDiff) quotes() bool {
	return len(d.Failures)+len(d.KnownFailures)+len(d.Late)+len(d.NewEndpoints)+len(d.Degraded)+len(d.Recovered) > 0
}

func (d *NetworkDiff) omitted() int { return d.Omitted }

func (d *NetworkDiff) empty() bool { return d.TotalNewRequests == 0 }

// maxLate bounds how many late requests are listed, the newest.
const maxLate = 10

// late lists the requests that an action of the reader made, and that succeeded after its answer. It returns nil for a
// reader that does not act.
func late(c *computation, d *NetworkDiff) (list []Endpoint) {
	if c.o.Late == nil {
		return nil
	}
	var found []event.Event
	for pos, e := range c.v.Network().From(c.from.Pos[capture.Network]) {
		if !c.o.InScope(e.Subject) || !e.Answered() || request(e, &Options{}).Text == "" || c.keptOut(e) || inStorm(c.storms, c.tab(e.Tab()), e) || !c.o.Late(pos, e) || c.o.given(alike.Request(e)) {
			continue
		}
		if query := queryOf(e.URL); withoutBusters(query) != strings.TrimPrefix(query, "?") {
			found = slices.DeleteFunc(found, func(ev event.Event) bool { // the same but for a time stamp
				other := ev.(*event.Network)
				return requestName(other) == requestName(e) && withoutBusters(queryOf(other.URL)) == withoutBusters(query) && other.Tab() == e.Tab()
			})
		}
		if found = append(found, e); len(found) > maxLate {
			found = found[1:]
		}
	}
	places := locate(&c.o, found)
	for _, ev := range found {
		e := ev.(*event.Network)
		d.shown = append(d.shown, alike.Request(e))
		list = append(list, Endpoint{Method: e.Method, URL: shownPath(e), Status: e.Status, Tab: c.tab(e.Tab()), Request: Request{
			Operation: e.Operation, StartedAt: Time{time.UnixMilli(startOf(e)).UTC()}, DurationMs: int(e.Duration + 0.5),
			Initiator: places.source(e), Generated: places.of[e].Generated,
		}})
	}
	return list
}

// inStorm says whether a request of a tab is one of a storm.
func inStorm(storms []*foundStorm, tab int, e *event.Network) bool {
	return slices.ContainsFunc(storms, func(s *foundStorm) bool { return s.Tab == tab && s.isOf(e) })
}

// shownPath is the address of a request as it is shown, with its query.
func shownPath(e *event.Network) string {
	origin, path := capture.SplitURL(e.URL)
	return shownURL(e.Origin(), origin, path) + queryOf(e.URL)
}
