package moments

import (
	"context"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

// Deleting marks the moments whose snapshots will be deleted on purpose.
func (ls *Lines) Deleting(l *Line, numbers []uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var changed []*records.Moment
	all := slices.Clone(l.moments)
	for i, m := range all {
		if m.Snapshot != 0 && slices.Contains(numbers, m.Snapshot) {
			all[i] = m.With(func(m *records.Moment) { m.Pruned = true })
			changed = append(changed, all[i])
		}
	}
	l.replace(all)
	return ls.db.Update(l.Space, changed...)
}

// SetTerminal gives a moment its place in the recording of a terminal, nil if that cannot be known. It returns after that is on disk.
func SetTerminal(ls *Lines, l *Line, number uint64, at *records.Terminal) error {
	unlock, err := l.Lock(context.Background()) // who has the turn gives it back when the lines are closed
	if err != nil {
		return err
	}
	defer unlock()
	defer ls.changed.Notify()
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.moments)
	i := slices.IndexFunc(all, func(m *records.Moment) bool { return m.Number == number })
	if i < 0 {
		return nil
	}
	was := all[i]
	placed := was.With(func(m *records.Moment) { m.Terminal, m.Placing = at, false })
	if at != nil {
		if err = ls.db.Update(l.Space, placed); err != nil {
			placed.Terminal = nil
		}
	}
	all[i] = placed
	l.replace(all)
	if i := slices.Index(l.waiting, was); i >= 0 {
		l.waiting[i] = placed
	}
	return err
}

// largest returns the largest number of a snapshot that a moment or an operation of a workspace names.
func (ls *Lines) largest(root string) (n uint64) {
	l, err := ls.Line(root)
	if err != nil {
		return 0
	}
	for _, m := range l.All() {
		n = max(n, m.Snapshot)
	}
	ops, err := ls.db.Operations(l.Space)
	if err != nil {
		return n
	}
	for _, o := range ops {
		n = max(n, o.Target, o.Safety, o.After)
	}
	return n
}

// References returns the snapshots of a workspace that something refers to: checkpoints, moments that were asked for,
// branches, and the state before a recent restore.
func (ls *Lines) References(root string) map[uint64]string {
	refs := map[uint64]string{}
	l, err := ls.Line(root)
	if err != nil {
		return refs
	}
	for _, m := range l.All() {
		switch {
		case m.Snapshot == 0:
		case m.Source == records.FromCheckpoint:
			refs[m.Snapshot] = "checkpoint " + m.Label
		case m.Source == records.FromUser:
			refs[m.Snapshot] = m.ID() + ", " + m.Label
		}
	}
	ops, err := ls.db.Operations(l.Space)
	if err != nil {
		return refs
	}
	for _, o := range ops {
		switch {
		case o.Kind == records.OpBranch && o.State == records.Done:
			refs[o.Target] = "branch " + o.Branch
		case o.Safety != 0 && ls.o.Workspaces.Age(o.At, provider.SafetyAge) < provider.SafetyAge:
			refs[o.Safety] = "the state before " + o.ID()
		}
	}
	return refs
}

// Rename gives the moments of a checkpoint in a workspace another label: those that were recorded with it, at a time. One that
// is being recorded gets it once it is.
func (ls *Lines) Rename(root, from, to string, at time.Time) error {
	l, err := ls.Line(root)
	if err != nil {
		return err
	}
	r := renaming{from, to, at, ls.o.Clock()}
	l.mu.Lock()
	if len(l.renamings) == maxRenamings {
		l.renamings = slices.Delete(l.renamings, 0, 1)
	}
	l.renamings = append(l.renamings, r)
	l.mu.Unlock()
	return l.rename(ls.db, r)
}

// maxRenamings bounds the renamings that moments in the making may have missed.
const maxRenamings = 16

// renaming is the new name of a checkpoint of a time. Moments that begin after it are of another checkpoint.
type renaming struct {
	from, to string
	at       time.Time
	made     time.Time
}

// renameLate gives a moment that has just been recorded the names that its checkpoint got meanwhile.
func (l *Line) renameLate(db *records.DB) error {
	l.mu.Lock()
	renamings := slices.Clone(l.renamings)
	l.mu.Unlock()
	for _, r := range renamings {
		if err := l.rename(db, r); err != nil {
			return err
		}
	}
	return nil
}

func (l *Line) rename(db *records.DB, r renaming) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.moments)
	var changed []*records.Moment
	for i, m := range all {
		if m.Source == records.FromCheckpoint && m.Label == r.from && !m.At.After(r.made) && m.At.Sub(r.at).Abs() < NamedWithin {
			all[i] = m.With(func(m *records.Moment) { m.Label = r.to })
			changed = append(changed, all[i])
		}
	}
	if len(changed) == 0 {
		return nil
	}
	l.replace(all)
	for i, m := range l.waiting {
		if j := slices.IndexFunc(changed, func(c *records.Moment) bool { return c.Number == m.Number }); j >= 0 {
			l.waiting[i] = changed[j]
		}
	}
	return db.Update(l.Space, changed...)
}

// NamedWithin is how far the moment of a checkpoint may be from it.
const NamedWithin = 10 * time.Second

// Move makes what is kept of a workspace that of the directory in which it is now. It returns the number of its sessions.
func (ls *Lines) Move(ctx context.Context, from, to string) (int, error) {
	l, err := ls.Line(from)
	if err != nil {
		return 0, err
	}
	unlock, err := l.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if err := ls.o.Workspaces.Move(from, to); err != nil {
		return 0, err
	}
	ls.o.Workspaces.MoveBranches(from, to)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.lines, from)
	delete(ls.lines, to)
	return ls.sessions.Move(from, to)
}
