package operations_test

import (
	"bufio"
	"context"
	"os/exec"
	"testing"

	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAForcedRemovalKillsAnAgentThatDoesNotEnd, with what it started.
func TestAForcedRemovalKillsAnAgentThatDoesNotEnd(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: "now", Name: "other", Continue: func(_ context.Context, at *operations.Beginning) error {
		at.Branch.Agent = &records.Agent{Name: "claude", Dir: at.Branch.Workspace}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" TERM; sleep 1000 & echo ready; wait`)
	cmd.Dir = b.Workspace
	subprocess.Alone(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = subprocess.Kill(cmd.Process.Pid) }) // where the test has failed
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := w.Operations.UpdateAgent(b.ID, func(g *records.Agent) error { g.PID = cmd.Process.Pid; return nil }); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }() // a zombie would remain
	s, of, err := w.Operations.FindBranch(timelinetest.User, w.Here(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Operations.RemoveBranch(t.Context(), s, of, operations.Removal{Force: true}); err != nil {
		t.Fatal(err)
	}
	if running, _ := subprocess.Within(b.Workspace); len(running) > 0 {
		t.Errorf("still running: %+v", running)
	}
}
