package act

import (
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
)

// Options make an actor.
type Options struct {
	Store    *capture.Store
	Pages    *pages.Pages
	Observer *observe.Observer
	Rules    *noiserules.Rules
	Clients  *clients.Registry
	// Hands may be nil: then nothing acts.
	Hands Hands
	// Evaluate allows agents to run code of theirs in the page; Config is the path of the file that says so.
	Evaluate bool
	Config   string
	Clock    func() time.Time
	// Sets are the tool sets that are on for a client; Number is by what a person knows it.
	Sets   func(*checkpoint.Client) []string
	Number func(*checkpoint.Client) int
	// Notify is called when who acts where has changed.
	Notify func()
}

// Actor acts on pages for agents. It is safe for concurrent use.
type Actor struct {
	// Never changed after New.
	store    *capture.Store
	pages    *pages.Pages
	observer *observe.Observer
	rules    *noiserules.Rules
	clients  *clients.Registry
	hands    Hands
	evaluate bool
	config   string
	clock    func() time.Time
	sets     func(*checkpoint.Client) []string

	*Leases
}

// New makes an actor.
func New(o Options) *Actor {
	return &Actor{
		store: o.Store, pages: o.Pages, observer: o.Observer, rules: o.Rules, clients: o.Clients, hands: o.Hands, evaluate: o.Evaluate,
		config: o.Config, clock: o.Clock, sets: o.Sets,
		Leases: &Leases{store: o.Store, clients: o.Clients, clock: o.Clock, number: o.Number, notify: o.Notify},
	}
}
