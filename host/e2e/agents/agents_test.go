package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/sessiontree"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// world has a project in which conversations are recorded, and an agent's own home.
type world struct {
	*testing.T
	*e2etest.World
	home, project string
	// hooks is where the input of every hook is copied to.
	hooks string
	// written are the files of Tidemark's home with what is compressed in them, nil before they were read.
	written map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, World: e2etest.EmptyWorld(t), home: t.TempDir(), project: t.TempDir()}
	w.hooks = filepath.Join(w.home, "hooks.jsonl")
	w.write("a.js", "let a = 1\nlet b = 2\n")
	w.write(".env", "WORD=unnamed-plain-word\n")
	w.tidemark("project", "allow", "--grant", "conversation", w.project)
	w.tidemark("session", "start")
	return w
}

func (w *world) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.project, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) tidemark(args ...string) string {
	w.Helper()
	r := w.RunIn(w.project, args...)
	if r.Code != 0 {
		w.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
	}
	return r.Out
}

// program returns the program of an agent, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("TIDEMARK_TEST_AGENTS")
	if dir == "" {
		dir = e2etest.Repository(".cache/agents")
	}
	path := filepath.Join(dir, "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed (%v); `make agents` installs it", name, err)
	}
	return path
}

// run runs an agent in the project with a home of its own. Nothing of the user's environment names a provider or a key.
func (w *world) run(env []string, name string, args ...string) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), name, args...)
	cmd.Dir = w.project
	cmd.Env = append(append(clean(os.Environ()), "HOME="+w.home, "PWD="+w.project, "TIDEMARK_HOME="+w.Home), env...)
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%s fails: %v: %s", filepath.Base(name), err, out)
	}
}

// ofAgents matches the names of variables that agents read.
var ofAgents = regexp.MustCompile(`ANTHROPIC|CLAUDE|OPENAI|CODEX|GEMINI|GOOGLE|COPILOT|OPENCODE|GITHUB|^GH_|^XDG_`)

// clean returns variables without those of agents.
func clean(env []string) (cleaned []string) {
	for _, v := range env {
		if key, _, _ := strings.Cut(v, "="); !ofAgents.MatchString(key) {
			cleaned = append(cleaned, v)
		}
	}
	return cleaned
}

// settings returns hooks that run `tidemark hook`, and keep a copy of what it reads.
func (w *world) settings(events ...string) string {
	w.Helper()
	command := fmt.Sprintf("tee -a '%s' | '%s' hook --patience 4s", w.hooks, w.Binary)
	hooks := map[string]any{}
	for _, e := range events {
		hooks[e] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command}}}}
	}
	data, err := json.Marshal(map[string]any{"hooks": hooks})
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

// recording returns the only recorded conversation.
func (w *world) recording() *conversation.Outline {
	w.Helper()
	var list conversation.Listed
	if err := json.Unmarshal([]byte(w.tidemark("recordings", "list", "--json")), &list); err != nil {
		w.Fatal(err)
	}
	if len(list.Recordings) != 1 {
		w.Fatalf("there are %d recordings", len(list.Recordings))
	}
	var a conversation.Outline
	if err := json.Unmarshal([]byte(w.tidemark("recordings", "show", list.Recordings[0].ID, "--json")), &a); err != nil {
		w.Fatal(err)
	}
	return &a
}

// calls returns the calls of an outline as "ID title outcome source", those of subagents behind an arrow.
func calls(o *conversation.Outline) (all []string) {
	var walk func(prefix string, list []*conversation.Called)
	walk = func(prefix string, list []*conversation.Called) {
		for _, c := range list {
			all = append(all, prefix+strings.Join([]string{c.ID, c.Title(), c.Outcome, c.Source}, "|"))
			walk(prefix+"> ", c.Calls)
		}
	}
	for _, t := range o.Turns {
		walk("", t.Calls)
	}
	slices.Sort(all)
	return all
}

// secret is planted in prompts, inputs and results.
const secret = "ghp_0123456789abcdefABCDEF0123456789abcd"

// walkCalls calls each with the changed files of a tree.
func walkCalls(a *sessiontree.Tree, each func(id, path string, oneOf []string)) {
	for _, c := range allCalls(a) {
		for _, f := range c.Files {
			if !strings.Contains(f.Path, ".tmp.") { // Claude Code writes a file under another name first
				each(c.ID, f.Path, f.OneOf)
			}
		}
	}
}

// allCalls returns the calls of a tree, those of subagents too.
func allCalls(a *sessiontree.Tree) (all []*sessiontree.Call) {
	var walk func([]*sessiontree.Call)
	walk = func(calls []*sessiontree.Call) {
		for _, c := range calls {
			all = append(all, c)
			walk(c.Calls)
		}
	}
	for _, t := range a.Turns {
		walk(t.Calls)
	}
	return all
}

// wholeTree returns the tree of the session once it has the changes of so many files: the last snapshot may still be recorded.
func (w *world) wholeTree(files int) *sessiontree.Tree {
	w.Helper()
	var a sessiontree.Tree
	paths := map[string]bool{} // a snapshot between the creation and the writing of a file makes two changes
	if err := testbed.Eventually(w.Context(), func() (bool, error) {
		a, paths = sessiontree.Tree{}, map[string]bool{}
		if err := json.Unmarshal([]byte(w.tidemark("timeline", "show", "--json")), &a); err != nil {
			return false, err
		}
		walkCalls(&a, func(_, path string, _ []string) { paths[path] = true })
		return len(paths) == files, nil
	}); err != nil {
		w.Errorf("%v: %d files have a call, want %d; others: %+v", err, len(paths), files, a.Files)
	}
	return &a
}

// tree checks that the tree of the session has each file below the call that made it, in pairs.
func (w *world) tree(agent string, made ...string) {
	w.Helper()
	var got []string
	a := w.wholeTree(len(made) / 2)
	walkCalls(a, func(id, path string, _ []string) {
		if !slices.Contains(got, path) {
			got = append(got, id, path)
		}
	})
	equal(w.T, "the files", got, made)
	if len(a.Turns) != 1 || a.Turns[0].Agent != agent || a.Turns[0].Moment == "" || len(a.Files) != 0 {
		w.Errorf("the turns are %+v, changes by no call %+v", a.Turns, a.Files)
	}
	text := w.tidemark("timeline", "show")
	w.Log("\n" + text)
	for _, want := range []string{"Change a to 2, with [masked]", "├─ ", "modified a.js  +1 −1", "$ false  failed", "stopped: All done."} {
		if !strings.Contains(text, want) {
			w.Errorf("the tree has no %q", want)
		}
	}
}

// nothingSecret checks that no file of Tidemark has a secret, but for the project's own files.
func (w *world) nothingSecret(secrets ...string) {
	w.Helper()
	w.written = nil
	w.nothingOnDisk(filepath.Join(w.Home, "workspaces"), secrets...)
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// claudeEvents are the hooks of Claude Code that a recording needs.
var claudeEvents = []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "PermissionDenied"}

func (w *world) claude(hooks []string, prompt string, turns ...modelserver.Turn) {
	w.Helper()
	claude := program(w.T, "claude")
	server := modelserver.Start(w.T, turns...)
	config := filepath.Join(w.home, "claude")
	if err := os.MkdirAll(config, 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(w.settings(hooks...)), 0o600); err != nil {
		w.Fatal(err)
	}
	w.run(claudeEnv(config, server), claude, "-p", prompt, "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write,Read,Agent")
	if server.Served() != len(turns) {
		w.Fatalf("Claude Code asked for %d of %d turns", server.Served(), len(turns))
	}
}

func call(id, tool string, input any) modelserver.Call {
	return modelserver.Call{ID: id, Name: tool, Input: input}
}

// claudeTurns read, edit, run commands in parallel, fail, and have a subagent write a file.
func (w *world) claudeTurns() []modelserver.Turn {
	path := func(name string) string { return filepath.Join(w.project, name) }
	return []modelserver.Turn{
		{Text: "I look.", Calls: []modelserver.Call{call("toolu_01", "Read", map[string]any{"file_path": path("a.js")}), call("toolu_02", "Read", map[string]any{"file_path": path(".env")})}},
		{Text: "I edit.", Calls: []modelserver.Call{
			call("toolu_03", "Edit", map[string]any{"file_path": path("a.js"), "old_string": "let a = 1", "new_string": "let a = 2"}),
			call("toolu_04", "Bash", map[string]any{"command": "echo 'password: " + secret + "' > b.txt; cat b.txt", "description": "write b"}),
		}},
		{Calls: []modelserver.Call{call("toolu_05", "Bash", map[string]any{"command": "false", "description": "fail"})}},
		{Calls: []modelserver.Call{call("toolu_06", "Agent", map[string]any{"description": "write c", "prompt": "write c.js", "subagent_type": "general-purpose", "run_in_background": false})}},
		{Calls: []modelserver.Call{call("toolu_07", "Write", map[string]any{"file_path": path("c.js"), "content": "c\n"})}},
		{Text: "c.js is written."},
		{Text: "All done."},
	}
}

func claudeCalls(source string) []string {
	return []string{
		"> toolu_07|Write c.js|ok|" + source,
		"toolu_01|Read a.js|ok|" + source,
		"toolu_02|Read .env|ok|" + source,
		"toolu_03|Edit a.js|ok|" + source,
		"toolu_04|$ echo 'password: [masked]' > b.txt; cat b.txt|ok|" + source,
		"toolu_05|$ false|failed|" + source,
		"toolu_06|Agent|ok|" + source,
	}
}

func TestASessionOfClaudeCodeIsRecorded(t *testing.T) {
	w := newWorld(t)
	w.claude(claudeEvents, "Change a to 2, with "+secret, w.claudeTurns()...)
	o := w.recording()
	if len(o.Turns) != 1 || o.Turns[0].Prompt != "Change a to 2, with [masked]" || o.Turns[0].Said != "All done." || o.Turns[0].Source != "hook" {
		t.Errorf("the turns are %+v", o.Turns)
	}
	equal(t, "the calls", calls(o), claudeCalls("both"))
	if c := o.Coverage; c.OnlyHook+c.OnlyTranscript+c.Unknown+c.Damaged != 0 || c.Lines == 0 {
		t.Errorf("the coverage is %+v", c)
	}
	w.nothingSecret(secret, "unnamed-plain-word")
	if tree := w.tidemark("recordings", "show", o.ID); !strings.Contains(tree, "Edit a.js") || !strings.Contains(tree, "    ") {
		t.Errorf("the tree is %s", tree)
	}
	w.tree("claude", "toolu_03", "a.js", "toolu_04", "b.txt", "toolu_07", "c.js")
	w.keepFixture("claude-2.1.332", filepath.Join(w.home, "claude", "projects"))
}

func TestWhatHooksOfClaudeCodeMissIsTakenFromItsTranscript(t *testing.T) {
	w := newWorld(t)
	w.claude([]string{"SessionStart", "SubagentStop", "SessionEnd"}, "Change a to 2", w.claudeTurns()...)
	o := w.recording()
	if len(o.Turns) != 1 || o.Turns[0].Prompt != "Change a to 2" || o.Turns[0].Source != conversation.FromTranscript {
		t.Errorf("the turns are %+v", o.Turns)
	}
	equal(t, "the calls", calls(o), claudeCalls(conversation.FromTranscript))
	if c := o.Coverage; c.OnlyTranscript != 8 {
		t.Errorf("the coverage is %+v", c)
	}
	w.nothingSecret(secret, "unnamed-plain-word")
}

// codexEvents are the hooks of Codex that a recording needs.
var codexEvents = []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact"}

// codex runs Codex with hooks, a text of hooks.json, and a prompt with its options. "" leaves that file as it is.
func (w *world) codex(hooks string, prompt []string, turns ...modelserver.Turn) {
	w.Helper()
	server := modelserver.Start(w.T, turns...)
	w.run(w.codexEnv(server, hooks), program(w.T, "codex"), append([]string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"}, prompt...)...)
	if server.Served() != len(turns) {
		w.Fatalf("Codex asked for %d of %d turns", server.Served(), len(turns))
	}
}

// codexEnv writes the settings of Codex with a scripted model and hooks, and returns its environment.
func (w *world) codexEnv(server *modelserver.Server, hooks string) []string {
	w.Helper()
	config := filepath.Join(w.home, "codex")
	if err := os.MkdirAll(config, 0o700); err != nil {
		w.Fatal(err)
	}
	for name, text := range map[string]string{
		"hooks.json": hooks,
		"config.toml": fmt.Sprintf("model = \"gpt-5.5\"\nmodel_provider = \"script\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n"+
			"[features]\nhooks = true\n[model_providers.script]\nname = \"script\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"SCRIPT_KEY\"\n"+
			"[projects.%q]\ntrust_level = \"trusted\"\n", server.URL+"/v1", w.project),
	} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(config, name), []byte(text), 0o600); err != nil {
			w.Fatal(err)
		}
	}
	return []string{"CODEX_HOME=" + config, "SCRIPT_KEY=sk-dummy"}
}

func TestASessionOfCodexIsRecorded(t *testing.T) {
	w := newWorld(t)
	w.codex(w.settings(codexEvents...), []string{"Change a to 2, with " + secret},
		modelserver.Turn{Text: "I look.", Calls: []modelserver.Call{call("call_01", "exec_command", map[string]any{"cmd": "cat a.js"})}},
		modelserver.Turn{Text: "I edit.", Calls: []modelserver.Call{call("call_02", "apply_patch", "*** Begin Patch\n*** Update File: a.js\n@@\n-let a = 1\n+let a = 2\n let b = 2\n*** End Patch\n")}},
		modelserver.Turn{Calls: []modelserver.Call{
			call("call_03", "exec_command", map[string]any{"cmd": "false"}),
			call("call_04", "exec_command", map[string]any{"cmd": "echo 'password: " + secret + "' > b.txt; cat b.txt"}),
		}},
		modelserver.Turn{Text: "All done."},
	)
	o := w.recording()
	if len(o.Turns) != 1 || o.Turns[0].Prompt != "Change a to 2, with [masked]" || o.Turns[0].Said != "All done." {
		t.Errorf("the turns are %+v", o.Turns)
	}
	equal(t, "the calls", calls(o), []string{
		"call_01|$ cat a.js|ok|both",
		"call_02|apply_patch a.js|ok|both",
		"call_03|$ false|failed|both",
		"call_04|$ echo 'password: [masked]' > b.txt; cat b.txt|ok|both",
	})
	if c := o.Coverage; c.OnlyHook+c.OnlyTranscript+c.Unknown+c.Damaged != 0 || c.Lines == 0 {
		t.Errorf("the coverage is %+v", c)
	}
	for _, c := range o.Turns[0].Calls {
		if c.Command != "" && c.DurationMs == 0 {
			t.Errorf("%s took no time", c.ID)
		}
	}
	w.nothingSecret(secret)
	w.tree("codex", "call_02", "a.js", "call_04", "b.txt")
	w.keepFixture("codex-0.169.0", filepath.Join(w.home, "codex", "sessions"))
}

// The hooks that `tidemark install` writes are those that Codex runs, and `tidemark uninstall` removes them.
func TestInstalledHooksRecordASessionOfCodex(t *testing.T) {
	w := newWorld(t)
	config := filepath.Join(w.home, "codex")
	hooks := filepath.Join(config, "hooks.json")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	tidemark := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), w.Binary, args...)
		cmd.Dir, cmd.Env = w.project, append(os.Environ(), "HOME="+w.home, "TIDEMARK_HOME="+w.Home, "CODEX_HOME="+config)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q fails: %v: %s", args, err, out)
		}
		return string(out)
	}
	if out := tidemark("install", "--yes", "--agent", "codex"); !strings.Contains(out, "/hooks") {
		t.Errorf("install does not mention the review: %s", out)
	}
	written, err := os.ReadFile(hooks)
	if err != nil {
		t.Fatal(err)
	}
	w.codex("", []string{"Change a to 2"},
		modelserver.Turn{Calls: []modelserver.Call{call("call_01", "apply_patch", "*** Begin Patch\n*** Update File: a.js\n@@\n-let a = 1\n+let a = 2\n let b = 2\n*** End Patch\n")}},
		modelserver.Turn{Calls: []modelserver.Call{call("call_02", "exec_command", map[string]any{"cmd": "echo b > b.txt"})}},
		modelserver.Turn{Text: "All done."},
	)
	o := w.recording()
	if len(o.Turns) != 1 || o.Turns[0].Prompt != "Change a to 2" || o.Turns[0].Said != "All done." || o.Turns[0].Source != "hook" {
		t.Errorf("the turns are %+v", o.Turns)
	}
	equal(t, "the calls", calls(o), []string{"call_01|apply_patch a.js|ok|both", "call_02|$ echo b > b.txt|ok|both"})
	if data, err := os.ReadFile(hooks); err != nil || string(data) != string(written) {
		t.Errorf("Codex changed the hooks (%v): %s", err, data)
	}
	tidemark("uninstall", "--yes")
	if _, err := os.Stat(hooks); !os.IsNotExist(err) {
		t.Errorf("uninstall leaves the hooks: %v", err)
	}
}
