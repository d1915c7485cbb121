package diff

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
)

// room shares MaxEntries among the lists of one section, the first list first.
type room struct{ left, omitted int }

func newRoom() *room { return &room{left: report.MaxEntries} }

// take cuts a list to what there is room for.
func take[T any](r *room, list []T) []T {
	n := min(len(list), r.left)
	r.left -= n
	r.omitted += len(list) - n
	if n == 0 {
		return nil
	}
	return list[:n]
}

// tally is one distinct entry, how often and when it was seen last; lists are ordered by frequency,
// then by recency.
type tally[T any] struct {
	entry T
	count int
	last  uint64
	ref   *report.Ref
	// shown is the event that stands for all, where they are shown by it.
	shown event.Event
	began event.Event   // the first of all, where something may have introduced it
	keys  []alike.Entry // what the reader will know it by
	also  []alike.Entry // of messages that other lines of code logged: what the reader will know them by if they are folded
	text  alike.Pattern // of messages that are one entry though their texts differ
}

// join has an entry stand for another one too.
func (t *tally[T]) join(other *tally[T]) {
	t.count, t.last = t.count+other.count, max(t.last, other.last)
	t.ref.Join(other.ref)
	for _, e := range other.keys {
		t.keys = addEntry(t.keys, e)
	}
}

// keysOf returns the entries that a list stands for.
func keysOf[T any](list []*tally[T]) (keys []alike.Entry) {
	for _, t := range list {
		keys = append(keys, t.keys...)
	}
	return keys
}

func byFrequency[T any](list []*tally[T]) []*tally[T] {
	slices.SortFunc(list, func(a, b *tally[T]) int { // one that sees at once that a list is in the opposite order
		if a.count != b.count {
			return b.count - a.count
		}
		return int(int64(b.last) - int64(a.last))
	})
	return list
}

// introduce finds the changes of files after which entries first appeared.
func introduce[T any](o *window.Options, list []*tally[T], at func(*T) **report.Introduced) {
	for i, t := range list {
		if o.Introduced == nil || i == maxIntroduced {
			return
		}
		*at(&t.entry) = o.Introduced(t.began)
	}
}

// several is a count as it is shown where one goes without saying.
func several(n int) int {
	if n > 1 {
		return n
	}
	return 0
}
