// Package pages reads pages as accessibility trees, records what each client was shown, and picks the tab of a call.
//
// It guarantees:
//   - A client was shown, in its current state, everything that a snapshot calls unchanged.
//   - A tab's lock is never held while waiting for a browser. Reads of one tab take turns.
//   - A call without a tab uses the tab that the client used last.
package pages

import (
	"context"
	"errors"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Reader reads the pages of browsers. Package link implements it.
type Reader interface {
	// Aria requests the accessibility tree of a tab from a browser. The tab is given by the browser's own id.
	Aria(ctx context.Context, instance string, params protocol.AriaParams) (*protocol.AriaResult, error)
}

// Finder finds what a page hides. Package act implements it.
type Finder interface {
	// Hidden names the first hidden element with a text, and what hides it. It returns "" if there is none, or if the page
	// cannot be asked.
	Hidden(ctx context.Context, client *checkpoint.Client, tab int, text string) string
}

// Limits of reading a page.
const (
	// DefaultFullAfter is the age of a snapshot after which the next one of a changed page is a full one.
	DefaultFullAfter = 30 * time.Second
	// PageTimeout limits one read of a page in the browser.
	PageTimeout = 6 * time.Second
	// tabPatience is how long a call waits for a tab to be watched.
	tabPatience = time.Second
	// LoadPatience is how long a call waits for a page that is loading; loadRetry is the time between two attempts.
	LoadPatience = 3 * time.Second
	loadRetry    = 100 * time.Millisecond
)

// Options configure [New].
type Options struct {
	Store *capture.Store
	// Reader may be nil. Then no page can be read.
	Reader Reader
	// Finder returns the finder of hidden elements. It may be nil.
	Finder   func() Finder
	Clock    func() time.Time
	Settings Settings
}

// Pages stores the known trees of pages and what each client was shown of them. It is safe for concurrent use.
type Pages struct {
	// Immutable after New.
	store     *capture.Store
	reader    Reader
	finder    func() Finder
	clock     func() time.Time
	fullAfter time.Duration
	onUse     func(client *checkpoint.Client, tab int) // may be nil; set before the first call

	mu   sync.Mutex
	tabs map[int]*Tab
	// last maps each client to the tab that it used last.
	last map[*checkpoint.Client]int
}

// New returns an empty Pages.
func New(o Options) *Pages {
	return &Pages{store: o.Store, reader: o.Reader, finder: o.Finder, clock: o.Clock, fullAfter: o.Settings.fullAfter()}
}

// Tab is one tab. Its lock is never held during a wait. The maps are guarded by the lock of [Pages], and what they
// contain by the lock of the tab.
type Tab struct {
	sync.Mutex
	Page *aria.Page
	// looking contains a token while a read is under way. Reads take turns, so that none overtakes another.
	looking chan struct{}
	seen    map[*checkpoint.Client]*aria.Seen
	// reported is the moment up to which action answers have reported the tab's events to each client.
	reported map[*checkpoint.Client]capture.Moment
}

// SnapshotParams are the arguments of browser_snapshot.
type SnapshotParams struct {
	Tab             int    `json:"tab,omitempty"`
	InteractiveOnly *bool  `json:"interactive_only,omitempty"`
	FullSnapshot    bool   `json:"full_snapshot,omitempty"`
	Format          string `json:"format,omitempty"`
	Root            string `json:"root,omitempty"`
	Depth           *int   `json:"depth,omitempty"`
	Search          string `json:"search,omitempty"`
	MaxTokens       *int   `json:"max_tokens,omitempty"`
	// Diff requests the difference wherever an earlier snapshot exists.
	Diff bool `json:"diff,omitempty"`
}

// Snapshot is the answer of browser_snapshot.
type Snapshot struct {
	Tab int `json:"tab"`
	// Kind is full, diff, unchanged or part.
	Kind string `json:"kind"`
	// Why is the reason for a full snapshot where a difference was possible.
	Why string `json:"why,omitempty"`
	// Snapshot is the text for the agent.
	Snapshot string `json:"snapshot"`
	// missed is true if nothing matched a search.
	missed bool
}

// AgentText returns the snapshot alone. Structured content in addition would cost its tokens twice, or hide the
// snapshot from an agent that sees only one of the two.
func (s Snapshot) AgentText() string { return s.Snapshot }

// Minimum and default of max_tokens. Agents reject answers of more than about 25,000 tokens, or pay for them
// unintentionally.
const (
	minMaxTokens     = 100
	DefaultMaxTokens = 20_000
)

func (p *SnapshotParams) request(now time.Time, fullAfter time.Duration) (aria.Request, error) {
	r := aria.Request{Interactive: p.InteractiveOnly == nil || *p.InteractiveOnly, Full: p.FullSnapshot, Diff: p.Diff, Search: event.Clean(p.Search), MaxTokens: DefaultMaxTokens, Now: now, FullAfter: fullAfter}
	switch p.Format {
	case "", aria.FormatCompact:
		r.Format = aria.FormatCompact
	case aria.FormatYAML:
		r.Format = aria.FormatYAML
	default:
		return r, usererr.Invalid("format is %q; it must be compact or yaml", p.Format)
	}
	if p.Root != "" {
		ref, ok := aria.ParseReference(p.Root)
		if !ok {
			return r, usererr.Invalid("root is %q; it must be a reference from browser_snapshot, such as e12", p.Root)
		}
		r.Root = ref
	}
	if p.Depth != nil {
		if *p.Depth < 1 {
			return r, usererr.Invalid("depth is %d; it must be 1 or more", *p.Depth)
		}
		r.Depth = *p.Depth
	}
	if p.MaxTokens != nil {
		if *p.MaxTokens < minMaxTokens {
			return r, usererr.Invalid("max_tokens is %d; it must be %d or more", *p.MaxTokens, minMaxTokens)
		}
		r.MaxTokens = *p.MaxTokens
	}
	if p.Diff && p.FullSnapshot {
		return r, usererr.Invalid("pass only one of diff and full_snapshot")
	}
	return r, nil
}

var browserSnapshotTool = tool.New(tool.Definition{
	Name: "browser_snapshot", Title: "Page snapshot", Effect: tool.Advances,
	Description: "Capture page structure as ARIA accessibility tree, with element references [e12]. Later calls on the same page return only what changed.",
	Arguments: `
		"interactive_only":{"type":"boolean","description":"default true; false: also all other text"},
		"full_snapshot":{"type":"boolean","description":"return everything"},
		"root":{"type":"string","description":"ref: only inside this element"},
		"depth":{"type":"integer"},
		"search":{"type":"string","description":"only lines with this text"},
		"max_tokens":{"type":"integer"},
		"format":{"type":"string","enum":["compact","yaml"]},
		"tab":{"type":"integer","description":"default: last used"}`,
}, (*Pages).Snapshot)

// Snapshot answers browser_snapshot.
func (p *Pages) Snapshot(ctx context.Context, client *checkpoint.Client, params SnapshotParams) (*Snapshot, error) {
	r, err := params.request(p.clock(), p.fullAfter)
	if err != nil {
		return nil, err
	}
	for {
		id, err := p.WaitForTab(ctx, client, params.Tab)
		if err != nil {
			return nil, err
		}
		s, err := p.snapshotOf(ctx, client, id, r)
		if usererr.CodeOf(err) == usererr.TabClosed && params.Tab == 0 && p.DefaultTab(p.store.View(p.clock()), client) != id {
			continue // the call named no tab
		}
		if err == nil && s.missed && p.finder != nil {
			if hidden := p.finder().Hidden(ctx, client, id, r.Search); hidden != "" {
				s.Snapshot += "[Hidden: " + hidden + "]\n"
			}
		}
		return s, err
	}
}

// Operable returns the snapshot of the interactive elements of a tab.
func (p *Pages) Operable(ctx context.Context, client *checkpoint.Client, id int) (*Snapshot, error) {
	return p.snapshotOf(ctx, client, id, aria.Request{Interactive: true, Format: aria.FormatCompact, FullAfter: p.fullAfter})
}

// snapshotOf returns the snapshot of one tab.
func (p *Pages) snapshotOf(ctx context.Context, client *checkpoint.Client, id int, r aria.Request) (*Snapshot, error) {
	t := p.Tab(id)
	t.Lock()
	defer t.Unlock()
	tree, err := p.Look(ctx, id, t, r.Full) // another client may read the page in the meantime
	if err != nil {
		return nil, err
	}
	if err := p.Outside(client, id, tree); err != nil {
		return nil, err
	}
	elsewhere := p.ClosedBefore(client) != 0
	p.Use(client, id)
	seen := p.SeenBy(t, client)
	r.Now = p.clock()
	if elsewhere || p.seesSeveralTabs(client) {
		r.Tab = id
	}
	a, err := seen.Show(t.Page, tree, r)
	var gone *aria.GoneError
	if errors.As(err, &gone) {
		return nil, usererr.New(usererr.ReferenceGone, "%s", gone.Error())
	}
	if err != nil {
		return nil, err
	}
	return &Snapshot{Tab: id, Kind: a.Kind, Why: a.Why, Snapshot: a.Text, missed: a.Missed}, nil
}

// Outside returns an error if a tree is that of a page outside of a client's origins: the tab may have left them just
// before it was read.
func (p *Pages) Outside(client *checkpoint.Client, id int, tree *aria.Tree) error {
	if client.Scope.CoversOrigin(capture.OriginOf(tree.URL)) {
		return nil
	}
	return outside(client.Scope, true, id)
}

// Unlocked calls do without the tab's lock, which is held before and after.
func (t *Tab) Unlocked(do func()) {
	t.Unlock()
	defer t.Lock()
	do()
}

// errOvertaken means that an action read the page while the browser answered.
var errOvertaken = errors.New("an action read the page at the same time")

// Apply applies what the browser sent in reply to a request that was based on the tree known. The tab is locked.
func (t *Tab) Apply(known *aria.Tree, sent *protocol.AriaResult) (*aria.Tree, error) {
	if t.Page.Tree() != known {
		return nil, errOvertaken
	}
	return t.Page.Apply(sent)
}

// ask waits for this read's turn and requests the page. The tab is locked before and after.
func (t *Tab) ask(ctx context.Context, look func(known []protocol.AriaKnown) (*protocol.AriaResult, error)) (tree *aria.Tree, err error) {
	var sent *protocol.AriaResult
	var before *aria.Tree
	t.Unlocked(func() {
		select {
		case t.looking <- struct{}{}:
		case <-ctx.Done():
			err = ctx.Err()
			return
		}
		defer func() { <-t.looking }()
		t.Lock()
		known := t.Page.Known()
		before = t.Page.Tree()
		t.Unlock()
		sent, err = look(known)
	})
	if err != nil {
		return nil, err
	}
	return t.Apply(before, sent)
}

// Look updates the known tree of a tab's page. With whole, it also finds changes that leave no trace in the DOM. The tab
// is locked before and after, and unlocked while waiting for the browser.
func (p *Pages) Look(ctx context.Context, id int, t *Tab, whole bool) (*aria.Tree, error) {
	if p.reader == nil {
		return nil, NoBrowser()
	}
	instance, browserTab, ok := p.store.BrowserTab(id)
	if !ok {
		return nil, Closed(id)
	}
	if err := p.Paused(id); err != nil {
		return nil, err
	}
	until := p.clock().Add(LoadPatience)
	if by, bounded := ctx.Deadline(); bounded && by.Before(until) {
		until = by.Add(-loadRetry) // leave time to report the reason
	}
	for {
		tree, err := t.ask(ctx, func(known []protocol.AriaKnown) (*protocol.AriaResult, error) {
			return p.reader.Aria(ctx, instance, protocol.AriaParams{Tab: browserTab, Known: known, TimeoutMs: int(PageTimeout.Milliseconds()), Whole: whole})
		})
		switch {
		case err == nil:
			return tree, nil
		case errors.Is(err, errOvertaken) && ctx.Err() == nil && p.clock().Before(until):
			continue
		case errors.Is(err, aria.ErrOutOfStep):
			t.Page.Forget()
			err = &protocol.Error{Code: protocol.CodeUnavailable, Message: err.Error()}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var coded *protocol.Error
		switch {
		case !errors.As(err, &coded):
			return nil, usererr.New(usererr.PageUnavailable, "cannot read the page of tab %d: %v. Call it again: a browser that restarted its extension reconnects.", id, err)
		case coded.Code == protocol.CodePaused:
			t.Unlocked(func() { err = p.pausedNow(ctx, id) })
			return nil, err
		case coded.Code == protocol.CodeUnknown:
			return nil, usererr.New(usererr.ExtensionOutdated, "the extension in this browser is too old for snapshots. Ask the user to run `tidemark install` and to reload it.")
		case coded.Code != protocol.CodeUnavailable || !p.clock().Before(until):
			return nil, usererr.New(usererr.PageUnavailable, "tab %d: %s", id, coded.Message)
		}
		if _, _, ok := p.store.BrowserTab(id); !ok {
			return nil, Closed(id)
		}
		t.Unlocked(func() { err = sleep(ctx, loadRetry) })
		if err != nil {
			return nil, err
		}
	}
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Tab returns the stored state of a tab, and creates it when needed.
func (p *Pages) Tab(id int) *Tab {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tabs[id]
	if t == nil {
		if p.tabs == nil {
			p.tabs = map[int]*Tab{}
		}
		t = &Tab{Page: aria.NewPage(), looking: make(chan struct{}, 1), seen: map[*checkpoint.Client]*aria.Seen{}, reported: map[*checkpoint.Client]capture.Moment{}}
		p.tabs[id] = t
	}
	return t
}

// OnUse sets what is called when a client uses a tab. The tab may be locked then.
func (p *Pages) OnUse(f func(client *checkpoint.Client, tab int)) { p.onUse = f }

// Use records the tab that a client used last.
func (p *Pages) Use(client *checkpoint.Client, id int) {
	p.mu.Lock()
	if p.last == nil {
		p.last = map[*checkpoint.Client]int{}
	}
	p.last[client] = id
	p.mu.Unlock()
	if p.onUse != nil {
		p.onUse(client, id)
	}
}

// LastOf returns the tab that a client used last, or 0.
func (p *Pages) LastOf(client *checkpoint.Client) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[client]
}

// forgetClosed drops the state of closed tabs.
func (p *Pages) forgetClosed(v *capture.View) {
	open := map[int]bool{}
	for _, t := range v.Tabs {
		open[t.ID] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.tabs {
		if !open[id] {
			delete(p.tabs, id)
		}
	}
}

// Forget drops the records about a client that disconnected.
func (p *Pages) Forget(client *checkpoint.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, client)
	for _, t := range p.tabs {
		delete(t.seen, client)
		delete(t.reported, client)
	}
}

// SeenBy returns the record of what a client was shown of a tab.
func (p *Pages) SeenBy(t *Tab, client *checkpoint.Client) *aria.Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := t.seen[client]
	if seen == nil {
		seen = &aria.Seen{}
		t.seen[client] = seen
	}
	return seen
}

// TabsParams are the arguments of browser_tabs.
type TabsParams struct {
	// Action is list (also ""), new (with URL), select or close (with Tab).
	Action string `json:"action,omitempty"`
	Tab    int    `json:"tab,omitempty"`
	URL    string `json:"url,omitempty"`
}

// TabList is the answer of browser_tabs.
type TabList struct {
	Tabs []TabLine `json:"tabs"`
}

// TabLine is one tab.
type TabLine struct {
	ID    int    `json:"id"`
	URL   string `json:"url"`
	Title string `json:"title"`
	// Watched tabs can be read.
	Watched bool `json:"watched,omitempty"`
	// Active is the tab in front of its browser.
	Active bool `json:"active,omitempty"`
	// Browser is the name of the tab's browser, set only if several browsers have tabs in scope.
	Browser string `json:"browser,omitempty"`
	// Current marks the tab that calls without one use.
	Current bool `json:"current,omitempty"`
}

// ClosedBefore returns the tab that a client used last if it was closed, else 0.
func (p *Pages) ClosedBefore(client *checkpoint.Client) int {
	last := p.LastOf(client)
	if _, _, open := p.store.BrowserTab(last); open {
		return 0
	}
	return last
}

// ReportedUntil returns the moment up to which action answers have reported a tab's events to a client. Before the first
// answer, first is true and the moment is now.
func (p *Pages) ReportedUntil(t *Tab, client *checkpoint.Client) (from capture.Moment, first bool) {
	p.mu.Lock()
	from, known := t.reported[client]
	p.mu.Unlock()
	if !known {
		from = p.store.View(p.clock()).Now()
	}
	return from, !known
}

// MarkReported records the moment up to which an action answer has reported events to a client.
func (p *Pages) MarkReported(t *Tab, client *checkpoint.Client, at capture.Moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.reported[client] = at
}

// Paused returns an error if a tab's page is paused in the debugger, because such a page cannot be read or acted on.
func (p *Pages) Paused(tab int) error {
	if why := tabs.PausedIn(p.store.View(p.clock()), func(s event.Subject) bool { return s.Tab() == tab }); why != "" {
		return usererr.New(usererr.PagePaused, "%s", why)
	}
	return nil
}

// pausedNow is [Pages.Paused] for a tab that its browser reports as paused. It waits for the message that names who
// paused it, which comes a moment later.
func (p *Pages) pausedNow(ctx context.Context, tab int) error {
	ctx, cancel := context.WithTimeout(ctx, tabPatience)
	defer cancel()
	for {
		changed := p.store.Changed()
		if err := p.Paused(tab); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return usererr.New(usererr.PagePaused, "tab %d is paused in the debugger. Resume it with debugger_resume.", tab)
		case <-changed:
		}
	}
}

// List lists the tabs that a client can see.
func (p *Pages) List(client *checkpoint.Client) *TabList {
	v := p.store.View(p.clock())
	current := p.DefaultTab(v, client)
	list := &TabList{Tabs: []TabLine{}}
	names := browserNames(v, client.Scope)
	for _, t := range v.Tabs {
		if client.Scope.CoversOrigin(t.Origin) {
			line := TabLine{ID: t.ID, URL: t.URL, Title: t.Title, Watched: t.Watched, Active: t.Active, Current: t.ID == current}
			if len(names) > 1 {
				line.Browser = names[t.Instance]
			}
			list.Tabs = append(list.Tabs, line)
		}
	}
	return list
}
