package observe

import (
	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
)

// Located returns the places of errors that earlier answers to a client showed without them, and records those that this
// answer shows so. It is called once for each answer that folds what the client was given. The caller has the client's turn.
func Located(o *Observer, client *checkpoint.Client, places *Places) []report.Located {
	if places == nil {
		return nil
	}
	var known *Places // the answer does not wait for maps that only these need
	return o.unplaced.Located(client, o.clock(), places.late, func(e *event.Console) (report.Place, bool) {
		if known == nil {
			known = o.OriginalsIn(places.v)
		}
		return known.Place(e)
	})
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
