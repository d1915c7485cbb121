package observe

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe/edited"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/window"
)

// CheckpointParams are the arguments of checkpoint_create.
type CheckpointParams struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
}

// CheckpointCreated answers checkpoint_create.
type CheckpointCreated struct {
	Name string      `json:"name"`
	At   report.Time `json:"at"`
	// Replaced is the time of the checkpoint with the same name that was replaced.
	Replaced *report.Time `json:"replaced,omitempty"`
	// Severity covers the time since the checkpoint before.
	Severity report.Severity `json:"severity"`
	Summary  string          `json:"summary"`
	// Unsaved says why the checkpoint is in memory only.
	Unsaved string `json:"unsaved,omitempty"`
	// Unrecorded says why changes of files that were made before the checkpoint may count as later ones.
	Unrecorded string `json:"unrecorded,omitempty"`
}

// maxNote bounds a checkpoint's note, in characters.
const maxNote = 200

var checkpointCreateTool = tool.New(tool.Definition{
	Name: "checkpoint_create", Title: "Create checkpoint", Effect: tool.Creates,
	Description: "Name this moment to compare with later. Replaces a checkpoint of the same name.",
	Arguments: `
		"name":{"type":"string","maxLength":50,"pattern":"^[a-z][a-z0-9_]*$","description":"such as session_start, before_refactor; no date or time"},
		"note":{"type":"string","maxLength":200}`,
	Required: []string{"name"},
}, (*Observer).CheckpointCreate)

// CheckpointCreate makes a named checkpoint of this moment in the client's scope.
func (o *Observer) CheckpointCreate(ctx context.Context, client *checkpoint.Client, p CheckpointParams) (*CheckpointCreated, error) {
	if n := len([]rune(p.Note)); n > maxNote {
		return nil, usererr.Invalid("the note has %d characters; at most %d are allowed", n, maxNote)
	}
	_, unrecorded := o.recordFiles(ctx, client.Scope.Workspace)
	v := o.store.View(o.clock())
	c, err := o.named.Create(checkpoint.Checkpoint{Name: p.Name, Note: p.Note, Scope: client.Scope.Key(), Call: tool.CallOf(ctx), Moment: v.Now()})
	if err != nil {
		return nil, err
	}
	created := &CheckpointCreated{Name: p.Name, At: report.Time{Time: c.At}}
	if unrecorded != "" {
		created.Unrecorded = "changes of files before it may count as later ones: " + unrecorded
	}
	if !c.Replaced.IsZero() {
		created.Replaced = &report.Time{Time: c.Replaced}
	}
	created.Unsaved = o.Save(ctx)
	o.notify()
	if o.moments != nil {
		o.moments.Checkpoint(ctx, client, p.Name, c.At)
	}
	list := o.named.List(client.Scope.Key())
	for i, c := range list {
		if c.Name == p.Name && c.Scope == client.Scope.Key() {
			since := o.Since(client.Scope, 0, o.rules.Of(client), list, i, v)
			created.Severity, created.Summary = since.Severity, since.Summary
		}
	}
	return created, nil
}

// saveTimeout bounds how long an answer waits for the disk.
const saveTimeout = 5 * time.Second

// Save waits until the checkpoints are on disk. It returns why they are not, or "".
func (o *Observer) Save(ctx context.Context) string {
	if o.disk == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if err := o.disk.Sync(ctx); err != nil {
		return fmt.Sprintf("it is in memory only: %v", err)
	}
	return ""
}

// CheckpointLine is one checkpoint in checkpoint_list.
type CheckpointLine struct {
	Name string      `json:"name"`
	At   report.Time `json:"at"`
	// Severity and Summary cover the time since the previous checkpoint, or since Tidemark started for the first one.
	// A clean, fully observed span has no summary.
	Severity report.Severity `json:"severity"`
	Summary  string          `json:"summary,omitempty"`
	Note     string          `json:"note,omitempty"`
	// Scope is set when it is not the client's own.
	Scope string `json:"scope,omitempty"`
}

// CheckpointList answers checkpoint_list.
type CheckpointList struct {
	Checkpoints []CheckpointLine `json:"checkpoints"`
}

var checkpointListTool = tool.New(tool.Definition{
	Name: "checkpoint_list", Title: "List checkpoints", Effect: tool.Reads,
	Description: "List checkpoints, oldest first, each with the severity since the previous one.",
}, func(o *Observer, _ context.Context, c *checkpoint.Client, _ struct{}) (*CheckpointList, error) {
	return o.CheckpointList(c), nil
})

// CheckpointList lists the checkpoints that the client sees, oldest first.
func (o *Observer) CheckpointList(client *checkpoint.Client) *CheckpointList {
	v := o.store.View(o.clock())
	list, rules := o.named.List(client.Scope.Key()), o.rules.Of(client)
	out := &CheckpointList{Checkpoints: []CheckpointLine{}}
	for i, c := range list {
		line := CheckpointLine{Name: c.Name, At: report.Time{Time: c.At}, Note: c.Note}
		if c.Scope != client.Scope.Key() {
			line.Scope = c.Scope
			if c.Scope == "" {
				line.Scope = "all"
			}
		}
		since := o.Since(client.Scope, 0, rules, list, i, v)
		line.Severity, line.Summary = since.Severity, since.Summary
		if line.Severity == report.Clean && !since.NotObserved { // clean and fully observed
			line.Summary = ""
		}
		out.Checkpoints = append(out.Checkpoints, line)
	}
	return out
}

// Since summarizes the time from the previous checkpoint to list[i], in one tab or in all (0). Concurrent callers
// share one computation, because it may have to read the disk.
func (o *Observer) Since(scope checkpoint.Scope, tab int, u *noiserules.InUse, list []checkpoint.Checkpoint, i int, v *capture.View) Span {
	k := spanKey{scope: scope.Key(), tab: tab, to: list[i].At}
	if i > 0 {
		k.from = list[i-1].At
	}
	read, _ := u.Spans.LoadOrStore(k, sync.OnceValue(func() Span {
		from := v.Start()
		options := u.Options(scope)
		options.Tab, options.Standing = tab, true
		if options.Beginning = i == 0; i > 0 {
			from = list[i-1].Moment
		}
		return SpanOf(o.Compute(context.Background(), from, v, &list[i].Moment, options))
	}))
	return read.(func() Span)()
}

// Span summarizes the time between two checkpoints. It never changes.
type Span struct {
	Severity         report.Severity
	Summary          string
	Errors, Warnings int
	NotObserved      bool
}

// SpanOf returns the span that a report covers.
func SpanOf(r *report.Report) Span {
	return Span{r.Severity, r.Summary, r.Errors, r.Warnings, r.Coverage != nil}
}

// spanKey identifies a span. A zero from means the span before the first checkpoint.
type spanKey struct {
	scope    string
	tab      int
	from, to time.Time
}

// Compute reports on the time from one moment to another, or to now (nil). Where the buffers are too short, it reads
// the disk too.
func (o *Observer) Compute(ctx context.Context, from capture.Moment, v *capture.View, until *capture.Moment, options window.Options) *report.Report {
	v, past := o.reach(ctx, from, v, options.Beginning)
	defer past.Close()
	return past.Report(from, v, until, options)
}

// CheckpointDeleteParams are the arguments of checkpoint_delete.
type CheckpointDeleteParams struct {
	Name string `json:"name"`
}

// CheckpointDeleted answers checkpoint_delete.
type CheckpointDeleted struct {
	Deleted string      `json:"deleted"`
	At      report.Time `json:"at"`
	// Unsaved says why the checkpoint is still on disk.
	Unsaved string `json:"unsaved,omitempty"`
}

var checkpointDeleteTool = tool.New(tool.Definition{
	Name: "checkpoint_delete", Title: "Delete checkpoint", Effect: tool.Destroys,
	Description: "Delete a named checkpoint.",
	Arguments:   `"name":{"type":"string"}`,
	Required:    []string{"name"},
}, (*Observer).CheckpointDelete)

// CheckpointDelete deletes a named checkpoint.
func (o *Observer) CheckpointDelete(ctx context.Context, client *checkpoint.Client, p CheckpointDeleteParams) (*CheckpointDeleted, error) {
	if p.Name == "" {
		return nil, usererr.Invalid("name is missing. Pass a name from checkpoint_list.")
	}
	c, err := o.named.Delete(client.Scope.Key(), p.Name)
	if err != nil {
		return nil, err
	}
	o.notify()
	return &CheckpointDeleted{Deleted: c.Name, At: report.Time{Time: c.At}, Unsaved: o.Save(ctx)}, nil
}

// Rename gives a checkpoint another name.
func (o *Observer) Rename(scope checkpoint.Scope, name, to string) error {
	c, err := o.named.Get(scope.Key(), name)
	if err != nil {
		return err
	}
	if err := o.named.Rename(scope.Key(), name, to); err != nil {
		return err
	}
	o.notify()
	if o.moments != nil {
		o.moments.Renamed(c.Name, to, c.At)
	}
	return nil
}

// timeOf returns the time that a name means: one that looks like a time, or a moment of the timeline. It is zero for
// other names. now is the latest time that there is.
func (o *Observer) timeOf(client *checkpoint.Client, name string, now time.Time) (t time.Time, err error) {
	if checkpoint.LooksLikeTime(name) {
		if t, err = checkpoint.ParseTime(name, o.location); err != nil {
			if at, ok, _ := o.moments.When(client, name); ok && !at.After(now) { // a time as commands print it
				return at, nil
			}
			return t, usererr.Invalid("%s", err.Error())
		}
		if t.After(now) {
			return t, usererr.Invalid("the time %s is in the future; it is now %s", report.Time{Time: t}, report.Time{Time: now})
		}
		return t, nil
	}
	// A state check seldom names any. Checkpoints of another version could have such names.
	if _, err := o.named.Get(client.Scope.Key(), name); name == "" || err == nil {
		return t, nil
	}
	if t, _, err = o.moments.When(client, name); t.After(now) {
		t = now // the system's clock was set back
	}
	return t, err
}

// Edited is [edited.Workspace].
func Edited(o *Observer, client *checkpoint.Client, names ...string) (workspace string, inside bool) {
	return edited.Workspace(o.moments, client, names...)
}

// Moment finds a moment by name: a checkpoint, a time, a moment of the timeline, [Now] or [checkpoint.Start].
func (o *Observer) Moment(ctx context.Context, client *checkpoint.Client, name string, v *capture.View) (capture.Moment, error) {
	switch name = strings.TrimSpace(name); name {
	case Now:
		return v.Now(), nil
	case checkpoint.Start, checkpoint.Buffers:
		return v.Start(), nil
	}
	t, err := o.timeOf(client, name, v.At)
	if err != nil {
		return capture.Moment{}, err
	}
	if !t.IsZero() {
		if v.HoldsTime(t.UnixMilli()) {
			return v.MomentAt(t), nil
		}
		deep, past := o.Behind(ctx, v)
		defer past.Close()
		return deep.MomentAt(t), nil
	}
	c, err := o.named.Get(client.Scope.Key(), name)
	if err != nil {
		return capture.Moment{}, err
	}
	return c.Moment, nil
}
