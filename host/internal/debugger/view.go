package debugger

import (
	"context"
	"fmt"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// Limits of the viewer.
const (
	// maxViewValues bounds the values of one tree. Values near the root come first.
	maxViewValues = 4000
	// maxReports is how many tracepoint reports of a tab are kept.
	maxReports = 20
)

// ViewVariables lists the variable snapshots of agents and the recorded values of their tracepoints.
func (i *Inspector) ViewVariables(ctx context.Context, p protocol.ViewParams) (*protocol.ViewVariables, error) {
	if _, err := i.scope(p.Tab); err != nil {
		return nil, err
	}
	out := &protocol.ViewVariables{Snapshots: []protocol.ViewVariableSnapshot{}, Traces: []protocol.ViewTrace{}}
	for _, b := range i.viewBooks(ctx, p.Tab) {
		for i := range b.snapshots {
			out.Snapshots = append(out.Snapshots, *b.line(i))
		}
	}
	i.sessions.mu.Lock()
	defer i.sessions.mu.Unlock()
	for _, s := range i.sessions.all {
		if !s.in(p.Tab) || !s.target.Open() {
			continue
		}
		for _, one := range s.reports {
			out.Traces = append(out.Traces, one.ViewTrace)
		}
	}
	slices.SortStableFunc(out.Traces, func(a, b protocol.ViewTrace) int { return int(a.At - b.At) })
	return out, nil
}

// in reports whether a session is that of a tab; 0 for any target.
func (s *session) in(tab int) bool { return tab == 0 || s.target.Tab() == tab }

// viewBooks returns the snapshots of a tab, or of all targets for 0.
func (i *Inspector) viewBooks(ctx context.Context, tab int) books {
	return i.booksOf(ctx, clients.Viewer(checkpoint.Scope{}), func(s *session) bool { return s.in(tab) })
}

// line describes a snapshot of a book.
func (b *book) line(i int) *protocol.ViewVariableSnapshot {
	s := b.snapshots[i]
	line := &protocol.ViewVariableSnapshot{
		ID: s.ID, Label: s.Label, At: s.At.UnixMilli(), Tab: b.target.Tab(), Thread: s.Thread, Frame: s.Frame, Function: s.Function, Place: s.Place,
		Depth: s.Depth, Count: s.Count(),
	}
	for _, before := range b.snapshots[:i] {
		if s.SamePlace(before) {
			line.Before = before.ID
		}
	}
	return line
}

// get returns the snapshot with an id, and its description.
func (b books) get(id string) (*variables.Snapshot, *protocol.ViewVariableSnapshot, error) {
	for _, of := range b {
		for i, s := range of.snapshots {
			if s.ID == id {
				return s, of.line(i), nil
			}
		}
	}
	return nil, nil, usererr.New(usererr.NotFound, "snapshot %s no longer exists: snapshots end with their debug session", id)
}

// ViewVariableTree returns a snapshot, or the difference of two, as a tree.
func (i *Inspector) ViewVariableTree(ctx context.Context, p protocol.ViewVariableTreeParams) (*protocol.ViewVariableTree, error) {
	all := i.viewBooks(ctx, 0)
	to, line, err := all.get(p.To)
	if err != nil {
		return nil, err
	}
	out := &protocol.ViewVariableTree{To: *line}
	if p.From == "" {
		out.Scopes, out.Notes = snapshotTree(to), gaps(to)
	} else {
		var from *variables.Snapshot
		if from, out.From, err = all.get(p.From); err != nil {
			return nil, err
		}
		d := variables.Compare(from, to)
		out.Summary, out.ElapsedMs, out.Scopes = summary(d), d.Elapsed.Milliseconds(), diffTree(d, to)
		out.Notes = append(mismatches(d, from, to), unknowns(d)...)
	}
	out.Omitted = prune(out.Scopes, maxViewValues)
	return out, nil
}

// ViewResume resumes everything that is paused in a tab, for the user.
func (i *Inspector) ViewResume(ctx context.Context, p protocol.ViewResumeParams) (tool.Nothing, error) {
	target, ok := i.tabs.Open(p.Tab)
	if !ok {
		return tool.Nothing{}, usererr.New(usererr.TabClosed, "tab %d was closed", p.Tab)
	}
	if _, err := target.Run(ctx, protocol.DebugRunParams{
		DebugCaller: protocol.DebugCaller{By: "viewer", ReleaseMs: int(i.release.Milliseconds())}, Kind: "release",
	}); err != nil {
		return tool.Nothing{}, fmt.Errorf("cannot resume the page: %w", err)
	}
	return tool.Nothing{}, nil
}

// valueNode converts a value without its fields.
func valueNode(v *variables.Value) protocol.ViewValue {
	return protocol.ViewValue{Name: variables.Path{v.Key}.String(), Type: v.Type, Value: v.Literal(0)}
}

// wholeNode converts a value with all its fields.
func wholeNode(v *variables.Value) protocol.ViewValue {
	n := valueNode(v)
	for i := range v.Children {
		n.Children = append(n.Children, wholeNode(&v.Children[i]))
	}
	n.More = v.Missing()
	return n
}

// scopesOf has the values of each scope.
type scopesOf map[string][]protocol.ViewValue

func (s scopesOf) list() []protocol.ViewScope {
	out := []protocol.ViewScope{}
	for _, scope := range append(slices.Clone(scopes), variables.ScopeExpression) {
		if len(s[scope]) > 0 {
			out = append(out, protocol.ViewScope{Scope: scope, Values: s[scope]})
		}
	}
	return out
}

func snapshotTree(s *variables.Snapshot) []protocol.ViewScope {
	by := scopesOf{}
	for i := range s.Variables {
		v := &s.Variables[i]
		by[v.Scope] = append(by[v.Scope], wholeNode(&v.Value))
	}
	return by.list()
}

// changeNode is a node in the tree of a difference.
type changeNode struct {
	removed, other *variables.Entry // other is added or modified
	children       map[variables.Key]*changeNode
	order          []variables.Key
}

func (n *changeNode) child(k variables.Key) *changeNode {
	child := n.children[k]
	if child == nil {
		if n.children == nil {
			n.children = map[variables.Key]*changeNode{}
		}
		child = &changeNode{}
		n.children[k], n.order = child, append(n.order, k)
	}
	return child
}

// diffTree converts a difference to a tree in the order of the newer snapshot. Removed values come last.
func diffTree(d *variables.Diff, to *variables.Snapshot) []protocol.ViewScope {
	type root struct {
		scope string
		nth   int
	}
	roots, order := map[root]*changeNode{}, []root{}
	put := func(entries []variables.Entry, set func(*changeNode, *variables.Entry)) {
		for i := range entries {
			e := &entries[i]
			at := roots[root{e.Scope, e.Nth}]
			if at == nil {
				at = &changeNode{}
				roots[root{e.Scope, e.Nth}] = at
				order = append(order, root{e.Scope, e.Nth})
			}
			for _, k := range e.Path {
				at = at.child(k)
			}
			set(at, e)
		}
	}
	other := func(n *changeNode, e *variables.Entry) { n.other = e }
	put(d.Modified, other)
	put(d.Added, other)
	put(d.Removed, func(n *changeNode, e *variables.Entry) { n.removed = e })

	by, seen := scopesOf{}, map[root]map[variables.Key]bool{}
	for i := range to.Variables {
		v := &to.Variables[i]
		at := root{scope: v.Scope}
		for seen[at][v.Key] {
			at.nth++
		}
		if seen[at] == nil {
			seen[at] = map[variables.Key]bool{}
		}
		seen[at][v.Key] = true
		if r := roots[at]; r != nil && r.children[v.Key] != nil {
			by[v.Scope] = append(by[v.Scope], r.children[v.Key].values(v.Key, &v.Value)...)
		}
	}
	for _, at := range order {
		for _, k := range roots[at].order {
			if !seen[at][k] {
				by[at.scope] = append(by[at.scope], roots[at].children[k].values(k, nil)...)
			}
		}
	}
	return by.list()
}

// values returns the values of a node: one, or both the removed and the current value if they are unrelated. v is the
// current value, nil if the newer snapshot has none or has it elsewhere.
func (n *changeNode) values(k variables.Key, v *variables.Value) []protocol.ViewValue {
	var out []protocol.ViewValue
	removed := n.removed
	now := protocol.ViewValue{Name: variables.Path{k}.String()}
	if v != nil {
		now = valueNode(v)
	}
	switch e := n.other; {
	case e == nil:
	case e.Old == nil && removed != nil && removed.Old.Type != e.New.Type:
		now = wholeNode(e.New)
		now.Change, now.Old, now.OldType = protocol.ChangeRetyped, removed.Old.Literal(0), removed.Old.Type
		removed = nil
	case e.Old == nil:
		now = wholeNode(e.New)
		now.Change = protocol.ChangeAdded
	default:
		now.Type, now.Change = e.New.Type, protocol.ChangeModified
		now.Old, now.Value = e.Change()
	}
	if removed != nil {
		was := wholeNode(removed.Old)
		was.Change, was.Old, was.Value = protocol.ChangeRemoved, was.Value, ""
		out = append(out, was)
	}
	if n.other == nil && len(n.children) == 0 {
		return out
	}
	if now.Children == nil {
		n.addChanges(&now, v)
	}
	return append(out, now)
}

// addChanges adds the changes of a value's fields as its children.
func (n *changeNode) addChanges(of *protocol.ViewValue, v *variables.Value) {
	shown := map[variables.Key]bool{}
	if v != nil && len(n.children) > 0 {
		for i := range v.Children {
			k := v.Children[i].Key
			if child := n.children[k]; child != nil {
				shown[k] = true
				of.Children = append(of.Children, child.values(k, &v.Children[i])...)
			}
		}
		of.Same = len(v.Children) - len(shown)
	}
	for _, k := range n.order {
		if !shown[k] {
			of.Children = append(of.Children, n.children[k].values(k, nil)...)
		}
	}
}

// prune cuts a tree to its first values, level by level, and returns the number of values cut.
func prune(all []protocol.ViewScope, most int) (cut int) {
	var level []*protocol.ViewValue
	for i := range all {
		for j := range all[i].Values {
			level = append(level, &all[i].Values[j])
		}
	}
	// All variables are kept: their number is bounded by the frame's code.
	left := most - len(level)
	for len(level) > 0 {
		var next []*protocol.ViewValue
		for _, n := range level {
			keep := min(len(n.Children), max(left, 0))
			for i := range n.Children[keep:] {
				cut += size(&n.Children[keep+i])
			}
			n.More += len(n.Children) - keep
			n.Children = n.Children[:keep]
			left -= keep
			for i := range n.Children {
				next = append(next, &n.Children[i])
			}
		}
		level = next
	}
	return cut
}

// size counts a value and all its descendants.
func size(n *protocol.ViewValue) int {
	all := 1
	for i := range n.Children {
		all += size(&n.Children[i])
	}
	return all
}

// traceReport is the last answer about a tracepoint.
type traceReport struct {
	id string
	protocol.ViewTrace
}

// keepReport keeps what the hits of a tracepoint recorded for the viewer.
func (c *debugCall) keepReport(id string, p TraceParams, t *Trace, all []protocol.DebugHit) {
	report := traceReport{id, protocol.ViewTrace{
		Tab: c.target.Tab(), Place: fmt.Sprintf("%s:%d", p.URL, p.Line), At: c.inspector.clock().UnixMilli(), State: t.State, Hits: t.Hits,
		Notes: slices.DeleteFunc(slices.Clone(t.Notes), func(note string) bool { return note == traceContinues }), Columns: []string{}, Evolution: []string{},
	}}
	names, rows := hits(p.Paths, all)
	for i, name := range names {
		went := ""
		if len(rows) > 0 {
			went = evolution(column(rows, i), maxRows)
		}
		report.Columns, report.Evolution = append(report.Columns, name), append(report.Evolution, went)
	}
	if len(names) > 1 && len(rows) > 0 {
		var note string
		if report.Rows, note = table(rows, all); note != "" {
			report.Notes = append(report.Notes, note)
		}
	}
	c.inspector.sessions.with(c.target, func(s *session) {
		s.reports = slices.DeleteFunc(s.reports, func(one traceReport) bool { return one.id == id })
		s.reports = append(s.reports, report)
		s.reports = s.reports[max(0, len(s.reports)-maxReports):]
	})
}
