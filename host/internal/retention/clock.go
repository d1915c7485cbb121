package retention

import (
	"encoding/json"
	"math"
	"sync"
	"time"
)

// Age returns how old something is that was written at a time of the system's clock. Limit is the age at which the caller
// deletes it, more than 0.
type Age func(written time.Time, limit time.Duration) time.Duration

// Never returns the age of what is never too old.
func Never(time.Time, time.Duration) time.Duration { return 0 }

// Wall returns ages by a clock as it is set. It is for a user who names an age, and for tests.
func Wall(clock func() time.Time) Age {
	return func(written time.Time, _ time.Duration) time.Duration { return clock().Sub(written) }
}

// Reading is when the clocks of the machine were read together.
type Reading struct {
	// At is the system's clock, which may be wrong.
	At time.Time
	// Boot names the start from which Ran counts, also while the machine is suspended. Nobody sets that clock.
	Boot string
	Ran  time.Duration
}

// A span ends where the system's clock is more than slack from the clock that nobody sets, or more than startSlack at a start
// of the machine. What the start adds counts up to stepCounts, and only beyond the times that were expected in the last
// recent: a battery that is wrong in the same way at each start ages nothing each time.
const (
	slack      = int64(time.Minute / time.Millisecond)
	startSlack = int64(time.Hour / time.Millisecond)
	stepCounts = 24 * int64(time.Hour/time.Millisecond)
	recent     = 7 * 24 * int64(time.Hour/time.Millisecond)
)

// farthest bounds times, so that sums of them do not overflow: 35,000 years.
const farthest = int64(1) << 50

// A clock is saved when it steps, and each saveEach. It keeps mostSpans, the newest.
const (
	saveEach  = 10 * int64(time.Minute/time.Millisecond)
	mostSpans = 1000
)

// Clock tells how old things are, whatever the system's clock is set to. The system's clock cannot be trusted: a machine with
// an empty battery starts in another year, and a user sets it. Deleting by it would delete everything after one step forward.
//
// A Clock is read whenever an age is asked for, and remembers the spans in which the system's clock ran steadily. What passed
// between two spans is what the clock that nobody sets has counted. That clock begins again with the machine. Then something
// may have passed before: the machine was off, or somebody set the system's clock, and nothing tells which. Of that at most a
// day counts, and at most half of the age at which the caller deletes. So:
//   - Setting the clock while the machine runs ages nothing, and setting it back makes nothing younger. While it is off,
//     it ages things by at most a day.
//   - What was written under a wrong clock ages too, from when it was really written.
//   - A machine that was suspended, or off for a night, ages everything by that time.
//   - After a longer time off, old things are kept longer, by at most their limit. They are not kept for ever.
//
// It is safe for concurrent use.
type Clock struct {
	read func() Reading
	save func(data []byte)

	mu    sync.Mutex
	state state
	saved int64 // what was last saved, the end of the newest span
}

// state is what is saved. Times are in milliseconds.
type state struct {
	Boot  string `json:"boot"`
	Ran   int64  `json:"ran"`
	Spans []span `json:"spans"`
}

// span is a time in which the system's clock ran steadily.
type span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Ran is what has passed for certain since the span before. Step is what may have passed beside that, with the machine off.
	Ran  int64 `json:"ran,omitempty"`
	Step int64 `json:"step,omitempty"`
}

// NewClock returns a clock that continues from what was saved. With nothing, or something damaged, what is older than the
// clock counts as written at most a day ago. Save keeps data for the next clock. It must not call back.
func NewClock(read func() Reading, saved []byte, save func(data []byte)) *Clock {
	c := &Clock{read: read, save: save}
	if json.Unmarshal(saved, &c.state) != nil || !c.state.valid() {
		c.state = state{}
	}
	if n := len(c.state.Spans); n > 0 {
		c.saved = c.state.Spans[n-1].To
	}
	return c
}

// valid reports whether a state can be computed with.
func (s *state) valid() bool {
	for _, p := range s.Spans {
		if p.Ran < 0 || p.Step < 0 || max(p.Ran, p.Step, p.From, p.To) > farthest || min(p.From, p.To) < -farthest {
			return false
		}
	}
	return s.Ran >= 0 && s.Ran <= farthest && len(s.Spans) <= mostSpans
}

// Age implements [Age].
func (c *Clock) Age(written time.Time, limit time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	at := min(max(written.UnixMilli(), -farthest), farthest)
	age := c.state.age(at, min(stepCounts, limit.Milliseconds()/2))
	return time.Duration(min(age, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// look reads the clocks. The caller has the lock.
func (c *Clock) look() {
	r := c.read()
	steps := len(c.state.Spans)
	last := c.state.follow(r.At.UnixMilli(), r.Boot, r.Ran.Milliseconds())
	if last.To-c.saved < saveEach && last.To >= c.saved && len(c.state.Spans) == steps {
		return
	}
	if data, err := json.Marshal(&c.state); err == nil {
		c.save(data)
		c.saved = last.To
	}
}

// follow adds a reading, and returns the newest span.
func (s *state) follow(at int64, boot string, ran int64) *span {
	same := boot == s.Boot
	passed, most := ran, startSlack // since the machine started, which is after the last reading
	if same {
		passed, most = max(0, ran-s.Ran), slack
	}
	s.Boot, s.Ran = boot, ran
	n := len(s.Spans)
	if n == 0 {
		s.Spans = []span{{From: at, To: at}}
		return &s.Spans[0]
	}
	last := &s.Spans[n-1]
	if ahead := at - last.To - passed; ahead >= -most && ahead <= most {
		last.To = at
		return last
	}
	next := span{From: at, To: at, Ran: passed}
	if !same {
		next.Step = max(0, at-s.expected()-passed)
	}
	s.Spans = append(s.Spans, next)
	s.Spans = s.Spans[max(0, len(s.Spans)-mostSpans):]
	return &s.Spans[len(s.Spans)-1]
}

// expected returns the latest time that the system's clock would have at the end of the newest span by any span of the last
// recent.
func (s *state) expected() int64 {
	latest, passed := int64(math.MinInt64), int64(0)
	for i := len(s.Spans) - 1; i >= 0 && passed <= recent; i-- {
		latest = max(latest, s.Spans[i].To+passed)
		passed += s.Spans[i].lasted() + s.Spans[i].before(stepCounts)
	}
	return latest
}

func (p span) lasted() int64 { return max(0, p.To-p.From) }

// before returns what passed between the span before and this one. A step counts up to most.
func (p span) before(most int64) int64 { return p.Ran + min(p.Step, most) }

// age returns the age of what was written at a time of the system's clock. Where the clock had that time more than once, it is
// the last one.
func (s *state) age(at, most int64) int64 {
	ended := int64(0)    // how long ago a span ended
	between := int64(-1) // the age of what was written between two spans
	for i := len(s.Spans) - 1; ; i-- {
		p := s.Spans[i]
		if at >= p.From && at <= p.To {
			return ended + p.To - at
		}
		ended += p.lasted()
		switch {
		case i > 0 && between < 0 && at > s.Spans[i-1].To && at < p.From:
			between = ended + max(0, p.before(most)-(at-s.Spans[i-1].To))
		case i == 0 && between >= 0:
			return between
		case i == 0 && at < p.From:
			return ended + min(p.From-at, most)
		case i == 0:
			return 0 // later than every time that the clock had
		}
		ended += p.before(most)
	}
}
