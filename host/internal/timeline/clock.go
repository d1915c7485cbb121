package timeline

import (
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

// seconds returns a duration in seconds, in milliseconds' steps.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// stamp returns a moment of now.
func (o *Options) stamp(m Moment) Moment {
	m.At, m.Ran = o.Clock(), o.Elapsed()
	return m
}

// follow sets the shift of a moment of now. The caller has the line's turn.
func (l *line) follow(m *Moment) {
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
func lastOf(moments []*Moment, session string) *Moment {
	for i := len(moments) - 1; i >= 0; i-- {
		if m := moments[i]; m.Session == session && !m.Placed {
			return m
		}
	}
	return nil
}

// shift returns how far the clock was set back in a session.
func (l *line) shift(s *Session) time.Duration {
	if m := lastOf(l.all(), s.ID); m != nil {
		return m.Shift
	}
	return 0
}

// before returns the last moment of a session at or before a time from its start that was recorded when it happened, and
// of which a function is true; nil if there is none.
func (l *line) before(s *Session, elapsed time.Duration, is func(*Moment) bool) (found *Moment) {
	for _, m := range l.of(s) {
		if !m.Placed && m.Elapsed(s) <= elapsed && is(m) {
			found = m
		}
	}
	return found
}
