package diff

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/ring"
)

// MaxStorms bounds the storms of a report.
const MaxStorms = 10

// A storm may have begun before the window of a report: by lookBack, in milliseconds, and as many entries, at most.
const (
	lookBack        = 10_000
	lookBackEntries = 2048
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

// stormFinder finds the storms of a computation, and adds them to it.
type stormFinder struct{ *computation }

// foundStorm is a storm before its initiator has a name.
type foundStorm struct {
	Storm
	place    Place
	from, to int64
	on       bool        // it goes on at the end of the view
	inTab    int         // the host's number of its tab
	entry    alike.Entry // of messages: what the reader will know them by
}

// storm adds a storm to those of the report. One of the same thing in the same tab is part of it.
func (c stormFinder) storm(what string, t *tempo, r *repetition) {
	p := &r.pace
	if p.total == 0 {
		return // all of it was before the window
	}
	s := foundStorm{from: max(p.from, r.first), to: p.to, on: p.goesOn(t, c.v.At.UnixMilli())}
	s.Storm = Storm{What: what, Count: p.total, Tab: c.tab(r.newest.Header().Tab()), Ref: r.ref}
	s.place, s.inTab = initiator(r.newest, &c.o), r.newest.Header().Tab()
	if e, ok := r.newest.(*event.Console); ok {
		s.entry = stormEntry(e)
	}
	for _, other := range c.storms {
		if other.What == what && other.Tab == s.Tab {
			other.from, other.to, other.on = min(other.from, s.from), max(other.to, s.to), other.on || s.on
			other.Count += s.Count
			return
		}
	}
	c.storms = append(c.storms, &s)
}

// listStorms puts the storms into a report, those with the most repetitions first.
func (c stormFinder) listStorms(r *Report) (omitted int) {
	c.count(len(c.storms), "storm", Warning)
	slices.SortStableFunc(c.storms, func(a, b *foundStorm) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.from, b.from), strings.Compare(a.What, b.What), a.Tab-b.Tab)
	})
	shown := c.storms[:min(len(c.storms), MaxStorms)]
	names := sourceNames{}
	for _, s := range shown {
		names.add(s.place.File)
	}
	for _, s := range shown {
		s.SpanMs, s.Initiator, s.Generated = s.to-s.from, names.source(s.place), s.place.Generated
		if !s.on {
			s.over = s.to
		}
		r.Storms = append(r.Storms, s.Storm)
		if s.entry.As != 0 {
			r.shown = append(r.shown, s.entry)
		}
	}
	return len(c.storms) - len(shown)
}

// Line returns a storm in a line: "GET /notifications ×503 in 95.0 s from Notifications.tsx:50".
func (s *Storm) Line() string {
	line := fmt.Sprintf("%s ×%d in %.1f s", s.What, s.Count, float64(s.SpanMs)/1000)
	if s.Initiator != "" {
		line += " from " + Marked(s.Initiator, s.Generated)
	}
	return line
}

// Storms returns the storms that went on since a moment, or still go on, each with what is known of it from before that.
// Those of a page that its tab no longer shows are left out.
func Storms(from capture.Moment, v *capture.View, o Options) []Storm {
	storms, _ := stormsSince(from, v, o)
	return storms
}

// loads is when tabs loaded their pages, in milliseconds since the Unix epoch.
func loads(v *capture.View) map[int]int64 {
	at := map[int]int64{}
	for _, t := range v.Tabs {
		at[t.ID] = t.Loaded.At
	}
	return at
}

// stormsSince is [Storms], with the messages that are part of one.
func stormsSince(from capture.Moment, v *capture.View, o Options) ([]Storm, map[sameMessage]bool) {
	loaded := loads(v)
	c := stormsAround(from, v, o, nil)
	c.storms = slices.DeleteFunc(c.storms, func(s *foundStorm) bool {
		return !s.on && s.to < from.At.UnixMilli() || s.to < loaded[s.inTab]
	})
	r := Report{}
	c.listStorms(&r)
	return r.Storms, c.stormy
}

// Ongoing returns the storm that goes on at the end of a view, and when its newest repetition began. ok is false if there
// is none. What a tab did before it was loaded or updated the last time does not count.
func Ongoing(v *capture.View, o Options) (s Storm, newest time.Time, ok bool) {
	o.Beginning, o.Original, o.Initiator, o.Refs = true, nil, nil, false
	updated := map[int]int64{}
	for _, u := range v.Updates.From(0) {
		updated[u.Tab()] = max(updated[u.Tab()], u.At)
	}
	c := stormsAround(v.Now(), v, o, updated)
	c.storms = slices.DeleteFunc(c.storms, func(s *foundStorm) bool { return !s.on })
	for _, s := range c.storms {
		s.place = Place{} // the original place is not looked up, and another one would contradict the report
	}
	r := Report{}
	if c.listStorms(&r); len(c.storms) == 0 {
		return Storm{}, time.Time{}, false
	}
	return r.Storms[0], time.UnixMilli(c.storms[0].to), true
}

// stormsAround finds the storms since some time before a moment, without what tabs did before they were updated.
func stormsAround(m capture.Moment, v *capture.View, o Options, updated map[int]int64) stormFinder {
	c := stormFinder{&computation{from: m, v: v, o: o, updated: updated}}
	pos, at := m.Pos, m.At.UnixMilli()
	c.from.Pos[capture.Network] = before(v.Network(), pos[capture.Network], at)
	c.from.Pos[capture.WebSocket] = before(v.WebSocket(), pos[capture.WebSocket], at)
	c.from.Pos[capture.Console] = before(v.Console(), pos[capture.Console], at)
	c.nameTabs()
	c.findStorms()
	return c
}

// findStorms finds the storms of all sections.
func (c stormFinder) findStorms() {
	all := func(capture.EndpointKey) bool { return true }
	c.requestStorms(all)
	c.socketStorms()
	c.stormy = c.messageStorms()
	c.floods()
}

// before returns the position from which entries before a position are looked at.
func before[T any, P event.Pointer[T]](v *ring.View[T], pos uint64, at int64) uint64 {
	near := v.InRing()
	first := max(near.First(), pos-min(pos, lookBackEntries))
	for pos > first && P(near.At(pos-1)).Header().At >= at-lookBack {
		pos--
	}
	return pos
}

// short says that a window may have too little of a storm to recognize it alone.
func (c stormFinder) short() bool { return c.v.At.Sub(c.from.At).Milliseconds() < lookBack }

// sameRequest is what makes requests the same. Endpoints alone have neither address nor body.
type sameRequest struct {
	endpoint  capture.EndpointKey
	tab       int
	url, body string
	size      int
}

// maxSameBody is how much of a body is compared, in bytes.
const maxSameBody = 1024

func sameAs(e *event.Network) sameRequest {
	_, rest := capture.SplitURL(e.URL)
	if path, query, ok := strings.Cut(e.URL, "?"); ok {
		rest = path + "?" + alike.Query(query) // which folds time stamps and random numbers
	}
	return sameRequest{capture.KeyOf(e), e.Tab(), rest, e.RequestBody[:min(len(e.RequestBody), maxSameBody)], len(e.RequestBody)}
}

// repeats says whether a request may be one of a storm. Files of a page are none: a page that shows the pictures of a camera
// loads them anew all the time. Requests that a page gives up are, where it makes them anew each time.
func repeats(e *event.Network) bool {
	return (capture.Counts(e) || e.Canceled && e.Resource != "preflight") && !isStatic(e)
}

// startOf is when a request began, in milliseconds since the epoch.
func startOf(e *event.Network) int64 { return cmp.Or(e.Started, e.At) }

// requestStorms finds storms among the requests of those endpoints that may have one, and returns which have.
func (c stormFinder) requestStorms(may func(capture.EndpointKey) bool) map[capture.EndpointKey]bool {
	found := repetitions[sameRequest]{c: c.computation, tempo: &requestTempo}
	window := c.from.Pos[capture.Network]
	for pos, e := range c.v.Network().From(before(c.v.Network(), window, c.from.At.UnixMilli())) {
		if !c.o.InScope(e.Subject) || !repeats(e) || !may(capture.KeyOf(e)) || c.keptOut(e) || e.Resource != "document" && startOf(e) <= c.updated[e.Tab()] {
			continue
		}
		same, began := sameAs(e), startOf(e)
		found.add(same, pos, e, began, began+int64(e.Duration), pos >= window)
		varied := found.add(sameRequest{endpoint: same.endpoint, tab: same.tab}, pos, e, began, began+int64(e.Duration), pos >= window)
		if e.Method == "GET" && len(e.Stack) > 0 {
			varied.loop.Take(e.Stack[0], e.URL, began, began+int64(e.Duration))
		}
	}
	stormy := map[capture.EndpointKey]bool{}
	for k, r := range found.storms {
		if k.url != "" {
			stormy[k.endpoint] = true
			c.storm(requestName(r.newest.(*event.Network)), &requestTempo, r)
		}
	}
	for k, r := range found.storms {
		if k.url == "" && !stormy[k.endpoint] && (r.pace.isVaried() || r.loop.Found()) {
			stormy[k.endpoint] = true
			c.storm(endpointName(r.newest.(*event.Network)), &requestTempo, r)
		}
	}
	return stormy
}

// isOf says whether a storm is one of a request's endpoint or address.
func (s *Storm) isOf(e *event.Network) bool {
	return s.What == requestName(e) || s.What == endpointName(e)
}

// requestName is a request in a few words: "POST /graphql AddToCart".
func requestName(e *event.Network) string {
	origin, path := capture.SplitURL(e.URL)
	return nameOf(e, origin, path)
}

// endpointName is a request's endpoint in a few words: "GET /api/items/{id}".
func endpointName(e *event.Network) string {
	k := capture.KeyOf(e)
	return nameOf(e, k.Origin, k.Path)
}

func nameOf(e *event.Network, origin, path string) string {
	return strings.TrimSpace(event.Unbroken(e.Method) + " " + event.Unbroken(shownURL(e.Origin(), origin, path)) + " " + event.Unbroken(e.Operation))
}

// socketKey is what makes connections the same. The query may have a token.
type socketKey struct {
	tab int
	url string
}

func socketKeyOf(e *event.WebSocket) socketKey {
	origin, path := capture.SplitURL(e.URL)
	return socketKey{e.Tab(), origin + path}
}

// socketStorms finds connections that are made again and again, and returns which.
func (c stormFinder) socketStorms() map[socketKey]bool {
	found := repetitions[socketKey]{c: c.computation, tempo: &socketTempo}
	window := c.from.Pos[capture.WebSocket]
	for pos, e := range c.v.WebSocket().Marked(before(c.v.WebSocket(), window, c.from.At.UnixMilli())) {
		if e.Op != "close" && e.Op != "error" || !c.o.InScope(e.Subject) || !reportable(e) || c.keptOut(e) || e.At <= c.updated[e.Tab()] {
			continue
		}
		found.add(socketKeyOf(e), pos, e, e.At, e.At, pos >= window)
	}
	stormy := map[socketKey]bool{}
	for k, r := range found.storms {
		stormy[k] = true
		e := r.newest.(*event.WebSocket)
		c.storm("WebSocket "+shownSocketURL(e.Origin(), e.URL), &socketTempo, r)
	}
	return stormy
}

// lineKey is a line of code that logs.
type lineKey struct {
	tab   int
	level event.Level
	url   string
	line  int
}

func lineOf(e *event.Console) lineKey { return lineKey{e.Tab(), e.Level, e.URL, e.Line} }

// remembered looks values up by key. Entries that follow each other often have one key.
type remembered[K comparable, V any] struct {
	all  map[K]V
	key  K
	last V
	has  bool
}

// of returns the value of a key. The first time, it makes one.
func (m *remembered[K, V]) of(k K, value func() V) V {
	if m.has && k == m.key {
		return m.last
	}
	v, has := m.all[k]
	if !has {
		if m.all == nil {
			m.all = map[K]V{}
		}
		v = value()
		m.all[k] = v
	}
	m.key, m.last, m.has = k, v, true
	return v
}

// byLine has a value for each line of code that logs, byLabel for each label of one.
type (
	byLine[V any]  = remembered[lineKey, V]
	byLabel[V any] = remembered[uint64, V]
)

// sameMessage is what makes messages of one line the same: their texts without numbers.
type sameMessage struct {
	lineKey
	text string
}

// stormEntry identifies the messages of a storm.
func stormEntry(e *event.Console) alike.Entry { return alike.Storm(e, withoutNumbers(e.Text)) }

func sameMessageAs(e *event.Console) sameMessage {
	return sameMessage{lineOf(e), withoutNumbers(e.Text)}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// withoutNumbers returns the beginning of a text with 0 in place of each number.
func withoutNumbers(s string) string {
	s = s[:min(len(s), MaxMessage)]
	if !strings.ContainsAny(s, "0123456789") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if !isDigit(s[i]) {
			b.WriteByte(s[i])
		} else if i == 0 || !isDigit(s[i-1]) {
			b.WriteByte('0')
		}
	}
	return b.String()
}

// messageStorms finds warnings and errors that are logged again and again, and returns which.
func (c stormFinder) messageStorms() map[sameMessage]bool {
	window := c.from.Pos[capture.Console]
	lines := byLine[*run]{}
	long := false
	for _, e := range c.v.Console().Marked(window) {
		if e.Level < event.Warning {
			continue
		}
		line := lines.of(lineOf(e), func() *run { return &run{} })
		line.add(&messageTempo, e.At)
		long = long || line.long || line.near && c.short()
	}
	if !long {
		return nil
	}
	found := repetitions[sameMessage]{c: c.computation, tempo: &messageTempo}
	for pos, e := range c.v.Console().Marked(before(c.v.Console(), window, c.from.At.UnixMilli())) {
		if l := lines.all[lineOf(e)]; l == nil || !l.long && !(l.near && c.short()) || !c.tells(pos, e) || c.keptOut(e) || e.At <= c.updated[e.Tab()] {
			continue
		}
		found.add(sameMessageAs(e), pos, e, e.At, e.At, pos >= window)
	}
	stormy := map[sameMessage]bool{}
	for k, r := range found.storms {
		stormy[k] = true
		c.storm(messageName(r.newest.(*event.Console)), &messageTempo, r)
	}
	return stormy
}

// foldStorms finds the storms among messages. A warning of one is in the list of storms instead, an error stays, once for
// all of its storm. Of repeated ones, there are some.
func (c stormFinder) foldStorms(errors, warnings []*tally[*event.Console], repeated int) (_, _ []*tally[*event.Console]) {
	c.floods()
	n := repeated
	for _, list := range [][]*tally[*event.Console]{errors, warnings} {
		for _, t := range list {
			n += t.count
		}
	}
	if n < 2 || n < messageTempo.beats && !c.short() {
		return errors, warnings
	}
	stormy := c.messageStorms()
	if len(stormy) == 0 {
		return errors, warnings
	}
	for _, r := range c.repeated.order {
		r.storm = r.message != nil && !r.mixed && stormy[sameMessageAs(r.message)]
	}
	first := map[sameMessage]*tally[*event.Console]{}
	errors = slices.DeleteFunc(errors, func(t *tally[*event.Console]) bool {
		k := sameMessageAs(t.entry)
		if !stormy[k] {
			return false
		}
		into := first[k]
		if into == nil {
			first[k] = t
			return false
		}
		into.count, into.last = into.count+t.count, max(into.last, t.last)
		for _, e := range t.keys {
			into.keys = addEntry(into.keys, e)
		}
		return true
	})
	return errors, slices.DeleteFunc(warnings, func(t *tally[*event.Console]) bool { return stormy[sameMessageAs(t.entry)] })
}

// maxStormText bounds the text of a message in the name of its storm, in bytes.
const maxStormText = 80

// messageName is a message in a few words: "console warning: Maximum update depth exceeded".
func messageName(e *event.Console) string {
	text := event.OneLine(e.Text)
	if len(text) > maxStormText {
		text = strings.ToValidUTF8(text[:maxStormText], "") + "…"
	}
	return fmt.Sprintf("console %s: %s", e.Level, text)
}

// A flood is one line that logs floodRate times a second for floodSpan milliseconds, at least. Only what goes on at the end
// of the window is found: entries that are neither warnings nor errors are not looked at otherwise.
const (
	floodRate  = 20
	floodSpan  = 3000
	floodSlots = 6
)

// floodSamples are how many entries of a span are looked at. More are needed where a line is a small part of them.
var floodSamples = []uint64{64, 256}

// floods finds floods of entries that are neither warnings nor errors.
func (c stormFinder) floods() {
	near := c.v.Console().InRing()
	next := near.Next()
	if next-near.First() < floodRate*floodSpan/1000 || next <= c.from.Pos[capture.Console] {
		return
	}
	newest := near.At(next - 1).At
	first := near.First()
	for from, to := first, next; from < to; { // the first entry of the span
		if middle := (from + to) / 2; near.At(middle).At > newest-floodSpan {
			to, first = middle, middle
		} else {
			from, first = middle+1, middle+1
		}
	}
	n := next - first
	if n < floodRate*floodSpan/1000 || first == near.First() && near.Evicted() == 0 {
		return
	}
	for _, most := range floodSamples {
		flooding, sure := c.floodsIn(near, first, min(n, most))
		if sure || n <= most {
			if len(flooding) > 0 {
				c.countFloods(flooding)
			}
			return
		}
	}
}

// floodsIn returns the labels of the lines that flood the entries from a position on, of which it looks at some. It is not
// sure where others were met more than once.
func (c stormFinder) floodsIn(v ring.View[event.Console], first, some uint64) (flooding map[uint64]bool, sure bool) {
	type lineCount struct {
		met   uint64
		slots uint
	}
	loaded := remembered[int, int64]{all: loads(c.v)} // what a page logs each time it is loaded is no flood
	never := func() int64 { return 0 }
	lines := byLabel[*lineCount]{}
	n := v.Next() - first
	chance := rand.New(rand.NewPCG(first, v.Next())) // lines that take turns are all met
	for i := range some {
		from, to := n*i/some, n*(i+1)/some
		at := from + chance.Uint64N(to-from)
		label, e := v.Label(first+at), v.At(first+at)
		if label == 0 || e.At <= loaded.of(e.Tab(), never) {
			continue
		}
		l := lines.of(label, func() *lineCount { return &lineCount{} })
		l.met++
		l.slots |= 1 << (at * floodSlots / n)
	}
	flooding, sure = map[uint64]bool{}, true
	for label, l := range lines.all {
		if l.met*n >= floodRate*floodSpan/1000*some && l.slots == 1<<floodSlots-1 {
			flooding[label] = true
		} else if l.met > 1 {
			sure = false
		}
	}
	return flooding, sure || some == n
}

// countFloods adds the floods of lines of code to the storms. It reads the first and the newest entry of each; the others
// only where those before an update do not count.
func (c stormFinder) countFloods(flooding map[uint64]bool) {
	type flood struct {
		since         int64 // earlier ones do not count
		first, newest uint64
		total         int
		ref           *Ref
	}
	near := c.v.Console().InRing()
	found := byLabel[*flood]{}
	for pos, label := range near.Labels(c.from.Pos[capture.Console]) {
		f := found.of(label, func() *flood {
			e := near.At(pos)
			if !flooding[label] || !c.o.InScope(e.Subject) || c.keptOut(e) {
				return nil
			}
			return &flood{since: c.updated[e.Tab()]}
		})
		if f == nil || f.since > 0 && near.At(pos).At <= f.since {
			continue
		}
		if f.total++; f.total == 1 {
			f.first, f.ref = pos, c.ref(pos, near.At(pos))
		} else {
			f.ref.add(pos)
		}
		f.newest = pos
	}
	for _, f := range found.all {
		if f != nil && f.total > 0 {
			first, e := near.At(f.first).At, near.At(f.newest)
			p := pace{storm: true, hot: true, from: first, to: e.At, ended: e.At, total: f.total}
			c.storm(messageName(e), &messageTempo, &repetition{pace: p, newest: e, first: first, ref: f.ref})
		}
	}
}
