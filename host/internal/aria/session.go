package aria

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

func sortedCopy(list []int) []int { return slices.Sorted(slices.Values(list)) }

// Seen is what one agent was shown of one tab. The zero value has been shown nothing. It is not safe for
// concurrent use.
type Seen struct {
	full, reduced view
	// told is the whole tree as it was when the agent was last told anything of it, but for a look at the interactive
	// part since then: that one was at the tree looked.
	told   view
	looked *Tree
}

// view is what was shown of one of the two trees: the whole or the interactive part.
type view struct {
	tree   *Tree
	shown  *Node
	at     time.Time
	unsure int // up to which tree uncertain references were told
	// hidden counts the elements that were left out of this view, to fit: the next answer says so, once.
	hidden int
}

// Reset forgets what was shown: the next snapshot is a full one.
func (s *Seen) Reset() { *s = Seen{} }

// Told is the number of the newest tree that the agent was shown.
func (s *Seen) Told() int { return max(s.full.unsure, s.reduced.unsure) }

// Knows says whether the agent was told all that changed up to a tree.
func (s *Seen) Knows(number int) bool { return s.looked == nil && s.told.unsure >= number }

// known is the whole tree as far as the agent knows it. Looking at another page, or at most of one anew, is a first
// look, at which text that is not shown is no change.
func (s *Seen) known() view {
	if s.looked == nil {
		return s.told
	}
	known := view{tree: s.looked, shown: afterLook(s.told.shown, s.looked.Root), unsure: s.looked.Number}
	if Compare(known.shown, s.looked.Root).Share() > MaxChanged {
		known.shown = s.looked.Root
	}
	return known
}

// Node is what an element was when the agent was shown it last; nil when it never was.
func (s *Seen) Node(ref int) *Node {
	views := []*view{&s.reduced, &s.full}
	if s.full.at.After(s.reduced.at) {
		slices.Reverse(views)
	}
	for _, v := range views {
		if v.shown == nil {
			continue
		}
		if path := find(v.shown, ref); path != nil {
			return path[len(path)-1]
		}
	}
	return nil
}

// Caused says what changed since the agent was told of the page last, its text included, for an answer that is
// about something else: without headings where it is the same page, and what is interactive in full where it is
// another one. It is "" when nothing changed. Where the focus went is told only when that is asked for.
func (s *Seen) Caused(p *Page, t *Tree, now time.Time, maxTokens int, focus bool) string {
	r := Request{Interactive: true, Format: FormatCompact, Now: now, MaxTokens: maxTokens}
	before, reduced := s.known(), Interactive(t.Root)
	advance := func() {
		s.told, s.looked = view{tree: t, shown: t.Root, at: now, unsure: t.Number}, nil
		s.reduced = view{tree: t, shown: reduced, at: now, unsure: t.Number}
		if s.full.shown != nil {
			s.full = s.told
		}
	}
	if before.shown == nil || !samePage(before.tree, t) {
		s.full = view{}
		advance()
		return full(t, reduced, r, "").Text
	}
	var text string
	if before.tree.URL != t.URL {
		text = "[URL: " + oneLine(t.URL, maxHeader) + "]\n"
	}
	d := Compare(before.shown, t.Root)
	if !focus {
		d = d.withoutFocus()
	}
	if unsure := newlyUnsure(p, &before, t.Root); len(unsure) > 0 {
		text += "[Rendered anew, probably the same: " + spans(rangesOf(unsure)) + "]\n"
	}
	if d.Empty() {
		advance()
		return text
	}
	changes := compactDiff(d)
	if d.Share() > MaxChanged && atLeast(reduced) <= len(changes) {
		if whole := full(t, reduced, r, "").Text; len(whole) <= len(changes) {
			advance()
			if head := heading(t, r); head == heading(before.tree, r) {
				whole = "[The page now]\n" + strings.TrimPrefix(whole, head)
			}
			return whole
		}
	}
	if most := r.bytes(); most > 0 && len(changes) > most {
		return text + cutDiff(changes, r).Text // what did not fit comes again
	}
	advance()
	return text + incomplete(t) + changes
}

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
	// hidden counts the elements that a full one leaves out, to fit.
	hidden int
	// advance puts down what was shown.
	advance func()
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
		return narrowed(p, t, root, r)
	}
	v := &s.full
	if r.Interactive {
		v = &s.reduced
	}
	a := s.decide(p, v, t, root, r)
	if a.advance == nil {
		*v = view{tree: t, shown: root, at: r.Now, unsure: t.Number, hidden: a.hidden}
		if r.Interactive && !r.Full && s.told.shown != nil && samePage(s.told.tree, t) {
			s.looked = t
		} else {
			s.told, s.looked = view{tree: t, shown: t.Root, at: r.Now, unsure: t.Number}, nil
		}
	}
	return a, nil
}

func (s *Seen) decide(p *Page, v *view, t *Tree, root *Node, r Request) *Answer {
	if r.Full || v.shown == nil {
		return full(t, root, r, "")
	}
	if !samePage(v.tree, t) {
		return full(t, root, r, "another page")
	}
	d := Compare(v.shown, root)
	unsure := newlyUnsure(p, v, root)
	switch {
	case d.Empty() && len(unsure) == 0:
		return &Answer{Kind: KindUnchanged, Text: header(v, t, d, nil, r)}
	case r.Diff:
	case r.Now.Sub(v.at) > r.FullAfter:
		return full(t, root, r, fmt.Sprintf("the last look was more than %s ago", r.FullAfter))
	case d.Share() > MaxChanged:
		return full(t, root, r, fmt.Sprintf("%.0f %% of the elements changed", 100*d.Share()))
	}
	text := header(v, t, d, unsure, r)
	if r.Format == FormatYAML {
		text += yamlDiff(d)
	} else {
		text += compactDiff(d)
	}
	if !r.Diff && atLeast(root) <= len(text) {
		uncut := r
		uncut.MaxTokens = 0
		if len(full(t, root, uncut, "").Text) <= len(text) {
			return full(t, root, r, "shorter than the changes")
		}
	}
	if r.MaxTokens > 0 && len(text) > r.bytes() {
		return cutDiff(text, r)
	}
	return &Answer{Kind: KindDiff, Text: text}
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
func header(v *view, t *Tree, d *Diff, unsure []int, r Request) string {
	var b strings.Builder
	hidden := ""
	if v.hidden > 0 {
		hidden = fmt.Sprintf("; %d of them were left out to fit", v.hidden)
	}
	if d.Empty() && len(unsure) == 0 {
		return fmt.Sprintf("[Same page: %s]\n%s[URL: %s]\n[Unchanged: %s%s]\n", oneLine(t.Title, briefTitle), r.tabLine(), oneLine(t.URL, briefURL), spans(d.Unchanged), hidden)
	}
	fmt.Fprintf(&b, "[Same page: %s]\n%s[URL: %s]\n", oneLine(t.Title, maxHeader), r.tabLine(), oneLine(t.URL, maxHeader))
	switch {
	case len(d.Unchanged) == 0:
		b.WriteString("[Unchanged: none]\n")
	case d.Exact:
		fmt.Fprintf(&b, "[Unchanged: %s%s]\n", spans(d.Unchanged), hidden)
	default:
		fmt.Fprintf(&b, "[Unchanged: %s but those below%s]\n", spans(d.Unchanged), hidden)
	}
	if len(unsure) > 0 {
		fmt.Fprintf(&b, "[Rendered anew, probably the same: %s]\n", spans(rangesOf(unsure)))
	}
	b.WriteString("[Changes only; full_snapshot: true for all]\n")
	b.WriteString(incomplete(t))
	return b.String()
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
	hidden := 0
	if r.MaxTokens > 0 && len(head)+len(body) > r.bytes() {
		body, hidden = fitted(root, r, r.bytes()-len(head))
	}
	return &Answer{Kind: KindFull, Text: head + body, Why: why, hidden: hidden}
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
