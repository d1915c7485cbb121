package aria

import (
	"cmp"
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria/brief"
	"tidemark.dev/tidemark/host/internal/aria/keys"
)

// blocks writes trees in the block layout: each property on its own line.
type blocks struct {
	b     strings.Builder
	only  map[*Node]bool
	links map[int]string // the addresses to write, by reference
}

func (w *blocks) list(nodes []*Node, indent int) {
	for _, n := range nodes {
		if w.only == nil || w.only[n] {
			w.node(n, indent)
		}
	}
}

func (w *blocks) line(indent int, format string, args ...any) {
	for range indent {
		w.b.WriteString("  ")
	}
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *blocks) node(n *Node, indent int) {
	if n.IsText() {
		w.line(indent, "- text: %s%s", brief.Quote(n.Name, maxValue), length2(n))
		return
	}
	w.properties(n, nil, indent)
	if a := w.links[n.Ref]; a != "" {
		w.line(indent+1, "href: %s", brief.Quote(a, maxAddress))
	}
	var children []*Node
	for _, c := range n.Children {
		if w.only == nil || w.only[c] {
			children = append(children, c)
		}
	}
	if len(children) > 0 {
		w.line(indent+1, "children:")
		w.list(children, indent+2)
	}
}

// properties writes a node's own lines. If was is set, it writes only the reference, role and changed properties.
func (w *blocks) properties(n, was *Node, indent int) {
	w.line(indent, "- ref: %s", Reference(n.Ref))
	before := func(what string) string {
		if was == nil {
			return ""
		}
		return "  # previously: " + what
	}
	if was == nil || was.Role == n.Role {
		w.line(indent+1, "role: %s", n.Role)
	} else {
		w.line(indent+1, "role: %s%s", n.Role, before(was.Role))
	}
	switch {
	case was != nil && (was.Name != n.Name || was.Cut.NameSum != n.Cut.NameSum):
		w.line(indent+1, "name: %s%s", brief.Quote(n.Name, maxName), before(brief.Quote(was.Name, maxName)))
	case n.Name != "":
		w.line(indent+1, "name: %s%s", brief.Quote(n.Name, maxName), brief.Note(n.Name, n.Cut.Name, maxName))
	}
	if was == nil && n.Description != "" {
		w.line(indent+1, "description: %s", brief.Quote(n.Description, maxName))
	} else if was != nil && was.Description != n.Description {
		w.line(indent+1, "description: %s%s", brief.Quote(n.Description, maxName), before(brief.Quote(was.Description, maxName)))
	}
	if was == nil && n.HasValue {
		w.line(indent+1, "value: %s%s", brief.Quote(n.Value, maxValue), brief.Note(n.Value, n.Cut.Value, maxValue))
	} else if was != nil && (was.HasValue != n.HasValue || was.Value != n.Value || was.Cut.ValueSum != n.Cut.ValueSum) {
		is, note, old := brief.Contrast(was.Value, n.Value, was.Cut.Value, n.Cut.Value, maxValue)
		w.line(indent+1, "value: %s  # %spreviously: %s", is, note, old)
	}
	states := func(n *Node) map[string]string {
		m := map[string]string{}
		for _, s := range n.States {
			name, value, ok := strings.Cut(s, "=")
			switch {
			case name == "collapsed":
				name, value = "expanded", "false"
			case !ok:
				value = "true"
			}
			m[name] = value
		}
		return m
	}
	now := states(n)
	var old map[string]string
	if was != nil {
		old = states(was)
	}
	for _, s := range stateNames {
		a, b := old[s], now[s]
		switch {
		case was == nil && b != "":
			w.line(indent+1, "%s: %s", s, brief.Plain(b))
		case was != nil && a != b:
			w.line(indent+1, "%s: %s%s", s, brief.Plain(cmp.Or(b, "false")), before(cmp.Or(a, "false")))
		}
	}
}

// stateNames are the names of all states, in output order.
var stateNames = strings.Fields(`checked selected pressed expanded disabled invalid required readonly multiselectable level
	current sort busy modal live haspopup clickable editable no-pointer inert deleted inserted highlighted focused active lines rows`)

func yamlDiff(d *Diff) string {
	w := &blocks{}
	if len(d.Changed) > 0 {
		w.line(0, "Changed:")
		for i, c := range d.Changed {
			if i > 0 {
				w.line(0, "")
			}
			if c.New.IsText() {
				if c.In != nil && c.In.Ref > 0 {
					w.line(0, "- ref: %s", Reference(c.In.Ref))
					w.line(1, "role: %s", c.In.Role)
				} else {
					w.line(0, "- role: text")
				}
				is, note, old := brief.Contrast(c.Old.Name, c.New.Name, c.Old.Cut.Name, c.New.Cut.Name, maxValue)
				w.line(1, "text: %s  # %spreviously: %s", is, note, old)
				continue
			}
			w.properties(c.New, c.Old, 0)
			if c.Elsewhere {
				w.line(1, "href: %s  # previously: %s", brief.Quote(brief.Middle(keys.Address(c.New.Keys), maxAddress), maxAddress), brief.Quote(brief.Middle(keys.Address(c.Old.Keys), maxAddress), maxAddress))
			}
		}
	}
	if len(d.Added) > 0 {
		w.links = addresses(d.root.Children)
		w.line(0, "Added:")
		for _, a := range d.Added {
			w.line(0, "- in: %s", Reference(max(a.In.Ref, 0)))
			if a.After != nil && a.After.Ref > 0 {
				w.line(1, "after: %s", Reference(a.After.Ref))
			}
			w.line(1, "children:")
			w.node(a.Node, 2)
		}
	}
	if len(d.Moved) > 0 {
		w.line(0, "Moved:")
		for _, m := range d.Moved {
			if m.Node.Ref > 0 {
				w.line(0, "- ref: %s", Reference(m.Node.Ref))
			} else {
				w.line(0, "- text: %s", brief.Quote(m.Node.Name, maxValue))
			}
			w.line(1, "to: %s", brief.Quote(where(m.In, m.After, false), 200))
		}
	}
	if len(d.Removed) > 0 {
		c := &compact{}
		c.removed(d)
		w.b.WriteString(c.b.String())
	}
	return w.b.String()
}
