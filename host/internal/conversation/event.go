// Package conversation records what agents report of their conversations: prompts, calls of tools with input and result,
// subagents, stops, compaction and decisions about permissions.
//
// Guarantees:
//   - Nothing is stored without the user's decision for the directory (the grant conversation), and nothing before secrets
//     in it are masked.
//   - An event that was recorded is on disk. A crash costs at most an event that was not acknowledged.
//   - An event is recorded once, however often and from whichever source it arrives.
//   - A damaged line, an unknown line and a file of a newer format are counted or named, never fatal and never overwritten.
package conversation

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
)

// Kind is what happened in a conversation. Kinds are on disk: they are only added.
type Kind byte

// The kinds of events.
const (
	SessionStart  Kind = 's'
	SessionEnd    Kind = 'e'
	Prompt        Kind = 'p' // the user sent a message
	Call          Kind = 'c' // a tool is about to run
	Result        Kind = 'r' // a tool has run
	SubagentStart Kind = 'a'
	SubagentStop  Kind = 'z'
	Stop          Kind = 't' // the agent finished its answer
	Compact       Kind = 'k' // the agent shortens its context
	Permission    Kind = 'q' // the agent asks the user for permission
	Denied        Kind = 'd' // a call was not permitted
	Finished      Kind = 'f' // a command in the background ended
	synced        Kind = 'y' // a transcript was read up to an offset
	lost          Kind = 'x' // a hook's event found the spool full
)

// MarshalText writes a kind as its letter.
func (k Kind) MarshalText() ([]byte, error) { return []byte{byte(k)}, nil }

// UnmarshalText reads the letter of a kind.
func (k *Kind) UnmarshalText(text []byte) error {
	if len(text) != 1 {
		return fmt.Errorf("a kind of event is %q; it must be one letter", text)
	}
	*k = Kind(text[0])
	return nil
}

// Sources of events.
const (
	FromHook       = ""           // the agent's hook
	FromTranscript = "transcript" // the agent's own record
)

// Outcomes of calls.
const (
	OK     = "ok"
	Failed = "failed"
)

// Event is something that happened in a conversation. Fields are on disk: they are only added.
type Event struct {
	// ID names the event, "" until it is recorded or in the spool. The same event of a hook and of a transcript has the same one.
	ID string `json:"-"`
	// Kind is what happened, At when, in milliseconds since 1970.
	Kind Kind  `json:"kind"`
	At   int64 `json:"at"`
	// Agent is the program, such as claude, and Session its own ID of the conversation.
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// Dir is the agent's working directory.
	Dir string `json:"dir,omitempty"`
	// Turn is the agent's ID of the prompt that led to it, Sub that of the subagent that did it.
	Turn string `json:"turn,omitempty"`
	Sub  string `json:"sub,omitempty"`
	// Call is the ID of a call, Tool its tool, Input and Output its JSON.
	Call   string          `json:"call,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	// Files are the files that an editing call names, relative to Dir if they are in it. Edits is true for an editing call,
	// Runs for a command, whose text is Command.
	Files   []string `json:"files,omitempty"`
	Edits   bool     `json:"edits,omitempty"`
	Runs    bool     `json:"runs,omitempty"`
	Command string   `json:"command,omitempty"`
	// Outcome is [OK], [Failed] or [NotPermitted], "" where it is not known. DurationMs is how long the call took, 0 where it is not known.
	Outcome    string `json:"outcome,omitempty"`
	DurationMs int    `json:"duration_ms,omitempty"`
	// Background is true for a command that runs on after its result.
	Background bool `json:"background,omitempty"`
	// Spawned is the subagent that a call started.
	Spawned string `json:"spawned,omitempty"`
	// Text is the prompt, the agent's last message, or the reason.
	Text string `json:"text,omitempty"`
	// Source is [FromHook] or [FromTranscript].
	Source string `json:"source,omitempty"`
	// Transcript is the path of the agent's own record.
	Transcript string `json:"transcript,omitempty"`
	// Seen is the path at which the agent sees its workspace, "" where it is the workspace's own one.
	Seen string `json:"seen,omitempty"`
	// Withheld is true where the call is about a file that looks like a secret, so that its content is not stored.
	Withheld bool `json:"withheld,omitempty"`
	// Masked counts masked secrets, Cut the bytes that were left out of long texts.
	Masked int `json:"masked,omitempty"`
	Cut    int `json:"cut,omitempty"`
	// Read is what was read of a transcript.
	Read *Read `json:"read,omitempty"`
	// Nonce tells an event without an ID of the agent from others. It is not stored.
	Nonce string `json:"nonce,omitempty"`
	// Moment is what the timeline gets of it, in its JSON. Only an event in the spool has it.
	Moment json.RawMessage `json:"moment,omitempty"`
}

// Fresh returns a new nonce.
func Fresh() string { return rand.Text()[:16] }

// Read is how far a transcript was read, and what was found in this part.
type Read struct {
	// Path is that of the transcript, Offset the end of the last whole line.
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	// Lines counts lines, Unknown those of an unknown type, Damaged those that are not JSON or too long.
	Lines   int `json:"lines,omitempty"`
	Unknown int `json:"unknown,omitempty"`
	Damaged int `json:"damaged,omitempty"`
	// Added counts the events that no hook had reported.
	Added int `json:"added,omitempty"`
	// Seen are the calls in this part that a hook had reported.
	Seen []string `json:"seen,omitempty"`
}

// maxID bounds an ID in bytes.
const maxID = 100

// identify gives an event its ID, if it has none. Those of calls and prompts are the same whichever source reports them.
func (e *Event) identify() {
	id, nonce := e.ID, e.Nonce
	if e.Nonce = ""; nonce == "" {
		nonce = Fresh()
	}
	switch {
	case id != "":
	case e.Call != "" && (e.Kind == Call || e.Kind == Result || e.Kind == Denied || e.Kind == Finished):
		id = string(e.Kind) + ":" + e.Call
	case e.Kind == Prompt && e.Turn != "":
		h := fnv.New64a()
		_, _ = h.Write([]byte(strings.Join(strings.Fields(e.Text), " ")))
		id = fmt.Sprintf("p:%s:%x", e.Turn, h.Sum64())
	default:
		id = string(e.Kind) + ":" + nonce
	}
	e.ID = plainID(id)
}

// plainID returns an ID without spaces, of a bounded length.
func plainID(id string) string {
	if len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return id
	}
	h := fnv.New128a()
	_, _ = h.Write([]byte(id))
	return id[:1] + ":" + hex.EncodeToString(h.Sum(nil))
}
