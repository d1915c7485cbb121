package observe

import (
	"context"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Export returns a named checkpoint, as the client sees it, in the form of a file. A moment of the timeline, such as m3, gets a name
// that a checkpoint can have: moment_m3.
func (o *Observer) Export(ctx context.Context, client *checkpoint.Client, name string) (*checkpoint.File, error) {
	c, err := o.named.Get(client.Scope.Key(), name)
	if at, ok, missing := o.moments.When(client, name); err != nil && ok && !at.IsZero() {
		v := o.store.View(o.clock())
		c.Name, _, _ = strings.Cut("moment_"+name, "@")
		c.Scope = client.Scope.Key()
		c.Moment, err = o.Moment(ctx, client, name, v)
	} else if err != nil && ok {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	return checkpoint.Export(c, journalID(o.disk)), nil
}

// journalID returns the id of a disk's journal, "" without a disk.
func journalID(d Disk) string {
	if d == nil {
		return ""
	}
	return d.ID()
}

// foreign says whether a file, which may be nil, is from another journal.
func (o *Observer) foreign(f *checkpoint.File) bool { return f != nil && !f.From(journalID(o.disk)) }

// Import turns an exported state into a named checkpoint in the client's scope. A non-empty name replaces the file's.
// In the journal that the file is from, changes count from when the file was made. Elsewhere they count from now.
func (o *Observer) Import(ctx context.Context, client *checkpoint.Client, f *checkpoint.File, name string) (*CheckpointCreated, error) {
	if name == "" {
		name = f.Name
	}
	v := o.store.View(o.clock())
	m := o.momentOf(f, client.Scope, v, v.Now())
	c, err := o.named.Create(checkpoint.Checkpoint{Name: name, Note: f.Note, Scope: client.Scope.Key(), Call: tool.CallOf(ctx), Moment: m})
	if err != nil {
		return nil, err
	}
	created := &CheckpointCreated{Name: name, At: report.Time{Time: c.At}, Severity: report.Clean, Unsaved: o.Save(ctx)}
	if !c.Replaced.IsZero() {
		created.Replaced = &report.Time{Time: c.Replaced}
	}
	o.notify()
	if o.moments != nil {
		o.moments.Checkpoint(ctx, client, name, c.At)
	}
	options := o.rules.Of(client).Options(client.Scope)
	options.Standing = true
	r := o.Compute(ctx, c.Moment, v, nil, options)
	created.Severity, created.Summary = r.Severity, r.Summary
	return created, nil
}

// momentOf returns the moment of a file in a view.
func (o *Observer) momentOf(f *checkpoint.File, scope checkpoint.Scope, v *capture.View, start capture.Moment) capture.Moment {
	var pages []string
	for _, t := range v.Tabs {
		if t.Watched && t.Origin != "" && scope.CoversOrigin(t.Origin) && !slices.Contains(pages, t.Origin) {
			pages = append(pages, t.Origin)
		}
	}
	// A separate index: an import that is only compared with must not fill the store's.
	return f.Moment(journalID(o.disk), start, pages, capture.NewIndex())
}
