package conversation

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// hookDelay is how long after a call its hook may report it.
const hookDelay = 300 * time.Millisecond

// span is the time in which a call ran, in nanoseconds since 1970.
type span struct {
	call *Called
	turn *Turn
	at   int // its place in the outline
	// begin is when it began at the earliest, unless its hook was late. Likely is when it began, where the agent's calls ran one after
	// another. Asked is when the agent wanted it, 0 where that is not known.
	begin, likely, end, asked int64
}

// settle sets when a call began: its duration before its end, if its agent reports one. An agent asks for all calls of a message
// before it runs the first one.
func (c *Called) settle() {
	asked := millis(c.asked)
	if c.Ended == nil || c.asked != 0 && c.timed() == 0 && !asked.After(c.Ended.Time) {
		if c.asked != 0 {
			c.Started = asked
		}
		return
	}
	end := c.Ended.Time
	c.Started.Time = end.Add(-c.timed())
	if c.asked != 0 && c.Started.Before(asked.Time) && !asked.After(end) {
		c.Started = asked
	}
}

// timed is how long before its end a call began, 0 where that is not known.
func (c *Called) timed() time.Duration {
	if c.untimed {
		return 0
	}
	return time.Duration(c.DurationMs) * time.Millisecond
}

// span sets when a call ran. A command in the background runs until its end is known, or the session ends.
func (c *Called) span(ends []int64) {
	if c.background {
		if c.Ended, c.DurationMs = nil, 0; c.finished != 0 {
			end := millis(c.finished)
			c.Ended, c.DurationMs = &end, int(max(0, end.Sub(c.Started.Time).Milliseconds()))
		}
	}
	s := &c.spanned
	s.call, s.end = c, math.MaxInt64
	if c.Ended != nil {
		s.end = c.Ended.UnixNano()
	} else {
		for _, at := range ends {
			if at >= c.Started.UnixMilli() {
				s.end = min(s.end, time.UnixMilli(at).UnixNano())
			}
		}
	}
	s.begin = c.Started.Add(-hookDelay).UnixNano()
	if c.asked != 0 {
		s.asked = time.UnixMilli(c.asked).UnixNano()
		s.begin = max(s.begin, time.UnixMilli(c.asked).UnixNano())
		if c.timed() == 0 || c.background {
			s.begin = time.UnixMilli(c.asked).UnixNano()
		}
	}
	s.begin = min(s.begin, c.Started.UnixNano())
	s.likely = s.begin
}

// bound puts the likely beginnings of calls behind the ends of those of the same agent that ended before: an agent that runs
// calls one after another waits for the hook of each.
func bound(calls map[*Called]*Called) {
	ends := map[string][]int64{} // by subagent
	for _, c := range calls {
		if c.Ended != nil && !c.background {
			ends[c.Subagent] = append(ends[c.Subagent], c.spanned.end)
		}
	}
	for _, list := range ends {
		slices.Sort(list)
	}
	for _, c := range calls {
		list := ends[c.Subagent]
		if n, _ := slices.BinarySearchFunc(list, c.Started.UnixNano(), cmp.Compare); n > 0 {
			c.spanned.likely = max(c.spanned.likely, list[n-1])
		}
	}
}
