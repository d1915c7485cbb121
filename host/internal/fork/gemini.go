package fork

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/installer/safefile"
)

// geminiTypes are the types of messages in a chat of Gemini CLI. The model gets the first two.
var geminiTypes = map[string]bool{"user": true, "gemini": true, "info": true, "error": true, "warning": true}

// geminiMessage is a message of a chat. A later line with the same ID replaces it.
type geminiMessage struct {
	ID, Type  string
	Timestamp time.Time
	Content   json.RawMessage
	Calls     []geminiCall `json:"toolCalls"`
}

// geminiCall is a call that has ended. Timestamp is when the ends of all calls of its message were recorded.
type geminiCall struct {
	ID, Name  string
	Args      json.RawMessage
	Timestamp time.Time
}

// chatLine is a line of a chat: its beginning, a message, a change of what is known of the chat, or that messages were taken back.
type chatLine struct {
	raw []byte
	at  time.Time
	geminiMessage
	SessionID   string `json:"sessionId"`
	ProjectHash string `json:"projectHash"`
	Kind        string
	Rewind      string `json:"$rewindTo"`
	Set         *struct {
		Updated  time.Time        `json:"lastUpdated"`
		Messages *[]geminiMessage `json:"messages"`
	} `json:"$set"`
}

// Gemini copies a chat of Gemini CLI up to a point, into a file beside the branch, which Gemini CLI imports when it starts.
func Gemini(ctx context.Context, p Point, place Place, program Program) (*Conversation, error) {
	lines, err := readChat(p)
	if err != nil {
		return nil, err
	}
	end := endOfChat(lines, p)
	c := &Conversation{Method: Copied, Dir: place.To, Path: place.To + "." + uuid.NewString()[:8] + ".chat.jsonl"}
	said := map[string]bool{}
	for i := range lines[:end] {
		l := &lines[i]
		switch {
		case l.Rewind != "":
			clear(said) // what is left is not counted
		case l.Set != nil && l.Set.Messages != nil:
			clear(said)
			for _, m := range *l.Set.Messages {
				said[m.ID] = m.Type == "gemini"
			}
		case l.ID != "":
			said[l.ID] = l.Type == "user" || l.Type == "gemini"
		}
	}
	for _, is := range said {
		if is {
			c.Messages++
		}
	}
	if c.Messages == 0 {
		return nil, ErrEmpty
	}
	if err := canImport(ctx, program); err != nil {
		return nil, err
	}
	var raw [][]byte
	for _, l := range lines {
		raw = append(raw, l.raw)
	}
	return c, writeChat(c, lines[:end], place.withLinks(raw...))
}

// readChat reads the whole lines of a chat.
func readChat(p Point) (lines []chatLine, err error) {
	base := filepath.Base(p.Transcript)
	if !uuidForm().MatchString(p.Session) || !filepath.IsAbs(p.Transcript) || !strings.HasPrefix(base, "session-") || !strings.HasSuffix(base, "-"+p.Session[:8]+".jsonl") {
		return nil, unknown("the agent's hook did not name its chat as Gemini CLI does")
	}
	f, info, err := safefile.Open(p.Transcript)
	if err != nil {
		return nil, fmt.Errorf("cannot read the agent's chat: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info.Size() > maxTranscript {
		return nil, unknown("the chat has %d bytes; the limit is %d", info.Size(), maxTranscript)
	}
	in := bufio.NewReaderSize(io.LimitReader(f, info.Size()), 1<<20)
	for n := 1; ; n++ {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a line without an end is still being written
			break
		} else if err != nil {
			return nil, fmt.Errorf("cannot read the agent's chat: %w", err)
		}
		l := chatLine{raw: bytes.TrimSuffix(raw, []byte("\n"))}
		if err := json.Unmarshal(l.raw, &l); err != nil {
			return nil, unknown("line %d of the chat: %v", n, err)
		}
		if err := l.check(n == 1); err != nil {
			return nil, unknown("line %d of the chat: %v", n, err)
		}
		l.at = l.time()
		lines = append(lines, l)
	}
	if len(lines) == 0 || lines[0].SessionID != p.Session {
		return nil, unknown("the chat does not begin with its session")
	}
	return lines, nil
}

// check returns an error for a line of a form that is not known.
func (l *chatLine) check(first bool) error {
	messages := []geminiMessage{l.geminiMessage}
	switch {
	case first:
		if l.SessionID == "" || l.ProjectHash == "" || l.Kind != "main" {
			return errors.New("it is not the beginning of a chat")
		}
		return nil
	case l.Rewind != "":
		return nil
	case l.Set != nil:
		if messages = nil; l.Set.Messages != nil {
			messages = *l.Set.Messages
		}
	case l.ID == "":
		return errors.New("its form is not known")
	}
	for _, m := range messages {
		if m.ID == "" || !geminiTypes[m.Type] || m.Timestamp.IsZero() {
			return fmt.Errorf("a message has the type %q, which is not known", m.Type)
		}
	}
	return nil
}

// time returns when a line was written, as far as it says so.
func (l *chatLine) time() time.Time {
	at := l.Timestamp
	for _, c := range l.Calls {
		if c.Timestamp.After(at) {
			at = c.Timestamp
		}
	}
	if l.Set != nil && l.Set.Updated.After(at) {
		at = l.Set.Updated
	}
	return at
}

// endOfChat returns how many lines are before a point. Calls of the last one that are after the point are left out of it.
func endOfChat(lines []chatLine, p Point) int {
	if p.Call != "" {
		for i := range lines {
			l := &lines[i]
			for n, c := range l.Calls { // Gemini CLI records a call after its hook
				if !c.Timestamp.Before(p.At.Truncate(time.Millisecond)) && conversation.SameCall(p.Call, c.Name, c.Args) {
					if n+1 < len(l.Calls) {
						l.raw = withCalls(l.raw, n+1)
					}
					return i + 1
				}
			}
		}
	}
	for i := range lines {
		if lines[i].at.After(p.At) {
			return i
		}
	}
	return len(lines)
}

// withCalls returns a message with its first calls alone.
func withCalls(raw []byte, n int) []byte {
	var fields map[string]json.RawMessage
	var calls []json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields["toolCalls"], &calls) != nil {
		return raw // it was read before
	}
	fields["toolCalls"], _ = json.Marshal(calls[:n])
	data, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return data
}

// geminiPart is a part of what a user's message has.
type geminiPart struct {
	Text     string
	Response *struct{ ID string } `json:"functionResponse"`
}

// repeats reports whether a line has nothing but results that are with their calls. An import takes those, and would have both.
func (l *chatLine) repeats(answered map[string]bool) bool {
	var parts []geminiPart
	if l.Type != "user" || json.Unmarshal(l.Content, &parts) != nil {
		return false
	}
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p geminiPart) bool { return p.Response == nil || !answered[p.Response.ID] })
}

// tidy takes from a prompt what a hook put before it. An import leaves out a message that begins so.
func (l *chatLine) tidy() {
	var fields map[string]json.RawMessage
	var parts []map[string]json.RawMessage
	var prompt string
	if l.Type != "user" || json.Unmarshal(l.raw, &fields) != nil || json.Unmarshal(l.Content, &parts) != nil || len(parts) == 0 || json.Unmarshal(parts[0]["text"], &prompt) != nil {
		return
	}
	typed := conversation.Typed(prompt)
	if typed == prompt {
		return
	}
	parts[0]["text"] = text(typed)
	fields["content"], _ = json.Marshal(parts)
	if data, err := json.Marshal(fields); err == nil {
		l.raw = data
	}
}

// canImport returns an error unless the installed version imports a chat, by its description of its flags.
func canImport(ctx context.Context, program Program) error {
	ctx, cancel := context.WithTimeout(ctx, geminiPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program.Line[0], slices.Concat(program.Line[1:], []string{"--help"})...)
	cmd.Env, cmd.WaitDelay = program.Env, time.Second
	out, err := cmd.Output()
	if err != nil {
		return unknown("the installed Gemini CLI does not describe its flags: %v", err)
	}
	if !bytes.Contains(out, []byte("--session-file")) {
		return unknown("the installed Gemini CLI cannot import a chat: it has no --session-file")
	}
	return nil
}

// geminiPatience bounds the wait for the description of flags.
const geminiPatience = 20 * time.Second

// writeChat writes a copy in one step.
func writeChat(c *Conversation, lines []chatLine, place Place) (err error) {
	if place.Leaves != nil {
		if err := place.Leaves(c.Path); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	answered := map[string]bool{}
	for i := range lines {
		l := &lines[i]
		for _, call := range l.Calls {
			answered[call.ID] = true
		}
		if l.repeats(answered) {
			continue
		}
		l.tidy()
		if !bytes.Contains(l.raw, []byte(`"thoughtSignature"`)) { // the model's provider accepts signed content only unchanged
			l.raw = place.renamed(l.raw)
		}
		out.Write(l.raw)
		out.WriteByte('\n')
	}
	if place.Title != "" {
		fmt.Fprintf(&out, `{"$set":{"summary":%s}}`+"\n", text(place.Title))
	}
	temp := c.Path + ".tmp"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the branch's chat: %w", err)
	}
	_, err = f.Write(out.Bytes())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, c.Path)
	}
	if err != nil {
		return fmt.Errorf("cannot write the branch's chat: %w", errors.Join(err, os.Remove(temp)))
	}
	return nil
}
