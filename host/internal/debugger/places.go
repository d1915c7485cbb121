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

// debugMaps finds original places in the code that a debugged tab runs now. Unlike for log entries, it waits for source
// maps: an agent requested the places, and the page is paused.
type debugMaps struct {
	ctx    context.Context
	until  time.Time
	places *observe.Places
	tab    int
	origin string
	now    int64
}

// maps returns a debugMaps that waits for source maps for at most wait in total.
func (c *debugCall) maps(ctx context.Context, wait time.Duration) *debugMaps {
	now := c.inspector.clock()
	v := c.inspector.store.View(now)
	m := &debugMaps{ctx: ctx, until: time.Now().Add(wait), places: c.inspector.observer.OriginalsIn(v), tab: c.tab, now: now.UnixMilli()}
	for _, t := range v.Tabs {
		if t.ID == c.tab {
			m.origin = t.Origin
		}
	}
	return m
}

// mapOf returns the map of a script, nil if there is none.
func (m *debugMaps) mapOf(script string) *sourcemap.Map {
	if m.places == nil || !strings.HasPrefix(script, "http://") && !strings.HasPrefix(script, "https://") {
		return nil
	}
	s := sourcemap.Script{Tab: m.tab, URL: script}
	if m.places.Evaluated(s) {
		return nil
	}
	ctx, cancel := context.WithDeadline(m.ctx, m.until)
	defer cancel()
	return m.places.Maps.Await(ctx, s, m.places.Holds(s, m.now))
}

// debugPlace is a place in the code of a debugged tab, as file:line:column.
type debugPlace struct {
	// source is the original place if known, else the place in the script; script is the latter, "" if source has it.
	source, script string
	// generated is true if source is a place in generated code.
	generated bool
}

// place returns the original place of a place in a script.
func (m *debugMaps) place(script string, line, column int) debugPlace {
	at := fmt.Sprintf("%s:%d:%d", m.short(script), line, column)
	if p, ok := m.mapOf(script).Find(line, column); ok {
		if name := m.places.Clean(p.Source); name != "" {
			return debugPlace{source: fmt.Sprintf("%s:%d:%d", name, p.Line, p.Column), script: at}
		}
	}
	return debugPlace{source: at, generated: m.places.Generated(m.tab, observe.Frame{URL: script, Line: line, Column: column})}
}

// String returns the place, with the place in the script if they differ.
func (p debugPlace) String() string {
	if p.script != "" {
		return p.source + " = " + p.script
	}
	return diff.Marked(p.source, p.generated)
}

// short returns a script's address, without the origin if it is the page's origin.
func (m *debugMaps) short(script string) string {
	if script == "" {
		return "(evaluated)"
	}
	if origin, path := capture.SplitURL(script); origin == m.origin && origin != "" {
		return path
	}
	return script
}

// function returns the name of a function before it was minified. The map has the name at its place before the
// parameters, so all texts that can stand between the two are tried.
func (m *debugMaps) function(f protocol.DebugFrame) string {
	if f.Function == "" || f.NameLine == 0 {
		return f.Function
	}
	called := f.Function[strings.LastIndexByte(f.Function, '.')+1:]
	sm := m.mapOf(f.URL)
	for _, between := range []string{"", "=", ":", "=async ", ":async ", "=function", ":function", "=async function"} {
		column := f.NameColumn - len(between) - len(called)
		if p, ok := sm.Find(f.NameLine, column); ok && p.Name != "" {
			return strings.TrimSuffix(f.Function, called) + m.places.Clean(p.Name)
		}
	}
	return f.Function
}
