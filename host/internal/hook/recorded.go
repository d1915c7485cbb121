package hook

import "tidemark.dev/tidemark/host/internal/conversation"

// recordedKinds are the events that the recording of a conversation gets.
var recordedKinds = map[string]conversation.Kind{
	"SessionStart":       conversation.SessionStart,
	"SessionEnd":         conversation.SessionEnd,
	"UserPromptSubmit":   conversation.Prompt,
	"PreToolUse":         conversation.Call,
	"PostToolUse":        conversation.Result,
	"PostToolUseFailure": conversation.Result,
	"SubagentStart":      conversation.SubagentStart,
	"SubagentStop":       conversation.SubagentStop,
	"Stop":               conversation.Stop,
	"PreCompact":         conversation.Compact,
	"PermissionRequest":  conversation.Permission,
	"PermissionDenied":   conversation.Denied,
	// Gemini CLI.
	"BeforeAgent": conversation.Prompt,
	"BeforeTool":  conversation.Call,
	"AfterTool":   conversation.Result,
	"AfterAgent":  conversation.Stop, // its PreCompress comes before each request, compressed or not
	// Cursor.
	"sessionStart":       conversation.SessionStart,
	"sessionEnd":         conversation.SessionEnd,
	"beforeSubmitPrompt": conversation.Prompt,
	"preToolUse":         conversation.Call,
	"postToolUse":        conversation.Result,
	"postToolUseFailure": conversation.Result,
	"subagentStart":      conversation.SubagentStart,
	"subagentStop":       conversation.SubagentStop,
	"preCompact":         conversation.Compact,
	"stop":               conversation.Stop,
}

// described returns what the input's call edits or runs.
func (in *input) described() *conversation.Event {
	e := &conversation.Event{Dir: in.Dir, Tool: in.Tool, Input: in.Input}
	e.Describe()
	return e
}

// recorded returns what the recording of the conversation gets of an event, nil for nothing.
func (in *input) recorded(c *Call, e *conversation.Event) *conversation.Event {
	kind, ok := recordedKinds[in.Event]
	if !ok || c.Session == "" || c.Dir == "" {
		return nil
	}
	e.Kind, e.Agent, e.Session, e.Dir, e.Turn, e.Sub = kind, in.agent(), c.Session, c.Dir, in.Prompt+in.Turn, in.Agent
	if kind == conversation.Prompt && in.Agent != "" { // Codex: the subagent's agent wrote it
		kind, e.Kind = conversation.SubagentStart, conversation.SubagentStart
	}
	switch kind {
	case conversation.Call, conversation.Result, conversation.Permission, conversation.Denied:
		e.Call = in.Use
		if e.Call == "" && kind != conversation.Permission {
			return nil // it names no tool
		}
		e.Text = in.Reason
		if kind == conversation.Result {
			in.addResult(e)
		}
	case conversation.Prompt:
		if e.Text = conversation.Typed(in.Text); conversation.Announced(e.Text) {
			return nil
		}
	default:
		e.Text = first(in.Said, in.Reason, in.Trigger, in.Source)
	}
	switch kind { // those after which a transcript is read
	case conversation.SubagentStop:
		e.Transcript = in.SubTranscript
	case conversation.Call, conversation.Result:
	default:
		e.Transcript = in.Transcript
	}
	e.Nonce = in.nonce
	e.Trim()
	return e
}

// addResult adds the result of a call.
func (in *input) addResult(e *conversation.Event) {
	e.Output, e.DurationMs = in.Response, int(in.DurationMs)
	if len(in.Error) > 0 {
		e.Output = in.Error
	}
	if how := in.ended(); how.known {
		if e.Outcome = conversation.OK; !how.succeeded {
			e.Outcome = conversation.Failed
		}
	}
	spawned, background := conversation.LeftBy(in.Response)
	e.Spawned, e.Background = spawned, e.Background || background
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
