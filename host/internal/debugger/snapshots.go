package debugger

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/variables"
)

// VariableSnapshotList is the answer of snapshot_list.
type VariableSnapshotList struct {
	Snapshots []VariableSnapshotLine `json:"snapshots"`
	Notes     []string               `json:"notes,omitempty"`
	tool.Quotes
}

// VariableSnapshotParam names a snapshot.
type VariableSnapshotParam struct {
	ID string `json:"id"`
}

// VariableSnapshotsRemoved is the answer of snapshot_delete and snapshot_clear.
type VariableSnapshotsRemoved struct {
	// Removed counts the removed snapshots, Left the remaining ones.
	Removed int `json:"removed"`
	Left    int `json:"left"`
}

var snapshotListTool = tool.New(tool.Definition{
	Name: "snapshot_list", Title: "List snapshots", Effect: tool.Reads,
	Description: "List the variable snapshots of this debug session.",
}, func(i *Inspector, ctx context.Context, c *checkpoint.Client, _ struct{}) (*VariableSnapshotList, error) {
	return i.SnapshotList(ctx, c), nil
})

// SnapshotList answers snapshot_list.
func (i *Inspector) SnapshotList(ctx context.Context, client *checkpoint.Client) *VariableSnapshotList {
	out := &VariableSnapshotList{Snapshots: []VariableSnapshotLine{}}
	books := i.books(ctx, client)
	for _, b := range books {
		tab := 0
		if len(books) > 1 {
			tab = b.target.Tab()
		}
		for _, s := range b.snapshots {
			out.Snapshots = append(out.Snapshots, snapshotLine(s, tab))
		}
		if b.warning != "" {
			out.Notes = append(out.Notes, b.warning)
		}
	}
	return out
}

var snapshotDeleteTool = tool.New(tool.Definition{
	Name: "snapshot_delete", Title: "Delete snapshot", Effect: tool.Destroys,
	Description: "Delete a variable snapshot.",
	Arguments:   `"id":{"type":"string"}`,
	Required:    []string{"id"},
}, (*Inspector).SnapshotDelete)

// SnapshotDelete answers snapshot_delete.
func (i *Inspector) SnapshotDelete(ctx context.Context, client *checkpoint.Client, p VariableSnapshotParam) (*VariableSnapshotsRemoved, error) {
	books := i.books(ctx, client)
	s, err := books.find(p.ID)
	if err != nil {
		return nil, usererr.Invalid("%s", err.Error())
	}
	return i.removeSnapshots(books, func(b *variables.Book) int {
		if _, err := b.Delete(s.ID); err != nil {
			return 0
		}
		return 1
	}), nil
}

var snapshotClearTool = tool.New(tool.Definition{
	Name: "snapshot_clear", Title: "Clear snapshots", Effect: tool.Destroys,
	Description: "Delete all variable snapshots.",
}, func(i *Inspector, ctx context.Context, c *checkpoint.Client, _ struct{}) (*VariableSnapshotsRemoved, error) {
	return i.SnapshotClear(ctx, c), nil
})

// SnapshotClear answers snapshot_clear.
func (i *Inspector) SnapshotClear(ctx context.Context, client *checkpoint.Client) *VariableSnapshotsRemoved {
	return i.removeSnapshots(i.books(ctx, client), (*variables.Book).Clear)
}

func (i *Inspector) removeSnapshots(books books, remove func(*variables.Book) int) *VariableSnapshotsRemoved {
	out := &VariableSnapshotsRemoved{}
	for _, b := range books {
		i.sessions.with(b.target, func(s *session) {
			if s.snapshots != nil && s.began == b.began {
				out.Removed += remove(s.snapshots)
				out.Left += len(s.snapshots.All())
			}
		})
	}
	return out
}
