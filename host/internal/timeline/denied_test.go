package timeline_test

import (
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// What was recorded before its directory was denied is shown neither by diff nor by blame.
func TestADeniedDirectoryIsNotCompared(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("sub/a", "one")
	first := w.Edit("first")
	w.Write("sub/a", "two")
	w.Write("b", "two")
	second := w.Edit("second")
	if _, err := w.Grants.Deny(t.Context(), filepath.Join(w.Dir, "sub")); err != nil {
		t.Fatal(err)
	}
	a, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: w.Here(), From: first.ID(), To: second.ID()})
	if err != nil || len(a.Files) != 1 || a.Files[0].Path != "b" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = w.Blame(t.Context(), timelinetest.User, timeline.BlameParams{Where: w.Here(), Path: "sub/a", At: second.ID()})
	timelinetest.Wants(t, err, usererr.NotAllowed, "the user denied")
}

// Snapshots of before are deleted when the user asks for it, and the timeline goes on.
func TestSnapshotsOfADeniedDirectoryAreDeleted(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	before := w.Edit("before")
	w.Write("sub/a", "one")
	with := w.Edit("with")
	if _, err := w.Grants.Deny(t.Context(), filepath.Join(w.Dir, "sub")); err != nil {
		t.Fatal(err)
	}
	w.Write("a", "two")
	after := w.Edit("after")
	done, err := w.Prune(t.Context(), timelinetest.User, timeline.PruneParams{Where: w.Here(), Denied: true})
	if err != nil || len(done.Deleted) != 1 || done.Deleted[0] != records.SnapshotID(with.Snapshot) || done.Kept != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	a, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: w.Here(), From: before.ID(), To: after.ID()})
	if err != nil || len(a.Files) != 1 || a.Files[0].Path != "a" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = w.Prune(t.Context(), timelinetest.User, timeline.PruneParams{Where: w.Here(), Denied: true, Count: 3})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "Pass one of them")
}
