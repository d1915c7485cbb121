package aria

import (
	"fmt"
	"strings"
)

// blocks writes trees in the block layout: each property on its own line.
type blocks struct {
	b    strings.Builder
	only map[*Node]bool
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
		w.line(indent, "- text: %s%s", quote(n.Name, maxValue), length2(n))
		return
	}
	w.properties(n, nil, indent)
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
		w.line(indent+1, "name: %s%s", quote(n.Name, maxName), before(quote(was.Name, maxName)))
	case n.Name != "":
		w.line(indent+1, "name: %s%s", quote(n.Name, maxName), hash(length(n.Name, n.Cut.Name, maxName)))
	}
	if was == nil && n.Description != "" {
		w.line(indent+1, "description: %s", quote(n.Description, maxName))
	} else if was != nil && was.Description != n.Description {
		w.line(indent+1, "description: %s%s", quote(n.Description, maxName), before(quote(was.Description, maxName)))
	}
	if was == nil && n.HasValue {
		w.line(indent+1, "value: %s%s", quote(n.Value, maxValue), cutNote(n.Value, n.Cut.Value))
	} else if was != nil && (was.HasValue != n.HasValue || was.Value != n.Value || was.Cut.ValueSum != n.Cut.ValueSum) {
		is, note, old := contrast(was.Value, n.Value, was.Cut.Value, n.Cut.Value, maxValue)
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
			w.line(indent+1, "%s: %s", s, plain(b))
		case was != nil && a != b:
			w.line(indent+1, "%s: %s%s", s, plain(or(b, "false")), before(or(a, "false")))
		}
	}
}

// stateNames are the names of all states, in output order.
var stateNames = strings.Fields("checked selected pressed expanded disabled invalid required readonly level current sort busy modal live haspopup clickable focused active")

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func hash(s string) string {
	if s == "" {
		return ""
	}
	return "  #" + s
}

// plain returns text on one line, in quotes if YAML would misread it.
func plain(s string) string {
	folded := strings.Join(strings.Fields(s), " ")
	if folded == "" || folded != s || strings.ContainsAny(s[:1], "!&*-?:,[]{}#|>@`\"'%") || strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.ContainsAny(s, "\ufffe\uffff") ||
		strings.HasSuffix(s, ":") {
		return quote(folded, 500)
	}
	return s
}

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
				is, note, old := contrast(c.Old.Name, c.New.Name, c.Old.Cut.Name, c.New.Cut.Name, maxValue)
				w.line(1, "text: %s  # %spreviously: %s", is, note, old)
				continue
			}
			w.properties(c.New, c.Old, 0)
		}
	}
	if len(d.Added) > 0 {
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
				w.line(0, "- text: %s", quote(m.Node.Name, maxValue))
			}
			w.line(1, "to: %s", quote(where(m.In, m.After, false), 200))
		}
	}
	if len(d.Removed) > 0 {
		c := &compact{}
		c.removed(d)
		w.b.WriteString(c.b.String())
	}
	return w.b.String()
}
