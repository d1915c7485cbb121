package aria

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Request is how a snapshot is asked for.
type Request struct {
	Interactive bool
	// Full asks for everything, whatever was shown before.
	Full bool
	// Format is FormatCompact or FormatYAML.
	Format string
	// Root, when above 0, is the element of which to show what it holds; Depth, when above 0, how many
	// levels; Search, when not "", what must be in a line.
	Root, Depth int
	Search      string
	// MaxTokens, when above 0, bounds the answer, at [BytesPerToken].
	MaxTokens int
	// Tab, when above 0, is named: the agent sees several.
	Tab int
	// Diff asks for a difference however much changed, and however long ago the last look was.
	Diff bool
	// FullAfter is how long a difference is worth more than a full snapshot.
	FullAfter time.Duration
	Now       time.Time
}

// The formats.
const (
	FormatCompact = "compact"
	FormatYAML    = "yaml"
)

// What an answer is.
const (
	KindFull      = "full"
	KindDiff      = "diff"
	KindUnchanged = "unchanged"
	KindPart      = "part" // of a narrowed request; what was shown before stays
)

// Answer is a snapshot as an agent gets it.
type Answer struct {
	Kind, Text string
	// Why says why a snapshot is a full one.
	Why string
	// left are elements that a full one leaves out, to fit.
	left map[int]bool
	// cut says that a difference was cut to fit.
	cut bool
}

// BytesPerToken is by how many bytes of a snapshot its tokens are estimated: short names, brackets and
// references take more tokens than prose does.
const BytesPerToken = 2.4

// bytes is how long an answer may be, 0 for as long as it is.
func (r Request) bytes() int { return int(BytesPerToken * float64(r.MaxTokens)) }

// MaxChanged is the share of elements past which a difference is no longer worth having.
const MaxChanged = .7

// Show answers a request from the newest tree, and notes what was shown.
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
		s.toldInPart(d)
	case r.Interactive:
		s.sawPart(t, root, r.Now, a)
	default:
		s.sawWhole(t, d, r.Now, a)
	}
	return a, nil
}

// decide is the answer to a request for all of a view, and what it was compared by.
func (s *Seen) decide(p *Page, v *view, t *Tree, root *Node, r Request) (*Answer, *Diff) {
	if r.Full || !v.listed {
		return full(t, root, r, ""), nil
	}
	if !samePage(v.tree, t) {
		return full(t, root, r, "another page"), nil
	}
	d := Compare(v.shown, root)
	d.unlist(t.Root)
	unsure := newlyUnsure(p, v, root)
	switch {
	case s.outdated(d, v, root, t):
		return full(t, root, r, "what an answer since then showed has changed back"), d
	case d.Empty() && len(unsure) == 0:
		return &Answer{Kind: KindUnchanged, Text: s.header(v, t, root, d, nil, r)}, d
	case r.Diff:
	case r.Now.Sub(v.at) > r.FullAfter:
		return full(t, root, r, fmt.Sprintf("the last look was more than %s ago", r.FullAfter)), d
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
			return full(t, root, r, "shorter than the changes"), d
		}
	}
	if r.MaxTokens > 0 && len(text) > r.bytes() {
		return cutDiff(text, r), d
	}
	return &Answer{Kind: KindDiff, Text: text}, d
}

// atLeast is how many bytes a listing takes at the very least, so that it is not written only to be measured.
func atLeast(root *Node) int { return 8 * root.Count() }

// newlyUnsure are the references shown that went to another element without certainty since the last look.
func newlyUnsure(p *Page, v *view, root *Node) []int {
	unsure := p.Unsure(v.unsure)
	if len(unsure) == 0 {
		return nil
	}
	var out []int
	root.Walk(func(n *Node) {
		if n.Ref > 0 && slices.Contains(unsure, n.Ref) {
			out = append(out, n.Ref)
		}
	})
	return out
}

// samePage says whether two trees are of one page: the same document and address, whatever its fragment,
// and the same title, numbers in it aside. A new fragment alone makes another page only when most of it
// changed, which the rule for the share of changes sees to.
func samePage(a, b *Tree) bool {
	return a.Document == b.Document && withoutFragment(a.URL) == withoutFragment(b.URL) && titleWithoutCounts(a.Title) == titleWithoutCounts(b.Title)
}

// counts are what applications put beside a title: "Inbox (3)", "[12] Inbox".
var counts = regexp.MustCompile(`\s*[(\[]\d+\+?[)\]]\s*`)

func titleWithoutCounts(title string) string { return foldDigits(counts.ReplaceAllString(title, "")) }

func withoutFragment(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}

// header is what stands above a difference.
func (s *Seen) header(v *view, t *Tree, root *Node, d *Diff, unsure []int, r Request) string {
	var b strings.Builder
	unchanged := s.unchanged(v, t, root, d, r.Interactive)
	if d.Empty() && len(unsure) == 0 {
		return fmt.Sprintf("[Same page: %s]\n%s[URL: %s]\n%s", oneLine(t.Title, briefTitle), r.tabLine(), oneLine(t.URL, briefURL), unchanged)
	}
	fmt.Fprintf(&b, "[Same page: %s]\n%s[URL: %s]\n%s", oneLine(t.Title, maxHeader), r.tabLine(), oneLine(t.URL, maxHeader), unchanged)
	if len(unsure) > 0 {
		fmt.Fprintf(&b, "[Rendered anew, probably the same: %s]\n", spans(rangesOf(unsure)))
	}
	b.WriteString("[Changes only; full_snapshot for all]\n")
	b.WriteString(incomplete(t))
	return b.String()
}

// unchanged is the line that says what is as the agent was shown it: nothing that it was not shown, and nothing of
// which other text has changed that this view does not show.
func (s *Seen) unchanged(v *view, t *Tree, root *Node, d *Diff, interactive bool) string {
	except := []map[int]bool{v.left, touchedIn(d)}
	if interactive && s.whole.shown != nil && samePage(s.whole.tree, t) {
		except = append(except, s.unsaid, touchedIn(Compare(afterLook(s.whole.shown, t.Root, root, v.shown, v.left), t.Root)))
	}
	list, more := unchanged(root, t.Root, except...)
	said := spans(list)
	switch {
	case len(list) == 0:
		said = "none"
	case more > 0:
		said += fmt.Sprintf(" and %d more", more)
	}
	left := 0
	root.Walk(func(n *Node) {
		if n.Ref > 0 && v.left[n.Ref] {
			left++
		}
	})
	if left > 0 {
		said += fmt.Sprintf("; %d left out", left)
	}
	return "[Unchanged: " + said + "]\n"
}

func (r Request) tabLine() string {
	if r.Tab == 0 {
		return ""
	}
	return fmt.Sprintf("[Tab: %d]\n", r.Tab)
}

func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	s, _ = shorten(s, limit)
	return s
}

// maxUnread is how many of the frames that were not read are named.
const maxUnread = 3

// incomplete says what of the page is not in the tree.
func incomplete(t *Tree) string {
	var b strings.Builder
	if t.Left > 0 {
		fmt.Fprintf(&b, "[Not read: %s; the page is too large or never rests]\n", elements(t.Left))
	}
	if n := len(t.Unread); n > 0 {
		named := make([]string, 0, maxUnread)
		for _, address := range t.Unread[:min(n, maxUnread)] {
			named = append(named, oneLine(address, maxHeader))
		}
		if n > maxUnread {
			named = append(named, fmt.Sprintf("and %d more", n-maxUnread))
		}
		fmt.Fprintf(&b, "[Not read: %d frame(s): %s]\n", n, strings.Join(named, ", "))
	}
	return b.String()
}

func elements(n int) string {
	if n == 1 {
		return "1 element"
	}
	return fmt.Sprintf("%d elements", n)
}

// full is the whole of what was asked for.
func full(t *Tree, root *Node, r Request, why string) *Answer {
	var head string
	if r.Format == FormatYAML {
		head = fmt.Sprintf("- Page URL: %s\n- Page Title: %s\n", plain(t.URL), plain(t.Title))
		if n := r.tabLine() + incomplete(t); n != "" {
			head += "# " + strings.ReplaceAll(strings.TrimSpace(n), "\n", "\n# ") + "\n"
		}
		head += "\n"
	} else {
		head = heading(t, r) + incomplete(t)
	}
	body := listing(root.Children, r)
	if body == "" && r.Interactive && len(t.Root.Children) > 0 {
		body = "# nothing here can be operated; interactive_only: false shows the text\n"
	} else if body == "" {
		body = "# the page is empty\n"
	}
	var left map[int]bool
	if r.MaxTokens > 0 && len(head)+len(body) > r.bytes() {
		body, left = fitted(root, r, r.bytes()-len(head))
	}
	return &Answer{Kind: KindFull, Text: head + body, Why: why, left: left}
}

// heading says which page it is.
func heading(t *Tree, r Request) string {
	return fmt.Sprintf("[Page: %s]\n%s[URL: %s]\n", oneLine(t.Title, maxHeader), r.tabLine(), strings.Join(strings.Fields(t.URL), " "))
}

func listing(nodes []*Node, r Request) string {
	if r.Format == FormatYAML {
		w := &blocks{}
		w.list(nodes, 0)
		return w.b.String()
	}
	w := &compact{depth: r.Depth}
	w.list(nodes, 0, 1)
	return w.b.String()
}
