package capture

import (
	"maps"

	"tidemark.dev/tidemark/host/internal/event"
)

// evictions remember up to which position each subject's entries were evicted from each buffer, so that a client of one page
// does not hear of another page's evictions.
type evictions struct {
	last map[evictedFrom]uint64
	// newest are the times of the newest entries that were evicted, in milliseconds; 0 where none was.
	newest [Gaps]int64
	shared bool
}

type evictedFrom struct {
	track   Track
	subject event.Subject // the zero value: any
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
func (e *evictions) before(t Track, pos uint64, at int64) {
	e.own()
	e.last[evictedFrom{track: t}] = pos - 1
	e.newest[t] = max(e.newest[t], at)
}

func (e *evictions) note(t Track, pos uint64, h *event.Head) {
	e.own()
	k := evictedFrom{t, h.Subject}
	if _, known := e.last[k]; !known && len(e.last) >= maxEvictions {
		k = evictedFrom{track: t}
	}
	e.last[k] = pos
	e.newest[t] = max(e.newest[t], h.At)
}

func (e *evictions) view() map[evictedFrom]uint64 {
	e.shared = true
	return e.last
}

// Evicted says whether an entry of a section, at a position or after it, is no longer held, of those
// pages that covers names.
func (v *View) Evicted(s Section, from uint64, covers func(event.Subject) bool) bool {
	t := s.Track()
	if from >= v.tracks[t].First() {
		return false
	}
	for k, pos := range v.evicted {
		if k.track == t && pos >= from && (k.subject == event.Subject{} || covers(k.subject)) {
			return true
		}
	}
	return false
}
