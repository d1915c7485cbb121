// Package unplaced keeps the errors that answers showed at a generated line, because their source map was late.
//
// It guarantees: a client is given the place of such an error once, in its next answer after the map has arrived. It is safe
// for concurrent use.
package unplaced

import (
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
)

const (
	// Most bounds the errors of a client that wait for their place.
	Most = 16
	// lasts is how long an error waits. A map takes at most 5 s.
	lasts = 10 * time.Second
)

// Errors are the errors that wait for their place, by client. The zero value has none.
type Errors struct {
	mu sync.Mutex
	of map[*checkpoint.Client][]waiting
}

// waiting is an error that was shown at a generated line.
type waiting struct {
	entry *event.Console
	until time.Time
}

// Located returns those of a client's errors that have a place now, and has the ones of its next answer wait for theirs. Place
// returns the place of an error; ok is false where that is not known.
func (u *Errors) Located(client *checkpoint.Client, now time.Time, next []*event.Console, place func(*event.Console) (at report.Place, ok bool)) (found []report.Located) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.of[client]
	if len(before) == 0 && len(next) == 0 {
		return nil
	}
	var left []waiting
	keep := func(e *event.Console, until time.Time) {
		same := func(w waiting) bool { return w.entry.Tab() == e.Tab() && alike.Text(w.entry) == alike.Text(e) }
		if len(left) < Most && !slices.ContainsFunc(left, same) {
			left = append(left, waiting{e, until})
		}
	}
	for _, w := range before {
		at, ok := place(w.entry)
		switch {
		case ok:
			found = append(found, report.NewLocated(w.entry, at))
		case at.Generated && now.Before(w.until):
			keep(w.entry, w.until)
		}
	}
	for _, e := range next {
		keep(e, now.Add(lasts))
	}
	if u.of == nil {
		u.of = map[*checkpoint.Client][]waiting{}
	}
	if u.of[client] = left; len(left) == 0 {
		delete(u.of, client)
	}
	return found
}

// Forget forgets a client's errors.
func (u *Errors) Forget(client *checkpoint.Client) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, client)
}
