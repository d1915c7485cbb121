package debugger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// Limits of answers about variables.
const (
	maxDepth = 50
	// fewVariables is the most variables that snapshot_create lists.
	fewVariables = 12
	// maxVariableLines bounds the values of one answer, maxDiffLines the entries of each list of a difference.
	maxVariableLines = 80
	maxDiffLines     = 100
)

var scopes = []string{
	variables.ScopeLocal, variables.ScopeArgument, variables.ScopeThis, variables.ScopeBlock, variables.ScopeClosure, variables.ScopeModule,
}

// VariableSnapshotParams are the arguments of snapshot_create.
type VariableSnapshotParams struct {
	Label       string   `json:"label,omitempty"`
	Thread      int      `json:"thread,omitempty"`
	Frame       int      `json:"frame,omitempty"`
	Depth       int      `json:"depth,omitempty"`
	Scopes      []string `json:"scopes,omitempty"`
	Expressions []string `json:"expressions,omitempty"`
	Where
}

// VariablesParams are the arguments of variables_get.
type VariablesParams struct {
	Path   string   `json:"path,omitempty"`
	Depth  int      `json:"depth,omitempty"`
	Frame  int      `json:"frame,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
	Thread int      `json:"thread,omitempty"`
	Where
}

// VariableSnapshotLine describes a variable snapshot.
type VariableSnapshotLine struct {
	ID       string      `json:"id"`
	Label    string      `json:"label"`
	At       report.Time `json:"at"`
	Thread   int         `json:"thread"`
	Frame    int         `json:"frame"`
	Function string      `json:"function,omitempty"`
	// Place is file:line:column.
	Place string `json:"place,omitempty"`
	// Count is the number of variables, fields not counted.
	Count int `json:"count"`
	Tab   int `json:"tab,omitempty"`
}

// VariableSnapshot is the answer of snapshot_create.
type VariableSnapshot struct {
	VariableSnapshotLine
	// Variables are the values by scope and name, as in code. Only the first snapshot of a function has them, and only
	// up to fewVariables.
	Variables map[string]map[string]string `json:"variables,omitempty"`
	// Since is the previous snapshot of the same function, Changed lists the changes since then.
	Since   string   `json:"since,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	tool.Quotes
}

// Variables is the answer of variables_get.
type Variables struct {
	Thread   int    `json:"thread"`
	Frame    int    `json:"frame"`
	Function string `json:"function,omitempty"`
	Place    string `json:"place,omitempty"`
	// Variables are the values by scope and path, as in code.
	Variables map[string]map[string]string `json:"variables"`
	Notes     []string                     `json:"notes,omitempty"`
	tool.Quotes
}

// VariableDiffParams are the arguments of snapshot_diff: ids or labels.
type VariableDiffParams struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// VariableDiff is the answer of snapshot_diff.
type VariableDiff struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Summary string `json:"summary"`
	// A value whose type has changed is in Removed and in Added.
	Added    []VariableEntry  `json:"added"`
	Removed  []VariableEntry  `json:"removed"`
	Modified []VariableChange `json:"modified"`
	// ElapsedMs is the time from the first to the second, in milliseconds.
	ElapsedMs int64 `json:"elapsed_ms"`
	// ThreadMismatch warns that the snapshots are of different threads.
	ThreadMismatch bool     `json:"thread_mismatch,omitempty"`
	Notes          []string `json:"notes,omitempty"`
	tool.Quotes
}

// VariableEntry is a value that only one snapshot has.
type VariableEntry struct {
	Name  string `json:"name"`
	Scope string `json:"scope"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

// VariableChange is a value that changed.
type VariableChange struct {
	Name  string `json:"name"`
	Scope string `json:"scope"`
	Type  string `json:"type"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

func checkCapture(depth int, wanted []string) error {
	if depth < 0 || depth > maxDepth {
		return usererr.Invalid("depth is %d; it must be from 0 (no fields) to %d", depth, maxDepth)
	}
	for _, s := range wanted {
		if !slices.Contains(scopes, s) {
			return usererr.Invalid("scopes has %q; they are %s", s, strings.Join(scopes, ", "))
		}
	}
	return nil
}

var snapshotCreateTool = tool.New(tool.Definition{
	Name: "snapshot_create", Title: "Snapshot variables", Effect: tool.Adds,
	Description: "Save a paused frame's variables to compare later. In the same function again, returns what changed.",
	Arguments: `
		"label":{"type":"string"},
		"expressions":{"type":"array","items":{"type":"string"},"description":"paths: order.total"},` + captureArguments + threadArguments,
}, (*Inspector).SnapshotCreate)

// SnapshotCreate answers snapshot_create.
func (i *Inspector) SnapshotCreate(ctx context.Context, client *checkpoint.Client, p VariableSnapshotParams) (*VariableSnapshot, error) {
	if err := errors.Join(checkCapture(p.Depth, p.Scopes), checkNumbers(p.Thread, p.Frame)); err != nil {
		return nil, err
	}
	if len(p.Label) > 100 {
		return nil, usererr.Invalid("label is %d bytes long; the maximum is 100", len(p.Label))
	}
	c, err := i.debug(ctx, client, p.Where)
	if err != nil {
		return nil, err
	}
	params := protocol.DebugVariablesParams{Thread: p.Thread, Frame: p.Frame, Scopes: p.Scopes, Depth: p.Depth}
	if err := i.expressions(&params, p.Expressions); err != nil {
		return nil, err
	}
	read, err := c.variables(ctx, params)
	if err != nil {
		return nil, err
	}
	s := c.snapshot(ctx, read, p.Depth)
	s.Label = p.Label
	out := &VariableSnapshot{}
	var before *variables.Snapshot
	i.sessions.with(c.target, func(in *session) {
		book := in.book(read.Session)
		if other, err := book.Find(s.Label); err == nil && s.Label != "" {
			out.Notes = append(out.Notes, fmt.Sprintf("%s also has the label %q, which now means the newest", other.ID, s.Label))
		}
		book.Add(s)
		before = book.Before(s)
		if w := book.Warning(); w != "" {
			out.Notes = append(out.Notes, w)
		}
	})
	out.VariableSnapshotLine = snapshotLine(s, 0)
	if err := i.sink.Append(ctx, &event.Inspection{
		Head: event.Head{At: s.At.UnixMilli(), Subject: c.target.Subject()}, Op: event.Snapshot, By: event.Clean(c.caller.By), Name: s.ID, Label: event.Clean(s.Label),
		Location: event.Clean(out.Place), Count: out.Count,
	}); err != nil {
		return nil, err
	}
	if before == nil {
		// A long list costs too many tokens; variables_get returns it.
		if len(s.Variables) <= fewVariables {
			out.Variables, _ = values(&variables.Snapshot{Variables: flat(s.Variables)}, nil)
		}
	} else {
		d := variables.Compare(before, s)
		out.Since, out.Changed = before.Label, changes(d)
		if d.Empty() {
			out.Changed = []string{"no changes"}
		} else {
			d.Closed = 0 // the list of changes likely has their changes
		}
		d.Masked, d.Cut = 0, 0 // the notes of the snapshot report them
		out.Notes = append(out.Notes, unknowns(d)...)
	}
	out.Notes = append(append(out.Notes, gaps(s)...), c.others()...)
	return out, nil
}

// expressions adds an agent's expressions to a request. Paths are always read, because their values are masked. Other
// expressions are code of the agent, and need evaluating to be on.
func (i *Inspector) expressions(params *protocol.DebugVariablesParams, all []string) error {
	for _, text := range all {
		if path, ok := variables.ParsePath(text); ok {
			params.Paths, params.Named = append(params.Paths, wirePath(path)), append(params.Named, text)
			continue
		}
		if !i.evaluate {
			return usererr.New(usererr.SwitchedOff, "expressions has %q, but evaluating is off. Paths such as order.customer.name or items[3] work. A user can turn it on in Tidemark's config.toml with evaluate = true under [debugger]", text)
		}
		params.Expressions = append(params.Expressions, text)
	}
	return nil
}

var variablesGetTool = tool.New(tool.Definition{
	Name: "variables_get", Title: "Variables", Effect: tool.Reads,
	Description: "Read the variables of a paused frame, or one value. Runs no page code: getters are not called.",
	Arguments: `
		"path":{"type":"string","description":"order.customer, items[3], cache.get(\"k\")"},` + captureArguments + threadArguments,
}, (*Inspector).VariablesGet)

// VariablesGet answers variables_get.
func (i *Inspector) VariablesGet(ctx context.Context, client *checkpoint.Client, p VariablesParams) (*Variables, error) {
	if err := errors.Join(checkCapture(p.Depth, p.Scopes), checkNumbers(p.Thread, p.Frame)); err != nil {
		return nil, err
	}
	params := protocol.DebugVariablesParams{Thread: p.Thread, Frame: p.Frame, Scopes: p.Scopes, Depth: p.Depth}
	if p.Path != "" {
		path, ok := variables.ParsePath(p.Path)
		if !ok {
			return nil, usererr.Invalid("path is %q; write it as in code: order.customer.name, items[3], cache.get(\"k\")", p.Path)
		}
		params.Path = wirePath(path)
	}
	c, err := i.debug(ctx, client, p.Where)
	if err != nil {
		return nil, err
	}
	read, err := c.variables(ctx, params)
	if err != nil {
		return nil, c.generated(ctx, p, err)
	}
	s := c.snapshot(ctx, read, p.Depth)
	if p.Path != "" {
		for i := range s.Variables {
			s.Variables[i].Key = variables.Key{Name: p.Path}
		}
	}
	out := &Variables{Thread: s.Thread, Frame: s.Frame, Function: s.Function, Place: s.Place}
	out.Variables, out.Notes = values(s, nil)
	out.Notes = append(out.Notes, gaps(s)...)
	return out, nil
}

// generated adds to an error about an unknown name that code with a source map may have other names.
func (c *debugCall) generated(ctx context.Context, p VariablesParams, refusal error) error {
	if !strings.Contains(refusal.Error(), " no variable") {
		return refusal
	}
	s, err := c.threads(ctx)
	if err != nil {
		return refusal
	}
	for _, t := range c.state(ctx, s, p.Thread).Threads {
		if t.State == "paused" && p.Frame < len(t.Stack) && t.Stack[p.Frame].Script != "" {
			return usererr.New(usererr.CodeOf(refusal), "%s %s", refusal.Error(), generatedNames)
		}
	}
	return refusal
}

// generatedNames explains why a name was not found in code with a source map.
const generatedNames = "Variables that the source map does not name have the names of the generated code, which a minifier may have shortened."

// variables reads the variables of a paused frame.
func (c *debugCall) variables(ctx context.Context, p protocol.DebugVariablesParams) (*protocol.DebugVariables, error) {
	p.DebugCaller = c.caller
	if !c.inspector.sessions.joined(c.target, c.client) {
		// Reading would start debugging a target that no agent debugs.
		s, err := c.threads(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(s.Threads, func(t protocol.DebugThread) bool { return t.Paused != nil }) {
			return nil, usererr.New(usererr.PageRunning, "%s is running and must be paused. Set a breakpoint with breakpoint_set and have the page reach it, or call debugger_pause", c.target.Name())
		}
	}
	c.inspector.sessions.join(c.target, c.client)
	read, err := c.target.Variables(ctx, p)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	return read, nil
}

var snapshotDiffTool = tool.New(tool.Definition{
	Name: "snapshot_diff", Title: "Compare snapshots", Effect: tool.Reads,
	Description: "Show what changed between two variable snapshots.",
	Arguments: `
		"from":{"type":"string","description":"id or label"},
		"to":{"type":"string"}`,
	Required: []string{"from", "to"},
}, (*Inspector).SnapshotDiff)

// SnapshotDiff answers snapshot_diff.
func (i *Inspector) SnapshotDiff(ctx context.Context, client *checkpoint.Client, p VariableDiffParams) (*VariableDiff, error) {
	if p.From == "" || p.To == "" {
		return nil, usererr.Invalid("from and to must be ids or labels of snapshots; snapshot_list lists them")
	}
	books := i.books(ctx, client)
	from, err := books.find(p.From)
	to, err2 := books.find(p.To)
	if err := errors.Join(err, err2); err != nil {
		return nil, usererr.Invalid("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	d := variables.Compare(from, to)
	out := &VariableDiff{
		From: from.ID, To: to.ID, Summary: summary(d), ElapsedMs: d.Elapsed.Milliseconds(), ThreadMismatch: d.ThreadMismatch,
		Added: entries(d.Added), Removed: entries(d.Removed), Modified: []VariableChange{},
	}
	for i := range d.Modified[:min(len(d.Modified), maxDiffLines)] {
		m := &d.Modified[i]
		before, after := m.Change()
		out.Modified = append(out.Modified, VariableChange{Name: m.Path.String(), Scope: m.Scope, Type: m.New.Type, Old: before, New: after})
	}
	if n := omitted(d.Added) + omitted(d.Removed) + omitted(d.Modified); n > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d more changes are not shown", n))
	}
	out.Notes = append(append(out.Notes, mismatches(d, from, to)...), unknowns(d)...)
	return out, nil
}

// mismatches returns notes if two snapshots are of different threads or functions.
func mismatches(d *variables.Diff, from, to *variables.Snapshot) []string {
	var notes []string
	if d.ThreadMismatch {
		notes = append(notes, fmt.Sprintf("the snapshots are of different threads, %d and %d", from.Thread, to.Thread))
	}
	if d.FunctionMismatch {
		notes = append(notes, fmt.Sprintf("the snapshots are of different functions, %s and %s", functionName(from), functionName(to)))
	}
	return notes
}

// unknowns returns notes about values that were not compared.
func unknowns(d *variables.Diff) []string {
	var notes []string
	if d.Closed > 0 {
		notes = append(notes, counted(d.Closed, "object was", "objects were")+" compared by preview only; take snapshots with a greater depth to compare fields")
	}
	if d.Unlike > 0 {
		notes = append(notes, counted(d.Unlike, "object was", "objects were")+" not compared because only one snapshot has the fields; take both with the same depth")
	}
	if d.Cut > 0 {
		notes = append(notes, counted(d.Cut, "field was", "fields were")+" over the capture limit and not compared")
	}
	if d.Masked > 0 {
		notes = append(notes, counted(d.Masked, "secret value is", "secret values are")+" masked and not compared")
	}
	return notes
}

// counted returns a number with the singular or plural text.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func functionName(s *variables.Snapshot) string {
	if s.Function == "" {
		return "(anonymous)"
	}
	return event.FunctionName(s.Function)
}

// summary counts the changes in one line.
func summary(d *variables.Diff) string {
	if d.Empty() {
		return "no changes"
	}
	var parts []string
	for _, of := range []struct {
		n    int
		what string
	}{{len(d.Modified), "modified"}, {len(d.Added), "added"}, {len(d.Removed), "removed"}} {
		if of.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of.n, of.what))
		}
	}
	return strings.Join(parts, ", ")
}

func entries(all []variables.Entry) []VariableEntry {
	out := []VariableEntry{}
	for i := range all[:min(len(all), maxDiffLines)] {
		e := &all[i]
		v := e.New
		if v == nil {
			v = e.Old
		}
		out = append(out, VariableEntry{Name: e.Path.String(), Scope: e.Scope, Type: v.Type, Value: v.Inline(0)})
	}
	return out
}

func omitted(all []variables.Entry) int { return max(0, len(all)-maxDiffLines) }

// changes lists a difference in lines.
func changes(d *variables.Diff) []string {
	var lines []string
	for i := range d.Modified {
		before, after := d.Modified[i].Change()
		lines = append(lines, fmt.Sprintf("%s: %s → %s", d.Modified[i].Path, before, after))
	}
	for i := range d.Added {
		lines = append(lines, fmt.Sprintf("+ %s = %s", d.Added[i].Path, d.Added[i].New.Inline(0)))
	}
	for i := range d.Removed {
		lines = append(lines, fmt.Sprintf("- %s (was %s)", d.Removed[i].Path, d.Removed[i].Old.Inline(0)))
	}
	if n := len(lines) - maxVariableLines; n > 0 {
		lines = append(lines[:maxVariableLines], fmt.Sprintf("… %d more; snapshot_diff shows them", n))
	}
	return lines
}

func snapshotLine(s *variables.Snapshot, tab int) VariableSnapshotLine {
	return VariableSnapshotLine{
		ID: s.ID, Label: s.Label, At: report.Time{Time: s.At}, Thread: s.Thread, Frame: s.Frame, Function: s.Function, Place: s.Place, Count: s.Count(), Tab: tab,
	}
}

// values returns the values of a snapshot by scope and path, up to the limit of an answer.
func values(s *variables.Snapshot, notes []string) (map[string]map[string]string, []string) {
	out := map[string]map[string]string{}
	type line struct {
		scope string
		at    variables.Path
		v     *variables.Value
	}
	var roots []line
	for i := range s.Variables {
		v := &s.Variables[i]
		roots = append(roots, line{v.Scope, variables.Path{v.Key}, &v.Value})
	}
	n, more := 0, 0
	// Level by level, small objects first: a large collection must not crowd out everything else.
	for level := [][]line{roots}; len(level) > 0; {
		var next [][]line
		for _, l := range slices.Concat(level...) {
			var inside []line
			for i := range l.v.Children {
				child := &l.v.Children[i]
				inside = append(inside, line{l.scope, append(slices.Clip(l.at), child.Key), child})
			}
			if len(inside) > 0 {
				next = append(next, inside)
			}
			if n >= maxVariableLines {
				more++
				continue
			}
			n++
			if out[l.scope] == nil {
				out[l.scope] = map[string]string{}
			}
			name := l.at.String()
			for i := 2; out[l.scope][name] != ""; i++ {
				name = fmt.Sprintf("%s (%d)", l.at, i) // one shadows the other
			}
			out[l.scope][name] = l.v.Literal(0)
		}
		slices.SortStableFunc(next, func(a, b []line) int { return len(a) - len(b) })
		level = next
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("%d more values are not shown; variables_get with a path shows a part", more))
	}
	return out, notes
}

// flat returns variables without their fields.
func flat(all []variables.Variable) []variables.Variable {
	out := slices.Clone(all)
	for i := range out {
		out[i].Children = nil
	}
	return out
}

// gaps returns notes about values that a snapshot lacks.
func gaps(s *variables.Snapshot) []string {
	notes := slices.Clone(s.Gaps)
	t := s.Totals()
	if t.Cut > 0 {
		notes = append(notes, counted(t.Cut, "field was", "fields were")+" over the capture limit; sizes count all fields")
	}
	if t.Masked > 0 {
		notes = append(notes, counted(t.Masked, "secret value is", "secret values are")+" masked")
	}
	return notes
}
