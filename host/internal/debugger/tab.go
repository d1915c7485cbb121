package debugger

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/stacks"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Remote calls the debuggers of browsers. Package link implements it.
type Remote interface {
	// Debug calls a debugging method of a browser and decodes its answer, within a time limit.
	Debug(ctx context.Context, instance, method string, params, answer any, within time.Duration) error
}

const (
	// debugTimeout bounds a call to a browser, in addition to the time that the call asks to wait.
	debugTimeout = 10 * time.Second
	// captureTime is the additional time for reading a large graph of objects.
	captureTime = 10 * time.Second
	// loadsWait bounds the wait for the ends of requests for scripts that run already.
	loadsWait = time.Second
)

// Tabs provides the tabs of browsers as targets. A call that names no tab refers to the one that its client used last.
type Tabs struct {
	Store    *capture.Store
	Pages    *pages.Pages
	Observer *observe.Observer
	// Remote may be nil; then every call is an error.
	Remote Remote
	Clock  func() time.Time
}

// Find implements [Provider]. It waits for a tab that was just opened.
func (t *Tabs) Find(ctx context.Context, client *checkpoint.Client, at Where) (Target, error) {
	if t.Remote == nil {
		return nil, errors.New("no browser is available to debug")
	}
	number, err := t.Pages.WaitForTab(ctx, client, at.Tab)
	if err != nil {
		return nil, err
	}
	found := &tab{t, number}
	if !found.Open() {
		return nil, found.closed()
	}
	t.Pages.Use(client, number)
	return found, nil
}

// tab is a tab of a browser.
type tab struct {
	tabs   *Tabs
	number int
}

// Open returns a tab by its number, and whether it is open.
func (t *Tabs) Open(number int) (Target, bool) {
	found := &tab{t, number}
	return found, t.Remote != nil && found.Open()
}

func tabID(number int) string { return fmt.Sprintf("tab:%d", number) }

// ID implements [Target], as the methods below do.
func (t *tab) ID() string { return tabID(t.number) }

func (t *tab) Name() string { return fmt.Sprintf("tab %d", t.number) }

func (t *tab) Tab() int { return t.number }

func (t *tab) Subject() event.Subject { return event.InTab(t.number, "") }

func (t *tab) Open() bool {
	_, _, ok := t.tabs.Store.BrowserTab(t.number)
	return ok
}

func (t *tab) closed() error {
	return usererr.New(usererr.TabClosed, "tab %d was closed; browser_tabs lists the open tabs", t.number)
}

// call calls a method of the tab's browser. params returns its parameters for the browser's number of the tab. Errors of
// the extension are returned as errors of the agent's request.
func call[A any](ctx context.Context, t *tab, method string, params func(browserTab int) any, extra time.Duration) (*A, error) {
	instance, browserTab, ok := t.tabs.Store.BrowserTab(t.number)
	if !ok {
		return nil, t.closed()
	}
	answer := new(A)
	err := t.tabs.Remote.Debug(ctx, instance, method, params(browserTab), answer, debugTimeout+extra)
	var coded *protocol.Error
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.As(err, &coded):
		return nil, usererr.New(usererr.PageUnavailable, "tab %d cannot be debugged: %v. Call it again: a browser that restarted its extension reconnects.", t.number, err)
	case coded.Code == protocol.CodeUnknown:
		return nil, usererr.New(usererr.ExtensionOutdated, "the extension in this browser is too old for debugging. Ask the user to run `tidemark install` and to reload it.")
	}
	code := usererr.PageUnavailable
	if coded.Code == protocol.CodeRunning {
		code = usererr.PageRunning
	}
	return nil, usererr.New(code, "tab %d: %s", t.number, coded.Message)
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (t *tab) State(ctx context.Context, p protocol.DebugStateParams) (*protocol.DebugState, error) {
	return call[protocol.DebugState](ctx, t, protocol.MethodDebugState, func(id int) any { p.Tab = id; return p }, ms(p.WaitMs))
}

func (t *tab) Scripts(ctx context.Context, caller protocol.DebugCaller) (*protocol.DebugScripts, error) {
	loaded, err := call[protocol.DebugScripts](ctx, t, protocol.MethodDebugScripts, func(id int) any { caller.Tab = id; return caller }, 0)
	if err != nil {
		return nil, err
	}
	urls := map[string]bool{}
	for _, s := range loaded.Scripts {
		urls[s.URL] = true
	}
	return loaded, t.arrived(ctx, urls)
}

// arrived waits until the host knows that the requests for these scripts ended: the browser can report it after it runs
// them, and source maps are of code that was loaded. The error is that of ctx.
func (t *tab) arrived(ctx context.Context, scripts map[string]bool) error {
	timer := time.NewTimer(loadsWait)
	defer timer.Stop()
	for {
		changed := t.tabs.Store.Changed()
		v := t.tabs.Store.View(t.tabs.Clock())
		if !slices.ContainsFunc(v.Flights, func(f capture.Flight) bool { return f.Tab == t.number && scripts[f.URL] }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C: // a script that is being loaded once more
			return nil
		case <-changed:
		}
	}
}

func (t *tab) SetBreakpoint(ctx context.Context, p protocol.DebugBreakpointParams) (*protocol.DebugPlaced, error) {
	return call[protocol.DebugPlaced](ctx, t, protocol.MethodDebugBreakpoint, func(id int) any { p.Tab = id; return p }, 0)
}

func (t *tab) RemoveBreakpoint(ctx context.Context, p protocol.DebugRemoveParams) error {
	_, err := call[struct{}](ctx, t, protocol.MethodDebugRemove, func(id int) any { p.Tab = id; return p }, 0)
	return err
}

func (t *tab) Run(ctx context.Context, p protocol.DebugRunParams) (*protocol.DebugState, error) {
	return call[protocol.DebugState](ctx, t, protocol.MethodDebugRun, func(id int) any { p.Tab = id; return p }, ms(p.WaitMs))
}

func (t *tab) Evaluate(ctx context.Context, p protocol.DebugEvaluateParams) (*protocol.DebugValue, error) {
	return call[protocol.DebugValue](ctx, t, protocol.MethodDebugEvaluate, func(id int) any { p.Tab = id; return p }, 0)
}

func (t *tab) Variables(ctx context.Context, p protocol.DebugVariablesParams) (*protocol.DebugVariables, error) {
	return call[protocol.DebugVariables](ctx, t, protocol.MethodDebugVariables, func(id int) any { p.Tab = id; return p }, captureTime)
}

func (t *tab) Trace(ctx context.Context, p protocol.DebugTraceParams) (*protocol.DebugTraced, error) {
	return call[protocol.DebugTraced](ctx, t, protocol.MethodDebugTrace, func(id int) any { p.Tab = id; return p }, ms(p.WaitMs))
}

func (t *tab) Leave(ctx context.Context, caller protocol.DebugCaller, last bool, breakpoints []string) error {
	params := func(id int) any { caller.Tab = id; return caller }
	if last {
		_, err := call[struct{}](ctx, t, protocol.MethodDebugEnd, params, 0)
		return err
	}
	_, err := call[struct{}](ctx, t, protocol.MethodDebugLeave, params, 0)
	if usererr.CodeOf(err) != usererr.ExtensionOutdated {
		return err
	}
	err = nil
	for _, id := range breakpoints { // an older extension can only remove breakpoints
		err = errors.Join(err, t.RemoveBreakpoint(ctx, protocol.DebugRemoveParams{DebugCaller: caller, ID: id}))
	}
	return err
}

// Code returns the maps of what the tab runs now. Unlike for log entries, a call waits for them: an agent requested the
// places, and the page is paused.
func (t *tab) Code() Code {
	now := t.tabs.Clock()
	v := t.tabs.Store.View(now)
	c := &tabCode{places: t.tabs.Observer.OriginalsIn(v), tab: t, now: now.UnixMilli(), evaluated: map[string]*sourcemap.Map{}}
	for _, open := range v.Tabs {
		if open.ID == t.number {
			c.origin = open.Origin
		}
	}
	return c
}

// tabCode is the code that a tab runs at a moment.
type tabCode struct {
	places *observe.Places // nil without source maps
	tab    *tab
	origin string
	now    int64
	// evaluated are the maps that were read from code.
	evaluated map[string]*sourcemap.Map
}

func (c *tabCode) Map(ctx context.Context, script string) *sourcemap.Map {
	s := sourcemap.Script{Tab: c.tab.number, URL: script}
	switch {
	case c.places == nil || script == "":
		return nil
	case !isWeb(script) || c.places.Evaluated(s):
		return c.mapIn(ctx, script)
	}
	return c.places.Maps.Await(ctx, s, c.places.Holds(s, c.now))
}

func isWeb(script string) bool {
	return strings.HasPrefix(script, "http://") || strings.HasPrefix(script, "https://")
}

// mapIn returns the map that code contains which the tab evaluated.
func (c *tabCode) mapIn(ctx context.Context, script string) *sourcemap.Map {
	if m, known := c.evaluated[script]; known {
		return m
	}
	found, err := call[protocol.DebugMap](ctx, c.tab, protocol.MethodDebugMap, func(id int) any {
		return protocol.DebugMapParams{DebugCaller: protocol.DebugCaller{Tab: id}, URL: script}
	}, 0)
	if err != nil {
		return nil
	}
	c.evaluated[script], _ = inlineMap(script, found.Map)
	return c.evaluated[script]
}

func (c *tabCode) Clean(name string) string { return c.places.Clean(name) }

// Short returns an address without the origin if it is the page's origin.
func (c *tabCode) Short(script string) string {
	if script == "" {
		return "(evaluated)"
	}
	if origin, path := capture.SplitURL(script); origin == c.origin && origin != "" {
		return path
	}
	return script
}

func (c *tabCode) Generated(script string, line, column int) bool {
	return c.places.Generated(c.tab.number, stacks.Frame{URL: script, Line: line, Column: column})
}

// DebugScript returns the breakpoints in a script of a tab that is about to run.
func (i *Inspector) DebugScript(ctx context.Context, instance string, p protocol.DebugScriptParams) *protocol.DebugScriptResult {
	number := i.tabs.Store.HostTab(instance, p.Tab)
	return &protocol.DebugScriptResult{Breakpoints: i.sessions.breakpointsIn(tabID(number), p.URL, func() *sourcemap.Map {
		return i.tabs.scriptMap(ctx, number, p)
	})}
}

// scriptMap returns the map of a script that was just loaded.
func (t *Tabs) scriptMap(ctx context.Context, number int, p protocol.DebugScriptParams) *sourcemap.Map {
	if m, inline := inlineMap(p.URL, p.Map); inline {
		return m
	}
	maps := t.Observer.Originals.Maps
	if maps == nil {
		return nil
	}
	began := t.Clock().UnixMilli()
	ctx, cancel := context.WithTimeout(ctx, mapsWait)
	defer cancel()
	return maps.Await(ctx, sourcemap.Script{Tab: number, URL: p.URL}, func(fetched int64) bool { return fetched >= began })
}

// DebugPlace returns the place of the top frame of a paused thread, as the answers about the pause have it.
func (i *Inspector) DebugPlace(ctx context.Context, instance string, p protocol.DebugPlaceParams) *protocol.DebugPlaceText {
	t := &tab{i.tabs, i.tabs.Store.HostTab(instance, p.Tab)}
	maps := mapsOf(ctx, t, mapsWait)
	at := maps.place(p.Frame.URL, p.Frame.Line, p.Frame.Column)
	name := event.FunctionName(cmp.Or(event.OneLine(maps.function(p.Frame)), "(anonymous)"))
	return &protocol.DebugPlaceText{Place: fmt.Sprintf("%s (%s)", name, event.Named(at.line())) + report.Mark(at.generated)}
}

// DebugNames returns the names that identifiers in a script of a tab had before minification.
func (i *Inspector) DebugNames(ctx context.Context, instance string, p protocol.DebugNamesParams) *protocol.DebugNames {
	out := &protocol.DebugNames{Names: make([]string, len(p.Places)/2)}
	m := i.tabs.namesMap(ctx, i.tabs.Store.HostTab(instance, p.Tab), p)
	if out.Known = m.HasNames(); !out.Known {
		return out
	}
	for n := range out.Names {
		if at, ok := m.Find(p.Places[2*n], p.Places[2*n+1]); ok && at.Name != "" {
			out.Names[n] = i.tabs.Observer.Originals.Clean(at.Name)
		}
	}
	return out
}

// namesMap returns the map of a script of a debugged tab, nil if there is none.
func (t *Tabs) namesMap(ctx context.Context, number int, p protocol.DebugNamesParams) *sourcemap.Map {
	if m, inline := inlineMap(p.URL, p.Map); inline {
		return m
	}
	ctx, cancel := context.WithTimeout(ctx, mapsWait)
	defer cancel()
	return (&tab{t, number}).Code().Map(ctx, p.URL)
}

// inlineMap returns the map that a data: address contains, nil if it cannot be read.
func inlineMap(script, reference string) (m *sourcemap.Map, inline bool) {
	text, inline := strings.CutPrefix(reference, "data:")
	if !inline {
		return nil, false
	}
	data, err := dataURL(text)
	if err != nil {
		return nil, true
	}
	if m, err = sourcemap.Parse(script, data); err != nil {
		return nil, true
	}
	return m, true
}

// dataURL decodes a data: address without its scheme.
func dataURL(rest string) ([]byte, error) {
	kind, text, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, errors.New("it has no data")
	}
	if strings.HasSuffix(kind, ";base64") {
		return base64.StdEncoding.DecodeString(text)
	}
	plain, err := url.PathUnescape(text)
	return []byte(plain), err
}
