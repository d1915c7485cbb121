package frameworks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/npm"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// componentActions names the environment variable with how many random actions there are in all; make components sets it.
const componentActions = "TIDEMARK_COMPONENT_ACTIONS"

// fewActions is how many there are without it.
const fewActions = 44

// components are made by others, each with the scripts that its page needs beside its own.
var components = map[string]string{
	"ag-grid": "", "fullcalendar": "", "leaflet": "", "material": "", "primevue": "", "radix": "", "shoelace": "", "swagger": "", "tanstack": "",
	"monaco":  `<link rel="stylesheet" href="/node_modules/monaco-editor/min/vs/editor/editor.main.css"><script src="/node_modules/monaco-editor/min/vs/loader.js"></script>`,
	"tinymce": `<script src="/node_modules/tinymce/tinymce.min.js"></script>`,
}

// buildComponents builds the pages of testdata/components with the real packages, and returns where.
func buildComponents(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip(err)
	}
	const from = "testdata/components"
	dir := e2etest.Repository(filepath.Join(".cache", "components"))
	if err := errors.Join(npm.Install(from, dir), npm.Overlay(dir, from), npm.Run(dir, "node", "build.mjs")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestComponentsOfOthers: whatever happens in a component, its listing has the lines that the browser's own tree has, a
// difference has each line that differs and no other, and a reference stays with its element.
func TestComponentsOfOthers(t *testing.T) {
	e2etest.NeedBrowser(t)
	dir := buildComponents(t)
	t.Setenv(testbed.WayEnv, "quiet") // which reads what custom elements say of themselves through their internals
	w := e2etest.ConfiguredWorld(t, "[debugger]\nevaluate = true\n")
	all := fewActions
	if n, err := strconv.Atoi(os.Getenv(componentActions)); err == nil {
		all = n
	}
	for _, name := range slices.Sorted(maps.Keys(components)) {
		t.Run(name, func(t *testing.T) {
			s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>` + name + `</title><link rel="stylesheet" href="/dist/` + name + `.css">
				<style>* { animation: none !important; transition: none !important; caret-color: transparent } #app { height: 500px }</style><h1>Before</h1><div id="app"></div>` + components[name] + `<script src="/dist/` + name + `.js"></script>`})
			s.Mux.Handle("/dist/", http.FileServer(http.Dir(dir)))
			s.Mux.Handle("/node_modules/", http.FileServer(http.Dir(dir)))
			d := &componentDrive{t: t, p: w.Open(t, s.URL), reader: w.AgentOf(t, s), witness: w.AgentOf(t, s), hand: w.AgentOf(t, s), random: rand.New(rand.NewPCG(uint64(seed(name)), 27)), marks: map[string]string{}}
			d.run((all + len(components) - 1) / len(components))
		})
	}
}

// componentDrive lets random things happen to a page.
type componentDrive struct {
	t                     *testing.T
	p                     *e2etest.Tab
	reader, witness, hand *e2etest.Agent
	random                *rand.Rand
	// marks are the elements of references, by the numbers that the page gives them.
	marks                    map[string]string
	refs, lines, differences int
}

// mark numbers an element in the page; links lead nowhere else.
const prepare = `top.marked = []; addEventListener('click', (event) => { const link = event.composedPath().find((at) => at.href); if (link && !String(link.href).startsWith(location.origin)) event.preventDefault() }, true)`

func (d *componentDrive) run(actions int) {
	t := d.t
	d.p.WaitUntil(`document.querySelector('#app').childElementCount > 0`)
	d.p.JS(prepare)
	d.hand.Changes()
	before, _, _ := d.settled()
	for i := range actions {
		did := d.act(before)
		now, told, whole := d.settled()
		if t.Failed() {
			return
		}
		what := fmt.Sprintf("action %d (%s)", i, did)
		if !whole {
			d.differences++
			d.compare(what, before, now, told)
		}
		d.beside(what, now)
		d.sample(what, now)
		if t.Failed() {
			return
		}
		before = now
	}
	t.Logf("%d actions: %d lines, %d differences, %d references", actions, d.lines, d.differences, d.refs)
}

var everything = map[string]any{"interactive_only": false, "full_snapshot": true, "max_tokens": 500000}

// tells matches a difference in which something is different.
var tells = regexp.MustCompile(`(?m)^[A-Z][A-Za-z, -]*:`)

// settled returns the page once it stands still, and what a reader was told of it since the last time; whole if that was a
// listing. The last look told nothing new: what comes, goes and comes again between two looks could be missed otherwise.
func (d *componentDrive) settled() (now map[string]line, told string, whole bool) {
	d.t.Helper()
	listing := d.witness.Snapshot(everything)
	for range 20 {
		said := d.reader.Snapshot(map[string]any{"interactive_only": false, "max_tokens": 500000})
		listed := strings.HasPrefix(said, "[Page:")
		whole = whole || listed
		news := listed || tells.MatchString(said)
		if news || told == "" {
			told += said
		}
		again := d.witness.Snapshot(everything)
		if again == listing && !news {
			return parseListing(d.t, listing), told, whole
		}
		listing = again
	}
	d.t.Fatal("the page does not come to rest")
	return nil, "", false
}

var operated = regexp.MustCompile(`^- '?(button|checkbox|radio|switch|tab|link|menuitem|menuitemcheckbox|option|treeitem|combobox|textbox|searchbox|spinbutton|columnheader|gridcell|generic)\b`)

// act does something to a random element, which may be refused.
func (d *componentDrive) act(now map[string]line) string {
	var refs []string
	for _, ref := range slices.Sorted(maps.Keys(now)) {
		if operated.MatchString(now[ref].text) && !strings.Contains(now[ref].text, "[disabled]") {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 || d.random.IntN(8) == 0 {
		key := []string{"Escape", "Tab", "ArrowDown", "Enter"}[d.random.IntN(4)]
		d.try("browser_press_key", map[string]any{"key": key})
		return key
	}
	ref := refs[d.random.IntN(len(refs))]
	text := now[ref].text
	if regexp.MustCompile(`^- '?(textbox|searchbox|spinbutton)`).MatchString(text) && d.random.IntN(2) == 0 {
		d.try("browser_type", map[string]any{"ref": ref, "text": strconv.Itoa(d.random.IntN(50)), "clear": d.random.IntN(2) == 0})
		return "type into " + text
	}
	d.try("browser_click", map[string]any{"ref": ref})
	return "click " + text
}

// gone is how an element is refused that the page has removed or hidden in the meantime, such as at the end of an animation.
var gone = regexp.MustCompile(`no longer (exists|shown)`)

// try does something that may be refused, or whose element may be gone.
func (d *componentDrive) try(tool string, args map[string]any) {
	d.t.Helper()
	if _, err := d.hand.Data(tool, args, &act.Answer{}); err != nil && !gone.MatchString(err.Error()) {
		d.t.Errorf("%s %v: %v", tool, args, err)
	}
}

// compare checks a difference: it speaks of each line that differs, and of no other one as changed.
func (d *componentDrive) compare(what string, before, now map[string]line, told string) {
	mentioned := mentions(told)
	for ref, l := range now {
		if was, known := before[ref]; (!known || was.text != l.text) && !mentioned[ref] {
			d.t.Errorf("%s: %s is not told: %s, was %s\n%s", what, ref, l.text, was.text, told)
		}
	}
	for ref := range before {
		if _, still := now[ref]; !still && !mentioned[ref] {
			d.t.Errorf("%s: that %s is gone is not told\n%s", what, ref, told)
		}
	}
	if strings.Count(told, "[Same page:") != 1 {
		return // what changed between two of them may be as before
	}
	changed := false
	for l := range strings.Lines(told) {
		if !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "- ") {
			changed = strings.HasPrefix(l, "Changed:")
		}
		m := reference.FindStringSubmatch(l)
		if !changed || m == nil || !strings.HasPrefix(l, "- ") || strings.HasPrefix(l, "- text in") || strings.Contains(l, "]: {e") { // the cells of a row
			continue
		}
		if ref := "e" + m[1]; before[ref].text == now[ref].text {
			d.t.Errorf("%s: %s is as before: %s\n%s", what, ref, now[ref].text, told)
		}
	}
}

// axRoles are the roles of which the browser's tree and a listing must have the same lines.
var axRoles = regexp.MustCompile(`^(button|checkbox|radio|switch|tab|link|menuitem|menuitemcheckbox|menuitemradio|option|treeitem|combobox|textbox|searchbox|spinbutton|slider|heading|columnheader)$`)

// apartFrom are lines that only one of the two has, each with its reason.
var apartFrom = map[string]string{
	"textbox Letter": "a document that is edited as a whole is a text field, which has the browser's document in its place",
}

// modal reports whether a dialog blocks what is behind it, which stays listed.
func (d *componentDrive) modal(now map[string]line) bool {
	for _, l := range now {
		if strings.Contains(l.text, "[modal]") {
			return true
		}
	}
	return false
}

// beside compares a listing with the browser's own tree. If they differ because the page has moved on by itself, as at the end of an
// animation, it compares what is listed then.
func (d *componentDrive) beside(what string, now map[string]line) {
	for {
		wrong := d.differing(now)
		if len(wrong) == 0 {
			return
		}
		again := parseListing(d.t, d.witness.Snapshot(everything))
		if maps.Equal(again, now) {
			d.t.Errorf("%s: %s", what, strings.Join(wrong, "\n"))
			return
		}
		now = again
	}
}

// differing returns what the browser's own tree has more or less of than a listing.
func (d *componentDrive) differing(now map[string]line) (wrong []string) {
	counts := map[string]int{}
	for _, n := range d.tree() {
		counts[n]++
	}
	for _, l := range now {
		if role, name := said(l.text); axRoles.MatchString(role) {
			counts[role+" "+name]--
			d.lines++
		}
	}
	for l, n := range counts {
		if apartFrom[l] == "" && (n > 0 || n < 0 && !d.modal(now)) {
			wrong = append(wrong, fmt.Sprintf("%q: %+d in the browser's tree", l, n))
		}
	}
	return wrong
}

// said returns the role and the name on a line.
func said(text string) (role, name string) {
	m := listed.FindStringSubmatch(strings.ReplaceAll(text, "''", "'"))
	if m == nil {
		return "", ""
	}
	if err := json.Unmarshal([]byte(`"`+m[2]+`"`), &name); err != nil {
		name = m[2]
	}
	return m[1], foldedName(name)
}

// blank is what divides words or shows nothing, which the two write in different ways.
var blank = regexp.MustCompile(`[\s\x{200b}-\x{200f}\x{2060}\x{feff}\x{00ad}\x{00a0}\x{e000}-\x{f8ff}]+`)

// foldedName is a name as far as both show it.
func foldedName(name string) string {
	name = blank.ReplaceAllString(name, "")
	if r := []rune(strings.TrimSuffix(name, "…")); len(r) > 99 {
		name = string(r[:99])
	}
	return name
}

// tree lists the roles and names in the browser's own tree, of all frames.
func (d *componentDrive) tree() (out []string) {
	d.t.Helper()
	frames, err := chromedp.Call(d.p.Ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		d.t.Fatal(err)
	}
	ids := []cdp.FrameID{frames.FrameTree.Frame.ID}
	for _, f := range frames.FrameTree.ChildFrames {
		ids = append(ids, f.Frame.ID)
	}
	for _, id := range ids {
		tree, err := chromedp.Call(d.p.Ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{FrameID: id})
		if err != nil {
			d.t.Fatal(err)
		}
		nodes := map[accessibility.NodeID]*accessibility.Node{}
		for _, n := range tree.Nodes {
			nodes[n.NodeID] = n
		}
		for _, n := range tree.Nodes {
			if axText(n.Role) == "option" && within(nodes, n, "combobox") {
				continue // the options of a closed list share a line
			}
			if role := axText(n.Role); !n.Ignored && axRoles.MatchString(role) {
				out = append(out, role+" "+foldedName(axText(n.Name)))
			}
		}
	}
	return out
}

func within(nodes map[accessibility.NodeID]*accessibility.Node, n *accessibility.Node, role string) bool {
	for n = nodes[n.ParentID]; n != nil; n = nodes[n.ParentID] {
		if axText(n.Role) == role {
			return true
		}
	}
	return false
}

func axText(v *accessibility.Value) (text string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &text)
	}
	return text
}

// sample checks some references: each is the element that it was, unless that has left the page, and the browser says of the
// element what the line says.
func (d *componentDrive) sample(what string, now map[string]line) {
	var refs []string
	for _, ref := range slices.Sorted(maps.Keys(now)) {
		if role, _ := said(now[ref].text); axRoles.MatchString(role) {
			refs = append(refs, ref)
		}
	}
	for range min(2, len(refs)) {
		ref := refs[d.random.IntN(len(refs))]
		var answer act.Answer
		text, err := d.hand.Data("browser_evaluate", map[string]any{"ref": ref, "expression": `(element) => { const at = top.marked.indexOf(element); return at >= 0 ? at : top.marked.push(element) - 1 }`}, &answer)
		if err != nil && gone.MatchString(err.Error()) {
			if _, still := parseListing(d.t, d.witness.Snapshot(everything))[ref]; still {
				d.t.Errorf("%s: %s: %v", what, ref, err)
			}
			continue // the page removed or hid it in the meantime, as at the end of an animation
		}
		if err != nil {
			d.t.Fatal(err)
		}
		if answer.Refused != nil {
			d.t.Errorf("%s: %s: %s", what, ref, text)
			continue
		}
		d.refs++
		if was := d.marks[ref]; was != "" && was != answer.Value && d.p.Text(`String(marked[`+was+`].isConnected)`) == "true" {
			d.t.Errorf("%s: %s was another element, which is still there: %s", what, ref, now[ref].text)
		}
		d.marks[ref] = answer.Value
		found, err := chromedp.Call(d.p.Ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "marked[" + answer.Value + "]"})
		if err != nil {
			d.t.Fatal(err)
		}
		no := false
		tree, err := chromedp.Call(d.p.Ctx, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: found.Result.ObjectID, FetchRelatives: &no})
		if err != nil {
			d.t.Fatal(err)
		}
		role, name := said(now[ref].text)
		n := tree.Nodes[0]
		if n.Ignored && d.modal(now) || apartFrom[role+" "+name] != "" {
			continue
		}
		if axText(n.Role) != role || foldedName(axText(n.Name)) != name {
			if again := parseListing(d.t, d.witness.Snapshot(everything)); again[ref].text != now[ref].text {
				continue // the page hid or changed it meanwhile
			}
			d.t.Errorf("%s: %s is %s %q in the browser's tree: %s", what, ref, axText(n.Role), axText(n.Name), now[ref].text)
		}
	}
}
