package hook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/hook"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

func momentOf(t *testing.T, input map[string]any) *timeline.HookMoment {
	t.Helper()
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	c, err := hook.Parse(data, false)
	if err != nil || c.Moment == nil {
		t.Fatalf("%s: %+v, %v", data, c, err)
	}
	return c.Moment
}

// The status is known only where the agent says it.
func TestAMilestoneNeedsTheExitStatus(t *testing.T) {
	for _, c := range []struct {
		name     string
		event    string
		fields   map[string]any
		response any
		want     string
	}{
		{"Codex", "PostToolUse", map[string]any{"turn_id": "t"}, `{"output":"","metadata":{"exit_code":0}}`, records.FromTestsPassed},
		{"Codex, failed", "PostToolUse", map[string]any{"turn_id": "t"}, `{"output":"","metadata":{"exit_code":1}}`, records.FromTestsFailed},
		{"Codex, a text", "PostToolUse", map[string]any{"turn_id": "t"}, "ok", records.FromCommand},
		{"Gemini CLI", "AfterTool", nil, map[string]any{"llmContent": "Output: x\nExit Code: 0\nSignal: (none)"}, records.FromTestsPassed},
		{"Gemini CLI, failed", "AfterTool", nil, map[string]any{"llmContent": "Output: x\nExit Code: 2\n"}, records.FromTestsFailed},
		{"Gemini CLI, which names a status only of what failed", "AfterTool", nil, map[string]any{"llmContent": "<untrusted_context>\nOutput: x\nProcess Group PGID: 7\n</untrusted_context>"}, records.FromTestsPassed},
		{"Gemini CLI, ended by a signal", "AfterTool", nil, map[string]any{"llmContent": "Output: x\nSignal: 9"}, records.FromCommand},
		{"Gemini CLI, in the background", "AfterTool", nil, map[string]any{"llmContent": "Output: x\nBackground PIDs: 7"}, records.FromCommand},
		{"Gemini CLI, another answer", "AfterTool", nil, map[string]any{"llmContent": "Command was cancelled by user."}, records.FromCommand},
		{"Copilot CLI", "PostToolUse", map[string]any{"timestamp": "t", "tool_result": map[string]any{"result_type": "success", "text_result_for_llm": "x\n<shellId: 0 completed with exit code 0>"}}, nil, records.FromTestsPassed},
		{"Copilot CLI, failed", "PostToolUse", map[string]any{"timestamp": "t", "tool_result": map[string]any{"result_type": "success", "text_result_for_llm": "x\n<shellId: 0 completed with exit code 1>"}}, nil, records.FromTestsFailed},
		{"Copilot CLI, still running", "PostToolUse", map[string]any{"timestamp": "t", "tool_result": map[string]any{"result_type": "success", "text_result_for_llm": "<command with shellId: 0 is still running>"}}, nil, records.FromCommand},
		{"opencode", "PostToolUse", map[string]any{"tidemark_agent": "opencode"}, map[string]any{"exit_code": 0}, records.FromTestsPassed},
		{"opencode, failed", "PostToolUse", map[string]any{"tidemark_agent": "opencode"}, map[string]any{"exit_code": 1}, records.FromTestsFailed},
		{"Cursor", "postToolUse", map[string]any{"conversation_id": "c", "tool_output": `{"exitCode":0}`}, nil, records.FromTestsPassed},
		{"Cursor, failed", "postToolUseFailure", map[string]any{"conversation_id": "c", "error_message": "exit 1"}, nil, records.FromTestsFailed},
		{"another agent", "PostToolUse", nil, map[string]any{"stdout": ""}, records.FromCommand},
		{"another agent with a status", "PostToolUse", nil, map[string]any{"exitCode": 0}, records.FromTestsPassed},
		{"interrupted", "PostToolUse", map[string]any{"transcript_path": "/h/projects/a.jsonl"}, map[string]any{"interrupted": true}, records.FromCommand},
		{"interrupted, failed", "PostToolUseFailure", map[string]any{"is_interrupt": true}, nil, records.FromCommand},
		{"no answer", "PostToolUse", nil, nil, records.FromCommand},
	} {
		in := map[string]any{"session_id": "a", "cwd": "/w", "hook_event_name": c.event, "tool_name": "Bash", "tool_input": map[string]any{"command": "npm test"}, "tool_response": c.response}
		for k, v := range c.fields {
			in[k] = v
		}
		if m := momentOf(t, in); m.Source != c.want {
			t.Errorf("%s: %+v, want %s", c.name, m, c.want)
		}
	}
	m := momentOf(t, map[string]any{
		"session_id": "a", "cwd": "/w", "hook_event_name": "PostToolUse", "transcript_path": "/h/projects/a.jsonl", "tool_name": "Bash",
		"tool_input": map[string]any{"command": "npm test", "run_in_background": true}, "tool_response": map[string]any{},
	})
	if m.Source != records.FromCommand {
		t.Errorf("in the background: %+v", m)
	}
}

// The exit status is that which the agent reports.
func TestAMomentHasTheExitStatusOfItsCommand(t *testing.T) {
	status := func(n int) *int { return &n }
	for _, c := range []struct {
		name, event string
		fields      map[string]any
		want        *int
	}{
		{"Claude Code", "PostToolUse", map[string]any{"transcript_path": "/h/projects/a.jsonl", "tool_response": map[string]any{"stdout": "ok"}}, status(0)},
		{"Claude Code, failed", "PostToolUseFailure", map[string]any{"transcript_path": "/h/projects/a.jsonl", "error": "Exit code 2\nnot ok"}, status(2)},
		{"Claude Code, without output", "PostToolUseFailure", map[string]any{"transcript_path": "/h/projects/a.jsonl", "error": "Exit code 127"}, status(127)},
		{"Claude Code, not a status", "PostToolUseFailure", map[string]any{"transcript_path": "/h/projects/a.jsonl", "error": "The command timed out. Exit code 1"}, nil},
		{"Claude Code, a status that is a success", "PostToolUse", map[string]any{"transcript_path": "/h/projects/a.jsonl", "tool_response": map[string]any{"returnCodeInterpretation": "No matches found"}}, nil},
		{"Claude Code, in the background", "PostToolUse", map[string]any{"transcript_path": "/h/projects/a.jsonl", "tool_response": map[string]any{"backgroundTaskId": "b1"}}, nil},
		{"Codex", "PostToolUse", map[string]any{"turn_id": "t", "tool_response": `{"output":"","metadata":{"exit_code":3}}`}, status(3)},
		{"Codex, a text", "PostToolUse", map[string]any{"turn_id": "t", "tool_response": "ok"}, nil},
		{"Gemini CLI", "AfterTool", map[string]any{"tool_response": map[string]any{"llmContent": "Output: x\nProcess Group PGID: 7"}}, status(0)},
		{"Gemini CLI, failed", "AfterTool", map[string]any{"tool_response": map[string]any{"llmContent": "Output: x\nExit Code: 4\n"}}, status(4)},
		{"opencode", "PostToolUse", map[string]any{"tidemark_agent": "opencode", "tool_response": map[string]any{"exit_code": 5}}, status(5)},
		{"Copilot CLI", "PostToolUse", map[string]any{"timestamp": "t", "tool_result": map[string]any{"result_type": "success", "text_result_for_llm": "<shellId: 0 completed with exit code 6>"}}, status(6)},
		{"Cursor", "postToolUse", map[string]any{"conversation_id": "c", "tool_output": `{"exitCode":7}`}, status(7)},
		{"Cursor, failed", "postToolUseFailure", map[string]any{"conversation_id": "c", "error_message": "exit 1"}, nil},
	} {
		in := map[string]any{"session_id": "a", "cwd": "/w", "hook_event_name": c.event, "tool_name": "Bash", "tool_input": map[string]any{"command": "npm test"}}
		maps.Copy(in, c.fields)
		m := momentOf(t, in)
		if ran := c.want == nil || *c.want != 127; ran == (m.Source == records.FromCommand) && c.want != nil {
			t.Errorf("%s: the moment is %q of %s", c.name, m.Label, m.Source)
		}
		if got := m.Exit; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v, want %v", c.name, text(got), text(c.want))
		}
	}
}

// Codex's hook gets the output alone. Its record has the status.
func TestTheExitStatusOfCodexIsInItsRecord(t *testing.T) {
	record := filepath.Join(t.TempDir(), "rollout-1.jsonl")
	line := `{"payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"%s","exit_code":%s}}}` + "\n"
	text := strings.Repeat("x", 600<<10) + "\n" + fmt.Sprintf(line, "call_1", "0") + fmt.Sprintf(line, "call_2", "1") + fmt.Sprintf(line, "call_3", "null") + "call_2\n"
	if err := os.WriteFile(record, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(record), "other.jsonl")
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ record, call, want string }{
		{record, "call_1", records.FromTestsPassed},
		{record, "call_2", records.FromTestsFailed},
		{record, "call_3", records.FromCommand},
		{record, "call_4", records.FromCommand},
		{other, "call_1", records.FromCommand},
		{record + "x", "call_1", records.FromCommand},
	} {
		m := momentOf(t, map[string]any{
			"session_id": "a", "cwd": "/w", "hook_event_name": "PostToolUse", "turn_id": "t", "transcript_path": c.record, "tool_name": "Bash",
			"tool_input": map[string]any{"command": "npm test"}, "tool_use_id": c.call, "tool_response": "output",
		})
		if m.Source != c.want || (m.Exit != nil) != (c.want != records.FromCommand) {
			t.Errorf("%s of %s: %+v", c.call, filepath.Base(c.record), m)
		}
	}
}

func text(status *int) string {
	if status == nil {
		return "none"
	}
	return strconv.Itoa(*status)
}

// A tool that failed is a moment too, which says so.
func TestAFailedToolIsAMoment(t *testing.T) {
	for _, c := range []struct {
		tool          string
		input         map[string]any
		source, label string
	}{
		{"Bash", map[string]any{"command": "npm test"}, records.FromTestsFailed, "npm test failed"},
		{"Bash", map[string]any{"command": "curl -H 'Authorization: x' http://localhost"}, records.FromCommand, "Bash curl failed"},
		{"Edit", map[string]any{"file_path": "/w/src/cart.ts"}, records.FromEdit, "Edit src/cart.ts failed"},
	} {
		m := momentOf(t, map[string]any{
			"session_id": "a", "cwd": "/w", "hook_event_name": "PostToolUseFailure", "transcript_path": "/h/projects/a.jsonl", "tool_name": c.tool,
			"tool_input": c.input, "tool_use_id": "t1", "error": "exit status 1", "is_interrupt": false,
		})
		if m.Source != c.source || m.Label != c.label || m.Anchor.Message != "t1" {
			t.Errorf("%s: %+v", c.tool, m)
		}
	}
}
