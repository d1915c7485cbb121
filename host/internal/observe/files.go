package observe

import (
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
)

// Export is a named checkpoint, found as the client sees it, as a file.
func (e *Observer) Export(client *checkpoint.Client, name string) (*checkpoint.File, error) {
	c, err := e.named.Get(client.Scope.Key(), name)
	if err != nil {
		return nil, err
	}
	return checkpoint.Export(c, journalID(e.disk)), nil
}

// journalID names a disk's journal, "" without a disk.
func journalID(d Disk) string {
	if d == nil {
		return ""
	}
	return d.ID()
}

// foreign says whether what is compared with, nil for no file, is from another journal.
func (e *Observer) foreign(f *checkpoint.File) bool { return f != nil && !f.From(journalID(e.disk)) }

// Import makes an exported state a named checkpoint of the client's scope; name is another name for it,
// or "". Compared with it, what happens from now on is new; in the journal that it is from, what happened
// since it was made.
func (e *Observer) Import(ctx context.Context, client *checkpoint.Client, f *checkpoint.File, name string) (*CheckpointCreated, error) {
	if name == "" {
		name = f.Name
	}
	v := e.store.View(e.clock())
	m := e.momentOf(f, client.Scope, v, v.Now())
	old, err := e.named.Create(checkpoint.Checkpoint{Name: name, Note: f.Note, Scope: client.Scope.Key(), Moment: m})
	if err != nil {
		return nil, err
	}
	created := &CheckpointCreated{Name: name, At: diff.Time{Time: m.At}, Severity: diff.Clean, Unsaved: e.Save(ctx)}
	if old != nil {
		created.Replaced = &diff.Time{Time: old.At}
	}
	r := e.Compute(ctx, m, v, nil, e.rules.Of(client).Options(client.Scope))
	created.Severity, created.Summary = r.Severity, r.Summary
	return created, nil
}

// momentOf is the moment of a file in a view.
func (e *Observer) momentOf(f *checkpoint.File, scope checkpoint.Scope, v *capture.View, start capture.Moment) capture.Moment {
	var pages []string
	for _, t := range v.Tabs {
		if t.Watched && t.Origin != "" && scope.Covers(t.Origin) && !slices.Contains(pages, t.Origin) {
			pages = append(pages, t.Origin)
		}
	}
	// Its endpoints are numbered apart: what is only compared with shall not fill the store's index.
	return f.Moment(journalID(e.disk), start, pages, capture.NewIndex())
}
