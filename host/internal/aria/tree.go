// Package aria stores the accessibility trees of pages and reports what changed in them.
//
// It guarantees:
//   - A reference belongs to one element and is never reused for another. Uncertain matches are reported.
//   - Trees are immutable once returned.
//   - A difference applied to the old tree gives the new one.
//   - The package is pure: callers pass the time and all data.
package aria

import (
	"slices"
	"strconv"
)

// RoleText is the role of a run of text.
const RoleText = "text"

// roleDocument is the role of a page's root, which is not written.
const roleDocument = "document"

// roleFrame is the role of an element that shows a frame.
const roleFrame = "iframe"

// Node is an element of an accessibility tree, or a run of text in it. It is immutable once its tree was returned.
type Node struct {
	// Ref is the element's number, which [Reference] formats. For text it is negative and never shown.
	Ref  int
	Role string
	// Name is the accessible name. For text it is the text.
	Name, Description string
	// Value is the value of a field, if HasValue is set.
	Value    string
	HasValue bool
	// States are states such as "disabled", "checked=mixed", "level=2", in a fixed order.
	States []string
	// Keys are the attributes by which the page identifies the element.
	Keys string
	// Cut has the original lengths of a cut name and value.
	Cut      Cut
	Children []*Node

	shape    string // how unlisted blocks divide Children: see protocol.AriaNode
	blocks   []string
	home     *entry // the element's entry; nil in trees that do not come from a [Page]
	numbered bool   // it and its descendants have references
	count    int    // the number of its descendants plus one; 0 if not counted yet
	kept     []*Node
	reduced  bool // kept is filled in
}

// Cut is the original length of a name and a value, or 0 if not cut, and a checksum of the removed part.
type Cut struct{ Name, NameSum, Value, ValueSum int }

// Reference formats a reference as agents see it.
func Reference(ref int) string { return "e" + strconv.Itoa(ref) }

// ParseReference parses a reference, with or without brackets.
func ParseReference(s string) (ref int, ok bool) {
	if len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' {
		s = s[1 : len(s)-1]
	}
	if len(s) < 2 || s[0] != 'e' {
		return 0, false
	}
	ref, err := strconv.Atoi(s[1:])
	return ref, err == nil && ref > 0
}

// IsText reports whether the node is a run of text.
func (n *Node) IsText() bool { return n.Role == RoleText }

// Has reports whether the node has exactly this state, such as "checked" or "level=2".
func (n *Node) Has(state string) bool { return slices.Contains(n.States, state) }

// Walk calls each for the node and its descendants, parents first.
func (n *Node) Walk(each func(*Node)) {
	each(n)
	for _, c := range n.Children {
		c.Walk(each)
	}
}

// Count returns the number of descendants, without text.
func (n *Node) Count() int {
	if n.count == 0 {
		count := 0
		for _, c := range n.Children {
			if !c.IsText() {
				count++
			}
			count += c.Count()
		}
		n.count = count + 1 // cached, because nodes are immutable
	}
	return n.count - 1
}

// sameProperties reports whether two nodes are equal, apart from their children.
func sameProperties(a, b *Node) bool {
	return a == b || a.Role == b.Role && a.Name == b.Name && a.Description == b.Description && a.HasValue == b.HasValue &&
		a.Value == b.Value && a.Cut == b.Cut && slices.Equal(a.States, b.States)
}

// Tree is a page at one moment.
type Tree struct {
	Root *Node
	URL  string
	// Title is the page's title, unchanged.
	Title string
	// Document identifies the top document. It changes with each load.
	Document string
	// Left counts elements that were not read. Unread are the addresses of frames that were not read.
	Left   int
	Unread []string
	// Number is the number of the tree, counted from 1 for each page.
	Number int
}

// find returns the path from a node to the node of a reference, or nil.
func find(n *Node, ref int) []*Node {
	if n.Ref == ref {
		return []*Node{n}
	}
	for _, c := range n.Children {
		if path := find(c, ref); path != nil {
			return append([]*Node{n}, path...)
		}
	}
	return nil
}
