package operations_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

func TestABranchIsAWorkspaceOfItsOwn(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("src/a", "one")
	m := w.Edit("first")
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: m.ID(), Name: "other", Message: "use a map"})
	if err != nil {
		t.Fatal(err)
	}
	w.Restart() // the branch is known after it
	if err := os.WriteFile(filepath.Join(b.Workspace, "src", "a"), []byte("branched"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := w.Record(t.Context(), filepath.Join(b.Workspace, "src"), records.Moment{Label: "Edit src/a", Source: records.FromEdit})
	if err != nil || in.Session != b.ID {
		t.Fatal(in, err)
	}
	a, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Session: b.ID}})
	if err != nil || len(a.Moments) != 2 || a.Message != "use a map" || a.BranchOf.Session != w.Listed().ID || a.BranchOf.Moment != m.ID() {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := w.Read(filepath.Join(w.Dir, "src/a")); got != "one" {
		t.Errorf("the original has %q", got)
	}
	// The decision for the original is that for the branch.
	if _, err := w.Grants.Deny(t.Context(), w.Dir); err != nil {
		t.Fatal(err)
	}
	_, err = w.Record(t.Context(), b.Workspace, records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "the user denied it")
	w.Allow(w.Dir)
	if _, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.Workspace); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the branch was not removed: %v", err)
	}
	_, err = w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Session: b.ID}})
	timelinetest.Wants(t, err, usererr.NotFound, "there is no session")
}

// A branch has the decision of its original, and of its parts, unless the user decided about the branch.
func TestABranchCanBeDecidedAbout(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("src/a", "one")
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: w.Edit("first").ID(), Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(b.Workspace, "src")
	record := func() (*records.Moment, error) {
		return w.Record(t.Context(), b.Workspace, records.Moment{Label: "x", Source: records.FromUser})
	}
	if _, err := w.Grants.Deny(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	m, err := record()
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: moments.Where{Dir: b.Workspace}, To: m.ID()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(s.Mount, "src")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part of the branch that was denied is in its snapshot: %v", err)
	}
	_, err = w.Record(t.Context(), src, records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "the user denied it for "+src)
	if _, err := w.Grants.Deny(t.Context(), b.Workspace); err != nil {
		t.Fatal(err)
	}
	_, err = record()
	timelinetest.Wants(t, err, usererr.NotAllowed, "the user denied it for "+b.Workspace)
	if _, err := w.Grants.Deny(t.Context(), w.Top); err != nil { // above both
		t.Fatal(err)
	}
	if _, err := w.Grants.Forget(t.Context(), b.Workspace); err != nil {
		t.Fatal(err)
	}
	if _, err := record(); err != nil {
		t.Error(err)
	}
}

// TestAMomentOfAnEarlierSessionIsOfThatSession, also where the call means the current one: a view's time counts from its start, and a
// branch comes from it, with its conversation.
func TestAMomentOfAnEarlierSessionIsOfThatSession(t *testing.T) {
	w := timelinetest.New(t)
	asked, err := w.Record(t.Context(), w.Dir, records.Moment{Label: "prompt", Source: records.FromPrompt, Anchor: &records.Anchor{Agent: "claude", Session: "4f6c"}})
	if err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Minute)
	w.Write("a", "one")
	m := w.Edit("first")
	w.Pass(time.Minute)
	if _, err := w.EndSession(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()}); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Minute)
	w.Write("a", "two")
	later := w.Edit("second")
	if later.Session == m.Session || asked.Session != m.Session {
		t.Fatalf("the moments are of the sessions %s, %s and %s", asked.Session, m.Session, later.Session)
	}
	for _, to := range []string{m.ID(), records.SnapshotID(m.Snapshot)} {
		s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: to})
		if err != nil || s.SessionID != m.Session || s.TS < 60 || s.TS > 61 {
			t.Errorf("%s: %+v, %v", to, s, err)
		}
		var begun *operations.Beginning
		b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: to, Name: "from-" + to, Continue: func(_ context.Context, at *operations.Beginning) error {
			begun = at
			return nil
		}})
		if err != nil || b.BranchOf.Session != m.Session {
			t.Fatalf("%s: %+v, %v", to, b, err)
		}
		if begun.From.ID != m.Session || begun.Anchor == nil || begun.Anchor.Session != "4f6c" {
			t.Errorf("%s: the branch continues %+v of %s", to, begun.Anchor, begun.From.ID)
		}
	}
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: records.SnapshotID(later.Snapshot)})
	if err != nil || s.SessionID != later.Session {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestASessionThatBeginsWithAnEarlierSnapshotHasItFromItsStart, because no file has changed since: its time is one that a view takes.
func TestASessionThatBeginsWithAnEarlierSnapshotHasItFromItsStart(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	m := w.Edit("first")
	w.Pass(time.Minute)
	if _, err := w.EndSession(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()}); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Minute)
	if _, err := w.StartSession(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()}); err != nil {
		t.Fatal(err)
	}
	a := w.Listed()
	if len(a.FsSnapshots) != 1 || a.FsSnapshots[0].ID != records.SnapshotID(m.Snapshot) || a.FsSnapshots[0].TS != 0 {
		t.Fatalf("%+v", a.FsSnapshots)
	}
	for _, to := range []string{"0", a.FsSnapshots[0].ID} {
		if s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: to}); err != nil || s.SessionID != a.ID || s.TS != 0 || s.FsSnapshot != a.FsSnapshots[0].ID {
			t.Errorf("%s: %+v, %v", to, s, err)
		}
	}
}
