package act

import (
	"context"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
)

// Options configure [New].
type Options struct {
	Store    *capture.Store
	Pages    *pages.Pages
	Observer *observe.Observer
	Rules    *noiserules.Rules
	Clients  *clients.Registry
	// Hands may be nil. Then all actions fail.
	Hands Hands
	// Evaluate allows agents to run their own code in pages. Config is the path of the settings file.
	Evaluate bool
	Config   string
	Clock    func() time.Time
	// Sets returns the tool sets that are on for a client. Number returns the number that the user sees for it.
	Sets   func(*checkpoint.Client) []string
	Number func(*checkpoint.Client) int
	// Variables returns the variables of a tab's paused frame for a client, as [Answer.Changed] has them.
	Variables func(ctx context.Context, client *checkpoint.Client, tab int) []string
	// Notify is called when the result of [Leases.Agents] changes.
	Notify func()
}

// Actor acts on pages for agents. It is safe for concurrent use.
type Actor struct {
	// Immutable after New.
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
	paused   func(ctx context.Context, client *checkpoint.Client, tab int) []string

	forms forms

	*Leases
}

// New returns an actor.
func New(o Options) *Actor {
	a := &Actor{
		store: o.Store, pages: o.Pages, observer: o.Observer, rules: o.Rules, clients: o.Clients, hands: o.Hands, evaluate: o.Evaluate,
		config: o.Config, clock: o.Clock, sets: o.Sets, paused: o.Variables,
		Leases: &Leases{store: o.Store, clients: o.Clients, clock: o.Clock, number: o.Number, notify: o.Notify},
	}
	o.Clients.OnForget(a.forms.forget)
	return a
}
