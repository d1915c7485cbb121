package aria

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/aria/brief"
	"tidemark.dev/tidemark/host/internal/aria/roles"
	"tidemark.dev/tidemark/protocol"
)

// reader is an agent that believes every answer: what it takes each element for, by what it read last.
type reader struct {
	page map[int]*belief
	in   map[int]int // what each element stood in last
}

// belief is what an agent takes an element for.
type belief struct {
	label string // with role, name, reference and states
	value string // of a field, as it is printed
	texts map[string]int
	// partial is set where the texts are not known, because only the interactive part was read.
	partial bool
	// told is set for a row once a difference was read after its label, which may have told text that was in that.
	told bool
}

var (
	refPattern   = regexp.MustCompile(`\[e(\d+)\]`)
	valuePattern = regexp.MustCompile(` \[value=("[^"]*")\]`)
	quoted       = regexp.MustCompile(`"[^"]*"`)
)

func number(s string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(s, "e")) // 0 for what is no reference
	return n
}

// refIn is the last reference in a label: the first could be a name's.
func refIn(label string) int {
	all := refPattern.FindAllStringSubmatch(label, -1)
	if len(all) == 0 {
		return 0
	}
	return number(all[0][1])
}

// listing reads lines of a tree that stand under an element; partial says that text may be missing in it, glimpsed that
// the next difference will tell the text again.
func (r *reader) listing(lines []string, under int, partial, glimpsed bool) {
	type level struct{ depth, ref int }
	stack := []level{{-1, under}}
	for _, l := range lines {
		body := strings.TrimLeft(l, " ")
		depth := len(l) - len(body)
		body = strings.TrimPrefix(body, "- ")
		if strings.HasPrefix(body, "# ") {
			continue
		}
		for stack[len(stack)-1].depth >= depth {
			stack = stack[:len(stack)-1]
		}
		in := stack[len(stack)-1].ref
		if text, ok := strings.CutPrefix(body, "text: "); ok {
			if b := r.page[in]; b != nil && !glimpsed {
				b.texts[quoted.FindString(text)]++
			}
			continue
		}
		body, note, _ := strings.Cut(body, "  # ")
		label, value, _ := strings.Cut(body, ": ")
		label = strings.TrimSuffix(label, ":")
		if m := valuePattern.FindStringSubmatch(label); m != nil {
			label, value = strings.Replace(label, m[0], "", 1), m[1]
		}
		ref := refIn(label)
		b := &belief{label: label, texts: map[string]int{}, partial: partial || glimpsed || strings.HasSuffix(note, " inside")}
		if old := r.page[ref]; old != nil && glimpsed {
			b.texts, b.partial = maps.Clone(old.texts), old.partial
		}
		switch {
		case strings.HasPrefix(label, "textbox"):
			b.value = value
		case value != "" && !glimpsed:
			b.texts = map[string]int{value: 1} // of the interactive part, it may stand deeper
		}
		r.page[ref] = b
		stack = append(stack, level{depth, ref})
	}
}

// changes reads a difference.
// The texts of one that was cut are told again.
func (r *reader) changes(lines []string, there map[int]*Node, interactive, cut bool) {
	section := ""
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		switch {
		case strings.HasPrefix(l, "# "), strings.HasPrefix(l, "No longer interactive"):
			continue
		case strings.HasPrefix(l, "Removed: ["):
			for _, ref := range named(strings.TrimSuffix(strings.TrimPrefix(l, "Removed: ["), "]")) {
				delete(r.page, ref)
				for held := range r.page {
					for at := held; at != 0; at = r.in[at] {
						if at == ref && there[held] == nil {
							delete(r.page, held) // it went with what it stood in
						}
					}
				}
			}
			continue
		case !strings.HasPrefix(l, " ") && strings.HasSuffix(l, ":") && !strings.HasPrefix(l, "- "):
			section = l
			continue
		}
		body := strings.TrimPrefix(l, "- ")
		switch section {
		case "Changed:":
			line, was, _ := strings.Cut(body, "  # was ")
			label, value, _ := strings.Cut(line, ": ")
			of, several := strings.CutPrefix(label, "text in ")
			b := r.page[refIn(of)]
			switch {
			case b == nil && refIn(of) != 0 && !several:
				b = &belief{texts: map[string]int{}, partial: true}
				r.page[refIn(of)] = b
			case b == nil:
				continue
			}
			b.label = of
			switch {
			case strings.HasPrefix(of, "textbox"):
				if value != "" {
					b.value = value
				}
			case value != "" && !several:
				b.texts, b.partial = map[string]int{value: 1}, interactive
			case value != "" && !cut:
				if b.texts[quoted.FindString(was)]--; b.texts[quoted.FindString(was)] <= 0 {
					delete(b.texts, quoted.FindString(was))
				}
				b.texts[value]++
			}
		case "Added:":
			from := i + 1
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], " ") {
				i++
			}
			in, _, _ := strings.Cut(body, " after ")
			r.listing(lines[from:i+1], refIn(in), interactive, cut)
		case "Moved:":
			label, _, _ := strings.Cut(body, ": in ")
			if b := r.page[refIn(label)]; b != nil {
				b.label = label
			}
		case "Removed text:":
			where, text, _ := strings.Cut(body, ": ")
			if b := r.page[refIn(where)]; b != nil && !cut {
				if b.texts[text]--; b.texts[text] <= 0 {
					delete(b.texts, text)
				}
			}
		}
	}
}

// named are the references in "e2, e4-e9".
func named(list string) (refs []int) {
	for part := range strings.SplitSeq(list, ", ") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		for ref := number(from); ref <= number(to) && ref > 0; ref++ {
			refs = append(refs, ref)
		}
	}
	return refs
}

// claimed are the references that an answer calls unchanged.
func claimed(text string) []int {
	_, after, found := strings.Cut(text, "[Unchanged: ")
	if !found {
		return nil
	}
	list, _, _ := strings.Cut(after, "]")
	list, _, _ = strings.Cut(list, ";")
	list, _, _ = strings.Cut(list, " and ")
	return named(list)
}

// wrong says what is wrong with what the agent takes an element for, and with its text where that is asked for; "" for
// nothing.
func (r *reader) wrong(now, reduced *Node, text bool) string {
	b := r.page[now.Ref]
	if b == nil {
		return "it was never shown"
	}
	row := copyOf(now, nil)
	row.Name = ownText(now, nil) // the label that a row may have in the interactive part
	if b.label != label(now) && (reduced == nil || b.label != label(reduced)) && !(roles.Rows[now.Role] && (b.told || b.label == label(row))) {
		return fmt.Sprintf("it is taken for %s", b.label)
	}
	if now.HasValue && b.value != brief.Quote(now.Value, maxValue) {
		return fmt.Sprintf("its value is taken for %s", b.value)
	}
	texts := map[string]int{}
	for _, c := range now.Children {
		if c.IsText() {
			texts[brief.Quote(c.Name, maxValue)]++
		}
	}
	if text && !b.partial && !maps.Equal(texts, b.texts) {
		return fmt.Sprintf("its text is taken for %v and is %v", b.texts, texts)
	}
	return ""
}

func byRef(root *Node) map[int]*Node {
	m := map[int]*Node{}
	root.Walk(func(n *Node) {
		if n != root && n.Ref > 0 {
			m[n.Ref] = n
		}
	})
	return m
}

// read believes an answer about a tree. It returns what in it is not true, or not all.
func (r *reader) read(text string, t *Tree, kind string, interactive, whole bool) string {
	now, part := byRef(t.Root), byRef(Interactive(t.Root))
	var lines []string
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, "[") {
			lines = append(lines, strings.TrimRight(l, "\n"))
		}
	}
	for _, b := range r.page {
		b.told = b.told || kind == KindDiff && !interactive && len(lines) > 0
	}
	for _, ref := range claimed(text) {
		if n := now[ref]; n != nil {
			if why := r.wrong(n, part[ref], true); why != "" {
				return fmt.Sprintf("e%d is called unchanged, but %s", ref, why)
			}
		}
	}
	defer t.Root.Walk(func(n *Node) {
		for _, c := range n.Children {
			r.in[c.Ref] = max(n.Ref, 0)
		}
	})
	cut := strings.Contains(text, " left out")
	switch kind {
	case KindFull:
		if !cut && !interactive {
			clear(r.page)
		}
		for ref, b := range r.page {
			role, _, _ := strings.Cut(b.label, " ")
			if !cut && (roles.Operable[role] || role == "heading") && part[ref] == nil {
				delete(r.page, ref) // all of its kind are listed
			}
		}
		r.listing(lines, 0, interactive || cut, false)
	case KindPart:
		r.listing(lines, 0, interactive || cut, true)
	default:
		r.changes(lines, now, interactive, strings.Contains(text, "did not fit"))
	}
	if cut || strings.Contains(text, "did not fit") || kind == KindPart {
		return ""
	}
	all := now
	if interactive {
		all = part
	}
	for ref, n := range all {
		if interactive {
			n = now[ref]
		}
		if why := r.wrong(n, part[ref], !interactive); why != "" {
			return fmt.Sprintf("of e%d %s", ref, why)
		}
	}
	if whole {
		for ref := range r.page {
			if now[ref] == nil {
				return fmt.Sprintf("e%d is gone, which the agent was not told", ref)
			}
		}
	}
	return ""
}

// dom is a page that a test changes at random.
type dom struct {
	t     *rapid.T
	nodes map[int]*protocol.AriaNode
	next  int
	sent  map[int]string
	frame protocol.AriaFrame
}

// Few words, so that what changes often changes back.
var words = []string{"One", "Two", "Three"}

func (d *dom) word() string { return rapid.SampledFrom(words).Draw(d.t, "word") }

var made = strings.Fields("text text text button textbox heading main list listitem listitem group paragraph status")

func (d *dom) add(in int) {
	d.next++
	role := rapid.SampledFrom(made).Draw(d.t, "role")
	if d.nodes[in].Role == "status" {
		role = RoleText // what is deeper in it the interactive part shows as its own
	}
	n := &protocol.AriaNode{ID: d.next, Role: role}
	switch role {
	case RoleText, "button", "heading", "main", "group":
		n.Name = d.word()
	case "textbox":
		value := d.word()
		n.Name, n.Value = d.word(), &value
	}
	d.nodes[n.ID] = n
	p := d.nodes[in]
	at := rapid.IntRange(0, len(p.Children)).Draw(d.t, "at")
	p.Children = slices.Insert(slices.Clone(p.Children), at, n.ID)
}

// holders are the nodes that may hold others.
func (d *dom) holders() (ids []int) {
	for id, n := range d.nodes {
		switch n.Role {
		case RoleText, "button", "textbox", "heading":
		default:
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (d *dom) others() []int {
	ids := slices.Sorted(maps.Keys(d.nodes))
	return ids[1:] // not the root
}

func (d *dom) parent(id int) *protocol.AriaNode {
	for _, n := range d.nodes {
		if slices.Contains(n.Children, id) {
			return n
		}
	}
	return nil
}

func (d *dom) within(id, root int) bool {
	if id == root {
		return true
	}
	return slices.ContainsFunc(d.nodes[root].Children, func(k int) bool { return d.within(id, k) })
}

func (d *dom) edit() {
	if len(d.nodes) < 2 {
		d.add(1)
		return
	}
	pick := func() *protocol.AriaNode { return d.nodes[rapid.SampledFrom(d.others()).Draw(d.t, "which")] }
	switch rapid.IntRange(0, 7).Draw(d.t, "edit") {
	case 0, 1:
		d.change(pick())
	case 2:
		d.add(rapid.SampledFrom(d.holders()).Draw(d.t, "in"))
	case 3:
		n := pick()
		p := d.parent(n.ID)
		p.Children = slices.DeleteFunc(slices.Clone(p.Children), func(k int) bool { return k == n.ID })
		var drop func(int)
		drop = func(id int) {
			for _, k := range d.nodes[id].Children {
				drop(k)
			}
			delete(d.nodes, id)
		}
		drop(n.ID)
	case 4:
		n, to := pick(), rapid.SampledFrom(d.holders()).Draw(d.t, "to")
		if n.Role == RoleText || d.nodes[to].Role == "status" || d.within(to, n.ID) {
			return
		}
		p := d.parent(n.ID)
		p.Children = slices.DeleteFunc(slices.Clone(p.Children), func(k int) bool { return k == n.ID })
		q := d.nodes[to]
		q.Children = slices.Insert(slices.Clone(q.Children), rapid.IntRange(0, len(q.Children)).Draw(d.t, "at"), n.ID)
	case 5: // most of the page
		for _, id := range d.others() {
			if rapid.IntRange(0, 9).Draw(d.t, "keep") > 0 {
				d.change(d.nodes[id])
			}
		}
	case 6: // the focus goes elsewhere
		for _, id := range d.others() {
			d.nodes[id].States = nil
		}
		if n := pick(); n.Role == "button" || n.Role == "textbox" {
			n.States = []string{focused}
		}
	case 7: // the application shows another view: some of the page stays
		d.frame.URL = "https://app.example.com/" + strings.ToLower(d.word())
		d.frame.Title = d.word()
		for range rapid.IntRange(0, 30).Draw(d.t, "text") {
			d.next++
			d.nodes[d.next] = &protocol.AriaNode{ID: d.next, Role: RoleText, Name: d.word()}
			p := d.nodes[rapid.SampledFrom(d.holders()).Draw(d.t, "in")]
			p.Children = append(slices.Clone(p.Children), d.next)
		}
		for _, n := range []*protocol.AriaNode{pick(), pick(), pick()} {
			d.change(n)
		}
	}
}

func (d *dom) change(n *protocol.AriaNode) {
	switch n.Role {
	case "textbox":
		value := d.word()
		n.Value = &value
	case RoleText, "button", "heading", "main", "group":
		n.Name = d.word()
	default:
		n.States = nil
		if rapid.Bool().Draw(d.t, "busy") {
			n.States = []string{"busy"}
		}
	}
}

// look is what the browser says of the page: what changed since it was asked last.
func (d *dom) look() *protocol.AriaResult {
	f := d.frame
	f.Since = f.Version
	f.Version++
	f.Nodes = nil
	now := map[int]string{}
	for _, id := range slices.Sorted(maps.Keys(d.nodes)) {
		n := *d.nodes[id]
		value := "none"
		if n.Value != nil {
			value = *n.Value
		}
		now[id] = fmt.Sprint(n.Role, n.Name, value, n.States, n.Children)
		if d.sent[id] != now[id] {
			f.Nodes = append(f.Nodes, n)
		}
	}
	d.sent, d.frame = now, f
	d.frame.Nodes = nil
	return &protocol.AriaResult{Frames: []protocol.AriaFrame{f}}
}

// TestWhatIsCalledUnchangedIsAsItWasShown: an agent that believes all answers, of snapshots of every kind and of
// actions, is never told that an element is unchanged which it takes for something else; and knows the page once an
// answer left nothing out.
func TestWhatIsCalledUnchangedIsAsItWasShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &dom{t: t, nodes: map[int]*protocol.AriaNode{1: {ID: 1, Role: roleDocument}}, next: 1}
		d.frame = protocol.AriaFrame{Parent: -1, Document: "one", URL: "https://app.example.com/", Title: "Shop", Root: 1}
		for range rapid.IntRange(1, 30).Draw(t, "size") {
			d.add(rapid.SampledFrom(d.holders()).Draw(t, "in"))
		}
		page, seen, agent := NewPage(), Seen{}, reader{page: map[int]*belief{}, in: map[int]int{}}
		now := time.Unix(1_700_000_000, 0)
		var said []string
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			for range rapid.SampledFrom([]int{0, 1, 1, 2, 5}).Draw(t, "edits") {
				d.edit()
			}
			tree, err := page.Apply(d.look())
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Second)
			var text, kind, asked string
			var interactive, whole bool
			if rapid.IntRange(0, 2).Draw(t, "act") == 0 {
				most := rapid.SampledFrom([]int{0, 60, 2000}).Draw(t, "most")
				focus := rapid.Bool().Draw(t, "focus")
				asked = fmt.Sprintf("action, at most %d, focus %v", most, focus)
				before, wasListed := seen.whole.shown, seen.part.listed && len(seen.part.left) == 0
				text = seen.Caused(page, tree, now, most, focus)
				kind = KindDiff
				switch {
				case isListing(text):
					whole = seen.whole.listed
					kind, interactive = KindFull, !whole
				case strings.Contains(text, "[Interactive elements only"):
					interactive = true
				}
				// Until the agent has looked at all of it, what it was not shown is no change; nor is the focus.
				// Of another view, it is told all changes of the interactive part, which it knew.
				routed := interactive && kind == KindDiff && wasListed && focus
				if why := agent.read(text, tree, kind, interactive, whole); strings.Contains(why, "is called") || (routed || whole) && why != "" {
					t.Fatalf("%s: %s\n%s\n%s\nbefore\n%s", asked, why, text, strings.Join(said, "\n"), dumpOf(before))
				}
			} else {
				r := Request{
					Interactive: rapid.Bool().Draw(t, "interactive"), Full: rapid.IntRange(0, 9).Draw(t, "full") == 0, Format: FormatCompact,
					MaxTokens: rapid.SampledFrom([]int{0, 0, 0, 100, 160}).Draw(t, "tokens"), Now: now, FullAfter: time.Hour,
					Diff: rapid.IntRange(0, 3).Draw(t, "diff") == 0,
				}
				switch rapid.IntRange(0, 9).Draw(t, "narrow") {
				case 0:
					r.Search = d.word()
				case 1:
					r.Depth = 1
				case 2:
					refs := slices.Sorted(maps.Keys(byRef(tree.Root)))
					if len(refs) > 0 {
						r.Root = rapid.SampledFrom(refs).Draw(t, "root")
					}
				}
				a, err := seen.Show(page, tree, r)
				if err != nil {
					t.Fatal(err)
				}
				text, kind, interactive, whole = a.Text, a.Kind, r.Interactive, !r.Interactive
				asked = fmt.Sprintf("%s (%s) of interactive %v, root %d, depth %d, search %q, at most %d", kind, a.Why, r.Interactive, r.Root, r.Depth, r.Search, r.MaxTokens)
				if why := agent.read(text, tree, kind, interactive, whole); why != "" {
					t.Fatalf("%s: %s\n%s\nafter\n%s\n%s", asked, why, text, strings.Join(said, "\n"), dump(tree.Root))
				}
			}
			said = append(said, "--- "+asked+"\n"+text)
		}
	})
}

// isListing reports whether the answer of an action lists the page, instead of its changes.
func isListing(text string) bool {
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, "[") {
			return strings.HasPrefix(l, "- ") || strings.HasPrefix(l, "# ")
		}
	}
	return false
}

func dumpOf(n *Node) string {
	if n == nil {
		return "nothing"
	}
	return dump(n)
}
