// Package launch opens browsers for agents.
//
// It guarantees: agents open at most four browsers together; one without a window ends a while after the last agent that
// used it has gone, one with a window stays until a person closes it; an agent opens only pages of its scope.
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

// LaunchRequest is the browser that is asked for.
type LaunchRequest struct {
	// URL is of http or https, "" for an empty page.
	URL string
	// Headless has no window; without a display there is none in any case.
	Headless bool
	// Kept is the profile that is kept from one time to the next; otherwise a fresh one that is removed.
	Kept bool
	// Browser is a family, such as chromium; "" is the first that is found.
	Browser string
}

// OwnBrowser is a browser that an agent has opened.
type OwnBrowser interface {
	// Instance is the name by which its extension introduces itself.
	Instance() string
	Headless() bool
	// Open opens a page in another tab.
	Open(ctx context.Context, url string) error
	// Close returns when the browser has ended.
	Close() error
	// Done is closed when it has ended.
	Done() <-chan struct{}
	// Notes is what a person should know of the launch.
	Notes() []string
}

// Limits of browsers that agents open.
const (
	// DefaultKeepOpen is how long one without a window stays when the agent that opened it has gone.
	DefaultKeepOpen = time.Minute
	maxOwn          = 4
	// How long a tab may take to be told of, and to be watched.
	openPatience = 5 * time.Second
)

// Options make an opener.
type Options struct {
	Store   *capture.Store
	Pages   *pages.Pages
	Clients *clients.Registry
	// Launcher may be nil: then agents cannot open browsers.
	Launcher Launcher
	Settings Settings
	Clock    func() time.Time
}

// Opener opens browsers for agents. It is safe for concurrent use.
type Opener struct {
	// Never changed after New.
	store   *capture.Store
	pages   *pages.Pages
	clients *clients.Registry
	clock   func() time.Time

	own ownBrowsers
}

// New makes an opener.
func New(o Options) *Opener {
	return &Opener{store: o.Store, pages: o.Pages, clients: o.Clients, clock: o.Clock, own: ownBrowsers{launcher: o.Launcher, keepOpen: o.Settings.keepOpen()}}
}

// Back says that a client is here again.
func (e *Opener) Back(client *checkpoint.Client) { e.own.back(client) }

// Left says that a client has gone. Its browsers pass to another agent that uses them, or end after a while.
func (e *Opener) Left(client *checkpoint.Client) { e.own.left(client, e.heirOf) }

// ownBrowsers are those that agents have opened. One with a window stays until a person closes it; one without
// goes a while after the last agent that used it.
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
}

// openLocked are those that run.
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

// left says that a client has gone. Its browsers pass to whom heir names, or end after a while.
func (o *ownBrowsers) left(client *checkpoint.Client, heir func(instance string) *checkpoint.Client) {
	o.mu.Lock()
	running := slices.Clone(o.openLocked())
	o.mu.Unlock()
	for _, b := range running {
		if b.Headless() {
			o.inherit(b, client, heir(b.Instance())) // whose locks are never taken inside this one
		}
	}
}

// inherit has the browser of a client that has gone pass to the next one, or end after a while when that is nil.
func (o *ownBrowsers) inherit(b *ownBrowser, client, next *checkpoint.Client) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case b.owner != client:
	case next != nil:
		b.owner = next
	default:
		b.end = time.AfterFunc(o.keepOpen, func() {
			o.mu.Lock()
			abandoned := b.end != nil
			o.mu.Unlock()
			if abandoned {
				_ = b.Close() // how it ended is in the log
			}
		})
	}
}

// back says that a client is here again.
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

// heirOf is a connected client whose calls speak of a browser.
func (e *Opener) heirOf(instance string) *checkpoint.Client {
	for _, s := range e.clients.Sessions() {
		if of, _, ok := e.store.BrowserTab(e.pages.LastOf(s.Client)); s.Here && ok && of == instance {
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
	Browser  string   `json:"browser"`
	Headless bool     `json:"headless,omitempty"`
	Profile  string   `json:"profile"`
	Tab      int      `json:"tab"`
	Notes    []string `json:"notes,omitempty"`
	// Snapshot is of the page, "" when it cannot be read.
	Snapshot string `json:"snapshot,omitempty"`
}

// AgentText is what an agent gets.
func (b BrowserOpened) AgentText() string {
	var text strings.Builder
	shape := b.Profile + " profile"
	if b.Headless {
		shape = "headless, " + shape
	}
	fmt.Fprintf(&text, "%s (%s), tab %d", b.Browser, shape, b.Tab)
	for _, n := range b.Notes {
		text.WriteString("\n" + n)
	}
	if b.Snapshot != "" {
		text.WriteString("\n" + b.Snapshot)
	}
	return text.String()
}

// Tools are the tools that bring a browser.
var Tools = []*tool.Tool[*Opener]{
	tool.New("browser_open", (*Opener).BrowserOpen),
}

func (p *OpenParams) request(scope checkpoint.Scope) (LaunchRequest, error) {
	r := LaunchRequest{Headless: p.Headless, Browser: p.Browser}
	switch p.Profile {
	case "", "fresh":
		p.Profile = "fresh"
	case "kept":
		r.Kept = true
	default:
		return r, usererr.Invalid("profile is %q; it must be fresh or kept", p.Profile)
	}
	if p.URL == "" {
		return r, nil
	}
	if !strings.Contains(p.URL, "://") {
		p.URL = "http://" + p.URL
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return r, usererr.Invalid("url is %q; it must be an address of http or https", p.URL)
	}
	if origin := capture.OriginOf(p.URL); !scope.Covers(origin) {
		return r, usererr.Invalid("this session hears only of %s; %s is none of its pages", strings.Join(scope.Origins, ", "), origin)
	}
	r.URL = p.URL
	return r, nil
}

// BrowserOpen answers browser_open.
func (e *Opener) BrowserOpen(ctx context.Context, client *checkpoint.Client, p OpenParams) (*BrowserOpened, error) {
	r, err := p.request(client.Scope)
	if err != nil {
		return nil, err
	}
	if e.own.launcher == nil {
		return nil, usererr.New(usererr.NoBrowser, "no browser can be opened here; a person can run `tidemark browser`")
	}
	before := e.store.View(e.clock()).Tabs
	b, err := e.own.open(ctx, client, r)
	if err != nil {
		return nil, err
	}
	tab := e.openedTab(ctx, b.Instance(), before, r.URL != "")
	if tab.ID == 0 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, usererr.New(usererr.NoBrowser, "the browser has ended or told of no tab; browser_tabs lists what is open")
	}
	e.pages.Use(client, tab.ID)
	answer := &BrowserOpened{Browser: tab.Browser, Headless: b.Headless(), Profile: p.Profile, Tab: tab.ID, Notes: slices.Clone(b.Notes())}
	switch {
	case tab.Watched:
		s, err := e.pages.Operable(ctx, client, tab.ID)
		if err != nil {
			answer.Notes = append(answer.Notes, event.Clean(err.Error()))
		} else {
			answer.Snapshot = s.Snapshot
		}
	case r.URL != "":
		answer.Notes = append(answer.Notes, p.URL+" is not watched: only pages of localhost, loopback addresses and *.test are by themselves; a person can switch it on in the popup of a browser with a window")
	}
	return answer, nil
}

// open starts a browser, or opens a page in the one that has the kept profile already.
func (o *ownBrowsers) open(ctx context.Context, client *checkpoint.Client, r LaunchRequest) (*ownBrowser, error) {
	o.mu.Lock()
	running := o.openLocked()
	if i := slices.IndexFunc(running, func(b *ownBrowser) bool { return b.kept }); r.Kept && i >= 0 {
		b := running[i]
		o.mu.Unlock()
		return b, b.Open(ctx, cmp.Or(r.URL, "about:blank"))
	}
	if len(running)+o.starting >= maxOwn {
		o.mu.Unlock()
		return nil, usererr.New(usererr.LimitReached, "agents have opened %d browsers already, the most that there may be; use a tab of theirs (browser_tabs)", maxOwn)
	}
	o.starting++
	o.mu.Unlock()
	started, err := o.launcher.Launch(ctx, r)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.starting--
	if err != nil {
		return nil, err
	}
	b := &ownBrowser{OwnBrowser: started, kept: r.Kept, owner: client}
	o.list = append(o.list, b)
	return b, nil
}

// openedTab is the tab of a browser that was not there before, when it is watched or will not be; the zero Tab when
// there is none.
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
