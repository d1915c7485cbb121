package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/fork"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// reader reads conversations with Anthropic's own library: the ID of a session and a directory in, its messages out.
const reader = `
import { getSessionMessages } from '@anthropic-ai/claude-agent-sdk'
const all = []
for (const [id, dir] of JSON.parse(process.argv[2] ?? (await new Response(process.stdin).text()))) {
  all.push((await getSessionMessages(id, { dir, includeSystemMessages: true })).map(m => ({ type: m.type, message: m.message })))
}
console.log(JSON.stringify(all))
`

type said struct {
	Type    string          `json:"type"`
	Message json.RawMessage `json:"message"`
}

// read returns the messages of conversations as Claude Code's own library reads them.
func read(t *testing.T, config string, which [][2]string) [][]said {
	t.Helper()
	dir := e2etest.Repository(".cache/agents/sdk")
	if _, err := os.Stat(filepath.Join(dir, "node_modules/@anthropic-ai/claude-agent-sdk")); err != nil {
		t.Skipf("the library is not installed (%v); make agents installs it", err)
	}
	script := filepath.Join(dir, "read-sessions.mjs")
	if err := os.WriteFile(script, []byte(reader), 0o600); err != nil {
		t.Fatal(err)
	}
	asked, err := json.Marshal(which)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script)
	cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+config)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]said
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// lines reads a transcript as data.
func lines(t *testing.T, path string) (raw []string, parsed []map[string]any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		raw, parsed = append(raw, line), append(parsed, m)
	}
	return raw, parsed
}

// blocks returns the IDs of the calls and results of a message.
func blocks(message any) (uses, results []string) {
	m, _ := message.(map[string]any)
	list, _ := m["content"].([]any)
	for _, b := range list {
		b, _ := b.(map[string]any)
		switch b["type"] {
		case "tool_use":
			uses = append(uses, b["id"].(string))
		case "tool_result":
			results = append(results, b["tool_use_id"].(string))
		}
	}
	return uses, results
}

// withoutOpen returns messages without the calls that have no result.
func withoutOpen(all []said) (closed []said) {
	done := map[string]bool{}
	content := make([]any, len(all))
	for i, m := range all {
		_ = json.Unmarshal(m.Message, &content[i])
		_, results := blocks(content[i])
		for _, id := range results {
			done[id] = true
		}
	}
	for i, m := range all {
		if uses, _ := blocks(content[i]); !slices.ContainsFunc(uses, func(id string) bool { return !done[id] }) {
			closed = append(closed, m)
		}
	}
	return closed
}

// A conversation with compaction, a subagent, parallel calls and images is cut at 500 places. Anthropic's own library reads each
// copy, and sees what it sees of the original up to there.
func TestConversationsOfClaudeCodeAreCutAnywhere(t *testing.T) {
	w := newWorld(t)
	transcript := w.richConversation()
	raw, parsed := lines(t, transcript)
	t.Logf("%s has %d lines", transcript, len(raw))
	session := strings.TrimSuffix(filepath.Base(transcript), ".jsonl")
	config := filepath.Join(w.home, "claude")
	random := rand.New(rand.NewPCG(1, 2))
	branches := t.TempDir()
	var asked [][2]string
	var points []fork.Point
	var copies []*fork.Conversation
	var empty int
	for n := 0; len(points) < 500; n++ {
		p := fork.Point{Agent: "claude", Session: session, Transcript: transcript}
		i := random.IntN(len(raw))
		var end int
		_, results := blocks(parsed[i]["message"])
		turn, _ := parsed[i]["promptId"].(string)
		switch {
		case len(results) > 0 && parsed[i]["isSidechain"] != true:
			p.Call, end = results[random.IntN(len(results))], i+1
		case turn != "" && random.IntN(2) == 0:
			p.Turn, p.Asking = turn, true
			end = slices.IndexFunc(parsed, func(m map[string]any) bool { return m["promptId"] == turn && m["type"] == "user" })
		default:
			at, ok := parsed[i]["timestamp"].(string)
			if !ok {
				continue
			}
			var err error
			if p.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
				t.Fatal(err)
			}
			end = len(raw)
			for j, m := range parsed {
				after, _ := m["timestamp"].(string)
				linked, _ := m["uuid"].(string)
				if at2, err := time.Parse(time.RFC3339Nano, after); err == nil && linked != "" && at2.After(p.At) {
					end = j
					break
				}
			}
		}
		for j := end - 1; j >= 0 && parsed[j]["isCompactSummary"] != true; j-- { // a compaction without its summary
			if parsed[j]["subtype"] == "compact_boundary" {
				end = j
				break
			}
		}
		branch := filepath.Join(branches, fmt.Sprint(n))
		if err := os.Mkdir(branch, 0o700); err != nil {
			t.Fatal(err)
		}
		c, err := fork.Claude(p, fork.Place{From: w.project, To: branch, Title: "branch"}, time.Now())
		if errors.Is(err, fork.ErrEmpty) {
			empty++
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		part := filepath.Join(branches, fmt.Sprintf("part-%d", n))
		dir := filepath.Join(config, "projects", strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '-'
		}, part))
		if err := errors.Join(os.MkdirAll(part, 0o700), os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, session+".jsonl"), []byte(strings.Join(raw[:end], "")), 0o600)); err != nil {
			t.Fatal(err)
		}
		asked = append(asked, [2]string{c.Session, branch}, [2]string{session, part})
		points, copies = append(points, p), append(copies, c)
	}
	t.Logf("%d points are before the first message", empty)
	all := read(t, config, asked)
	for i, p := range points {
		got, want := withoutOpen(all[2*i]), withoutOpen(all[2*i+1])
		if len(got) != len(all[2*i]) {
			t.Errorf("the copy at %+v has open calls", p)
		}
		same := slices.EqualFunc(got, want, func(a, b said) bool {
			return a.Type == b.Type && string(a.Message) == strings.ReplaceAll(string(b.Message), w.project, asked[2*i][1])
		})
		if !same || len(got) == 0 {
			t.Errorf("the copy at %+v (%s) has %d messages, the original %d:\n%.3000s\n%.3000s", p, copies[i].Path, len(got), len(want), summary(got), summary(want))
		}
	}
	if after, _ := lines(t, transcript); !slices.Equal(after, raw) {
		t.Error("the original has changed")
	}
}

func summary(all []said) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s %.150s\n", m.Type, m.Message)
	}
	return b.String()
}

// richConversation has Claude Code run three prompts and a compaction, and returns its transcript.
func (w *world) richConversation() string {
	w.Helper()
	claude := program(w.T, "claude")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		w.Fatal(err)
	}
	w.write("dot.png", picture.String())
	var files []modelserver.Turn
	for i := range 6 {
		var calls []modelserver.Call
		for j := range 3 {
			calls = append(calls, call(fmt.Sprintf("toolu_f%d_%d", i, j), "Bash", map[string]any{"command": fmt.Sprintf("sleep 0.0%d; echo %d", j, i), "description": "echo"}))
		}
		files = append(files, modelserver.Turn{Text: fmt.Sprintf("Step %d.", i), Calls: calls})
	}
	server := modelserver.Start(w.T, slices.Concat(
		w.claudeTurns(),
		files, []modelserver.Turn{
			{Calls: []modelserver.Call{call("toolu_p1", "Read", map[string]any{"file_path": filepath.Join(w.project, "dot.png")}), call("toolu_p2", "Bash", map[string]any{"command": "exit 3", "description": "fail"})}},
			{Text: "That is a dot."},
		},
		[]modelserver.Turn{{Text: "<summary>Files were changed.</summary>"}},
		[]modelserver.Turn{
			{Text: "I go on.", Calls: []modelserver.Call{call("toolu_z1", "Bash", map[string]any{"command": "echo z", "description": "z"})}},
			{Text: "Finished."},
		},
	)...)
	config := filepath.Join(w.home, "claude")
	if err := errors.Join(os.MkdirAll(config, 0o700), os.WriteFile(filepath.Join(config, "settings.json"), []byte("{}"), 0o600)); err != nil {
		w.Fatal(err)
	}
	for i, prompt := range []string{"Change a to 2", "echo, and look at dot.png", "/compact", "go on"} {
		args := []string{"-p", prompt, "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write,Read,Agent"}
		if i > 0 {
			args = append(args, "--continue")
		}
		w.run(claudeEnv(config, server), claude, args...)
	}
	found, err := filepath.Glob(filepath.Join(config, "projects", "*", "*.jsonl"))
	if err != nil || len(found) != 1 {
		w.Fatalf("there are transcripts %v, %v", found, err)
	}
	return found[0]
}

// claudeEnv is the environment of Claude Code with a scripted model.
func claudeEnv(config string, server *modelserver.Server) []string {
	return []string{
		"CLAUDE_CONFIG_DIR=" + config, "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-dummy", "DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
}
