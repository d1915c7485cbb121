package capture

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/protocol"
)

// Moment is the start of a diff: positions, and the state of endpoints and of the DOM there.
type Moment struct {
	At        time.Time
	Pos       Positions
	Endpoints *Table
	DOMState  *DOMState
}

// Tab is a tab as a surface shows it.
type Tab struct {
	// ID is the host's own: small, unique across browsers, never used again.
	ID                   int
	Browser, Instance    string
	URL, Origin, Title   string
	Watched, DOM, Active bool
	Capture, Note        string
	// Paused is set while the debugger pauses the page.
	Paused *protocol.TabPaused
	// PausedPart is set while the page runs and the debugger pauses a worker or a frame of it.
	PausedPart *protocol.TabPaused
	// Loaded is when the page was loaded; zero where that is not known.
	Loaded Load
	// Failed is when the page last logged an error, in milliseconds since the Unix epoch; 0 if it logged none.
	Failed int64
	// Thrown is when the page's code last threw an error that it did not handle, or logged one that it had caught.
	Thrown int64
	// LastEvent is when anything but a socket frame or polling came from it last, by the host's clock.
	LastEvent time.Time
	// LastFile is when a file that the page is made of arrived last, by the host's clock.
	LastFile time.Time
}

// Load is when a tab loaded its page: the time in milliseconds since the Unix epoch, and the positions of the page's
// first entries.
type Load struct {
	At  int64
	Pos Positions
}

// Subject is the tab as the subject of events.
func (t *Tab) Subject() event.Subject { return event.InTab(t.ID, t.Origin) }

// Browser is a browser as a surface shows it.
type Browser struct {
	Name, Extension string
	// Instance names the profile.
	Instance  string
	Connected bool
	// SilentSince is when its connection ended.
	SilentSince time.Time
}

// Flight is a request that has not ended.
type Flight struct {
	Tab         int
	Origin      string
	Method, URL string
	// Operation is the name of its GraphQL operation; "" for other requests.
	Operation string
	// Document is true for the document of a page or a frame.
	Document bool
	// At is when the browser began it, in milliseconds since the Unix epoch.
	At int64
	// Began is when the host heard of it, and Number how many requests it had heard of before.
	Began  time.Time
	Number uint64
	// Polling is true for one that the page makes at a steady rhythm, and for a long poll.
	Polling bool

	rhythm *poll // of its endpoint; nil if it cannot have one
}

// Subject is the tab of the request.
func (f *Flight) Subject() event.Subject { return event.InTab(f.Tab, f.Origin) }

// Reloads reports whether a request is for the document that its tab shows.
func (v *View) Reloads(f *Flight) bool {
	address, _, _ := strings.Cut(v.DOMState.URL(f.Tab), "#")
	return f.Document && f.Method == "GET" && f.URL == address
}

// View is one consistent reading of everything at one moment. It never changes.
type View struct {
	// At is when it was taken; Started when the store began.
	At, Started time.Time
	Updates     ring.View[Update]
	// Endpoints and DOMState are the state after the newest entries.
	Endpoints *Table
	DOMState  *DOMState
	Tabs      []Tab
	Browsers  []Browser
	Gaps      []Gap
	Flights   []Flight
	// Masked counts the secrets masked so far, Mistimed the events with a time that could not be right. They have that of their
	// arrival.
	Masked, Mistimed int

	tracks   [Gaps]span
	subjects []heard // nil where they are not known without reading the buffers
	past     Past    // nil when only the buffers are read
	oldTable *Table
	oldDOM   *DOMState
	evicted  map[evictedFrom]uint64
	gone     [Gaps]int64
	nextGap  uint64
}

// View takes a reading.
func (s *Store) View(now time.Time) *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetSilentLocked(now)
	v := &View{
		At: now.UTC().Truncate(time.Millisecond), Started: s.started.UTC().Truncate(time.Millisecond), Updates: s.updates.View(),
		Endpoints: s.endpoints.share(), DOMState: s.domState.share(), oldTable: s.oldTable.share(), oldDOM: s.oldDOM.share(),
		Gaps: s.gaps.view(), nextGap: s.gaps.last + 1, Masked: s.masked, Mistimed: s.mistimed, evicted: s.evicted.view(), gone: s.evicted.newest,
	}
	for t, b := range s.buffers {
		v.tracks[t] = b.view()
	}
	if !s.subjects.full {
		v.subjects = append([]heard{}, s.subjects.list...)
	}
	for _, t := range s.tabs {
		shown := t.Tab
		shown.URL, shown.Origin, shown.Title, shown.LastEvent = t.url, t.origin, t.title, t.active
		shown.Failed, shown.Thrown = t.failure.at, t.failure.thrown
		shown.Browser, shown.Instance = t.browser.name, t.browser.instance
		shown.Watched = t.Watched && t.browser.connections > 0
		v.Tabs = append(v.Tabs, shown)
	}
	slices.SortFunc(v.Tabs, func(a, b Tab) int { return a.ID - b.ID })
	for _, b := range s.browsers {
		if b.connections > 0 || now.Sub(b.silentSince) < goneAfter {
			v.Browsers = append(v.Browsers, Browser{b.name, b.version, b.instance, b.connections > 0, b.silentSince})
		}
	}
	if since, away := s.awayLocked(); away {
		v.Gaps = append(slices.Clone(v.Gaps), Gap{From: since.UTC(), Reason: protocol.GapNoBrowser, Pos: s.gaps.last})
	}
	slices.SortFunc(v.Browsers, func(a, b Browser) int { return strings.Compare(a.Instance, b.Instance) })
	for _, f := range s.flights {
		v.Flights = append(v.Flights, f)
	}
	return v
}

// Now is the moment at which the view was taken.
func (v *View) Now() Moment {
	m := Moment{At: v.At, Endpoints: v.Endpoints, DOMState: v.DOMState}
	for t, s := range v.tracks {
		m.Pos[t] = s.Next()
	}
	m.Pos[Gaps] = v.nextGap
	return m
}

// Start is the moment before everything that was ever taken in.
func (v *View) Start() Moment {
	at := v.Started
	if e := v.Console().At(1); e != nil && e.Time().Before(at) {
		at = e.Time()
	}
	if e := v.Network().At(1); e != nil && e.Time().Before(at) {
		at = e.Time()
	}
	return Moment{At: at, Pos: begin()}
}

// MomentAt rebuilds the moment of a time from the events before it. Endpoints and DOM state are exact as
// far as their buffers reach back, and the state at their oldest entry before that. Where entries
// after the time have been evicted, the position is before them, so that a diff tells of it.
func (v *View) MomentAt(t time.Time) Moment { return v.momentAt(t, &rebuilt{}) }

// MomentsAt is [View.MomentAt] for several times, the earliest first. It reads the buffers once.
func (v *View) MomentsAt(times []time.Time) []Moment {
	list := make([]Moment, len(times))
	var last rebuilt
	for i, t := range times {
		list[i] = v.momentAt(t, &last)
	}
	return list
}

// rebuilt are the states that were rebuilt last, before these positions. Those before later ones are rebuilt from them.
type rebuilt struct {
	network, dom uint64
	endpoints    *Table
	page         *DOMState
}

func (v *View) momentAt(t time.Time, last *rebuilt) Moment {
	ms := t.UnixMilli()
	before := begin() // of entries that have left the buffers: not known
	if v.past != nil && !v.HoldsTime(ms) {
		before = v.past.After(ms)
	}
	m := Moment{At: t.UTC(), Pos: Positions{Gaps: v.nextGap}}
	for t, s := range v.tracks {
		m.Pos[t] = s.after(ms, v.gone[t], before[t])
	}
	if m.Endpoints = v.endpointsBefore(m.Pos[Network], last); m.Endpoints == nil {
		m.Endpoints = v.oldTable
	}
	if m.DOMState = v.domStateBefore(m.Pos[DOM], last); m.DOMState == nil {
		m.DOMState = v.oldDOM
	}
	if !t.Before(v.Started) {
		m.DOMState = v.addressesBefore(m)
	}
	return m
}

// endpointsBefore is the table before the request at a position, nil when it cannot be told.
func (v *View) endpointsBefore(pos uint64, last *rebuilt) *Table {
	near := v.Network().InRing()
	if pos < near.First() {
		if v.past == nil {
			return nil
		}
		return v.past.Endpoints(pos)
	}
	t, from := v.oldTable, uint64(0)
	if last.endpoints != nil && last.network <= pos {
		t, from = last.endpoints, last.network
	}
	for p, n := range near.From(from) {
		if p >= pos {
			break
		}
		t = t.apply(KeyOf(n), n)
	}
	last.endpoints, last.network = t.share(), pos
	return t
}

// domStateBefore is the state before the change at a position, nil when it cannot be told.
func (v *View) domStateBefore(pos uint64, last *rebuilt) *DOMState {
	near := v.DOM().InRing()
	if pos < near.First() {
		if v.past == nil {
			return nil
		}
		return v.past.DOMState(pos)
	}
	page, from := v.oldDOM, uint64(0)
	if last.page != nil && last.dom <= pos {
		page, from = last.page, last.dom
	}
	for p, c := range near.From(from) {
		if p >= pos {
			break
		}
		page = page.apply(c)
	}
	last.page, last.dom = page.share(), pos
	return page
}

// addressesBefore fills in where tabs were that had been seen before the oldest change held: their next navigation says
// where from, and since when.
func (v *View) addressesBefore(m Moment) *DOMState {
	p, moved := m.DOMState, map[int]bool{}
	for _, c := range v.DOM().From(m.Pos[DOM]) {
		if c.Op != "navigated" || moved[c.Tab()] {
			continue
		}
		moved[c.Tab()] = true
		if p.URL(c.Tab()) == "" && OriginOf(c.From) != "" && c.Since <= m.At.UnixMilli() {
			p = p.apply(&Change{Head: event.Head{Subject: event.InTab(c.Tab(), "")}, Op: "navigated", URL: c.From})
		}
	}
	return p
}

// Until is the view as it was at an earlier moment, as far as the buffers still hold it. Tabs and
// browsers stay those of now.
func (v *View) Until(m Moment) *View {
	u := *v
	u.At = m.At
	for t, s := range v.tracks {
		u.tracks[t] = s.until(m.Pos[t])
	}
	u.Endpoints, u.DOMState, u.subjects = m.Endpoints, m.DOMState, nil
	known, _ := slices.BinarySearchFunc(v.Gaps, m.Pos[Gaps], func(g Gap, pos uint64) int { return cmp.Compare(g.Pos, pos) })
	u.Gaps = v.Gaps[:known]
	return &u
}
