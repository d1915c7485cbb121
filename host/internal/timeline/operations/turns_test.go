package operations_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestRestoresOfTwoAgentsTakeTurns: each has the workspace alone, so that the files are those of one moment. What one confirmed before
// the other restored is another plan then. Branches meanwhile are of whole moments too.
func TestRestoresOfTwoAgentsTakeTurns(t *testing.T) {
	const files = 40
	w := timelinetest.New(t)
	w.Allow(w.Dir, grants.AgentsRestore, grants.AgentsBranch)
	name := func(i int) string { return fmt.Sprintf("f%02d", i) }
	write := func(text string) string {
		for i := range files {
			w.Write(name(i), text)
		}
		return w.Edit(text).ID()
	}
	moments := []string{write("one"), write("two")}
	whole := func(dir string) string {
		t.Helper()
		text := w.Read(filepath.Join(dir, name(0)))
		for i := range files {
			if got := w.Read(filepath.Join(dir, name(i))); got != text {
				t.Fatalf("%s has the files of two moments: %s and %s", dir, text, got)
			}
		}
		return text
	}
	for round := range 3 {
		write(fmt.Sprint("present ", round))
		var all sync.WaitGroup
		for i, moment := range moments {
			agent := &checkpoint.Client{Name: fmt.Sprint("agent ", i), Scope: checkpoint.Scope{Workspace: w.Dir}}
			all.Go(func() {
				p := operations.RestoreParams{To: moment}
				for range 20 {
					a, err := w.Operations.Restore(t.Context(), agent, p)
					if err != nil {
						t.Error(err)
						return
					}
					if a.Done {
						return
					}
					p.Confirm, p.Plan = true, a.Plan
				}
				t.Errorf("%s restored nothing", agent.Name)
			})
			all.Go(func() {
				b, err := w.Operations.Branch(t.Context(), agent, operations.BranchParams{From: moment, Name: fmt.Sprintf("b%d-%d", round, i)})
				if err != nil {
					t.Error(err)
				} else if text, err := os.ReadFile(filepath.Join(b.Workspace, name(1))); string(text) != []string{"one", "two"}[i] {
					t.Errorf("the branch of %s has %s, %v", moment, text, err)
				}
			})
		}
		all.Wait()
		if text := whole(w.Dir); text != "one" && text != "two" {
			t.Errorf("nothing was restored: %s", text)
		}
	}
	log, err := w.Operations.Log(t.Context(), timelinetest.User, operations.LogParams{Where: w.Here()})
	if err != nil {
		t.Fatal(err)
	}
	restored := 0
	for _, op := range log.Operations {
		if op.State != "done" {
			t.Errorf("%+v is not done", op)
		}
		if op.Kind == "restore" {
			restored++
		}
	}
	if restored != 6 {
		t.Errorf("%d restores are in the log: %+v", restored, log.Operations)
	}
	w.CheckClean()
}
