package capture

import (
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/protocol"
)

// pauseLocked records that a thread of a tab paused, or paused no longer, between two states of the tab.
func (s *Store) pauseLocked(tab event.Subject, was, is *protocol.TabPaused, now time.Time) {
	if was != nil && (is == nil || is.At != was.At) {
		at := now.UnixMilli()
		if is != nil {
			at = is.At // it went on and paused again
		}
		s.appendPauseLocked(event.Resumed, tab, was, at)
	}
	if is != nil && (was == nil || is.At != was.At) && !s.knowsPauseLocked(tab.Number, is) {
		s.appendPauseLocked(event.Paused, tab, is, is.At)
	}
}

func (s *Store) appendPauseLocked(op string, tab event.Subject, p *protocol.TabPaused, at int64) {
	bufferIn[event.Inspection](s, Variables).add(event.Inspection{
		Head: event.Head{At: at, Subject: tab}, Op: op, By: event.Clean(p.By), Thread: event.Clean(p.Kind), Reason: event.Clean(p.Reason), Location: event.Clean(p.Place),
	})
}

// knowsPauseLocked reports whether a pause has been recorded: by an earlier daemon, which did not see its end.
func (s *Store) knowsPauseLocked(tab int, p *protocol.TabPaused) bool {
	for _, e := range bufferIn[event.Inspection](s, Variables).View().From(0) {
		if e.Op == event.Paused && e.At == p.At && e.Tab() == tab && e.Thread == p.Kind {
			return true
		}
	}
	return false
}
