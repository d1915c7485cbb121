package observe

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// CheckpointParams are the arguments of checkpoint_create.
type CheckpointParams struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
}

// CheckpointCreated answers checkpoint_create.
type CheckpointCreated struct {
	Name string    `json:"name"`
	At   diff.Time `json:"at"`
	// Replaced is the time of the one of the same name that was replaced.
	Replaced *diff.Time `json:"replaced,omitempty"`
	// Severity is that of the time since the checkpoint before.
	Severity diff.Severity `json:"severity"`
	Summary  string        `json:"summary"`
	// Unsaved says why it is in memory only.
	Unsaved string `json:"unsaved,omitempty"`
}

// maxNote bounds a checkpoint's note, in characters.
const maxNote = 200

// CheckpointCreate makes a named checkpoint of this moment in the client's scope.
func (e *Observer) CheckpointCreate(ctx context.Context, client *checkpoint.Client, p CheckpointParams) (*CheckpointCreated, error) {
	if n := len([]rune(p.Note)); n > maxNote {
		return nil, usererr.Invalid("the note has %d characters; at most %d are kept", n, maxNote)
	}
	v := e.store.View(e.clock())
	old, err := e.named.Create(checkpoint.Checkpoint{Name: p.Name, Note: p.Note, Scope: client.Scope.Key(), Moment: v.Now()})
	if err != nil {
		return nil, err
	}
	created := &CheckpointCreated{Name: p.Name, At: diff.Time{Time: v.At}}
	if old != nil {
		created.Replaced = &diff.Time{Time: old.At}
	}
	created.Unsaved = e.Save(ctx)
	e.notify()
	list := e.named.List(client.Scope.Key())
	for i, c := range list {
		if c.Name == p.Name && c.Scope == client.Scope.Key() {
			since := e.Since(client.Scope, 0, e.rules.Of(client), list, i, v)
			created.Severity, created.Summary = since.Severity, since.Summary
		}
	}
	return created, nil
}

// saveTimeout is how long an answer waits for the disk.
const saveTimeout = 5 * time.Second

// Save waits until the checkpoints are on disk, and says why they are not.
func (e *Observer) Save(ctx context.Context) string {
	if e.disk == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if err := e.disk.Sync(ctx); err != nil {
		return fmt.Sprintf("it is in memory only: %v", err)
	}
	return ""
}

// CheckpointLine is one checkpoint in checkpoint_list.
type CheckpointLine struct {
	Name string    `json:"name"`
	At   diff.Time `json:"at"`
	// Severity and Summary speak of the time since the checkpoint before it (for the first: since
	// Tidemark began). A span that was clean and observed has no summary.
	Severity diff.Severity `json:"severity"`
	Summary  string        `json:"summary,omitempty"`
	Note     string        `json:"note,omitempty"`
	// Scope is there when it is not the client's own.
	Scope string `json:"scope,omitempty"`
}

// CheckpointList answers checkpoint_list.
type CheckpointList struct {
	Checkpoints []CheckpointLine `json:"checkpoints"`
}

// CheckpointList lists the checkpoints that the client sees, oldest first.
func (e *Observer) CheckpointList(client *checkpoint.Client) *CheckpointList {
	v := e.store.View(e.clock())
	list, rules := e.named.List(client.Scope.Key()), e.rules.Of(client)
	out := &CheckpointList{Checkpoints: []CheckpointLine{}}
	for i, c := range list {
		line := CheckpointLine{Name: c.Name, At: diff.Time{Time: c.At}, Note: c.Note}
		if c.Scope != client.Scope.Key() {
			line.Scope = c.Scope
			if c.Scope == "" {
				line.Scope = "all"
			}
		}
		since := e.Since(client.Scope, 0, rules, list, i, v)
		line.Severity, line.Summary = since.Severity, since.Summary
		if line.Severity == diff.Clean && !since.NotObserved { // clean, and observed to be
			line.Summary = ""
		}
		out.Checkpoints = append(out.Checkpoints, line)
	}
	return out
}

// Since is the time from the checkpoint before list[i] to list[i], in one tab or in all (0). It is read once,
// whoever asks for it meanwhile: it may have to be read from the disk.
func (e *Observer) Since(scope checkpoint.Scope, tab int, u *noiserules.InUse, list []checkpoint.Checkpoint, i int, v *capture.View) Span {
	k := spanKey{scope: scope.Key(), tab: tab, to: list[i].At}
	if i > 0 {
		k.from = list[i-1].At
	}
	read, _ := u.Spans.LoadOrStore(k, sync.OnceValue(func() Span {
		from := v.Start()
		o := u.Options(scope)
		o.Tab = tab
		if o.Beginning = i == 0; i > 0 {
			from = list[i-1].Moment
		}
		return SpanOf(e.Compute(context.Background(), from, v, &list[i].Moment, o))
	}))
	return read.(func() Span)()
}

// Span is what happened between two checkpoints: it does not change any more.
type Span struct {
	Severity         diff.Severity
	Summary          string
	Errors, Warnings int
	NotObserved      bool
}

// SpanOf is the span that a report is about.
func SpanOf(r *diff.Report) Span {
	return Span{r.Severity, r.Summary, r.Errors, r.Warnings, r.Coverage != nil}
}

// spanKey says which span: from is zero for the one before the first checkpoint.
type spanKey struct {
	scope    string
	tab      int
	from, to time.Time
}

// Compute reports on the time from a moment to another, or until now (nil). Where the buffers do not reach
// back, what was kept on disk is read too.
func (e *Observer) Compute(ctx context.Context, from capture.Moment, v *capture.View, until *capture.Moment, o diff.Options) *diff.Report {
	v, past := e.reach(ctx, from, v, o.Beginning)
	defer past.Close()
	return past.report(from, v, until, o)
}

// CheckpointDeleteParams are the arguments of checkpoint_delete.
type CheckpointDeleteParams struct {
	Name string `json:"name"`
}

// CheckpointDeleted answers checkpoint_delete.
type CheckpointDeleted struct {
	Deleted string    `json:"deleted"`
	At      diff.Time `json:"at"`
	// Unsaved says why the disk still has it.
	Unsaved string `json:"unsaved,omitempty"`
}

// CheckpointDelete deletes a named checkpoint.
func (e *Observer) CheckpointDelete(ctx context.Context, client *checkpoint.Client, p CheckpointDeleteParams) (*CheckpointDeleted, error) {
	if p.Name == "" {
		return nil, usererr.Invalid("name is missing: which checkpoint shall be deleted? checkpoint_list lists them")
	}
	c, err := e.named.Delete(client.Scope.Key(), p.Name)
	if err != nil {
		return nil, err
	}
	e.notify()
	return &CheckpointDeleted{Deleted: c.Name, At: diff.Time{Time: c.At}, Unsaved: e.Save(ctx)}, nil
}

// Moment finds a moment by its name: a checkpoint's, a time, [Now] or [checkpoint.Start].
func (e *Observer) Moment(ctx context.Context, scope checkpoint.Scope, name string, v *capture.View) (capture.Moment, error) {
	switch name = strings.TrimSpace(name); {
	case name == Now:
		return v.Now(), nil
	case name == checkpoint.Start:
		return v.Start(), nil
	case checkpoint.LooksLikeTime(name):
		t, err := checkpoint.ParseTime(name, e.location)
		if err != nil {
			return capture.Moment{}, usererr.Invalid("%s", err.Error())
		}
		if t.After(v.At) {
			return capture.Moment{}, usererr.Invalid("the time %s is in the future; it is %s now", diff.Time{Time: t}, diff.Time{Time: v.At})
		}
		if v.HoldsTime(t.UnixMilli()) {
			return v.MomentAt(t), nil
		}
		deep, past := e.Behind(ctx, v)
		defer past.Close()
		return deep.MomentAt(t), nil
	}
	c, err := e.named.Get(scope.Key(), name)
	if err != nil {
		return capture.Moment{}, err
	}
	return c.Moment, nil
}
