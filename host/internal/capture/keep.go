package capture

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
)

// Entry is one entry of a buffer. What it points to never changes.
type Entry struct {
	Section Section
	Pos     uint64
	Value   event.Event
}

// Delta holds the data captured since the previous delta was drained.
type Delta struct {
	Entries []Entry
	// Endpoints and DOMState are the state before Entries.
	Endpoints *Table
	DOMState  *DOMState
	// State is everything else, after Entries.
	State State
	size  int
}

// State is what a store knows beside its buffers, endpoints and page. Its types are those of the disk:
// fields are only ever added, at the end.
type State struct {
	// Started is when the store began, Saved when this was taken, in milliseconds.
	Started, Saved int64
	LastTab        int
	Masked         int
	// Next are the positions of the entries to come.
	Next     Positions
	Browsers []BrowserState
	Tabs     []TabState
	// Gaps and Live are nil in a [Delta] when they are as they were in the one before.
	Gaps *GapState
	Live *[]LiveElement
	// URLs is the address of each tab: a tab that was just opened has changed nothing yet.
	URLs     map[int]string
	Mistimed int
	// Since is when each tab came to its address, or was first seen there, in milliseconds.
	Since map[int]int64
}

// BrowserState is a browser and the place in its stream up to which it was heard.
type BrowserState struct {
	Instance, Name, Version, Session, Stream string
	Next                                     int64
	LastEvent                                int64
	// SilentSince is when it was heard last, in milliseconds; 0 while it is connected.
	SilentSince int64
}

// TabState is an open tab.
type TabState struct {
	ID, BrowserID        int
	Instance, URL, Title string
	Watched, DOM, Unseen bool
}

// GapState is the list of gaps.
type GapState struct {
	List []Gap
	Last uint64
}

// LiveElement is a visible error element and the id that its page gives it.
type LiveElement struct {
	Tab, Frame int
	Document   string
	ID         int
	Element    ElementKey
}

// maxUnkept is how much unsaved data may wait before new data is held back, in bytes.
const maxUnkept = 16 << 20

// keeper is what a store remembers for its journal. The store's mutex guards it.
type keeper struct {
	on        bool
	dirty     chan struct{} // has room for one
	entries   []Entry
	fresh     int           // the size of entries, in bytes
	size      int           // the same with what was drained and is not kept yet
	room      chan struct{} // closed when size has shrunk
	endpoints *Table        // as they were when entries was empty
	domState  *DOMState
	live      bool // the elements have changed since entries was empty
}

// Keep makes the store collect data for a journal from now on. The channel signals, once for any number of changes, that
// there is data to drain.
func (s *Store) Keep() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = keeper{on: true, dirty: make(chan struct{}, 1), room: make(chan struct{}), live: true}
	s.gaps.changed = true
	s.keep.endpoints, s.keep.domState = s.endpoints.share(), s.domState.share()
	s.keep.dirty <- struct{}{}
	return s.keep.dirty
}

func (k *keeper) touch() {
	if !k.on {
		return
	}
	select {
	case k.dirty <- struct{}{}:
	default:
	}
}

func (k *keeper) add(section Section, pos uint64, value event.Event, size int) {
	if k.on {
		k.entries = append(k.entries, Entry{section, pos, value})
		k.fresh += size
		k.size += size
	}
}

// Drain returns the data captured since it was last called.
func (s *Store) Drain(now time.Time) *Delta {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &s.keep
	d := &Delta{Entries: k.entries, Endpoints: k.endpoints, DOMState: k.domState, State: s.stateLocked(now)}
	d.size = k.fresh
	k.entries, k.fresh, k.live, s.gaps.changed = nil, 0, false, false
	k.endpoints, k.domState = s.endpoints.share(), s.domState.share()
	return d
}

// DrainAll returns everything in the buffers. It replaces data that was drained and could not be saved.
func (s *Store) DrainAll(drained *Delta, now time.Time) *Delta {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &s.keep
	d := &Delta{Endpoints: s.oldTable.share(), DOMState: s.oldDOM.share(), size: k.fresh}
	if drained != nil {
		d.size += drained.size
	}
	for t, b := range s.buffers {
		for pos, e := range b.view().events(0) {
			d.Entries = append(d.Entries, Entry{Sections[t], pos, e})
		}
	}
	s.gaps.changed, k.live = true, true
	d.State = s.stateLocked(now)
	k.entries, k.fresh, k.live, s.gaps.changed = nil, 0, false, false
	k.endpoints, k.domState = s.endpoints.share(), s.domState.share()
	return d
}

// Kept records that a delta is on disk. Its events are acknowledged from now on.
func (s *Store) Kept(d *Delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep.size -= d.size
	close(s.keep.room)
	s.keep.room = make(chan struct{})
	for _, k := range d.State.Browsers {
		if b := s.browsers[k.Instance]; b != nil && b.stream == k.Stream {
			b.kept = k.Next
		}
	}
}

// Merge puts a later delta behind one that could not be kept.
func (d *Delta) Merge(later *Delta) {
	d.Entries = append(d.Entries, later.Entries...)
	d.size += later.size
	gaps, live := d.State.Gaps, d.State.Live
	d.State = later.State
	if d.State.Gaps == nil {
		d.State.Gaps = gaps
	}
	if d.State.Live == nil {
		d.State.Live = live
	}
}

// Index numbers the endpoints of the store's tables.
func (s *Store) Index() *Index { return s.index }

// waitForRoom returns when there is room for more unsaved data.
func (s *Store) waitForRoom(ctx context.Context) error {
	for {
		s.mu.Lock()
		full, room := s.keep.size > maxUnkept, s.keep.room
		s.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-room:
		}
	}
}

func (s *Store) stateLocked(now time.Time) State {
	st := State{
		Started: s.started.UnixMilli(), Saved: now.UnixMilli(), LastTab: s.lastTab, Masked: s.masked, Mistimed: s.mistimed,
	}
	for t, b := range s.buffers {
		st.Next[t] = b.Next()
	}
	st.Next[Gaps] = s.gaps.last + 1
	st.URLs, st.Since = maps.Clone(s.domState.URLs()), map[int]int64{}
	if s.gaps.changed {
		st.Gaps = &GapState{List: s.gaps.view(), Last: s.gaps.last}
	}
	for _, b := range s.browsers {
		silent := int64(0)
		if !b.silentSince.IsZero() {
			silent = b.silentSince.UnixMilli()
		}
		st.Browsers = append(st.Browsers, BrowserState{b.instance, b.name, b.version, b.session, b.stream, b.next, b.lastEvent.UnixMilli(), silent})
		for browserID, ours := range b.tabs {
			t := s.tabs[ours]
			st.Tabs = append(st.Tabs, TabState{ours, browserID, b.instance, t.url, t.title, t.Watched, t.DOM, t.unseen})
			if t.since != 0 {
				st.Since[ours] = t.since
			}
		}
	}
	slices.SortFunc(st.Browsers, func(a, b BrowserState) int { return cmp.Compare(a.Instance, b.Instance) })
	slices.SortFunc(st.Tabs, func(a, b TabState) int { return cmp.Compare(a.ID, b.ID) })
	if s.keep.live {
		live := make([]LiveElement, 0, len(s.live))
		for id, key := range s.live {
			live = append(live, LiveElement{id.tab, id.frame, id.document, id.id, key})
		}
		st.Live = &live
	}
	return st
}

// Journal reads saved data.
type Journal interface {
	// Tail are the newest entries of a section that are kept, at least as many as fill a buffer, from
	// a position on; endpoints and DOM state are those before them.
	Tail(section Section, limit Limit, index *Index) Tail
}

// Tail are entries from a position on, oldest first, and the state before them.
type Tail struct {
	From uint64
	// Before is the time of the newest entry before them, in milliseconds; 0 when it is not known.
	Before    int64
	Entries   iter.Seq2[uint64, event.Event]
	Endpoints *Table
	DOMState  *DOMState
}

// Restore returns a store that continues from saved data. Its browsers are not connected yet.
func Restore(limits Limits, rules *noise.Rules, now time.Time, st *State, j Journal) *Store {
	s := New(limits, rules, now)
	s.started, s.saved = time.UnixMilli(st.Started), time.UnixMilli(st.Saved)
	s.lastTab, s.masked, s.mistimed = st.LastTab, st.Masked, st.Mistimed
	var tails [Gaps]Tail
	var from Positions
	for t, limit := range limits {
		tails[t] = j.Tail(Sections[t], limit, s.index)
		from[t] = tails[t].From
	}
	s.makeRings(limits, from)
	if t := tails[Network].Endpoints; t != nil {
		s.endpoints, s.oldTable = t.share(), t
	}
	if p := tails[DOM].DOMState; p != nil {
		s.domState, s.oldDOM = p.share(), p
	}
	for t := range tails {
		track, first := Track(t), true
		for pos, value := range tails[t].Entries {
			if first && pos > 1 {
				before := tails[t].Before
				if before == 0 {
					before = value.Header().At
				}
				s.evicted.before(track, pos, before)
			}
			first = false
			s.skipTo(track, pos, now)
			s.buffers[t].take(value)
		}
		s.skipTo(track, st.Next[t], now)
	}
	s.domState = NewDOMState(s.domState.Elements(), st.URLs, s.domState.Empty())
	maps.DeleteFunc(s.domState.empty, func(tab int, _ int64) bool { return st.URLs[tab] == "" })
	if st.Gaps != nil {
		s.gaps.list, s.gaps.last = slices.Clone(st.Gaps.List), st.Gaps.Last
	}
	restoreUpdates(s)
	for _, b := range st.Browsers {
		silent := now // it was connected, and has not come back yet
		if b.SilentSince > 0 {
			silent = time.UnixMilli(b.SilentSince)
		}
		s.browsers[b.Instance] = &browser{
			instance: b.Instance, name: b.Name, version: b.Version, session: b.Session, stream: b.Stream, next: b.Next, kept: b.Next,
			lastEvent: time.UnixMilli(b.LastEvent), silentSince: silent, tabs: map[int]int{},
		}
	}
	for _, t := range st.Tabs {
		b := s.browsers[t.Instance]
		if b == nil {
			continue
		}
		b.tabs[t.BrowserID] = t.ID
		s.tabs[t.ID] = &tab{Tab: Tab{ID: t.ID, Watched: t.Watched, DOM: t.DOM}, browser: b, url: t.URL, since: st.Since[t.ID], origin: OriginOf(t.URL), title: t.Title, unseen: t.Unseen}
	}
	if st.Live != nil {
		for _, e := range *st.Live {
			s.live[elementID{e.Tab, e.Frame, e.Document, e.ID}] = e.Element
		}
	}
	return s
}

// skipTo gives the next entry of a track a position, because the entries before it could not be read.
func (s *Store) skipTo(t Track, pos uint64, now time.Time) {
	if s.buffers[t].SkipTo(pos) {
		s.evicted.before(t, pos, now.UnixMilli())
	}
}

// addNetwork and change are the only functions that add to these two tracks, because they also apply the entry.

func (s *Store) addNetwork(e event.Network) {
	k := KeyOf(&e)
	s.endpoints = s.endpoints.apply(k, &e)
	e.Endpoint = s.index.named(k)
	s.network.add(e)
}

func (s *Store) change(c Change) { s.domState = s.domState.apply(s.dom.add(c)) }

// Replay returns a table after more requests, to rebuild one from saved data.
func (t *Table) Replay(n *event.Network) *Table { return t.apply(KeyOf(n), n) }

// Replay is a state after one more change.
func (p *DOMState) Replay(c *Change) *DOMState { return p.apply(c) }
