package conversation

import (
	"cmp"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation/shellwrites"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
)

// Outline is a conversation as prompts with the calls that followed.
type Outline struct {
	Info
	Turns    []*Turn        `json:"turns"`
	Coverage SourceCoverage `json:"coverage"`

	index *index // of its calls
}

// Info describes a recorded conversation.
type Info struct {
	ID        string `json:"id"`
	Agent     string `json:"agent"`
	Session   string `json:"agentSessionId"`
	Workspace string `json:"workspace"`
	// Started and Last are the times of the first and the last event.
	Started report.Time `json:"startedAt"`
	Last    report.Time `json:"lastAt"`
	Prompts int         `json:"prompts"`
	Calls   int         `json:"calls"`
	Bytes   int64       `json:"bytes"`
	// Cut is true where the file ends within an event: what followed is missing.
	Cut bool `json:"cut,omitempty"`
	// Problem says why it cannot be read, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// Turn is a prompt with what the agent did until the next one.
type Turn struct {
	// ID is the agent's own, Prompt the text. It is "" for what was before the first prompt that was recorded.
	ID     string       `json:"turnId,omitempty"`
	Prompt string       `json:"prompt,omitempty"`
	At     report.Time  `json:"at"`
	Calls  []*Called    `json:"calls"`
	Ended  *report.Time `json:"endedAt,omitempty"`
	// Said is the agent's last message. Compacted counts how often the agent shortened its context.
	Said      string `json:"said,omitempty"`
	Compacted int    `json:"compacted,omitempty"`
	// Source is where the prompt is from: hook, transcript.
	Source string `json:"source,omitempty"`

	// Event is the ID of the prompt's event, "" for the turn before the first prompt.
	Event string `json:"-"`

	byHooks, byTranscript int // how often it was compacted: both report the same
}

// Called is a call of a tool.
type Called struct {
	ID   string `json:"callId"`
	Tool string `json:"tool"`
	// Files are the files that an editing call names. Command is the text of a command.
	Files   []string `json:"files,omitempty"`
	Command string   `json:"command,omitempty"`
	Edits   bool     `json:"edits,omitempty"`
	// Started is when it began, Ended is nil while it runs or where its end is not known.
	Started    report.Time  `json:"startedAt"`
	Ended      *report.Time `json:"endedAt,omitempty"`
	DurationMs int          `json:"durationMs,omitempty"`
	// Outcome is ok, failed or denied, "" where it is not known.
	Outcome string `json:"outcome,omitempty"`
	// Subagent is the ID of the subagent that made the call, Calls are those of the subagent that it started.
	Subagent string    `json:"subagentId,omitempty"`
	Calls    []*Called `json:"calls,omitempty"`
	// Source is where it is from: hook, transcript, or both.
	Source string `json:"source"`

	dir, spawned     string
	asked            int64 // when the agent wanted it, or else when it began
	finished         int64 // when the command in the background ended, 0 while that is not known
	spanned          span  // when it ran
	background       bool  // a command that runs on after its result
	hook, transcript bool
	closed           bool // it has a result
	// untimed is true for a duration that does not say when it began: Codex measures a command from when it waits for it.
	untimed bool
	// written are the files that a command writes by name. Roams is true where it changes its directory.
	written []string
	roams   bool
}

// NotPermitted is the outcome of a call that was not permitted.
const NotPermitted = "denied"

// SourceCoverage is what of a conversation was observed, and by which source.
type SourceCoverage struct {
	// OnlyHook counts calls that the transcript does not have, OnlyTranscript calls and prompts that no hook reported.
	OnlyHook       int `json:"onlyHook,omitempty"`
	OnlyTranscript int `json:"onlyTranscript,omitempty"`
	// Lines counts lines of transcripts, Unknown those of an unknown type, Damaged those that cannot be read, of the
	// recording too.
	Lines   int `json:"transcriptLines"`
	Unknown int `json:"unknownLines,omitempty"`
	Damaged int `json:"damagedLines,omitempty"`
	// Unread is how many bytes of the transcripts are left for the next reading, because they are very long.
	Unread int64 `json:"unreadBytes,omitempty"`
	// Masked counts masked secrets.
	Masked int `json:"masked,omitempty"`
	// Lost counts events that hooks could not report: no daemon ran, and the spool was full.
	Lost int `json:"lost,omitempty"`
}

// folder makes outlines of the events so far.
type folder struct {
	agent    string
	prompts  []*Turn
	coverage SourceCoverage
	calls    map[string]*Called
	order    []*Called
	turns    map[string][]*Turn // by the agent's ID, which a message that the user sends during a turn shares
	of       map[*Called]string // its turn's ID
	seen     map[string]bool
	readAt   int64 // when the transcript was read last
	started  map[string]*Called
	begun    map[string][]*Called // without a result, by the loose part of their IDs
	// compacted is when the agent shortened its context.
	compacted []compaction
	ends      []int64 // of the session, which may be continued
}

// compaction is an event [Compact].
type compaction struct {
	turn       string
	at         int64
	transcript bool
}

func newFolder(agent string) *folder {
	return &folder{agent: agent, calls: map[string]*Called{}, turns: map[string][]*Turn{}, of: map[*Called]string{}, seen: map[string]bool{}, started: map[string]*Called{}, begun: map[string][]*Called{}}
}

func millis(ms int64) report.Time { return report.Time{Time: time.UnixMilli(ms)} }

func (f *folder) add(e *Event) {
	f.coverage.Masked += e.Masked
	switch e.Kind {
	case synced:
		c := &f.coverage
		c.Lines, c.Unknown, c.Damaged = c.Lines+e.Read.Lines, c.Unknown+e.Read.Unknown, c.Damaged+e.Read.Damaged
		for _, id := range e.Read.Seen {
			f.seen[id] = true
		}
		f.readAt = e.At
	case Prompt:
		f.prompt(e)
	case Call, Result, Denied, Finished:
		f.call(e)
	case Stop, SessionEnd:
		if e.Kind == SessionEnd {
			f.ends = append(f.ends, e.At)
		}
		if t := f.turn(e.Turn, e.At); t != nil && (t.Ended == nil || e.Kind == Stop) {
			at := millis(e.At)
			if t.Ended = &at; e.Kind == Stop { // the text of the other is why the session ended
				t.Said = cmp.Or(e.Text, t.Said)
			}
		}
	case lost:
		f.coverage.Lost++
	case Compact:
		f.compacted = append(f.compacted, compaction{e.Turn, e.At, e.Source == FromTranscript})
	}
}

func (f *folder) prompt(e *Event) {
	for _, t := range f.turns[e.Turn] {
		if t.Event == e.ID { // a late hook's, which the transcript had
			t.Source = "hook"
			f.coverage.OnlyTranscript--
			return
		}
	}
	t := &Turn{ID: e.Turn, Prompt: e.Text, At: millis(e.At), Calls: []*Called{}, Source: cmp.Or(e.Source, "hook"), Event: e.ID}
	if e.Source == FromTranscript {
		f.coverage.OnlyTranscript++
	}
	f.prompts = append(f.prompts, t)
	if e.Turn != "" {
		f.turns[e.Turn] = append(f.turns[e.Turn], t)
	}
}

// turn returns the turn of an event: the last one that began before, of those with the agent's ID if there are any.
func (f *folder) turn(id string, at int64) *Turn {
	if own := f.turns[id]; len(own) > 0 {
		return cmp.Or(begunBy(own, at), own[0])
	}
	return begunBy(f.prompts, at)
}

// begunBy returns the last turn that began at a time or before it, nil if there is none.
func begunBy(turns []*Turn, at int64) (last *Turn) {
	for _, t := range turns {
		if t.At.UnixMilli() <= at && (last == nil || !t.At.Before(last.At.Time)) {
			last = t
		}
	}
	return last
}

func (f *folder) call(e *Event) {
	c := f.calls[e.Call]
	base := loose(e.Call)
	if list := f.begun[base]; c == nil && base != "" && e.Kind != Call && len(list) > 0 {
		c, f.begun[base] = list[0], list[1:]
		c.ID, f.calls[e.Call] = e.Call, c // the moment after the call has this one
	}
	if c == nil {
		c = &Called{ID: e.Call, Started: millis(e.At)}
		f.calls[e.Call] = c
		f.order = append(f.order, c)
		if base != "" && e.Kind == Call {
			f.begun[base] = append(f.begun[base], c)
		}
	}
	if c.Command == "" && e.Command != "" {
		c.written, c.roams = shellwrites.Of(e.Command)
	}
	hook := e.Source != FromTranscript
	c.hook, c.transcript = c.hook || hook, c.transcript || !hook
	c.Tool, c.Command, c.dir = cmp.Or(c.Tool, e.Tool), cmp.Or(c.Command, event.OneLine(e.Command)), cmp.Or(c.dir, e.Dir)
	c.Subagent, c.spawned = cmp.Or(c.Subagent, e.Sub), cmp.Or(c.spawned, e.Spawned)
	c.Edits, c.background = c.Edits || e.Edits, c.background || e.Background
	if len(c.Files) == 0 {
		c.Files = e.Files
	}
	if f.of[c] == "" {
		f.of[c] = e.Turn
	}
	at := millis(e.At)
	switch e.Kind {
	case Call:
		c.asked = e.At
	case Denied:
		c.Outcome, c.Ended, c.closed = NotPermitted, &at, true
	case Finished:
		c.Outcome, c.background, c.finished = cmp.Or(c.Outcome, e.Outcome), true, e.At
	case Result:
		if c.background && c.closed && e.Outcome != "" && e.DurationMs > 0 { // Codex tells the end of a command in the background so
			c.finished, c.Ended = e.At, &at
		}
		c.Outcome = cmp.Or(c.Outcome, e.Outcome)
		c.untimed = c.untimed || !hook && f.agent == "codex"
		c.DurationMs = cmp.Or(c.DurationMs, e.DurationMs)
		if base != "" && c.DurationMs == 0 && c.asked != 0 { // its agent tells no duration, but when it began
			c.DurationMs = int(max(0, e.At-c.asked))
		}
		if c.Ended == nil || hook && at.Before(c.Ended.Time) {
			c.Ended = &at
		}
		c.closed = true
	}
	c.settle()
	if e.Spawned != "" && c.Command == "" { // a command may print anything
		f.started[e.Spawned] = c
	}
}

// outline puts the calls into their turns, or below the call that started their subagent. It shares nothing with f that
// another event changes.
func (f *folder) outline(info Info, damaged int) *Outline {
	o := &Outline{Info: info, Turns: []*Turn{}, Coverage: f.coverage, index: &index{}}
	o.Coverage.Damaged += damaged
	for _, t := range f.prompts {
		c := *t
		c.Calls = []*Called{}
		o.Turns = append(o.Turns, &c)
	}
	slices.SortStableFunc(o.Turns, func(a, b *Turn) int { return a.At.Compare(b.At.Time) })
	prompts, same := slices.Clone(o.Turns), map[string][]*Turn{}
	for _, t := range prompts {
		if t.ID != "" {
			same[t.ID] = append(same[t.ID], t)
		}
	}
	turn := func(id string, at int64) *Turn {
		list := prompts
		if own := same[id]; len(own) > 0 {
			list = own
		}
		n := sort.Search(len(list), func(i int) bool { return list[i].At.UnixMilli() > at })
		switch {
		case n > 0:
			return list[n-1]
		case len(same[id]) > 0:
			return list[0] // the clocks of its sources differ
		}
		return nil
	}
	for _, c := range f.compacted {
		t := turn(c.turn, c.at)
		switch {
		case t == nil:
			continue
		case c.transcript:
			t.byTranscript++
		default:
			t.byHooks++
		}
		t.Compacted = max(t.byHooks, t.byTranscript)
	}
	calls := map[*Called]*Called{}
	order := make([]*Called, 0, len(f.order))
	for _, original := range f.order {
		c := *original
		c.span(f.ends)
		c.asked = cmp.Or(c.asked, c.Started.UnixMilli())
		calls[original] = &c
		order = append(order, original)
	}
	slices.SortStableFunc(order, func(a, b *Called) int { return cmp.Compare(calls[a].asked, calls[b].asked) })
	bound(calls)
	var before *Turn // what was before the first prompt
	for _, original := range order {
		c := calls[original]
		f.source(o, c)
		if parent := f.parent(original); parent != nil {
			calls[parent].Calls = append(calls[parent].Calls, c)
			continue
		}
		t := turn(f.of[original], c.asked)
		if t == nil && before == nil {
			before = &Turn{At: c.Started, Calls: []*Called{}}
			o.Turns = slices.Insert(o.Turns, 0, before)
		}
		if t == nil {
			t = before
		}
		t.Calls = append(t.Calls, c)
	}
	return o
}

// parent returns the call that started the subagent of a call. It returns nil for a call of the agent itself, and for one that
// is too deep or in a circle of subagents: that is shown beside the agent's own.
func (f *folder) parent(c *Called) *Called {
	parent := f.caller(c)
	for up, depth := parent, 0; up != nil; up = f.caller(up) {
		if depth++; depth > maxDepth || up == c {
			return nil
		}
	}
	return parent
}

// caller returns the call that started the subagent of a call, nil for none.
func (f *folder) caller(c *Called) *Called {
	if c.Subagent == "" {
		return nil
	}
	return f.started[c.Subagent]
}

// source says which source a call is from, and counts those that one source does not have.
func (f *folder) source(o *Outline, c *Called) {
	c.transcript = c.transcript || f.seen[c.ID]
	switch {
	case c.hook && c.transcript:
		c.Source = "both"
	case c.hook:
		c.Source = "hook"
		if c.Ended != nil && f.readAt > c.Ended.UnixMilli() && o.Coverage.Lines > 0 {
			o.Coverage.OnlyHook++
		}
	default:
		c.Source = FromTranscript
		o.Coverage.OnlyTranscript++
	}
}

// All calls yield with each call, those of subagents after the one that started them.
func (o *Outline) All(yield func(*Turn, *Called)) {
	var walk func(t *Turn, calls []*Called)
	walk = func(t *Turn, calls []*Called) {
		for _, c := range calls {
			yield(t, c)
			walk(t, c.Calls)
		}
	}
	for _, t := range o.Turns {
		walk(t, t.Calls)
	}
}

// maxDepth bounds how deep subagents start others.
const maxDepth = 20

// Paths returns the files that a call names, relative to the workspace, as changes of files have them.
func (c *Called) Paths(workspace string) []string {
	var paths []string
	for _, f := range c.Files {
		p := filepath.FromSlash(event.PlainPath(f))
		if !filepath.IsAbs(p) {
			p = filepath.Join(c.dir, p)
		}
		if rel, err := filepath.Rel(workspace, p); err == nil && filepath.IsLocal(rel) {
			paths = append(paths, event.FilePath(filepath.ToSlash(rel)))
		}
	}
	return paths
}

// Title is a call in a few words on one line.
func (c *Called) Title() string {
	switch {
	case c.Command != "" && !c.Edits:
		return "$ " + c.Command
	case c.Command != "" && len(c.Files) > 0: // a patch as a command
		return "apply_patch " + strings.Join(c.Files, ", ")
	case len(c.Files) > 0:
		return c.Tool + " " + strings.Join(c.Files, ", ")
	}
	return cmp.Or(c.Tool, "call "+c.ID)
}
