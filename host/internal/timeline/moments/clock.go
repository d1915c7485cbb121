package moments

import (
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// A session has one clock: the system's, which times browser events and snapshots too. While the machine is suspended it
// continues. Where it was set back, times of the session continue from before, by the shift of its moments.

// maxSlew is how far the system's clock may fall behind the process's between two moments without being set back.
const maxSlew = time.Second

// reading is when the clocks of the system and of the process were read together.
type reading struct {
	at  time.Time
	ran time.Duration
}

// Stamp returns a moment of now.
func (ls *Lines) Stamp(m records.Moment) records.Moment {
	m.At, m.Ran = ls.o.Clock(), ls.o.Elapsed()
	return m
}

// follow sets the shift of a moment of now. The caller has the line's turn.
func (l *Line) follow(m *records.Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.read
	l.read = &reading{m.At, m.Ran}
	before := lastOf(l.moments, m.Session)
	if before == nil {
		return // the session begins
	}
	m.Shift = before.Shift
	if last != nil {
		if back := m.Ran - last.ran - m.At.Sub(last.at); back > maxSlew {
			m.Shift += back
		}
	}
	// The daemon did not run when the clock was set back, or it was set back a little: what has passed is not known.
	m.Shift += max(0, before.At.Add(before.Shift).Sub(m.At.Add(m.Shift)))
	if m.Source == records.FromFiles && m.Shift == before.Shift && !m.Edited.IsZero() && m.Edited.Before(m.At) { // what they broke is after them
		if m.At = m.Edited; m.At.Before(before.At) {
			m.At = before.At
		}
	}
}

// lastOf returns the last moment of a session that was recorded when it happened, nil if there is none.
func lastOf(moments []*records.Moment, session string) *records.Moment {
	for i := len(moments) - 1; i >= 0; i-- {
		if m := moments[i]; m.Session == session && !m.Placed {
			return m
		}
	}
	return nil
}

// Shift returns how far the clock was set back in a session.
func (l *Line) Shift(s *records.Session) time.Duration {
	if m := lastOf(l.All(), s.ID); m != nil {
		return m.Shift
	}
	return 0
}

// before returns the last moment of a session at or before a time from its start that was recorded when it happened, and
// of which a function is true; nil if there is none.
func (l *Line) before(s *records.Session, elapsed time.Duration, is func(*records.Moment) bool) (found *records.Moment) {
	for _, m := range l.Of(s) {
		if !m.Placed && m.Elapsed(s) <= elapsed && is(m) {
			found = m
		}
	}
	return found
}

// lastAt returns when the last moment was recorded, zero if there is none.
func (l *Line) lastAt() time.Time {
	for _, m := range slices.Backward(l.All()) {
		if !m.Placed {
			return m.At
		}
	}
	return time.Time{}
}
