package conversation

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// codexLine is a line of a rollout of Codex.
type codexLine struct {
	Time    string `json:"timestamp"`
	Type    string `json:"type"`
	Payload struct {
		Type      string          `json:"type"`
		Turn      string          `json:"turn_id"`
		Call      string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Input     string          `json:"input"`
		Output    json.RawMessage `json:"output"`
		Message   string          `json:"message"`
		Metadata  struct {
			Turn string `json:"turn_id"`
		} `json:"internal_chat_message_metadata_passthrough"`
		Item codexItem `json:"item"`
		// Started and Completed are the times of the item, in milliseconds since 1970.
		Started   int64 `json:"started_at_ms"`
		Completed int64 `json:"completed_at_ms"`
	} `json:"payload"`
}

// codexItem is what Codex shows to the user.
type codexItem struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Content  json.RawMessage `json:"content"`
	Output   string          `json:"aggregated_output"`
	Exit     *int            `json:"exit_code"`
	Status   string          `json:"status"`
	Kind     string          `json:"kind"`
	Thread   string          `json:"agent_thread_id"`
	Duration struct {
		Secs  int `json:"secs"`
		Nanos int `json:"nanos"`
	} `json:"duration"`
}

// maxSecs bounds how long a call took, in seconds: a year.
const maxSecs = 365 * 24 * 60 * 60

// codexTypes are the types of lines.
var codexTypes = map[string]bool{
	"session_meta": true, "turn_context": true, "response_item": true, "event_msg": true, "compacted": true, "world_state": true,
	"token_usage_record": true, "inter_agent_communication": true, "inter_agent_communication_metadata": true, "dynamic_tools_updated": true,
	"security_risk_score": true, "realtime_item": true,
}

// codexSub returns the subagent of which a rollout is, "" for that of the session itself. Its name ends with the ID of its
// thread, which is that of the session, or of a subagent's.
func codexSub(path, session string) string {
	const length = len("01a21820-6be0-7962-808e-8d926ed1d979")
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	if thread := name[max(0, len(name)-length):]; len(thread) == length && thread != session {
		return thread
	}
	return ""
}

func parseCodex(data []byte) ([]Event, bool, error) {
	var l codexLine
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, false, err
	}
	p := &l.Payload
	e := Event{Turn: p.Turn}
	if e.Turn == "" {
		e.Turn = p.Metadata.Turn
	}
	if at, err := time.Parse(time.RFC3339Nano, l.Time); err == nil {
		e.At = at.UnixMilli()
	}
	switch {
	case l.Type == "compacted":
		e.Kind = Compact
	case l.Type == "response_item" && p.Type == "function_call":
		e.Kind, e.Call, e.Tool, e.Input = Call, p.Call, p.Name, json.RawMessage(p.Arguments)
	case l.Type == "response_item" && p.Type == "custom_tool_call":
		e.Kind, e.Call, e.Tool = Call, p.Call, p.Name
		e.Input, _ = json.Marshal(p.Input)
	case l.Type == "response_item" && (p.Type == "function_call_output" || p.Type == "custom_tool_call_output"):
		e.Kind, e.Call, e.Output = Result, p.Call, p.Output
		e.Outcome, e.Background = codexOutcome(p.Output)
		e.Spawned, _ = LeftBy(p.Output)
	case l.Type == "event_msg" && p.Type == "user_message":
		e.Kind, e.Text = Prompt, p.Message
	case l.Type == "event_msg" && p.Type == "item_completed":
		if !e.complete(&p.Item) {
			return nil, true, nil
		}
		if took := p.Completed - p.Started; e.Kind == Result && e.DurationMs == 0 && p.Started > 0 && took > 0 && took < maxSecs*1000 {
			e.DurationMs = int(took)
		}
	default:
		return nil, codexTypes[l.Type], nil
	}
	return []Event{e}, true, nil
}

// complete fills in an event from an item. It returns false for one without an event.
func (e *Event) complete(item *codexItem) bool {
	switch item.Type {
	case "UserMessage":
		var parts []struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(item.Content, &parts) // another form has no text
		var texts []string
		for _, part := range parts {
			texts = append(texts, part.Text)
		}
		e.Kind, e.Text = Prompt, strings.Join(texts, "\n")
	case "CommandExecution", "FileChange":
		e.Kind, e.Call = Result, item.ID
		if d := item.Duration; d.Secs >= 0 && d.Secs < maxSecs && d.Nanos >= 0 && d.Nanos < 1e9 {
			e.DurationMs = d.Secs*1000 + (d.Nanos+1e6-1)/1e6 // 0 is for what is not known
		}
		if item.Type == "CommandExecution" {
			e.Output, _ = json.Marshal(item.Output)
		}
		switch {
		case item.Status == "declined":
			e.Outcome = NotPermitted
		case item.Exit != nil && *item.Exit != 0, item.Status == "failed":
			e.Outcome = Failed
		case item.Exit != nil, item.Status == "completed":
			e.Outcome = OK
		}
	case "SubAgentActivity":
		e.Kind, e.Call, e.Spawned = Result, item.ID, item.Thread
		return item.Kind == "started"
	default:
		return false
	}
	return true
}

// exitLine is the line of a command's output, as the model gets it, with the exit status.
var exitLine = lazyregexp.New(`(?m)^(?:Process exited with code|Exit code:) (\d+)\s*$`)

// runningLine is the line of the output of a command that runs on.
var runningLine = lazyregexp.New(`(?m)^Process running with session ID \d+\s*$`)

// failures begin the output of a patch that was not applied, refusals that of a call that was not permitted.
var (
	failures = []string{"unsupported custom tool call", "apply_patch verification failed"}
	refusals = []string{"patch rejected", "approval policy is "}
)

// codexOutcome returns the outcome that the output of a tool names, "" for none, and whether the command runs on.
func codexOutcome(output json.RawMessage) (outcome string, running bool) {
	var text string
	if json.Unmarshal(output, &text) != nil {
		return "", false
	}
	var status struct {
		Metadata struct {
			Exit *int `json:"exit_code"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal([]byte(text), &status) // most are plain text
	code := status.Metadata.Exit
	if m := exitLine().FindStringSubmatch(text); m != nil && code == nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			code = &n
		}
	}
	begins := func(s string) bool { return strings.HasPrefix(text, s) }
	switch {
	case slices.ContainsFunc(failures, begins):
		return Failed, false
	case slices.ContainsFunc(refusals, begins):
		return NotPermitted, false
	case code == nil:
		before, _, _ := strings.Cut(text, "\nOutput:\n") // what follows is the command's
		return "", runningLine().MatchString(before)
	case *code == 0:
		return OK, false
	}
	return Failed, false
}
