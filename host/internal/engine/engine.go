// Package engine composes the use cases. Surfaces (MCP, command line, popup) reach them through the table of tools, the
// viewer's table of methods, and its fields.
//
// It guarantees: a client that leaves is let go of by every use case, in one order; the tables of tools and of the
// viewer's methods are all that a surface can ask for.
package engine

import (
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/launch"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/viewer"
)

// Engine is the use cases over one store. It is safe for concurrent use.
type Engine struct {
	Clients   *clients.Registry
	Rules     *noiserules.Rules
	Observer  *observe.Observer
	Pages     *pages.Pages
	Actor     *act.Actor
	Opener    *launch.Opener
	Inspector *debugger.Inspector
	Viewer    *viewer.Viewer

	store *capture.Store
	named *checkpoint.Registry
	disk  observe.Disk
	clock func() time.Time
	sets  []string
}

// Options make an engine.
type Options struct {
	Store *capture.Store
	Noise *noise.Rules
	// UserNoise is what a person added to the rules.
	UserNoise noiserules.UserNoise
	// Browsers may be nil: then nothing is asked of extensions.
	Browsers observe.Browsers
	// Pages may be nil: then there are no snapshots.
	Pages pages.Reader
	// Hands may be nil: then nothing acts.
	Hands act.Hands
	// Config is the path of the file in which a person allows more than is allowed by itself.
	Config string
	// Debugger may be nil: then nothing can be debugged.
	Debugger debugger.Remote
	// Debugging is what a person decides of it.
	Debugging debugger.Settings
	Snapshots pages.Settings
	// Disk may be nil: then nothing is kept but in memory.
	Disk  observe.Disk
	Clock func() time.Time
	// Launcher may be nil: then agents cannot open browsers.
	Launcher  launch.Launcher
	Launching launch.Settings
	// Sets are the tool sets of clients that ask for none; nil: [tool.DefaultSets].
	Sets []string
	// Originals may have no maps: then places are told as the browser has them.
	Originals observe.Originals
	// Location is the zone of times that are given without one.
	Location *time.Location
}

// New makes an engine without checkpoints.
func New(o Options) *Engine {
	if o.Sets == nil {
		o.Sets = tool.DefaultSets
	}
	registry := clients.New(o.Store, o.Clock)
	named := &checkpoint.Registry{}
	signal := &viewer.Signal{}
	e := &Engine{store: o.Store, named: named, disk: o.Disk, sets: o.Sets, clock: o.Clock, Clients: registry}
	e.Rules = noiserules.New(o.Noise, o.UserNoise, o.Store, registry, o.Clock, o.Location)
	e.Pages = pages.New(pages.Options{Store: o.Store, Reader: o.Pages, Clock: o.Clock, Settings: o.Snapshots})
	e.Observer = observe.New(observe.Options{
		Store: o.Store, Named: named, Rules: e.Rules, Clients: registry, Browsers: o.Browsers, Disk: o.Disk, Originals: o.Originals,
		Clock: o.Clock, Location: o.Location, Own: func(c *checkpoint.Client) func(int, int64) bool { return e.Actor.DidBy(c) }, Notify: signal.Tell,
	})
	e.Actor = act.New(act.Options{
		Store: o.Store, Pages: e.Pages, Observer: e.Observer, Rules: e.Rules, Clients: registry, Hands: o.Hands, Evaluate: o.Debugging.Evaluate,
		Config: o.Config, Clock: o.Clock, Sets: e.SetsOf, Number: func(c *checkpoint.Client) int { return e.Viewer.Agents.Number(c) }, Notify: signal.Tell,
	})
	e.Opener = launch.New(launch.Options{Store: o.Store, Pages: e.Pages, Clients: registry, Launcher: o.Launcher, Settings: o.Launching, Clock: o.Clock})
	e.Inspector = debugger.New(debugger.Options{
		Store: o.Store, Pages: e.Pages, Observer: e.Observer, Clients: registry, Remote: o.Debugger, Settings: o.Debugging, Clock: o.Clock,
		Scope: func(tab int) (checkpoint.Scope, error) { return e.Viewer.Scope(tab) },
	})
	e.Viewer = viewer.New(viewer.Options{
		Store: o.Store, Named: named, Clients: registry, Rules: e.Rules, Observer: e.Observer, Pages: e.Pages, Leases: e.Actor.Leases,
		Inspector: e.Inspector, Disk: o.Disk, Clock: o.Clock, Signal: signal,
	})
	e.leaving(signal)
	return e
}

// Named are the named checkpoints, and a number that grows with every change.
func (e *Engine) Named() ([]checkpoint.Checkpoint, uint64) { return e.named.All() }

// Store is the engine's store.
func (e *Engine) Store() *capture.Store { return e.store }
