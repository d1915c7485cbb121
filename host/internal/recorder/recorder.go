// Package recorder defines what records a session, and runs it. The first recorder is package link, which records
// browsers.
//
// Guarantees:
//   - Events are kept in the order in which a recorder appends them.
//   - A recorder waits while the journal is behind, and stops waiting when its context ends.
//   - A recorder that fails is started again, and what it missed meanwhile is a gap.
//   - The failure of one recorder stops no other.
package recorder

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/protocol"
)

// Recorder observes something: browsers, files, a terminal, an agent.
type Recorder interface {
	// Name names it in gaps and in the log, in one word of lower-case letters.
	Name() string
	// Run records until ctx ends. An error means that it cannot record.
	Run(ctx context.Context, sink Sink) error
}

// Sink takes what a recorder observes. [capture.Sink] implements it.
type Sink interface {
	// Append takes events in the order in which they happened. It waits while the journal is behind. The error is that of
	// a context that ended during the wait; then it has taken none.
	Append(ctx context.Context, events ...event.Event) error
	// AppendStream is Append for numbered events that are sent again until they are acknowledged: each is taken once.
	AppendStream(ctx context.Context, from capture.Stream, events []event.Event) error
	// Miss records that something was not observed since a time. Dropped counts the events, 0 when nobody knows how many.
	Miss(what event.Subject, reason string, from time.Time, dropped int)
}

// A recorder that fails is started again after firstPause, then after twice as long, up to lastPause.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// Run runs recorders until ctx ends, and returns when all have ended.
func Run(ctx context.Context, recorders []Recorder, sink func(recorder string) Sink, log *slog.Logger) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, r := range recorders {
		running.Go(func() { run(ctx, r, sink(r.Name()), log.With("recorder", r.Name())) })
	}
}

func run(ctx context.Context, r Recorder, sink Sink, log *slog.Logger) {
	pause := firstPause
	for {
		began := time.Now()
		err := r.Run(ctx, sink)
		if ctx.Err() != nil {
			return
		}
		log.Warn("a recorder ended and is started again", "error", err)
		failed := time.Now()
		if failed.Sub(began) > lastPause {
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			sink.Miss(event.Subject{}, protocol.GapRecorderFailed, failed, 0)
			return
		case <-timer.C:
		}
		sink.Miss(event.Subject{}, protocol.GapRecorderFailed, failed, 0)
		pause = min(2*pause, lastPause)
	}
}
