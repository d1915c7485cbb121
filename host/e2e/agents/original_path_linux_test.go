package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// transcripts returns what Claude Code has in its directories of projects, by path.
func (w *world) transcripts() map[string]string {
	w.Helper()
	found, err := filepath.Glob(filepath.Join(w.home, "claude", "projects", "*", "*.jsonl"))
	if err != nil {
		w.Fatal(err)
	}
	texts := map[string]string{}
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			w.Fatal(err)
		}
		texts[path] = string(data)
	}
	return texts
}

// Claude Code sees its branch at the path of the original. Its conversation, its hooks and its files are those of the branch, and
// the original finds its own conversation.
func TestClaudeCodeSeesItsBranchAtThePathOfTheOriginal(t *testing.T) {
	w := newWorld(t)
	page := filepath.Join(w.project, "page.js")
	write := func(id, text string) modelserver.Call {
		return call(id, "Write", map[string]any{"file_path": page, "content": text})
	}
	w.claude(claudeEvents, "Write a page",
		modelserver.Turn{Text: "First.", Calls: []modelserver.Call{write("toolu_1", "let cart = 1\n")}},
		modelserver.Turn{Text: "Then I break it.", Calls: []modelserver.Call{write("toolu_2", "let cart = null\n")}},
		modelserver.Turn{Text: "All done."},
	)
	moment := w.momentOf("toolu_1")
	before, conversations := whole(t, w.project), w.transcripts()

	server := modelserver.Start(t,
		modelserver.Turn{Text: "Differently.", Calls: []modelserver.Call{call("toolu_b0", "Read", map[string]any{"file_path": page})}},
		modelserver.Turn{Calls: []modelserver.Call{call("toolu_b1", "Edit", map[string]any{"file_path": page, "old_string": "let cart = 1", "new_string": "let cart = 2"})}},
		modelserver.Turn{Calls: []modelserver.Call{call("toolu_b2", "Bash", map[string]any{"command": "pwd > where.txt; cat " + page + " > seen.txt", "description": "look"})}},
		modelserver.Turn{Text: "Done differently."},
	)
	settings := filepath.Join(w.home, "claude", "settings.json")
	if err := os.WriteFile(settings, []byte(strings.Replace(w.settings(claudeEvents...), "{", `{"permissions":{"allow":["Bash","Write","Edit","Read"]},`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := w.branch(claudeEnv(filepath.Join(w.home, "claude"), server), "--moment", moment, "--name", "other-way", "--message", "Do it differently", "--agent-path", "original")
	log, _ := os.ReadFile(b.Agent.Log)
	if b.Agent.Method != "transcript" || b.Agent.Path != w.project || b.Agent.PathWhy != "" {
		t.Fatalf("the agent is %+v", b.Agent)
	}
	asked := server.Asked()
	if len(asked) != 4 || server.Served() != 4 {
		t.Fatalf("the model was asked %d times: %s", len(asked), log)
	}
	for text, want := range map[string]bool{"Write a page": true, page: true, "toolu_1": true, "toolu_2": false, filepath.Join(b.Workspace, "page.js"): false, "Do it differently": true} {
		if got := strings.Contains(asked[0], text); got != want {
			t.Errorf("the first request has %q: %t", text, got)
		}
	}
	for name, want := range map[string]string{"page.js": "let cart = 2\n", "where.txt": w.project + "\n", "seen.txt": "let cart = 2\n"} {
		if got := w.content(b.Workspace, name); got != want {
			t.Errorf("%s is %q, want %q: %s", name, got, want, log)
		}
	}
	if after := whole(t, w.project); after != before {
		t.Errorf("the original workspace has changed:\n%s\nbefore:\n%s", after, before)
	}
	var continued string
	for path, text := range w.transcripts() {
		switch {
		case conversations[path] == text:
		case strings.HasSuffix(path, b.Agent.Conversation+".jsonl") && conversations[path] == "":
			continued = path
		default:
			t.Errorf("the conversation %s is new or has changed", path)
		}
	}
	for path := range conversations {
		if filepath.Dir(path) == filepath.Dir(continued) {
			t.Errorf("the conversation of the branch %s is beside that of the original", continued)
		}
	}
	if r := w.RunIn(w.project, "branch", "attach", "other-way"); r.Code != 0 || !strings.Contains(r.Err, "Its conversation is in "+continued) {
		t.Errorf("attach says %+v; the conversation is %s", r, continued)
	}

	// Its hooks are of the branch.
	var list answers.List
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		err := json.Unmarshal([]byte(w.tidemark("timeline", "list", b.ID, "--json")), &list)
		return slices.ContainsFunc(list.Moments, func(m answers.ListMoment) bool { return m.Source == "stop" }), err
	}); err != nil {
		t.Fatalf("%v: the moments are %+v", err, list.Moments)
	}
	if !slices.ContainsFunc(list.Moments, func(m answers.ListMoment) bool {
		return m.Anchor != nil && m.Anchor.Message == "toolu_b1" && strings.Contains(m.Label, "page.js") && !strings.Contains(m.Label, w.project)
	}) {
		t.Errorf("the moments of the branch are %+v", list.Moments)
	}
	if text := w.tidemark("timeline", "list", "--json"); strings.Contains(text, "toolu_b") {
		t.Errorf("the original has moments of the branch: %s", text)
	}
	var outline conversation.Outline
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		var list conversation.Listed
		if err := json.Unmarshal([]byte(w.RunIn(b.Workspace, "recordings", "list", "--json").Out), &list); err != nil {
			return false, err
		}
		for _, r := range list.Recordings {
			if r.Session == b.Agent.Conversation {
				err := json.Unmarshal([]byte(w.tidemark("recordings", "show", r.ID, "--json")), &outline)
				return outline.Coverage.Lines > 0 && slices.Contains(calls(&outline), "toolu_b1|Edit page.js|ok|both"), err // the transcript was read
			}
		}
		return false, nil
	}); err != nil {
		t.Fatalf("%v: %+v", err, outline)
	}
	if outline.Workspace != b.Workspace || outline.Coverage.OnlyHook > 0 {
		t.Errorf("the recording of the branch is of %s, %+v: %q", outline.Workspace, outline.Coverage, calls(&outline))
	}

	// The original goes on with its own conversation.
	w.claudeContinues("What did you do?", map[string]bool{"All done.": true, "Do it differently": false})

	// A branch of the branch, at its own path: nothing leads to the original.
	again := modelserver.Start(t, modelserver.Turn{Text: "I see."})
	second := w.branch(claudeEnv(filepath.Join(w.home, "claude"), again), b.ID, "--moment", "now", "--name", "second", "--message", "Go on", "--agent-path", "branch")
	if asked := again.Asked(); len(asked) != 1 || second.Agent.Method != "transcript" || strings.Contains(asked[0], page) || !strings.Contains(asked[0], filepath.Join(second.Workspace, "page.js")) || !strings.Contains(asked[0], "Done differently.") {
		t.Errorf("the agent is %+v, its model was asked %.3000q", second.Agent, asked)
	}
	w.tidemark("branch", "rm", "second")
	w.tidemark("branch", "rm", "other-way")
}

// claudeContinues continues the newest conversation in the project, and checks what its model is asked.
func (w *world) claudeContinues(prompt string, has map[string]bool) {
	w.Helper()
	server := modelserver.Start(w.T, modelserver.Turn{Text: "That."})
	w.run(claudeEnv(filepath.Join(w.home, "claude"), server), program(w.T, "claude"), "-p", "--continue", prompt)
	asked := server.Asked()
	if len(asked) != 1 {
		w.Fatalf("the model was asked %d times", len(asked))
	}
	for text, want := range has {
		if strings.Contains(asked[0], text) != want {
			w.Errorf("the request has %q: %t", text, !want)
		}
	}
}
