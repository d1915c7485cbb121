// Package viewer serves the viewer and the popup. It reports what is connected, what happened when, and what agents
// called and did. It also lets the user suspend agents.
//
// It guarantees:
//
//   - A report for the user equals the agent's, with added references to the entries behind it.
//   - The table of methods is all that a surface can request. The live API and the pages' client are generated from it.
//   - The stored calls of agents are bounded.
package viewer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/sessiontree"
	"tidemark.dev/tidemark/host/internal/signal"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/protocol"
)

// Options configure a viewer.
type Options struct {
	Store     *capture.Store
	Named     *checkpoint.Registry
	Clients   *clients.Registry
	Rules     *noiserules.Rules
	Observer  *observe.Observer
	Pages     *pages.Pages
	Leases    *act.Leases
	Inspector *debugger.Inspector
	Timeline  *timeline.Timeline
	// Branches starts agents in branches.
	Branches *branches.Branches
	// Regressions finds what broke.
	Regressions *regression.Finder
	Trees       *sessiontree.Finder
	// Disk may be nil. Then everything is in memory only.
	Disk  observe.Disk
	Clock func() time.Time
	// Signal reports changes outside the capture store that a viewer shows.
	Signal *signal.Signal
	// Version is the version of the program.
	Version string
}

// Viewer serves the viewer and the popup. It is safe for concurrent use.
type Viewer struct {
	// Immutable after New.
	store       *capture.Store
	named       *checkpoint.Registry
	clients     *clients.Registry
	rules       *noiserules.Rules
	observer    *observe.Observer
	pages       *pages.Pages
	leases      *act.Leases
	inspector   *debugger.Inspector
	moments     *timeline.Timeline
	branches    *branches.Branches
	regressions *regression.Finder
	trees       *sessiontree.Finder
	disk        observe.Disk
	clock       func() time.Time
	signal      *signal.Signal
	version     string
	began       time.Time // when New ran
	Agents      *Agents

	mu sync.Mutex
	// shown are the pages as last shown, by tab.
	shown map[int]pageSeen
}

// New creates a viewer without calls.
func New(o Options) *Viewer {
	return &Viewer{
		store: o.Store, named: o.Named, clients: o.Clients, rules: o.Rules, observer: o.Observer, pages: o.Pages, leases: o.Leases,
		inspector: o.Inspector, moments: o.Timeline, branches: o.Branches, regressions: o.Regressions, trees: o.Trees, disk: o.Disk, clock: o.Clock, signal: o.Signal, version: o.Version, began: o.Clock(), shown: map[int]pageSeen{},
		Agents: &Agents{
			store: o.Store, clients: o.Clients, leases: o.Leases, disk: o.Disk, clock: o.Clock, signal: o.Signal,
			calls: ring.New(ring.Options[Call]{MaxCount: maxCalls, MaxBytes: maxCallBytes, Size: func(c *Call) int { return 200 + len(c.Arguments) + len(c.Answer) }}),
		},
	}
}

// Changed is closed at the next call, action, checkpoint, noise rule or change of an agent's access. Together with
// the capture store's channel it covers everything a viewer shows.
func (v *Viewer) Changed() <-chan struct{} { return v.signal.Changed() }

// Scope returns the scope of a tab, or everything for 0.
func (v *Viewer) Scope(tab int) (checkpoint.Scope, error) {
	if tab == 0 {
		return checkpoint.Scope{}, nil
	}
	if err := tabs.Check(v.store.View(v.clock()), checkpoint.Scope{}, tab); err != nil {
		return checkpoint.Scope{}, err
	}
	return v.clients.ScopeOfTab(tab), nil
}

// options returns the options of the viewer's reports.
func (v *Viewer) options(scope checkpoint.Scope, tab int) window.Options {
	o := v.rules.Of(&checkpoint.Client{Scope: scope}).Options(scope)
	o.Tab = tab
	return o
}

// Overview returns what is connected and watched, and its current state. It marks the tabs of the asking browser.
func (v *Viewer) Overview(ctx context.Context, instance string, p protocol.ViewParams) (*protocol.ViewOverview, error) {
	scope, err := v.Scope(p.Tab)
	if err != nil {
		return nil, err
	}
	view := v.store.View(v.clock())
	out := &protocol.ViewOverview{
		Host: v.version, Scope: scope.Origins, Tabs: []protocol.ViewTab{}, Browsers: []protocol.ViewBrowser{}, Masked: view.Masked,
		Notices: v.rules.Of(&checkpoint.Client{Scope: scope}).Problems,
	}
	out.Agents, _ = v.Agents.all()
	for _, b := range view.Browsers {
		out.Browsers = append(out.Browsers, protocol.ViewBrowser{Name: b.Name, Extension: b.Extension, Connected: b.Connected, Paused: b.Connected && watchingPaused(view, b.Instance)})
	}
	for _, line := range tabsOf(view) {
		var of string
		of, line.BrowserID, _ = v.store.BrowserTab(line.ID)
		line.Own = instance != "" && of == instance
		out.Tabs = append(out.Tabs, line)
	}
	s := v.standing(ctx, scope, p.Tab, view)
	out.Since, out.Severity, out.Summary, out.Errors, out.Warnings = v.sinceName(s), string(s.now.Severity), s.now.Summary, s.now.Errors, s.now.Warnings
	return out, nil
}

// watchingPaused says whether the user has paused watching in a browser.
func watchingPaused(v *capture.View, instance string) bool {
	return slices.ContainsFunc(v.Gaps, func(g capture.Gap) bool {
		return g.Reason == protocol.GapPaused && g.To.IsZero() && g.Source.Instance == instance
	})
}

// between is two moments that the viewer named.
type between struct {
	scope    checkpoint.Scope
	tab      int
	from, to capture.Moment
	// fromName and toName are the resolved names of the moments.
	fromName, toName string
	v                *capture.View
}

// between finds two moments. An empty to means now. An empty from means the newest checkpoint before it, or else the
// start.
func (v *Viewer) between(ctx context.Context, tab int, from, to string) (*between, error) {
	scope, err := v.Scope(tab)
	if err != nil {
		return nil, err
	}
	w := &between{scope: scope, tab: tab, v: v.store.View(v.clock()), toName: strings.TrimSpace(to), fromName: strings.TrimSpace(from)}
	if w.toName == "" {
		w.toName = observe.Now
	}
	if w.to, err = v.observer.Moment(ctx, clients.Viewer(scope), w.toName, w.v); err != nil {
		return nil, err
	}
	if w.fromName == "" {
		before := slices.DeleteFunc(v.named.List(scope.Key()), func(c checkpoint.Checkpoint) bool {
			return c.At.After(w.to.At) || v.named.Address(scope.Key(), c) == w.toName
		})
		w.fromName = checkpoint.Start
		if newest := v.newestOf(scope, before, w.v); newest != nil && w.toName == observe.Now {
			w.fromName = v.named.Address(scope.Key(), *newest)
		} else if w.toName != observe.Now && len(before) > 0 {
			w.fromName = v.named.Address(scope.Key(), before[len(before)-1])
		}
	}
	if w.from, err = v.observer.Moment(ctx, clients.Viewer(scope), w.fromName, w.v); err != nil {
		return nil, err
	}
	if w.from.At.After(w.to.At) {
		return nil, usererr.Invalid("%s (%s) is later than %s (%s). Swap the two.", w.fromName, report.Time{Time: w.from.At}, w.toName, report.Time{Time: w.to.At})
	}
	return w, nil
}

// until returns the end of the window, nil for now.
func (w *between) until() *capture.Moment {
	if w.toName == observe.Now {
		return nil
	}
	return &w.to
}

// Report compares two moments.
func (v *Viewer) Report(ctx context.Context, p protocol.ViewReportParams) (*protocol.ViewReport, error) {
	return observe.WithPlaces(ctx, observe.PlacesWait, func(bool) (*protocol.ViewReport, *observe.Places, error) { return v.report(ctx, p) })
}

func (v *Viewer) report(ctx context.Context, p protocol.ViewReportParams) (*protocol.ViewReport, *observe.Places, error) {
	w, err := v.between(ctx, p.Tab, p.From, p.To)
	if err != nil {
		return nil, nil, err
	}
	o := v.options(w.scope, p.Tab)
	switch o.Filter = report.Filter(p.Severity); o.Filter {
	case "", report.All, report.Warnings, report.ErrorsOnly:
	default:
		return nil, nil, usererr.Invalid("severity is %q; it must be all, warnings or errors_only", p.Severity)
	}
	o.Refs, o.Beginning = true, w.fromName == checkpoint.Start
	_, unnamed := v.named.Get(w.scope.Key(), w.fromName)
	o.Standing = unnamed == nil
	places := v.observer.OriginalsIn(w.v)
	edited, inside := observe.Edited(v.observer, clients.Viewer(w.scope), w.fromName, w.toName)
	places.ExplainIn(&o, edited, inside)
	r := v.observer.Compute(ctx, w.from, w.v, w.until(), o)
	r.Checkpoint = w.fromName
	r.CountTokens()
	return &protocol.ViewReport{
		Report: r, From: w.fromName, To: w.toName, Errors: r.Errors, Warnings: r.Warnings,
		Refs: (&referring{w: w, o: o, places: places}).all(r),
	}, places, nil
}

// CheckpointCreate makes a named checkpoint in the scope of a tab, given by its host id.
func (v *Viewer) CheckpointCreate(ctx context.Context, p protocol.CheckpointParams) (*protocol.CheckpointResult, error) {
	scope, err := v.Scope(p.Tab)
	if err != nil {
		return nil, err
	}
	return v.createCheckpoint(ctx, scope, p)
}

func (v *Viewer) createCheckpoint(ctx context.Context, scope checkpoint.Scope, p protocol.CheckpointParams) (*protocol.CheckpointResult, error) {
	made, err := v.observer.CheckpointCreate(ctx, &checkpoint.Client{Scope: scope}, observe.CheckpointParams{Name: p.Name, Note: p.Note})
	if err != nil {
		return nil, err
	}
	out := &protocol.CheckpointResult{Name: made.Name, At: made.At.String()}
	if made.Replaced != nil {
		out.Replaced = made.Replaced.String()
	}
	return out, nil
}

// CheckpointRename renames a checkpoint.
func (v *Viewer) CheckpointRename(ctx context.Context, p protocol.ViewRenameParams) (tool.Nothing, error) {
	scope, err := v.Scope(p.Tab)
	if err != nil {
		return tool.Nothing{}, err
	}
	if err := v.observer.Rename(scope, p.Name, p.To); err != nil {
		return tool.Nothing{}, err
	}
	return tool.Nothing{}, v.saved(ctx, "the checkpoint was renamed")
}

// CheckpointDelete deletes a checkpoint.
func (v *Viewer) CheckpointDelete(ctx context.Context, p protocol.ViewDeleteParams) (tool.Nothing, error) {
	scope, err := v.Scope(p.Tab)
	if err != nil {
		return tool.Nothing{}, err
	}
	gone, err := v.observer.CheckpointDelete(ctx, &checkpoint.Client{Scope: scope}, observe.CheckpointDeleteParams{Name: p.Name})
	if err == nil && gone.Unsaved != "" {
		err = usererr.New(usererr.NotSaved, "the checkpoint was deleted, but returns when Tidemark restarts: %s", gone.Unsaved)
	}
	return tool.Nothing{}, err
}

// saved waits until a change of the checkpoints is on disk.
func (v *Viewer) saved(ctx context.Context, what string) error {
	if why := v.observer.Save(ctx); why != "" {
		return usererr.New(usererr.NotSaved, "%s, but %s", what, why)
	}
	return nil
}

// Ignore adds a permanent noise rule for a finding.
func (v *Viewer) Ignore(_ context.Context, p protocol.IgnoreParams) (*protocol.IgnoreResult, error) {
	scope, err := v.Scope(p.Tab)
	if err != nil {
		return nil, err
	}
	made, err := v.rules.Ignore(clients.Viewer(scope), p)
	v.signal.Notify()
	return made, err
}

// Unignore removes a noise rule.
func (v *Viewer) Unignore(_ context.Context, p protocol.UnignoreParams) (tool.Nothing, error) {
	err := v.rules.Unignore(clients.Viewer(checkpoint.Scope{}), p)
	v.signal.Notify()
	return tool.Nothing{}, err
}

// maxHidden bounds the listed hidden entries.
const maxHidden = 100

// Hidden lists the entries that noise rules hide from a report, and why.
func (v *Viewer) Hidden(ctx context.Context, p protocol.ViewReportParams) (*protocol.ViewHidden, error) {
	w, err := v.between(ctx, p.Tab, p.From, p.To)
	if err != nil {
		return nil, err
	}
	o := v.options(w.scope, p.Tab)
	o.Beginning = w.fromName == checkpoint.Start
	rules := v.rules.Of(&checkpoint.Client{Scope: w.scope})
	found := map[noiserules.EntryKey]*protocol.HiddenEntry{}
	var list []*protocol.HiddenEntry
	window.Entries(w.from, w.v.Until(w.to), o, func(n window.Entry) {
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

// finding returns the finding by which a noise rule matches an event.
func finding(k noiserules.EntryKey, ev event.Event) *protocol.Finding {
	return &protocol.Finding{Kind: k.Kind, Level: k.Level.String(), Origin: k.Origin, Fingerprint: k.Fold, Text: noiserules.Readable(ev)}
}

// pageSeen is a page's tree as last shown.
type pageSeen struct {
	at  time.Time
	now string
}

// Page returns a tab's accessibility tree, together with the tree that the viewer showed before.
func (v *Viewer) Page(ctx context.Context, p protocol.ViewPageParams) (*protocol.ViewPage, error) {
	if p.Tab == 0 {
		return nil, usererr.Invalid("tab is missing. Pass the id of the tab to read.")
	}
	all := false
	client := clients.Viewer(checkpoint.Scope{})
	defer v.pages.Forget(client)
	s, err := v.pages.Snapshot(ctx, client, pages.SnapshotParams{Tab: p.Tab, FullSnapshot: true, InteractiveOnly: &all})
	if err != nil {
		return nil, err
	}
	_, body, _ := strings.Cut(s.Snapshot, "\n")
	if body == "" {
		body = s.Snapshot
	}
	now := v.clock()
	out := &protocol.ViewPage{At: now.UnixMilli(), Now: cutTo(body, maxPageText)}
	v.mu.Lock()
	defer v.mu.Unlock()
	if before, known := v.shown[p.Tab]; known && !p.Anew {
		out.Before, out.BeforeAt = before.now, before.at.UnixMilli()
	}
	if len(v.shown) >= maxPages {
		clear(v.shown)
	}
	v.shown[p.Tab] = pageSeen{at: now, now: out.Now}
	return out, nil
}

// maxPageText bounds a shown tree, in bytes. maxPages bounds the trees that are kept for comparison.
const (
	maxPageText = 256 << 10
	maxPages    = 32
)

// cutTo cuts a text to so many bytes and appends how many were cut.
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

// Variables lists the variable snapshots of all agents, and what their tracepoints recorded.
func (v *Viewer) Variables(ctx context.Context, p protocol.ViewParams) (*protocol.ViewVariables, error) {
	return v.inspector.ViewVariables(ctx, p)
}

// VariableTree returns a part of a variable snapshot.
func (v *Viewer) VariableTree(ctx context.Context, p protocol.ViewVariableTreeParams) (*protocol.ViewVariableTree, error) {
	return v.inspector.ViewVariableTree(ctx, p)
}

// Resume resumes a paused page.
func (v *Viewer) Resume(ctx context.Context, p protocol.ViewResumeParams) (tool.Nothing, error) {
	return v.inspector.ViewResume(ctx, p)
}
