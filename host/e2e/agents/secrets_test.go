package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// planted is a secret with the text around it.
type planted struct{ ID, Text, Secret string }

// plantedSecrets are those of the tests of all channels of which REDACTION.md says that they are masked in a text.
func plantedSecrets(t *testing.T) (all []planted) {
	t.Helper()
	data, err := os.ReadFile("../../../protocol/testdata/secrets.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Secrets []planted }
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), "{}", "")), &file); err != nil {
		t.Fatal(err)
	}
	for _, s := range file.Secrets {
		text, _ := redact.Default().Text(s.Text)
		body, _ := redact.Default().Body(s.Text)
		if !strings.Contains(text, s.Secret) || !strings.Contains(body, s.Secret) { // else a header or a field says that it is one
			all = append(all, s)
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d secrets are covered", len(all))
	}
	return all
}

// Secrets in the prompt, in the inputs and in the results of calls are not on disk, whichever agent reports them.
func TestNoSecretOfARealAgentIsOnDisk(t *testing.T) {
	secrets := plantedSecrets(t)
	// plant returns turns whose calls print the secrets, by the agent's shell.
	plant := func(run func(id, command string) modelserver.Call) (turns []modelserver.Turn) {
		for i, s := range secrets {
			if i%8 == 0 {
				turns = append(turns, modelserver.Turn{})
			}
			last := &turns[len(turns)-1]
			last.Calls = append(last.Calls, run(fmt.Sprintf("call_%03d", i), "cat <<'END'\n"+s.Text+"\nEND"))
		}
		return append(turns, modelserver.Turn{Text: "All done."})
	}
	var prompt strings.Builder
	prompt.WriteString("Please use these:\n")
	for _, s := range secrets {
		prompt.WriteString(s.Text + "\n")
	}
	agents := map[string]func(w *world){
		"claude": func(w *world) {
			w.claude(claudeEvents, prompt.String(), plant(func(id, command string) modelserver.Call {
				return call(id, "Bash", map[string]any{"command": command, "description": "print"})
			})...)
		},
		"codex": func(w *world) {
			w.codex(w.settings(codexEvents...), []string{prompt.String()}, plant(func(id, command string) modelserver.Call {
				return call(id, "exec_command", map[string]any{"cmd": command})
			})...)
		},
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
			if err := testbed.Eventually(w.Context(), func() (bool, error) { return len(calls(w.recording())) == len(secrets), nil }); err != nil {
				t.Errorf("%v: %d of %d calls are recorded", err, len(calls(w.recording())), len(secrets))
			}
			w.tidemark("stop")
			for _, s := range secrets {
				w.nothingOnDisk("", s.Secret)
			}
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
	if w.unpacked == nil {
		w.unpacked = map[string][]byte{}
		err := filepath.WalkDir(w.Home, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			w.unpacked[path] = append(data, unpack(data)...)
			return err
		})
		if err != nil {
			w.Fatal(err)
		}
	}
	for path, data := range w.unpacked {
		if except != "" && strings.HasPrefix(path, except) {
			continue
		}
		for _, s := range secrets {
			if at := bytes.Index(data, []byte(s)); at >= 0 {
				w.Errorf("%s has %q: …%q…", path, s, data[max(0, at-100):min(len(data), at+len(s)+20)])
			}
		}
	}
}

// unpack returns what is compressed in a file, wherever it begins.
func unpack(data []byte) (out []byte) {
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for at := bytes.Index(data, magic); at >= 0; {
		if d, err := zstd.NewReader(bytes.NewReader(data[at:]), zstd.WithDecoderConcurrency(1)); err == nil {
			part, _ := io.ReadAll(d) // what follows a frame is none
			out = append(out, part...)
			d.Close()
		}
		next := bytes.Index(data[at+1:], magic)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return out
}

// The search finds what is compressed in the daemon's own file.
func TestWhatIsCompressedIsSearched(t *testing.T) {
	w := newWorld(t)
	w.write("found.js", "let word = 1\n")
	w.tidemark("timeline", "moment", "add", "--label", "found")
	w.tidemark("stop")
	w.nothingOnDisk("")
	found := false
	for _, data := range w.unpacked {
		found = found || bytes.Contains(unpack(data), []byte("found.js"))
	}
	if !found {
		t.Error("the search does not see the recorded change of a file")
	}
}
