package timeline_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAnAgentsMomentIsPlacedInItsRecording: of a burst, whose moments wait for their snapshot, each has its own place. A feed has each
// moment again with its place. A moment that was reported late has none. All of it is on disk.
func TestAnAgentsMomentIsPlacedInItsRecording(t *testing.T) {
	w := timelinetest.New(t)
	w.Allow(w.Dir, grants.Workspace, grants.Terminal)
	w.Write("a", "0")
	w.Edit("session")
	const id = "t20260102-030405-abcd"
	header := recording.Header{ID: id, Dir: w.Dir, Started: time.Now(), Clock: recording.Clock(), Proof: recording.ProofOf("key"), Cols: 80, Rows: 24}
	rec, err := w.Terminals().Create(header)
	if err != nil {
		t.Fatal(err)
	}
	show := func(text string) { // as the recorder does: the time is that of now
		t.Helper()
		if err := rec.Append(header.Elapsed(time.Now(), recording.Clock()), recording.Output, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := rec.Commit(false); err != nil {
			t.Fatal(err)
		}
	}
	feed, err := timeline.NewFeed(w.Timeline, timelinetest.User, w.Here(), "")
	if err != nil {
		t.Fatal(err)
	}
	hook := func(n int, happened time.Time) {
		w.Write("a", fmt.Sprint(n))
		w.Hook(t.Context(), timeline.HookMoment{
			Dir: w.Dir, Source: records.FromEdit, Label: fmt.Sprint("Edit ", n), Anchor: answers.Anchor{Agent: "claude", Session: "one"}, Event: fmt.Sprint("e", n),
			Inside: timeline.Inside{Recording: id, Key: "key"}, Happened: happened,
		})
	}
	const edits = 8
	want := map[string]uint64{}
	for n := range edits {
		show("0123456789")
		want[fmt.Sprint("Edit ", n)] = rec.Offset()
		hook(n, time.Time{})
	}
	hook(edits, time.Now())
	hook(0, time.Time{}) // the same event once more
	placed := func() map[string]uint64 {
		got := map[string]uint64{}
		for _, m := range w.Listed().Moments {
			if m.Terminal != nil && m.Terminal.Recording == id {
				got[m.Label] = m.Terminal.Offset
			}
		}
		return got
	}
	// The last one waits for what follows it, and after a while for nothing.
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return len(placed()) == edits, nil }); err != nil {
		t.Fatal(err, placed())
	}
	last := map[string]answers.ListMoment{}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		events, err := feed.Next(t.Context())
		for _, e := range events {
			if m, ok := e.Data.(answers.ListMoment); ok {
				last[m.Label] = m
			}
		}
		return len(last) == edits+1 && last[fmt.Sprint("Edit ", edits-1)].Terminal != nil, err
	}); err != nil {
		t.Errorf("%v: %+v", err, last)
	}
	check := func(when string) {
		t.Helper()
		got := placed()
		for label, offset := range want {
			if got[label] != offset {
				t.Errorf("%s, %s is at %d, want %d", when, label, got[label], offset)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s, the places are %v", when, got)
		}
	}
	check("while it is recorded")
	for label, offset := range want {
		if m := last[label]; m.Terminal == nil || m.Terminal.Offset != offset || m.FsSnapshot == false {
			t.Errorf("the feed has %+v", m)
		}
	}
	w.Restart()
	check("after a restart")
	if err := rec.Finish(0); err != nil {
		t.Fatal(err)
	}
	hook(edits+1, time.Time{})
	w.Restart() // it waits for what is to be placed
	check("after the end of the recording")
}

// TestADaemonThatStopsPlacesWhatItHas: it waits for no more output.
func TestADaemonThatStopsPlacesWhatItHas(t *testing.T) {
	w := timelinetest.New(t)
	w.Allow(w.Dir, grants.Workspace, grants.Terminal)
	w.Edit("session")
	const id = "t20260102-030405-abcd"
	rec, err := w.Terminals().Create(recording.Header{ID: id, Dir: w.Dir, Started: time.Now(), Clock: recording.Clock(), Proof: recording.ProofOf("key"), Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rec.Abandon() }()
	if err := rec.Append(0, recording.Output, []byte("shown")); err != nil {
		t.Fatal(err)
	}
	if err := rec.Commit(false); err != nil {
		t.Fatal(err)
	}
	w.Hook(t.Context(), timeline.HookMoment{
		Dir: w.Dir, Source: records.FromStop, Label: "agent stopped", Anchor: answers.Anchor{Agent: "claude", Session: "one"},
		Inside: timeline.Inside{Recording: id, Key: "key"},
	})
	if err := testbed.Eventually(t.Context(), func() (bool, error) { // a hook does not wait for its moment for long
		all := w.Listed().Moments
		return all[len(all)-1].Label == "agent stopped", nil
	}); err != nil {
		t.Fatal(err)
	}
	w.Restart()
	all := w.Listed().Moments
	if m := all[len(all)-1]; m.Label != "agent stopped" || m.Terminal == nil || m.Terminal.Offset != 5 {
		t.Errorf("%+v", m)
	}
}

// TestARecordingWithoutAnEndIsInterrupted, and not live: its recorder was killed.
func TestARecordingWithoutAnEndIsInterrupted(t *testing.T) {
	w := timelinetest.New(t)
	w.Allow(w.Dir, grants.Workspace, grants.Terminal)
	w.Edit("session")
	rec, err := w.Terminals().Create(recording.Header{ID: "t20260102-030405-abcd", Dir: w.Dir, Started: time.Now(), Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(rec.Append(time.Millisecond, recording.Output, []byte("shown")), rec.Commit(false)); err != nil {
		t.Fatal(err)
	}
	check := func(live bool) {
		t.Helper()
		l, err := timeline.Requests{Timeline: w.Timeline}.ListFrom(t.Context(), timelinetest.User, timeline.ListParams{Where: w.Here()})
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Recordings) != 1 || l.Recordings[0].Interrupted == live || (l.Recordings[0].Live != "") != live {
			t.Errorf("%+v", l.Recordings)
		}
	}
	check(true)
	if err := rec.Abandon(); err != nil {
		t.Fatal(err)
	}
	check(false)
}
