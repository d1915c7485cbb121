package agents

import (
	"encoding/json"
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// A test command of an agent is a moment with its exit status, and the comparison of a branch has it.
func TestTestsOfAgentsHaveTheirExitStatus(t *testing.T) {
	for _, agent := range []string{"claude", "codex"} {
		t.Run(agent, func(t *testing.T) {
			program(t, agent)
			w := newWorld(t)
			w.write("Makefile", "test:\n\t@grep -q 'a = 2' a.js\n")
			w.tidemark("timeline", "moment", "add", "--label", "before")
			w.tidemark("timeline", "session-branch", "--moment", "now", "--name", "idle")
			run := func(id, command string) modelserver.Turn {
				if agent == "codex" {
					return modelserver.Turn{Calls: []modelserver.Call{call(id, "exec_command", map[string]any{"cmd": command})}}
				}
				return modelserver.Turn{Calls: []modelserver.Call{call(id, "Bash", map[string]any{"command": command, "description": "x"})}}
			}
			turns := []modelserver.Turn{run("c1", "make test"), run("c2", "sed -i 's/a = 1/a = 2/' a.js"), run("c3", "make test"), {Text: "All done."}}
			if agent == "codex" {
				w.codex(w.settings(codexEvents...), []string{"Run the tests"}, turns...)
			} else {
				w.claude(claudeEvents, "Run the tests", turns...)
			}
			failed, passed := w.ofSource(records.FromTestsFailed, 1)[0], w.ofSource(records.FromTestsPassed, 1)[0]
			if failed.Label != "make test failed" || failed.Exit == nil || *failed.Exit != 2 || passed.Label != "make test passed" || passed.Exit == nil || *passed.Exit != 0 {
				t.Errorf("the moments are %+v and %+v", failed, passed)
			}
			var c branches.Comparison
			if err := json.Unmarshal([]byte(w.tidemark("branch", "compare", "idle", "--json")), &c); err != nil {
				t.Fatal(err)
			}
			var status []int
			for _, run := range c.B.Tests {
				if run.Exit != nil {
					status = append(status, *run.Exit)
				}
			}
			if !slices.Equal(status, []int{2, 0}) || len(c.A.Tests) != 0 {
				t.Errorf("the tests are %+v and %+v", c.A.Tests, c.B.Tests)
			}
			t.Log("\n" + w.tidemark("branch", "compare", "idle"))
		})
	}
}
