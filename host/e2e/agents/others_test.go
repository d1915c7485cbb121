package agents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// other is an agent of which only the hooks are recorded.
type other struct {
	id, program string
	// version is in the name of its fixture.
	version string
	args    []string
	env     func(w *world, url string) []string
	// before are its settings in its home, before the installation.
	before map[string]string
	turns  func(path func(string) string) []modelserver.Turn
	// calls are those that are recorded: title, outcome. Prompt is the one that it reports.
	calls  []string
	prompt string
	// answered is true where the answer of the hook of the start reaches the model.
	answered bool
	// made are the files with the titles of the calls that made them.
	made map[string]string
}

// on returns a call with the input that one of these agents wants.
func on(id, tool string, pairs ...string) modelserver.Call {
	input := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		input[pairs[i]] = pairs[i+1]
	}
	return call(id, tool, input)
}

const leak = "echo 'password: " + secret + "' > b.txt; cat b.txt"

var others = []other{
	{
		id: "gemini", program: "gemini", version: "gemini-0.61.0", answered: true,
		args: []string{"-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p"},
		env: func(_ *world, url string) []string {
			return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_TELEMETRY_ENABLED=false", "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
		before: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false}}`},
		turns: func(path func(string) string) []modelserver.Turn {
			return []modelserver.Turn{
				{Text: "I look.", Calls: []modelserver.Call{on("g1", "read_file", "file_path", path("a.js")), on("g2", "read_file", "file_path", path(".env"))}}, /* it refuses, without a hook */
				{Text: "I edit.", Calls: []modelserver.Call{on("g3", "replace", "file_path", path("a.js"), "instruction", "x", "old_string", "let a = 1", "new_string", "let a = 2")}},
				{Calls: []modelserver.Call{on("g4", "run_shell_command", "command", leak, "description", "x")}},
				{Calls: []modelserver.Call{on("g5", "run_shell_command", "command", "false", "description", "x"), on("g6", "write_file", "file_path", path("c.js"), "content", "c\n")}},
				{Text: "All done."},
			}
		},
		calls: []string{"read_file a.js|ok", "replace a.js|ok", "$ echo 'password: [masked]' > b.txt; cat b.txt|ok", "$ false|failed", "write_file c.js|ok"},
		made:  map[string]string{"a.js": "replace a.js", "b.txt": "$ echo 'password: [masked]' > b.txt; cat b.txt", "c.js": "write_file c.js"},
	},
	{
		id: "copilot", program: "copilot", version: "copilot-1.0.102", answered: true,
		args: []string{"--no-auto-update", "--model", "claude-sonnet-4.5", "--allow-all-tools", "-p"},
		env: func(_ *world, url string) []string {
			return []string{
				"COPILOT_CACHE_HOME=" + filepath.Join(e2etest.Repository(".cache/agents"), "copilot"), // it unpacks itself
				"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_PROVIDER_BASE_URL=" + url, "COPILOT_PROVIDER_API_KEY=dummy", "COPILOT_MODEL=claude-sonnet-4.5",
			}
		},
		before: map[string]string{".copilot/settings.json": "{}\n"},
		turns: func(path func(string) string) []modelserver.Turn {
			return []modelserver.Turn{
				{Text: "I look.", Calls: []modelserver.Call{on("c1", "view", "path", path("a.js")), on("c2", "view", "path", path(".env"))}},
				{Text: "I edit.", Calls: []modelserver.Call{on("c3", "edit", "path", path("a.js"), "old_str", "let a = 1", "new_str", "let a = 2")}},
				{Calls: []modelserver.Call{on("c4", "bash", "command", leak, "description", "x")}},
				{Calls: []modelserver.Call{on("c5", "bash", "command", "false", "description", "x"), on("c6", "create", "path", path("c.js"), "file_text", "c\n")}},
				{Text: "All done."},
			}
		},
		calls: []string{"Read a.js|ok", "Read .env|ok", "Edit a.js|ok", "$ echo 'password: [masked]' > b.txt; cat b.txt|ok", "$ false|failed", "Write c.js|ok"},
		made:  map[string]string{"a.js": "Edit a.js", "b.txt": "$ echo 'password: [masked]' > b.txt; cat b.txt", "c.js": "Write c.js"},
	},
	{
		id: "opencode", program: "opencode", version: "opencode-1.18.33",
		args: []string{"run", "--model", "anthropic/claude-sonnet-4-5"},
		env: func(w *world, url string) []string {
			return []string{
				"npm_config_registry=http://127.0.0.1:9/", "npm_config_offline=true", "npm_config_fetch_retries=0", // it installs nothing
				"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
				"XDG_DATA_HOME=" + w.home + "/data", "XDG_STATE_HOME=" + w.home + "/state", "XDG_CACHE_HOME=" + w.home + "/cache", "XDG_CONFIG_HOME=" + w.home + "/.config",
				fmt.Sprintf(`OPENCODE_CONFIG_CONTENT={"share":"disabled","permission":"allow","autoupdate":false,"mcp":{"tidemark":{"enabled":false}},"provider":{"anthropic":{"options":{"baseURL":"%s/v1","apiKey":"dummy"}}}}`, url),
			}
		},
		before: map[string]string{".config/opencode/opencode.json": "{\n  \"$schema\": \"https://opencode.ai/config.json\", // it adds this itself\n  // mine\n  \"theme\": \"system\"\n}\n"},
		prompt: `"Change a to 2, with [masked]"`, // it quotes the words of its command line
		turns: func(path func(string) string) []modelserver.Turn {
			return []modelserver.Turn{
				{Text: "I look.", Calls: []modelserver.Call{on("o1", "read", "filePath", path("a.js")), on("o2", "read", "filePath", path(".env"))}},
				{Text: "I edit.", Calls: []modelserver.Call{on("o3", "edit", "filePath", path("a.js"), "oldString", "let a = 1", "newString", "let a = 2")}},
				{Calls: []modelserver.Call{on("o4", "bash", "command", leak, "description", "x")}},
				{Calls: []modelserver.Call{on("o5", "bash", "command", "false", "description", "x"), on("o6", "write", "filePath", path("c.js"), "content", "c\n")}},
				{Calls: []modelserver.Call{on("o7", "read", "filePath", path("nothing.js"))}},
				{Calls: []modelserver.Call{on("o8", "task", "description", "write d", "prompt", "write d.js", "subagent_type", "general")}},
				{Calls: []modelserver.Call{on("o9", "write", "filePath", path("d.js"), "content", "d\n")}},
				{Text: "d.js is written."},
				{Text: "All done."},
			}
		},
		calls: []string{"read a.js|ok", "read .env|ok", "edit a.js|ok", "$ echo 'password: [masked]' > b.txt; cat b.txt|ok", "$ false|failed", "write c.js|ok", "read nothing.js|failed", "task|ok", "> write d.js|ok"},
		made:  map[string]string{"a.js": "edit a.js", "b.txt": "$ echo 'password: [masked]' > b.txt; cat b.txt", "c.js": "write c.js", "d.js": "write d.js"},
	},
}

// The hooks and the plugin that `tidemark install` writes record a session, and `tidemark uninstall` leaves what was there before.
func TestInstalledHooksRecordASessionOfOtherAgents(t *testing.T) {
	for _, o := range others {
		t.Run(o.id, func(t *testing.T) {
			agent := program(t, o.program)
			w := newWorld(t)
			path := func(name string) string { return filepath.Join(w.home, name) }
			for name, text := range o.before {
				if err := os.MkdirAll(filepath.Dir(path(name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := settingsFiles(t, w.home)
			w.install("install", "--yes", "--agent", o.id)
			w.copyHooks()
			turns := o.turns(func(name string) string { return filepath.Join(w.project, name) })
			server := modelserver.Start(t, turns...)
			w.run(o.env(w, server.URL), agent, append(slices.Clone(o.args), "Change a to 2, with "+secret)...)
			if server.Served() != len(turns) {
				t.Fatalf("it asked for %d of %d turns", server.Served(), len(turns))
			}
			if o.answered && !strings.Contains(server.Asked()[0], "Tidemark watches no tab of this project") {
				t.Errorf("the model does not get the answer of the hook of the start: %s", server.Asked()[0])
			}
			w.ended()
			r := w.recording()
			want := o.prompt
			if want == "" {
				want = "Change a to 2, with [masked]"
			}
			if len(r.Turns) != 1 || r.Turns[0].Prompt != want || r.Turns[0].Source != "hook" || r.Agent != o.id {
				t.Errorf("the turns of %s are %s", r.Agent, w.tidemark("recordings", "show", r.ID))
			}
			equal(t, "the calls", plain(r), sorted(o.calls))
			w.nothingSecret(secret, "unnamed-plain-word")
			w.madeBy(o)
			w.keepHooks(o.version)
			w.pointHooks(w.copier(), w.Binary)
			w.install("uninstall", "--yes")
			if after := settingsFiles(t, w.home); !slices.Equal(after, before) {
				t.Errorf("uninstall leaves:\n%s\nwant:\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
			}
		})
	}
}

// install runs the installation for the agents of the world's home.
func (w *world) install(args ...string) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), w.Binary, args...)
	cmd.Dir, cmd.Env = w.project, append(os.Environ(), "HOME="+w.home, "TIDEMARK_HOME="+w.Home, "COPILOT_HOME=", "XDG_CONFIG_HOME=")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%q fails: %v: %s", args, err, out)
	}
}

// settingsFiles returns the texts of the files in which agents have settings.
func settingsFiles(t *testing.T, home string) (all []string) {
	t.Helper()
	for _, pattern := range []string{".gemini/settings.json", ".copilot/*.json", ".copilot/hooks/*", ".config/opencode/*.json", ".config/opencode/plugins/*"} {
		names, err := filepath.Glob(filepath.Join(home, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if data, err := os.ReadFile(name); err == nil && filepath.Base(name) != "config.json" { // Copilot CLI's own
				all = append(all, name+": "+string(data))
			}
		}
	}
	return all
}

// plain returns the calls of an outline as "title|outcome", those of subagents behind an arrow.
func plain(o *conversation.Outline) (all []string) {
	for _, c := range calls(o) {
		c, nested := strings.CutPrefix(c, "> ")
		parts := strings.Split(c, "|")
		line := parts[1] + "|" + parts[2]
		if nested {
			line = "> " + line
		}
		all = append(all, line)
	}
	return sorted(all)
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// ended waits until the agent's stop is recorded: its last hook may run after its end.
func (w *world) ended() {
	w.Helper()
	if err := testbed.Eventually(w.Context(), func() (bool, error) {
		r := w.recording()
		return len(r.Turns) > 0 && r.Turns[0].Ended != nil, nil
	}); err != nil {
		w.Errorf("%v: the session has no end", err)
	}
}

// madeBy checks that each changed file is below the call that made it, or below one of several with it.
func (w *world) madeBy(o other) {
	w.Helper()
	tree := w.wholeTree(len(o.made))
	titles := map[string]string{}
	for _, c := range allCalls(tree) {
		titles[c.ID] = c.Title
	}
	walkCalls(tree, func(id, path string, oneOf []string) {
		if len(oneOf) == 0 {
			oneOf = []string{id}
		}
		if !slices.ContainsFunc(oneOf, func(id string) bool { return titles[id] == o.made[path] }) {
			w.Errorf("%s is below %q, one of %q", path, titles[id], oneOf)
		}
	})
	if len(tree.Files) != 0 || len(tree.Turns) != 1 || tree.Turns[0].Moment == "" {
		w.Errorf("changes by no call: %+v, turns %+v", tree.Files, tree.Turns)
	}
}

// copyHooks makes the installed hooks keep a copy of what they read, where fixtures are recorded.
func (w *world) copyHooks() {
	w.Helper()
	if os.Getenv("TIDEMARK_RECORD_AGENTS") == "" {
		return
	}
	wrapper := w.copier()
	script := fmt.Sprintf("#!/bin/sh\nin=$(cat)\nprintf '%%s\\n' \"$in\" | tee -a '%s' | '%s' \"$@\"\n", w.hooks, w.Binary)
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		w.Fatal(err)
	}
	w.pointHooks(w.Binary, wrapper)
}

// copier is the program that copies.
func (w *world) copier() string { return filepath.Join(w.home, "tidemark") }

// pointHooks makes the installed hooks run another program.
func (w *world) pointHooks(from, to string) {
	w.Helper()
	for _, line := range settingsFiles(w.T, w.home) {
		name, text, _ := strings.Cut(line, ": ")
		text = regexp.MustCompile(regexp.QuoteMeta(from)+`( hook|"\n)`).ReplaceAllString(text, to+"$1")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			w.Fatal(err)
		}
	}
}

// keepHooks writes what the hooks read to the fixtures, where they are recorded.
func (w *world) keepHooks(name string) {
	w.Helper()
	if os.Getenv("TIDEMARK_RECORD_AGENTS") != "" {
		w.keep(filepath.Join(e2etest.Repository("host/internal/conversation/testdata"), name+".hooks.jsonl"), w.hooks)
	}
}
