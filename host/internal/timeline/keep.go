package timeline

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/disksize"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

// PruneParams are the parameters of a deletion of snapshots. A field that is 0 bounds nothing; without any, the user's
// settings apply.
type PruneParams struct {
	moments.Where
	Count int     `json:"count"`
	Days  float64 `json:"days"`
	MiB   int64   `json:"mib"`
	// Gone deletes all snapshots of a workspace that no longer exists, or that the user does not allow.
	Gone bool `json:"gone,omitempty"`
	// Denied deletes the snapshots that have files of directories which the user denied since.
	Denied bool `json:"denied,omitempty"`
}

// Pruned is what a deletion of snapshots did.
type Pruned struct {
	Workspace string   `json:"workspace"`
	Deleted   []string `json:"deleted"`
	// Forced are those of them that something refers to, with what does.
	Forced map[string]string `json:"forced,omitempty"`
	// FreedBytes were freed, LeftBytes remain.
	FreedBytes int64 `json:"freedBytes"`
	LeftBytes  int64 `json:"leftBytes"`
	// OverBytes is how much of that exceeds the limit. The snapshots that remain need it.
	OverBytes int64 `json:"overBytes,omitempty"`
	// Kept counts the snapshots that remain. Referred are those of them that moments of the user, checkpoints, branches and
	// recent restores refer to: a policy deletes them only to free bytes.
	Kept     int `json:"kept"`
	Referred int `json:"referred"`
}

// Prune deletes snapshots of a workspace.
func (t *Timeline) Prune(ctx context.Context, client *checkpoint.Client, p PruneParams) (*Pruned, error) {
	if p.Count < 0 || p.Days < 0 || p.MiB < 0 {
		return nil, usererr.Invalid("count, days and mib must not be negative")
	}
	bounded := p.Count != 0 || p.Days != 0 || p.MiB != 0
	if (p.Gone || p.Denied) && bounded || p.Gone && p.Denied {
		return nil, usererr.Invalid("gone and denied say which snapshots are deleted. Pass one of them, without count, days and mib.")
	}
	if p.Gone {
		return discard(t, p)
	}
	s, _, err := t.lines.SessionOf(client, p.Where)
	if usererr.CodeOf(err) == usererr.NotAllowed && client.User {
		return nil, usererr.New(usererr.NotAllowed, "%v\nTo delete all that is stored of a project that is not allowed, run `tidemark timeline prune --gone` with its directory.", err)
	}
	if err != nil {
		return nil, err
	}
	w, err := t.lines.Open(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	policy := provider.Policy{Count: p.Count, Age: time.Duration(p.Days * 24 * float64(time.Hour)), Bytes: p.MiB << 20}
	age := retention.Wall(t.o.Clock) // as the user sees the times
	if !bounded {
		policy, age = t.o.Workspaces.Policy(), t.o.Workspaces.Age
	}
	var done workspace.Pruned
	if p.Denied {
		done, err = workspace.PruneDenied(ctx, w)
	} else {
		done, err = w.Prune(ctx, policy, age)
	}
	if err != nil {
		return nil, err
	}
	a := &Pruned{Workspace: s.Workspace, Deleted: []string{}, FreedBytes: done.Freed, LeftBytes: done.Left, OverBytes: done.Over, Kept: done.Kept, Referred: done.Referred}
	for _, n := range done.Deleted {
		a.Deleted = append(a.Deleted, records.SnapshotID(n))
	}
	if len(done.Forced) > 0 {
		a.Forced = map[string]string{}
	}
	for _, f := range done.Forced {
		a.Forced[records.SnapshotID(f.Number)] = f.By
	}
	return a, nil
}

// discard deletes all snapshots of a workspace that no longer exists or is not allowed, by its directory or a session.
func discard(t *Timeline, p PruneParams) (*Pruned, error) {
	if t.lines.Failed() != nil {
		return nil, t.lines.Failed()
	}
	root := p.Dir
	if p.Session != "" {
		s, err := t.sessions.Find(p.Session)
		if err != nil {
			return nil, err
		}
		root = s.Workspace
	}
	l, err := t.lines.Line(root)
	if err != nil {
		return nil, err
	}
	a := &Pruned{Workspace: root, Deleted: []string{}}
	a.FreedBytes, err = t.o.Workspaces.Discard(root, func() error {
		var numbers []uint64
		for _, m := range l.All() {
			if m.Snapshot != 0 && !m.Pruned && !slices.Contains(numbers, m.Snapshot) {
				numbers = append(numbers, m.Snapshot)
				a.Deleted = append(a.Deleted, records.SnapshotID(m.Snapshot))
			}
		}
		return t.lines.Deleting(l, numbers)
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// DiskUsage is what sessions take on disk.
type DiskUsage struct {
	Workspaces []workspace.Stored `json:"workspaces"`
	// BudgetMiB is what each workspace may take.
	BudgetMiB int64 `json:"budgetMib"`
	// Branches are the branches that exist, with what their files take. Files that share extents count in full.
	Branches []BranchSize `json:"branches"`
	// TimelineBytes is what the sessions and moments take.
	TimelineBytes int64 `json:"timelineBytes"`
	// Terminals are the recordings of terminals.
	Terminals TerminalSize `json:"terminals"`
}

// TerminalSize is what recordings of terminals take, and what they may.
type TerminalSize struct {
	Recordings int   `json:"recordings"`
	Bytes      int64 `json:"bytes"`
	BudgetMiB  int64 `json:"budgetMib"`
	// Days is how long one is kept.
	Days float64 `json:"days"`
}

// BranchSize is a branch on disk.
type BranchSize struct {
	SessionID string `json:"sessionId"`
	Dir       string `json:"dir"`
	Bytes     int64  `json:"bytes"`
}

// Usage returns what all sessions take on disk.
func (t *Timeline) Usage(context.Context, *checkpoint.Client, struct{}) (*DiskUsage, error) {
	if t.lines.Failed() != nil {
		return nil, t.lines.Failed()
	}
	stored, err := t.o.Workspaces.Stored()
	if err != nil {
		return nil, err
	}
	a := &DiskUsage{Workspaces: append([]workspace.Stored{}, stored...), BudgetMiB: t.o.Workspaces.Policy().Bytes >> 20, Branches: []BranchSize{}}
	a.Terminals = TerminalSize{BudgetMiB: t.o.TerminalPolicy.Bytes >> 20, Days: t.o.TerminalPolicy.Age.Hours() / 24}
	a.Terminals.Recordings, a.Terminals.Bytes = t.o.Terminals.Usage()
	for _, s := range t.sessions.All() {
		if s.BranchOf != nil {
			a.Branches = append(a.Branches, BranchSize{s.ID, s.Workspace, disksize.Of(s.Workspace)})
		}
	}
	if info, err := os.Stat(filepath.Clean(t.o.Path)); err == nil {
		a.TimelineBytes = info.Size()
	}
	return a, nil
}
