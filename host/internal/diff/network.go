package diff

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/storms"
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
	apart     []failedQuery // the failures that are news, by their query; more than maxApart are told as one
	static    bool          // all its requests were for files of a page
	run       storms.Run
	last      uint64
	firstPath string
	manyPaths bool
	oneQuery  query
	queries   bool        // there were several
	ref       *report.Ref // to all its requests of the window
	failed    *report.Ref // to those that failed
}

// failedQuery is what failed at an endpoint with one query.
type failedQuery struct {
	query
	count  int
	newest *event.Network
	first  *event.Network
	before int // the status of the endpoint before it began to fail, 0 when there was none
	now    int // the status of the newest request with the query, 0 when that failed
	last   uint64
	keys   []alike.Entry
	ref    *report.Ref
}

// maxApart bounds how many failures of an endpoint are told apart by their query.
const maxApart = 3

func (c *computation) network() *report.NetworkDiff {
	d := &report.NetworkDiff{}
	c.duplicates.FindOverlays()
	found := map[capture.EndpointKey]*endpointWindow{}
	var order []*endpointWindow
	for pos, e := range c.View.Network().From(c.From.Pos[capture.Network]) {
		if !c.Options.Covers(c.section, pos, e.Subject, e.Started) {
			continue
		}
		d.TotalNewRequests++
		counts := capture.Counts(e)
		if counts && c.Hides(e) || !counts && (!storms.MayRepeat(e) || c.KeepsOut(e)) {
			continue
		}
		key := capture.KeyOf(e)
		w := found[key]
		if w == nil {
			w = &endpointWindow{key: key, static: true}
			w.base, w.known = c.From.Endpoints.Get(key)
			if w.base.Failing && c.HidesFailure(key, w.base) {
				w.base.Failing = false // so that failing in another way is news
			}
			w.now = w.base
			found[key] = w
			order = append(order, w)
		}
		w.static = w.static && e.IsStatic()
		w.run.Request(e)
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
func (c *computation) mayStorm(w *endpointWindow) bool {
	return w != nil && !w.static && c.storms.May(&w.run)
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
	w.asks(e)
	switch {
	case e.IsStatic() && c.duplicates.ShowsModule(e):
	case e.Failed():
		w.fail(c, pos, e)
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
func (w *endpointWindow) fail(c *computation, pos uint64, e *event.Network) {
	whole := c.details.add(c, e)
	same := w.base.Failing && w.base.Status == e.Status && w.base.Error == e.Error
	var entry alike.Entry
	if c.Options.Given != nil {
		entry = alike.Failure(whole)
	}
	given := c.Options.Given != nil && w.repeats(c, whole, entry, same)
	c.duplicates.Lists(e, &w.key, given)
	e = whole
	if given {
		return
	} else if c.Options.Given == nil && same {
		w.stillBad++
		if w.still == nil || !w.still.SaysMore(e) {
			w.still = e
		}
		return
	}
	if !w.now.Failing || w.now.Status != e.Status {
		w.before = w.now.Status
	}
	w.failures++
	if w.failure == nil || !w.failure.SaysMore(e) {
		w.failure = e
	}
	if w.first == nil || !alike.FailAlike(w.first, w.failure) {
		w.first = w.failure
	}
	if c.Options.Given != nil {
		if w.keys = addEntry(w.keys, entry); len(w.keys) == maxKeys {
			w.keys = append(w.keys, others(entry))
		}
	}
	w.failApart(c, pos, e, entry)
}

// asks notes the query of a request.
func (w *endpointWindow) asks(e *event.Network) {
	if w.queries && len(w.apart) == 0 {
		return
	}
	q := queryAsked(e)
	if w.counted == 1 {
		w.oneQuery = q
	} else if !w.queries {
		w.queries = !w.oneQuery.is(&q)
	}
	if e.Failed() {
		return
	}
	for i := range w.apart {
		if f := &w.apart[i]; f.is(&q) {
			f.now = e.Status
		}
	}
}

// failApart takes a request whose failure is news, as one with its query.
func (w *endpointWindow) failApart(c *computation, pos uint64, e *event.Network, entry alike.Entry) {
	if len(w.apart) > maxApart {
		return
	}
	q := queryAsked(e)
	i := 0
	for i < len(w.apart) && !w.apart[i].is(&q) {
		i++
	}
	if i == len(w.apart) {
		f := failedQuery{query: q, ref: c.Ref(pos, e)}
		if w.before < 400 {
			f.before = w.before
		}
		if f.ref != nil {
			f.ref.Endpoint = w.key
		}
		w.apart = append(w.apart, f)
	} else {
		w.apart[i].ref.Add(pos)
	}
	f := &w.apart[i]
	f.count++
	f.last, f.now = pos, 0
	if f.newest == nil || !f.newest.SaysMore(e) {
		f.newest = e
	}
	if f.first == nil || !alike.FailAlike(f.first, f.newest) {
		f.first = f.newest
	}
	if f.ref != nil {
		f.ref.Event = e
	}
	if c.Options.Given != nil {
		f.keys = addEntry(f.keys, entry)
	}
}

// failedBy says why an endpoint failed whose status does not say it.
func failedBy(e *capture.Endpoint, k capture.EndpointKey) string {
	switch {
	case e.Status >= 400 || e.Error != "":
		return e.Error
	case k.Operation != "":
		return (&event.Network{Status: e.Status, Refused: true}).Reason()
	}
	return "error in the answer"
}

// listFailures adds the failures of the endpoint that are news to a list: one for each query where that distinguishes a failed
// request from another one, else one.
func (w *endpointWindow) listFailures(list []*tally[report.Failure], url string, tab int) []*tally[report.Failure] {
	if !w.queries || w.manyPaths || len(w.apart) > maxApart {
		f := w.shownFailure(w.failure, w.failures, url, tab)
		f.PreviousStatus = w.before
		return append(list, &tally[report.Failure]{entry: f, count: w.failures, last: w.last, shown: w.failure, began: w.first, keys: w.keys})
	}
	for _, a := range w.apart {
		f := w.shownFailure(a.newest, a.count, url, tab)
		if query := withoutBusters(queryOf(a.newest.URL)); query != "" {
			f.URL += "?" + query
		}
		f.PreviousStatus, f.NowStatus, f.Ref = a.before, a.now, a.ref
		list = append(list, &tally[report.Failure]{entry: f, count: a.count, last: a.last, shown: a.newest, began: a.first, keys: a.keys})
	}
	return list
}

// failedAs is how a request failed, and which.
type failedAs struct {
	endpoint       capture.EndpointKey
	tab, status    int
	address, error string
}

func failureOf(e *event.Network) failedAs {
	return failedAs{capture.KeyOf(e), e.Tab(), e.Status, alike.Address(e), e.Error}
}

// details are those of the failed requests of a window. They are read when they are needed.
type details map[failedAs]string

// add returns a failed request with the detail of another one that failed in the same way, where it has none of its own: an
// answer is not read when its page is left.
func (d *details) add(c *computation, e *event.Network) *event.Network {
	if e.Detail != "" {
		return e
	}
	if *d == nil {
		*d = details{}
		for _, n := range c.View.Network().From(c.From.Pos[capture.Network]) {
			if n.Detail != "" && n.Failed() {
				(*d)[failureOf(n)] = strings.Clone(n.Detail)
			}
		}
	}
	if detail := (*d)[failureOf(e)]; detail != "" {
		n := *e
		n.Detail = detail
		return &n
	}
	return e
}

// repeats counts a failure that the reader was already given, and returns false for any other. same says that the endpoint
// failed in this way before the window.
func (w *endpointWindow) repeats(c *computation, e *event.Network, entry alike.Entry, same bool) bool {
	all := same && c.Options.WasGiven(others(entry))
	if all {
		entry = others(entry)
	} else if burst := alike.Failures(e); !c.Options.WasGiven(entry) && c.Options.WasGiven(burst) {
		entry = burst
	} else if !c.Options.WasGiven(entry) && !(same && givenUndetailed(c, e)) {
		return false
	}
	k := repeatKey{section: c.section, as: entry.As, tab: c.Tab(e.Tab())}
	r := c.repeated.found[k]
	if r == nil {
		if all {
			r = c.repeated.of(k, report.Error, failureLine(e, report.Address(w.key.Page, w.key.Origin, w.key.Path), ""))
		} else {
			origin, path := capture.SplitURL(e.URL)
			r = c.repeated.of(k, report.Error, failureLine(e, report.Address(e.Origin(), origin, path), e.Detail))
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
	return c.Options.WasGiven(alike.Failure(&bare))
}

// others stands for the failures of an endpoint that are too many to be known one by one.
func others(e alike.Entry) alike.Entry { return alike.Entry{Of: e.Of, As: e.Of} }

// failureLine is a failed request in a line: "POST /graphql AddToCart 500: no such table".
func failureLine(e *event.Network, url, detail string) string {
	parts := slices.DeleteFunc([]string{event.Method(e.Method), url, e.Operation, howFailed(e)}, func(s string) bool { return s == "" })
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
	return e.Reason()
}

// refer has a request belong to what is told of the endpoint.
func (w *endpointWindow) refer(c *computation, pos uint64, e *event.Network) {
	point := func(r **report.Ref) {
		if *r == nil {
			if *r = c.Ref(pos, e); *r != nil {
				(*r).Endpoint = w.key
			}
			return
		}
		(*r).Add(pos)
	}
	point(&w.ref)
	if e.Failed() {
		point(&w.failed)
		if w.failed != nil {
			w.failed.Event = e
		}
	}
}

func (c *computation) networkLists(d *report.NetworkDiff, found map[capture.EndpointKey]*endpointWindow, order []*endpointWindow) {
	var failures, known []*tally[report.Failure]
	var degraded []*tally[report.Degraded]
	var recovered []*tally[report.Changed]
	var fresh []*tally[report.Endpoint]
	often := map[event.Event]bool{} // by the request that shows an endpoint: it was requested more than a few times
	var stormy map[capture.EndpointKey]bool
	if slices.ContainsFunc(order, c.mayStorm) {
		stormy = c.storms.Requests(func(k capture.EndpointKey) bool { return c.mayStorm(found[k]) })
	}
	slower := degradation{c}.find(found, order)
	for _, w := range order {
		if w.counted == 0 {
			continue
		}
		url, tab := w.shownURL(), c.Tab(w.tab)
		if w.failures > 0 {
			failures = w.listFailures(failures, url, tab)
		} else if w.still != nil {
			known = append(known, &tally[report.Failure]{entry: w.shownFailure(w.still, w.stillBad, url, tab), count: w.stillBad, last: w.last, shown: w.still})
		}
		if w.stillBad > 0 && w.now.Failing && w.failures+w.repeated == 0 {
			d.StillFailing++
		}
		if w.known && w.base.Failing && !w.now.Failing {
			recovered = append(recovered, &tally[report.Changed]{entry: report.Changed{Method: w.key.Method, URL: url, Status: w.now.Status, PreviousStatus: w.base.Status, PreviousError: failedBy(&w.base, w.key), Tab: tab, Ref: w.ref}, count: 1, last: w.last, shown: w.newest, keys: w.identity()})
			c.repeated.forget(alike.Endpoint(w.key))
			c.repeated.forget(alike.Family(w.key))
		}
		if !w.known && w.failures+w.repeated == 0 && !w.static && !stormy[w.key] {
			often[w.newest] = w.counted > alike.Few
			fresh = append(fresh, &tally[report.Endpoint]{entry: report.Endpoint{Method: w.key.Method, URL: url, Status: w.now.Status, Tab: tab, Ref: w.ref}, count: 1, last: w.last, shown: w.newest})
		}
		if slower[w] && !stormy[w.key] {
			degraded = append(degraded, &tally[report.Degraded]{entry: report.Degraded{Method: w.key.Method, URL: url, AvgMs: int(w.meanMs() + 0.5), PreviousAvgMs: int(w.base.MeanMs() + 0.5), Tab: tab, Ref: w.ref}, count: w.answered, last: w.last, shown: w.slowest})
		}
	}
	failures, known = foldEndpoints(failures), foldEndpoints(known)
	recovered, fresh = foldEndpoints(recovered), foldEndpoints(fresh)
	c.count(len(failures), "network failure", report.Error)
	countKnown(c, known)
	c.count(len(degraded), "degraded endpoint", report.Warning)

	r := newRoom()
	failures, known = byStart(take(r, byFrequency(failures))), byStart(take(r, byFrequency(known)))
	degraded = byStart(take(r, byFrequency(degraded)))
	recovered, fresh = byStart(take(r, byFrequency(recovered))), byStart(take(r, byFrequency(fresh)))
	d.Omitted = r.omitted

	places := c.Options.Locate(shownBy(failures), shownBy(known), shownBy(degraded), shownBy(recovered), shownBy(fresh))
	for _, t := range fresh {
		if t.entry.Count > alike.Few || often[t.shown] {
			places.Call(&c.Options, t.shown)
		}
	}
	request := func(e event.Event) report.Request {
		n := e.(*event.Network)
		initiator, generated := places.Source(e)
		return report.Request{
			Operation: n.Operation, StartedAt: report.Time{Time: time.UnixMilli(n.Began()).UTC()}, DurationMs: int(n.Duration + 0.5),
			Initiator: initiator, Generated: generated, CalledAt: places.CalledAt(e),
		}
	}
	for _, t := range slices.Concat(failures, known) {
		t.entry.Request = request(t.shown)
	}
	introduce(&c.Options, failures, func(f *report.Failure) **report.Introduced { return &f.IntroducedBy })
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
	d.Shown, d.Over = keysOf(failures), keysOf(recovered)
	for i, t := range failures {
		c.mentions.add(t.shown, &d.Failures[i].Also, &d.Shown)
	}
	for i, t := range known {
		c.mentions.add(t.shown, &d.KnownFailures[i].Also, &d.Shown)
	}
}

// shownFailure is a failure of the endpoint as one of its requests shows it.
func (w *endpointWindow) shownFailure(e *event.Network, count int, url string, tab int) report.Failure {
	f := report.Failure{
		Method: w.key.Method, URL: url, Status: e.Status, Error: report.Shorten(e.Reason()), Count: several(count), Detail: e.Detail, Tab: tab, Ref: w.failed,
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
func countKnown(c *computation, list []*tally[report.Failure]) {
	for _, t := range list {
		if t.entry.NowStatus == 0 {
			c.stillBad++
		} else {
			c.wasBad++
		}
		c.warnings++
		c.raise(report.Warning)
	}
}

// byStart orders entries by when the requests began that they are shown by.
func byStart[T any](list []*tally[T]) []*tally[T] {
	slices.SortStableFunc(list, func(a, b *tally[T]) int {
		return a.shown.(*event.Network).Sent().Compare(b.shown.(*event.Network).Sent())
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
	return []alike.Entry{{Of: alike.Endpoint(w.key)}, {Of: alike.Family(w.key)}}
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
	return report.Address(w.key.Page, w.key.Origin, path)
}

// shownPath is the address of a request as it is shown, with its query.
func shownPath(e *event.Network) string {
	origin, path := capture.SplitURL(e.URL)
	return report.Address(e.Origin(), origin, path) + queryOf(e.URL)
}
