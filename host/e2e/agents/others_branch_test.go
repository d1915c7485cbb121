package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// prepared installs the hooks of another agent, and returns it.
func (w *world) prepared(id string) other {
	w.Helper()
	o := others[slices.IndexFunc(others, func(o other) bool { return o.id == id })]
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
	return o
}

// ofSource returns the moments of a source, once there are so many with a snapshot.
func (w *world) ofSource(source string, n int) (found []answers.ListMoment) {
	w.Helper()
	if err := testbed.Eventually(w.Context(), func() (bool, error) {
		var list answers.List
		if err := json.Unmarshal([]byte(w.tidemark("timeline", "list", "--json")), &list); err != nil {
			return false, err
		}
		found = nil
		for _, m := range list.Moments {
			if m.Source == source && m.FsSnapshot != false {
				found = append(found, m)
			}
		}
		return len(found) == n, nil
	}); err != nil {
		w.Fatalf("%v: the moments are %+v", err, found)
	}
	return found
}

// geminiCommand has Gemini CLI use one model, and ask nobody.
const geminiCommand = `gemini = ["gemini", "--model", "gemini-2.5-flash", "--approval-mode", "yolo"]`

// commands sets the commands of agents in branches.
func (w *world) commands(config string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.Home, "config.toml"), []byte("[branches.commands]\n"+config+"\n"), 0o600); err != nil {
		w.Fatal(err)
	}
	w.tidemark("stop")
	w.tidemark("session", "start")
}

// chatsOf returns the chats of Gemini CLI by their paths.
func chatsOf(t *testing.T, w *world) map[string]string {
	t.Helper()
	chats := map[string]string{}
	found, err := filepath.Glob(filepath.Join(w.home, ".gemini", "tmp", "*", "chats", "*"))
	for _, path := range found {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			chats[path] = string(text)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return chats
}

// Gemini CLI imports a copy of its chat that is cut at the moment, and opencode forks its session up to there. Both work in the
// branch.
func TestABranchContinuesTheConversationOfOtherAgents(t *testing.T) {
	for _, one := range []struct {
		id, method, write, read, file, shell, config string
	}{
		{"gemini", "transcript", "write_file", "read_file", "file_path", "run_shell_command", geminiCommand},
		{"opencode", "session/fork", "write", "read", "filePath", "bash", ""},
	} {
		t.Run(one.id, func(t *testing.T) {
			w := newWorld(t)
			o := w.prepared(one.id)
			agent := program(t, o.program)
			if one.config != "" {
				w.commands(one.config)
			}
			page := filepath.Join(w.project, "page.js")
			server := modelserver.Start(t,
				modelserver.Turn{Text: "First.", Calls: []modelserver.Call{on("w1", one.write, one.file, page, "content", "let cart = 1\n")}},
				modelserver.Turn{Text: "What is there?", Calls: []modelserver.Call{on("r1", one.read, one.file, page)}}, // its result may name the file too
				modelserver.Turn{Text: "Then I break it.", Calls: []modelserver.Call{on("w2", one.write, one.file, page, "content", "let cart = null\n")}},
				modelserver.Turn{Text: "All done."},
			)
			w.run(o.env(w, server.URL), agent, append(slices.Clone(o.args), "Write a page")...)
			w.ended()
			edits, prompts, stops := w.ofSource(records.FromEdit, 2), w.ofSource(records.FromPrompt, 1), w.ofSource(records.FromStop, 1)
			before := whole(t, w.project)
			chats := chatsOf(t, w)
			for _, at := range []struct {
				moment, file string
				method       string
				has, lacks   []string
			}{
				{edits[0].ID, "let cart = 1\n", one.method, []string{"Write a page", "let cart = 1", "First."}, []string{"let cart = null", "Then I break it"}},
				{stops[0].ID, "let cart = null\n", one.method, []string{"Write a page", "let cart = 1", "let cart = null", "All done."}, nil},
				{prompts[0].ID, "", "fresh", nil, []string{"Write a page", "First."}},
			} {
				server := modelserver.Start(t,
					modelserver.Turn{Text: "Differently.", Calls: []modelserver.Call{on("b1", one.shell, "command", "pwd > where.txt; cat page.js > copy.txt || true", "description", "x")}},
					modelserver.Turn{Text: "Done differently."},
				)
				env := o.env(w, server.URL)
				for i := range env { // the model that it has
					env[i] = strings.Replace(env[i], `{"share":"disabled"`, `{"model":"anthropic/claude-sonnet-4-5","share":"disabled"`, 1)
				}
				b := w.branch(env, "--moment", at.moment, "--name", "from-"+at.moment, "--agent", one.id, "--message", "Do it differently")
				log, _ := os.ReadFile(b.Agent.Log)
				if b.Agent.Method != at.method {
					t.Errorf("at %s, the agent is %+v", at.moment, b.Agent)
				}
				asked := server.Asked()
				if len(asked) != 2 {
					t.Fatalf("at %s, the model was asked %d times: %s", at.moment, len(asked), log)
				}
				for _, text := range append(at.has, "Do it differently", b.Workspace) {
					if !strings.Contains(asked[0], text) {
						t.Errorf("at %s, the first request lacks %q: %.6000s", at.moment, text, asked[0])
					}
				}
				for _, text := range append(at.lacks, page) {
					if strings.Contains(asked[0], text) {
						t.Errorf("at %s, the first request has %q", at.moment, text)
					}
				}
				for name, want := range map[string]string{"where.txt": b.Workspace + "\n", "copy.txt": at.file} {
					if got, _ := os.ReadFile(filepath.Join(b.Workspace, name)); string(got) != want {
						t.Errorf("at %s, %s is %q: %s", at.moment, name, got, log)
					}
				}
				var again struct{ Line []string }
				if err := json.Unmarshal([]byte(w.asUser(env, "branch", "open", b.Name, "--json")), &again); err != nil || len(again.Line) < 2 {
					t.Errorf("branch open answers %+v, %v", again, err)
				}
				w.tidemark("branch", "rm", b.Name, "--force")
				if left, _ := filepath.Glob(b.Workspace + "*"); len(left) != 0 {
					t.Errorf("the removal leaves %q", left)
				}
			}
			if after := whole(t, w.project); after != before {
				t.Errorf("the original workspace has changed:\n%s\nbefore:\n%s", after, before)
			}
			now := chatsOf(t, w)
			for path, said := range chats { // of Gemini CLI: opencode has all in its database
				if now[path] != said {
					t.Errorf("the original chat %s has changed:\n%s\nbefore:\n%s", path, now[path], said)
				}
			}
			if one.id == "gemini" && len(chats) == 0 {
				t.Error("there is no original chat")
			}
		})
	}
}
