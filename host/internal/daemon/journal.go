package daemon

import (
	"context"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/protocol"
)

// journal is the daemon's file of captured data, and its writer.
type journal struct {
	d      *daemon
	limits store.Limits
	keeper *store.Keeper

	mu      sync.Mutex
	notices []string // notices to the user about this start
}

// notice logs a notice to the user and keeps it for the status.
func (j *journal) notice(text string) {
	j.d.log.Warn(text)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notices = append(j.notices, text)
}

// Notices returns the notices to the user.
func (j *journal) Notices() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.notices
}

func (j *journal) open() (*store.Store, error) {
	disk, notice, err := store.Open(j.d.home.Journal(), j.limits, time.Now())
	if notice != "" {
		j.notice(notice)
	}
	return disk, err
}

// restored is what earlier daemons recorded, or what begins anew.
type restored struct {
	disk     *store.Store // nil if the journal cannot be opened
	rules    *noise.Rules
	captured *capture.Store
	named    []checkpoint.Checkpoint
	readers  []checkpoint.ClientState
}

// restore opens the journal.
func (d *daemon) restore(limits capture.Limits, journalLimits store.Limits) restored {
	d.journal = &journal{d: d, limits: journalLimits}
	r := restored{rules: noise.Default()}
	var err error
	if r.disk, err = d.journal.open(); err != nil {
		d.log.Error("cannot open the journal, so nothing is saved until it opens", "error", err)
	}
	r.captured, r.named, r.readers = d.journal.restore(r.disk, limits, r.rules)
	return r
}

// restore returns the capture store and the checkpoints from the journal, or new ones.
func (j *journal) restore(disk *store.Store, limits capture.Limits, rules *noise.Rules) (*capture.Store, []checkpoint.Checkpoint, []checkpoint.ClientState) {
	now := time.Now()
	fresh := capture.New(limits, rules, now)
	if disk == nil {
		return fresh, nil, nil
	}
	st, problems := disk.State()
	restored := fresh
	if st != nil {
		past, err := disk.Past(nil)
		if err != nil {
			problems = append(problems, err)
		} else {
			restored = capture.Restore(limits, rules, now, st, past)
			past.Close()
			store.ReportDamage(disk, restored, now, j.d.log)
		}
	}
	named, readers, more := disk.Readers(restored.Index())
	for _, err := range append(problems, more...) {
		j.notice("restoring captured data: " + err.Error())
		restored.Lost(protocol.GapJournalDamaged, now, now, 0)
	}
	return restored, named, readers
}

// engineDisk is the keeper as the engine uses it.
type engineDisk struct{ *store.Keeper }

// Past implements engine.Disk.
func (d engineDisk) Past() (observe.Past, error) {
	p, err := d.Keeper.Past()
	if err != nil {
		return nil, err // not a nil pointer inside an interface
	}
	return p, nil
}

// run writes until ctx ends.
func (j *journal) run(ctx context.Context) {
	j.keeper.Run(ctx)
	if disk := j.keeper.Disk(); disk != nil {
		if err := disk.Close(); err != nil {
			j.d.log.Error("cannot close the journal", "error", err)
		}
	}
}

// status returns the state of the journal.
func (j *journal) status() *viewer.JournalStatus {
	st := &viewer.JournalStatus{Path: j.d.home.Journal(), Problem: j.keeper.Problem(), Notices: j.Notices()}
	if disk := j.keeper.Disk(); disk != nil {
		st.Bytes = disk.Bytes()
	}
	return st
}
