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

// Limits of what a person is shown of variables.
const (
	// maxViewValues bounds the values of one tree: those near the root come first.
	maxViewValues = 4000
	// maxTraced is how many tracepoints of a tab are remembered.
	maxTraced = 20
)

// ViewVariables lists the snapshots of variables that agents hold, and what their tracepoints recorded.
func (e *Inspector) ViewVariables(ctx context.Context, p protocol.ViewParams) (*protocol.ViewVariables, error) {
	if _, err := e.scope(p.Tab); err != nil {
		return nil, err
	}
	out := &protocol.ViewVariables{Snapshots: []protocol.ViewVariableSnapshot{}, Traces: []protocol.ViewTrace{}}
	for _, b := range e.viewBooks(ctx, p.Tab) {
		for i := range b.snapshots {
			out.Snapshots = append(out.Snapshots, *b.line(i))
		}
	}
	open := map[int]bool{}
	for _, t := range e.store.View(e.clock()).Tabs {
		open[t.ID] = true
	}
	e.tabs.mu.Lock()
	defer e.tabs.mu.Unlock()
	for id, t := range e.tabs.tabs {
		for _, one := range t.traced {
			if open[id] && (p.Tab == 0 || id == p.Tab) {
				out.Traces = append(out.Traces, one.ViewTrace)
			}
		}
	}
	slices.SortStableFunc(out.Traces, func(a, b protocol.ViewTrace) int { return int(a.At - b.At) })
	return out, nil
}

// viewBooks are all snapshots, or those of a tab.
func (e *Inspector) viewBooks(ctx context.Context, tab int) books {
	if e.remote == nil {
		return nil
	}
	return e.booksOf(ctx, clients.Viewer(checkpoint.Scope{}), func(id int, _ *debugTab) bool { return tab == 0 || id == tab })
}

// line says what a snapshot of a book is.
func (b *tabBook) line(i int) *protocol.ViewVariableSnapshot {
	s := b.snapshots[i]
	line := &protocol.ViewVariableSnapshot{
		ID: s.ID, Label: s.Label, At: s.At.UnixMilli(), Tab: b.tab, Thread: s.Thread, Frame: s.Frame, Function: s.Function, Place: s.Place,
		Depth: s.Depth, Count: s.Count(),
	}
	for _, before := range b.snapshots[:i] {
		if s.SamePlace(before) {
			line.Before = before.ID
		}
	}
	return line
}

// one is the snapshot of an id, with what says what it is.
func (all books) one(id string) (*variables.Snapshot, *protocol.ViewVariableSnapshot, error) {
	for _, b := range all {
		for i, s := range b.snapshots {
			if s.ID == id {
				return s, b.line(i), nil
			}
		}
	}
	return nil, nil, usererr.New(usererr.NotFound, "the snapshot %s is no longer held: snapshots end with their debug session", id)
}

// ViewVariableTree shows a snapshot, or the difference of two.
func (e *Inspector) ViewVariableTree(ctx context.Context, p protocol.ViewVariableTreeParams) (*protocol.ViewVariableTree, error) {
	all := e.viewBooks(ctx, 0)
	to, line, err := all.one(p.To)
	if err != nil {
		return nil, err
	}
	out := &protocol.ViewVariableTree{To: *line}
	if p.From == "" {
		out.Scopes, out.Notes = snapshotTree(to), gaps(to)
	} else {
		var from *variables.Snapshot
		if from, out.From, err = all.one(p.From); err != nil {
			return nil, err
		}
		d := variables.Compare(from, to)
		out.Summary, out.ElapsedMs, out.Scopes = summary(d), d.Elapsed.Milliseconds(), diffTree(d, to)
		out.Notes = append(mismatches(d, from, to), unknowns(d)...)
	}
	out.Omitted = prune(out.Scopes, maxViewValues)
	return out, nil
}

// ViewResume lets whatever is paused in a tab go on, as the person at the browser may.
func (e *Inspector) ViewResume(ctx context.Context, p protocol.ViewResumeParams) (tool.Nothing, error) {
	instance, tab, ok := e.store.BrowserTab(p.Tab)
	if !ok || e.remote == nil {
		return tool.Nothing{}, usererr.New(usererr.TabClosed, "the tab %d has been closed", p.Tab)
	}
	var s protocol.DebugState
	err := e.remote.Debug(ctx, instance, protocol.MethodDebugRun, protocol.DebugRunParams{
		DebugCaller: protocol.DebugCaller{Tab: tab, By: "viewer", ReleaseMs: int(e.release.Milliseconds())}, Kind: "release",
	}, &s, debugTimeout)
	if err != nil {
		return tool.Nothing{}, fmt.Errorf("the page cannot be resumed: %w", err)
	}
	return tool.Nothing{}, nil
}

// valueNode is a value for the person.
func valueNode(v *variables.Value) protocol.ViewValue {
	return protocol.ViewValue{Name: variables.Path{v.Key}.String(), Type: v.Type, Value: v.Literal(0)}
}

// wholeNode is a value with all that it holds.
func wholeNode(v *variables.Value) protocol.ViewValue {
	n := valueNode(v)
	for i := range v.Children {
		n.Children = append(n.Children, wholeNode(&v.Children[i]))
	}
	n.More = v.Missing()
	return n
}

// scopesOf puts variables under their scopes, in the order in which answers tell them.
type scopesOf map[string][]protocol.ViewValue

func (by scopesOf) list() []protocol.ViewScope {
	out := []protocol.ViewScope{}
	for _, scope := range append(slices.Clone(scopes), variables.ScopeExpression) {
		if len(by[scope]) > 0 {
			out = append(out, protocol.ViewScope{Scope: scope, Values: by[scope]})
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

// changeNode is a place in the tree of a difference.
type changeNode struct {
	removed, other *variables.Entry // other is added or modified
	kids           map[variables.Key]*changeNode
	order          []variables.Key
}

func (n *changeNode) kid(k variables.Key) *changeNode {
	kid := n.kids[k]
	if kid == nil {
		if n.kids == nil {
			n.kids = map[variables.Key]*changeNode{}
		}
		kid = &changeNode{}
		n.kids[k], n.order = kid, append(n.order, k)
	}
	return kid
}

// diffTree is a difference in the order of the newer snapshot; what is gone stands behind what is there.
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
				at = at.kid(k)
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
		if r := roots[at]; r != nil && r.kids[v.Key] != nil {
			by[v.Scope] = append(by[v.Scope], r.kids[v.Key].values(v.Key, &v.Value)...)
		}
	}
	for _, at := range order {
		for _, k := range roots[at].order {
			if !seen[at][k] {
				by[at.scope] = append(by[at.scope], roots[at].kids[k].values(k, nil)...)
			}
		}
	}
	return by.list()
}

// values are a place of the tree: one, or what was there and what is there now where those have nothing to do with
// each other. v is the value that is there, nil when the newer snapshot has none or holds it elsewhere.
func (n *changeNode) values(k variables.Key, v *variables.Value) []protocol.ViewValue {
	var out []protocol.ViewValue
	gone := n.removed
	now := protocol.ViewValue{Name: variables.Path{k}.String()}
	if v != nil {
		now = valueNode(v)
	}
	switch e := n.other; {
	case e == nil:
	case e.Old == nil && gone != nil && gone.Old.Type != e.New.Type:
		now = wholeNode(e.New)
		now.Change, now.Old, now.OldType = protocol.ChangeRetyped, gone.Old.Literal(0), gone.Old.Type
		gone = nil
	case e.Old == nil:
		now = wholeNode(e.New)
		now.Change = protocol.ChangeAdded
	default:
		now.Type, now.Change = e.New.Type, protocol.ChangeModified
		now.Old, now.Value = e.Change()
	}
	if gone != nil {
		was := wholeNode(gone.Old)
		was.Change, was.Old, was.Value = protocol.ChangeRemoved, was.Value, ""
		out = append(out, was)
	}
	if n.other == nil && len(n.kids) == 0 {
		return out
	}
	if now.Children == nil {
		n.hold(&now, v)
	}
	return append(out, now)
}

// hold puts the changes of what a value holds under it.
func (n *changeNode) hold(of *protocol.ViewValue, v *variables.Value) {
	there := map[variables.Key]bool{}
	if v != nil && len(n.kids) > 0 {
		for i := range v.Children {
			k := v.Children[i].Key
			if kid := n.kids[k]; kid != nil {
				there[k] = true
				of.Children = append(of.Children, kid.values(k, &v.Children[i])...)
			}
		}
		of.Same = len(v.Children) - len(there)
	}
	for _, k := range n.order {
		if !there[k] {
			of.Children = append(of.Children, n.kids[k].values(k, nil)...)
		}
	}
}

// prune cuts a tree to its first values, level by level, and says how many it cut.
func prune(all []protocol.ViewScope, most int) (cut int) {
	var level []*protocol.ViewValue
	for i := range all {
		for j := range all[i].Values {
			level = append(level, &all[i].Values[j])
		}
	}
	// The variables themselves are all shown: a frame has no more of them than its code names.
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

// size counts a value and what it holds.
func size(n *protocol.ViewValue) int {
	all := 1
	for i := range n.Children {
		all += size(&n.Children[i])
	}
	return all
}

// tracedAs is what an agent was told of a tracepoint.
type tracedAs struct {
	id string
	protocol.ViewTrace
}

// keepTraced remembers for the person what an agent is told of a tracepoint.
func (c *debugCall) keepTraced(id string, p TraceParams, t *Trace) {
	is := tracedAs{id, protocol.ViewTrace{
		Tab: c.tab, Place: fmt.Sprintf("%s:%d", p.URL, p.Line), At: c.e.clock().UnixMilli(), State: t.State, Hits: t.Hits, Rows: t.Rows,
		Notes: slices.DeleteFunc(slices.Clone(t.Notes), func(note string) bool { return note == traceGoesOn }), Columns: []string{}, Evolution: []string{},
	}}
	names := p.Paths
	if len(names) == 0 && len(t.Columns) > 0 {
		names = t.Columns[1:]
	}
	for _, name := range names {
		is.Columns, is.Evolution = append(is.Columns, name), append(is.Evolution, t.Evolution[name])
	}
	c.e.tabs.with(c.tab, func(tab *debugTab) {
		tab.traced = slices.DeleteFunc(tab.traced, func(one tracedAs) bool { return one.id == id })
		tab.traced = append(tab.traced, is)
		tab.traced = tab.traced[max(0, len(tab.traced)-maxTraced):]
	})
}
