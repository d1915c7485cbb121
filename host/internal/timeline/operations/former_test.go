package operations_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestABranchBringsBackADeletedWorkspace in another directory, which is a workspace like every branch: it is recorded, removed and
// brought back. Nothing makes the directory of the original again.
func TestABranchBringsBackADeletedWorkspace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not delete a directory that is watched")
	}
	w := timelinetest.New(t)
	w.Write("src/a", "one")
	first := w.Edit("first")
	before, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: first.ID(), Name: "before"})
	if err != nil {
		t.Fatal(err)
	}
	w.Write("src/a", "two")
	w.Edit("second")
	where := moments.Where{Session: w.Listed().ID}
	if err := os.RemoveAll(w.Dir); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{first.ID(): "one", "now": "two", "s2": "two"}
	for _, state := range []string{"open", "restarted"} {
		t.Run(state, func(t *testing.T) {
			if state == "restarted" {
				w.Restart()
			}
			for from, want := range names {
				b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: where, From: from, Name: from + "-" + state})
				if err != nil {
					t.Fatal(err)
				}
				if got := w.Read(filepath.Join(b.Workspace, "src/a")); got != want {
					t.Errorf("the branch from %s has %q", from, got)
				}
				works(t, w, b.Workspace, b.ID)
			}
			works(t, w, before.Workspace, before.ID) // it was made while the original was there
			list, err := w.Operations.BranchesIn(timelinetest.User, where)
			if err != nil || len(list) < 1+len(names) {
				t.Fatalf("%+v, %v", list, err)
			}
		})
	}
	branch, of, err := w.Operations.FindBranch(timelinetest.User, where, "now-open")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Operations.RemoveBranch(t.Context(), branch, of, operations.Removal{Force: true}); err != nil {
		t.Fatal(err)
	}
	if u, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: where, Confirm: true}); err != nil || !u.Done || w.Read(filepath.Join(branch.Workspace, "src/a")) != "changed" {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := os.Lstat(w.Dir); err == nil {
		t.Error("something made the directory again")
	}
}

// works changes a file of a branch and finds the change in its session.
func works(t *testing.T, w *timelinetest.World, dir, session string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "src", "a"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := w.Record(t.Context(), dir, records.Moment{Label: "Edit src/a", Source: records.FromEdit}); err != nil || m.Session != session || m.Snapshot == 0 {
		t.Errorf("%+v, %v", m, err)
	}
	a, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Dir: dir}})
	if err != nil || a.ID != session || a.Problem != "" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestAnAgentsBranchOfADeletedWorkspaceNeedsTheGrant: the decision remains, and nobody can change it while the directory is missing.
func TestAnAgentsBranchOfADeletedWorkspaceNeedsTheGrant(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not delete a directory that is watched")
	}
	for _, given := range []bool{false, true} {
		w := timelinetest.New(t)
		w.Write("a", "one")
		m := w.Edit("first")
		if given {
			w.Allow(w.Dir, grants.AgentsBranch)
		}
		if err := os.RemoveAll(w.Dir); err != nil {
			t.Fatal(err)
		}
		agent := &checkpoint.Client{Name: "claude", Scope: checkpoint.Scope{Workspace: w.Dir}}
		b, err := w.Operations.Branch(t.Context(), agent, operations.BranchParams{From: m.ID(), Name: "b"})
		if given {
			if err != nil || w.Read(filepath.Join(b.Workspace, "a")) != "one" {
				t.Errorf("%+v, %v", b, err)
			}
			continue
		}
		timelinetest.Wants(t, err, usererr.NotAllowed, "Create the directory again, then run `tidemark project allow --grant agents-branch "+w.Dir+"`")
	}
}
