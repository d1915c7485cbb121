package aria

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria/brief"
	"tidemark.dev/tidemark/host/internal/aria/roles"
	"tidemark.dev/tidemark/host/internal/tokens"
)

// narrowed answers a request for a part of the page and returns the nodes of that part. The record of what the agent was
// shown does not change, so the next difference is against the same snapshot.
func narrowed(p *Page, t *Tree, root *Node, r Request) (a *Answer, nodes []*Node, err error) {
	head := fmt.Sprintf("[Page: %s]\n%s[URL: %s]\n", brief.Title(t.Title, maxHeader), r.tabLine(), brief.Address(t.URL, maxHeader)) + incomplete(t)
	if r.Root > 0 {
		if _, err := p.Find(r.Root); err != nil {
			return nil, nil, err
		}
		path := find(t.Root, r.Root)
		if path == nil {
			return nil, nil, &GoneError{Ref: r.Root}
		}
		within := path[len(path)-1]
		if r.Interactive {
			nodes = reduce(within, false)
		} else {
			nodes = []*Node{within}
		}
		head += fmt.Sprintf("[Part: %s]\n", Reference(r.Root))
	} else {
		nodes = root.Children
	}
	if r.Search != "" {
		found, n := search(nodes, r.Search)
		if n == 0 {
			hint := ""
			if r.Interactive {
				hint = "; interactive_only: false searches all text"
			}
			return &Answer{Kind: KindPart, Missed: true, Text: head + fmt.Sprintf("[Nothing matches %s%s]\n", brief.Quote(r.Search, 60), hint)}, nil, nil
		}
		match := "elements match"
		if n == 1 {
			match = "element matches"
		}
		head += fmt.Sprintf("[%d %s %s]\n", n, match, brief.Quote(r.Search, 60))
		nodes = found
	}
	if len(nodes) == 0 {
		return &Answer{Kind: KindPart, Text: head + "[Nothing interactive here; interactive_only: false shows all]\n"}, nil, nil
	}
	body, _ := fit(&Node{Role: roleDocument, Children: nodes}, r, head, linked(nodes, r, head))
	return &Answer{Kind: KindPart, Text: head + body}, nodes, nil
}

// search keeps the nodes whose line contains a text, ignoring case, and their ancestors.
func search(nodes []*Node, text string) (kept []*Node, matches int) {
	text = strings.ToLower(text)
	for _, n := range nodes {
		inside, m := search(n.Children, text)
		own := strings.Contains(strings.ToLower(n.Role+" "+n.Name+" "+n.Value+" "+n.Description), text)
		switch {
		case own && m == 0 && len(n.Children) == 1 && n.Children[0].IsText():
			kept = append(kept, n)
		case own || m > 0:
			kept = append(kept, copyOf(n, inside))
		}
		matches += m
		if own {
			matches++
		}
	}
	return kept, matches
}

// fit returns a listing that stands below a head, or, if both do not fit, what [fitted] returns. A text may have a few
// more tokens than its lines have one by one.
func fit(root *Node, r Request, head, all string) (text string, out map[int]bool) {
	text = all
	budget := r.MaxTokens - tokens.Estimate(head)
	for tries := 0; tries < 2 && !r.fits(head+text); tries++ {
		text, out = fitted(root, r, budget)
		budget -= 2 * max(0, tokens.Estimate(head+text)-r.MaxTokens)
	}
	return text, out
}

// fitted lists the most useful part of a tree within a budget of tokens: first alerts, dialogs and headings, then interactive
// elements and landmarks, then the rest, each in page order. The text reports how many elements are left out. fitted
// returns it with the elements of which it does not show everything.
func fitted(root *Node, r Request, budget int) (text string, out map[int]bool) {
	const leastLine = 5 // of a node
	budget -= 30        // for the note on what is left out
	only := map[*Node]bool{}
	var around []*Node
	cost := func(n *Node) int {
		if r.Format == FormatYAML {
			w := &blocks{}
			w.node(alone(n), 2*len(around))
			return tokens.Estimate(w.b.String()) + 3 // and its line "children:"
		}
		w := &compact{}
		w.node(alone(n), len(around), 1)
		return tokens.Estimate(w.b.String())
	}
	var pass func(n *Node, wanted func(*Node) bool)
	pass = func(n *Node, wanted func(*Node) bool) {
		for _, c := range n.Children {
			if budget < leastLine {
				return
			}
			if wanted(c) && !only[c] {
				need := cost(c)
				for _, a := range around {
					if !only[a] {
						need += cost(a)
					}
				}
				if need <= budget {
					budget -= need
					only[c] = true
					if text, _ := content(c); text != nil {
						only[text] = true // it is on the same line
					}
					for _, a := range around {
						only[a] = true
					}
				}
			}
			around = append(around, c)
			pass(c, wanted)
			around = around[:len(around)-1]
		}
	}
	pass(root, func(n *Node) bool { return roles.Spoken[n.Role] || n.Role == "heading" })
	pass(root, func(n *Node) bool { return roles.Operable[n.Role] && n.Role != "option" || roles.Landmarks[n.Role] })
	pass(root, func(*Node) bool { return true })
	var widest *Node
	most := 0
	var count func(n *Node) int
	count = func(n *Node) (missing int) {
		for _, c := range n.Children {
			if !only[c] && !c.IsText() {
				missing++
			}
			missing += count(c)
		}
		if n.Ref > 0 && n != root && missing > most {
			widest, most = n, missing
		}
		return missing
	}
	left := count(root)
	out = map[int]bool{}
	root.Walk(func(n *Node) {
		for _, c := range n.Children {
			if !only[c] {
				out[c.Ref] = true
				out[n.Ref] = out[n.Ref] || c.IsText()
			}
		}
	})
	body := listing(root.Children, r, only)
	for widest != nil { // narrow it down to the innermost element with most of the missing ones
		deeper := false
		for _, c := range widest.Children {
			if c.Ref > 0 && count(c) > most/2 {
				widest, deeper = c, true
				break
			}
		}
		if !deeper {
			break
		}
	}
	hint := "use search, root (a reference) or a larger max_tokens"
	if widest != nil && 2*count(widest) > left {
		hint = fmt.Sprintf("root: %s shows most of them", Reference(widest.Ref))
	}
	return body + fmt.Sprintf("# %s left out to fit max_tokens; %s\n", brief.Count(left, "element"), hint), out
}

// alone returns a copy of a node with only the children that its own line shows.
func alone(n *Node) *Node {
	own := *n
	own.Children = nil
	if text, _ := content(n); text != nil {
		own.Children = n.Children
	}
	return &own
}

// cutDiff returns the part of a difference that fits. The next answer repeats all of it, so that nothing gets lost.
func cutDiff(text string, r Request) *Answer {
	lines := strings.SplitAfter(text, "\n")
	var b strings.Builder
	shown, cost := 0, 0
	for _, l := range lines {
		if cost += tokens.Estimate(l); cost > r.MaxTokens-30 && shown > 3 { // 30 for the note on the others
			break
		}
		b.WriteString(l)
		shown++
	}
	fmt.Fprintf(&b, "# %d more line(s) of changes did not fit max_tokens; the next snapshot repeats all\n", len(lines)-shown)
	return &Answer{Kind: KindDiff, Text: b.String(), cut: true}
}
