// Package launch opens browsers for agents.
//
// Guarantees:
//   - All agents together open at most four browsers.
//   - A headless browser ends some time after its last agent has left. A browser with a window stays until the user
//     closes it.
//   - A browser without tabs ends, and does not count.
//   - An agent opens only pages in its scope.
package launch

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Launcher starts browsers for agents. Package daemon implements it.
type Launcher interface {
	// Launch returns when the browser is connected and shows its first page, which may still be loading. The
	// browser lives until it is closed, or the daemon ends.
	Launch(context.Context, LaunchRequest) (OwnBrowser, error)
}

// Loader waits for pages. Package act implements it.
type Loader interface {
	// UntilLoaded returns when the page of a watched tab is usable, or when its time to load is over.
	UntilLoaded(ctx context.Context, tab int) Loaded
	// Problems returns what broke in a tab since a moment, a line each, and marks it as given to the client.
	Problems(ctx context.Context, client *checkpoint.Client, tab int, since capture.Moment) []string
	// Reload loads the page of a watched tab again, as an action of the client, and does not wait for it.
	Reload(ctx context.Context, client *checkpoint.Client, tab int) error
}

// Loaded is the state of a page after the wait for it.
type Loaded struct {
	// Loading means that the page is still loading. Requests is how many of its requests have not ended.
	Loading  bool
	Requests int
	// Empty means that the page has not rendered anything.
	Empty bool
	// Failed is the browser's error if it shows an error page instead of the page, else "".
	Failed string
}

// LaunchRequest describes the browser to open.
type LaunchRequest struct {
	// URL is an http or https URL, "" for an empty page.
	URL string
	// Headless opens no window. Without a display, every browser is headless.
	Headless bool
	// Kept uses the persistent profile. Otherwise the browser gets a fresh one, which is removed at the end.
	Kept bool
	// Browser is a family, such as chromium. "" means the first one found.
	Browser string
}

// OwnBrowser is a browser that an agent opened.
type OwnBrowser interface {
	// Instance is the name that its extension sends.
	Instance() string
	Headless() bool
	// Open opens a page in another tab, and returns when the tab shows it. It may still be loading. An empty url opens an
	// empty page.
	Open(ctx context.Context, url string) error
	// Close ends the browser and returns when it has exited.
	Close() error
	// Done is closed when the browser has exited.
	Done() <-chan struct{}
	// Notes returns messages for the user about the launch.
	Notes() []string
}

// Limits of browsers that agents open.
const (
	// DefaultKeepOpen is how long a headless browser stays after its agent has left.
	DefaultKeepOpen = time.Minute
	maxOwn          = 4
	// openPatience is how long a new tab may take to be reported and watched.
	openPatience = 5 * time.Second
)

// Options make an opener.
type Options struct {
	Store   *capture.Store
	Pages   *pages.Pages
	Clients *clients.Registry
	// Launcher may be nil. Agents then cannot open browsers.
	Launcher Launcher
	Loader   Loader
	Settings Settings
	Clock    func() time.Time
}

// Opener opens browsers for agents. It is safe for concurrent use.
type Opener struct {
	// Never changed after New.
	store   *capture.Store
	pages   *pages.Pages
	clients *clients.Registry
	loader  Loader
	clock   func() time.Time

	own ownBrowsers
}

// New makes an opener.
func New(o Options) *Opener {
	e := &Opener{store: o.Store, pages: o.Pages, clients: o.Clients, loader: o.Loader, clock: o.Clock, own: ownBrowsers{launcher: o.Launcher, keepOpen: o.Settings.keepOpen()}}
	e.pages.OnUse(e.used)
	return e
}

// Back reports that a client has returned.
func (e *Opener) Back(client *checkpoint.Client) { e.own.back(client) }

// Left reports that a client has left. Its headless browsers pass to another agent that uses them, or end after a while.
func (e *Opener) Left(client *checkpoint.Client) { e.own.left(client, e.heirOf) }

// used passes the browser of a tab that a client uses to this client if its agent has left.
func (e *Opener) used(client *checkpoint.Client, tab int) {
	instance, _, ok := e.store.BrowserTab(tab)
	if !ok || !e.clients.Connected(client) {
		return
	}
	if b, owner := e.own.of(instance); b == nil || owner != nil || !e.own.adopt(b, client) {
		return
	}
	if !e.clients.Connected(client) { // it left meanwhile
		e.Left(client)
	}
}

// ownBrowsers holds the browsers that agents opened. A browser with a window stays until the user closes it. A headless
// one ends a while after its last agent has left.
type ownBrowsers struct {
	launcher Launcher
	keepOpen time.Duration

	mu       sync.Mutex
	list     []*ownBrowser
	starting int
}

type ownBrowser struct {
	OwnBrowser
	kept  bool
	owner *checkpoint.Client
	end   *time.Timer // nil while its owner is here
	// opening counts the calls that open a page in it.
	opening int
}

// openLocked returns the running browsers.
func (o *ownBrowsers) openLocked() []*ownBrowser {
	o.list = slices.DeleteFunc(o.list, func(b *ownBrowser) bool {
		select {
		case <-b.Done():
			return true
		default:
			return false
		}
	})
	return o.list
}

// left passes a client's headless browsers to the client that heir returns, or ends them after a while.
func (o *ownBrowsers) left(client *checkpoint.Client, heir func(instance string) *checkpoint.Client) {
	o.mu.Lock()
	running := slices.Clone(o.openLocked())
	o.mu.Unlock()
	for _, b := range running {
		if b.Headless() {
			o.inherit(b, client, heir(b.Instance())) // heir takes other locks, never inside this one
		}
	}
}

// inherit passes the browser of a client that has left to the next client, or ends it after a while if next is nil.
func (o *ownBrowsers) inherit(b *ownBrowser, client, next *checkpoint.Client) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case b.owner != client || b.end != nil:
	case next != nil:
		b.owner = next
	default:
		var end *time.Timer
		end = time.AfterFunc(o.keepOpen, func() {
			o.mu.Lock()
			abandoned := b.end == end
			o.mu.Unlock()
			if abandoned {
				_ = b.Close() // the log has the outcome
			}
		})
		b.end = end
	}
}

// back cancels the end of a returned client's browsers.
func (o *ownBrowsers) back(client *checkpoint.Client) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.openLocked() {
		if b.owner == client && b.end != nil {
			b.end.Stop()
			b.end = nil
		}
	}
}

// heirOf returns a connected client whose last call used a browser, nil without one.
func (e *Opener) heirOf(instance string) *checkpoint.Client {
	for _, s := range e.clients.All() {
		if of, _, ok := e.store.BrowserTab(e.pages.LastOf(s.Client)); s.Connected && ok && of == instance {
			return s.Client
		}
	}
	return nil
}

// OpenParams are the arguments of browser_open.
type OpenParams struct {
	URL      string `json:"url,omitempty"`
	Headless bool   `json:"headless,omitempty"`
	Profile  string `json:"profile,omitempty"`
	Browser  string `json:"browser,omitempty"`
}

// BrowserOpened is the answer of browser_open.
type BrowserOpened struct {
	Browser  string `json:"browser"`
	Headless bool   `json:"headless,omitempty"`
	// Profile is "" for a browser that no agent opened.
	Profile string `json:"profile,omitempty"`
	Tab     int    `json:"tab"`
	// Reused means that the tab already showed the page.
	Reused bool `json:"reused,omitempty"`
	// Loading is how many requests have not ended if the page is still loading, else 0.
	Loading int      `json:"loading,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	// Problems are the errors and warnings of the load, a line each.
	Problems []string `json:"problems,omitempty"`
	// Snapshot is the snapshot of the page, "" when the page cannot be read.
	Snapshot string `json:"snapshot,omitempty"`
}

// AgentText returns the answer as text for an agent.
func (b BrowserOpened) AgentText() string {
	var text strings.Builder
	var shape []string
	if b.Reused {
		shape = append(shape, "already open")
	}
	if b.Headless {
		shape = append(shape, "headless")
	}
	if b.Profile != "" {
		shape = append(shape, b.Profile+" profile")
	}
	fmt.Fprintf(&text, "%s (%s), tab %d", b.Browser, strings.Join(shape, ", "), b.Tab)
	for _, n := range b.Notes {
		text.WriteString("\n" + n)
	}
	if len(b.Problems) > 0 {
		text.WriteString("\nProblems:\n- " + strings.Join(b.Problems, "\n- "))
	}
	if b.Snapshot != "" {
		text.WriteString("\n" + b.Snapshot)
	}
	return text.String()
}

// Tools are the tools that open a browser.
var Tools = []*tool.Tool[*Opener]{
	browserOpenTool,
}

func (p *OpenParams) request(scope checkpoint.Scope) (LaunchRequest, error) {
	r := LaunchRequest{Headless: p.Headless, Browser: p.Browser}
	switch p.Profile {
	case "", "fresh":
		p.Profile = "fresh"
	case "kept":
		r.Kept = true
	default:
		return r, usererr.Invalid("profile must be fresh or kept, not %q", p.Profile)
	}
	if p.URL == "" {
		return r, nil
	}
	if !strings.Contains(p.URL, "://") {
		p.URL = "http://" + p.URL
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return r, usererr.Invalid("url must be an http or https URL, not %q", p.URL)
	}
	if err := scope.MayOpen(capture.OriginOf(p.URL)); err != nil {
		return r, err
	}
	r.URL = p.URL
	return r, nil
}

var browserOpenTool = tool.New(tool.Definition{
	Name: "browser_open", Title: "Open a browser", Effect: tool.Creates,
	Description: "Open a page in a separate browser. Unless profile is fresh, a tab that shows it is used instead, or your browser that has its site open.",
	Arguments: `
		"url":{"type":"string"},
		"headless":{"type":"boolean","description":"without a window"},
		"profile":{"type":"string","enum":["fresh","kept"],"description":"default fresh: removed at the end"},
		"browser":{"type":"string","description":"chrome, chromium, edge or brave"}`,
}, (*Opener).BrowserOpen)

// BrowserOpen answers browser_open.
func (e *Opener) BrowserOpen(ctx context.Context, client *checkpoint.Client, p OpenParams) (*BrowserOpened, error) {
	anywhere := p.Profile != "fresh" && p.Browser == ""
	r, err := p.request(client.Scope)
	if err != nil {
		return nil, err
	}
	if tab, b, ok := e.showing(client, r, sameAddress); ok && anywhere {
		e.pages.Use(client, tab.ID)
		answer := &BrowserOpened{Browser: tab.Browser, Tab: tab.ID, Reused: true}
		if b != nil {
			e.own.adopt(b, client)
			answer.Headless, answer.Profile = b.Headless(), b.profile()
		}
		e.look(ctx, client, tab.URL, answer, e.store.View(e.clock()).Now())
		return answer, ctx.Err()
	}
	if e.own.launcher == nil {
		return nil, usererr.New(usererr.NoBrowser, "cannot open a browser here. Ask the user to run `tidemark browser`.")
	}
	before := e.store.View(e.clock())
	var site *ownBrowser
	if anywhere {
		_, site, _ = e.showing(client, r, sameSite)
	}
	b, notes, err := e.open(ctx, client, r, site)
	if err != nil {
		return nil, err
	}
	defer e.own.opens(b)()
	tab := e.openedTab(ctx, b.Instance(), before.Tabs, r.URL != "")
	if tab.ID == 0 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, usererr.New(usererr.NoBrowser, "the browser exited or reported no tab. Call browser_tabs to list open tabs.")
	}
	e.pages.Use(client, tab.ID)
	answer := &BrowserOpened{Browser: tab.Browser, Headless: b.Headless(), Profile: b.profile(), Tab: tab.ID, Notes: notes}
	switch {
	case tab.Watched:
		if e.look(ctx, client, p.URL, answer, before.Now()); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	case e.arrives(tab.ID):
		answer.Notes = append(answer.Notes, p.URL+" has not responded yet. Check its server. Wait with browser_wait_for.")
	case r.URL != "":
		answer.Notes = append(answer.Notes, p.URL+" is not watched: only localhost, loopback addresses and *.test are automatic. The user can turn it on in the popup of a browser with a window.")
	}
	return answer, nil
}

// arrives reports whether a tab that is not watched is on its way to a page that will be. Requests of other pages are not
// captured.
func (e *Opener) arrives(tab int) bool {
	return slices.ContainsFunc(e.store.View(e.clock()).Flights, func(f capture.Flight) bool { return f.Tab == tab })
}

// look waits until the page of an answer is usable, and adds its snapshot and what broke since a moment. A page that has not
// rendered yet has no snapshot. A tab that was open with an error page loads its page again.
func (e *Opener) look(ctx context.Context, client *checkpoint.Client, address string, answer *BrowserOpened, since capture.Moment) {
	state := e.loader.UntilLoaded(ctx, answer.Tab)
	if state.Failed != "" && answer.Reused {
		if err := e.loader.Reload(ctx, client, answer.Tab); err != nil {
			answer.Notes = append(answer.Notes, event.Clean(err.Error()))
		} else {
			state = e.loader.UntilLoaded(ctx, answer.Tab)
		}
	}
	if failed := event.Clean(state.Failed); failed != "" {
		if !slices.ContainsFunc(answer.Notes, func(n string) bool { return strings.Contains(n, failed) }) { // the launch reports it too
			answer.Notes = append(answer.Notes, fmt.Sprintf("cannot open %s: %s. Check the address and the server, then open it again.", event.Clean(address), failed))
		}
		return
	}
	defer func() { answer.Problems = e.loader.Problems(ctx, client, answer.Tab, since) }()
	if state.Loading {
		answer.Loading = state.Requests
		loading := "still loading"
		if state.Requests > 0 {
			loading = fmt.Sprintf("still loading: %d request(s)", state.Requests)
		}
		answer.Notes = append(answer.Notes, loading+". Wait with browser_wait_for.")
		if state.Empty {
			return
		}
	}
	s, err := e.pages.Operable(ctx, client, answer.Tab)
	if err != nil {
		answer.Notes = append(answer.Notes, event.Clean(err.Error()))
		return
	}
	answer.Snapshot = s.Snapshot
}

// showing returns the watched tab in a client's scope whose address is the same as the requested one: the tab that the client
// used last, else the newest. b is its browser if an agent opened it. Browsers of other agents do not count.
func (e *Opener) showing(client *checkpoint.Client, r LaunchRequest, same func(a, b string) bool) (tab capture.Tab, b *ownBrowser, ok bool) {
	if r.URL == "" {
		return tab, nil, false
	}
	last := e.pages.LastOf(client)
	for _, t := range e.store.View(e.clock()).Tabs {
		if !t.Watched || !client.Scope.CoversOrigin(t.Origin) || !same(t.URL, r.URL) || ok && tab.ID == last {
			continue
		}
		of, owner := e.own.of(t.Instance)
		if owner != nil && owner != client || r.Kept && (of == nil || !of.kept) || r.Headless && (of == nil || !of.Headless()) {
			continue
		}
		tab, b, ok = t, of, true
	}
	return tab, b, ok
}

// sameAddress reports whether two addresses are the same. An empty path is the root.
func sameAddress(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	if errX != nil || errY != nil {
		return false
	}
	x.Path, y.Path = cmp.Or(x.Path, "/"), cmp.Or(y.Path, "/")
	return x.String() == y.String()
}

// sameSite reports whether two addresses have the same origin.
func sameSite(a, b string) bool { return capture.OriginOf(a) == capture.OriginOf(b) }

// of returns a browser that an agent opened, or nil. owner is that agent while it is here.
func (o *ownBrowsers) of(instance string) (b *ownBrowser, owner *checkpoint.Client) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.openLocked() {
		switch {
		case b.Instance() != instance:
		case b.end != nil:
			return b, nil
		default:
			return b, b.owner
		}
	}
	return nil, nil
}

// adopt passes a browser whose agent has left to the client that uses it now, and reports whether it did.
func (o *ownBrowsers) adopt(b *ownBrowser, client *checkpoint.Client) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b.end == nil {
		return false
	}
	b.end.Stop()
	b.owner, b.end = client, nil
	return true
}

// profile is the name of the browser's profile in answers.
func (b *ownBrowser) profile() string {
	if b.kept {
		return "kept"
	}
	return "fresh"
}

// open opens a page in the client's browser that has its site open. If that is nil, it starts a browser, or uses the one
// with the kept profile. It returns the notes of a started one.
func (e *Opener) open(ctx context.Context, client *checkpoint.Client, r LaunchRequest, site *ownBrowser) (*ownBrowser, []string, error) {
	if site != nil {
		defer e.own.opens(site)()
		e.own.adopt(site, client)
		return site, nil, site.Open(ctx, r.URL)
	}
	return e.own.open(ctx, client, r, e.endWhenEmpty)
}

// open starts a browser, or opens a page in the browser that already uses the kept profile. It runs watch for a started
// one, and returns its notes.
func (o *ownBrowsers) open(ctx context.Context, client *checkpoint.Client, r LaunchRequest, watch func(*ownBrowser)) (*ownBrowser, []string, error) {
	o.mu.Lock()
	running := o.openLocked()
	if i := slices.IndexFunc(running, func(b *ownBrowser) bool { return b.kept }); r.Kept && i >= 0 {
		b := running[i]
		o.mu.Unlock()
		return b, nil, b.Open(ctx, r.URL)
	}
	if i := slices.IndexFunc(running, func(b *ownBrowser) bool { return b.end != nil }); len(running)+o.starting >= maxOwn && i >= 0 {
		abandoned := running[i] // its agent has left, and it would end soon
		o.mu.Unlock()
		_ = abandoned.Close() // the log has the outcome
		o.mu.Lock()
		running = o.openLocked()
	}
	if len(running)+o.starting >= maxOwn {
		own := 0
		for _, b := range running {
			if b.owner == client {
				own++
			}
		}
		o.mu.Unlock()
		return nil, nil, atLimit(own)
	}
	o.starting++
	o.mu.Unlock()
	started, err := o.launcher.Launch(ctx, r)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.starting--
	if err != nil {
		return nil, nil, err
	}
	b := &ownBrowser{OwnBrowser: started, kept: r.Kept, owner: client}
	o.list = append(o.list, b)
	go watch(b)
	return b, slices.Clone(b.Notes()), nil
}

// atLimit is the error of a client that may not open another browser, and has some of its own.
func atLimit(own int) error {
	if own == 0 {
		return usererr.New(usererr.LimitReached, "other agents have %d browsers open, which is the limit. One becomes free when its agent closes its tabs or disconnects.", maxOwn)
	}
	return usererr.New(usererr.LimitReached, "agents have %d browsers open, which is the limit. %d of them are yours: use one of your tabs (browser_tabs), or close all tabs of a browser, which ends it.", maxOwn, own)
}

// openedTab returns the new tab of a browser. It waits until a page is watched or openPatience ends. The zero Tab means
// that there is no new tab.
func (e *Opener) openedTab(ctx context.Context, instance string, before []capture.Tab, page bool) capture.Tab {
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	var found capture.Tab
	for {
		changed := e.store.Changed()
		found = capture.Tab{}
		for _, t := range e.store.View(e.clock()).Tabs {
			if t.Instance == instance && t.ID >= found.ID && !slices.ContainsFunc(before, func(b capture.Tab) bool { return b.ID == t.ID }) {
				found = t
			}
		}
		if found.ID != 0 && (found.Watched || !page) {
			return found
		}
		select {
		case <-ctx.Done():
			return found
		case <-changed:
		}
	}
}
