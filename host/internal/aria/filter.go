package aria

import (
	"cmp"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria/brief"
	"tidemark.dev/tidemark/host/internal/aria/ranges"
	"tidemark.dev/tidemark/host/internal/aria/roles"
)

// Interactive returns the part of a tree that an agent acts on: interactive elements, headings, landmarks, alerts and
// status regions, with the ancestors that are needed to place them. References stay the same.
func Interactive(root *Node) *Node {
	if root.reduced && len(root.kept) == 1 {
		return root.kept[0]
	}
	n := *root
	n.Children = reduceAll(root.Children, false)
	n.kept, n.reduced, n.count = nil, false, 0
	root.kept, root.reduced = []*Node{&n}, true
	return &n
}

func reduceAll(list []*Node, speech bool) []*Node {
	var out []*Node
	for _, c := range list {
		out = append(out, reduce(c, speech)...)
	}
	return out
}

// reduce returns what is kept of a node: nothing, the node with its kept descendants, or only the descendants.
func reduce(n *Node, speech bool) []*Node {
	if n.IsText() {
		if speech {
			return []*Node{n}
		}
		return nil
	}
	if !speech && n.reduced {
		return n.kept
	}
	kept := reduceNode(n, speech)
	if !speech {
		n.kept, n.reduced = kept, true
	}
	return kept
}

func reduceNode(n *Node, speech bool) []*Node {
	// A message is kept with all of its text.
	speaks := isMessage(n)
	speech = speech || speaks
	children := reduceAll(n.Children, speech)
	switch {
	case roles.Operable[n.Role], n.Has("clickable"), n.Has("editable"), n.Role == "heading", n.Role == "progressbar", speaks:
		takesClicks := n.Role == "generic" || n.Has("clickable")
		if n.Name != "" || n.HasValue || !takesClicks && !roles.Operable[n.Role] {
			break
		}
		if len(children) == 0 {
			children = texts(n) // only its text identifies it
		} else if takesClicks && !speech {
			return []*Node{labeled(n, children)}
		}
	case n.Role == roleFrame:
		if len(n.Children) == 0 && n.Name == "" {
			return nil
		}
	case n.Has("inert"):
	case roles.Landmarks[n.Role]:
		if len(children) == 0 && n.Name == "" {
			return nil
		}
	case roles.Rows[n.Role]:
		if len(children) == 0 {
			return nil
		}
		if n.Name == "" && !speech {
			c := labeled(n, children)
			if c.Name == "" && !slices.ContainsFunc(children, isCell) {
				return children
			}
			return []*Node{c}
		}
	case roles.Frameworks[n.Role]:
		if len(children) == 0 {
			return nil
		}
		if n.Name == "" && (n.Role == "group" || n.Role == "table" && !saysRows(n)) {
			return children
		}
	default:
		if speech && len(children) > 0 {
			break
		}
		if n.Name == "" || len(children) == 0 || isCell(n) && (n.Role == "cell" || contains(children, n.Name)) {
			return children
		}
	}
	if slices.Equal(children, n.Children) {
		return []*Node{n}
	}
	return []*Node{copyOf(n, children)}
}

// isMessage reports whether a node exists for its text.
func isMessage(n *Node) bool {
	return roles.Spoken[n.Role] || n.Has("live=polite") || n.Has("live=assertive")
}

// saysRows reports whether a table says how many rows it has, of which it may show a part.
func saysRows(n *Node) bool {
	return slices.ContainsFunc(n.States, func(s string) bool { return strings.HasPrefix(s, "rows=") })
}

func isCell(n *Node) bool { return n.Role == "cell" || n.Role == "gridcell" }

// contains reports whether the name of one of some nodes contains a text.
func contains(nodes []*Node, text string) bool {
	return slices.ContainsFunc(nodes, func(n *Node) bool { return strings.Contains(n.Name, text) })
}

const (
	leastDrawn = 3 // so many pictures in a row are the items of a list
	maxPlaces  = 4 // so many lists are named whose items are not shown
)

// unlisted returns a note on the items of lists and the rows of tables of which [Interactive] shows nothing, "" without any.
func unlisted(root *Node) string {
	count, lists := map[string]int{}, map[int]bool{}
	var walk func(n, list *Node)
	walk = func(n, list *Node) {
		drawn := 0
		for _, c := range n.Children {
			if isDrawn(c) {
				drawn++
			}
		}
		for _, c := range n.Children {
			what := roles.Items[c.Role]
			if drawn >= leastDrawn && isDrawn(c) {
				what = "item"
			}
			switch {
			case what != "" && len(reduce(c, false)) == 0:
				if what == "row" && !slices.ContainsFunc(c.Children, func(cell *Node) bool { return cell.Role != "columnheader" }) {
					continue
				}
				count[what]++
				lists[list.Ref] = true
			case isMessage(c): // all of it is shown
			case roles.Lists[c.Role]:
				walk(c, c)
			default:
				walk(c, list)
			}
		}
	}
	walk(root, root)
	elsewhere := lists[root.Ref]
	delete(lists, root.Ref)
	return brief.NotShown(count, ranges.Names(slices.Sorted(maps.Keys(lists)), maxPlaces, Reference), len(lists), elsewhere)
}

// isDrawn reports whether a node is a picture, or a part of one with a name of its own.
func isDrawn(n *Node) bool {
	return len(n.Children) == 0 && (n.Role == "img" || n.Role == "group" && n.Name != "")
}

func copyOf(n *Node, children []*Node) *Node {
	c := *n
	c.Children, c.kept, c.reduced, c.count = children, nil, false, 0
	return &c
}

func texts(n *Node) []*Node {
	var out []*Node
	n.Walk(func(c *Node) {
		if c.IsText() {
			out = append(out, c)
		}
	})
	return out
}

// Limits on the label of a row or an item, and on the text of which every change counts as one of the label, in bytes.
const (
	maxLabel = 60
	maxOwn   = 300
)

// labeled returns a row or an item with what is kept of its contents, and its own text as its name.
func labeled(n *Node, kept []*Node) *Node {
	c := copyOf(n, kept)
	c.Name = ownText(n, kept)
	if len(c.Name) <= maxLabel {
		return c
	}
	if !roles.Rows[n.Role] || n.Has("clickable") {
		c.Cut.NameSum = int(crc32.ChecksumIEEE([]byte(c.Name)))
	}
	c.Name = strings.TrimRight(brief.Clip(c.Name, maxLabel), " ") + "…"
	return c
}

// ownText returns the beginning of the text of a row or an item, without what has a line of its own.
func ownText(n *Node, kept []*Node) string {
	var b strings.Builder
	lines := kept
	var visit func(c *Node, around string)
	visit = func(c *Node, around string) {
		if len(lines) > 0 && lines[0].Ref == c.Ref {
			lines = lines[1:]
			return
		}
		if b.Len() > maxOwn || c.Name == "" && c.Role == "img" {
			return
		}
		if c.Name != "" && !strings.Contains(around, c.Name) {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(c.Name)
		}
		for _, k := range c.Children {
			visit(k, cmp.Or(c.Name, around))
		}
	}
	for _, c := range n.Children {
		visit(c, "")
	}
	text := b.String()
	// If the name of its only element already contains the text, a label adds nothing.
	if len(kept) == 1 && strings.Contains(kept[0].Name, text) {
		return ""
	}
	return text
}
