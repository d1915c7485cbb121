package aria

import "strings"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

var (
	// operable are the roles that somebody acts on; generic stands for an element that takes clicks or
	// focus and has no role.
	operable = set(`button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar
		searchbox slider spinbutton switch tab textbox treeitem generic`)
	// spoken are those of which the text is the point.
	spoken = set(`alert alertdialog dialog status log timer`)
	// rows are those that tell apart what they hold: "Delete" means nothing without the row that it is in.
	rows = set(`row listitem article treeitem`)
	// landmarks are kept when they hold something or have a name.
	landmarks = set(`banner navigation main complementary contentinfo search form region`)
	// frameworks are containers that say how what they hold belongs together.
	frameworks = set(`radiogroup tablist menu menubar toolbar grid table tree listbox feed tabpanel group`)
)

// Interactive is the part of a tree that an agent acts on: what is operable, headings, landmarks, alerts
// and status regions, and around them what is needed to place them. It has the references of the whole.
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

// reduce is what is kept of a node: nothing, it with what is kept inside, or only the latter.
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
	// A short message is told whole; of a large dialog only what it holds is.
	speaks := spoken[n.Role] || n.Has("live=polite") || n.Has("live=assertive")
	speech = speech || speaks
	children := reduceAll(n.Children, speech)
	switch {
	case operable[n.Role], n.Has("clickable"), n.Role == "heading", n.Role == "progressbar", speaks:
		if (operable[n.Role] || n.Has("clickable")) && n.Name == "" && !n.HasValue && len(children) == 0 {
			children = texts(n) // its text is all that it is known by
		}
	case landmarks[n.Role], n.Role == "iframe":
		if len(children) == 0 && n.Name == "" {
			return nil
		}
	case rows[n.Role]:
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
	case frameworks[n.Role]:
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
	if same(children, n.Children) {
		return []*Node{n}
	}
	return []*Node{copyOf(n, children)}
}

func copyOf(n *Node, children []*Node) *Node {
	c := *n
	c.Children, c.kept, c.reduced, c.count = children, nil, false, 0
	return &c
}

func same(a, b []*Node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
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

// maxLabel bounds the text that a row is known by, in bytes.
const maxLabel = 60

// ownText is what a row says beside what is operable in it.
func ownText(n *Node, kept []*Node) string {
	var b strings.Builder
	var visit func(*Node)
	visit = func(c *Node) {
		if b.Len() > maxLabel || operable[c.Role] || c.Role == "heading" {
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
		text = strings.TrimRight(clip(text, maxLabel), " ") + "…"
	}
	// What is the name of the only thing in it already says nothing more.
	if len(kept) == 1 && strings.Contains(kept[0].Name, text) {
		return ""
	}
	return text
}

// clip cuts text at a character.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit]
}
