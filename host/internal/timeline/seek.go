package timeline

import (
	"context"
	"fmt"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// AddParams are the parameters of moment_add.
type AddParams struct {
	Where
	Label string `json:"label"`
}

// Added is a moment that was added.
type Added struct {
	SessionID string `json:"sessionId"`
	ListMoment
}

// Add adds a moment with a snapshot of the present state.
func (t *Timeline) Add(ctx context.Context, client *checkpoint.Client, p AddParams) (*Added, error) {
	dir, err := p.workspaceOf(client)
	if err != nil {
		return nil, err
	}
	if p.Session != "" {
		s, _, err := t.sessionOf(client, p.Where)
		if err != nil {
			return nil, err
		}
		if !s.Ended.IsZero() {
			return nil, usererr.New(usererr.NotFound, "session %s has ended", s.ID)
		}
		dir = s.Workspace
	} else if dir == "" {
		return nil, errNoWorkspace
	}
	if t.o.label(p.Label) == "" {
		return nil, usererr.Invalid("label is empty. Say what this moment is, in a few words.")
	}
	source := FromAgent
	if client.User {
		source = FromUser
	}
	m, err := t.Record(ctx, dir, Moment{Label: p.Label, Kind: Manual, Source: source})
	if err != nil {
		return nil, err
	}
	s, err := t.sessions.find(m.Session)
	if err != nil {
		return nil, err
	}
	known, err := t.snapshots(ctx, s.Workspace)
	if err != nil && m.Snapshot != 0 {
		return nil, err
	}
	return &Added{SessionID: s.ID, ListMoment: m.listed(s, known)}, nil
}

// SeekParams are the parameters of timeline_seek.
type SeekParams struct {
	Where
	To string `json:"to"`
}

// Sought is the place that was sought, with a read-only directory of its files.
type Sought struct {
	SessionID string `json:"sessionId"`
	// TS and At are when the snapshot was complete.
	TS         float64   `json:"ts"`
	At         diff.Time `json:"at"`
	Moment     string    `json:"moment,omitempty"`
	Label      string    `json:"label,omitempty"`
	FsSnapshot string    `json:"fsSnapshotId"`
	Provider   string    `json:"provider"`
	// Mount is the directory. It is removed an hour after it was last asked for.
	Mount string `json:"mount"`
	// Note says how the snapshot differs from what was asked for.
	Note string `json:"note,omitempty"`
	// Notes are the paths whose state is not certain.
	Notes []string `json:"notes,omitempty"`
}

// Seek makes a read-only view of a moment's files.
func (t *Timeline) Seek(ctx context.Context, client *checkpoint.Client, p SeekParams) (*Sought, error) {
	s, l, err := t.sessionOf(client, p.Where)
	if err != nil {
		return nil, err
	}
	place, err := t.locate(ctx, client, s, l, p.To)
	if err != nil {
		return nil, err
	}
	w, err := t.open(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	k := place.Snapshot
	view, err := w.View(ctx, k.Number)
	if err != nil {
		return nil, fmt.Errorf("cannot make a view of %s: %w", snapshotID(k.Number), err)
	}
	a := &Sought{
		SessionID: s.ID, TS: seconds(s, k.At), At: diff.Time{Time: k.At}, FsSnapshot: snapshotID(k.Number), Provider: workspace.Provider, Mount: view,
		Note: place.Note, Notes: k.Problems,
	}
	if m := place.Moment; m != nil {
		a.Moment, a.Label = m.ID(), m.Label
	}
	return a, nil
}
