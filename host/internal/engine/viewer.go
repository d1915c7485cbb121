package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
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

// viewing is what the engine keeps for the viewer alone.
type viewing struct {
	mu sync.Mutex
	// changed is closed when something is new that the capture store does not know of.
	changed chan struct{}
	calls   *ring.Ring[Call]
	// agents are the readers that have called, here or gone, by number.
	agents []*agentCalls
	pages  map[int]pageSeen
}

func newViewing() *viewing {
	return &viewing{
		changed: make(chan struct{}), pages: map[int]pageSeen{},
		calls: ring.New(ring.Options[Call]{MaxCount: maxCalls, MaxBytes: maxCallBytes, Size: func(c *Call) int { return 200 + len(c.Arguments) + len(c.Answer) }}),
	}
}

// Changed is closed when a call, an action, a checkpoint, a noise rule or an agent's access is new. Together with the
// capture store's it tells whoever follows along when to look again.
func (e *Engine) Changed() <-chan struct{} {
	e.viewing.mu.Lock()
	defer e.viewing.mu.Unlock()
	return e.viewing.changed
}

// tellViewers wakes those who follow along.
func (e *Engine) tellViewers() {
	e.viewing.mu.Lock()
	defer e.viewing.mu.Unlock()
	e.viewing.tellLocked()
}

func (v *viewing) tellLocked() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// Viewer is one of the viewer's use cases, as every surface offers it.
type Viewer struct {
	Method string
	call   func(context.Context, *Engine, []byte) (any, error)
}

// Call runs it with JSON parameters.
func (w *Viewer) Call(ctx context.Context, e *Engine, params []byte) (any, error) {
	return w.call(ctx, e, params)
}

func viewer[P, A any](method string, call func(*Engine, context.Context, P) (A, error)) *Viewer {
	return &Viewer{Method: method, call: func(ctx context.Context, e *Engine, raw []byte) (any, error) {
		var p P
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, usererr.Invalid("the parameters of %s cannot be read: %v", method, err)
			}
		}
		a, err := call(e, ctx, p)
		if err != nil {
			return nil, err
		}
		return a, nil
	}}
}

// Viewers are the viewer's use cases.
var Viewers = []*Viewer{
	viewer(protocol.MethodViewOverview, (*Engine).ViewOverview),
	viewer(protocol.MethodViewTimeline, (*Engine).ViewTimeline),
	viewer(protocol.MethodViewCheckpoints, (*Engine).ViewCheckpoints),
	viewer(protocol.MethodViewReport, (*Engine).ViewReport),
	viewer(protocol.MethodViewEntries, (*Engine).ViewEntries),
	viewer(protocol.MethodViewHidden, (*Engine).ViewHidden),
	viewer(protocol.MethodViewCalls, (*Engine).ViewCalls),
	viewer(protocol.MethodViewHold, (*Engine).ViewHold),
	viewer(protocol.MethodViewStop, (*Engine).ViewStop),
	viewer(protocol.MethodViewCheckpointCreate, (*Engine).ViewCheckpointCreate),
	viewer(protocol.MethodViewCheckpointRename, (*Engine).ViewCheckpointRename),
	viewer(protocol.MethodViewCheckpointDelete, (*Engine).ViewCheckpointDelete),
	viewer(protocol.MethodViewIgnore, (*Engine).ViewIgnore),
	viewer(protocol.MethodViewUnignore, (*Engine).ViewUnignore),
	viewer(protocol.MethodViewPage, (*Engine).ViewPage),
	viewer(protocol.MethodViewVariables, (*Engine).ViewVariables),
	viewer(protocol.MethodViewVariableTree, (*Engine).ViewVariableTree),
	viewer(protocol.MethodViewResume, (*Engine).ViewResume),
}

// FindViewer returns the use case of a method, nil when there is none.
func FindViewer(method string) *Viewer {
	for _, w := range Viewers {
		if w.Method == method {
			return w
		}
	}
	return nil
}

// viewScope is the scope that the viewer speaks for: that of a tab, everything without one.
func (e *Engine) viewScope(tab int) (checkpoint.Scope, error) {
	if tab == 0 {
		return checkpoint.Scope{}, nil
	}
	if err := tabs.Check(e.store.View(e.clock()), checkpoint.Scope{}, tab); err != nil {
		return checkpoint.Scope{}, err
	}
	return e.ScopeOfTab(tab), nil
}

// viewOptions are those of the viewer's reports.
func (e *Engine) viewOptions(scope checkpoint.Scope, tab int) diff.Options {
	o := e.Rules.Of(&checkpoint.Client{Scope: scope}).Options(scope)
	o.Tab = tab
	return o
}

// ViewOverview says what is connected and watched, and how it stands.
func (e *Engine) ViewOverview(ctx context.Context, p protocol.ViewParams) (*protocol.ViewOverview, error) {
	scope, err := e.viewScope(p.Tab)
	if err != nil {
		return nil, err
	}
	v := e.store.View(e.clock())
	out := &protocol.ViewOverview{
		Scope: scope.Origins, Tabs: []protocol.ViewTab{}, Browsers: []protocol.ViewBrowser{}, Masked: v.Masked,
		Notices: e.Rules.Of(&checkpoint.Client{Scope: scope}).Problems,
	}
	out.Agents, _ = e.viewAgents()
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
func (e *Engine) OwnTabs(instance string, o *protocol.ViewOverview) {
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
func (e *Engine) window(ctx context.Context, tab int, from, to string) (*window, error) {
	scope, err := e.viewScope(tab)
	if err != nil {
		return nil, err
	}
	w := &window{scope: scope, tab: tab, v: e.store.View(e.clock()), toName: strings.TrimSpace(to), fromName: strings.TrimSpace(from)}
	if w.toName == "" {
		w.toName = observe.Now
	}
	if w.to, err = e.Moment(ctx, scope, w.toName, w.v); err != nil {
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
	if w.from, err = e.Moment(ctx, scope, w.fromName, w.v); err != nil {
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

// ViewReport compares two moments.
func (e *Engine) ViewReport(ctx context.Context, p protocol.ViewReportParams) (*protocol.ViewReport, error) {
	return observe.WithPlaces(ctx, observe.PlacesWait, func(bool) (*protocol.ViewReport, *observe.Places, error) { return e.viewReport(ctx, p) })
}

func (e *Engine) viewReport(ctx context.Context, p protocol.ViewReportParams) (*protocol.ViewReport, *observe.Places, error) {
	w, err := e.window(ctx, p.Tab, p.From, p.To)
	if err != nil {
		return nil, nil, err
	}
	o := e.viewOptions(w.scope, p.Tab)
	switch o.Filter = diff.Filter(p.Severity); o.Filter {
	case "", diff.All, diff.Warnings, diff.ErrorsOnly:
	default:
		return nil, nil, usererr.Invalid("severity is %q; it must be all, warnings or errors_only", p.Severity)
	}
	o.Refs, o.Beginning = true, w.fromName == checkpoint.Start
	places := e.OriginalsIn(w.v)
	o.Original = places.Place
	r := e.Compute(ctx, w.from, w.v, w.until(), o)
	r.Checkpoint = w.fromName
	r.CountTokens()
	return &protocol.ViewReport{
		Report: r, From: w.fromName, To: w.toName, Errors: r.Errors, Warnings: r.Warnings,
		Refs: (&referring{w: w, o: o, places: places}).all(r),
	}, places, nil
}

// ViewCheckpointCreate makes a named checkpoint in the scope of a tab, by the host's number of it.
func (e *Engine) ViewCheckpointCreate(ctx context.Context, p protocol.CheckpointParams) (*protocol.CheckpointResult, error) {
	scope, err := e.viewScope(p.Tab)
	if err != nil {
		return nil, err
	}
	made, err := e.CheckpointCreate(ctx, &checkpoint.Client{Scope: scope}, observe.CheckpointParams{Name: p.Name, Note: p.Note})
	if err != nil {
		return nil, err
	}
	out := &protocol.CheckpointResult{Name: made.Name, At: made.At.String()}
	if made.Replaced != nil {
		out.Replaced = made.Replaced.String()
	}
	return out, nil
}

// ViewCheckpointRename gives a checkpoint another name.
func (e *Engine) ViewCheckpointRename(ctx context.Context, p protocol.ViewRenameParams) (tool.Nothing, error) {
	scope, err := e.viewScope(p.Tab)
	if err != nil {
		return tool.Nothing{}, err
	}
	if err := e.named.Rename(scope.Key(), p.Name, p.To); err != nil {
		return tool.Nothing{}, err
	}
	e.tellViewers()
	return tool.Nothing{}, e.saved(ctx, "the checkpoint has its new name")
}

// ViewCheckpointDelete deletes a checkpoint.
func (e *Engine) ViewCheckpointDelete(ctx context.Context, p protocol.ViewDeleteParams) (tool.Nothing, error) {
	scope, err := e.viewScope(p.Tab)
	if err != nil {
		return tool.Nothing{}, err
	}
	gone, err := e.CheckpointDelete(ctx, &checkpoint.Client{Scope: scope}, observe.CheckpointDeleteParams{Name: p.Name})
	if err == nil && gone.Unsaved != "" {
		err = usererr.New(usererr.NotSaved, "the checkpoint is gone until Tidemark is started again: %s", gone.Unsaved)
	}
	return tool.Nothing{}, err
}

// saved has a change of the checkpoints be on disk.
func (e *Engine) saved(ctx context.Context, what string) error {
	if why := e.Save(ctx); why != "" {
		return usererr.New(usererr.NotSaved, "%s, but %s", what, why)
	}
	return nil
}

// ViewIgnore makes a rule for good of a finding.
func (e *Engine) ViewIgnore(_ context.Context, p protocol.IgnoreParams) (*protocol.IgnoreResult, error) {
	scope, err := e.viewScope(p.Tab)
	if err != nil {
		return nil, err
	}
	made, err := e.Ignore(clients.Viewer(scope), p)
	e.tellViewers()
	return made, err
}

// ViewUnignore takes a rule back.
func (e *Engine) ViewUnignore(_ context.Context, p protocol.UnignoreParams) (tool.Nothing, error) {
	err := e.Unignore(clients.Viewer(checkpoint.Scope{}), p)
	e.tellViewers()
	return tool.Nothing{}, err
}

// maxHidden bounds what is listed of what is hidden.
const maxHidden = 100

// ViewHidden lists what noise rules keep out of a report, and why.
func (e *Engine) ViewHidden(ctx context.Context, p protocol.ViewReportParams) (*protocol.ViewHidden, error) {
	w, err := e.window(ctx, p.Tab, p.From, p.To)
	if err != nil {
		return nil, err
	}
	o := e.viewOptions(w.scope, p.Tab)
	o.Beginning = w.fromName == checkpoint.Start
	rules := e.Rules.Of(&checkpoint.Client{Scope: w.scope})
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

// ViewPage reads a tab's accessibility tree, and gives that of the look before with it.
func (e *Engine) ViewPage(ctx context.Context, p protocol.ViewPageParams) (*protocol.ViewPage, error) {
	if p.Tab == 0 {
		return nil, usererr.Invalid("tab is missing: whose page shall be read?")
	}
	all := false
	client := clients.Viewer(checkpoint.Scope{})
	defer e.Pages.Forget(client)
	s, err := e.Snapshot(ctx, client, pages.SnapshotParams{Tab: p.Tab, FullSnapshot: true, InteractiveOnly: &all})
	if err != nil {
		return nil, err
	}
	_, body, _ := strings.Cut(s.Snapshot, "\n")
	if body == "" {
		body = s.Snapshot
	}
	now := e.clock()
	out := &protocol.ViewPage{At: now.UnixMilli(), Now: cutTo(body, maxPageText)}
	e.viewing.mu.Lock()
	defer e.viewing.mu.Unlock()
	if before, known := e.viewing.pages[p.Tab]; known && !p.Anew {
		out.Before, out.BeforeAt = before.now, before.at.UnixMilli()
	}
	if len(e.viewing.pages) >= maxPages {
		clear(e.viewing.pages)
	}
	e.viewing.pages[p.Tab] = pageSeen{at: now, now: out.Now}
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
