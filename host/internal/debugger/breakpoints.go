package debugger

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// breakpoint is one breakpoint of an agent.
type breakpoint struct {
	protocol.DebugBreakpoint
	client       *checkpoint.Client
	url          string
	line, column int
	// mapped is true once a source map provided its place.
	mapped bool
	// unmapped is the loaded script of that name if its source map is not available.
	unmapped string
}

// BreakpointParams are the arguments of breakpoint_set.
type BreakpointParams struct {
	URL       string `json:"url"`
	Line      int    `json:"line"`
	Column    int    `json:"column,omitempty"`
	Condition string `json:"condition,omitempty"`
	HitCount  int    `json:"hit_count,omitempty"`
	Where
}

// BreakpointListParams are the arguments of breakpoint_list.
type BreakpointListParams struct {
	Where
}

// BreakpointRemoveParams are the arguments of breakpoint_remove.
type BreakpointRemoveParams struct {
	ID string `json:"id"`
	Where
}

// BreakpointList is the answer of breakpoint_list and breakpoint_remove.
type BreakpointList struct {
	Tab         int              `json:"tab"`
	Breakpoints []BreakpointLine `json:"breakpoints"`
	// Notes report how debugging or a pause ended.
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
	// State is "set", or "waiting" if the code is not loaded; Note explains why.
	State string `json:"state"`
	Note  string `json:"note,omitempty"`
	// Places are its places in loaded code.
	Places []string `json:"places,omitempty"`
	Hits   int      `json:"hits,omitempty"`
	// By is the agent that set it, if it is not the calling one.
	By string `json:"by,omitempty"`
	tool.Quotes
}

func (p *BreakpointParams) check() error {
	switch {
	case strings.TrimSpace(p.URL) == "":
		return usererr.Invalid("url is empty; give a source file such as src/App.tsx, a script's address, or the end of one")
	case p.Line < 1:
		return usererr.Invalid("line is %d; it must be 1 or more", p.Line)
	case p.Column < 0:
		return usererr.Invalid("column is %d; it must be 1 or more", p.Column)
	case p.HitCount < 0:
		return usererr.Invalid("hit_count is %d; it must be 1 or more", p.HitCount)
	}
	return nil
}

var breakpointSetTool = tool.New(tool.Definition{
	Name: "breakpoint_set", Title: "Set breakpoint", Effect: tool.Adds,
	Description: "Pause the page's JavaScript at a line. Survives reloads and applies to code that loads later.",
	Arguments: `
		"url":{"type":"string","description":"source file (src/App.tsx), script address, or the end of either"},
		"line":{"type":"integer","minimum":1},
		"column":{"type":"integer","minimum":1},
		"condition":{"type":"string","description":"expression without side effects"},
		"hit_count":{"type":"integer","minimum":1,"description":"pause from this hit on"},` + tabArgument,
	Required: []string{"url", "line"},
}, (*Inspector).BreakpointSet)

// BreakpointSet answers breakpoint_set.
func (i *Inspector) BreakpointSet(ctx context.Context, client *checkpoint.Client, p BreakpointParams) (*BreakpointLine, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	c, err := i.debug(ctx, client, p.Where)
	if err != nil {
		return nil, err
	}
	i.sessions.join(c.target, client)
	b := &breakpoint{client: client, url: p.URL, line: p.Line, column: p.Column}
	b.Client, b.Condition, b.HitCount = c.caller.Client, p.Condition, p.HitCount
	b.ID = fmt.Sprintf("bp-%d", i.sessions.next())
	if err := c.locate(ctx, b); err != nil {
		return nil, err
	}
	same := ""
	i.sessions.with(c.target, func(s *session) {
		for _, other := range s.breakpoints {
			if other.client == client && other.url == b.url && other.line == b.line && other.column == b.column {
				same = other.ID
				return
			}
		}
		// From now on, new scripts are checked for it.
		s.breakpoints = append(s.breakpoints, b)
	})
	if same != "" {
		return nil, usererr.New(usererr.AlreadyExists, "your breakpoint %s is already there; remove it with breakpoint_remove first", same)
	}
	placed, err := c.place(ctx, b)
	if err != nil {
		i.sessions.with(c.target, func(s *session) {
			s.breakpoints = slices.DeleteFunc(s.breakpoints, func(o *breakpoint) bool { return o == b })
		})
		return nil, err
	}
	line := c.line(ctx, b, placed)
	return &line, nil
}

// locate finds the places of a breakpoint in generated code: in the script of that address, in source files by the
// source maps of loaded scripts, or in any script whose address ends with the path.
func (c *debugCall) locate(ctx context.Context, b *breakpoint) error {
	loaded, err := c.target.Scripts(ctx, c.caller)
	if err != nil {
		return err
	}
	if strings.Contains(b.url, "://") {
		b.Places = []protocol.DebugPlace{{URL: b.url, Line: b.line, Column: b.column}}
		return nil
	}
	b.Original = true
	named := regexp.MustCompile(endsWith(b.url))
	maps := c.maps(ctx, mapsWait)
	replaced := map[string]bool{}
	for _, s := range likeliest(loaded.Scripts, b.url) {
		script := updatedBy(s.URL)
		if evaluated := strings.Contains(s.URL, "?id="); replaced[script] && !evaluated { // it has an older copy
			continue
		}
		m := maps.mapOf(s.URL)
		if maps.code != nil && m == nil && named.MatchString(s.URL) {
			b.unmapped = cmp.Or(b.unmapped, s.URL)
		}
		if places := b.placesIn(s.URL, m); len(places) > 0 {
			b.Places = append(b.Places, places...)
			replaced[script] = true
			if stem(s.URL) == stem(b.url) {
				break // a server with one address per file has hundreds of others
			}
		}
	}
	b.mapped = len(b.Places) > 0
	if !b.mapped {
		b.Places = []protocol.DebugPlace{{Pattern: named.String(), Line: b.line, Column: b.column}}
	}
	return nil
}

// mapped reports whether a source map provided the place of a breakpoint, which scripts that load move meanwhile.
func (c *debugCall) mapped(b *breakpoint) (mapped bool) {
	c.inspector.sessions.with(c.target, func(*session) { mapped = b.mapped })
	return mapped
}

// ownLine reports that a breakpoint is at a line of the script, because its source map is not available; "" if it is not.
func (c *debugCall) ownLine(b *breakpoint) string {
	if b.unmapped == "" || c.mapped(b) {
		return ""
	}
	return fmt.Sprintf("no source map of %s is available, so line %d is that of the script", event.Named(c.target.Code().Short(b.unmapped)), b.line)
}

// placesIn returns the places of a breakpoint in a script, by its map.
func (b *breakpoint) placesIn(script string, m *sourcemap.Map) []protocol.DebugPlace {
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

// likeliest returns the scripts with maps, those named like path first, the newest first. Of a module that hot updates
// replaced it returns the newest copy: the page runs no other.
func likeliest(scripts []protocol.DebugScriptLine, path string) []protocol.DebugScriptLine {
	var mapped []protocol.DebugScriptLine
	files := map[string]bool{}
	for _, s := range slices.Backward(scripts) {
		file := sourcemap.Script{URL: s.URL}.File().URL
		if s.Map != "" && !files[file] && (isWeb(file) || stem(file) == stem(path)) {
			files[file] = true
			mapped = append(mapped, s)
		}
	}
	slices.SortStableFunc(mapped, func(a, b protocol.DebugScriptLine) int {
		return cmp.Compare(boolInt(stem(a.URL) != stem(path)), boolInt(stem(b.URL) != stem(path)))
	})
	return mapped
}

// updatedBy returns the script whose modules a hot update replaces: of webpack's `main.1f0a.hot-update.js`, `main.js`, of what
// Turbopack evaluates as `chunk.js?id=…`, `chunk.js`.
func updatedBy(update string) string {
	script, _, _ := strings.Cut(update, "?id=")
	if name, ext, ok := strings.Cut(script, ".hot-update."); ok {
		return name[:max(strings.LastIndexByte(name, '.'), 0)] + "." + ext
	}
	return script
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stem returns the name of a file up to its first dot.
func stem(path string) string {
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".")
	return path
}

// breakpointsIn returns the breakpoints and tracepoints of a target in a script that is about to run, by the script's source map, which it
// requests only if breakpoints wait for original places.
func (d *sessions) breakpointsIn(target, script string, sourceMap func() *sourcemap.Map) []protocol.DebugBreakpoint {
	found := []protocol.DebugBreakpoint{}
	var waiting []*breakpoint
	d.mu.Lock()
	if s := d.all[target]; s != nil {
		all := slices.Clone(s.breakpoints)
		for _, t := range s.traces {
			all = append(all, t.at)
		}
		for _, b := range all {
			if b.Original {
				waiting = append(waiting, b)
			}
		}
	}
	d.mu.Unlock()
	if len(waiting) == 0 {
		return found
	}
	m := sourceMap()
	for _, b := range waiting {
		places := b.placesIn(script, m)
		d.mu.Lock()
		kept := slices.DeleteFunc(slices.Clone(b.Places), func(o protocol.DebugPlace) bool {
			return o.URL == script || o.Pattern != "" && len(places) > 0
		})
		if all := append(kept, places...); !slices.Equal(all, b.Places) {
			b.Places, b.mapped = all, b.mapped || len(places) > 0
			found = append(found, b.DebugBreakpoint)
		}
		d.mu.Unlock()
	}
	return found
}

// endsWith returns a regular expression for addresses that end with a path.
func endsWith(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "./"), "/")
	return `^([^?#]*/)?` + regexp.QuoteMeta(path) + `([?#].*)?$`
}

// place sets or moves a breakpoint and returns its places.
func (c *debugCall) place(ctx context.Context, b *breakpoint) (*protocol.DebugPlaced, error) {
	var wire protocol.DebugBreakpoint
	c.inspector.sessions.with(c.target, func(*session) { wire = b.DebugBreakpoint })
	return c.target.SetBreakpoint(ctx, protocol.DebugBreakpointParams{DebugCaller: c.caller, Breakpoint: wire})
}

// line describes a breakpoint for an answer.
func (c *debugCall) line(ctx context.Context, b *breakpoint, placed *protocol.DebugPlaced) BreakpointLine {
	l := BreakpointLine{
		ID: b.ID, URL: b.url, Line: b.line, Column: b.column, Condition: b.Condition, HitCount: b.HitCount, State: "set",
		Hits: placed.Hits,
	}
	if b.client != c.client {
		l.By = c.inspector.clientName(b.client)
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
		l.Note = fmt.Sprintf("No loaded code has %s line %d; the breakpoint is set once it loads.", b.url, b.line)
	} else if note := c.ownLine(b); note != "" {
		l.Note = strings.ToUpper(note[:1]) + note[1:] + "."
	}
	return l
}

var breakpointListTool = tool.New(tool.Definition{
	Name: "breakpoint_list", Title: "List breakpoints", Effect: tool.Reads,
	Description: "List breakpoints with their state.",
	Arguments:   tabArgument,
}, (*Inspector).BreakpointList)

// BreakpointList answers breakpoint_list.
func (i *Inspector) BreakpointList(ctx context.Context, client *checkpoint.Client, p BreakpointListParams) (*BreakpointList, error) {
	c, err := i.debug(ctx, client, p.Where)
	if err != nil {
		return nil, err
	}
	return c.list(ctx)
}

func (c *debugCall) list(ctx context.Context) (*BreakpointList, error) {
	s, err := c.threads(ctx)
	if err != nil {
		return nil, err
	}
	out := &BreakpointList{Tab: c.target.Tab(), Breakpoints: []BreakpointLine{}, Notes: c.endings(s)}
	var set []*breakpoint
	c.inspector.sessions.with(c.target, func(s *session) { set = slices.Clone(s.breakpoints) })
	for _, b := range set {
		placed, err := c.place(ctx, b) // already set: this only returns its places
		if err != nil {
			return nil, err
		}
		out.Breakpoints = append(out.Breakpoints, c.line(ctx, b, placed))
	}
	return out, nil
}

var breakpointRemoveTool = tool.New(tool.Definition{
	Name: "breakpoint_remove", Title: "Remove breakpoint", Effect: tool.Destroys,
	Description: "Remove a breakpoint.",
	Arguments:   `"id":{"type":"string"},` + tabArgument,
	Required:    []string{"id"},
}, (*Inspector).BreakpointRemove)

// BreakpointRemove answers breakpoint_remove.
func (i *Inspector) BreakpointRemove(ctx context.Context, client *checkpoint.Client, p BreakpointRemoveParams) (*BreakpointList, error) {
	c, err := i.debug(ctx, client, p.Where)
	if err != nil {
		return nil, err
	}
	found := false
	var owner *checkpoint.Client
	var known []string
	i.sessions.with(c.target, func(s *session) {
		for i, b := range s.breakpoints {
			if b.ID == p.ID && b.client != client {
				owner = b.client
				return
			}
			if b.ID == p.ID {
				s.breakpoints = slices.Delete(s.breakpoints, i, i+1)
				found = true
				return
			}
			known = append(known, b.ID)
		}
	})
	switch {
	case owner != nil:
		return nil, usererr.New(usererr.NotFound, "%s is a breakpoint of %s; it stays until that agent removes it or disconnects", p.ID, i.clientName(owner))
	case !found && len(known) == 0:
		return nil, usererr.New(usererr.NotFound, "there is no breakpoint %q; %s has no breakpoints", p.ID, c.target.Name())
	case !found:
		return nil, usererr.New(usererr.NotFound, "there is no breakpoint %q; %s has %s", p.ID, c.target.Name(), strings.Join(known, ", "))
	}
	if err := c.target.RemoveBreakpoint(ctx, protocol.DebugRemoveParams{DebugCaller: c.caller, ID: p.ID}); err != nil {
		return nil, err
	}
	return c.list(ctx)
}
