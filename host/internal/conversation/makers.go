package conversation

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

const (
	// mtimeSlack is how far the time of a file may be from the call that wrote it.
	mtimeSlack = 10 * time.Millisecond
	// hookDelay is how long after a call its hook may report it.
	hookDelay = 300 * time.Millisecond
)

// window returns the time in which a change of a file was made.
func window(change *event.FileChange) (from, to time.Time) {
	if change.Edited != 0 {
		at := time.UnixMilli(change.Edited)
		return at.Add(-mtimeSlack), at.Add(mtimeSlack)
	}
	return time.UnixMilli(change.Since), time.UnixMilli(change.At)
}

// Makers returns the calls that may have made a change of a file. There is one if it is known, and several where calls
// overlap. A call that names the file is preferred to a command.
func (o *Outline) Makers(change *event.FileChange) (calls []*Called, turns []*Turn) {
	if change.Place != o.Workspace || o.index == nil {
		return nil, nil
	}
	o.index.once.Do(func() { o.index.build(o) })
	from, to := window(change)
	found, _ := o.index.edits[change.Path].overlapping(from, to)
	if change.From != "" {
		before, _ := o.index.edits[change.From].overlapping(from, to)
		found = append(found, before...)
	}
	if len(found) == 0 {
		found, _ = o.index.commands.overlapping(from, to)
	}
	slices.SortFunc(found, func(a, b *span) int { return a.at - b.at })
	for _, s := range slices.Compact(found) {
		calls, turns = append(calls, s.call), append(turns, s.turn)
	}
	return calls, turns
}

// index finds the calls of an outline that ran in a span of time, without a walk over all of them.
type index struct {
	once sync.Once
	// edits are the calls that name a file, by its path in the workspace. Commands are those that name none.
	edits    map[string]*spans
	commands *spans
}

func (x *index) build(o *Outline) {
	x.edits, x.commands = map[string]*spans{}, &spans{}
	at := 0
	o.All(func(t *Turn, c *Called) {
		at++
		if c.Outcome == NotPermitted {
			return
		}
		s := &span{call: c, turn: t, at: at, begin: c.begin.UnixNano(), end: math.MaxInt64}
		if c.Ended != nil {
			s.end = c.Ended.UnixNano()
		}
		if Runs(c.Tool) {
			x.commands.add(s)
		}
		if !c.Edits {
			return
		}
		for _, p := range c.Paths(o.Workspace) {
			if x.edits[p] == nil {
				x.edits[p] = &spans{}
			}
			x.edits[p].add(s)
		}
	})
	x.commands.arrange()
	for _, s := range x.edits {
		s.arrange()
	}
}

// span is the time in which a call ran, in nanoseconds since 1970.
type span struct {
	call       *Called
	turn       *Turn
	at         int // its place in the outline
	begin, end int64
}

// spans are spans in the order of their beginnings. Latest is a tree of the latest ends: the two below node n are 2n and 2n+1.
type spans struct {
	list   []*span
	latest []int64
}

func (s *spans) add(one *span) { s.list = append(s.list, one) }

func (s *spans) arrange() {
	slices.SortStableFunc(s.list, func(a, b *span) int { return cmp.Compare(a.begin, b.begin) })
	leaves := 1
	for leaves < len(s.list) {
		leaves *= 2
	}
	s.latest = slices.Repeat([]int64{math.MinInt64}, 2*leaves)
	for i, one := range s.list {
		s.latest[leaves+i] = one.end
	}
	for n := leaves - 1; n > 0; n-- {
		s.latest[n] = max(s.latest[2*n], s.latest[2*n+1])
	}
}

// overlapping returns the spans that overlap a span of time, and how many nodes of the tree it looked at. The work grows with
// what it returns, and with the logarithm of what there is.
func (s *spans) overlapping(from, to time.Time) (found []*span, looked int) {
	if s == nil || len(s.list) == 0 {
		return nil, 0
	}
	begun, _ := slices.BinarySearchFunc(s.list, to.UnixNano()+1, func(one *span, at int64) int { return cmp.Compare(one.begin, at) })
	leaves, least := len(s.latest)/2, from.UnixNano()
	var look func(n, first, size int)
	look = func(n, first, size int) {
		looked++
		switch {
		case first >= begun || s.latest[n] < least:
		case n >= leaves:
			found = append(found, s.list[first])
		default:
			look(2*n, first, size/2)
			look(2*n+1, first+size/2, size/2)
		}
	}
	look(1, 0, leaves)
	return found, looked
}
