// Package fork continues an agent's conversation from a moment: it copies the agent's own record up to there for a branch.
//
// Guarantees:
//   - The original record is only read.
//   - A copy is whole or does not exist, and it never ends between a call and its result.
//   - A record of a form that this package does not know is not copied ([UnknownError]).
package fork

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
)

// Methods by which a conversation is continued.
const (
	// Copied is a copy of the agent's own record, cut at the moment. ByAgent was made by the agent's own program.
	Copied  = "transcript"
	ByAgent = "thread/fork"
	// Forked is a fork by opencode's server.
	Forked = "session/fork"
	// Context means that the message quotes the recorded conversation.
	Context = "context"
	// Fresh means that nothing was said before the moment, or that nothing of it is known.
	Fresh = "fresh"
)

// Point is a place in an agent's conversation.
type Point struct {
	// Agent is the program, such as claude, and Session its own ID of the conversation.
	Agent, Session string
	// Call is the ID of the call after which the point is, Turn the agent's ID of the prompt. Both may be "".
	Call, Turn string
	// Transcript is the path of the agent's own record.
	Transcript string
	// Asking is true where the point is before the agent received the prompt of Turn.
	Asking bool
	// Ended is true where the turn ended at the point.
	Ended bool
	// At is when it was. It finds the place where no ID does.
	At time.Time
}

// Place says where a branch is.
type Place struct {
	// From is the original workspace, To the directory of the branch as its agent sees it. Both are absolute and without links.
	// Paths in the copied conversation that are in From become paths in To. So do those in Seen, which is where the agent of the
	// original saw it, "" for From.
	From, Seen, To string
	// Dir is the directory of the branch as others see it, "" for To.
	Dir string
	// Leaves is called with the path of the copy before it is written, or else as soon as it is known. A part of it may have the
	// same path with ".tmp".
	Leaves func(path string) error
	// Title names the copy in the agent's list of conversations.
	Title string

	// links are paths with links that lead into From, and what they become.
	links [][2]string
}

// Conversation is a conversation that was continued.
type Conversation struct {
	// Method is how.
	Method string
	// Session is the agent's ID of the copy, Path its file. Both are "" for a fresh conversation.
	Session, Path string
	// Dir is the directory in which the agent must be started.
	Dir string
	// Home is the directory of the agent's settings and records, "" where it is not known.
	Home string
	// Mode is the agent's permission mode at the point, "" where it is not known.
	Mode string
	// Messages counts the entries of the conversation that were kept: messages, or turns of Codex.
	Messages int
	// Note says what of the conversation was left out although it is before the point, "" for nothing.
	Note string
	// Cut is what the copy ends before although a part of it is before the point: a turn, a step or [Call]. It is "" for nothing.
	Cut string
}

// Call is the [Conversation.Cut] of a record without the result of the call at the point.
const Call = "call"

// UnknownError says why a record cannot be copied safely.
type UnknownError struct{ Why string }

func (e *UnknownError) Error() string { return e.Why }

func unknown(format string, args ...any) error { return &UnknownError{fmt.Sprintf(format, args...)} }

// ErrEmpty means that nothing was said before the point. A conversation that is not nil has the mode then, and nothing else.
var ErrEmpty = errors.New("nothing was said before the moment")

// uuidForm is what the IDs of agents look like.
var uuidForm = lazyregexp.New(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// moved returns a directory of the original workspace as one of the branch. One outside of it becomes the branch's.
func (p Place) moved(dir string) string {
	for _, from := range []string{p.From, p.Seen} {
		if rel, err := filepath.Rel(from, dir); from != "" && err == nil && filepath.IsLocal(rel) {
			return filepath.Join(p.To, rel)
		}
	}
	for _, link := range p.links {
		if rel, err := filepath.Rel(link[0], dir); err == nil && filepath.IsLocal(rel) {
			return filepath.Join(link[1], rel)
		}
	}
	return p.To
}

// outside returns a directory of the branch, as its agent sees it, as others see it.
func (p Place) outside(dir string) string {
	if p.Dir == "" {
		return dir
	}
	return ownpath.Outside([]ownpath.Bind{{Dir: p.Dir, At: p.To}}, dir)
}

// renamed returns JSON in which paths of the original workspace are those of the branch. An agent looks at the files that its
// conversation names: with the old paths it would see later changes, and make its own in the original.
func (p Place) renamed(raw []byte) []byte {
	if p.From != p.To {
		raw = renamed(raw, p.From, p.To)
	}
	if p.Seen != "" && p.Seen != p.To {
		raw = renamed(raw, p.Seen, p.To)
	}
	for _, link := range p.links {
		raw = renamed(raw, link[0], link[1])
	}
	return raw
}

func renamed(raw []byte, before, after string) []byte {
	from, to := bytes.Trim(text(before), `"`), bytes.Trim(text(after), `"`)
	if !bytes.Contains(raw, from) {
		return raw
	}
	out := make([]byte, 0, len(raw)+len(raw)/4)
	for {
		i := bytes.Index(raw, from)
		if i < 0 {
			return append(out, raw...)
		}
		end := i + len(from)
		out = append(out, raw[:i]...)
		if begins(raw, i) && (end == len(raw) || !ofName(raw[end]) || raw[end] == '.' && (end+1 == len(raw) || !ofName(raw[end+1]))) {
			out = append(out, to...)
		} else {
			out = append(out, from...)
		}
		raw = raw[end:]
		if len(raw) == 0 {
			return out
		}
	}
}

// begins reports whether a path can begin at a place in JSON: what is before is no part of it.
func begins(raw []byte, i int) bool {
	if i == 0 {
		return true
	}
	if r, ok := escaped(raw[:i]); ok {
		return r >= 0x80 || !ofName(byte(r)) && r != '/' && r != '~'
	}
	before := raw[i-1]
	if i > 1 && raw[i-2] == '\\' { // an escape such as \n, unless the backslash is one itself
		backslashes := i - 1 - len(bytes.TrimRight(raw[:i-1], `\`))
		return strings.ContainsRune(`bfnrt"`, rune(before)) && backslashes%2 == 1
	}
	return !ofName(before) && before != '/' && before != '~' || before >= 0x80
}

// escaped returns the character that is escaped at the end of a part of JSON, as in \u003e.
func escaped(raw []byte) (r rune, ok bool) {
	const length = len(`\u003e`)
	at := len(raw) - length
	if at < 0 || raw[at] != '\\' || raw[at+1] != 'u' || (at-len(bytes.TrimRight(raw[:at], `\`)))%2 != 0 {
		return 0, false
	}
	code, err := strconv.ParseUint(string(raw[at+2:]), 16, 16)
	return rune(code), err == nil
}

// ofName reports whether a byte beside a path makes it another path.
func ofName(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-' || c == '.' || c >= 0x80
}
