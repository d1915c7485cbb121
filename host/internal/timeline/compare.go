package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// agentText bounds the text of a difference for an agent, in bytes.
const agentText = 16 << 10

// DiffParams are the parameters of timeline_diff.
type DiffParams struct {
	moments.Where
	From string `json:"from"`
	// To is a moment too, "" for now.
	To    string   `json:"to"`
	Paths []string `json:"paths"`
	// Secrets shows files that look like secrets, Exact neither masks nor escapes, Whole has no limits. They are for the
	// user's own programs.
	Secrets bool `json:"secrets"`
	Exact   bool `json:"exact"`
	Whole   bool `json:"whole"`
	// nearest takes the last snapshot before a moment that has none.
	nearest bool
}

// Diff compares the files of two moments.
func (t *Timeline) Diff(ctx context.Context, client *checkpoint.Client, p DiffParams) (*answers.Difference, error) {
	if (p.Secrets || p.Exact || p.Whole) && !client.User {
		return nil, usererr.Invalid("secrets, exact and whole are for the user's own programs: `tidemark timeline diff`")
	}
	s, l, err := t.lines.RecordedBy(client, p.Where, len(p.Paths) > 0, []*string{&p.From, &p.To})
	if err != nil {
		return nil, err
	}
	locate := t.lines.LocateItself
	if p.nearest {
		locate = t.lines.Locate
	}
	from, err := locate(ctx, client, s, l, p.From)
	if err != nil {
		return nil, err
	}
	if p.To == "" {
		p.To = "now"
	}
	to, err := locate(ctx, client, s, l, p.To)
	if err != nil {
		return nil, err
	}
	w, err := t.lines.OpenRecorded(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	options := compare.Options{Paths: p.Paths, Known: true, Secrets: p.Secrets, Exact: p.Exact, Binary: p.Exact, MaskPaths: true}
	if !client.User {
		options.MaxBytes = agentText
	}
	if p.Whole {
		options.MaxFiles, options.MaxLines, options.MaxBytes, options.MaxFileLines, options.MaxLineBytes = -1, -1, -1, -1, -1
	}
	d, err := w.Diff(ctx, from.Snapshot.Number, to.Snapshot.Number, options)
	if err != nil {
		return nil, err
	}
	a := &answers.Difference{
		SessionID: s.ID, From: endOf(from), To: endOf(to), Files: []answers.FileChanged{}, Added: d.Added, Removed: d.Removed, Touched: d.Touched,
		LeftOut: d.LeftOut, Masked: d.Masked, Applies: d.Applies, Problem: moments.Former(w),
	}
	if p.Exact {
		a.Patch = []byte(d.Text())
	} else {
		a.Text = d.Text()
	}
	for _, f := range d.Files {
		c := answers.FileChanged{Path: compare.Quote(f.Path), Change: f.Change, Added: f.Added, Removed: f.Removed, Counted: f.Counted, Why: compare.WhyHidden(&f)}
		if f.OldPath != "" {
			c.OldPath = compare.Quote(f.OldPath)
		}
		a.Files = append(a.Files, c)
	}
	return a, nil
}

func endOf(p *moments.Place) answers.Ends {
	e := answers.Ends{FsSnapshot: records.SnapshotID(p.Snapshot.Number), At: report.Time{Time: p.Snapshot.At}, Note: p.Note}
	if p.Moment != nil {
		e.Moment = p.Moment.ID()
	}
	if len(p.Snapshot.Problems) > 0 {
		e.Note = strings.TrimSpace(fmt.Sprintf("%s In %s, %s.", e.Note, e.FsSnapshot, moments.Uncertain(p.Snapshot.Problems)))
	}
	return e
}

// BlameParams are the parameters of timeline_blame.
type BlameParams struct {
	moments.Where
	Path string `json:"path"`
	// Line is the first line, Last the last one; 0 is that of Line. Without both, it is the whole file.
	Line int `json:"line"`
	Last int `json:"last"`
	// At is the moment whose file is meant, "" for now.
	At      string `json:"at"`
	Secrets bool   `json:"secrets"`
}

// Made names the agent's call that made each of some changes of files, and the beginning of the prompt behind it, "" where
// that is not known. A change has its workspace, path, snapshot and the times that bound it.
type Made func(ctx context.Context, changes []event.FileChange) (calls, prompts []string)

// SetMade has blame name calls. It is called before the timeline is used.
func SetMade(t *Timeline, made Made) { t.made = made }

// Blame finds which moment last changed the lines of a file.
func (t *Timeline) Blame(ctx context.Context, client *checkpoint.Client, p BlameParams) (*answers.Blamed, error) {
	if p.Secrets && !client.User {
		return nil, usererr.Invalid("secrets is for the user's own programs: `tidemark timeline blame`")
	}
	if p.Line < 1 && !client.User {
		return nil, usererr.Invalid("line is %d; the first line of a file is 1", p.Line)
	}
	s, l, err := t.lines.RecordedBy(client, p.Where, true, []*string{&p.At})
	if err != nil {
		return nil, err
	}
	if p.At == "" {
		p.At = "now"
	}
	at, err := t.lines.LocateItself(ctx, client, s, l, p.At)
	if err != nil {
		return nil, err
	}
	w, err := t.lines.OpenRecorded(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	b, err := w.Blame(ctx, p.Path, compare.BlameOptions{At: at.Snapshot.Number, First: p.Line, Last: p.Last, Secrets: p.Secrets})
	if hidden := (*compare.PathError)(nil); client.User && errors.As(err, &hidden) && hidden.Secret {
		return nil, usererr.New(hidden.Code(), "%s. Use --secrets to show it.", hidden)
	}
	if err != nil {
		return nil, err
	}
	a := &answers.Blamed{SessionID: s.ID, Path: compare.Quote(b.Path), Lines: []answers.BlamedLine{}, Stopped: b.Stopped, Problem: moments.Former(w)}
	origins := map[uint64]compare.Origin{}
	for _, o := range b.Origins {
		origins[o.Number] = o
	}
	first := moments.First(l.All())
	for _, m := range l.All() {
		if of := first[m.Snapshot]; of != m && workspace.Names(m.Label, b.Path) && !workspace.Names(of.Label, b.Path) { // the call of another agent, say
			first[m.Snapshot] = m
		}
	}
	for _, line := range b.Lines {
		c := answers.BlamedLine{Line: line.Line, Age: line.Age, Text: line.Text}
		if o, ok := origins[line.Snapshot]; ok {
			c.FsSnapshot, c.At, c.Label = records.SnapshotID(o.Number), report.Time{Time: o.At}, o.Label
			if m := first[o.Number]; m != nil && moments.Lost(m, map[uint64]tracked.Snapshot{o.Number: {Number: o.Number, At: o.At}}) == "" {
				c.Moment, c.Label = m.ID(), m.Label
			}
		}
		a.Lines = append(a.Lines, c)
	}
	nameCalls(ctx, t.made, a, s.Workspace, b)
	return a, nil
}

// maxBlamedCalls bounds the snapshots of which blame names the calls: the newest.
const maxBlamedCalls = 100

// nameCalls adds the calls to the answer of blame.
func nameCalls(ctx context.Context, made Made, a *answers.Blamed, workspace string, b *compare.Blame) {
	if made == nil {
		return
	}
	var calls []answers.BlamedCall
	var changes []event.FileChange
	for _, o := range b.Origins[:min(len(b.Origins), maxBlamedCalls)] {
		i := slices.IndexFunc(b.Lines, func(l compare.BlameLine) bool { return l.Snapshot == o.Number })
		if i < 0 {
			continue
		}
		calls = append(calls, answers.BlamedCall{Moment: a.Lines[i].Moment, FsSnapshot: records.SnapshotID(o.Number)})
		changes = append(changes, event.FileChange{
			Head: event.Head{At: o.At.UnixMilli(), Subject: event.InWorkspace(workspace)}, Path: event.FilePath(b.Lines[i].Path), Snapshot: o.Number,
			Since: o.Since.UnixMilli(),
		})
	}
	names, prompts := made(ctx, changes)
	for i, c := range calls {
		if c.Call, c.Prompt = names[i], prompts[i]; c.Call != "" {
			a.Calls = append(a.Calls, c)
		}
	}
}
