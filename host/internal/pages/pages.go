// Package pages reads pages as accessibility trees, and knows what each reader was shown of them; it says which tab a
// call speaks of.
//
// It guarantees: what a snapshot calls unchanged was shown as it is; a tab's lock is never held while a browser is waited
// for, and looks at one tab take turns; a call without a tab speaks of the one that the reader used last.
package pages

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Reader reads the pages of browsers. Package link implements it.
type Reader interface {
	// Aria asks a browser for the accessibility tree of a tab, by the browser's own id of it.
	Aria(ctx context.Context, instance string, params protocol.AriaParams) (*protocol.AriaResult, error)
}

// Limits of reading a page.
const (
	// DefaultFullAfter is how long after a look the next one answers with everything, if anything changed.
	DefaultFullAfter = 30 * time.Second
	PageTimeout      = 6 * time.Second
	// tabPatience is how long a tab that is not watched yet is waited for.
	tabPatience = time.Second
	// A page that is just being loaded is waited for so long, and asked again so often.
	LoadPatience = 3 * time.Second
	loadAgain    = 100 * time.Millisecond
)

// Options make pages.
type Options struct {
	Store *capture.Store
	// Reader may be nil: then no page can be read.
	Reader   Reader
	Clock    func() time.Time
	Settings Settings
}

// Pages is what is known of pages, and what each client was shown of them. It is safe for concurrent use.
type Pages struct {
	// Never changed after New.
	store     *capture.Store
	reader    Reader
	clock     func() time.Time
	fullAfter time.Duration

	mu   sync.Mutex
	tabs map[int]*Tab
	// last is the tab that each client used last.
	last map[*checkpoint.Client]int
}

// New makes pages of which nothing is known.
func New(o Options) *Pages {
	return &Pages{store: o.Store, reader: o.Reader, clock: o.Clock, fullAfter: o.Settings.fullAfter()}
}

// Tab is one tab. Its lock is never held while anything is waited for; who has seen something is guarded by
// the lock of all, what was seen by the tab's.
type Tab struct {
	sync.Mutex
	Page *aria.Page
	// looking holds something while the browser is asked for the page: looks take turns, so that none is overtaken.
	looking chan struct{}
	seen    map[*checkpoint.Client]*aria.Seen
	// told is up to where each client knows of the tab by answers to its actions.
	told map[*checkpoint.Client]capture.Moment
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
	// Diff asks for the difference wherever there is something to compare with.
	Diff bool `json:"diff,omitempty"`
}

// Snapshot is the answer of browser_snapshot.
type Snapshot struct {
	Tab int `json:"tab"`
	// Kind is full, diff, unchanged or part.
	Kind string `json:"kind"`
	// Why says why a snapshot that could have been a difference is a full one.
	Why string `json:"why,omitempty"`
	// Snapshot is the text that an agent gets.
	Snapshot string `json:"snapshot"`
}

// AgentText is what an agent gets: the snapshot alone. The same as structured content would be paid for
// twice, or hide the snapshot from an agent that is shown only one of the two.
func (s Snapshot) AgentText() string { return s.Snapshot }

// Of max_tokens: the least that an answer can be cut to, and what holds when nothing is said. Agents refuse
// answers that are longer than about 25,000 tokens, or pay for them without having meant to.
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
			return r, usererr.Invalid("root is %q; it must be a reference of a snapshot, such as e12", p.Root)
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
		return r, usererr.Invalid("diff and full_snapshot exclude each other; pass one of them")
	}
	return r, nil
}

// Snapshot answers browser_snapshot.
func (e *Pages) Snapshot(ctx context.Context, client *checkpoint.Client, p SnapshotParams) (*Snapshot, error) {
	r, err := p.request(e.clock(), e.fullAfter)
	if err != nil {
		return nil, err
	}
	for {
		id, err := e.WaitForTab(ctx, client, p.Tab)
		if err != nil {
			return nil, err
		}
		s, err := e.snapshotOf(ctx, client, id, r)
		if usererr.CodeOf(err) == usererr.TabClosed && p.Tab == 0 && e.DefaultTab(e.store.View(e.clock()), client) != id {
			continue // nobody asked for that tab in particular
		}
		return s, err
	}
}

// Operable is the snapshot of what can be operated in a tab.
func (e *Pages) Operable(ctx context.Context, client *checkpoint.Client, id int) (*Snapshot, error) {
	return e.snapshotOf(ctx, client, id, aria.Request{Interactive: true, Format: aria.FormatCompact, FullAfter: e.fullAfter})
}

// snapshotOf is the snapshot of one tab.
func (e *Pages) snapshotOf(ctx context.Context, client *checkpoint.Client, id int, r aria.Request) (*Snapshot, error) {
	t := e.Tab(id)
	t.Lock()
	defer t.Unlock()
	tree, err := e.Look(ctx, id, t, r.Full) // others may have seen the page meanwhile
	if err != nil {
		return nil, err
	}
	elsewhere := e.ClosedBefore(client) != 0
	e.Use(client, id)
	seen := e.SeenBy(t, client)
	r.Now = e.clock()
	if elsewhere || e.seesSeveral(client) {
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
	return &Snapshot{Tab: id, Kind: a.Kind, Why: a.Why, Snapshot: a.Text}, nil
}

// Unlocked does what waits without the tab's lock, which is held before and after.
func (t *Tab) Unlocked(do func()) {
	t.Unlock()
	defer t.Lock()
	do()
}

// errOvertaken says that the page was looked at by another way while the browser answered.
var errOvertaken = errors.New("the page was looked at meanwhile")

// Apply takes what the browser sent of a page of which a tree was known when it was asked. The tab is locked.
func (t *Tab) Apply(known *aria.Tree, sent *protocol.AriaResult) (*aria.Tree, error) {
	if t.Page.Tree() != known {
		return nil, errOvertaken
	}
	return t.Page.Apply(sent)
}

// ask has the browser asked for the page when it is this look's turn. The tab is locked before and after.
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

// Look brings what is known of a tab's page up to date, a whole look with all that changes without a trace.
// The tab is locked before and after, and not while the browser is waited for.
func (e *Pages) Look(ctx context.Context, id int, t *Tab, whole bool) (*aria.Tree, error) {
	if e.reader == nil {
		return nil, usererr.New(usererr.NoBrowser, "no browser is connected; open one with browser_open or `tidemark browser`")
	}
	instance, theirs, ok := e.store.BrowserTab(id)
	if !ok {
		return nil, usererr.New(usererr.TabClosed, "the tab %d has been closed; browser_tabs lists those that are open", id)
	}
	if err := e.Paused(id); err != nil {
		return nil, err
	}
	until := e.clock().Add(LoadPatience)
	if by, bounded := ctx.Deadline(); bounded && by.Before(until) {
		until = by.Add(-loadAgain) // while there is time to say why
	}
	for {
		tree, err := t.ask(ctx, func(known []protocol.AriaKnown) (*protocol.AriaResult, error) {
			return e.reader.Aria(ctx, instance, protocol.AriaParams{Tab: theirs, Known: known, TimeoutMs: int(PageTimeout.Milliseconds()), Whole: whole})
		})
		switch {
		case err == nil:
			return tree, nil
		case errors.Is(err, errOvertaken) && ctx.Err() == nil && e.clock().Before(until):
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
			return nil, fmt.Errorf("the page of tab %d cannot be read: %w", id, err)
		case coded.Code == protocol.CodePaused:
			t.Unlocked(func() { err = e.pausedNow(ctx, id) })
			return nil, err
		case coded.Code == protocol.CodeUnknown:
			return nil, usererr.New(usererr.ExtensionOutdated, "the extension in this browser is too old for snapshots; run `tidemark install` and reload it")
		case coded.Code != protocol.CodeUnavailable || !e.clock().Before(until):
			return nil, usererr.New(usererr.PageUnavailable, "tab %d: %s", id, coded.Message)
		}
		if _, _, ok := e.store.BrowserTab(id); !ok {
			return nil, usererr.New(usererr.TabClosed, "the tab %d has been closed; browser_tabs lists those that are open", id)
		}
		t.Unlocked(func() { err = rest(ctx, loadAgain) })
		if err != nil {
			return nil, err
		}
	}
}

// rest waits for a while.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// WaitForTab is [Pages.tabFor], given the moment that a tab needs which was just opened until it is watched.
func (e *Pages) WaitForTab(ctx context.Context, client *checkpoint.Client, id int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, tabPatience)
	defer cancel()
	for {
		changed := e.store.Changed()
		found, err := e.TabFor(client, id)
		if err == nil || id != 0 && usererr.CodeOf(err) != usererr.NotWatched {
			return found, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-changed:
		}
	}
}

// seesSeveral says whether more than one tab could be meant by a client: references belong to a tab.
func (e *Pages) seesSeveral(client *checkpoint.Client) bool {
	count := 0
	for _, t := range e.store.View(e.clock()).Tabs {
		if t.Watched && client.Scope.Covers(t.Origin) {
			count++
		}
	}
	return count > 1
}

// TabFor is the tab that a call speaks of: the one named, else the one that the client used last, else the
// active watched one.
func (e *Pages) TabFor(client *checkpoint.Client, id int) (int, error) {
	v := e.store.View(e.clock())
	e.forgetClosed(v)
	if err := tabs.Check(v, client.Scope, id); err != nil {
		return 0, err
	}
	if id == 0 {
		id = e.DefaultTab(v, client)
		if err := ambiguous(v, client.Scope); err != nil && id != e.LastOf(client) {
			return 0, err
		}
	}
	for _, t := range v.Tabs {
		if t.ID != id {
			continue
		}
		if !t.Watched {
			return 0, usererr.New(usererr.NotWatched, "tab %d (%s) is not watched; a person can switch it on in Tidemark's popup", id, t.URL)
		}
		return id, nil
	}
	return 0, usererr.New(usererr.NotWatched, "no tab is watched; open the page with browser_open or `tidemark browser URL`, or switch it on in Tidemark's popup")
}

// ambiguous is an error that lists the watched tabs by browser when more than one browser has any.
func ambiguous(v *capture.View, scope checkpoint.Scope) error {
	var list []string
	names := browserNames(v, scope)
	for _, b := range v.Browsers {
		var tabs []string
		for _, t := range v.Tabs {
			if t.Instance == b.Instance && t.Watched && scope.Covers(t.Origin) {
				tabs = append(tabs, fmt.Sprintf("%d (%s)", t.ID, t.URL))
			}
		}
		if len(tabs) > 0 {
			list = append(list, names[b.Instance]+" with tab "+strings.Join(tabs, ", "))
		}
	}
	if len(list) < 2 {
		return nil
	}
	return usererr.New(usererr.Ambiguous, "several browsers show watched pages: %s; pass the tab that you mean, once", strings.Join(list, "; "))
}

// browserNames are the names of the browsers that have tabs in a scope, by instance: those of the same name are
// numbered.
func browserNames(v *capture.View, scope checkpoint.Scope) map[string]string {
	names, count := map[string]string{}, map[string]int{}
	for _, t := range v.Tabs {
		if names[t.Instance] != "" || !scope.Covers(t.Origin) {
			continue
		}
		names[t.Instance] = t.Browser
		if count[t.Browser]++; count[t.Browser] > 1 {
			names[t.Instance] = fmt.Sprintf("%s #%d", t.Browser, count[t.Browser])
		}
	}
	return names
}

// DefaultTab is 0 when there is none.
func (e *Pages) DefaultTab(v *capture.View, client *checkpoint.Client) int {
	last := e.LastOf(client)
	first, active := 0, 0
	for _, t := range v.Tabs {
		if !t.Watched || !client.Scope.Covers(t.Origin) {
			continue
		}
		if t.ID == last {
			return last
		}
		if first == 0 {
			first = t.ID
		}
		if t.Active {
			active = t.ID
		}
	}
	if active != 0 {
		return active
	}
	return first
}

// Tab is what is known of a tab.
func (e *Pages) Tab(id int) *Tab {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tabs[id]
	if t == nil {
		if e.tabs == nil {
			e.tabs = map[int]*Tab{}
		}
		t = &Tab{Page: aria.NewPage(), looking: make(chan struct{}, 1), seen: map[*checkpoint.Client]*aria.Seen{}, told: map[*checkpoint.Client]capture.Moment{}}
		e.tabs[id] = t
	}
	return t
}

// Use notes the tab that a client used last.
func (e *Pages) Use(client *checkpoint.Client, id int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil {
		e.last = map[*checkpoint.Client]int{}
	}
	e.last[client] = id
}

// LastOf is the tab that a client used last, 0 for none.
func (e *Pages) LastOf(client *checkpoint.Client) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last[client]
}

// forgetClosed drops what is known of tabs that are no longer there.
func (e *Pages) forgetClosed(v *capture.View) {
	open := map[int]bool{}
	for _, t := range v.Tabs {
		open[t.ID] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.tabs {
		if !open[id] {
			delete(e.tabs, id)
		}
	}
}

// Forget drops what a client that has left was shown.
func (e *Pages) Forget(client *checkpoint.Client) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.last, client)
	for _, t := range e.tabs {
		delete(t.seen, client)
		delete(t.told, client)
	}
}

// SeenBy is what a client was shown of a tab.
func (e *Pages) SeenBy(t *Tab, client *checkpoint.Client) *aria.Seen {
	e.mu.Lock()
	defer e.mu.Unlock()
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
	// Watched tabs can be looked at.
	Watched bool `json:"watched,omitempty"`
	// Active is the tab in front of its browser.
	Active bool `json:"active,omitempty"`
	// Browser is the one that it is in, told where there are several.
	Browser string `json:"browser,omitempty"`
	// Current is the tab that a call without one speaks of.
	Current bool `json:"current,omitempty"`
}

// ClosedBefore is the tab that a client used last, where that has been closed; else 0.
func (e *Pages) ClosedBefore(client *checkpoint.Client) int {
	last := e.LastOf(client)
	if _, _, open := e.store.BrowserTab(last); open {
		return 0
	}
	return last
}

// ToldOf is up to where a client knows what happened on a tab by answers to its actions; first is true before
// there was one.
func (e *Pages) ToldOf(t *Tab, client *checkpoint.Client) (from capture.Moment, first bool) {
	e.mu.Lock()
	from, known := t.told[client]
	e.mu.Unlock()
	if !known {
		from = e.store.View(e.clock()).Now()
	}
	return from, !known
}

// Tell notes up to where a client was told.
func (e *Pages) Tell(t *Tab, client *checkpoint.Client, at capture.Moment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t.told[client] = at
}

// Paused is an error that says so when the debugger holds a tab's page: nothing can be done in it.
func (e *Pages) Paused(tab int) error {
	if says := tabs.PausedIn(e.store.View(e.clock()), func(_ string, id int) bool { return id == tab }); says != "" {
		return usererr.New(usererr.PagePaused, "%s", says)
	}
	return nil
}

// pausedNow is [Pages.Paused] for a tab of which its browser says that it is: who did it comes in a message of its
// own, a moment later.
func (e *Pages) pausedNow(ctx context.Context, tab int) error {
	ctx, cancel := context.WithTimeout(ctx, tabPatience)
	defer cancel()
	for {
		changed := e.store.Changed()
		if err := e.Paused(tab); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return usererr.New(usererr.PagePaused, "tab %d is paused in the debugger; debugger_resume lets it go on", tab)
		case <-changed:
		}
	}
}

// List lists the tabs that a client can see.
func (e *Pages) List(client *checkpoint.Client) *TabList {
	v := e.store.View(e.clock())
	current := e.DefaultTab(v, client)
	list := &TabList{Tabs: []TabLine{}}
	names := browserNames(v, client.Scope)
	for _, t := range v.Tabs {
		if client.Scope.Covers(t.Origin) {
			line := TabLine{ID: t.ID, URL: t.URL, Title: t.Title, Watched: t.Watched, Active: t.Active, Current: t.ID == current}
			if len(names) > 1 {
				line.Browser = names[t.Instance]
			}
			list.Tabs = append(list.Tabs, line)
		}
	}
	return list
}
