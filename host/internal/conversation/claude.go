package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// claudeLine is a line of Claude Code's transcript. The form is the agent's own, without a promise.
type claudeLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Time      string `json:"timestamp"`
	Dir       string `json:"cwd"`
	Turn      string `json:"promptId"`
	Sub       string `json:"agentId"`
	Meta      bool   `json:"isMeta"`
	Summary   bool   `json:"isCompactSummary"`
	Sidechain bool   `json:"isSidechain"`
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Result     json.RawMessage `json:"toolUseResult"`
	Permission struct {
		Decision string `json:"decision"`
	} `json:"permissionDecision"`
	Queued json.RawMessage `json:"content"` // of a line about the queue of messages, a text
}

// claudeBlock is a part of a message.
type claudeBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Use     string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	Failed  bool            `json:"is_error"`
}

// claudeTypes are the types of lines that have no event. A link to a pull request ("pr-link") is one of them: the call that opened
// it has its address in the output.
var claudeTypes = map[string]bool{
	"agent-color": true, "agent-name": true, "agent-setting": true, "ai-title": true, "api-request": true, "api-request-blob": true,
	"api-request-resumed": true, "api-request-shape": true, "artifact-autoreact-ledger": true, "artifact-comment-monitor": true, "atis-latch": true,
	"attachment": true, "attribution-snapshot": true, "bridge-session": true, "content-replacement": true, "continued-in": true, "cost-state": true,
	"custom-title": true, "data-flow-incomplete": true, "data-flow-records": true, "derived-from": true, "dev-mods": true, "ended-by-model": true,
	"file-history-delta": true, "file-history-snapshot": true, "fork-context-ref": true, "frame-link": true, "history-suppression": true,
	"host-row": true, "hybrid-organization": true, "isolation-latch": true, "last-prompt": true, "memory-mode": true, "mode": true,
	"observer-ref": true, "permission-mode": true, "pr-link": true, "progress": true, "queue-operation": true, "relocated": true, "repl-mode": true,
	"resume-head-vouch": true, "session-owner": true, "summary": true, "system": true, "tag": true, "tools-used": true, "worktree-state": true,
}

func parseClaude(data []byte) (events []Event, known bool, err error) {
	var l claudeLine
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, false, err
	}
	base := Event{Dir: l.Dir, Turn: l.Turn, Sub: l.Sub}
	if at, err := time.Parse(time.RFC3339Nano, l.Time); err == nil {
		base.At = at.UnixMilli()
	}
	switch {
	case l.Type == "system" && l.Subtype == "compact_boundary":
		base.Kind = Compact
		return []Event{base}, true, nil
	case l.Type == "queue-operation":
		var text string
		_ = json.Unmarshal(l.Queued, &text) // another form announces nothing
		if base.finishes(text) {
			return []Event{base}, true, nil
		}
		return nil, true, nil
	case l.Type != "user" && l.Type != "assistant":
		return nil, claudeTypes[l.Type], nil
	}
	var blocks []claudeBlock
	var text string
	if json.Unmarshal(l.Message.Content, &text) == nil {
		blocks = []claudeBlock{{Type: "text", Text: text}}
	} else if err := json.Unmarshal(l.Message.Content, &blocks); err != nil {
		return nil, false, fmt.Errorf("a message has no content: %w", err)
	}
	results := 0
	var prompt []string // its hook gets it as one text, in which a secret has its name in the line before
	for _, b := range blocks {
		if b.Type == "tool_result" {
			results++
		}
	}
	for _, b := range blocks {
		e := base
		switch {
		case b.Type == "tool_use" && l.Type == "assistant":
			e.Kind, e.Call, e.Tool, e.Input = Call, b.ID, b.Name, b.Input
		case b.Type == "tool_result" && l.Type == "user":
			e.Kind, e.Call, e.Output, e.Outcome = Result, b.Use, b.Content, OK
			if b.Failed {
				e.Outcome = Failed
			}
			if results == 1 && l.Permission.Decision == "reject" { // by the user, a rule or another hook
				e.Outcome = NotPermitted
			}
			if results == 1 && len(l.Result) > 0 {
				e.Output = l.Result
				if e.Spawned, e.Background = LeftBy(l.Result); e.Background {
					e.Outcome = ""
				}
			}
		case b.Type == "text" && l.Type == "user" && !l.Sidechain && e.finishes(b.Text):
		case b.Type == "text" && l.Type == "user" && !l.Meta && !l.Summary && !l.Sidechain && !Announced(b.Text) && !strings.HasPrefix(b.Text, "<local-command") && !strings.HasPrefix(b.Text, "<command-"):
			prompt = append(prompt, b.Text)
			continue
		default:
			continue
		}
		events = append(events, e)
	}
	if len(prompt) > 0 {
		base.Kind, base.Text = Prompt, strings.Join(prompt, "\n")
		events = append(events, base)
	}
	return events, true, nil
}

// LeftBy returns what a call left running, by its result: the subagent that it started, "" for none, and whether its command runs
// in the background. Codex quotes its result.
func LeftBy(output json.RawMessage) (subagent string, background bool) {
	var result struct {
		Claude string `json:"agentId"`
		Codex  string `json:"agent_id"`
		Task   string `json:"backgroundTaskId"`
	}
	var quoted string
	if json.Unmarshal(output, &quoted) == nil {
		output = json.RawMessage(quoted)
	}
	_ = json.Unmarshal(output, &result) // another form leaves nothing
	return cmp.Or(result.Claude, result.Codex), result.Task != ""
}

// announcement is what Claude Code says of a command in the background that ended.
var announcement = lazyregexp.New(`(?s)^\s*<task-notification>.*?<tool-use-id>([^<]+)</tool-use-id>.*?<status>(\w+)</status>`)

// finishes makes an event [Finished] of an announcement. It returns false for another text.
func (e *Event) finishes(text string) bool {
	m := announcement().FindStringSubmatch(text)
	if m == nil || m[2] == "running" {
		return false
	}
	e.Kind, e.Call, e.Outcome = Finished, m[1], Failed
	if m[2] == "completed" {
		e.Outcome = OK
	}
	return true
}
