// Package observe reports changes since a client's cursor, since a checkpoint or between two moments. It also reads
// raw entries.
//
// It guarantees:
//
//   - Each answer is one consistent reading.
//   - A client's cursor advances over exactly what the answer covers.
//   - What the buffers no longer contain is read from disk, and what could not be read is reported.
//   - Arguments are checked before anything changes.
package observe

import (
	"context"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/loads"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe/edited"
	"tidemark.dev/tidemark/host/internal/observe/unplaced"
	"tidemark.dev/tidemark/host/internal/report"
)

// Browsers sends requests to the extensions. Package link implements it.
type Browsers interface {
	// Sync makes every connected extension deliver its pending events. It returns the host's ids of the tabs whose
	// error elements or capture did not answer in time.
	Sync(ctx context.Context, timeout time.Duration) (noDOM, noCapture []int)
}

// Workspaces records changes of files.
type Workspaces interface {
	// Sync returns when the changes that were made in a workspace before the call are recorded, or why some may not be. It
	// reports whether the workspace is recorded at all.
	Sync(ctx context.Context, root string) (recorded bool, err error)
}

// Moments is the timeline of workspaces. Package timeline implements it.
type Moments interface {
	// Checkpoint adds a moment for a checkpoint that a client created, at its time.
	Checkpoint(ctx context.Context, client *checkpoint.Client, name string, at time.Time)
	// Renamed gives the moments of a checkpoint its new name.
	Renamed(from, to string, at time.Time)
	// When returns the time of a moment by its ID, such as m12. ok is false for what is no such ID.
	When(client *checkpoint.Client, id string) (at time.Time, ok bool, err error)
	edited.Moments
}

// Disk stores events, checkpoints and clients' cursors. Package store implements it.
type Disk interface {
	// Past begins a read of the entries that have left the buffers.
	Past() (Past, error)
	// ReadersChanged reports that a client's state has changed.
	ReadersChanged()
	// Sync returns when everything up to now is on disk, or the reason why it cannot be.
	Sync(context.Context) error
	// ID identifies the journal of these positions, "" while there is none.
	ID() string
}

// Past is a read of the disk.
type Past interface {
	capture.Past
	// Lost counts the entries that could not be read so far.
	Lost() int
	Close()
}

// Options configure an observer.
type Options struct {
	Store   *capture.Store
	Named   *checkpoint.Registry
	Rules   *noiserules.Rules
	Clients *clients.Registry
	// Browsers and Disk may be nil. Without Browsers, no extension is asked. Without Disk, everything is in memory
	// only.
	Browsers Browsers
	Disk     Disk
	// Workspaces may be nil. Then a report has the changes of files that are recorded by then.
	Workspaces Workspaces
	// Originals may have no maps. Then sources are reported as the browser gives them.
	Originals Originals
	// Edits may be empty. Then reports name no changes of files as causes.
	Edits Edits
	Clock func() time.Time
	// Location is the time zone of times without one.
	Location *time.Location
	// Own returns which actions a client did itself, nil for none. See [window.Options.Own].
	Own func(*checkpoint.Client) func(tab int, at int64) bool
	// Late returns the [window.Options.Late] of a client, nil for none. Emptied is [window.Options.Emptied], in one tab or all.
	Late    func(*checkpoint.Client) func(pos uint64, e *event.Network) bool
	Emptied func(ctx context.Context, client *checkpoint.Client, tab int) []report.EmptiedField
	// ByAgent reports whether any agent acted on a tab at a time.
	ByAgent func(tab int, at int64) bool
	// Notify is called when a checkpoint is added or removed.
	Notify func()
	// Moments is the timeline of workspaces.
	Moments Moments
}

// Observer reports changes and reads entries. It is safe for concurrent use.
type Observer struct {
	// Immutable after New.
	store     *capture.Store
	named     *checkpoint.Registry
	rules     *noiserules.Rules
	clients   *clients.Registry
	browsers  Browsers
	disk      Disk
	files     Workspaces
	Originals Originals
	clock     func() time.Time
	location  *time.Location
	own       func(*checkpoint.Client) func(tab int, at int64) bool
	late      func(*checkpoint.Client) func(pos uint64, e *event.Network) bool
	emptied   func(ctx context.Context, client *checkpoint.Client, tab int) []report.EmptiedField
	byAgent   func(tab int, at int64) bool
	notify    func()
	moments   Moments

	readings chan struct{} // one for each disk read under way
	loads    loads.Index   // for original places
	edits    Edits
	hooks    hookSessions
	unplaced unplaced.Errors
}

// New creates an observer. It drops the state of clients that the registry drops.
func New(options Options) *Observer {
	o := &Observer{
		store: options.Store, named: options.Named, rules: options.Rules, clients: options.Clients, browsers: options.Browsers, disk: options.Disk, files: options.Workspaces, Originals: options.Originals,
		clock: options.Clock, location: options.Location, own: options.Own, late: options.Late, emptied: options.Emptied, byAgent: options.ByAgent, notify: options.Notify, moments: options.Moments, readings: make(chan struct{}, maxReadings), edits: options.Edits,
	}
	options.Clients.OnForget(o.hooks.forget)
	options.Clients.OnForget(o.unplaced.Forget)
	return o
}
