package capture

import (
	"context"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

// Sink takes what one recorder observes.
type Sink struct {
	store    *Store
	recorder string
	clock    func() time.Time
}

// NewSink makes the sink of a recorder.
func NewSink(s *Store, recorder string, clock func() time.Time) *Sink {
	return &Sink{store: s, recorder: recorder, clock: clock}
}

// Append takes events in the order in which they happened. Tabs have the host's numbers. It waits while the journal is
// behind, so that a recorder cannot outrun the disk. The error is that of a ctx that ended during the wait; then it has
// taken none.
func (k *Sink) Append(ctx context.Context, events ...event.Event) error {
	if err := k.store.waitForRoom(ctx); err != nil {
		return err
	}
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	now := k.clock()
	for _, e := range events {
		k.store.recordLocked(e, now)
	}
	k.store.notifyLocked()
	return nil
}

// Stream is a place in the numbered events of a source that sends again what was not acknowledged.
type Stream struct {
	// Instance names the source, a browser.
	Instance string
	// Name names the stream, and First is the number of the first event that is given.
	Name  string
	First int64
}

// AppendStream is [Sink.Append] for numbered events: each is taken once. Tabs have the browser's numbers. Missing
// numbers, and nil events (which could not be decoded), become gaps. Events of another stream than that of the source's
// last hello are refused with an error of package protocol.
func (k *Sink) AppendStream(ctx context.Context, from Stream, events []event.Event) error {
	if err := k.store.waitForRoom(ctx); err != nil {
		return err
	}
	if _, bad := k.store.Apply(from.Instance, from.Name, from.First, events, k.clock()); bad != nil {
		return bad
	}
	return nil
}

// Miss records that something was not observed since a time. Dropped counts the events, 0 when nobody knows how many.
func (k *Sink) Miss(what event.Subject, reason string, from time.Time, dropped int) {
	now := k.clock()
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	k.store.gaps.missOf(what, Source{Recorder: k.recorder}, reason, from, now, dropped)
	k.store.notifyLocked()
}
