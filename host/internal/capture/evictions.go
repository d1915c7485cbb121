package capture

import (
	"maps"

	"tidemark.dev/tidemark/host/internal/event"
)

// evictions remember up to which position each page's entries were evicted from each buffer, so that a client of one page
// does not hear of another page's evictions.
type evictions struct {
	last   map[evictedFrom]uint64
	newest sectionTimes
	shared bool
}

// sectionTimes are the times of the newest entries that have left the buffers, in milliseconds; 0
// where none has.
type sectionTimes struct{ console, network, websocket, actions, dom int64 }

func (t *sectionTimes) of(s Section) *int64 {
	switch s {
	case ConsoleSection:
		return &t.console
	case NetworkSection:
		return &t.network
	case WebSocketSection:
		return &t.websocket
	case DOMSection:
		return &t.dom
	}
	return &t.actions
}

type evictedFrom struct {
	section Section
	origin  string
	tab     int
}

// maxEvictions bounds what is remembered; beyond it, the pages are one.
const maxEvictions = 1000

func (e *evictions) own() {
	switch {
	case e.last == nil:
		e.last = map[evictedFrom]uint64{}
	case e.shared:
		e.last, e.shared = maps.Clone(e.last), false
	}
}

// before notes that everything before a position is no longer held, whoever's it was; the newest of
// it is of a time, in milliseconds.
func (e *evictions) before(s Section, pos uint64, at int64) {
	e.own()
	e.last[evictedFrom{section: s}] = pos - 1
	newest := e.newest.of(s)
	*newest = max(*newest, at)
}

func (e *evictions) note(s Section, pos uint64, h *event.Head) {
	e.own()
	k := evictedFrom{s, h.Origin, h.Tab}
	if _, known := e.last[k]; !known && len(e.last) >= maxEvictions {
		k = evictedFrom{section: s}
	}
	e.last[k] = pos
	newest := e.newest.of(s)
	*newest = max(*newest, h.At)
}

func (e *evictions) view() map[evictedFrom]uint64 {
	e.shared = true
	return e.last
}

// Evicted says whether an entry of a section, at a position or after it, is no longer held, of those
// pages that covers names.
func (v *View) Evicted(s Section, from uint64, covers func(origin string, tab int) bool) bool {
	if from >= v.first(s) {
		return false
	}
	for k, pos := range v.evicted {
		if k.section == s && pos >= from && (k.origin == "" && k.tab == 0 || covers(k.origin, k.tab)) {
			return true
		}
	}
	return false
}

// first is the oldest position of a section that is held.
func (v *View) first(s Section) uint64 {
	switch s {
	case ConsoleSection:
		return v.Console.First()
	case NetworkSection:
		return v.Network.First()
	case WebSocketSection:
		return v.WebSocket.First()
	case DOMSection:
		return v.DOM.First()
	}
	return v.Actions.First()
}
