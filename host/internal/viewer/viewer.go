// Package viewer answers what a person's viewer and popup ask: what is connected, what happened and when, what agents
// called and did; and lets a person suspend agents.
//
// It guarantees: a report for a person is the agent's, with references to the entries that it was made of; the table of
// methods is all that a surface can ask for; calls of agents are kept within bounds.
package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Options make a viewer.
type Options struct {
	Store     *capture.Store
	Named     *checkpoint.Registry
	Clients   *clients.Registry
	Rules     *noiserules.Rules
	Observer  *observe.Observer
	Pages     *pages.Pages
	Leases    *act.Leases
	Inspector *debugger.Inspector
	// Disk may be nil: then nothing is kept but in memory.
	Disk  observe.Disk
	Clock func() time.Time
	// Signal is given by all that a viewer shows and the capture store does not know of.
	Signal *Signal
}

// Viewer answers a person's viewer. It is safe for concurrent use.
type Viewer struct {
	// Never changed after New.
	store     *capture.Store
	named     *checkpoint.Registry
	clients   *clients.Registry
	rules     *noiserules.Rules
	observer  *observe.Observer
	pages     *pages.Pages
	leases    *act.Leases
	inspector *debugger.Inspector
	disk      observe.Disk
	clock     func() time.Time
	signal    *Signal
	began     time.Time // when it was made
	Agents    *Agents

	mu sync.Mutex
	// shown are the pages as they were shown last, by tab.
	shown map[int]pageSeen
}

// New makes a viewer that knows of no call.
func New(o Options) *Viewer {
	return &Viewer{
		store: o.Store, named: o.Named, clients: o.Clients, rules: o.Rules, observer: o.Observer, pages: o.Pages, leases: o.Leases,
		inspector: o.Inspector, disk: o.Disk, clock: o.Clock, signal: o.Signal, began: o.Clock(), shown: map[int]pageSeen{},
		Agents: &Agents{
			store: o.Store, clients: o.Clients, leases: o.Leases, disk: o.Disk, clock: o.Clock, signal: o.Signal,
			calls: ring.New(ring.Options[Call]{MaxCount: maxCalls, MaxBytes: maxCallBytes, Size: func(c *Call) int { return 200 + len(c.Arguments) + len(c.Answer) }}),
		},
	}
}

// Changed is closed when a call, an action, a checkpoint, a noise rule or an agent's access is new. Together with the
// capture store's it tells whoever follows along when to look again.
func (e *Viewer) Changed() <-chan struct{} { return e.signal.Changed() }

// Method is one of the viewer's use cases, as every surface offers it.
type Method struct {
	Name string
	call func(context.Context, *Viewer, []byte) (any, error)
}

// Call runs it with JSON parameters.
func (m *Method) Call(ctx context.Context, v *Viewer, params []byte) (any, error) {
	return m.call(ctx, v, params)
}

func method[P, A any](name string, call func(*Viewer, context.Context, P) (A, error)) *Method {
	return &Method{Name: name, call: func(ctx context.Context, v *Viewer, raw []byte) (any, error) {
		var p P
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, usererr.Invalid("the parameters of %s cannot be read: %v", name, err)
			}
		}
		a, err := call(v, ctx, p)
		if err != nil {
			return nil, err
		}
		return a, nil
	}}
}

// Methods are all of them.
var Methods = []*Method{
	method(protocol.MethodViewOverview, (*Viewer).Overview),
	method(protocol.MethodViewTimeline, (*Viewer).Timeline),
	method(protocol.MethodViewCheckpoints, (*Viewer).Checkpoints),
	method(protocol.MethodViewReport, (*Viewer).Report),
	method(protocol.MethodViewEntries, (*Viewer).Entries),
	method(protocol.MethodViewHidden, (*Viewer).Hidden),
	method(protocol.MethodViewCalls, (*Viewer).Calls),
	method(protocol.MethodViewHold, func(v *Viewer, ctx context.Context, p protocol.ViewHoldParams) (tool.Nothing, error) {
		return v.Agents.SetSuspended(ctx, p)
	}),
	method(protocol.MethodViewStop, func(v *Viewer, ctx context.Context, p protocol.StopAgentParams) (tool.Nothing, error) {
		return v.Agents.SetStopped(ctx, p)
	}),
	method(protocol.MethodViewCheckpointCreate, (*Viewer).CheckpointCreate),
	method(protocol.MethodViewCheckpointRename, (*Viewer).CheckpointRename),
	method(protocol.MethodViewCheckpointDelete, (*Viewer).CheckpointDelete),
	method(protocol.MethodViewIgnore, (*Viewer).Ignore),
	method(protocol.MethodViewUnignore, (*Viewer).Unignore),
	method(protocol.MethodViewPage, (*Viewer).Page),
	method(protocol.MethodViewVariables, (*Viewer).Variables),
	method(protocol.MethodViewVariableTree, (*Viewer).VariableTree),
	method(protocol.MethodViewResume, (*Viewer).Resume),
}

// Find returns the method of a name, nil when there is none.
func Find(name string) *Method {
	for _, m := range Methods {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Scope is the scope that the viewer speaks for: that of a tab, everything without one.
func (e *Viewer) Scope(tab int) (checkpoint.Scope, error) {
	if tab == 0 {
		return checkpoint.Scope{}, nil
	}
	if err := tabs.Check(e.store.View(e.clock()), checkpoint.Scope{}, tab); err != nil {
		return checkpoint.Scope{}, err
	}
	return e.clients.ScopeOfTab(tab), nil
}

// options are those of the viewer's reports.
func (e *Viewer) options(scope checkpoint.Scope, tab int) diff.Options {
	o := e.rules.Of(&checkpoint.Client{Scope: scope}).Options(scope)
	o.Tab = tab
	return o
}

// Overview says what is connected and watched, and how it stands.
func (e *Viewer) Overview(ctx context.Context, p protocol.ViewParams) (*protocol.ViewOverview, error) {
	scope, err := e.Scope(p.Tab)
	if err != nil {
		return nil, err
	}
	v := e.store.View(e.clock())
	out := &protocol.ViewOverview{
		Scope: scope.Origins, Tabs: []protocol.ViewTab{}, Browsers: []protocol.ViewBrowser{}, Masked: v.Masked,
		Notices: e.rules.Of(&checkpoint.Client{Scope: scope}).Problems,
	}
	out.Agents, _ = e.Agents.all()
	for _, b := range v.Browsers {
		out.Browsers = append(out.Browsers, protocol.ViewBrowser{Name: b.Name, Extension: b.Extension, Connected: b.Connected, Paused: b.Connected && watchingPaused(v, b.Instance)})
	}
	for _, line := range tabsOf(v) {
		_, line.BrowserID, _ = e.store.BrowserTab(line.ID)
		out.Tabs = append(out.Tabs, line)
	}
	s := e.standing(ctx, scope, p.Tab, v)
	out.Since, out.Severity, out.Summary, out.Errors, out.Warnings = e.sinceName(s), string(s.now.Severity), s.now.Summary, s.now.Errors, s.now.Warnings
	return out, nil
}

// watchingPaused says whether a person has paused watching in a browser.
func watchingPaused(v *capture.View, instance string) bool {
	return slices.ContainsFunc(v.Gaps, func(g capture.Gap) bool {
		return g.Reason == protocol.GapPaused && g.To.IsZero() && g.Instance == instance
	})
}

// OwnTabs marks the tabs of a browser as the asker's own.
func (e *Viewer) OwnTabs(instance string, o *protocol.ViewOverview) {
	for i := range o.Tabs {
		of, _, ok := e.store.BrowserTab(o.Tabs[i].ID)
		o.Tabs[i].Own = ok && of == instance
	}
}

// window is two moments as the viewer names them.
type window struct {
	scope    checkpoint.Scope
	tab      int
	from, to capture.Moment
	// fromName and toName are the moments as they were understood.
	fromName, toName string
	v                *capture.View
}

// window finds two moments. Without to it is now; without from the newest checkpoint before, else the start.
func (e *Viewer) window(ctx context.Context, tab int, from, to string) (*window, error) {
	scope, err := e.Scope(tab)
	if err != nil {
		return nil, err
	}
	w := &window{scope: scope, tab: tab, v: e.store.View(e.clock()), toName: strings.TrimSpace(to), fromName: strings.TrimSpace(from)}
	if w.toName == "" {
		w.toName = observe.Now
	}
	if w.to, err = e.observer.Moment(ctx, scope, w.toName, w.v); err != nil {
		return nil, err
	}
	if w.fromName == "" {
		before := slices.DeleteFunc(e.named.List(scope.Key()), func(c checkpoint.Checkpoint) bool {
			return c.At.After(w.to.At) || e.named.Address(scope.Key(), c) == w.toName
		})
		w.fromName = checkpoint.Start
		if newest := e.newestOf(scope, before, w.v); newest != nil && w.toName == observe.Now {
			w.fromName = e.named.Address(scope.Key(), *newest)
		} else if w.toName != observe.Now && len(before) > 0 {
			w.fromName = e.named.Address(scope.Key(), before[len(before)-1])
		}
	}
	if w.from, err = e.observer.Moment(ctx, scope, w.fromName, w.v); err != nil {
		return nil, err
	}
	if w.from.At.After(w.to.At) {
		return nil, usererr.Invalid("%s (%s) is later than %s (%s); exchange the two", w.fromName, diff.Time{Time: w.from.At}, w.toName, diff.Time{Time: w.to.At})
	}
	return w, nil
}

// until is the end of the window for [Engine.compute]: nil for now.
func (w *window) until() *capture.Moment {
	if w.toName == observe.Now {
		return nil
	}
	return &w.to
}

// Report compares two moments.
func (e *Viewer) Report(ctx context.Context, p protocol.ViewReportParams) (*protocol.ViewReport, error) {
	return observe.WithPlaces(ctx, observe.PlacesWait, func(bool) (*protocol.ViewReport, *observe.Places, error) { return e.report(ctx, p) })
}

func (e *Viewer) report(ctx context.Context, p protocol.ViewReportParams) (*protocol.ViewReport, *observe.Places, error) {
	w, err := e.window(ctx, p.Tab, p.From, p.To)
	if err != nil {
		return nil, nil, err
	}
	o := e.options(w.scope, p.Tab)
	switch o.Filter = diff.Filter(p.Severity); o.Filter {
	case "", diff.All, diff.Warnings, diff.ErrorsOnly:
	default:
		return nil, nil, usererr.Invalid("severity is %q; it must be all, warnings or errors_only", p.Severity)
	}
	o.Refs, o.Beginning = true, w.fromName == checkpoint.Start
	places := e.observer.OriginalsIn(w.v)
	o.Original = places.Place
	r := e.observer.Compute(ctx, w.from, w.v, w.until(), o)
	r.Checkpoint = w.fromName
	r.CountTokens()
	return &protocol.ViewReport{
		Report: r, From: w.fromName, To: w.toName, Errors: r.Errors, Warnings: r.Warnings,
		Refs: (&referring{w: w, o: o, places: places}).all(r),
	}, places, nil
}

// CheckpointCreate makes a named checkpoint in the scope of a tab, by the host's number of it.
func (e *Viewer) CheckpointCreate(ctx context.Context, p protocol.CheckpointParams) (*protocol.CheckpointResult, error) {
	scope, err := e.Scope(p.Tab)
	if err != nil {
		return nil, err
	}
	made, err := e.observer.CheckpointCreate(ctx, &checkpoint.Client{Scope: scope}, observe.CheckpointParams{Name: p.Name, Note: p.Note})
	if err != nil {
		return nil, err
	}
	out := &protocol.CheckpointResult{Name: made.Name, At: made.At.String()}
	if made.Replaced != nil {
		out.Replaced = made.Replaced.String()
	}
	return out, nil
}

// CheckpointRename gives a checkpoint another name.
func (e *Viewer) CheckpointRename(ctx context.Context, p protocol.ViewRenameParams) (tool.Nothing, error) {
	scope, err := e.Scope(p.Tab)
	if err != nil {
		return tool.Nothing{}, err
	}
	if err := e.named.Rename(scope.Key(), p.Name, p.To); err != nil {
		return tool.Nothing{}, err
	}
	e.signal.Tell()
	return tool.Nothing{}, e.saved(ctx, "the checkpoint has its new name")
}

// CheckpointDelete deletes a checkpoint.
func (e *Viewer) CheckpointDelete(ctx context.Context, p protocol.ViewDeleteParams) (tool.Nothing, error) {
	scope, err := e.Scope(p.Tab)
	if err != nil {
		return tool.Nothing{}, err
	}
	gone, err := e.observer.CheckpointDelete(ctx, &checkpoint.Client{Scope: scope}, observe.CheckpointDeleteParams{Name: p.Name})
	if err == nil && gone.Unsaved != "" {
		err = usererr.New(usererr.NotSaved, "the checkpoint is gone until Tidemark is started again: %s", gone.Unsaved)
	}
	return tool.Nothing{}, err
}

// saved has a change of the checkpoints be on disk.
func (e *Viewer) saved(ctx context.Context, what string) error {
	if why := e.observer.Save(ctx); why != "" {
		return usererr.New(usererr.NotSaved, "%s, but %s", what, why)
	}
	return nil
}

// Ignore makes a rule for good of a finding.
func (e *Viewer) Ignore(_ context.Context, p protocol.IgnoreParams) (*protocol.IgnoreResult, error) {
	scope, err := e.Scope(p.Tab)
	if err != nil {
		return nil, err
	}
	made, err := e.rules.Ignore(clients.Viewer(scope), p)
	e.signal.Tell()
	return made, err
}

// Unignore takes a rule back.
func (e *Viewer) Unignore(_ context.Context, p protocol.UnignoreParams) (tool.Nothing, error) {
	err := e.rules.Unignore(clients.Viewer(checkpoint.Scope{}), p)
	e.signal.Tell()
	return tool.Nothing{}, err
}

// maxHidden bounds what is listed of what is hidden.
const maxHidden = 100

// Hidden lists what noise rules keep out of a report, and why.
func (e *Viewer) Hidden(ctx context.Context, p protocol.ViewReportParams) (*protocol.ViewHidden, error) {
	w, err := e.window(ctx, p.Tab, p.From, p.To)
	if err != nil {
		return nil, err
	}
	o := e.options(w.scope, p.Tab)
	o.Beginning = w.fromName == checkpoint.Start
	rules := e.rules.Of(&checkpoint.Client{Scope: w.scope})
	found := map[noiserules.EntryKey]*protocol.HiddenEntry{}
	var list []*protocol.HiddenEntry
	diff.Entries(w.from, w.v.Until(w.to), o, func(n diff.Entry) {
		if !n.Hidden() {
			return
		}
		k := noiserules.EntryKeyOf(n.Event)
		h := found[k]
		if h == nil {
			h = &protocol.HiddenEntry{Finding: *finding(k, n.Event), Because: rules.Because(n)}
			if n.User != nil && slices.Contains(rules.User, n.User) {
				h.Rule = n.User.ID
			}
			found[k] = h
			list = append(list, h)
		}
		h.Count++
	})
	slices.SortStableFunc(list, func(a, b *protocol.HiddenEntry) int { return b.Count - a.Count })
	out := &protocol.ViewHidden{Entries: []protocol.HiddenEntry{}, Omitted: max(0, len(list)-maxHidden)}
	for _, h := range list[:len(list)-out.Omitted] {
		out.Entries = append(out.Entries, *h)
	}
	return out, nil
}

// finding is what a noise rule knows an event by.
func finding(k noiserules.EntryKey, ev event.Event) *protocol.Finding {
	return &protocol.Finding{Kind: k.Kind, Level: k.Level.String(), Origin: k.Origin, Fingerprint: k.Fold, Text: noiserules.Readable(ev)}
}

// pageSeen is a page's tree as the viewer saw it last.
type pageSeen struct {
	at  time.Time
	now string
}

// Page reads a tab's accessibility tree, and gives that of the look before with it.
func (e *Viewer) Page(ctx context.Context, p protocol.ViewPageParams) (*protocol.ViewPage, error) {
	if p.Tab == 0 {
		return nil, usererr.Invalid("tab is missing: whose page shall be read?")
	}
	all := false
	client := clients.Viewer(checkpoint.Scope{})
	defer e.pages.Forget(client)
	s, err := e.pages.Snapshot(ctx, client, pages.SnapshotParams{Tab: p.Tab, FullSnapshot: true, InteractiveOnly: &all})
	if err != nil {
		return nil, err
	}
	_, body, _ := strings.Cut(s.Snapshot, "\n")
	if body == "" {
		body = s.Snapshot
	}
	now := e.clock()
	out := &protocol.ViewPage{At: now.UnixMilli(), Now: cutTo(body, maxPageText)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if before, known := e.shown[p.Tab]; known && !p.Anew {
		out.Before, out.BeforeAt = before.now, before.at.UnixMilli()
	}
	if len(e.shown) >= maxPages {
		clear(e.shown)
	}
	e.shown[p.Tab] = pageSeen{at: now, now: out.Now}
	return out, nil
}

// maxPageText bounds a tree that is shown, in bytes; maxPages how many are kept to compare with.
const (
	maxPageText = 256 << 10
	maxPages    = 32
)

// cutTo cuts a text to so many bytes, and says how many were cut.
func cutTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:cut], len(s)-cut)
}

// Variables lists the snapshots of variables that agents keep, and what their tracepoints recorded.
func (e *Viewer) Variables(ctx context.Context, p protocol.ViewParams) (*protocol.ViewVariables, error) {
	return e.inspector.ViewVariables(ctx, p)
}

// VariableTree reads a part of a snapshot of variables.
func (e *Viewer) VariableTree(ctx context.Context, p protocol.ViewVariableTreeParams) (*protocol.ViewVariableTree, error) {
	return e.inspector.ViewVariableTree(ctx, p)
}

// Resume ends a pause.
func (e *Viewer) Resume(ctx context.Context, p protocol.ViewResumeParams) (tool.Nothing, error) {
	return e.inspector.ViewResume(ctx, p)
}
