// Package sessiontree shows a session of the timeline as a tree: prompts, the calls that followed, and for each call the files
// that it changed and what the browser reported after it.
//
// It guarantees: each moment of an agent and each recorded change of a file in the session is in the tree once. A change is
// below the call that made it, if that is known. Where several calls may have made it, it says so.
package sessiontree

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Finder makes trees.
type Finder struct {
	Timeline      *timeline.Timeline
	Conversations *conversation.Store
	Store         *capture.Store
	Rules         *noiserules.Rules
	Observer      *observe.Observer
	Clock         func() time.Time
}

// UserTools are those of the user's own programs.
var UserTools = []*tool.Tool[*Finder]{tool.New(tool.Definition{Name: "timeline_show"}, (*Finder).Show)}

// Params are the parameters of timeline_show.
type Params struct{ moments.Where }

// maxJudged bounds the calls after which the browser's report is computed: the newest.
const maxJudged = 200

// Show returns the tree of a session.
func (f *Finder) Show(ctx context.Context, client *checkpoint.Client, p Params) (*Tree, error) {
	return f.tree(ctx, client, p.Where, maxJudged)
}

func (f *Finder) tree(ctx context.Context, client *checkpoint.Client, where moments.Where, judged int) (*Tree, error) {
	list, err := f.moments(ctx, client, where)
	if err != nil {
		return nil, err
	}
	t := &Tree{About: list.About, Turns: []*Turn{}}
	from, to := list.Started.Time, f.Clock()
	if list.Ended != nil {
		to = list.Ended.Time
	}
	places := append([]string{list.Workspace}, list.Formerly...)
	var outlines []*conversation.Outline
	for _, place := range places {
		outlines = append(outlines, f.Conversations.Outlines(place, from.UnixMilli(), to.UnixMilli())...)
	}
	b := &builder{tree: t, calls: map[string]*Call{}}
	for _, o := range outlines {
		b.addConversation(o, from, to)
	}
	b.addMoments(list.Moments)
	b.sort()
	f.changes(ctx, places, from, to, func(e *event.FileChange) { b.addFile(e, outlines) })
	f.judge(ctx, client, list.Workspace, b, to, judged)
	return t, nil
}

// changes calls each with the recorded changes of files in a workspace and a span of time. places are the workspace's
// directory, and those where it was before.
func (f *Finder) changes(ctx context.Context, places []string, from, to time.Time, each func(*event.FileChange)) {
	v := f.Store.View(f.Clock())
	var read *observe.Reading
	if !v.HoldsTime(from.UnixMilli()) {
		v, read = f.Observer.Behind(ctx, v)
	}
	defer read.Close()
	for _, e := range v.Files().From(v.MomentAt(from).Pos[capture.Files]) {
		if slices.Contains(places, e.Place) && e.At <= to.UnixMilli() {
			each(e)
		}
	}
}

// moments returns all moments of a session.
func (f *Finder) moments(ctx context.Context, client *checkpoint.Client, where moments.Where) (*answers.List, error) {
	p := timeline.ListParams{Where: where, After: "m0", Limit: 1000}
	list, err := f.Timeline.List(ctx, client, p)
	for next := list; err == nil && next.Next != ""; {
		p.Where, p.After = moments.Where{Session: list.ID}, next.Next
		if next, err = f.Timeline.List(ctx, client, p); err == nil {
			list.Moments = append(list.Moments, next.Moments...)
		}
	}
	return list, err
}

// builder puts a tree together.
type builder struct {
	tree *Tree
	// calls are those with an ID, by agent session and ID.
	calls map[string]*Call
	// all are the calls in their order, those of subagents too.
	all []*Call
	// moments are the snapshots' first moments of calls.
	moments map[string]*Call
}

func key(session, call string) string { return session + "\x00" + call }

// addConversation adds the part of a conversation that is in the session.
func (b *builder) addConversation(o *conversation.Outline, from, to time.Time) {
	b.tree.Recordings = append(b.tree.Recordings, Recording{o.ID, o.Agent, o.Coverage})
	for _, turn := range o.Turns {
		if turn.At.After(to) || turn.At.Before(from) && len(turn.Calls) == 0 {
			continue
		}
		t := &Turn{Agent: o.Agent, Recording: o.ID, At: turn.At, Prompt: turn.Prompt, Ended: turn.Ended, Said: turn.Said, Calls: b.add(o, turn.Calls), id: turn.ID, event: turn.Event, session: o.Session}
		b.tree.Turns = append(b.tree.Turns, t)
	}
}

func (b *builder) add(o *conversation.Outline, calls []*conversation.Called) []*Call {
	list := []*Call{}
	for _, c := range calls {
		call := &Call{ID: c.ID, Title: c.Title(), At: c.Started, DurationMs: c.DurationMs, Outcome: c.Outcome, Source: c.Source, ended: c.Started.Time}
		if c.Ended != nil {
			call.ended = c.Ended.Time
		}
		b.calls[key(o.Session, c.ID)] = call
		b.all = append(b.all, call)
		call.Calls = b.add(o, c.Calls)
		list = append(list, call)
	}
	return list
}

// addMoments adds the moments of agents: their numbers to what is recorded, and else a call or a turn of their own.
func (b *builder) addMoments(moments []answers.ListMoment) {
	b.moments = map[string]*Call{}
	for i := range moments {
		m := &moments[i]
		if m.Anchor == nil {
			continue
		}
		call := b.calls[key(m.Anchor.Session, m.Anchor.Message)]
		switch {
		case m.Source == records.FromStart, m.Source == records.FromStop:
			continue
		case m.Source == records.FromPrompt:
			b.addPrompt(m)
			continue
		case m.Anchor.Message == "" || call == nil:
			call = &Call{ID: m.Anchor.Message, Title: m.Label, At: m.At, ended: m.At.Time}
			b.all = append(b.all, call)
			t := b.turnAt(m)
			t.Calls = append(t.Calls, call)
		}
		if call.Moment = cmp.Or(call.Moment, m.ID); m.FsSnapshot != false {
			if id, ok := m.FsSnapshot.(string); ok && b.moments[id] == nil {
				b.moments[id] = call
			}
		}
	}
}

// near is how far a prompt's hook and its moment may be apart.
const near = 2 * time.Second

func (b *builder) addPrompt(m *answers.ListMoment) {
	for _, t := range b.tree.Turns { // it may have been recorded long after the prompt
		if m.Event != "" && t.event == string(conversation.Prompt)+":"+m.Event && t.Moment == "" {
			t.Moment = m.ID
			return
		}
	}
	for _, t := range b.tree.Turns {
		if t.session == m.Anchor.Session && t.Moment == "" && (t.id != "" && t.id == m.Anchor.Turn || t.At.Sub(m.At.Time).Abs() < near) {
			t.Moment = m.ID
			return
		}
	}
	b.tree.Turns = append(b.tree.Turns, &Turn{Agent: m.Anchor.Agent, At: m.At, Moment: m.ID, Calls: []*Call{}, id: m.Anchor.Turn, session: m.Anchor.Session})
}

// turnAt returns the turn of a moment: of its agent, the last one that began before.
func (b *builder) turnAt(m *answers.ListMoment) *Turn {
	var last *Turn
	for _, t := range b.tree.Turns {
		if t.session == m.Anchor.Session && !t.At.After(m.At.Time) && (last == nil || t.At.After(last.At.Time)) {
			last = t
		}
	}
	if last == nil {
		last = &Turn{Agent: m.Anchor.Agent, At: m.At, Calls: []*Call{}, session: m.Anchor.Session}
		b.tree.Turns = append(b.tree.Turns, last)
	}
	return last
}

func (b *builder) sort() {
	slices.SortStableFunc(b.tree.Turns, func(x, y *Turn) int { return x.At.Compare(y.At.Time) })
	for _, t := range b.tree.Turns {
		slices.SortStableFunc(t.Calls, func(x, y *Call) int { return x.At.Compare(y.At.Time) })
	}
	slices.SortStableFunc(b.all, func(x, y *Call) int { return x.ended.Compare(y.ended) })
}

// addFile adds a change below the call that made it. Without a recorded call, that is the one of the snapshot's moment.
func (b *builder) addFile(e *event.FileChange, outlines []*conversation.Outline) {
	file := File{Path: e.Path, From: e.From, Change: e.Change, FsSnapshot: fmt.Sprintf("s%d", e.Snapshot)}
	if e.Since != 0 {
		file.Since = &report.Time{Time: time.UnixMilli(e.Since)}
	}
	if e.Counted {
		file.Added, file.Removed = e.Added, e.Removed
	}
	var makers []*Call
	for _, m := range conversation.MakersOf(outlines, e) {
		if call := b.calls[key(m.Outline.Session, m.Call.ID)]; call != nil {
			makers = append(makers, call)
		}
	}
	if call := b.moments[file.FsSnapshot]; len(makers) == 0 && call != nil && (e.By == call.Title || strings.HasPrefix(e.By, call.Title)) {
		makers = []*Call{call}
	}
	switch len(makers) {
	case 0:
		b.tree.Files = append(b.tree.Files, file)
		return
	case 1:
	default:
		for _, c := range makers {
			file.OneOf = append(file.OneOf, c.ID)
		}
	}
	last := makers[len(makers)-1]
	last.Files = append(last.Files, file)
	if at := time.UnixMilli(e.Edited); e.Edited != 0 && (last.edited.IsZero() || at.Before(last.edited)) {
		last.edited = at
	}
}

// judge computes what the browser reported after the calls that changed files.
func (f *Finder) judge(ctx context.Context, client *checkpoint.Client, workspace string, b *builder, to time.Time, most int) {
	var edits []*Call
	for _, c := range b.all {
		if len(c.Files) > 0 {
			edits = append(edits, c)
		}
	}
	if n := len(edits) - most; n > 0 {
		b.tree.Note = "the browser's report is shown after the newest calls only"
		edits = edits[n:]
	}
	options := regression.OptionsIn(f.Timeline, f.Rules.Of(client), client, workspace)
	begun := make([]time.Time, len(edits)+1)
	for i, c := range edits {
		begun[i] = c.At.Time
		if !c.edited.IsZero() && c.edited.Before(begun[i]) {
			begun[i] = c.edited
		}
		if i > 0 && begun[i].Before(begun[i-1]) {
			begun[i] = begun[i-1]
		}
	}
	begun[len(edits)] = to
	for i, c := range edits {
		v := f.Store.View(f.Clock())
		end := v.MomentAt(begun[i+1])
		r := f.Observer.Compute(ctx, v.MomentAt(begun[i]), v, &end, options)
		if c.Severity = r.Severity; r.Severity != report.Clean || r.Coverage != nil {
			c.Summary = r.Summary
		}
	}
}
