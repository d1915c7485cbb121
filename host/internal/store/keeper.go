package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tidemark.dev/tidemark/host/internal/boltfile"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/protocol"
)

// A Keeper commits at most once per commitPause, unless a caller waits for it, and retries after retryPause.
const (
	commitPause = 100 * time.Millisecond
	retryPause  = 2 * time.Second
)

// Keeper writes captured data, checkpoints and clients to a [Store].
type Keeper struct {
	o       KeeperOptions
	dirty   <-chan struct{}
	wake    chan struct{} // has room for one
	readers atomic.Uint64 // grows when a client's cursor has changed
	told    atomic.Bool   // a nudge for readers has not led to a commit yet

	mu      sync.Mutex
	disk    *Store // nil while there is none
	problem string
	waiting []chan error

	// The goroutine of Run alone reads and writes these.
	backlog                            *capture.Delta // what could not be written yet
	readersWritten, checkpointsWritten uint64
	written                            bool // readers and checkpoints, once
}

// KeeperOptions are the options of a keeper. All but Disk are required.
type KeeperOptions struct {
	// Disk may be nil: the keeper then calls Open later.
	Disk    *Store
	Open    func() (*Store, error)
	Capture *capture.Store
	// Checkpoints returns all named checkpoints, and a number that grows with every change.
	Checkpoints func() ([]checkpoint.Checkpoint, uint64)
	// Readers returns the clients that may return.
	Readers func() []checkpoint.ClientState
	// Kept is called after every commit.
	Kept  func()
	Clock func() time.Time
	Log   *slog.Logger
}

// NewKeeper returns a keeper for the data that the capture collects from now on. [Keeper.Run] does its work.
func NewKeeper(o KeeperOptions) *Keeper {
	return &Keeper{o: o, disk: o.Disk, wake: make(chan struct{}, 1), dirty: o.Capture.Keep()}
}

// Problem says why nothing can be written at the moment, "" if there is no problem.
func (k *Keeper) Problem() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.problem
}

// Disk returns the store, nil while there is none.
func (k *Keeper) Disk() *Store {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.disk
}

// ID identifies the journal, "" while there is none.
func (k *Keeper) ID() string {
	if disk := k.Disk(); disk != nil {
		return disk.ID()
	}
	return ""
}

// Past begins a reading of the journal.
func (k *Keeper) Past() (*Past, error) {
	disk := k.Disk()
	if disk == nil {
		return nil, errors.New(k.Problem())
	}
	return disk.Past(k.o.Capture.Index())
}

// ReadersChanged records that a client's cursor has changed. One nudge is enough until the next commit: each one wakes a goroutine.
func (k *Keeper) ReadersChanged() {
	k.readers.Add(1)
	if !k.told.Swap(true) {
		k.nudge()
	}
}

func (k *Keeper) nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Sync returns when everything captured so far is on disk. Its error says why that is not possible.
func (k *Keeper) Sync(ctx context.Context) error {
	done := make(chan error, 1)
	k.mu.Lock()
	k.waiting = append(k.waiting, done)
	k.mu.Unlock()
	k.nudge()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run writes until ctx ends, and then once more.
func (k *Keeper) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	var due <-chan time.Time // of the pause that is waited for
	pause := func(d time.Duration) {
		if due == nil {
			timer.Reset(d)
			due = timer.C
		}
	}
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			if err := k.commit(); err != nil {
				k.o.Log.Error("cannot write the last captured events", "error", err)
			}
			return
		case <-k.dirty:
			pause(max(0, commitPause-time.Since(last)))
			continue
		case <-k.wake:
			if !k.awaited() {
				pause(max(0, commitPause-time.Since(last)))
				continue
			}
		case <-due:
			due = nil
		}
		if err := k.commit(); err != nil {
			pause(retryPause)
		}
		last = time.Now()
	}
}

func (k *Keeper) awaited() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.waiting) > 0
}

// commit writes everything that has changed.
func (k *Keeper) commit() error {
	k.mu.Lock()
	waiting := k.waiting
	k.waiting = nil
	k.mu.Unlock()
	err := k.write()
	if errors.Is(err, boltfile.ErrDamaged) {
		k.o.Log.Error("the journal is damaged and is replaced by a new one", "error", err)
		if err = k.setAside(); err == nil {
			err = k.write()
		}
	}
	k.say(err)
	for _, w := range waiting {
		w <- err
	}
	return err
}

// say stores the outcome, and logs it if it differs from the previous one.
func (k *Keeper) say(err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	k.mu.Lock()
	before := k.problem
	k.problem = problem
	k.mu.Unlock()
	switch problem {
	case before:
	case "":
		k.o.Log.Info("the journal can be written again")
	default:
		k.o.Log.Error("cannot write the journal; events are not acknowledged until it can be written", "error", problem)
	}
}

func (k *Keeper) write() error {
	d := k.o.Capture.Drain(k.o.Clock())
	if k.backlog != nil {
		k.backlog.Merge(d)
		d = k.backlog
	}
	k.backlog = d
	disk := k.Disk()
	if disk == nil {
		var err error
		if disk, err = k.o.Open(); err != nil {
			return err
		}
		k.mu.Lock()
		k.disk = disk
		k.mu.Unlock()
	}
	more := map[string][]byte{}
	k.told.Store(false)
	readers := k.readers.Load()
	if !k.written || readers != k.readersWritten {
		data, err := EncodeClients(k.o.Readers())
		if err != nil {
			return err
		}
		more[ClientsKey] = data
	}
	named, version := k.o.Checkpoints()
	if !k.written || version != k.checkpointsWritten {
		data, err := EncodeCheckpoints(named)
		if err != nil {
			return err
		}
		more[CheckpointsKey] = data
	}
	if err := disk.Commit(d, more); err != nil {
		return fmt.Errorf("cannot write the journal %s: %w", disk.Path(), err)
	}
	k.backlog, k.written, k.readersWritten, k.checkpointsWritten = nil, true, readers, version
	k.o.Capture.Kept(d)
	k.o.Kept()
	ReportDamage(disk, k.o.Capture, k.o.Clock(), k.o.Log)
	return nil
}

// earliest is before anything that is captured, in milliseconds.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// ReportDamage adds the blocks that were found damaged to the gaps of a capture store. The time of one may be damaged, too: then it
// is now.
func ReportDamage(disk *Store, captured *capture.Store, now time.Time, log *slog.Logger) {
	for _, damage := range disk.Damaged() {
		log.Error("a block of the journal is damaged", "section", damage.Section, "entries", damage.Entries, "error", damage.Err)
		at := now
		if damage.Last >= earliest && damage.Last <= now.UnixMilli() {
			at = time.UnixMilli(damage.Last)
		}
		captured.Lost(protocol.GapJournalDamaged, at, at, damage.Entries)
	}
}

// setAside begins a new file with the content of the buffers.
func (k *Keeper) setAside() error {
	old := k.Disk()
	aside := fmt.Sprintf("%s.damaged-%s", old.Path(), k.o.Clock().UTC().Format("20060102T150405.000"))
	_ = boltfile.Guard(old.db.Close) // it is damaged: its error does not matter
	if err := os.Rename(old.Path(), aside); err != nil {
		return err
	}
	disk, err := k.o.Open()
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.disk = disk
	k.mu.Unlock()
	k.backlog, k.written = k.o.Capture.DrainAll(k.backlog, k.o.Clock()), false
	return nil
}
