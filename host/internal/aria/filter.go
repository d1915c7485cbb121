package aria

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria/brief"
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
	speaks := roles.Spoken[n.Role] || n.Has("live=polite") || n.Has("live=assertive")
	speech = speech || speaks
	children := reduceAll(n.Children, speech)
	switch {
	case roles.Operable[n.Role], n.Has("clickable"), n.Role == "heading", n.Role == "progressbar", speaks:
		if (roles.Operable[n.Role] || n.Has("clickable")) && n.Name == "" && !n.HasValue && len(children) == 0 {
			children = texts(n) // only its text identifies it
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
		if n.Name == "" {
			label := ownText(n, children)
			if label == "" {
				return children
			}
			c := copyOf(n, children)
			c.Name = label
			return []*Node{c}
		}
	case roles.Frameworks[n.Role]:
		if len(children) == 0 {
			return nil
		}
		if n.Name == "" && (n.Role == "group" || n.Role == "table") {
			return children
		}
	default:
		if speech && len(children) > 0 {
			break
		}
		if n.Name == "" || len(children) == 0 || n.Role == "cell" || n.Role == "gridcell" {
			return children
		}
	}
	if slices.Equal(children, n.Children) {
		return []*Node{n}
	}
	return []*Node{copyOf(n, children)}
}

// leastCards is how many blocks of text in a row are the items of a list.
const leastCards = 3

// unlisted returns a note on the items of lists and the rows of tables of which [Interactive] shows nothing, "" without any.
func unlisted(root *Node) string {
	items, rows, lists := 0, 0, map[int]bool{}
	var walk func(n, list *Node)
	walk = func(n, list *Node) {
		kids := (&matcher{}).divide(n)
		cards := slices.DeleteFunc(slices.Clone(kids), func(c *Node) bool { return c.Role != "" || len(reduce(c, false)) > 0 })
		for _, c := range kids {
			switch {
			case roles.Spoken[c.Role]: // all of it is shown
			case c.Role == "row" && len(reduce(c, false)) == 0:
				if !slices.ContainsFunc(c.Children, func(cell *Node) bool { return cell.Role != "columnheader" }) {
					continue
				}
				rows++
				lists[list.Ref] = true
			case (roles.Items[c.Role] || len(cards) >= leastCards && slices.Contains(cards, c)) && len(reduce(c, false)) == 0:
				items++
				lists[list.Ref] = true
			case roles.Lists[c.Role]:
				walk(c, c)
			default:
				walk(c, list)
			}
		}
	}
	walk(root, root)
	var counted []string
	if items > 0 {
		counted = append(counted, brief.Count(items, "item"))
	}
	if rows > 0 {
		counted = append(counted, brief.Count(rows, "row"))
	}
	if len(counted) == 0 {
		return ""
	}
	where := ""
	for ref := range lists {
		if len(lists) == 1 && ref != root.Ref {
			where = "root: " + Reference(ref) + " with "
		}
	}
	return fmt.Sprintf("# %s not shown; %sinteractive_only: false shows them\n", strings.Join(counted, " and "), where)
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

// maxLabel limits the label of a row, in bytes.
const maxLabel = 60

// ownText returns the text of a row outside its interactive elements.
func ownText(n *Node, kept []*Node) string {
	var b strings.Builder
	var visit func(*Node)
	visit = func(c *Node) {
		if b.Len() > maxLabel || roles.Operable[c.Role] || c.Has("clickable") || c.Role == "heading" {
			return
		}
		said := c.Name
		if said == "" && c.Role == "img" {
			return
		}
		if said != "" {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(said)
		}
		for _, k := range c.Children {
			visit(k)
		}
	}
	for _, c := range n.Children {
		visit(c)
	}
	text := b.String()
	if len(text) > maxLabel {
		text = strings.TrimRight(brief.Clip(text, maxLabel), " ") + "…"
	}
	// If the name of its only element already contains the text, a label adds nothing.
	if len(kept) == 1 && strings.Contains(kept[0].Name, text) {
		return ""
	}
	return text
}
