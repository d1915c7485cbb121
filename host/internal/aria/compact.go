package aria

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria/brief"
	"tidemark.dev/tidemark/host/internal/aria/keys"
	"tidemark.dev/tidemark/host/internal/aria/ranges"
)

// Limits on what one line shows, in characters.
const (
	maxName   = 100
	maxValue  = 200
	maxHeader = 60
	// For an answer that only reports that nothing changed, so that it stays under 40 tokens.
	briefTitle = 30
	briefURL   = 40
	maxListed  = 30 // the options of a closed list
)

// hinted begins the description of an element that the page does not name: what its author wrote for machines.
const hinted = "hint: "

// label returns a node's line without value and children: `textbox "Card Number" [e32] [required]`.
func label(n *Node) string {
	var b strings.Builder
	b.WriteString(n.Role)
	if n.Name != "" {
		b.WriteByte(' ')
		b.WriteString(brief.Quote(n.Name, maxName))
		b.WriteString(brief.Length(n.Name, n.Cut.Name, maxName))
	}
	if n.Ref > 0 {
		b.WriteString(" [" + Reference(n.Ref) + "]")
	}
	for _, s := range n.States {
		b.WriteString(" [" + s + "]")
	}
	if n.Description != "" {
		b.WriteString(" " + described(n))
	}
	return b.String()
}

// described returns a node's description and its hint as lines show them.
func described(n *Node) string {
	hint, text := hintOf(n), n.Description
	if hint != "" {
		_, text, _ = strings.Cut(text, "\n")
		hint = "(hint " + brief.Quote(hint, maxName) + ")"
	}
	if text != "" || hint == "" {
		text = "(" + brief.Quote(text, maxName) + ")"
	}
	return strings.TrimSpace(text + " " + hint)
}

// hintOf returns what the author of an element without a name wrote for machines, "" if there is none. It is the first line
// of the description.
func hintOf(n *Node) string {
	hint, ok := strings.CutPrefix(n.Description, hinted)
	if !ok {
		return ""
	}
	hint, _, _ = strings.Cut(hint, "\n")
	return hint
}

// compact writes trees one line a node.
type compact struct {
	b strings.Builder
	// only, if set, contains the nodes to write.
	only map[*Node]bool
	// depth, if above 0, is how many levels to write.
	depth int
	// links are the addresses to write, by reference.
	links map[int]string
}

// list writes nodes and their descendants.
func (w *compact) list(nodes []*Node, indent, level int) {
	for _, n := range nodes {
		if w.only == nil || w.only[n] {
			w.node(n, indent, level)
		}
	}
}

func (w *compact) node(n *Node, indent, level int) {
	w.indent(indent)
	if n.IsText() {
		w.b.WriteString("- text: " + brief.Quote(n.Name, maxValue) + length2(n) + "\n")
		return
	}
	text, value := content(n)
	children := n.Children
	if text != nil {
		children = nil
	}
	if w.only != nil {
		var shown []*Node
		for _, c := range children {
			if w.only[c] {
				shown = append(shown, c)
			}
		}
		children = shown
	}
	options := isOptions(children)
	deeper := len(children) > 0 && (w.depth == 0 || level < w.depth)
	l := label(n)
	if a := w.links[n.Ref]; a != "" {
		l += href(a)
	}
	if value != "" && deeper {
		l += " [value=" + value + "]"
		value = ""
	}
	w.b.WriteString("- " + brief.Key(l))
	switch {
	case value != "":
		w.b.WriteString(": " + value + "\n")
	case deeper && n.Role == "combobox" && options:
		w.b.WriteString(":\n")
		w.indent(indent + 1)
		w.b.WriteString("- options: " + optionNames(children) + "\n")
	case deeper:
		w.b.WriteString(":\n")
		w.list(children, indent+1, level+1)
	case len(children) > 0:
		w.b.WriteString(fmt.Sprintf("  # %d inside", n.Count()) + "\n")
	default:
		w.b.WriteString("\n")
	}
}

func href(address string) string { return " [href=" + brief.Quote(address, maxAddress) + "]" }

func hrefOf(n *Node) string { return href(brief.Middle(keys.Address(n.Keys), maxAddress)) }

// content returns the end of a node's line: its value, or its only child if that is text, which it returns too.
func content(n *Node) (text *Node, value string) {
	if n.HasValue {
		return nil, brief.Quote(n.Value, maxValue) + brief.Note(n.Value, n.Cut.Value, maxValue)
	}
	if len(n.Children) == 1 && n.Children[0].IsText() {
		return n.Children[0], brief.Quote(n.Children[0].Name, maxValue) + length2(n.Children[0])
	}
	return nil, ""
}

func length2(n *Node) string { return brief.Note(n.Name, n.Cut.Name, maxValue) }

func isOptions(list []*Node) bool {
	for _, c := range list {
		if c.Role != "option" && !(c.Role == "group" && isOptions(c.Children)) {
			return false
		}
	}
	return len(list) > 0
}

// optionNames lists the options of a closed list with the names of groups, then the disabled options.
func optionNames(list []*Node) string {
	var disabled []string
	shown, more := 0, 0
	var names func(list []*Node) string
	names = func(list []*Node) string {
		var out []string
		for _, n := range list {
			name := brief.Quote(n.Name, maxName)
			switch {
			case n.Role != "option":
				if held := names(n.Children); held != "[]" {
					out = append(out, "{"+name+": "+held+"}")
				}
				continue
			case shown == maxListed:
				more++
				continue
			case n.Has("disabled"):
				disabled = append(disabled, name)
			}
			shown++
			out = append(out, name)
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	text := names(list)
	var notes []string
	if more > 0 {
		notes = append(notes, fmt.Sprintf("%d more", more))
	}
	if len(disabled) > 0 {
		notes = append(notes, "disabled: "+strings.Join(disabled, ", "))
	}
	if len(notes) > 0 {
		text += "  # " + strings.Join(notes, "; ")
	}
	return text
}

func (w *compact) indent(n int) {
	for range n {
		w.b.WriteString("  ")
	}
}

// compactDiff writes a difference.
func compactDiff(d *Diff) string {
	w := &compact{}
	if len(d.Changed) > 0 {
		w.b.WriteString("Changed:\n")
		for i := 0; i < len(d.Changed); {
			n := cellsOfARow(d.Changed[i:])
			if n > 1 {
				w.row(d.Changed[i : i+n])
			} else {
				w.change(d.Changed[i])
			}
			i += max(n, 1)
		}
	}
	if len(d.Added) > 0 {
		w.links = addresses(d.root.Children)
		w.b.WriteString("Added:\n")
		for i := 0; i < len(d.Added); {
			first := d.Added[i]
			w.b.WriteString("- " + brief.Key(where(first.In, first.After, first.Last)) + ":\n")
			for ; i < len(d.Added); i++ {
				a := d.Added[i]
				if a.In != first.In || i > 0 && a != first && a.After != d.Added[i-1].Node {
					break
				}
				w.node(a.Node, 1, 1)
			}
		}
	}
	if len(d.Moved) > 0 {
		w.b.WriteString("Moved:\n")
		for _, m := range d.Moved {
			l := label(m.Node)
			if m.Node.IsText() {
				l = "text " + brief.Quote(m.Node.Name, maxName)
			}
			w.b.WriteString("- " + brief.Key(l) + ": " + brief.Key(where(m.In, m.After, false)) + "\n")
		}
	}
	if len(d.Removed) > 0 {
		w.removed(d)
	}
	return w.b.String()
}

// where describes a place by its parent and the node before it.
func where(in, after *Node, last bool) string {
	s := "in the page"
	if in != nil && in.Ref > 0 && in.Role != roleDocument {
		l := in.Role
		if in.Name != "" {
			l += " " + brief.Quote(in.Name, 40)
		}
		s = "in " + l + " [" + Reference(in.Ref) + "]"
	}
	switch {
	case last:
	case after == nil:
		s += " first"
	case after.Ref > 0:
		s += " after [" + Reference(after.Ref) + "]"
	default:
		s += " after " + brief.Quote(after.Name, 40)
	}
	return s
}

// cellsOfARow counts the first changes that are texts in cells of one row. They share a line.
func cellsOfARow(list []Change) int {
	n := 0
	for _, c := range list {
		if !c.New.IsText() || c.In == nil || c.In.Role != "cell" && c.In.Role != "gridcell" || len(c.In.Children) != 1 ||
			c.Around == nil || c.Around.Role != "row" || c.Around != list[0].Around {
			break
		}
		n++
	}
	return n
}

func (w *compact) row(list []Change) {
	var now, was []string
	for _, c := range list {
		now = append(now, Reference(c.In.Ref)+": "+brief.Quote(c.New.Name, maxValue))
		was = append(was, brief.Quote(c.Old.Name, maxName))
	}
	w.b.WriteString("- " + brief.Key(label(list[0].Around)) + ": {" + strings.Join(now, ", ") + "}  # was " + strings.Join(was, ", ") + "\n")
}

func (w *compact) change(c Change) {
	var was []string
	if c.New.IsText() {
		l := "text"
		if c.In != nil && c.In.Ref > 0 && c.In.Role != roleDocument {
			l = label(c.In)
			if !onItsLine(c) {
				l = "text in " + l
			}
		}
		is, note, was := brief.Contrast(c.Old.Name, c.New.Name, c.Old.Cut.Name, c.New.Cut.Name, maxValue)
		w.b.WriteString("- " + brief.Key(l) + ": " + is + "  # " + note + "was " + was + "\n")
		return
	}
	if c.Old.Role != c.New.Role {
		was = append(was, c.Old.Role)
	}
	if c.Old.Name != c.New.Name || c.Old.Cut.NameSum != c.New.Cut.NameSum {
		was = append(was, nameWas(c.Old, c.New))
	}
	if c.Old.Description != c.New.Description {
		was = append(was, described(c.Old))
	}
	l, note := label(c.New), ""
	if c.Elsewhere {
		l += hrefOf(c.New)
		was = append(was, strings.TrimSpace(hrefOf(c.Old)))
	}
	l = brief.Key(l)
	if c.Old.HasValue != c.New.HasValue || c.Old.Value != c.New.Value || c.Old.Cut.ValueSum != c.New.Cut.ValueSum {
		is, length, before := brief.Contrast(c.Old.Value, c.New.Value, c.Old.Cut.Value, c.New.Cut.Value, maxValue)
		if c.New.HasValue {
			l += ": " + is
			note = length
		}
		switch {
		case !c.Old.HasValue:
			before = "without a value"
		case len(was) > 0: // a name would look the same
			before = "value " + before
		}
		was = append(was, before)
	}
	gone, came := brief.StateChanges(c.Old.States, c.New.States)
	for _, s := range gone {
		was = append(was, "["+s+"]")
	}
	for _, s := range came {
		was = append(was, "not ["+s+"]")
	}
	w.b.WriteString("- " + l)
	if len(was) > 0 {
		w.b.WriteString("  # " + note + "was " + strings.Join(was, ", "))
	}
	w.b.WriteString("\n")
}

// onItsLine reports whether a changed text is all that is in an element, so that the line of that shows it.
func onItsLine(c Change) bool { return c.New.IsText() && c.In != nil && len(c.In.Children) <= 1 }

// nameWas returns a node's old name. If both names are cut and look the same, it shows where they differ.
func nameWas(old, now *Node) string {
	if brief.Quote(old.Name, maxName) != brief.Quote(now.Name, maxName) {
		return brief.Quote(old.Name, maxName)
	}
	if old.Name == now.Name && now.Cut.Name == 0 { // a label, of which only the beginning is shown
		return "other text behind it"
	}
	is, _, was := brief.Contrast(old.Name, now.Name, old.Cut.Name, now.Cut.Name, maxName)
	return was + ", now " + is
}

func (w *compact) removed(d *Diff) {
	list := d.Removed
	if len(d.Gone) > 0 { // what lies between them is not on the page either
		list := ranges.Of(d.Gone, func(ref int) bool { return d.there != nil && !d.there[ref] })
		w.b.WriteString("Removed: [" + spans(list) + "]\n")
	}
	if len(d.Unlisted) > 0 {
		w.b.WriteString("No longer interactive: [" + spans(ranges.Of(d.Unlisted, nil)) + "]\n")
	}
	whole := map[int]bool{} // elements whose line above shows all of their text
	for _, c := range d.Changed {
		if onItsLine(c) {
			whole[c.In.Ref] = true
		}
	}
	lines := 0
	for _, r := range list {
		if r.Node.Ref < 0 && (r.In == nil || !whole[r.In.Ref]) {
			if lines++; lines == 1 {
				w.b.WriteString("Removed text:\n")
			}
			w.b.WriteString("- " + brief.Key(where(r.In, nil, true)) + ": " + brief.Quote(r.Node.Name, maxName) + "\n")
		}
	}
}

func spans(list []ranges.Range) string { return ranges.String(list, Reference) }
