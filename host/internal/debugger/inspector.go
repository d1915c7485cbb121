package debugger

import (
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/recorder"
)

// Options configure an inspector.
type Options struct {
	Store    *capture.Store
	Pages    *pages.Pages
	Observer *observe.Observer
	Clients  *clients.Registry
	// Sink takes the hits of tracepoints and the variable snapshots.
	Sink recorder.Sink
	// Remote may be nil; then every call is an error.
	Remote   Remote
	Settings Settings
	Clock    func() time.Time
	// Scope returns the scope of the viewer for a tab, or an error if the tab does not exist.
	Scope func(tab int) (checkpoint.Scope, error)
}

// Inspector debugs tabs for agents. It is safe for concurrent use.
type Inspector struct {
	// Constant after New.
	store    *capture.Store
	pages    *pages.Pages
	observer *observe.Observer
	clients  *clients.Registry
	sink     recorder.Sink
	remote   Remote
	release  time.Duration // after which a pause ends automatically
	evaluate bool
	clock    func() time.Time
	scope    func(tab int) (checkpoint.Scope, error)

	tabs debugTabs
}

// New returns an inspector.
func New(o Options) *Inspector {
	return &Inspector{
		store: o.Store, pages: o.Pages, observer: o.Observer, clients: o.Clients, sink: o.Sink, remote: o.Remote, clock: o.Clock, scope: o.Scope,
		release: o.Settings.release(), evaluate: o.Settings.Evaluate,
	}
}
