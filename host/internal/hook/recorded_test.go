package hook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/hook"
)

func sorted(lines string) string {
	list := strings.Split(lines, "\n")
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// What the recording gets of the hooks of real agents.
func TestWhatAgentsReportIsRecorded(t *testing.T) {
	for name, want := range map[string]string{
		"claude-2.1.332": `s claude startup
p claude Change a to 2, with TOKEN
r claude toolu_01 Read a.js ok
r claude toolu_02 Read .env ok
r claude toolu_03 Edit a.js ok
r claude toolu_04 Bash echo 'password: TOKEN' > b.txt; cat b.txt ok
r claude toolu_05 Bash false failed
a claude
r claude toolu_07 Write c.js ok in a subagent
z claude c.js is written. in a subagent
r claude toolu_06 Agent ok started a subagent
t claude All done.
e claude other
`,
		"codex-0.169.0": `s codex startup
p codex Change a to 2, with TOKEN
r codex call_01 Bash cat a.js
r codex call_02 apply_patch a.js
r codex call_03 Bash false
r codex call_04 Bash echo 'password: TOKEN' > b.txt; cat b.txt
t codex All done.
e codex other
`,
		"gemini-0.61.0": `s gemini startup
p gemini Change a to 2, with TOKEN
r gemini ~ read_file a.js ok
r gemini ~ replace a.js ok
c gemini ~ run_shell_command echo 'password: TOKEN' > b.txt; cat b.txt
r gemini ~ run_shell_command echo 'password: TOKEN' > b.txt; cat b.txt ok
c gemini ~ run_shell_command false
r gemini ~ run_shell_command false failed
r gemini ~ write_file c.js ok
t gemini I look. I edit. All done.
e gemini exit
`,
		"copilot-1.0.102": `s copilot new
p copilot Change a to 2, with TOKEN
r copilot ~ Read a.js ok
r copilot ~ Read .env ok
r copilot ~ Edit a.js ok
c copilot ~ Bash echo 'password: TOKEN' > b.txt; cat b.txt
r copilot ~ Bash echo 'password: TOKEN' > b.txt; cat b.txt ok
c copilot ~ Bash false
r copilot ~ Bash false failed
r copilot ~ Write c.js ok
t copilot
e copilot complete
`,
		"opencode-1.18.33": `s opencode startup
p opencode "Change a to 2, with TOKEN"
r opencode o1 read a.js ok
r opencode o2 read .env ok
r opencode o3 edit a.js ok
r opencode o4 bash echo 'password: TOKEN' > b.txt; cat b.txt ok
r opencode o5 bash false failed
r opencode o6 write c.js ok
r opencode o7 read nothing.js failed
a opencode
r opencode o9 write d.js ok in a subagent
z opencode d.js is written. in a subagent
r opencode o8 task ok started a subagent
t opencode All done.
`,
		"cursor-3.documented": `s cursor
p cursor Change a to 2, with TOKEN
r cursor tool-01 Read a.js ok
r cursor tool-02 Write a.js ok
r cursor tool-03 Shell echo b > b.txt ok
r cursor tool-04 Shell false failed
k cursor auto
t cursor
e cursor completed
`,
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("../conversation/testdata", name+".hooks.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			session := ""
			for line := range strings.Lines(string(data)) {
				call, err := hook.Parse([]byte(line), false)
				if err != nil || call.Recorded == nil {
					t.Fatalf("%v: %s", err, line)
				}
				e := call.Recorded
				id := e.Call
				if strings.HasPrefix(id, "~") { // of an agent that gives none
					id = "~"
				}
				words := append([]string{string(e.Kind), e.Agent, id, e.Tool, e.Text, e.Command}, e.Files...)
				words = append(words, e.Outcome)
				if e.Sub != "" && e.Kind != 'a' {
					words = append(words, "in a subagent")
				}
				if e.Spawned != "" {
					words = append(words, "started a subagent")
				}
				fmt.Fprintln(&got, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
				if session == "" {
					session = e.Session
				}
				if e.Session != session || e.Dir != "/home/me/shop" || e.Kind == 'r' && e.Turn == "" && e.Agent != "gemini" && e.Agent != "copilot" {
					t.Errorf("the event has the session %q, the directory %q and the turn %q", e.Session, e.Dir, e.Turn)
				}
			}
			// Hooks of parallel calls run in any order.
			if got, want := sorted(got.String()), sorted(want); got != want {
				t.Errorf("%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestWhatASubagentIsToldIsNoPrompt: Codex 0.169 runs the hook of a prompt for it.
func TestWhatASubagentIsToldIsNoPrompt(t *testing.T) {
	c, err := hook.Parse([]byte(`{"session_id":"a","agent_id":"b","turn_id":"t","cwd":"/w","transcript_path":"/h/rollout-b.jsonl","hook_event_name":"UserPromptSubmit","prompt":"write a file"}`), false)
	if err != nil || c.Moment != nil || c.Recorded == nil || c.Recorded.Kind != conversation.SubagentStart || c.Recorded.Sub != "b" {
		t.Errorf("%+v, %+v, %v", c.Recorded, c.Moment, err)
	}
}

func TestWhatClaudeCodeAnnouncesIsNoPrompt(t *testing.T) {
	for text, want := range map[string]bool{"<task-notification>\\n<task-id>b1</task-id>\\n</task-notification>": false, "rename it": true} {
		c, err := hook.Parse(fmt.Appendf(nil, `{"session_id":"a","cwd":"/work/shop","transcript_path":"/home/ann/.claude/projects/x/a.jsonl","hook_event_name":"UserPromptSubmit","prompt":"%s"}`, text), false)
		if err != nil || (c.Recorded != nil) != want || (c.Moment != nil) != want {
			t.Errorf("%s: %+v, %+v, %v", text, c.Recorded, c.Moment, err)
		}
	}
}

// An agent that sees its branch at another path reports what is there.
func TestPathsAreThoseThatOthersHave(t *testing.T) {
	outside := func(path string) string {
		if rest, ok := strings.CutPrefix(path, "/shop"); ok {
			return "/branches/way" + rest
		}
		return path
	}
	c, err := hook.ParseSeen([]byte(`{"session_id":"a","hook_event_name":"PostToolUse","cwd":"/shop/sub","transcript_path":"/shop/a.jsonl","tool_name":"Write","tool_use_id":"t","tool_input":{"content":"see /shop/a.js","file_path":"/shop/sub/a.js"}}`), false, outside)
	if err != nil {
		t.Fatal(err)
	}
	if c.Dir != "/branches/way/sub" || c.Moment.Dir != c.Dir || c.Moment.Anchor.Transcript != "/branches/way/a.jsonl" || c.Moment.Label != "Write a.js" {
		t.Errorf("the moment is %+v in %s", c.Moment, c.Dir)
	}
	if e := c.Recorded; e.Dir != c.Dir || len(e.Files) != 1 || e.Files[0] != "a.js" || string(e.Input) != `{"content":"see /shop/a.js","file_path":"/branches/way/sub/a.js"}` {
		t.Errorf("the event is %+v with %s", e, e.Input)
	}
}
