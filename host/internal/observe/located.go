package observe

import (
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
)

// A client's answer may have an error at a generated line because the source map was late. The client is given the place
// once, in its next answer after the map has arrived.

const (
	// maxUnplaced bounds the errors of a client that wait for their place.
	maxUnplaced = 16
	// unplacedFor is how long an error waits. A map takes at most 5 s.
	unplacedFor = 10 * time.Second
)

// unplaced are the errors that wait for their place, by client. It is safe for concurrent use.
type unplaced struct {
	mu sync.Mutex
	of map[*checkpoint.Client][]waiting
}

// waiting is an error that was shown at a generated line.
type waiting struct {
	entry *event.Console
	until time.Time
}

// Located returns the places of errors that earlier answers to a client showed without them, and records those that this
// answer shows so. It is called once for each answer that folds what the client was given. The caller has the client's turn.
func Located(o *Observer, client *checkpoint.Client, places *Places) (found []report.Located) {
	if places == nil {
		return nil
	}
	o.unplaced.mu.Lock()
	defer o.unplaced.mu.Unlock()
	now, before := o.clock(), o.unplaced.of[client]
	if len(before) == 0 && len(places.late) == 0 {
		return nil
	}
	var left []waiting
	keep := func(e *event.Console, until time.Time) {
		same := func(w waiting) bool { return w.entry.Tab() == e.Tab() && alike.Text(w.entry) == alike.Text(e) }
		if len(left) < maxUnplaced && !slices.ContainsFunc(left, same) {
			left = append(left, waiting{e, until})
		}
	}
	known := o.OriginalsIn(places.v) // the answer does not wait for maps that only these need
	for _, w := range before {
		place, ok := known.Place(w.entry)
		switch {
		case ok:
			found = append(found, report.NewLocated(w.entry, place))
		case place.Generated && now.Before(w.until):
			keep(w.entry, w.until)
		}
	}
	for _, e := range places.late {
		keep(e, now.Add(unplacedFor))
	}
	if o.unplaced.of == nil {
		o.unplaced.of = map[*checkpoint.Client][]waiting{}
	}
	if o.unplaced.of[client] = left; len(left) == 0 {
		delete(o.unplaced.of, client)
	}
	return found
}

func (u *unplaced) forget(client *checkpoint.Client) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, client)
}

// Give records the entries that an answer shows to a client, and what it reports as over. The caller has the client's
// turn.
func Give(o *Observer, client *checkpoint.Client, shown []alike.Entry, over []uint64) {
	client.Lock()
	client.GiveLocked(shown, over)
	client.Unlock()
	if o.disk != nil {
		o.disk.ReadersChanged()
	}
}
