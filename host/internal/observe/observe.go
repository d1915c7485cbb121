// Package observe answers what changed: since a reader looked last, since a checkpoint, between two moments; and reads
// the entries themselves.
//
// It guarantees: an answer is one consistent reading, and a client's checkpoint advances over exactly what the answer
// covered; what the buffers no longer hold is read from the disk, and what could not be read is said; arguments are
// checked before anything is changed.
package observe

import (
	"context"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/noiserules"
)

// Browsers asks the extensions for things. Package link implements it.
type Browsers interface {
	// Sync has every connected extension deliver what its browser has reported so far, and returns
	// the host's ids of the tabs whose error elements or capture did not answer in time.
	Sync(ctx context.Context, timeout time.Duration) (noDOM, noCapture []int)
}

// Disk is what keeps events, checkpoints and readers. Package store implements it.
type Disk interface {
	// Past begins a reading of what has left the buffers.
	Past() (Past, error)
	// ReadersChanged says that a reader has been told something.
	ReadersChanged()
	// Sync returns when everything up to now is on disk, or says why it cannot be.
	Sync(context.Context) error
	// ID names the journal whose positions these are, "" while there is none.
	ID() string
}

// Past is a reading of the disk.
type Past interface {
	capture.Past
	// Lost counts the entries that could not be read so far.
	Lost() int
	Close()
}

// Options make an observer.
type Options struct {
	Store   *capture.Store
	Named   *checkpoint.Registry
	Rules   *noiserules.Rules
	Clients *clients.Registry
	// Browsers and Disk may be nil: then nothing is asked of extensions, or kept but in memory.
	Browsers Browsers
	Disk     Disk
	// Originals may have no maps: then places are told as the browser has them.
	Originals Originals
	Clock     func() time.Time
	// Location is the zone of times that are given without one.
	Location *time.Location
	// Own tells what a client did itself, nil when it did nothing; see [diff.Options.Own].
	Own func(*checkpoint.Client) func(tab int, at int64) bool
	// Notify is called when a checkpoint is new or gone.
	Notify func()
}

// Observer answers what changed. It is safe for concurrent use.
type Observer struct {
	// Never changed after New.
	store     *capture.Store
	named     *checkpoint.Registry
	rules     *noiserules.Rules
	clients   *clients.Registry
	browsers  Browsers
	disk      Disk
	Originals Originals
	clock     func() time.Time
	location  *time.Location
	own       func(*checkpoint.Client) func(tab int, at int64) bool
	notify    func()

	readings chan struct{} // one for each reading of the disk that goes on
	loads    loads         // of the originals
	hooks    hookSessions
}

// New makes an observer. It forgets what it knows of clients that the registry forgets.
func New(o Options) *Observer {
	e := &Observer{
		store: o.Store, named: o.Named, rules: o.Rules, clients: o.Clients, browsers: o.Browsers, disk: o.Disk, Originals: o.Originals,
		clock: o.Clock, location: o.Location, own: o.Own, notify: o.Notify, readings: make(chan struct{}, maxReadings),
	}
	o.Clients.OnForget(e.hooks.forget)
	return e
}
