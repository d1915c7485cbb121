package agents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/fork"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// find returns the parts of a file that a pattern matches. None may be longer than 64 KiB.
func find(t *testing.T, path string, pattern *regexp.Regexp) (found []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	const step, overlap = 16 << 20, 64 << 10
	buf := make([]byte, step+overlap)
	for at := int64(0); ; at += step {
		n, err := f.ReadAt(buf, at)
		for _, m := range pattern.FindAll(buf[:n], -1) {
			found = append(found, string(m))
		}
		if errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// claudeTypes returns the types of lines that the installed Claude Code writes, by the tables in its program that have one row
// for each.
func claudeTypes(t *testing.T) []string {
	t.Helper()
	var types []string
	name := regexp.MustCompile(`[a-z]+(?:-[a-z]+)*`)
	for _, table := range find(t, program(t, "claude"), regexp.MustCompile(`\{user:"[a-z-]+",assistant:"[a-z-]+",[^{}]+\}`)) {
		for row := range strings.SplitSeq(strings.Trim(table, "{}"), ",") {
			key, _, _ := strings.Cut(row, ":")
			if key = strings.Trim(key, `"`); strings.Contains(table, "file-history-snapshot") && name.FindString(key) == key {
				types = append(types, key)
			}
		}
	}
	slices.Sort(types)
	if types = slices.Compact(types); len(types) < 40 {
		t.Fatalf("the tables in the program have only the types %q", types)
	}
	return append(types, "repl-mode", "hybrid-organization", "host-row") // these are not in the tables of 2.1.332
}

// codexTypes are the types of lines of Codex.
var codexTypes = []string{
	"session_meta", "dynamic_tools_updated", "response_item", "inter_agent_communication_metadata", "inter_agent_communication", "compacted", "turn_context",
	"token_usage_record", "world_state", "security_risk_score", "event_msg", "realtime_item",
}

// No line that the installed agents write is counted as unknown, and none keeps a conversation from being cut.
func TestTheTypesOfLinesOfInstalledAgentsAreKnown(t *testing.T) {
	types := map[string][]string{"claude": claudeTypes(t), "codex": codexTypes}
	t.Run("codex has no other ones", func(t *testing.T) {
		vendored, _ := filepath.Glob(filepath.Join(filepath.Dir(program(t, "codex")), "../@openai/codex-*/vendor/*/bin/codex"))
		if len(vendored) != 1 {
			t.Fatalf("the program is one of %q", vendored)
		}
		lists := find(t, vendored[0], regexp.MustCompile(`session_meta[a-z_]*response_item[a-z_]*event_msg`))
		if len(lists) == 0 {
			t.Fatal("the program has no list of types")
		}
		for _, list := range lists {
			for _, known := range codexTypes {
				list = strings.Replace(list, known, "", 1)
			}
			if list != "" {
				t.Errorf("other types: %q", list)
			}
		}
	})
	for agent, types := range types {
		t.Run(agent+" reads", func(t *testing.T) {
			w := newWorld(t)
			path := filepath.Join(w.home, "session.jsonl")
			var lines bytes.Buffer
			for _, kind := range types {
				fmt.Fprintf(&lines, `{"type":%q,"message":{"content":[]},"payload":{}}`+"\n", kind)
			}
			lines.WriteString(`{"type":"of-the-future"}` + "\n")
			if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			hook := w.Command("hook")
			hook.Dir = w.project
			hook.Stdin = strings.NewReader(fmt.Sprintf(`{"hook_event_name":"SessionStart","session_id":"s1","transcript_path":%q,"cwd":%q,"source":"startup","tidemark_agent":%q}`, path, w.project, agent))
			if out, err := hook.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			o := w.recording()
			if c := o.Coverage; o.Agent != agent || c.Lines != len(types)+1 || c.Unknown != 1 || c.Damaged != 0 {
				t.Errorf("of %d types of %s, the coverage is %+v", len(types), o.Agent, c)
			}
		})
	}
	t.Run("claude is cut", func(t *testing.T) {
		const session = "11111111-1111-4111-8111-111111111111"
		home, branch := t.TempDir(), t.TempDir()
		path := filepath.Join(home, "projects", "-shop", session+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, kind := range types["claude"] {
			line := fmt.Sprintf(`{"type":"user","uuid":"22222222-2222-4222-8222-222222222222","version":"2.1.332","message":{"role":"user","content":"go"}}
{"type":%q,"uuid":"33333333-3333-4333-8333-333333333333","version":"2.1.332","message":{"role":"user","content":"x"}}
`, kind)
			if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			p := fork.Point{Agent: "claude", Session: session, Transcript: path, At: time.Now()}
			if _, err := fork.Claude(p, fork.Place{From: "/shop", To: branch}, time.Now()); err != nil {
				t.Error(err)
			}
		}
	})
}

// A branch of a session that ran as one of the user's agents continues as that agent.
func TestABranchIsTheSameAgentOfClaudeCode(t *testing.T) {
	w := newWorld(t)
	definition := filepath.Join(w.project, ".claude", "agents", "reviewer.md")
	if err := os.MkdirAll(filepath.Dir(definition), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(definition, []byte("---\nname: reviewer\ndescription: reviews\n---\nYou are the careful reviewer.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(w.home, "claude")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(w.settings(claudeEvents...)), 0o600); err != nil {
		t.Fatal(err)
	}
	server := modelserver.Start(t,
		modelserver.Turn{Calls: []modelserver.Call{call("toolu_1", "Write", map[string]any{"file_path": filepath.Join(w.project, "page.js"), "content": "let cart = 1\n"})}},
		modelserver.Turn{Text: "All done."})
	env := claudeEnv(config, server)
	w.run(env, program(t, "claude"), "-p", "Write a page", "--agent", "reviewer", "--permission-mode", "acceptEdits", "--allowedTools", "Write")
	moment := w.momentOf("toolu_1")

	again := modelserver.Start(t, modelserver.Turn{Text: "Done differently."})
	w.branch(claudeEnv(config, again), "--moment", moment, "--name", "other-way", "--message", "Do it differently")
	for name, asked := range map[string][]string{"original": server.Asked(), "branch": again.Asked()} {
		if len(asked) == 0 || !strings.Contains(asked[0], "You are the careful reviewer.") {
			t.Errorf("the %s is another agent: %.2000s", name, strings.Join(asked, "\n"))
		}
	}
}
