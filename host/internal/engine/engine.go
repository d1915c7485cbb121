// Package engine composes the use cases. Surfaces (MCP, command line, popup) reach them through the table of tools,
// the viewer's table of methods, and the engine's fields.
//
// It guarantees:
//
//   - Every use case releases a client that leaves, in a fixed order.
//   - The tables of tools and of the viewer's methods are all that a surface can request.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/launch"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/sessiontree"
	"tidemark.dev/tidemark/host/internal/signal"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/viewer"
)

// Engine combines the use cases over one store. It is safe for concurrent use.
type Engine struct {
	Clients   *clients.Registry
	Rules     *noiserules.Rules
	Observer  *observe.Observer
	Pages     *pages.Pages
	Actor     *act.Actor
	Opener    *launch.Opener
	Inspector *debugger.Inspector
	Viewer    *viewer.Viewer
	Timeline  *timeline.Timeline
	// Conversations are those of agents.
	Conversations *conversation.Store
	// Regressions finds what broke.
	Regressions *regression.Finder
	// Branches starts agents in branches.
	Branches *branches.Branches
	// Trees shows sessions.
	Trees *sessiontree.Finder

	store *capture.Store
	named *checkpoint.Registry
	disk  observe.Disk
	clock func() time.Time
	sets  []string
}

// Options configure an engine.
type Options struct {
	Store *capture.Store
	Noise *noise.Rules
	// UserNoise are the user's noise rules.
	UserNoise noiserules.UserNoise
	// Browsers may be nil. Then no extension is asked.
	Browsers observe.Browsers
	// Workspaces may be nil. Then reports do not wait for the newest changes of files.
	Workspaces observe.Workspaces
	// Pages may be nil. Then there are no snapshots.
	Pages pages.Reader
	// Hands may be nil. Then agents cannot act.
	Hands act.Hands
	// Config is the path of the user's settings file, which can allow more than the defaults.
	Config string
	// Debugger may be nil. Then agents cannot debug.
	Debugger debugger.Remote
	// Targets provide debug targets that are no tabs.
	Targets []debugger.Provider
	// Debugging are the user's settings for it.
	Debugging debugger.Settings
	Snapshots pages.Settings
	// Disk may be nil. Then everything is in memory only.
	Disk  observe.Disk
	Clock func() time.Time
	// Age tells how long a client has been away. Nil is [retention.Never].
	Age retention.Age
	// Launcher may be nil. Then agents cannot open browsers.
	Launcher  launch.Launcher
	Launching launch.Settings
	// Sets are the tool sets of clients that request none. Nil means [tool.DefaultSets].
	Sets []string
	// Originals may have no maps. Then sources are reported as the browser gives them.
	Originals observe.Originals
	// Timeline may be nil. Then nothing of workspaces is recorded.
	Timeline *timeline.Timeline
	// Conversations may be nil. Then nothing of agents' conversations is recorded.
	Conversations *conversation.Store
	// Branching are the user's settings for branches, Log where their agents are reported. Nil discards.
	Branching branches.Settings
	Log       *slog.Logger
	// Program is the path of this program, which starts agents at the path of the original. "" starts none there.
	Program string
	// Redactor masks what is kept of messages to agents. Nil is [redact.Default].
	Redactor *redact.Redactor
	// Location is the time zone of times without one.
	Location *time.Location
	// Version is the version of the program.
	Version string
}

// New creates an engine without checkpoints.
func New(o Options) *Engine {
	if o.Sets == nil {
		o.Sets = tool.DefaultSets
	}
	if o.Age == nil {
		o.Age = retention.Never
	}
	registry := clients.New(o.Store, o.Clock, o.Age)
	named := &checkpoint.Registry{}
	changed := &signal.Signal{}
	if o.Timeline == nil {
		o.Timeline = timeline.Broken(errors.New("this host records no workspaces"))
	}
	if o.Conversations == nil {
		o.Conversations = conversation.Broken(errors.New("this host records no conversations"))
	}
	e := &Engine{Conversations: o.Conversations, store: o.Store, named: named, disk: o.Disk, sets: o.Sets, clock: o.Clock, Clients: registry, Timeline: o.Timeline}
	e.Rules = noiserules.New(o.Noise, o.UserNoise, o.Store, registry, o.Clock, o.Location)
	e.Rules.Allows = e.Timeline.Allows
	e.Rules.Now = func(dir string) string { return timeline.Now(e.Timeline, dir) }
	e.Pages = pages.New(pages.Options{Store: o.Store, Reader: o.Pages, Finder: func() pages.Finder { return act.Finder{Actor: e.Actor} }, Clock: o.Clock, Settings: o.Snapshots})
	edits := observe.Edits{Update: o.Noise.Update, Known: regression.KnownIn(e.Timeline), Made: o.Conversations.Makers, Name: func(change *event.FileChange, inWorkspace bool, i *report.Introduced) {
		id, m := timeline.OfChange(e.Timeline, change)
		if m != nil && !inWorkspace { // several workspaces may have a moment with this ID
			id += "@" + m.Session
		}
		i.Moment = id
		i.Call, i.Prompt = e.Conversations.MadeBy(change)
	}}
	e.Observer = observe.New(observe.Options{
		Store: o.Store, Named: named, Rules: e.Rules, Clients: registry, Browsers: o.Browsers, Workspaces: o.Workspaces, Disk: o.Disk, Originals: o.Originals,
		Clock: o.Clock, Location: o.Location, Own: func(c *checkpoint.Client) func(int, int64) bool { return e.Actor.DidBy(c) },
		Late: func(c *checkpoint.Client) func(uint64, *event.Network) bool { return e.Actor.LateOf(c) },
		Emptied: func(ctx context.Context, c *checkpoint.Client, tab int) []report.EmptiedField {
			return act.EmptiedSince(ctx, e.Actor, c, tab)
		},
		Notify:  changed.Notify,
		ByAgent: func(tab int, at int64) bool { return e.Actor.DidByAgent(tab, at) }, Moments: timeline.Moments{Timeline: e.Timeline},
		Edits: edits,
	})
	e.Regressions = &regression.Finder{Store: o.Store, Rules: e.Rules, Observer: e.Observer, Timeline: e.Timeline, Edits: edits, Clock: o.Clock}
	timeline.SetCourse(e.Timeline, e.Regressions.Course)
	e.Trees = &sessiontree.Finder{Timeline: e.Timeline, Conversations: e.Conversations, Store: o.Store, Rules: e.Rules, Observer: e.Observer, Clock: o.Clock}
	timeline.SetMade(e.Timeline, e.Trees.Made)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Redactor == nil {
		o.Redactor = redact.Default()
	}
	e.Branches = &branches.Branches{Timeline: e.Timeline, Conversations: e.Conversations, Settings: o.Branching, Report: e.Regressions.Report, Redactor: o.Redactor, Clock: o.Clock, Log: o.Log, Program: o.Program}
	e.Actor = act.New(act.Options{
		Store: o.Store, Pages: e.Pages, Observer: e.Observer, Rules: e.Rules, Clients: registry, Hands: o.Hands, Evaluate: o.Debugging.Evaluate,
		Config: o.Config, Clock: o.Clock, Sets: e.SetsOf, Number: func(c *checkpoint.Client) int { return e.Viewer.Agents.Number(c) }, Notify: changed.Notify,
		Variables: func(ctx context.Context, c *checkpoint.Client, tab int) []string {
			return e.Inspector.PausedVariables(ctx, c, tab)
		},
	})
	e.Opener = launch.New(launch.Options{Store: o.Store, Pages: e.Pages, Clients: registry, Launcher: o.Launcher, Loader: e.Actor, Settings: o.Launching, Clock: o.Clock})
	e.Inspector = debugger.New(debugger.Options{
		Tabs:   &debugger.Tabs{Store: o.Store, Pages: e.Pages, Observer: e.Observer, Remote: o.Debugger, Clock: o.Clock},
		Others: o.Targets, Clients: registry, Sink: capture.NewSink(o.Store, "debugger", o.Clock), Settings: o.Debugging, Clock: o.Clock,
		Scope: func(tab int) (checkpoint.Scope, error) { return e.Viewer.Scope(tab) },
	})
	e.Viewer = viewer.New(viewer.Options{
		Store: o.Store, Named: named, Clients: registry, Rules: e.Rules, Observer: e.Observer, Pages: e.Pages, Leases: e.Actor.Leases,
		Inspector: e.Inspector, Timeline: e.Timeline, Branches: e.Branches, Regressions: e.Regressions, Trees: e.Trees, Disk: o.Disk, Clock: o.Clock, Signal: changed, Version: o.Version,
	})
	e.leaving(changed)
	return e
}

// Named returns the named checkpoints, and a number that grows with every change.
func (e *Engine) Named() ([]checkpoint.Checkpoint, uint64) { return e.named.All() }

// Store returns the engine's store.
func (e *Engine) Store() *capture.Store { return e.store }
