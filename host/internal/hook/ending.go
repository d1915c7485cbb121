package hook

import (
	"encoding/json"
	"regexp"
	"strconv"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// failureLine is the first line of Claude Code's report of a command that failed.
var failureLine = lazyregexp.New(`^Exit code (\d+)(?:\n|$)`)

// statusLine is the line with the exit status in the answers of Gemini CLI and of Copilot CLI.
var statusLine = lazyregexp.New(`(?m)^(?:Exit Code: |<shellId: \S+ completed with exit code )(\d+)>?\s*$`)

// wholeLine is in Gemini CLI's answer of a command that ended, oddLine in that of one that ended by a signal, did not start, or still runs.
var (
	wholeLine = lazyregexp.New(`(?m)^Output: `)
	oddLine   = lazyregexp.New(`(?m)^(?:Signal|Error|Background PIDs): `)
)

// ending is how a tool of the agent ended.
type ending struct {
	// succeeded counts only where it is known.
	known, succeeded bool
	// status is the exit status of a command, nil where the agent does not report one.
	status *int
}

// exited returns the ending of a command with a status.
func exited(status int) ending { return ending{known: true, succeeded: status == 0, status: &status} }

// ended returns how the agent's tool ended, as far as it is known.
func (in *input) ended() ending {
	var response struct {
		Snake       *int            `json:"exit_code"`
		Camel       *int            `json:"exitCode"`
		Interrupted bool            `json:"interrupted"`
		Background  string          `json:"backgroundTaskId"`
		Content     json.RawMessage `json:"llmContent"`
		Error       json.RawMessage `json:"error"`
		Kind        string          `json:"result_type"`
		Text        json.RawMessage `json:"text_result_for_llm"`
		Meaning     string          `json:"returnCodeInterpretation"` // of a status that Claude Code takes for a success
		Metadata    struct {
			Snake *int `json:"exit_code"`
		} `json:"metadata"`
	}
	data := []byte(in.Response)
	var text string
	if json.Unmarshal(data, &text) == nil { // Codex
		data = []byte(text)
	}
	_ = json.Unmarshal(data, &response) // another form has none of this
	if in.background() || response.Background != "" || response.Interrupted || in.Interrupt {
		return ending{}
	}
	for _, code := range []*int{response.Snake, response.Camel, response.Metadata.Snake} {
		if code != nil {
			return exited(*code)
		}
	}
	if in.Event == "PostToolUseFailure" || in.Event == "postToolUseFailure" || len(response.Error) > 0 {
		return withStatus(ending{known: true}, failureLine(), asText(in.Error))
	}
	if e := withStatus(ending{}, statusLine(), asText(response.Content)+asText(response.Text)); e.known {
		return e
	}
	switch in.agent() {
	case "claude": // it runs this hook only after a tool that succeeded
		if in.Event == "PostToolUse" && conversation.Runs(in.Tool) && response.Meaning == "" {
			return exited(0)
		}
		return ending{known: in.Event == "PostToolUse", succeeded: true}
	case "codex":
		if conversation.Runs(in.Tool) && in.Event == "PostToolUse" {
			if status := recordedStatus(in.Transcript, in.Use); status != nil {
				return exited(*status)
			}
		}
	case "opencode", "cursor": // and so do these
		return ending{known: in.Event == "PostToolUse" || in.Event == "postToolUse", succeeded: true}
	case "copilot": // its shell says how a command ended
		return ending{known: response.Kind != "" && !conversation.Runs(in.Tool), succeeded: response.Kind == "success"}
	case "gemini": // it names no exit status of 0
		text := asText(response.Content)
		switch {
		case in.Event != "AfterTool" || len(response.Content) == 0:
		case !conversation.Runs(in.Tool):
			return ending{known: true, succeeded: true}
		case wholeLine().MatchString(text) && !oddLine().MatchString(text):
			return exited(0)
		}
	}
	return ending{}
}

// withStatus returns an ending with the status that a line of a text names, or else unchanged.
func withStatus(e ending, line *regexp.Regexp, text string) ending {
	if m := line.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return exited(n)
		}
	}
	return e
}

// background reports whether the command is still running.
func (in *input) background() bool {
	var input struct {
		Background bool `json:"run_in_background"`
	}
	_ = json.Unmarshal(in.Input, &input) // another form runs in the foreground
	return input.Background
}

func asText(data json.RawMessage) string {
	var text string
	_ = json.Unmarshal(data, &text)
	return text
}
