package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/planted"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// Secrets in the prompt, in the inputs and in the results of calls are not on disk, whichever agent reports them.
func TestNoSecretOfARealAgentIsOnDisk(t *testing.T) {
	secrets := slices.DeleteFunc(planted.InTexts(t), func(s planted.Secret) bool {
		return strings.HasPrefix(s.ID, "cut_") // it would go on in the next text
	})
	var groups []string // texts that one call prints
	for rows := range slices.Chunk(secrets, 8) {
		var group strings.Builder
		for _, s := range rows {
			group.WriteString(s.Text + "\n")
		}
		groups = append(groups, group.String())
	}
	// plant returns turns whose calls print the secrets, by the agent's shell.
	plant := func(run func(id, command string) modelserver.Call) (turns []modelserver.Turn) {
		for i, text := range groups {
			if i%8 == 0 {
				turns = append(turns, modelserver.Turn{})
			}
			last := &turns[len(turns)-1]
			last.Calls = append(last.Calls, run(fmt.Sprintf("call_%03d", i), "cat <<'END'\n"+text+"END"))
		}
		return append(turns, modelserver.Turn{Text: "All done."})
	}
	var prompt strings.Builder
	prompt.WriteString("Please use these:\n")
	for _, text := range groups {
		prompt.WriteString(text)
	}
	claude := func(w *world, hooks []string) {
		w.claude(hooks, prompt.String(), plant(func(id, command string) modelserver.Call {
			return call(id, "Bash", map[string]any{"command": command, "description": "print"})
		})...)
	}
	codex := func(w *world, hooks []string) {
		w.codex(w.settings(hooks...), []string{prompt.String()}, plant(func(id, command string) modelserver.Call {
			return call(id, "exec_command", map[string]any{"cmd": command})
		})...)
	}
	agents := map[string]func(w *world){
		"claude": func(w *world) { claude(w, claudeEvents) },
		"codex":  func(w *world) { codex(w, codexEvents) },
		// All but the beginning and the end is from their own records.
		"claude by its transcript": func(w *world) { claude(w, []string{"SessionStart", "SessionEnd"}) },
		"codex by its rollout":     func(w *world) { codex(w, []string{"SessionStart", "SessionEnd"}) },
	}
	shells := map[string]string{"gemini": "run_shell_command", "copilot": "bash", "opencode": "bash"}
	for _, o := range others {
		agents[o.id] = func(w *world) {
			agent := program(w.T, o.program)
			for name, text := range o.before {
				path := filepath.Join(w.home, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					w.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					w.Fatal(err)
				}
			}
			w.install("install", "--yes", "--agent", o.id)
			turns := plant(func(id, command string) modelserver.Call {
				return on(id, shells[o.id], "command", command, "description", "print")
			})
			server := modelserver.Start(w.T, turns...)
			w.run(o.env(w, server.URL), agent, append(slices.Clone(o.args), prompt.String())...)
			if server.Served() != len(turns) {
				w.Fatalf("it asked for %d of %d turns", server.Served(), len(turns))
			}
		}
	}
	for name, run := range agents {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			run(w)
			if err := testbed.Eventually(w.Context(), func() (bool, error) { return len(calls(w.recording())) == len(groups), nil }); err != nil {
				t.Errorf("%v: %d of %d calls are recorded", err, len(calls(w.recording())), len(groups))
			}
			w.tidemark("stop")
			planted.NotIn(t, secrets, e2etest.Written(t, w.World.World))
			if o := w.recording(); len(o.Turns) != 1 || !strings.Contains(o.Turns[0].Prompt, "[masked]") || o.Coverage.Masked < len(secrets) {
				t.Errorf("%d turns, the coverage is %+v", len(o.Turns), o.Coverage)
			}
		})
	}
}

// nothingOnDisk checks that no file of Tidemark has a secret, in what is compressed in it neither. except is a directory that
// is left out, "" for none.
func (w *world) nothingOnDisk(except string, secrets ...string) {
	w.Helper()
	if w.written == nil {
		w.written = e2etest.Written(w.T, w.World.World)
	}
	for path, data := range w.written {
		if except != "" && strings.HasPrefix(path, except) {
			continue
		}
		for _, s := range secrets {
			if at := strings.Index(data, s); at >= 0 {
				w.Errorf("%s has %q: …%q…", path, s, data[max(0, at-100):min(len(data), at+len(s)+20)])
			}
		}
	}
}

// The search finds what is compressed in the daemon's own file.
func TestWhatIsCompressedIsSearched(t *testing.T) {
	w := newWorld(t)
	w.write("found.js", "let word = 1\n")
	w.tidemark("timeline", "moment", "add", "--label", "found")
	w.tidemark("stop")
	w.nothingOnDisk("")
	found := false
	for _, data := range w.written {
		found = found || strings.Contains(data, "found.js")
	}
	if !found {
		t.Error("the search does not see the recorded change of a file")
	}
}
