// Package ring keeps the newest values of a stream, addressed by positions that only grow.
//
// It guarantees: a value keeps its position for ever; the ring stays within its count and byte
// budget by evicting the oldest and counts what it evicted; a [View] never changes, however much is
// appended after it was taken, and reading one needs no lock. What a reader wants of marked values it gets
// without the others being touched, and labels tell values apart without touching any. There is one writer at a time: the
// caller serialises Append and View. It is pure.
package ring

import (
	"iter"
	"slices"
)

// Ring holds values of one kind. The zero value is not usable; see [New].
type Ring[T any] struct {
	maxCount, maxBytes int
	chunk              int
	size               func(*T) int
	mark, flag         func(*T) bool
	label              func(*T) uint64
	evict              func(uint64, *T)

	chunks      [][]T // each of length chunk once full; a slot is written once, before a view can see it
	labels      [][]uint64
	marked      []uint64
	flagged     []uint64
	base        uint64
	first, next uint64
	bytes       int
}

// Options bound a ring.
type Options[T any] struct {
	// MaxCount and MaxBytes are the budgets; the newest value is kept even when it alone is larger.
	MaxCount, MaxBytes int
	// Chunk is how many values are stored together, and so how many evicted ones may linger in
	// memory until their chunk is dropped; 0 means 64.
	Chunk int
	// Size gives a value's size in bytes.
	Size func(*T) int
	// Mark says whether [View.Marked] yields a value; nil: it yields all.
	Mark func(*T) bool
	// Flag says whether [View.Flagged] yields a value; nil: it yields none.
	Flag func(*T) bool
	// Label gives a value a number, for [View.Labels]; nil: none has one.
	Label func(*T) uint64
	// Evict is called with each value that leaves and its position, oldest first; may be nil.
	Evict func(uint64, *T)
	// Start is the position of the first value; 0 means 1.
	Start uint64
}

// New makes an empty ring. Positions begin at 1, so that 0 can mean "before everything".
func New[T any](o Options[T]) *Ring[T] {
	if o.Chunk == 0 {
		o.Chunk = 64
	}
	if o.Mark == nil {
		o.Mark = func(*T) bool { return true }
	}
	start := max(o.Start, 1)
	return &Ring[T]{
		maxCount: o.MaxCount, maxBytes: o.MaxBytes, chunk: o.Chunk, size: o.Size, mark: o.Mark, flag: o.Flag, label: o.Label, evict: o.Evict,
		base: start, first: start, next: start,
	}
}

// Append adds a value and returns its position and where it is stored, which never changes.
func (r *Ring[T]) Append(v T) (uint64, *T) {
	pos := r.next
	slot := int(pos - r.base)
	if slot == len(r.chunks)*r.chunk {
		r.chunks = append(r.chunks, make([]T, r.chunk))
		if r.label != nil {
			r.labels = append(r.labels, make([]uint64, r.chunk))
		}
	}
	stored := &r.chunks[slot/r.chunk][slot%r.chunk]
	*stored = v
	r.next++
	r.bytes += r.size(stored)
	if r.label != nil {
		r.labels[slot/r.chunk][slot%r.chunk] = r.label(stored)
	}
	if r.mark(stored) {
		r.marked = append(r.marked, pos)
	}
	if r.flag != nil && r.flag(stored) {
		r.flagged = append(r.flagged, pos)
	}
	for r.next-r.first > 1 && (int(r.next-r.first) > r.maxCount || r.bytes > r.maxBytes) {
		r.evictOldest()
	}
	return pos, stored
}

func (r *Ring[T]) evictOldest() {
	slot := int(r.first - r.base)
	v := &r.chunks[slot/r.chunk][slot%r.chunk]
	r.bytes -= r.size(v)
	if len(r.marked) > 0 && r.marked[0] == r.first {
		r.marked = r.marked[1:]
	}
	if len(r.flagged) > 0 && r.flagged[0] == r.first {
		r.flagged = r.flagged[1:]
	}
	r.first++
	if r.evict != nil {
		r.evict(r.first-1, v)
	}
	if int(r.first-r.base) == r.chunk {
		// Views share the old slice, so the shorter one is a copy.
		r.chunks = append(make([][]T, 0, len(r.chunks)), r.chunks[1:]...)
		if r.label != nil {
			r.labels = append(make([][]uint64, 0, len(r.labels)), r.labels[1:]...)
		}
		r.base += uint64(r.chunk)
	}
}

// SkipTo has the next value get a position later than its turn, and says whether it had to. A ring has
// no holes: what it holds is given up.
func (r *Ring[T]) SkipTo(pos uint64) bool {
	if pos <= r.next {
		return false
	}
	for r.first < r.next {
		r.evictOldest()
	}
	r.chunks, r.labels, r.base, r.first, r.next = nil, nil, pos, pos, pos
	return true
}

// Bytes is the size of what is held, in bytes.
func (r *Ring[T]) Bytes() int { return r.bytes }

// Next is the position that the next value will get.
func (r *Ring[T]) Next() uint64 { return r.next }

// View is the ring as it is now.
func (r *Ring[T]) View() View[T] {
	return View[T]{
		chunks: r.chunks, labels: r.labels, marked: r.marked, flagged: r.flagged, chunk: r.chunk, base: r.base, first: r.first, next: r.next,
	}
}

// View is an unchanging look at a ring, and at what is kept of what has left it.
type View[T any] struct {
	chunks            [][]T
	labels            [][]uint64
	marked, flagged   []uint64
	chunk             int
	base, first, next uint64

	kept uint64 // the oldest position that past can read; 0 when there is no past
	past func(from, to uint64) iter.Seq2[uint64, *T]
}

// Behind is the view with values that have left the ring: past yields those from one position up to
// another, oldest first, from the position kept on.
func (v View[T]) Behind(kept uint64, past func(from, to uint64) iter.Seq2[uint64, *T]) View[T] {
	if kept < v.first {
		v.kept, v.past = max(kept, 1), past
	}
	return v
}

// InRing is the view of the ring alone.
func (v View[T]) InRing() View[T] {
	v.kept, v.past = 0, nil
	return v
}

// First is the position of the oldest value held; it equals Next when nothing is held.
func (v View[T]) First() uint64 {
	if v.past != nil {
		return v.kept
	}
	return v.first
}

// FirstInRing is the position of the oldest value in the ring; it equals Next when the ring is empty.
func (v View[T]) FirstInRing() uint64 { return v.first }

// Next is the position after the newest value.
func (v View[T]) Next() uint64 { return v.next }

// Len is the number of values held.
func (v View[T]) Len() int { return int(v.next - v.First()) }

// Evicted is the number of values that were there once and are gone.
func (v View[T]) Evicted() uint64 {
	if v.first == 0 {
		return 0
	}
	return v.First() - 1
}

// At returns the value at a position, nil when the ring does not hold it.
func (v View[T]) At(pos uint64) *T {
	if pos < v.first || pos >= v.next {
		return nil
	}
	slot := int(pos - v.base)
	return &v.chunks[slot/v.chunk][slot%v.chunk]
}

// From yields the values held from a position on, oldest first. The values must not be changed.
func (v View[T]) From(pos uint64) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
		if v.past != nil && pos < v.first {
			for p, value := range v.past(max(pos, v.kept), min(v.first, v.next)) {
				if !yield(p, value) {
					return
				}
			}
		}
		for p := max(pos, v.first); p < v.next; p++ {
			slot := int(p - v.base)
			if !yield(p, &v.chunks[slot/v.chunk][slot%v.chunk]) {
				return
			}
		}
	}
}

// Marked is [View.From] for marked values alone. Of what has left the ring it yields all.
func (v View[T]) Marked(pos uint64) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
		if v.past != nil && pos < v.first {
			for p, value := range v.Until(v.first).From(pos) {
				if !yield(p, value) {
					return
				}
			}
		}
		v.only(v.marked, pos, yield)
	}
}

// Flagged is [View.Marked] for flagged values, and for the ring alone.
func (v View[T]) Flagged(pos uint64) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) { v.only(v.flagged, pos, yield) }
}

// only yields the values in the ring that a list has, from a position on.
func (v View[T]) only(list []uint64, pos uint64, yield func(uint64, *T) bool) {
	at, _ := slices.BinarySearch(list, max(pos, v.first))
	for _, p := range list[at:] {
		if p >= v.next || !yield(p, v.At(p)) {
			return
		}
	}
}

// Labels yields the labels of the values in the ring from a position on, oldest first, without touching the values. A
// view of a ring without labels yields nothing.
func (v View[T]) Labels(pos uint64) iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) {
		if v.labels == nil {
			return
		}
		for p := max(pos, v.first); p < v.next; {
			slot := int(p - v.base)
			part := v.labels[slot/v.chunk][slot%v.chunk:]
			for _, label := range part[:min(len(part), int(v.next-p))] {
				if !yield(p, label) {
					return
				}
				p++
			}
		}
	}
}

// Label returns the label of the value at a position, 0 when the ring does not hold it or has no labels.
func (v View[T]) Label(pos uint64) uint64 {
	if v.labels == nil || pos < v.first || pos >= v.next {
		return 0
	}
	slot := int(pos - v.base)
	return v.labels[slot/v.chunk][slot%v.chunk]
}

// Until is the view without the values from a position on.
func (v View[T]) Until(pos uint64) View[T] {
	v.next = min(v.next, max(pos, 1))
	v.first = min(v.first, v.next)
	v.kept = min(v.kept, v.next)
	return v
}
