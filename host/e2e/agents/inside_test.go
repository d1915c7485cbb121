//go:build unix

package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// Claude Code in a recorded terminal: its prompts, edits and commands are moments of the session that the commands of the terminal are
// in, each at its place in the recording. At the place of a call, the terminal has shown the call and not yet the next one.
func TestClaudeCodeInARecordedTerminalIsOneSessionWithIt(t *testing.T) {
	claude := program(t, "claude")
	w := newWorld(t)
	w.tidemark("project", "allow", "--grant", "terminal,conversation")
	const edits = 4
	var turns []modelserver.Turn
	for n := range edits {
		turns = append(turns, modelserver.Turn{Calls: []modelserver.Call{
			call(fmt.Sprintf("toolu_0%d", n), "Write", map[string]any{"file_path": filepath.Join(w.project, fmt.Sprintf("w%d.js", n)), "content": "x\n"}),
		}})
	}
	server := modelserver.Start(t, append(turns, modelserver.Turn{Text: "All done."})...)
	config := filepath.Join(w.home, "claude")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(w.settings(claudeEvents...)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run(claudeEnv(config, server), w.Binary, "record", "-q", "--name", "agent", "--", claude, "-p", "write files",
		"--permission-mode", "acceptEdits", "--output-format", "stream-json", "--verbose", "--allowedTools", "Write")
	var list answers.List
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		list = answers.List{}
		err := json.Unmarshal([]byte(w.tidemark("timeline", "list", "--json")), &list)
		n := 0
		for _, m := range list.Moments {
			if (m.Source == "edit" || m.Source == "stop") && m.Terminal != nil {
				n++
			}
		}
		return n == edits+1, err
	}); err != nil {
		t.Fatalf("%v: %s", err, w.tidemark("timeline", "list", "--json"))
	}
	last, n, sources := uint64(0), 0, map[string]int{}
	for _, m := range list.Moments {
		if m.Anchor == nil {
			continue
		}
		sources[m.Source]++
		if m.Terminal == nil || m.Terminal.Offset < last || m.Terminal.Status != nil {
			t.Errorf("%s %s is at %+v, after byte %d", m.ID, m.Label, m.Terminal, last)
			continue
		}
		last = m.Terminal.Offset
		if m.Source != "edit" {
			continue
		}
		var frame struct{ Lines []string }
		if err := json.Unmarshal([]byte(w.tidemark("timeline", "show", "--ts", m.ID, "--json")), &frame); err != nil {
			t.Fatal(err)
		}
		shown := strings.Join(frame.Lines, "")
		if own, next := fmt.Sprintf("toolu_0%d", n), fmt.Sprintf("toolu_0%d", n+1); !strings.Contains(shown, own) || strings.Contains(shown, next) {
			t.Errorf("at %s, which is %s, the terminal showed\n%s", m.ID, own, strings.Join(frame.Lines, "\n"))
		}
		n++
	}
	if sources["prompt"] != 1 || sources["edit"] != edits || sources["stop"] != 1 {
		t.Errorf("the moments are %v", sources)
	}
}

// The hooks of Codex know the recording too.
func TestCodexInARecordedTerminalHasItsPlace(t *testing.T) {
	codex := program(t, "codex")
	w := newWorld(t)
	w.tidemark("project", "allow", "--grant", "terminal,conversation")
	server := modelserver.Start(t,
		modelserver.Turn{Text: "I edit.", Calls: []modelserver.Call{call("call_01", "apply_patch", "*** Begin Patch\n*** Update File: a.js\n@@\n-let a = 1\n+let a = 2\n let b = 2\n*** End Patch\n")}},
		modelserver.Turn{Text: "All done."})
	w.run(w.codexEnv(server, w.settings(codexEvents...)), w.Binary, "record", "-q", "--", codex,
		"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", "Change a to 2")
	places := map[string]uint64{}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		var list answers.List
		err := json.Unmarshal([]byte(w.tidemark("timeline", "list", "--json")), &list)
		for _, m := range list.Moments {
			if m.Terminal != nil {
				places[m.Source] = m.Terminal.Offset
			}
		}
		return len(places) >= 3 && places["stop"] > 0, err
	}); err != nil {
		t.Fatalf("%v: %s", err, w.tidemark("timeline", "list", "--json"))
	}
	if !(places["prompt"] < places["edit"] && places["edit"] < places["stop"]) {
		t.Errorf("the places are %v", places)
	}
}
