package debugger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/stacks"
	"tidemark.dev/tidemark/protocol"
)

// debugMaps finds the source files of a target's code. It waits for source maps that are being fetched.
type debugMaps struct {
	ctx   context.Context
	until time.Time
	code  Code // nil if the scripts are the source files
}

// maps returns a debugMaps that waits for source maps for at most wait in total.
func (c *debugCall) maps(ctx context.Context, wait time.Duration) *debugMaps {
	return mapsOf(ctx, c.target, wait)
}

func mapsOf(ctx context.Context, target Target, wait time.Duration) *debugMaps {
	return &debugMaps{ctx: ctx, until: time.Now().Add(wait), code: target.Code()}
}

// mapOf returns the map of a script, nil if there is none.
func (m *debugMaps) mapOf(script string) *sourcemap.Map {
	if m.code == nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(m.ctx, m.until)
	defer cancel()
	return m.code.Map(ctx, script)
}

// debugPlace is a place in the code of a target, as file:line:column.
type debugPlace struct {
	// source is the original place if known, else the place in the script; script is the latter, "" if source has it.
	source, script string
	// generated is true if source is a place in generated code.
	generated bool
	// library is true for code that is not the project's own.
	library bool
}

// place returns the original place of a place in a script.
func (m *debugMaps) place(script string, line, column int) debugPlace {
	if m.code == nil {
		return debugPlace{source: fmt.Sprintf("%s:%d:%d", script, line, column), library: stacks.OfLibrary(script, "")}
	}
	at := fmt.Sprintf("%s:%d:%d", m.code.Short(script), line, column)
	if p, ok := m.mapOf(script).Find(line, column); ok {
		if name := m.code.Clean(p.Source); name != "" {
			return debugPlace{source: fmt.Sprintf("%s:%d:%d", name, p.Line, p.Column), script: at, library: p.Ignored || stacks.OfLibrary(script, p.Source)}
		}
	}
	return debugPlace{source: at, generated: m.code.Generated(script, line, column), library: stacks.OfLibrary(script, "")}
}

// line returns the name of the file and the line.
func (p debugPlace) line() string {
	at := p.source[:strings.LastIndexByte(p.source, ':')]
	return event.OneLine(at[strings.LastIndexByte(at, '/')+1:])
}

// String returns the place, with the place in the script if they differ.
func (p debugPlace) String() string {
	if p.script != "" {
		return event.Named(p.source) + " = " + event.Named(p.script)
	}
	return report.Marked(p.source, p.generated)
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
			return strings.TrimSuffix(f.Function, called) + m.code.Clean(p.Name)
		}
	}
	return f.Function
}
