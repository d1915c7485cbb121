package timeline_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// The files of another moment are not taken for those of one whose snapshot was pruned. A view says so first.
func TestNoOtherMomentIsRestored(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "kept")
	if _, err := w.Add(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here(), Label: "kept"}); err != nil {
		t.Fatal(err)
	}
	var edits []*records.Moment
	for i := range 4 {
		w.Write("a", fmt.Sprint(i))
		w.Pass(time.Minute)
		edits = append(edits, w.Edit(fmt.Sprint("edit ", i)))
	}
	if p, err := w.Prune(t.Context(), timelinetest.User, timeline.PruneParams{Where: w.Here(), Count: 3}); err != nil || len(p.Deleted) != 2 {
		t.Fatal(p, err)
	}
	first, second := edits[0], edits[1]
	for _, to := range []string{first.ID(), second.ID(), records.SnapshotID(second.Snapshot)} {
		_, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: to, Confirm: true})
		timelinetest.Wants(t, err, usererr.NotFound, "the nearest ones are s1 (m1) of ")
		timelinetest.Wants(t, err, usererr.NotFound, fmt.Sprintf(" before it and %s (%s) of ", records.SnapshotID(edits[2].Snapshot), edits[2].ID()))
	}
	if now := w.Read(filepath.Join(w.Dir, "a")); now != "3" {
		t.Errorf("shop has %q", now)
	}
	for _, p := range []timeline.DiffParams{{From: first.ID(), To: second.ID()}, {From: first.ID()}, {From: "start", To: second.ID()}} {
		p.Where = w.Here()
		_, err := w.Diff(t.Context(), timelinetest.User, p)
		timelinetest.Wants(t, err, usererr.NotFound, " was pruned)")
	}
	_, err := w.Blame(t.Context(), timelinetest.User, timeline.BlameParams{Where: w.Here(), Path: "a", At: second.ID()})
	timelinetest.Wants(t, err, usererr.NotFound, " was pruned)")
	if a, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: second.ID()}); err != nil || !strings.HasPrefix(a.Note, second.ID()+" has no snapshot (") || a.FsSnapshot != "s1" {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := timeline.Show(t.Context(), w.Timeline, timelinetest.User, timeline.ShowParams{Where: w.Here(), Moment: edits[2].ID()}); err != nil || a.Diff == nil || a.Diff.From.Note == "" {
		t.Errorf("%+v, %v", a, err)
	}
	// A time is no name of a moment: the last snapshot at or before it is meant.
	if a, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: second.At.Format(time.RFC3339Nano)}); err != nil || a.FsSnapshot != "s1" {
		t.Errorf("%+v, %v", a, err)
	}
}
