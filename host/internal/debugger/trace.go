package debugger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// Limits of tracepoints.
const (
	defaultHits = 50
	maxHits     = 1000
	maxPaths    = 20
	// maxRows bounds the rows of the viewer and the values of a path; of more, only the first and last are shown.
	maxRows = 100
	// maxTraceTokens bounds the values of an answer.
	maxTraceTokens = 1000
)

// TraceParams are the arguments of snapshot_trace.
type TraceParams struct {
	URL    string   `json:"url"`
	Line   int      `json:"line"`
	Column int      `json:"column,omitempty"`
	Paths  []string `json:"paths"`
	// Condition selects hits; Every is 2 for every second of them, and so on.
	Condition string `json:"condition,omitempty"`
	Every     int    `json:"every,omitempty"`
	Limit     int    `json:"limit,omitempty"`
	WaitMs    int    `json:"wait_ms,omitempty"`
	Where
}

// Trace is the answer of snapshot_trace.
type Trace struct {
	// State is "done" at the limit of hits, "tracing" while more may come, "waiting" if no code is loaded there.
	State string `json:"state"`
	// Places are its places in loaded code.
	Places []string `json:"places,omitempty"`
	// Hits counts all hits. New counts those since the last call, if there were others before.
	Hits int `json:"hits"`
	New  int `json:"new_hits,omitempty"`
	// SpanMs is the time from the first to the last hit of Evolution, in milliseconds.
	SpanMs int64 `json:"span_ms,omitempty"`
	// Evolution has the successive values of each path in the hits since the last call: `0 → 1 ×3 → 2`.
	Evolution map[string]string `json:"evolution"`
	Notes     []string          `json:"notes,omitempty"`
	tool.Quotes
}

// trace is a tracepoint. A call with the same key reads it.
type trace struct {
	client *checkpoint.Client
	key    string
	id     string
	// at has its places. New scripts add to them.
	at *breakpoint
	// recorded counts the hits that are on the track, since the one at the time first: hits begin anew with a session.
	recorded int
	first    int64
}

func (p *TraceParams) check() ([][]protocol.DebugKey, error) {
	place := BreakpointParams{URL: p.URL, Line: p.Line, Column: p.Column}
	if err := place.check(); err != nil {
		return nil, err
	}
	if p.Limit == 0 {
		p.Limit = defaultHits
	}
	switch {
	case p.Limit < 1 || p.Limit > maxHits:
		return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", p.Limit, maxHits)
	case p.Every < 0:
		return nil, usererr.Invalid("every is %d; it must be 1 or more", p.Every)
	case len(p.Paths) > maxPaths:
		return nil, usererr.Invalid("%d paths are too many; give at most %d, or none for all variables of the frame", len(p.Paths), maxPaths)
	}
	if err := checkWait(p.WaitMs); err != nil {
		return nil, err
	}
	var paths [][]protocol.DebugKey
	for _, text := range p.Paths {
		path, ok := variables.ParsePath(text)
		if !ok {
			return nil, usererr.Invalid("paths has %q; write a path as in code: retryCount, order.customer.name, items[3]", text)
		}
		paths = append(paths, wirePath(path))
	}
	return paths, nil
}

var snapshotTraceTool = tool.New(tool.Definition{
	Name: "snapshot_trace", Title: "Trace values", Effect: tool.Adds,
	Description: "Record values each time the page runs a line, without pausing it, and return the history. Call again with the same arguments for later hits.",
	Arguments: `
		"url":{"type":"string"},
		"line":{"type":"integer","minimum":1},
		"column":{"type":"integer","minimum":1},
		"paths":{"type":"array","items":{"type":"string"},"description":"retryCount, order.total; []: all variables"},
		"condition":{"type":"string"},
		"every":{"type":"integer","minimum":1,"description":"record every nth hit"},
		"limit":{"type":"integer","minimum":1,"description":"hits, default 50"},
		"wait_ms":{"type":"integer","description":"wait for limit hits"},` + tabArgument,
	Required: []string{"url", "line", "paths"},
}, (*Inspector).SnapshotTrace)

// SnapshotTrace answers snapshot_trace.
func (i *Inspector) SnapshotTrace(ctx context.Context, client *checkpoint.Client, p TraceParams) (*Trace, error) {
	paths, err := p.check()
	if err != nil {
		return nil, err
	}
	c, err := i.debug(ctx, client, p.Where)
	if err != nil {
		return nil, err
	}
	c.inspector.sessions.join(c.target, client)
	at := &breakpoint{client: client, url: p.URL, line: p.Line, column: p.Column}
	if err := c.locate(ctx, at); err != nil {
		return nil, err
	}
	at, places := c.traced(p, at)
	params := protocol.DebugTraceParams{
		DebugCaller: c.caller, ID: at.ID, Places: places, Original: at.Original,
		Paths: paths, Condition: p.Condition, Every: p.Every, Limit: p.Limit, WaitMs: p.WaitMs,
	}
	recorded, err := c.target.Trace(ctx, params)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	fresh := c.newHits(params.ID, recorded.Hits)
	out := c.traceAnswer(ctx, p, recorded, fresh)
	for _, went := range out.Evolution {
		if c.mapped(at) && strings.Contains(went, "no such variable") {
			out.Notes = append(out.Notes, generatedNames)
			break
		}
	}
	if note := c.ownLine(at); note != "" && len(out.Places) > 0 {
		out.Notes = append(out.Notes, note)
	}
	c.keepReport(params.ID, p, out, recorded.Hits)
	if err := c.recordHits(ctx, params.ID, p, fresh); err != nil {
		return nil, err
	}
	if out.State == "done" {
		c.forgetTrace(params.ID)
	}
	return out, nil
}

// traced returns the client's tracepoint with these arguments, or a new one that was found now, and its places. One whose source
// map was missing before gets those of now.
func (c *debugCall) traced(p TraceParams, now *breakpoint) (at *breakpoint, places []protocol.DebugPlace) {
	key := fmt.Sprintf("%q %d %d %q %q %d %d", p.URL, p.Line, p.Column, p.Paths, p.Condition, p.Every, p.Limit)
	c.inspector.sessions.with(c.target, func(s *session) {
		for _, one := range s.traces {
			if at = one.at; one.client == c.client && one.key == key {
				if !at.mapped && now.mapped {
					at.Places, at.mapped = now.Places, true
				}
				places = slices.Clone(at.Places)
				return
			}
		}
		c.inspector.sessions.last++
		now.ID = fmt.Sprintf("tp-%d", c.inspector.sessions.last)
		at, places = now, slices.Clone(now.Places)
		s.traces = append(s.traces, trace{client: c.client, key: key, id: now.ID, at: now})
	})
	return at, places
}

// withTrace calls do with a tracepoint, under the lock.
func (c *debugCall) withTrace(id string, do func(*trace)) {
	c.inspector.sessions.with(c.target, func(s *session) {
		for i := range s.traces {
			if s.traces[i].id == id {
				do(&s.traces[i])
			}
		}
	})
}

// newHits returns the hits since the last call.
func (c *debugCall) newHits(id string, all []protocol.DebugHit) []protocol.DebugHit {
	c.withTrace(id, func(t *trace) {
		if len(all) > 0 && all[0].At != t.first {
			t.recorded, t.first = 0, all[0].At
		}
		all = all[min(t.recorded, len(all)):]
		t.recorded += len(all)
	})
	return all
}

// recordHits records new hits. A call that is canceled meanwhile leaves them to the next one.
func (c *debugCall) recordHits(ctx context.Context, id string, p TraceParams, all []protocol.DebugHit) error {
	names, rows := hits(p.Paths, all)
	events := make([]event.Event, len(rows))
	for i, row := range rows {
		e := &event.Inspection{
			Head: event.Head{At: all[i].At, Subject: c.target.Subject()}, Op: event.Hit, By: event.Clean(c.caller.By), Name: id,
			Location: event.Clean(fmt.Sprintf("%s:%d", p.URL, p.Line)),
		}
		for j, name := range names {
			e.Values = append(e.Values, event.Clean(name), event.Clean(report.Shorten(row[j])))
		}
		events[i] = e
	}
	err := c.inspector.sink.Append(ctx, events...)
	if err != nil {
		c.withTrace(id, func(t *trace) { t.recorded -= len(all) })
	}
	return err
}

func (c *debugCall) forgetTrace(id string) {
	c.inspector.sessions.with(c.target, func(s *session) {
		s.traces = slices.DeleteFunc(s.traces, func(one trace) bool { return one.id == id })
	})
}

// traceContinues explains how to get later hits.
const traceContinues = "recording continues: have the page run the line, then call again with the same arguments (wait_ms waits)"

// pauseNote reports that the page is paused, so that no line runs; "" if it is not.
func (c *debugCall) pauseNote(ctx context.Context) string {
	s, err := c.threads(ctx)
	if err != nil {
		return "" // the next call reports why
	}
	for _, t := range s.Threads {
		if p := t.Paused; p != nil {
			at := ""
			if len(p.Frames) > 0 {
				at = " at " + c.maps(ctx, mapsWait).place(p.Frames[0].URL, p.Frames[0].Line, p.Frames[0].Column).source
			}
			return fmt.Sprintf("thread %d is paused (%s)%s, so it runs no line: call debugger_resume, then this tool again with the same arguments", t.ID, p.Reason, at)
		}
	}
	return ""
}

// traceAnswer converts the recorded hits to an answer, with the values of the fresh ones alone.
func (c *debugCall) traceAnswer(ctx context.Context, p TraceParams, recorded *protocol.DebugTraced, fresh []protocol.DebugHit) *Trace {
	out := &Trace{State: "tracing", Hits: len(recorded.Hits), Evolution: map[string]string{}}
	if n := len(fresh); n > 0 {
		out.SpanMs = fresh[n-1].At - fresh[0].At
		if n < out.Hits {
			out.New = n
		}
	}
	maps := c.maps(ctx, mapsWait)
	for _, l := range recorded.Locations {
		if place := maps.place(l.URL, l.Line, l.Column).String(); !slices.Contains(out.Places, place) {
			out.Places = append(out.Places, place)
		}
	}
	switch {
	case len(recorded.Hits) >= p.Limit:
		out.State = "done"
	case len(recorded.Hits) == 0 && len(out.Places) == 0:
		out.State = "waiting"
		out.Notes = append(out.Notes, fmt.Sprintf("no loaded code has %s line %d; recording starts once it loads", p.URL, p.Line))
	}
	if out.State != "done" {
		out.Notes = append(out.Notes, cmp.Or(c.pauseNote(ctx), traceContinues))
	}
	if recorded.Passed > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d hits in between were skipped", recorded.Passed))
	}
	if recorded.Error != "" {
		out.Notes = append(out.Notes, strings.TrimSuffix(recorded.Error, ".")+"; such hits are not counted")
	}
	names, rows := hits(p.Paths, fresh)
	masked := 0
	for _, row := range rows {
		for _, value := range row {
			if value == variables.MaskedText {
				masked++
			}
		}
	}
	if masked > 0 {
		out.Notes = append(out.Notes, counted(masked, "secret value is", "secret values are")+" masked")
	}
	// As many values as fit: all paths are cut alike, so that those of one hit stay together.
	for most := maxRows; len(rows) > 0; most = most * 3 / 4 {
		used := 0
		for i, name := range names {
			out.Evolution[name] = evolution(column(rows, i), most)
			used += tokens.Estimate(name) + tokens.Estimate(out.Evolution[name])
		}
		if used <= maxTraceTokens || most <= 2 {
			break
		}
	}
	return out
}

// column returns the values of one path.
func column(rows [][]string, i int) []string {
	values := make([]string, len(rows))
	for j, row := range rows {
		values[j] = row[i]
	}
	return values
}

// hits returns the values of each hit, in the order of names.
func hits(paths []string, all []protocol.DebugHit) (names []string, rows [][]string) {
	names = slices.Clone(paths)
	if len(paths) == 0 {
		for i := range all {
			for j := range all[i].Variables {
				if name := all[i].Variables[j].Value.Name; !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	for i := range all {
		row := make([]string, len(names))
		for j := range row {
			row[j] = "(missing)"
		}
		for j := range all[i].Values {
			if j < len(row) {
				v := value(&all[i].Values[j], nil)
				row[j] = v.Literal(0)
			}
		}
		for j := range all[i].Variables {
			v := value(&all[i].Variables[j].Value, nil)
			row[slices.Index(names, v.Key.Name)] = v.Literal(0)
		}
		rows = append(rows, row)
	}
	return names, rows
}

// evolution joins the values of successive hits, at most so many. Of more it has the first and the last.
func evolution(column []string, most int) string {
	var parts []string
	for i := 0; i < len(column); {
		n := i
		for n < len(column) && column[n] == column[i] {
			n++
		}
		part := column[i]
		if n-i > 1 {
			part += fmt.Sprintf(" ×%d", n-i)
		}
		parts = append(parts, part)
		i = n
	}
	if more := len(parts) - most; more > 0 {
		parts = slices.Concat(parts[:most/2], []string{fmt.Sprintf("(%d more)", more+most%2)}, parts[len(parts)-most/2:])
	}
	return strings.Join(parts, " → ")
}

// table returns the hits of several values in rows, and a note on those left out. The first column has the milliseconds since
// the first hit.
func table(rows [][]string, all []protocol.DebugHit) (shown [][]string, note string) {
	for i, row := range rows {
		if len(rows) > maxRows && i >= maxRows/2 && i < len(rows)-maxRows/2 {
			continue
		}
		shown = append(shown, append([]string{fmt.Sprint(all[i].At - all[0].At)}, row...))
	}
	if more := len(rows) - maxRows; more > 0 {
		note = fmt.Sprintf("%d rows in the middle are not shown", more)
	}
	return shown, note
}
