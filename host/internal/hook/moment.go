package hook

import (
	"path/filepath"
	"strings"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/milestone"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// moments are the events that the timeline records, beside those of tools.
var moments = map[string]struct{ source, label string }{
	"SessionStart":       {records.FromStart, "agent's session started"},
	"sessionStart":       {records.FromStart, "agent's session started"},
	"UserPromptSubmit":   {records.FromPrompt, "prompt"},
	"BeforeAgent":        {records.FromPrompt, "prompt"},
	"beforeSubmitPrompt": {records.FromPrompt, "prompt"},
	"Stop":               {records.FromStop, "agent stopped"},
	"AfterAgent":         {records.FromStop, "agent stopped"},
	"stop":               {records.FromStop, "agent stopped"},
}

// moment returns what the timeline records of an event, nil if nothing. It has names of files and programs, and nothing
// of the conversation or of the arguments of commands.
func (in *input) moment(c *Call, described *conversation.Event) *timeline.HookMoment {
	m := &timeline.HookMoment{Dir: c.Dir, Anchor: answers.Anchor{Agent: in.agent(), Session: c.Session, Message: in.Use, Turn: in.Prompt + in.Turn, Transcript: in.Transcript}, Event: in.nonce}
	if known, ok := moments[in.Event]; ok {
		if in.Event == "SessionStart" && in.Source == "compact" || known.source == records.FromPrompt && (in.Agent != "" || conversation.Announced(in.Text)) {
			return nil
		}
		m.Source, m.Label = known.source, known.label
		return m
	}
	switch in.Event {
	case "PostToolUse", "AfterTool", "postToolUse", "PostToolUseFailure", "postToolUseFailure":
		switch {
		case conversation.Edits(in.Tool):
			m.Source, m.Label = records.FromEdit, in.Tool
			if files := described.Files; len(files) > 0 {
				m.Files = files[:min(len(files), maxFiles)]
				m.Label += " " + strings.Join(m.Files, ", ")
			}
			if how := in.ended(); how.known && !how.succeeded {
				m.Label += " failed"
			}
		case conversation.Runs(in.Tool):
			m.Source, m.Label = records.FromCommand, strings.TrimSpace(in.Tool+" "+program(described.Command))
			how := in.ended()
			if m.Exit = how.status; !how.known {
				break
			}
			if !how.succeeded {
				m.Label += " failed"
			}
			if source, label := milestone.Of(described.Command, how.succeeded, how.status); source != "" {
				m.Source, m.Label = source, label
			}
		default:
			return nil
		}
	case "afterFileEdit":
		m.Files = []string{conversation.Relative(in.Dir, in.File)}
		m.Source, m.Label = records.FromEdit, strings.TrimSpace("edit "+m.Files[0])
	default:
		return nil
	}
	return m
}

// agent returns which agent sent the input, as far as it can be told.
func (in *input) agent() string {
	path := filepath.ToSlash(in.Transcript)
	switch {
	case in.Program != "":
		return in.Program
	case in.ConversationID != "":
		return "cursor"
	case strings.HasPrefix(filepath.Base(path), "rollout-") || in.Turn != "":
		return "codex"
	case strings.Contains(path, "/.gemini/"), strings.HasPrefix(in.Event, "Before"), strings.HasPrefix(in.Event, "After"):
		return "gemini"
	case strings.Contains(path, "/projects/"):
		return "claude"
	case len(in.Timestamp) > 0 && (path == "" || strings.Contains(path, "/session-state/")):
		return "copilot"
	}
	return "agent"
}

// maxFiles bounds the files that a label names.
const maxFiles = 5

// program returns the name of the program that a command runs, without its arguments: those may have secrets.
func program(command string) string {
	for word := range strings.FieldsSeq(command) {
		if name, _, assigned := strings.Cut(word, "="); assigned && !strings.ContainsAny(name, `"'/`) {
			continue
		}
		word = strings.Trim(word, `"'();&|`)
		if word = filepath.Base(filepath.ToSlash(word)); word != "." && len(word) <= 40 {
			return word
		}
		return ""
	}
	return ""
}
