// Package capture keeps the observed state: the buffers of every browser, the endpoints, the visible error elements, the
// tabs, and the gaps in coverage.
//
// Guarantees:
//   - Events are applied in the order of their arrival, one batch at a time.
//   - A [View] is a consistent reading of everything at one moment. It is taken in constant time and never changes.
//   - The buffers stay within their budgets.
//   - Every event that is known to be missing is inside a [Gap].
package capture

import (
	"maps"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/ring"
)

// Limit bounds one buffer by the number of entries and their size in bytes.
type Limit struct{ Count, Bytes int }

// Limits bound the buffers, by track.
type Limits [Gaps]Limit

// DefaultLimits hold at most 34 MiB together.
func DefaultLimits() (l Limits) {
	for t, row := range tracks {
		l[t] = row.defaults()
	}
	return l
}

// Bytes is the size of all buffers together.
func (l *Limits) Bytes() (n int) {
	for _, of := range l {
		n += of.Bytes
	}
	return n
}

// Update is a navigation or hot update, as an edit causes it.
type Update struct {
	event.Head
	// How is load, reload, hot_update or hot_update_failed.
	How string
	// Asked is when the document of a load was requested, in milliseconds since the Unix epoch; 0 if that is not known.
	Asked int64
	// File is one that was replaced, by the name that the development server's client gives it; see [noise.UpdatedFiles]. It is
	// "" for any other mark of an update.
	File string
	// Build is the hash of the build that a server announced with it; see [noise.Build].
	Build string
}

// Store is the single writer's state. All methods are safe for concurrent use.
type Store struct {
	noise *noise.Rules

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when something has changed
	started   time.Time
	saved     time.Time // when the journal was written last that the store continues from, or else when it began
	buffers   [Gaps]buffer
	console   *bufferOf[event.Console, *event.Console] // this and the next four are in buffers
	network   *bufferOf[event.Network, *event.Network]
	websocket *bufferOf[event.WebSocket, *event.WebSocket]
	actions   *bufferOf[event.Action, *event.Action]
	dom       *bufferOf[Change, *Change]
	updates   *ring.Ring[Update]

	index     *Index
	endpoints *Table    // after the newest request
	oldTable  *Table    // before the oldest request that the ring holds
	domState  *DOMState // after the newest change
	oldDOM    *DOMState // before the oldest change that the ring holds
	live      map[elementID]ElementKey

	browsers map[string]*browser // by instance
	tabs     map[int]*tab        // by the host's id
	lastTab  int
	flights  map[requestKey]Flight
	begun    uint64 // counts them
	polls    polls
	joins    joiner
	gaps     gapList
	evicted  evictions
	subjects subjects
	masked   int
	mistimed int
	keep     keeper
}

// New makes an empty store; its first gap ends where it begins to watch.
func New(limits Limits, rules *noise.Rules, now time.Time) *Store {
	s := &Store{
		noise: rules, changed: make(chan struct{}), started: now, saved: now, index: NewIndex(),
		live: map[elementID]ElementKey{}, browsers: map[string]*browser{}, tabs: map[int]*tab{},
		flights: map[requestKey]Flight{},
	}
	s.endpoints, s.oldTable = NewTable(s.index), NewTable(s.index)
	s.makeRings(limits, Positions{})
	return s
}

// makeRings makes the buffers, empty, whose next values get the positions given.
func (s *Store) makeRings(limits Limits, at Positions) {
	for t, row := range tracks {
		s.buffers[t] = row.open(s, limits[t], at[t])
	}
	s.console, s.network, s.websocket = bufferIn[event.Console](s, Console), bufferIn[event.Network](s, Network), bufferIn[event.WebSocket](s, WebSocket)
	s.actions, s.dom = bufferIn[event.Action](s, Actions), bufferIn[Change](s, DOM)
	s.updates = ring.New(ring.Options[Update]{MaxCount: 1000, MaxBytes: 1 << 20, Start: 1, Chunk: 64, Size: func(u *Update) int { return 88 + len(u.File) }})
}

// firstLocked are the positions of the oldest entries that the buffers hold.
func (s *Store) firstLocked() (p Positions) {
	for t, b := range s.buffers {
		p[t] = b.First()
	}
	return p
}

// maxFlights bounds the requests that are in flight; when there are more, those older than
// forgetFlight (which nobody waits for any more) are forgotten, or, if that is not enough, all.
const (
	maxFlights   = 4096
	forgetFlight = 10 * time.Second
)

// Sizes are estimates of the memory an entry holds: its struct, its strings, and a share for the
// strings' headers.

func sizeOfConsole(e *event.Console) int {
	return 300 + len(e.Text) + len(e.URL) + len(e.Logged) + sizeOfLines(e.Stack)
}

func sizeOfNetwork(e *event.Network) int {
	n := 460 + len(e.URL) + len(e.RequestBody) + len(e.ResponseBody) + len(e.Error) + len(e.Detail) + sizeOfLines(e.Stack)
	for _, h := range []map[string]string{e.RequestHeaders, e.ResponseHeaders} {
		for k, v := range h {
			n += 48 + len(k) + len(v)
		}
	}
	return n
}

func sizeOfWebSocket(e *event.WebSocket) int {
	return 240 + len(e.Text) + len(e.URL) + len(e.Reason) + sizeOfLines(e.Stack)
}

func sizeOfLines(lines []string) int {
	n := 0
	for _, line := range lines {
		n += 16 + len(line)
	}
	return n
}

func sizeOfAction(e *event.Action) int {
	return 200 + len(e.Target) + len(e.Selector) + len(e.Value)
}

func sizeOfInspection(e *event.Inspection) int {
	n := 280 + len(e.By) + len(e.Location) + len(e.Label)
	for _, text := range e.Values {
		n += 16 + len(text)
	}
	return n
}

func sizeOfFileChange(e *event.FileChange) int {
	return 240 + len(e.Path) + len(e.From) + len(e.By) + 24*len(e.Lines) + 16*len(e.Columns)
}

func sizeOfChange(c *Change) int {
	return 240 + len(c.Element.Selector) + len(c.Element.Text) + len(c.URL) + len(c.From)
}

// Changed returns a channel that is closed at the next change.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *Store) notifyLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
	s.keep.touch()
}

// How long before its arrival an event may have happened, in a queue, and how long after it, by a clock that is being set. Other
// times are those of a clock that was wrong.
const (
	maxLate  = 30 * 24 * time.Hour
	maxEarly = 24 * time.Hour
)

// correctLocked gives an event whose time cannot be right the time of its arrival, and counts it.
func correctLocked(s *Store, ev event.Event, now time.Time) {
	right := func(ms int64) bool {
		ago := now.Sub(time.UnixMilli(ms))
		return ago <= maxLate && ago >= -maxEarly
	}
	head := ev.Header()
	ok := right(head.At)
	if !ok {
		head.At = now.UnixMilli()
	}
	switch e := ev.(type) {
	case *event.Network:
		if e.Started != 0 && !right(e.Started) {
			e.Started, ok = head.At, false
		}
	case *event.Gap:
		if !right(e.From) {
			e.From, ok = head.At, false
		}
		if e.To != 0 && !right(e.To) {
			e.To, ok = head.At, false
		}
	}
	if !ok {
		s.mistimed++
	}
}

// applyLocked takes one event in. Its tab is the host's already.
func (s *Store) applyLocked(b *browser, ev event.Event, now time.Time) {
	head := ev.Header()
	s.masked += head.Masked
	t := s.tabs[head.Tab()]
	if t != nil {
		head.Place = t.origin
		if e, ok := ev.(*event.Console); ok && e.Left && t.before != "" {
			head.Place = t.before // it may come after the navigation
		}
	}
	var r *refresh
	if t != nil {
		r = &t.refresh
	}
	how := s.noise.Update(ev)
	if !shows(how, ev, r, s.gaps.last) {
		how = ""
	}
	wasActive := time.Time{}
	rhythm, polled := s.isPolling(b, ev)
	if t != nil && (how != "" || !isSocketFrame(ev) && !polled) {
		wasActive, t.active = t.active, now // a frame that announces an update counts as new: its effect on the page is still to come
	}
	addUpdate(s, ev, how)
	switch e := ev.(type) {
	case *event.Console:
		if t != nil && t.replay.had(e) {
			return
		}
		if e.Joined = s.joins.repeats(b, e); e.Joined && how == "" && t != nil {
			t.active = wasActive // as last reported
		}
		s.console.add(*e)
		if t != nil {
			t.failure.take(s, e)
		}
	case *event.Request:
		s.joins.request(b, e.Tab(), e.ID, e.At)
		if len(s.flights) >= maxFlights {
			maps.DeleteFunc(s.flights, func(_ requestKey, f Flight) bool { return now.Sub(f.Began) > forgetFlight })
		}
		if len(s.flights) >= maxFlights {
			clear(s.flights)
		}
		s.flights[requestKey{b.instance, e.Tab(), e.ID}] = Flight{Tab: e.Tab(), Origin: e.Origin(), Method: e.Method, URL: e.URL, Operation: e.Operation, Document: e.Resource == "document", At: e.At, Began: now, Number: s.begun, Polling: polled, rhythm: rhythm}
		s.begun++
	case *event.Network:
		if t != nil && !polled && (e.Resource == "document" || e.IsStatic()) {
			t.LastFile = now
		}
		s.networkEvent(b, e)
	case *event.WebSocket:
		e.Joined = s.joins.socket(b, e)
		s.websocket.add(*e)
		if t != nil {
			t.refresh.follow(e, how, s.gaps.last)
		}
	case *event.Action:
		s.actions.add(*e)
	case *event.Element:
		s.elementEvent(e)
	case *event.Navigation:
		s.navigation(t, e)
	case *event.Gap:
		s.gaps.add(browserOf(b.instance), e)
	}
}

// recordLocked appends an event that changes nothing but its track. Its tab is the host's already.
func (s *Store) recordLocked(ev event.Event, now time.Time) {
	correctLocked(s, ev, now)
	head := ev.Header()
	s.masked += head.Masked
	if t := s.tabs[head.Tab()]; t != nil {
		head.Place = t.origin
	}
	for _, b := range s.buffers {
		if b.take(ev) {
			return
		}
	}
}

// isPolling reports whether an event is the beginning or the end of a request that a page repeats at a steady rate. At the
// beginning it returns the rhythm of the request's endpoint.
func (s *Store) isPolling(b *browser, ev event.Event) (*poll, bool) {
	switch e := ev.(type) {
	case *event.Request:
		return s.polls.takes(e)
	case *event.Network:
		f := s.flights[requestKey{b.instance, e.Tab(), e.ID}]
		if f.rhythm != nil {
			f.rhythm.ends(e.At)
		}
		return nil, f.Polling
	}
	return nil, false
}

func (s *Store) networkEvent(b *browser, e *event.Network) {
	delete(s.flights, requestKey{b.instance, e.Tab(), e.ID})
	s.joins.request(b, e.Tab(), e.ID, e.At)
	if e.Resource == "document" && e.Target == "" && e.Status > 0 {
		// The page that asks for a new top document is the page that it becomes, when it does.
		e.Place = OriginOf(e.URL)
	}
	s.addNetwork(*e)
}

func (s *Store) navigation(t *tab, e *event.Navigation) {
	from, since := "", int64(0)
	if t != nil {
		from, since = t.url, t.since
		if e.How != "crash" {
			if e.How == "load" || e.How == "reload" {
				t.before = t.origin
			}
			t.url, t.since, t.origin, t.unseen = e.URL, e.At, OriginOf(e.URL), false
			e.Place = t.origin
		}
		if e.Title != "" {
			t.title = e.Title
		}
	}
	if e.How == "crash" {
		s.change(Change{Head: e.Head, Op: "crashed", How: e.How, URL: e.URL})
		maps.DeleteFunc(s.flights, func(_ requestKey, f Flight) bool { return f.Tab == e.Tab() })
		return
	}
	loaded := e.How == "load" || e.How == "reload"
	asked := int64(0)
	if t != nil && loaded {
		t.Loaded, t.failure.emptied = loadOf(s, e, t.Loaded.At), nil
		asked = askedAt(s, e, t.Loaded)
	}
	if loaded { // the ends of the requests of the page before may not be reported
		maps.DeleteFunc(s.flights, func(_ requestKey, f Flight) bool { return f.Tab == e.Tab() && f.At < e.At && f.URL != e.URL })
	}
	s.change(Change{Head: e.Head, Op: "navigated", How: e.How, From: from, Since: since, URL: e.URL})
	kind := "navigate"
	if e.How == "reload" {
		kind = "reload"
	}
	s.actions.add(event.Action{Head: e.Head, Type: kind, Target: e.URL})
	if loaded {
		s.updates.Append(Update{Head: e.Head, How: e.How, Asked: asked})
	}
}

func isSocketFrame(ev event.Event) bool {
	ws, ok := ev.(*event.WebSocket)
	return ok && ws.IsFrame()
}
