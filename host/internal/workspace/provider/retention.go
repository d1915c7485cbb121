package provider

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/retention"
)

// SafetyAge is how long the safety snapshot of a restore counts as referred to.
const SafetyAge = time.Hour

// Policy bounds the snapshots of a workspace. A zero field bounds nothing.
type Policy struct {
	// Count and Age delete what nothing refers to. Bytes is a hard budget.
	Count int
	Age   time.Duration
	Bytes int64
}

// DefaultPolicy is the policy of a user who has set none.
var DefaultPolicy = Policy{Count: 500, Age: 7 * 24 * time.Hour, Bytes: 2 << 30}

// Span is how many bytes only the snapshots from First to Last need. Deleting all of these frees them.
type Span struct {
	First, Last uint64
	Bytes       int64
}

// Stored are the snapshots of a workspace and what they take on disk.
type Stored struct {
	Snapshots []Snapshot
	// Spans are the contents by the snapshots that need them. Fixed are the bytes that no deletion frees.
	Spans []Span
	Fixed int64
}

// Forced is a snapshot that is deleted though something refers to it.
type Forced struct {
	Number uint64
	// By is what refers to it.
	By string
}

// Choice says which snapshots to delete.
type Choice struct {
	// Delete are the numbers, sorted. Forced are those of them that something refers to.
	Delete []uint64
	Forced []Forced
	// Left is how many bytes remain, and Over how many of them exceed the budget.
	Left, Over int64
}

// Choose says which snapshots the policy deletes. References are the snapshots that something refers to, such as named
// checkpoints, branches, and safety snapshots younger than [SafetyAge], each with the name of what refers to it.
//
// The newest snapshot is never deleted. Those that are referred to are deleted only for the hard budget, the oldest first,
// after everything else. Where contents that stay exceed the budget by themselves, it deletes none that frees no contents.
// Count and age do not need Stored.Spans.
func (p Policy) Choose(stored Stored, references map[uint64]string, age retention.Age) Choice {
	snapshots := slices.SortedFunc(slices.Values(stored.Snapshots), func(a, b Snapshot) int { return cmp.Compare(a.Number, b.Number) })
	kept := map[uint64]bool{}
	for _, s := range snapshots {
		kept[s.Number] = true
	}
	var free, referred []uint64 // the oldest first, without the newest
	for i, s := range snapshots {
		_, is := references[s.Number]
		switch {
		case i == len(snapshots)-1:
		case is:
			referred = append(referred, s.Number)
		case p.Age > 0 && age(s.At, p.Age) > p.Age:
			delete(kept, s.Number)
		default:
			free = append(free, s.Number)
		}
	}
	for len(free) > 0 && p.Count > 0 && len(kept) > p.Count {
		delete(kept, free[0])
		free = free[1:]
	}
	room := newRoom(stored, kept)
	choice := Choice{}
	var removed []uint64
	for _, n := range append(free, referred...) {
		if p.Bytes == 0 || room.bytes <= p.Bytes {
			break
		}
		room.remove(n)
		removed = append(removed, n)
	}
	if room.bytes-stored.Fixed > p.Bytes {
		removed = slices.DeleteFunc(removed, func(n uint64) bool { return room.keep(n) })
	}
	for _, n := range removed {
		if by, is := references[n]; is {
			choice.Forced = append(choice.Forced, Forced{n, by})
		}
	}
	for _, s := range snapshots {
		if !kept[s.Number] {
			choice.Delete = append(choice.Delete, s.Number)
		}
	}
	choice.Left = room.bytes
	if p.Bytes > 0 {
		choice.Over = max(0, room.bytes-p.Bytes)
	}
	return choice
}

// room computes what the kept snapshots take. Spans that are not needed are dropped.
type room struct {
	kept  map[uint64]bool
	order []uint64 // of the kept ones
	spans []Span
	bytes int64
	// dropped are the spans that [room.remove] dropped.
	dropped []Span
}

func newRoom(stored Stored, kept map[uint64]bool) *room {
	r := &room{kept: kept, order: slices.Sorted(maps.Keys(kept)), spans: slices.Clone(stored.Spans), bytes: stored.Fixed}
	r.spans = slices.DeleteFunc(r.spans, func(s Span) bool { return !r.needs(s) })
	for _, s := range r.spans {
		r.bytes += s.Bytes
	}
	return r
}

func (r *room) needs(s Span) bool {
	i, _ := slices.BinarySearch(r.order, s.First)
	return i < len(r.order) && r.order[i] <= s.Last
}

func (r *room) remove(number uint64) {
	delete(r.kept, number)
	if i, ok := slices.BinarySearch(r.order, number); ok {
		r.order = slices.Delete(r.order, i, i+1)
	}
	r.spans = slices.DeleteFunc(r.spans, func(s Span) bool {
		if s.First > number || s.Last < number || r.needs(s) {
			return false
		}
		r.bytes -= s.Bytes
		r.dropped = append(r.dropped, s)
		return true
	})
}

// keep takes back the removal of a snapshot, if that freed nothing, and reports whether it did.
func (r *room) keep(number uint64) bool {
	if slices.ContainsFunc(r.dropped, func(s Span) bool { return s.First <= number && number <= s.Last && s.Bytes > 0 }) {
		return false
	}
	r.kept[number] = true
	return true
}
