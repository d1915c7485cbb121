package engine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/protocol"
)

// breakpoint is one breakpoint of an agent's.
type breakpoint struct {
	protocol.DebugBreakpoint
	client       *checkpoint.Client
	url          string
	line, column int
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
}

func (p *BreakpointParams) check() error {
	switch {
	case strings.TrimSpace(p.URL) == "":
		return invalid("url is empty; it must be the address of a script, the end of one, or a source file such as src/App.tsx")
	case p.Line < 1:
		return invalid("line is %d; lines count from 1", p.Line)
	case p.Column < 0:
		return invalid("column is %d; columns count from 1", p.Column)
	case p.HitCount < 0:
		return invalid("hit_count is %d; it must be 1 or more", p.HitCount)
	}
	return nil
}

// BreakpointSet answers breakpoint_set.
func (e *Engine) BreakpointSet(ctx context.Context, client *checkpoint.Client, p BreakpointParams) (*BreakpointLine, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	c, err := e.debug(ctx, client, p.Tab)
	if err != nil {
		return nil, err
	}
	e.debugged.join(c.tab, client)
	b := &breakpoint{client: client, url: p.URL, line: p.Line, column: p.Column}
	b.Condition, b.HitCount = p.Condition, p.HitCount
	e.debugged.mu.Lock()
	e.debugged.last++
	b.ID = fmt.Sprintf("bp-%d", e.debugged.last)
	e.debugged.mu.Unlock()
	if err := c.locate(ctx, b); err != nil {
		return nil, err
	}
	placed, err := c.place(ctx, b)
	if err != nil {
		return nil, err
	}
	e.debugged.with(c.tab, func(t *debugTab) { t.breakpoints = append(t.breakpoints, b) })
	line := c.line(b, placed)
	return &line, nil
}

// locate finds out where a breakpoint lies in generated code.
func (c *debugCall) locate(_ context.Context, b *breakpoint) error {
	place := protocol.DebugPlace{Line: b.line, Column: b.column}
	if strings.Contains(b.url, "://") {
		place.URL = b.url
	} else {
		place.Pattern = endsWith(b.url)
	}
	b.Places = []protocol.DebugPlace{place}
	return nil
}

// endsWith is a regular expression for addresses whose path ends with a path.
func endsWith(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "./"), "/")
	return `^([^?#]*/)?` + regexp.QuoteMeta(path) + `([?#].*)?$`
}

// place sets a breakpoint, or moves it.
func (c *debugCall) place(ctx context.Context, b *breakpoint) (*protocol.DebugPlaced, error) {
	var placed protocol.DebugPlaced
	if err := c.ask(ctx, protocol.MethodDebugBreakpoint, protocol.DebugBreakpointParams{DebugCaller: c.caller, Breakpoint: b.DebugBreakpoint}, &placed, 0); err != nil {
		return nil, err
	}
	return &placed, nil
}

// line is a breakpoint as an agent is told of it.
func (c *debugCall) line(b *breakpoint, placed *protocol.DebugPlaced) BreakpointLine {
	l := BreakpointLine{
		ID: b.ID, URL: b.url, Line: b.line, Column: b.column, Condition: b.Condition, HitCount: b.HitCount, State: "set",
		Hits: placed.Hits,
	}
	if b.client != c.client {
		l.By = c.e.clientName(b.client)
	}
	for _, at := range placed.Locations {
		place := fmt.Sprintf("%s:%d:%d", at.URL, at.Line, at.Column)
		if at.Thread != 1 {
			place += fmt.Sprintf(" (thread %d)", at.Thread)
		}
		if !slices.Contains(l.Places, place) {
			l.Places = append(l.Places, place)
		}
	}
	if len(l.Places) == 0 {
		l.State = "waiting"
		l.Note = fmt.Sprintf("No code of %s has been loaded that reaches line %d; it is set as soon as it is.", b.url, b.line)
	}
	return l
}

// BreakpointList answers breakpoint_list.
func (e *Engine) BreakpointList(ctx context.Context, client *checkpoint.Client, p BreakpointListParams) (*BreakpointList, error) {
	c, err := e.debug(ctx, client, p.Tab)
	if err != nil {
		return nil, err
	}
	return c.list(ctx)
}

func (c *debugCall) list(ctx context.Context) (*BreakpointList, error) {
	var set []*breakpoint
	c.e.debugged.with(c.tab, func(t *debugTab) { set = slices.Clone(t.breakpoints) })
	out := &BreakpointList{Tab: c.tab, Breakpoints: []BreakpointLine{}}
	for _, b := range set {
		placed, err := c.place(ctx, b) // it stands already: this asks where
		if err != nil {
			return nil, err
		}
		out.Breakpoints = append(out.Breakpoints, c.line(b, placed))
	}
	return out, nil
}

// BreakpointRemove answers breakpoint_remove.
func (e *Engine) BreakpointRemove(ctx context.Context, client *checkpoint.Client, p BreakpointRemoveParams) (*BreakpointList, error) {
	c, err := e.debug(ctx, client, p.Tab)
	if err != nil {
		return nil, err
	}
	found := false
	var known []string
	e.debugged.with(c.tab, func(t *debugTab) {
		for i, b := range t.breakpoints {
			if b.ID == p.ID {
				t.breakpoints = slices.Delete(t.breakpoints, i, i+1)
				found = true
				return
			}
			known = append(known, b.ID)
		}
	})
	switch {
	case !found && len(known) == 0:
		return nil, invalid("there is no breakpoint %q; tab %d has none", p.ID, c.tab)
	case !found:
		return nil, invalid("there is no breakpoint %q; tab %d has %s", p.ID, c.tab, strings.Join(known, ", "))
	}
	var answer struct{}
	if err := c.ask(ctx, protocol.MethodDebugRemove, protocol.DebugRemoveParams{DebugCaller: c.caller, ID: p.ID}, &answer, 0); err != nil {
		return nil, err
	}
	return c.list(ctx)
}
