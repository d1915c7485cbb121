package debugger

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// breakpoint is one breakpoint of an agent's.
type breakpoint struct {
	protocol.DebugBreakpoint
	client       *checkpoint.Client
	url          string
	line, column int
	// mapped is true once a source map has named its place.
	mapped bool
}

// BreakpointParams are the arguments of breakpoint_set.
type BreakpointParams struct {
	URL       string `json:"url"`
	Line      int    `json:"line"`
	Column    int    `json:"column,omitempty"`
	Condition string `json:"condition,omitempty"`
	HitCount  int    `json:"hit_count,omitempty"`
	Tab       int    `json:"tab,omitempty"`
}

// BreakpointListParams are the arguments of breakpoint_list.
type BreakpointListParams struct {
	Tab int `json:"tab,omitempty"`
}

// BreakpointRemoveParams are the arguments of breakpoint_remove.
type BreakpointRemoveParams struct {
	ID  string `json:"id"`
	Tab int    `json:"tab,omitempty"`
}

// BreakpointList is the answer of breakpoint_list and breakpoint_remove.
type BreakpointList struct {
	Tab         int              `json:"tab"`
	Breakpoints []BreakpointLine `json:"breakpoints"`
	// Notes are what the agent ought to know: how debugging or a pause ended.
	Notes []string `json:"notes,omitempty"`
	tool.Quotes
}

// BreakpointLine is one breakpoint.
type BreakpointLine struct {
	ID        string `json:"id"`
	URL       string `json:"url"`
	Line      int    `json:"line"`
	Column    int    `json:"column,omitempty"`
	Condition string `json:"condition,omitempty"`
	HitCount  int    `json:"hit_count,omitempty"`
	// State is set, or waiting for code that is not loaded; Note says for what.
	State string `json:"state"`
	Note  string `json:"note,omitempty"`
	// Places are where it stands.
	Places []string `json:"places,omitempty"`
	Hits   int      `json:"hits,omitempty"`
	// By is the agent that set it, when it is another one.
	By string `json:"by,omitempty"`
	tool.Quotes
}

func (p *BreakpointParams) check() error {
	switch {
	case strings.TrimSpace(p.URL) == "":
		return usererr.Invalid("url is empty; it must be the address of a script, the end of one, or a source file such as src/App.tsx")
	case p.Line < 1:
		return usererr.Invalid("line is %d; lines count from 1", p.Line)
	case p.Column < 0:
		return usererr.Invalid("column is %d; columns count from 1", p.Column)
	case p.HitCount < 0:
		return usererr.Invalid("hit_count is %d; it must be 1 or more", p.HitCount)
	}
	return nil
}

// BreakpointSet answers breakpoint_set.
func (e *Inspector) BreakpointSet(ctx context.Context, client *checkpoint.Client, p BreakpointParams) (*BreakpointLine, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	c, err := e.debug(ctx, client, p.Tab)
	if err != nil {
		return nil, err
	}
	e.tabs.join(c.tab, client)
	b := &breakpoint{client: client, url: p.URL, line: p.Line, column: p.Column}
	b.Client, b.Condition, b.HitCount = c.caller.Client, p.Condition, p.HitCount
	e.tabs.mu.Lock()
	e.tabs.last++
	b.ID = fmt.Sprintf("bp-%d", e.tabs.last)
	e.tabs.mu.Unlock()
	if err := c.locate(ctx, b); err != nil {
		return nil, err
	}
	same := ""
	e.tabs.with(c.tab, func(t *debugTab) {
		for _, other := range t.breakpoints {
			if other.client == client && other.url == b.url && other.line == b.line && other.column == b.column {
				same = other.ID
				return
			}
		}
		// A script that waits to run from now on is looked for it.
		t.breakpoints = append(t.breakpoints, b)
	})
	if same != "" {
		return nil, usererr.New(usererr.AlreadyExists, "your breakpoint %s is at that place; remove it with breakpoint_remove to set another", same)
	}
	placed, err := c.place(ctx, b)
	if err != nil {
		e.tabs.with(c.tab, func(t *debugTab) {
			t.breakpoints = slices.DeleteFunc(t.breakpoints, func(o *breakpoint) bool { return o == b })
		})
		return nil, err
	}
	line := c.line(ctx, b, placed)
	return &line, nil
}

// locate finds out where a breakpoint lies in generated code: in the script of that very address; in what scripts
// were made of, by their source maps; or in any script whose address ends so.
func (c *debugCall) locate(ctx context.Context, b *breakpoint) error {
	var loaded protocol.DebugScripts
	if err := c.ask(ctx, protocol.MethodDebugScripts, c.caller, &loaded, 0); err != nil {
		return err
	}
	if strings.Contains(b.url, "://") {
		b.Places = []protocol.DebugPlace{{URL: b.url, Line: b.line, Column: b.column}}
		return nil
	}
	b.Original = true
	maps := c.maps(ctx, mapsWait)
	for _, s := range likeliest(loaded.Scripts, b.url) {
		if places := b.in(s.URL, maps.of(s.URL)); len(places) > 0 {
			b.Places = append(b.Places, places...)
			if stem(s.URL) == stem(b.url) {
				break // a server that gives every file an address of its own has hundreds of others
			}
		}
	}
	b.mapped = len(b.Places) > 0
	if !b.mapped {
		b.Places = []protocol.DebugPlace{{Pattern: endsWith(b.url), Line: b.line, Column: b.column}}
	}
	return nil
}

// in are the places of a breakpoint in a script, by its map.
func (b *breakpoint) in(script string, m *sourcemap.Map) []protocol.DebugPlace {
	if m == nil || !m.Holds(b.url) {
		return nil
	}
	ranges, _ := m.Generated(b.url, b.line, max(b.column, 1))
	var places []protocol.DebugPlace
	for _, r := range ranges {
		places = append(places, protocol.DebugPlace{URL: script, Line: r.Line, Column: r.Column, EndLine: r.EndLine, EndColumn: r.EndColumn})
	}
	return places
}

// likeliest are the scripts that have maps; those named like a path come first.
func likeliest(scripts []protocol.DebugScriptLine, path string) []protocol.DebugScriptLine {
	var mapped []protocol.DebugScriptLine
	for _, s := range scripts {
		if s.Map != "" {
			mapped = append(mapped, s)
		}
	}
	slices.SortStableFunc(mapped, func(a, b protocol.DebugScriptLine) int {
		return cmp.Compare(boolInt(stem(a.URL) != stem(path)), boolInt(stem(b.URL) != stem(path)))
	})
	return mapped
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stem is the name of a file without what follows its first dot.
func stem(path string) string {
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".")
	return path
}

// DebugScript says which breakpoints lie in a script that waits to run.
func (e *Inspector) DebugScript(ctx context.Context, instance string, p protocol.DebugScriptParams) *protocol.DebugScriptResult {
	out := &protocol.DebugScriptResult{Breakpoints: []protocol.DebugBreakpoint{}}
	tab := e.store.HostTab(instance, p.Tab)
	var waiting []*breakpoint
	e.tabs.with(tab, func(t *debugTab) {
		for _, b := range t.breakpoints {
			if b.Original {
				waiting = append(waiting, b)
			}
		}
	})
	if len(waiting) == 0 {
		return out
	}
	m := e.scriptMap(ctx, tab, p)
	for _, b := range waiting {
		places := b.in(p.URL, m)
		e.tabs.with(tab, func(*debugTab) {
			kept := slices.DeleteFunc(slices.Clone(b.Places), func(o protocol.DebugPlace) bool {
				return o.URL == p.URL || o.Pattern != "" && len(places) > 0
			})
			if all := append(kept, places...); !slices.Equal(all, b.Places) {
				b.Places, b.mapped = all, b.mapped || len(places) > 0
				out.Breakpoints = append(out.Breakpoints, b.DebugBreakpoint)
			}
		})
	}
	return out
}

// scriptMap is the map of a script that was loaded just now.
func (e *Inspector) scriptMap(ctx context.Context, tab int, p protocol.DebugScriptParams) *sourcemap.Map {
	if inline, ok := strings.CutPrefix(p.Map, "data:"); ok {
		data, err := dataURL(inline)
		if err != nil {
			return nil
		}
		m, err := sourcemap.Parse(p.URL, data)
		if err != nil {
			return nil
		}
		return m
	}
	if e.observer.Originals.Maps == nil {
		return nil
	}
	began := e.clock().UnixMilli()
	ctx, cancel := context.WithTimeout(ctx, mapsWait)
	defer cancel()
	return e.observer.Originals.Maps.Await(ctx, sourcemap.Script{Tab: tab, URL: p.URL}, func(fetched int64) bool { return fetched >= began })
}

// DebugNames says what identifiers of a debugged tab's code were called before it was minified.
func (e *Inspector) DebugNames(ctx context.Context, instance string, p protocol.DebugNamesParams) *protocol.DebugNames {
	out := &protocol.DebugNames{Names: make([]string, len(p.Places)/2)}
	m := e.namesMap(ctx, e.store.HostTab(instance, p.Tab), p)
	if out.Known = m.HasNames(); !out.Known {
		return out
	}
	for i := range out.Names {
		if at, ok := m.Find(p.Places[2*i], p.Places[2*i+1]); ok && at.Name != "" {
			out.Names[i] = e.observer.Originals.Clean(at.Name)
		}
	}
	return out
}

// namesMap is the map of a script that a debugged tab runs.
func (e *Inspector) namesMap(ctx context.Context, tab int, p protocol.DebugNamesParams) *sourcemap.Map {
	if strings.HasPrefix(p.Map, "data:") {
		return e.scriptMap(ctx, tab, protocol.DebugScriptParams{Tab: p.Tab, URL: p.URL, Map: p.Map})
	}
	now := e.clock()
	o := e.observer.OriginalsIn(e.store.View(now))
	s := sourcemap.Script{Tab: tab, URL: p.URL}
	if o == nil || o.Evaluated(s) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, mapsWait)
	defer cancel()
	return o.Maps.Await(ctx, s, o.Holds(s, now.UnixMilli()))
}

// dataURL is what a data: address holds, without its scheme.
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

// endsWith is a regular expression for addresses whose path ends with a path.
func endsWith(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "./"), "/")
	return `^([^?#]*/)?` + regexp.QuoteMeta(path) + `([?#].*)?$`
}

// place sets a breakpoint, or moves it.
func (c *debugCall) place(ctx context.Context, b *breakpoint) (*protocol.DebugPlaced, error) {
	var placed protocol.DebugPlaced
	var is protocol.DebugBreakpoint
	c.e.tabs.with(c.tab, func(*debugTab) { is = b.DebugBreakpoint })
	if err := c.ask(ctx, protocol.MethodDebugBreakpoint, protocol.DebugBreakpointParams{DebugCaller: c.caller, Breakpoint: is}, &placed, 0); err != nil {
		return nil, err
	}
	return &placed, nil
}

// line is a breakpoint as an agent is told of it.
func (c *debugCall) line(ctx context.Context, b *breakpoint, placed *protocol.DebugPlaced) BreakpointLine {
	l := BreakpointLine{
		ID: b.ID, URL: b.url, Line: b.line, Column: b.column, Condition: b.Condition, HitCount: b.HitCount, State: "set",
		Hits: placed.Hits,
	}
	if b.client != c.client {
		l.By = c.e.clientName(b.client)
	}
	maps := c.maps(ctx, mapsWait)
	for _, at := range placed.Locations {
		place := maps.place(at.URL, at.Line, at.Column).String()
		if at.Thread != 1 {
			place += fmt.Sprintf(" (thread %d)", at.Thread)
		}
		if !slices.Contains(l.Places, place) {
			l.Places = append(l.Places, place)
		}
	}
	if len(l.Places) == 0 {
		l.State = "waiting"
		l.Note = fmt.Sprintf("No code of %s with line %d is loaded; it is set as soon as it is.", b.url, b.line)
	}
	return l
}

// BreakpointList answers breakpoint_list.
func (e *Inspector) BreakpointList(ctx context.Context, client *checkpoint.Client, p BreakpointListParams) (*BreakpointList, error) {
	c, err := e.debug(ctx, client, p.Tab)
	if err != nil {
		return nil, err
	}
	return c.list(ctx)
}

func (c *debugCall) list(ctx context.Context) (*BreakpointList, error) {
	var s protocol.DebugState
	if err := c.ask(ctx, protocol.MethodDebugState, protocol.DebugStateParams{DebugCaller: c.caller}, &s, 0); err != nil {
		return nil, err
	}
	out := &BreakpointList{Tab: c.tab, Breakpoints: []BreakpointLine{}, Notes: c.endings(&s)}
	var set []*breakpoint
	c.e.tabs.with(c.tab, func(t *debugTab) { set = slices.Clone(t.breakpoints) })
	for _, b := range set {
		placed, err := c.place(ctx, b) // it stands already: this asks where
		if err != nil {
			return nil, err
		}
		out.Breakpoints = append(out.Breakpoints, c.line(ctx, b, placed))
	}
	return out, nil
}

// BreakpointRemove answers breakpoint_remove.
func (e *Inspector) BreakpointRemove(ctx context.Context, client *checkpoint.Client, p BreakpointRemoveParams) (*BreakpointList, error) {
	c, err := e.debug(ctx, client, p.Tab)
	if err != nil {
		return nil, err
	}
	found := false
	var of *checkpoint.Client
	var known []string
	e.tabs.with(c.tab, func(t *debugTab) {
		for i, b := range t.breakpoints {
			if b.ID == p.ID && b.client != client {
				of = b.client
				return
			}
			if b.ID == p.ID {
				t.breakpoints = slices.Delete(t.breakpoints, i, i+1)
				found = true
				return
			}
			known = append(known, b.ID)
		}
	})
	switch {
	case of != nil:
		return nil, usererr.New(usererr.NotFound, "%s is a breakpoint of %s; it is gone when that agent removes it or leaves", p.ID, e.clientName(of))
	case !found && len(known) == 0:
		return nil, usererr.New(usererr.NotFound, "there is no breakpoint %q; tab %d has none", p.ID, c.tab)
	case !found:
		return nil, usererr.New(usererr.NotFound, "there is no breakpoint %q; tab %d has %s", p.ID, c.tab, strings.Join(known, ", "))
	}
	var answer struct{}
	if err := c.ask(ctx, protocol.MethodDebugRemove, protocol.DebugRemoveParams{DebugCaller: c.caller, ID: p.ID}, &answer, 0); err != nil {
		return nil, err
	}
	return c.list(ctx)
}
