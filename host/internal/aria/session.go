package aria

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/aria/brief"
	"tidemark.dev/tidemark/host/internal/aria/keys"
	"tidemark.dev/tidemark/host/internal/aria/ranges"
	"tidemark.dev/tidemark/host/internal/tokens"
)

// Request describes the snapshot to return.
type Request struct {
	Interactive bool
	// Full requests everything, whatever was shown before.
	Full bool
	// Format is FormatCompact or FormatYAML.
	Format string
	// Root, if above 0, limits the snapshot to an element. Depth, if above 0, limits its levels. Search, if not "", limits
	// it to lines with that text.
	Root, Depth int
	Search      string
	// MaxTokens, if above 0, limits the answer, as package tokens estimates it.
	MaxTokens int
	// Tab, if above 0, is named in the answer, because the agent sees several tabs.
	Tab int
	// Diff requests a difference, however much changed and however old the last snapshot is.
	Diff bool
	// FullAfter is the age of a snapshot after which the next one of a changed page is a full one.
	FullAfter time.Duration
	Now       time.Time
}

// The formats, and the kinds of answers.
const (
	FormatCompact = "compact"
	FormatYAML    = "yaml"

	KindFull      = "full"
	KindDiff      = "diff"
	KindUnchanged = "unchanged"
	KindPart      = "part" // for a request with root, depth or search
)

// Answer is a snapshot for an agent.
type Answer struct {
	// Why is the reason for a full snapshot. Missed is true if nothing matched a search.
	Kind, Text, Why string
	Missed          bool
	// left are elements that a full snapshot leaves out to fit into most tokens.
	left map[int]bool
	most int
	// cut means that a difference was cut to fit.
	cut bool
}

// fits reports whether a text is within the limit. A token has at least one byte.
func (r Request) fits(text string) bool {
	return r.MaxTokens <= 0 || len(text) <= r.MaxTokens || tokens.Estimate(text) <= r.MaxTokens
}

// MaxChanged is the largest share of changed elements for which a difference is returned.
const MaxChanged = .7

// Show answers a request from the newest tree and records what the answer shows.
func (s *Seen) Show(p *Page, t *Tree, r Request) (*Answer, error) {
	root := t.Root
	if r.Interactive {
		root = Interactive(root)
	}
	if r.Root > 0 || r.Depth > 0 || r.Search != "" {
		a, nodes, err := narrowed(p, t, root, r)
		if err == nil {
			s.glimpsed(t, nodes)
		}
		return a, err
	}
	v := &s.whole
	if r.Interactive {
		v = &s.part
	}
	a, d := s.decide(p, v, t, root, r)
	switch {
	case a.cut:
		s.sawCut(d)
	case r.Interactive:
		s.sawPart(t, root, r.Now, a)
	default:
		s.sawWhole(t, d, r.Now, a)
	}
	return a, nil
}

// decide returns the answer to a request for a whole view, and the difference that it is based on.
func (s *Seen) decide(p *Page, v *view, t *Tree, root *Node, r Request) (*Answer, *Diff) {
	if r.Full || !v.listed {
		return full(t, root, r, ""), nil
	}
	if !sameDocument(v.tree, t) {
		return full(t, root, r, "different page"), nil
	}
	d := Compare(v.shown, root)
	d.unlist(t.Root)
	unsure := newlyUnsure(p, v, t, root)
	switch {
	case v.unread:
		return full(t, root, r, "text of new elements was left out since the last listing"), d
	case s.outdated(d, v, root, t, true):
		return full(t, root, r, "changes in an answer since then were undone"), d
	case v.most > 0 && (r.MaxTokens <= 0 || r.MaxTokens > v.most) && v.leftIn(root) > 0:
		return full(t, root, r, "elements were left out of the last listing"), d
	case d.Empty() && len(unsure) == 0:
		return &Answer{Kind: KindUnchanged, Text: s.header(v, t, root, d, nil, r)}, d
	case r.Diff:
	case r.Now.Sub(v.at) > r.FullAfter:
		return full(t, root, r, fmt.Sprintf("the last snapshot is more than %s old", r.FullAfter)), d
	case d.Share() > MaxChanged:
		return full(t, root, r, fmt.Sprintf("%.0f %% of the elements changed", 100*d.Share())), d
	}
	text := s.header(v, t, root, d, unsure, r)
	if r.Format == FormatYAML {
		text += yamlDiff(d)
	} else {
		text += compactDiff(d)
	}
	if !r.Diff && atLeast(root) <= len(text) {
		uncut := r
		uncut.MaxTokens = 0
		if len(full(t, root, uncut, "").Text) <= len(text) {
			return full(t, root, r, "it is shorter than the changes"), d
		}
	}
	if !r.fits(text) {
		return cutDiff(text, r), d
	}
	return &Answer{Kind: KindDiff, Text: text}, d
}

// atLeast returns a lower bound for the bytes of a listing, so that it need not be written only to be measured.
func atLeast(root *Node) int { return 8 * root.Count() }

// newlyUnsure returns the references in root, of a tree, that passed to another element without certainty since the last
// snapshot.
func newlyUnsure(p *Page, v *view, t *Tree, root *Node) []int {
	unsure := p.Unsure(v.unsure)
	if len(unsure) == 0 {
		return nil
	}
	var out []int
	root.Walk(func(n *Node) {
		if slices.Contains(unsure, n.Ref) && p.unsure[n.Ref] <= t.Number { // none is 0
			out = append(out, n.Ref)
		}
	})
	return out
}

// sameDocument reports whether two trees show one document, so that a difference between them is meaningful: elements that
// survive a change of the address keep their references. A reload makes another document, document.open another root.
func sameDocument(a, b *Tree) bool { return a.Document == b.Document && a.Root.Ref == b.Root.Ref }

// sameRoute reports whether two trees of one document have the same address, apart from its fragment. A single-page
// application changes it to show another view.
func sameRoute(a, b *Tree) bool { return keys.Route(a.URL) == keys.Route(b.URL) }

// sameTitle reports whether two trees have the same title, apart from counts.
func sameTitle(a, b *Tree) bool { return keys.Title(a.Title) == keys.Title(b.Title) }

// header returns the lines above a difference.
func (s *Seen) header(v *view, t *Tree, root *Node, d *Diff, unsure []int, r Request) string {
	var b strings.Builder
	unchanged := s.unchanged(v, t, root, d, r.Interactive)
	title, url := maxHeader, maxHeader
	empty := d.Empty() && len(unsure) == 0
	if empty {
		title, url = briefTitle, briefURL
	}
	if sameRoute(v.tree, t) && sameTitle(v.tree, t) {
		fmt.Fprintf(&b, "[Same page: %s]\n%s[URL: %s]\n%s", brief.Title(t.Title, title), r.tabLine(), brief.Address(t.URL, url), unchanged)
	} else {
		b.WriteString(heading(t, r) + unchanged)
	}
	if empty {
		return b.String()
	}
	b.WriteString(rerendered(unsure))
	b.WriteString("[Changes only; full_snapshot for all]\n")
	b.WriteString(incomplete(t))
	return b.String()
}

// rerendered returns the line with the references that passed to other elements without certainty, "" without any.
func rerendered(unsure []int) string {
	if len(unsure) == 0 {
		return ""
	}
	return "[Re-rendered, probably the same: " + spans(ranges.Of(unsure, nil)) + "]\n"
}

// unchanged returns the line with the elements that are as the agent was shown them. It excludes elements that were not
// shown, and those with changed text that this view does not show.
func (s *Seen) unchanged(v *view, t *Tree, root *Node, d *Diff, interactive bool) string {
	except := []map[int]bool{v.left, touchedIn(d)}
	if interactive && s.whole.shown != nil && sameDocument(s.whole.tree, t) {
		known, _ := afterLook(s.whole.shown, t.Root, root, v.shown, v.left)
		except = append(except, s.unshown, touchedIn(Compare(known, t.Root)))
	}
	list, more := unchanged(root, except...)
	said := spans(list)
	switch {
	case len(list) == 0:
		said = "none"
	case more > 0:
		said += fmt.Sprintf(" +%d more", more)
	}
	if left := v.leftIn(root); left > 0 {
		said += fmt.Sprintf(" (%d left out)", left)
	}
	return "[Unchanged: " + said + "]\n"
}

// leftIn counts the elements in root that were left out of the listing.
func (v *view) leftIn(root *Node) (left int) {
	root.Walk(func(n *Node) {
		if v.left[n.Ref] {
			left++
		}
	})
	return left
}

func (r Request) tabLine() string {
	if r.Tab == 0 {
		return ""
	}
	return fmt.Sprintf("[Tab: %d]\n", r.Tab)
}

// incomplete reports the parts of the page that are not in the tree.
func incomplete(t *Tree) string { return brief.NotRead(t.Left, t.Unread, maxHeader) }

// full returns a full snapshot.
func full(t *Tree, root *Node, r Request, why string) *Answer {
	var head string
	if r.Format == FormatYAML {
		head = fmt.Sprintf("- Page URL: %s\n- Page Title: %s\n", brief.Plain(t.URL), brief.Plain(t.Title))
		if n := r.tabLine() + incomplete(t); n != "" {
			head += "# " + strings.ReplaceAll(strings.TrimSpace(n), "\n", "\n# ") + "\n"
		}
		head += "\n"
	} else {
		head = heading(t, r) + incomplete(t)
	}
	body := linked(root.Children, r, head)
	if body == "" && r.Interactive && len(t.Root.Children) > 0 {
		body = "# nothing interactive here; interactive_only: false shows the text\n"
	} else if body == "" {
		body = "# the page is empty\n"
	} else if r.Interactive {
		body += unlisted(t.Root)
	}
	body, left := fit(root, r, head, body)
	return &Answer{Kind: KindFull, Text: head + body, Why: why, left: left, most: r.MaxTokens}
}

// heading returns the lines that identify the page.
func heading(t *Tree, r Request) string {
	return fmt.Sprintf("[Page: %s]\n%s[URL: %s]\n", brief.Title(t.Title, maxHeader), r.tabLine(), brief.Address(t.URL, len(t.URL)))
}

// linked lists nodes with the addresses that distinguish links, as far as all fits below a head.
func linked(nodes []*Node, r Request, head string) string {
	if links := addresses(nodes); len(links) > 0 {
		if body := written(nodes, r, nil, links); r.fits(head + body) {
			return body
		}
	}
	return listing(nodes, r, nil)
}

// listing lists nodes: all of them, or only some.
func listing(nodes []*Node, r Request, only map[*Node]bool) string {
	return written(nodes, r, only, nil)
}

func written(nodes []*Node, r Request, only map[*Node]bool, links map[int]string) string {
	if r.Format == FormatYAML {
		w := &blocks{only: only, links: links}
		w.list(nodes, 0)
		return w.b.String()
	}
	w := &compact{only: only, depth: r.Depth, links: links}
	w.list(nodes, 0, 1)
	return w.b.String()
}
