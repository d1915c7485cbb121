package fork

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/jsondepth"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/installer/safefile"
)

// maxTranscript bounds a transcript in bytes.
const maxTranscript = 1 << 30

// claudeVersions are the versions of Claude Code whose lines have the known form. A line of an unknown type is refused
// whatever its version is.
var claudeVersions = lazyregexp.New(`^2\.[01]\.\d+$`)

// What becomes of a line of a transcript.
type fate int

const (
	chained fate = iota + 1 // a message, linked to the one before
	skipped                 // linked, but not copied
	copied                  // about the conversation as a whole: copied
	latest                  // as copied, but only the last one counts
	dropped                 // of this run of the agent, or repeated by it
)

// claudeLines are the types of lines. What Claude Code's own fork keeps is kept.
var claudeLines = map[string]fate{
	"user": chained, "assistant": chained, "attachment": chained, "system": chained, "progress": skipped,
	"content-replacement": copied, "history-suppression": copied, "hybrid-organization": copied, "session-owner": copied,
	"data-flow-records": copied, "data-flow-incomplete": copied, "derived-from": copied, "memory-mode": copied,
	// The agent's definition and tools, and what it may not do after what it has read.
	"agent-setting": latest, "atis-latch": latest, "isolation-latch": latest, "mode": latest, "repl-mode": latest, "tools-used": latest,
	"summary": dropped, "queue-operation": dropped, "last-prompt": dropped, "api-request": dropped, "api-request-shape": dropped,
	"api-request-blob": dropped, "api-request-resumed": dropped, "cost-state": dropped, "custom-title": dropped, "ai-title": dropped, "tag": dropped,
	"agent-name": dropped, "agent-color": dropped, "permission-mode": dropped, "relocated": dropped, "continued-in": dropped, "ended-by-model": dropped,
	"resume-head-vouch": dropped, "dev-mods": dropped, "fork-context-ref": dropped, "observer-ref": dropped, "host-row": dropped,
	"worktree-state": dropped, // with it Claude Code would go to the worktree of the original
	// Files as the original changed them.
	"file-history-snapshot": dropped, "file-history-delta": dropped, "attribution-snapshot": dropped,
	// What the original is connected to: a branch must not answer there.
	"bridge-session": dropped, "pr-link": dropped, "frame-link": dropped, "artifact-comment-monitor": dropped, "artifact-autoreact-ledger": dropped,
}

// ofRun are fields that belong to the run of the agent that wrote them.
var ofRun = map[string]bool{
	"teamName": true, "agentName": true, "sessionKind": true, "slug": true, "sourceToolAssistantUUID": true, "summarizedTurnPromptUuids": true,
	"droppedPromptUuids": true, "sentAsUuid": true, "rowsAheadOfPutBack": true, "turnAttributionKey": true, "forkedFrom": true,
}

// row is a line of a transcript.
type row struct {
	fields []field
	fate   fate
	// Fields of the line.
	Type, Subtype, ID, Parent, Session, Turn, Dir, Version, Mode string
	At                                                           time.Time
	side, summary                                                bool
	// message is the ID of the model's message, of which several lines may have a part. uses and results are the calls in it,
	// thinks is true where it has nothing but thoughts, and other is true where it has anything else than calls.
	message       string
	uses, results []string
	thinks, other bool
	// signed is true where it has thoughts: the model's provider accepts them only unchanged.
	signed bool
	gone   bool
}

type field struct {
	name string
	raw  json.RawMessage
}

// Claude copies a conversation of Claude Code up to a point, into the records of the branch's directory.
func Claude(p Point, place Place, now time.Time) (*Conversation, error) {
	rows, err := readClaude(p)
	if err != nil {
		return nil, err
	}
	kept, err := cutClaude(rows, p)
	if errors.Is(err, ErrEmpty) {
		return &Conversation{Mode: modeAt(rows, endOf(rows, p))}, err
	}
	if err != nil {
		return nil, err
	}
	var raw [][]byte
	for _, r := range rows {
		for _, f := range r.fields {
			raw = append(raw, f.raw)
		}
	}
	place = place.withLinks(raw...)
	c := &Conversation{Method: Copied, Session: uuid.NewString(), Dir: place.To}
	if p.Call != "" && resultOf(rows, p.Call) < 0 {
		c.Cut, c.Note = Call, "the transcript does not have the result of the call of that moment, so the copy ends before the call"
	}
	for _, r := range kept {
		if r.Type == "user" || r.Type == "assistant" {
			c.Messages++
		}
		if r.Mode != "" {
			c.Mode = r.Mode
		}
	}
	for _, r := range kept {
		if r.Dir != "" {
			if dir := place.moved(r.Dir); isDir(place.outside(dir)) {
				c.Dir = dir
			}
			break
		}
	}
	projects := filepath.Dir(filepath.Dir(p.Transcript))
	c.Home = filepath.Dir(projects)
	c.Dir = place.outside(c.Dir)
	c.Path = filepath.Join(ClaudeRecords(c.Home, c.Dir), c.Session+".jsonl")
	return c, writeClaude(c, p, kept, rows, place, now)
}

// modeAt returns the permission mode before a line, or else the first one from there on: that of the prompt which is left out.
func modeAt(rows []*row, line int) (mode string) {
	for i, r := range rows {
		if r.side || r.Mode == "" {
			continue
		}
		if i < line || mode == "" {
			mode = r.Mode
		}
	}
	return mode
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readClaude reads the whole lines of a transcript.
func readClaude(p Point) (rows []*row, err error) {
	if !uuidForm().MatchString(p.Session) || filepath.Base(p.Transcript) != p.Session+".jsonl" || !filepath.IsAbs(p.Transcript) || filepath.Base(filepath.Dir(filepath.Dir(p.Transcript))) != "projects" {
		return nil, unknown("the agent's hook did not name its transcript as Claude Code does")
	}
	f, info, err := safefile.Open(p.Transcript)
	if err != nil {
		return nil, fmt.Errorf("cannot read the agent's transcript: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info.Size() > maxTranscript {
		return nil, unknown("the transcript has %d bytes; the limit is %d", info.Size(), maxTranscript)
	}
	in := bufio.NewReaderSize(io.LimitReader(f, info.Size()), 1<<20)
	at := time.Time{}
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a line without an end is still being written
			return rows, nil
		} else if err != nil {
			return nil, fmt.Errorf("cannot read the agent's transcript: %w", err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := parseRow(line)
		if err != nil {
			return nil, unknown("line %d of the transcript: %v", n, err)
		}
		if r.At.IsZero() {
			r.At = at // of the line before
		}
		at = r.At
		rows = append(rows, r)
	}
}

// parseRow reads a line. Its fields keep their order and their bytes.
func parseRow(line []byte) (*row, error) {
	if jsondepth.Exceeds(line, jsondepth.Most) || !gjson.ValidBytes(line) {
		return nil, errors.New("it is not a whole JSON object")
	}
	all := gjson.ParseBytes(line)
	if !all.IsObject() {
		return nil, errors.New("it is not a JSON object")
	}
	r := &row{}
	texts := map[string]*string{
		"type": &r.Type, "subtype": &r.Subtype, "uuid": &r.ID, "parentUuid": &r.Parent, "sessionId": &r.Session, "promptId": &r.Turn,
		"cwd": &r.Dir, "version": &r.Version, "permissionMode": &r.Mode,
	}
	var err error
	all.ForEach(func(name, value gjson.Result) bool {
		f := field{name: name.Str, raw: json.RawMessage(value.Raw)}
		if slices.ContainsFunc(r.fields, func(o field) bool { return o.name == f.name }) {
			err = fmt.Errorf("it has two fields %q", f.name)
			return false
		}
		r.fields = append(r.fields, f)
		switch text := texts[f.name]; {
		case text != nil && value.Type != gjson.String && value.Type != gjson.Null:
			err = fmt.Errorf("%s is not a text", f.name)
		case text != nil:
			*text = value.Str
		case f.name == "timestamp":
			r.At, _ = time.Parse(time.RFC3339, value.Str)
		case f.name == "isSidechain":
			r.side = value.Type == gjson.True
		case f.name == "isCompactSummary":
			r.summary = value.Type == gjson.True
		case f.name == "message":
			err = r.readMessage(value)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	r.fate = claudeLines[r.Type]
	switch {
	case r.fate == 0:
		return nil, fmt.Errorf("its type %q is not known", r.Type)
	case r.fate <= skipped && !uuidForm().MatchString(r.ID):
		return nil, errors.New("its uuid is not one")
	case r.fate == chained && !claudeVersions().MatchString(r.Version):
		return nil, fmt.Errorf("it was written by version %q, of which the form is not known", r.Version)
	}
	return r, nil
}

// fieldsOf returns fields of an object, in the order of the names. Of two with one name the last counts, as for the agent.
func fieldsOf(object gjson.Result, names ...string) []gjson.Result {
	found := make([]gjson.Result, len(names))
	object.ForEach(func(name, value gjson.Result) bool {
		if i := slices.Index(names, name.Str); i >= 0 {
			found[i] = value
		}
		return true
	})
	return found
}

// readMessage reads which calls and results a message has.
func (r *row) readMessage(m gjson.Result) error {
	if !m.IsObject() {
		return errors.New("its message is not one")
	}
	of := fieldsOf(m, "id", "content")
	r.message, r.thinks = of[0].Str, true
	switch content := of[1]; {
	case content.Type == gjson.String:
		r.thinks, r.other = false, true
		return nil
	case !content.IsArray():
		return errors.New("its message has no content")
	}
	for _, block := range of[1].Array() {
		b := fieldsOf(block, "type", "id", "tool_use_id")
		if !block.IsObject() || b[0].Type != gjson.String {
			return errors.New("a part of its message has no type")
		}
		switch b[0].Str {
		case "tool_use":
			r.uses, r.thinks = append(r.uses, b[1].Str), false
		case "tool_result":
			r.results, r.thinks, r.other = append(r.results, b[2].Str), false, true
		case "thinking", "redacted_thinking":
			r.other, r.signed = true, true
		default:
			r.thinks, r.other = false, true
		}
	}
	return nil
}

// resultOf returns the line with the result of a call, -1 for none.
func resultOf(rows []*row, call string) int {
	return slices.IndexFunc(rows, func(r *row) bool { return call != "" && !r.side && slices.Contains(r.results, call) })
}

// endOf returns how many lines are before a point.
func endOf(rows []*row, p Point) int {
	if at := resultOf(rows, p.Call); at >= 0 {
		return at + 1
	}
	if p.Asking && p.Turn != "" {
		for i, r := range rows {
			if r.Type == "user" && !r.side && r.Turn == p.Turn {
				for i > 0 && (rows[i-1].fate != chained || rows[i-1].Type == "attachment") { // they came with the prompt
					i--
				}
				return i
			}
		}
	}
	for i, r := range rows {
		if r.fate <= skipped && r.At.After(p.At) {
			return i
		}
	}
	return len(rows)
}

// cutClaude returns the lines of the conversation up to a point.
func cutClaude(rows []*row, p Point) ([]*row, error) {
	end := endOf(rows, p)
	boundary := -1 // of a compaction whose summary is not there yet
	for i, r := range rows[:end] {
		switch {
		case r.Type == "system" && r.Subtype == "compact_boundary" && !r.side:
			boundary = i
		case r.summary:
			boundary = -1
		}
	}
	if boundary >= 0 {
		end = boundary
	}
	if err := withoutOpenCalls(rows, end); err != nil {
		return nil, err
	}
	var kept []*row
	last := map[string]*row{}
	said := false
	for _, r := range rows[:end] {
		switch {
		case r.fate == latest:
			last[r.Type] = r
		case r.fate == copied, r.fate == chained && !r.side && !r.gone:
			kept = append(kept, r)
			said = said || r.Type == "user" || r.Type == "assistant"
		}
	}
	if !said {
		return nil, ErrEmpty
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		kept = append(kept, last[name])
	}
	return kept, nil
}

// withoutOpenCalls marks the calls as gone whose result is not there yet. A call that never got one stays, as the agent
// itself leaves it, unless it is of the last message.
func withoutOpenCalls(rows []*row, end int) error {
	done, later := map[string]bool{}, map[string]bool{}
	message := ""
	for i, r := range rows {
		for _, id := range r.results {
			if i < end {
				done[id] = true
			} else {
				later[id] = true
			}
		}
		if i < end && r.Type == "assistant" && !r.side {
			message = r.message
		}
	}
	cut := map[string]bool{} // messages
	for _, r := range rows[:end] {
		open := 0
		for _, id := range r.uses {
			if !done[id] && (later[id] || r.message == message) {
				open++
			}
		}
		if open == 0 || r.side {
			continue
		}
		if open < len(r.uses) || r.other {
			return unknown("a line of the transcript has an unfinished call beside other content")
		}
		r.gone = true
		cut[r.message] = true
	}
	for id := range cut { // thoughts alone are no message
		var left []*row
		for _, r := range rows[:end] {
			if r.Type == "assistant" && r.message == id && !r.gone {
				left = append(left, r)
			}
		}
		if !slices.ContainsFunc(left, func(r *row) bool { return !r.thinks }) {
			for _, r := range left {
				r.gone = true
			}
		}
	}
	return nil
}

// ClaudeRecords returns the directory in which Claude Code keeps its transcripts of a directory. Home is that of its settings.
func ClaudeRecords(home, dir string) string {
	return filepath.Join(home, "projects", claudeProject(dir))
}

// claudeProject returns the name of the directory of a project's transcripts. Claude Code counts in UTF-16 code units.
func claudeProject(dir string) string {
	units := utf16.Encode([]rune(dir))
	name := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash<<5 - hash + int32(u)
		if name[i] = '-'; u >= '0' && u <= '9' || u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z' {
			name[i] = byte(u)
		}
	}
	if len(name) <= 200 {
		return string(name)
	}
	positive := int64(hash)
	if positive < 0 {
		positive = -positive
	}
	return string(name[:200]) + "-" + strconv.FormatInt(positive, 36)
}

// quoted finds the IDs of messages in a field.
var quoted = lazyregexp.New(`"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"`)

// writeClaude writes a copy in one step.
func writeClaude(c *Conversation, p Point, kept, all []*row, place Place, now time.Time) (err error) {
	ids, parents := map[string]string{}, map[string]string{}
	for _, r := range kept {
		if r.fate == chained {
			ids[r.ID] = uuid.NewString()
		}
	}
	for _, r := range all {
		parents[r.ID] = r.Parent
	}
	if place.Leaves != nil {
		if err := place.Leaves(c.Path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return fmt.Errorf("cannot create the directory of the branch's conversation: %w", err)
	}
	f, err := os.OpenFile(c.Path+".tmp", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the branch's conversation: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write the branch's conversation: %w", errors.Join(err, f.Close(), os.Remove(f.Name())))
		}
	}()
	out := bufio.NewWriterSize(f, 1<<20)
	for _, r := range kept {
		for i := range r.fields {
			one := &r.fields[i]
			switch one.name {
			case "message", "toolUseResult":
				if !r.signed {
					one.raw = place.renamed(one.raw)
				}
			case "sessionId":
				one.raw = text(c.Session)
			case "cwd":
				one.raw = text(place.moved(r.Dir))
			case "parentUuid":
				one.raw = json.RawMessage("null")
				if id := ids[ancestor(r.Parent, ids, parents)]; id != "" {
					one.raw = text(id)
				}
			default:
				one.raw = quoted().ReplaceAllFunc(place.renamed(one.raw), func(s []byte) []byte {
					if id := ids[string(s[1:len(s)-1])]; id != "" {
						return text(id)
					}
					return s
				})
			}
		}
		if r.fate == chained {
			from, _ := json.Marshal(map[string]string{"sessionId": p.Session, "messageUuid": r.ID})
			r.fields = append(slices.DeleteFunc(r.fields, func(one field) bool { return ofRun[one.name] }), field{"forkedFrom", from})
		}
		r.write(out)
	}
	title := row{fields: []field{
		{"type", text("custom-title")},
		{"sessionId", text(c.Session)},
		{"customTitle", text(place.Title)},
		{"uuid", text(uuid.NewString())},
		{"timestamp", text(now.UTC().Format("2006-01-02T15:04:05.000Z"))},
	}}
	title.write(out)
	if err = out.Flush(); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.Path)
}

// ancestor returns the nearest message that was kept, from one up; "" for none.
func ancestor(id string, ids, parents map[string]string) string {
	for range len(parents) + 1 {
		if id == "" || ids[id] != "" {
			return id
		}
		id = parents[id]
	}
	return "" // they are linked in a circle
}

func text(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text has no error
	return bytes.TrimSpace(b.Bytes())
}

// write writes a line. Errors remain in the writer.
func (r *row) write(out *bufio.Writer) {
	for i, one := range r.fields {
		_ = out.WriteByte("{,"[min(i, 1)])
		_, _ = out.Write(text(one.name))
		_ = out.WriteByte(':')
		_, _ = out.Write(one.raw)
	}
	_, _ = out.WriteString("}\n")
}
