package debugger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/protocol"
)

// debugMaps tells original places of the code that a debugged tab runs now. Unlike the places of what was logged,
// they are waited for: an agent asks for them, and the page stands still.
type debugMaps struct {
	ctx    context.Context
	until  time.Time
	o      *observe.Places
	tab    int
	origin string
	now    int64
}

// maps tells original places, and waits for maps for a time in all.
func (c *debugCall) maps(ctx context.Context, wait time.Duration) *debugMaps {
	now := c.e.clock()
	v := c.e.store.View(now)
	m := &debugMaps{ctx: ctx, until: time.Now().Add(wait), o: c.e.observer.OriginalsIn(v), tab: c.tab, now: now.UnixMilli()}
	for _, t := range v.Tabs {
		if t.ID == c.tab {
			m.origin = t.Origin
		}
	}
	return m
}

// of is the map of a script, nil when there is none.
func (m *debugMaps) of(script string) *sourcemap.Map {
	if m.o == nil || !strings.HasPrefix(script, "http://") && !strings.HasPrefix(script, "https://") {
		return nil
	}
	s := sourcemap.Script{Tab: m.tab, URL: script}
	if m.o.Evaluated(s) {
		return nil
	}
	ctx, cancel := context.WithDeadline(m.ctx, m.until)
	defer cancel()
	return m.o.Maps.Await(ctx, s, m.o.Holds(s, m.now))
}

// debugPlace is a place of a debugged tab's code, as file:line:column.
type debugPlace struct {
	// source is the original place, or what is known instead; script is that in the script, "" when source is it.
	source, script string
	// generated says that source is a place in generated code.
	generated bool
}

// place is where a place of a script comes from.
func (m *debugMaps) place(script string, line, column int) debugPlace {
	at := fmt.Sprintf("%s:%d:%d", m.short(script), line, column)
	if p, ok := m.of(script).Find(line, column); ok {
		if name := m.o.Clean(p.Source); name != "" {
			return debugPlace{source: fmt.Sprintf("%s:%d:%d", name, p.Line, p.Column), script: at}
		}
	}
	return debugPlace{source: at, generated: m.o.Generated(m.tab, observe.Frame{URL: script, Line: line, Column: column})}
}

// String is the place with the one in the script beside it.
func (p debugPlace) String() string {
	if p.script != "" {
		return p.source + " = " + p.script
	}
	return diff.Marked(p.source, p.generated)
}

// short is a script's address, without the origin when that is the page's.
func (m *debugMaps) short(script string) string {
	if script == "" {
		return "(evaluated)"
	}
	if origin, path := capture.SplitURL(script); origin == m.origin && origin != "" {
		return path
	}
	return script
}

// function is what a function was called before it was minified. The name stands before its parameters, with
// what may stand between them.
func (m *debugMaps) function(f protocol.DebugFrame) string {
	if f.Function == "" || f.NameLine == 0 {
		return f.Function
	}
	called := f.Function[strings.LastIndexByte(f.Function, '.')+1:]
	sm := m.of(f.URL)
	for _, between := range []string{"", "=", ":", "=async ", ":async ", "=function", ":function", "=async function"} {
		column := f.NameColumn - len(between) - len(called)
		if p, ok := sm.Find(f.NameLine, column); ok && p.Name != "" {
			return strings.TrimSuffix(f.Function, called) + m.o.Clean(p.Name)
		}
	}
	return f.Function
}
