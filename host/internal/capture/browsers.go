package capture

import (
	"maps"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/protocol"
)

// goneAfter is how long a browser may be silent before its tabs count as closed: the extension
// tries again at least every 10 s.
const goneAfter = 30 * time.Second

// browser is one profile of one browser, as its extension introduced it.
type browser struct {
	instance, name, version string
	session                 string // one run of the browser; "" if it does not report one
	stream                  string
	next                    int64 // the number of the event expected next
	kept                    int64 // the number up to which events of the stream are on disk
	connections             int
	silentSince             time.Time // when the last connection ended
	lastEvent               time.Time
	tabs                    map[int]int // the browser's id → the host's
}

type tab struct {
	Tab
	browser *browser
	url     string
	since   int64 // when the tab came to url, or was first seen there, in milliseconds since 1970; 0 if unknown
	origin  string
	before  string // the origin of the document before this one; "" if unknown
	title   string
	active  time.Time // when anything but a socket frame, save one that announces an update, came from it last, by the host's clock
	unseen  bool      // it was not watched at its last report
	replay  *replay   // what a new worker reports again; nil for nothing
	failure failure
	refresh refresh
}

// Hello takes a browser's introduction and returns the number of the event it should send next: the
// first that is not acknowledged.
func (s *Store) Hello(h *protocol.Hello, now time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since, away := s.awayLocked(); away && now.Sub(since) >= goneAfter {
		s.gaps.push(Gap{From: since.UTC(), To: now.UTC(), Reason: protocol.GapNoBrowser})
	}
	b := s.browsers[h.Instance]
	if b == nil {
		b = &browser{instance: h.Instance, lastEvent: now, tabs: map[int]int{}}
		s.browsers[h.Instance] = b
	}
	known := b.stream != ""
	restarted := known && h.Session != "" && b.session != h.Session
	if restarted {
		// The browser was restarted: its old tabs no longer exist, whatever ids the new ones have.
		for browserID, id := range b.tabs {
			s.closeTabLocked(b, browserID, id, now)
		}
	}
	switch {
	case !known && h.First > 1:
		s.gaps.miss(browserOf(b.instance), protocol.GapNotReplayed, time.UnixMilli(1), now, 0)
	case known && b.stream != h.Stream:
		maps.DeleteFunc(s.flights, func(k requestKey, _ Flight) bool { return k.instance == b.instance })
		switch {
		case h.Session == "":
			s.gaps.miss(browserOf(b.instance), protocol.GapDisconnected, b.lastEvent, now, 0)
		case restarted:
			// Nobody knows how many events the old one had left when it ended.
			s.gaps.miss(browserOf(b.instance), protocol.GapBrowserEnded, b.lastEvent, b.lastSeen(), 0)
		default: // the new worker reports since when the old one was dead
			s.expectReplay(b)
		}
	case known && h.First > b.next:
		s.gaps.miss(browserOf(b.instance), protocol.GapDisconnected, b.lastSeen(), now, int(h.First-b.next))
	}
	if b.stream != h.Stream {
		b.next, b.kept = h.First, h.First
	}
	b.next, b.kept = max(b.next, h.First), max(b.kept, h.First)
	b.name, b.version, b.session, b.stream = h.Browser, h.Extension, h.Session, h.Stream
	b.connections++
	b.silentSince = time.Time{}
	s.notifyLocked()
	if s.keep.on {
		return b.kept
	}
	return b.next
}

// awayLocked reports whether every known browser is silent, and since when.
func (s *Store) awayLocked() (since time.Time, away bool) {
	for _, b := range s.browsers {
		if b.connections > 0 {
			return time.Time{}, false
		}
		if b.silentSince.After(since) {
			since = b.silentSince
		}
	}
	return since, !since.IsZero()
}

func (b *browser) lastSeen() time.Time {
	if b.silentSince.IsZero() {
		return b.lastEvent
	}
	return b.silentSince
}

// Disconnected records that one connection of a browser has ended.
func (s *Store) Disconnected(instance string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.browsers[instance]
	if b == nil {
		return
	}
	if b.connections--; b.connections <= 0 {
		b.connections, b.silentSince = 0, now
	}
	s.notifyLocked()
}

// Apply stores consecutive events of a stream and returns the next expected number, which acknowledges all below it. It
// skips events that it already has. Missing numbers, and nil events (which could not be decoded), become gaps.
func (s *Store) Apply(instance, stream string, first int64, events []event.Event, now time.Time) (int64, *protocol.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.browsers[instance]
	if b == nil || b.stream != stream {
		return 0, event.Errorf(protocol.CodeOutOfOrder, "events of stream %q arrived before the hello that starts it", stream)
	}
	if had := b.next - first; had > 0 {
		if had >= int64(len(events)) {
			return b.next, nil
		}
		events, first = events[had:], b.next
	}
	if first > b.next {
		s.gaps.miss(browserOf(instance), protocol.GapDisconnected, b.lastSeen(), now, int(first-b.next))
	}
	malformed := 0
	last := now
	for _, ev := range events {
		if ev == nil {
			malformed++
			continue
		}
		correctLocked(s, ev, now)
		head := ev.Header()
		last = head.Time()
		head.Number = s.hostTabLocked(b, head.Tab())
		s.applyLocked(b, ev, now)
	}
	if malformed > 0 {
		s.gaps.miss(browserOf(instance), protocol.GapMalformed, b.lastSeen(), now, malformed)
	}
	b.next = first + int64(len(events))
	b.lastEvent = last // by the browser's clock: what comes after it may be lost
	if last.After(now) {
		b.lastEvent = now
	}
	s.notifyLocked()
	return b.next, nil
}

// hostTabLocked is the host's own id of a browser's tab: small, and unique across browsers.
func (s *Store) hostTabLocked(b *browser, id int) int {
	if id == 0 {
		return 0
	}
	if known := b.tabs[id]; known != 0 {
		return known
	}
	s.lastTab++
	b.tabs[id] = s.lastTab
	s.tabs[s.lastTab] = &tab{Tab: Tab{ID: s.lastTab}, browser: b}
	return s.lastTab
}

// SetTabs replaces the tabs of a browser. Tabs that are no longer listed are closed.
func (s *Store) SetTabs(instance string, tabs []protocol.Tab, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.browsers[instance]
	if b == nil {
		return
	}
	open := map[int]bool{}
	for _, p := range tabs {
		id := s.hostTabLocked(b, p.ID)
		open[p.ID] = true
		t := s.tabs[id]
		t.Watched, t.Capture, t.DOM, t.Active, t.Note = p.Watched, p.Capture, p.DOM, p.Active, event.Clean(p.Note)
		if p.Watched || OriginOf(event.Clean(p.URL)) != t.origin {
			t.title = event.Clean(p.Title) // an unwatched tab reports no address: its remaining entries keep the old one
		}
		// While a tab is watched its navigation events say where it is, in their place in the order.
		if url := event.Clean(p.URL); t.url == "" || !p.Watched || t.unseen {
			t.url, t.since, t.origin = url, now.UnixMilli(), OriginOf(url) // an unwatched tab was not seen before, wherever it was
			if p.Watched {
				s.domState = s.domState.apply(&Change{Head: event.Head{Subject: event.InTab(id, "")}, Op: "navigated", URL: url})
			}
		}
		t.unseen = !p.Watched
		s.pauseLocked(event.InTab(id, t.origin), t.Paused, p.Paused, now)
		s.pauseLocked(event.InTab(id, t.origin), t.PausedPart, p.PausedPart, now)
		t.Paused, t.PausedPart = p.Paused, p.PausedPart
	}
	for browserID, id := range b.tabs {
		if !open[browserID] {
			s.closeTabLocked(b, browserID, id, now)
		}
	}
	s.notifyLocked()
}

func (s *Store) closeTabLocked(b *browser, browserID, id int, now time.Time) {
	delete(b.tabs, browserID)
	head := event.Head{At: now.UnixMilli(), Subject: event.InTab(id, "")}
	if t := s.tabs[id]; t != nil {
		head.Place = t.origin
		s.pauseLocked(head.Subject, t.Paused, nil, now)
		s.pauseLocked(head.Subject, t.PausedPart, nil, now)
	}
	s.forgetElements(head, func(e elementID) bool { return e.tab == id })
	if url := s.domState.URL(id); url != "" { // nothing is recorded of a tab that was never watched
		if head.Place = OriginOf(url); b.connections == 0 {
			head.At = b.lastSeen().UnixMilli()
		}
		s.change(Change{Head: head, Op: "closed", URL: url})
	}
	maps.DeleteFunc(s.flights, func(_ requestKey, f Flight) bool { return f.Tab == id })
	s.gaps.closeTab(id, now)
	delete(s.tabs, id)
}

// forgetSilentLocked drops the tabs of browsers that have been silent for too long.
func (s *Store) forgetSilentLocked(now time.Time) {
	for _, b := range s.browsers {
		if b.connections > 0 || b.silentSince.IsZero() || now.Sub(b.silentSince) < goneAfter {
			continue
		}
		for browserID, id := range b.tabs {
			s.closeTabLocked(b, browserID, id, now)
		}
	}
}

// BrowserTab names a tab as its browser does, for requests to the extension.
func (s *Store) BrowserTab(id int) (instance string, browserID int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tabs[id]
	if t == nil {
		return "", 0, false
	}
	for browserID, ours := range t.browser.tabs {
		if ours == id {
			return t.browser.instance, browserID, true
		}
	}
	return "", 0, false
}

// HostTab is the host's id of a browser's tab, 0 when it is not known.
func (s *Store) HostTab(instance string, browserID int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.browsers[instance]; b != nil {
		return b.tabs[browserID]
	}
	return 0
}

// WatchedTabs are the host's ids of a browser's watched tabs.
func (s *Store) WatchedTabs(instance string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []int
	for id, t := range s.tabs {
		if t.browser.instance == instance && t.Watched {
			ids = append(ids, id)
		}
	}
	return ids
}

// Miss records that a message of a browser could not be taken.
func (s *Store) Miss(instance, reason string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.browsers[instance]; b != nil {
		s.gaps.miss(browserOf(instance), reason, b.lastSeen(), now, 0)
		s.notifyLocked()
	}
}

// Lost records that saved entries can no longer be read.
func (s *Store) Lost(reason string, from, to time.Time, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps.miss(Source{}, reason, from, to, n)
	s.notifyLocked()
}

// Acknowledged is the number below which every event of a browser's stream is taken for good; 0 for a
// stream that is not known.
func (s *Store) Acknowledged(instance, stream string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.browsers[instance]
	switch {
	case b == nil || b.stream != stream:
		return 0
	case s.keep.on:
		return b.kept
	}
	return b.next
}
