// Package aria keeps the accessibility trees of pages, and says what changed in them.
//
// It guarantees: a reference belongs to one element and is never given to another; a tree that was handed
// out never changes; a difference applied to the old tree gives the new one; what was not certain is said.
// It is pure: time is passed in, and nothing is read or asked for.
package aria

import (
	"slices"
	"strconv"
)

// RoleText is the role of a run of text that has no line of its own.
const RoleText = "text"

// roleDocument is the role of a page's root, which has no line.
const roleDocument = "document"

// roleFrame is the role of an element that shows a frame.
const roleFrame = "iframe"

// Node is an element of an accessibility tree, or a run of text in it. It never changes once its tree has
// been handed out.
type Node struct {
	// Ref is the element's number: [Node.Reference] writes it. Of text it is negative, and never shown.
	Ref  int
	Role string
	// Name is the accessible name; of text it is the text.
	Name, Description string
	// Value is what a field holds, when HasValue.
	Value    string
	HasValue bool
	// States are such as "disabled", "checked=mixed", "level=2", in a fixed order.
	States []string
	// Keys are the attributes by which the page knows the element.
	Keys string
	// Cut says how long name and value were where they were cut.
	Cut      Cut
	Children []*Node

	shape    string // how blocks without a line divide Children: see protocol.AriaNode
	blocks   []string
	home     *entry // where the element is; nil in trees that were not made by a [Page]
	numbered bool   // it and all below it have references
	count    int    // of what it holds, and one; 0 when it is not known yet
	kept     []*Node
	reduced  bool // kept is filled in
}

// Cut is how long a name and a value were before they were cut, 0 where they were not, and a number that
// changes with what was cut off.
type Cut struct{ Name, NameSum, Value, ValueSum int }

// Reference writes a reference as agents see it.
func Reference(ref int) string { return "e" + strconv.Itoa(ref) }

// ParseReference reads a reference, with or without its brackets.
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

// IsText says whether the node is a run of text.
func (n *Node) IsText() bool { return n.Role == RoleText }

// Has says whether the node has a state, whatever its value.
func (n *Node) Has(state string) bool { return slices.Contains(n.States, state) }

// Walk calls each with the node and all below it, parents first.
func (n *Node) Walk(each func(*Node)) {
	each(n)
	for _, c := range n.Children {
		c.Walk(each)
	}
}

// Count is how many elements a node holds, text not counted.
func (n *Node) Count() int {
	if n.count == 0 {
		count := 0
		for _, c := range n.Children {
			if !c.IsText() {
				count++
			}
			count += c.Count()
		}
		n.count = count + 1 // kept, because a node does not change
	}
	return n.count - 1
}

// sameProperties says whether two nodes say the same of themselves, whatever their children are.
func sameProperties(a, b *Node) bool {
	return a == b || a.Role == b.Role && a.Name == b.Name && a.Description == b.Description && a.HasValue == b.HasValue &&
		a.Value == b.Value && a.Cut == b.Cut && slices.Equal(a.States, b.States)
}

// Tree is a page at one moment.
type Tree struct {
	Root *Node
	URL  string
	// Title is the page's, as it is.
	Title string
	// Document names the top document: another one after a reload.
	Document string
	// Left counts elements that were not read; Unread are the addresses of frames that were not.
	Left   int
	Unread []string
	// Number counts the page's trees.
	Number int
}

// find is the node of a reference, and those around it, the root first; nil when it is not there.
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
