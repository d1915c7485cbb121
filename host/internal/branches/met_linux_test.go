package branches_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// A daemon ended after it started an agent, and before it kept that. The agent is found by where its output goes, and is not started
// again. Another program that works in the branch, such as the user's shell, is not taken for it.
func TestAnAgentOfAnEarlierDaemonIsFound(t *testing.T) {
	s := opened(t)
	b := s.start(t, s.where(), s.record(), "other")
	failing(s.Timeline.Operations.UpdateAgent(b.ID, func(g *records.Agent) error {
		g.PID, g.Log, g.Starting = 0, "", true
		return nil
	}))
	run := func(output *os.File) int {
		cmd := exec.CommandContext(t.Context(), "sleep", "600")
		cmd.Dir, cmd.Stdout = b.Workspace, output
		subprocess.Alone(cmd)
		failing(cmd.Start())
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		return cmd.Process.Pid
	}
	listed := func() branches.Branch {
		list, err := s.List(t.Context(), user, branches.ListParams{Where: s.where()})
		if err != nil || len(list.Branches) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list.Branches[0]
	}
	run(nil)
	if is := listed(); is.Agent.PID != 0 || !strings.Contains(is.Agent.Problem, "it is not known whether the agent was started") {
		t.Errorf("beside another program, the agent is %+v", is.Agent)
	}
	log, err := os.OpenFile(b.Agent.Log, os.O_APPEND|os.O_WRONLY, 0)
	failing(err)
	defer func() { failing(log.Close()) }()
	agent := run(log)
	if c, err := s.Open(t.Context(), user, branches.OneParams{Where: s.where(), Name: "other", Env: os.Environ()}); usererr.CodeOf(err) != usererr.ActionRefused || !strings.Contains(err.Error(), "already runs in branch other") {
		t.Errorf("while it runs, it is opened: %+v, %v", c, err)
	}
	if is := listed(); is.Agent.PID != agent || is.Agent.Log != b.Agent.Log || is.Agent.Problem != "" {
		t.Errorf("the agent is %+v, want process %d", is.Agent, agent)
	}
}
