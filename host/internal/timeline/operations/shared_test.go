package operations_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestABranchWhoseDirectoryIsAnothersTakesNoFiles: earlier builds kept the record of a branch whose directory was removed by hand when
// another branch got that directory. Removing it, or undoing what made it, leaves the files to the other branch.
func TestABranchWhoseDirectoryIsAnothersTakesNoFiles(t *testing.T) {
	for _, by := range []string{"rm", "undo", "kill"} {
		t.Run(by, func(t *testing.T) {
			w := timelinetest.New(t)
			w.Write("a", "one")
			w.Edit("first")
			branch := func(name string) (id, dir, operation string) {
				t.Helper()
				b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: "now", Name: name})
				if err != nil {
					t.Fatal(err)
				}
				return b.ID, b.Workspace, b.Operation
			}
			first, dir, made := branch("same")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			second, other, _ := branch("other")
			w.Stop()
			if err := os.Rename(other, dir); err != nil {
				t.Fatal(err)
			}
			db, _, err := records.Open(filepath.Join(w.Top, "timeline.db"), w.Now())
			if err != nil {
				t.Fatal(err)
			}
			list, err := db.Sessions()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				switch {
				case s.ID == second:
					s.Workspace = dir
					err = db.Save(s)
				case s.ID == first && by == "kill":
					err = db.Log(workspace.ID(w.Dir), &records.Operation{At: w.Now(), Session: list[0].ID, Kind: records.OpRemove, State: records.Begun, What: "remove branch same", Dir: dir, Was: s})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			w.Start()
			switch by {
			case "rm":
				s, of, err := w.Operations.FindBranch(timelinetest.User, w.Here(), first)
				if err != nil {
					t.Fatal(err)
				}
				if a, err := w.Operations.RemoveBranch(t.Context(), s, of, operations.Removal{Force: true}); err != nil || a.Note == "" {
					t.Fatalf("%+v, %v", a, err)
				}
			case "undo":
				if a, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Operation: made, Confirm: true}); err != nil || !a.Done {
					t.Fatalf("%+v, %v", a, err)
				}
			}
			if got := w.Read(filepath.Join(dir, "a")); got != "one" {
				t.Errorf("the other branch has %q", got)
			}
			left, err := w.Operations.BranchesIn(timelinetest.User, w.Here())
			if err != nil || len(left) != 1 || left[0].ID != second {
				t.Fatalf("%+v, %v", left, err)
			}
			s, of, err := w.Operations.FindBranch(timelinetest.User, w.Here(), second)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Operations.RemoveBranch(t.Context(), s, of, operations.Removal{}); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(dir); err == nil {
				t.Error("the files of the other branch are not removed with it")
			}
		})
	}
}
