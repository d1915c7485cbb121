package debugger

import (
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/recorder"
)

// Options configure an inspector.
type Options struct {
	Tabs *Tabs
	// Others provide the targets that are no tabs. The first one that finds the target of a call is used.
	Others  []Provider
	Clients *clients.Registry
	// Sink takes the hits of tracepoints and the variable snapshots.
	Sink     recorder.Sink
	Settings Settings
	Clock    func() time.Time
	// Scope returns the scope of the viewer for a tab, or an error if the tab does not exist.
	Scope func(tab int) (checkpoint.Scope, error)
}

// Inspector debugs targets for agents. It is safe for concurrent use.
type Inspector struct {
	// Constant after New.
	tabs     *Tabs
	others   []Provider
	clients  *clients.Registry
	sink     recorder.Sink
	release  time.Duration // after which a pause ends automatically
	evaluate bool
	clock    func() time.Time
	scope    func(tab int) (checkpoint.Scope, error)

	sessions sessions
}

// New returns an inspector.
func New(o Options) *Inspector {
	return &Inspector{
		tabs: o.Tabs, others: o.Others, clients: o.Clients, sink: o.Sink, clock: o.Clock, scope: o.Scope,
		release: o.Settings.release(), evaluate: o.Settings.Evaluate,
	}
}
