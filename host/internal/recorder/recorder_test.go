package recorder_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/protocol"
)

// script is a recorder that does something else each time that it runs.
type script struct {
	name string
	runs []func(ctx context.Context, sink recorder.Sink) error
	ran  int
}

func (s *script) Name() string { return s.name }

func (s *script) Run(ctx context.Context, sink recorder.Sink) error {
	do := s.runs[min(s.ran, len(s.runs)-1)]
	s.ran++
	return do(ctx, sink)
}

func snapshot(name string) *event.Inspection {
	return &event.Inspection{Head: event.Head{At: time.Now().UnixMilli()}, Op: event.Snapshot, Name: name}
}

func until(ctx context.Context, _ recorder.Sink) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestARecorderThatFailsIsStartedAgainAndLeavesAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := capture.New(capture.DefaultLimits(), noise.Default(), time.Now())
		broken := &script{name: "files", runs: []func(context.Context, recorder.Sink) error{
			func(ctx context.Context, sink recorder.Sink) error {
				return errors.Join(sink.Append(ctx, snapshot("before")), errors.New("the watch ended"))
			},
			func(ctx context.Context, sink recorder.Sink) error {
				return errors.Join(sink.Append(ctx, snapshot("after")), until(ctx, sink))
			},
		}}
		steady := &script{name: "terminal", runs: []func(context.Context, recorder.Sink) error{until}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			recorder.Run(ctx, []recorder.Recorder{broken, steady}, func(name string) recorder.Sink { return capture.NewSink(store, name, time.Now) }, slog.New(slog.DiscardHandler))
		}()
		failed := time.Now()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		v := store.View(time.Now())
		var names []string
		for _, e := range v.Variables().From(0) {
			names = append(names, e.Name)
		}
		if len(names) != 2 || names[0] != "before" || names[1] != "after" {
			t.Errorf("appended: %q", names)
		}
		var gaps []capture.Gap
		for _, g := range v.Gaps {
			if g.Reason == protocol.GapRecorderFailed {
				gaps = append(gaps, g)
			}
		}
		if len(gaps) != 1 || gaps[0].Source.Recorder != "files" || !gaps[0].From.Equal(failed) || gaps[0].To.Sub(gaps[0].From) != time.Second {
			t.Errorf("gaps: %+v", gaps)
		}
		if steady.ran != 1 {
			t.Errorf("the other recorder was started %d times", steady.ran)
		}
		stop()
		<-done
	})
}

// TestARecorderWaitsForTheJournal: what was appended and is not on disk yet is bounded.
func TestARecorderWaitsForTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := capture.New(capture.DefaultLimits(), noise.Default(), time.Now())
		store.Keep()
		sink := capture.NewSink(store, "files", time.Now)
		big := make([]string, 2000)
		for i := range big {
			big[i] = string(make([]byte, 1000))
		}
		appended := 0
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			for {
				e := snapshot("big")
				e.Values = big
				if err := sink.Append(ctx, e); err != nil {
					ended <- err
					return
				}
				appended++
			}
		}()
		synctest.Wait()
		full := appended
		if full < 5 || full > 20 {
			t.Fatalf("%d events of 2 MB were taken while nothing is saved", full)
		}
		store.Kept(store.Drain(time.Now()))
		synctest.Wait()
		if appended != 2*full {
			t.Errorf("%d more were taken after the journal caught up, %d before", appended-full, full)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the wait ended with %v", err)
		}
	})
}
