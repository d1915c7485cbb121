package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// acted is an action's answer, and its text.
type acted struct {
	act.Answer
	text string
}

func (d *acted) String() string { return d.text }

// answer calls an acting tool; its action may be refused.
func (a *agent) answer(tool string, args map[string]any) *acted {
	a.t.Helper()
	var d acted
	var err error
	if d.text, err = a.Data(tool, args, &d.Answer); err != nil {
		a.t.Fatalf("%s %v: %v", tool, args, err)
	}
	return &d
}

// act calls an acting tool, whose action must be carried out.
func (a *agent) act(tool string, args map[string]any) *acted {
	a.t.Helper()
	d := a.answer(tool, args)
	if d.Refused != nil {
		a.t.Fatalf("%s %v: %s", tool, args, d)
	}
	return d
}

// refusal calls an acting tool, whose action must be refused for a reason (protocol.Refused…) after some steps.
func (a *agent) refusal(tool string, args map[string]any, reason string, done int) *acted {
	a.t.Helper()
	d := a.answer(tool, args)
	if d.Refused == nil || d.Refused.Reason != reason || d.Refused.Done != done {
		a.t.Fatalf("%s %v: want it refused as %s after %d steps: %+v\n%s", tool, args, reason, done, d.Refused, d)
	}
	a.t.Log(d)
	return d
}

// intact checks that an action broke nothing, and that its answer could know so.
func intact(t *testing.T, d *acted) {
	t.Helper()
	if len(d.Broke) > 0 || d.Dialog != nil || d.Busy {
		t.Errorf("it broke, or is not over:\n%s", d)
	}
}

// said are the texts of what an action caused.
func said(list []diff.Consequence) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s ×%d\n", c.Text, c.Count)
	}
	return b.String()
}

// do calls a tool and returns its text.
func (a *agent) do(tool string, args map[string]any) string {
	a.t.Helper()
	text, err := a.Text(tool, args)
	if err != nil {
		a.t.Fatalf("%s %v: %v", tool, args, err)
	}
	return text
}

// cannot calls a tool that must fail with a code, and a message with some parts.
func (a *agent) cannot(tool string, args map[string]any, code usererr.Code, parts ...string) string {
	a.t.Helper()
	text, err := a.Text(tool, args)
	if err == nil {
		a.t.Fatalf("%s %v was done: %s", tool, args, text)
	}
	coded(a.t, err, code, parts...)
	return err.Error()
}

// codeOf returns the code of a tool's error, "" for another error and for none.
func codeOf(err error) usererr.Code {
	var failed *testbed.ToolError
	if !errors.As(err, &failed) {
		return ""
	}
	return failed.Code
}

// coded checks that an error of a tool has a code, and a message with some parts.
func coded(t *testing.T, err error, code usererr.Code, parts ...string) {
	t.Helper()
	if codeOf(err) != code {
		t.Fatalf("want %s, got %v", code, err)
	}
	holds(t, err.Error(), parts...)
}

func TestAClickAnswersWithWhatItCaused(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<button id="b">Add</button><button id="c">Break</button><p role="status" id="s">0 items</p><script>
		b.onclick = async (e) => { window.trusted = String(e.isTrusted); await fetch('/api/cart', {method: 'POST'}); s.textContent = '1 item' };
		c.onclick = async () => { const r = await fetch('/api/fail'); s.textContent = 'Failed ' + r.status; throw new Error('it broke') }</script>`)})
	s.mux.HandleFunc("/api/cart", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(150 * time.Millisecond) // what the page waits for
		w.WriteHeader(http.StatusCreated)
	})
	s.answer("/api/fail", 500)
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	d := a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Add"`)})
	t.Logf("\n%s", d)
	intact(t, d)
	holds(t, said(d.Requests), "POST /api/cart 201")
	holds(t, d.Page, `status`, `"1 item"  # was "0 items"`)
	lacks(t, d.Page, "Section")
	if p.text(`window.trusted`) != "true" {
		t.Error("the click was not trusted")
	}
	d = a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Break"`)})
	t.Logf("\n%s", d)
	holds(t, said(d.Broke), "GET /api/fail 500", "it broke")
	holds(t, d.Page, `"Failed 500"`)
	d = a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Add"`)})
	t.Logf("\n%s", d)
	intact(t, d)
	holds(t, said(d.Requests), "POST /api/cart 201")
	lacks(t, d.String(), "it broke", "500\n")
	began := time.Now()
	for range 5 {
		a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Add"`)})
	}
	t.Logf("%s a call with 150 ms of the page's own", time.Since(began)/5)
}

func TestTypingIsTrusted(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<form id="f"><label>Task <input id="i"></label></form><ul id="l"></ul><textarea aria-label="Long"></textarea><div contenteditable role="textbox" aria-label="Letter">Dear</div><script>
		f.onsubmit = (e) => { e.preventDefault(); const li = document.createElement('li'); li.innerHTML = '<input type=checkbox aria-label="Done"> '; li.append(i.value); l.append(li); i.value = '' }</script>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	var tasks []string
	for i := range 5 {
		tasks = append(tasks, fmt.Sprintf("Task %d", i+1))
	}
	d := a.act("browser_type", map[string]any{"ref": refOf(t, first, `"Task"`), "text": tasks, "submit": true})
	t.Logf("\n%s", d)
	intact(t, d)
	holds(t, d.Page, `checkbox "Done"`)
	if got := p.text(`[...l.children].map((e) => e.textContent.trim()).join()`); got != strings.Join(tasks, ",") {
		t.Errorf("the page has %q", got)
	}
	d = a.act("browser_type", map[string]any{"ref": refOf(t, first, `"Letter"`), "text": " all"})
	intact(t, d)
	holds(t, d.Page, `"Dear all"  # was "Dear"`)
	d = a.act("browser_type", map[string]any{"ref": refOf(t, first, `"Letter"`), "text": "Sir", "clear": true})
	holds(t, d.Page, `"Sir"  # was "Dear all"`)
	d = a.act("browser_type", map[string]any{"ref": refOf(t, first, `"Long"`), "text": "one\ntwo"})
	holds(t, d.Page, `"one\ntwo"`)
}

func TestWhatCannotBeClickedIsNot(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<button id="far" style="position:absolute;top:4000px">Far</button><button id="off" disabled>Off</button><button id="under">Under</button>
		<div role="dialog" aria-label="Cookies" id="over" style="position:absolute;background:white"><p>We bake</p><button>Fine</button></div><button id="gone">Gone</button><script>
		window.clicks = []; document.onclick = (e) => window.clicks.push(e.target.id);
		const r = under.getBoundingClientRect(); Object.assign(over.style, {left: r.left - 20 + 'px', top: r.top + scrollY - 20 + 'px', width: r.width + 40 + 'px', height: r.height + 40 + 'px'})</script>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Far"`)})
	off := a.refusal("browser_click", map[string]any{"ref": refOf(t, first, `"Off"`)}, protocol.RefusedDisabled, 0)
	holds(t, off.Refused.Element, `button "Off"`)
	under := a.refusal("browser_click", map[string]any{"ref": refOf(t, first, `"Under"`)}, protocol.RefusedCovered, 0)
	holds(t, under.Refused.Element, `button "Under"`)
	holds(t, under.Refused.CoveredBy, `dialog "Cookies"`)
	p.js(`gone.remove()`)
	a.refusal("browser_click", map[string]any{"ref": refOf(t, first, `"Gone"`)}, protocol.RefusedGone, 0)
	t.Log(a.cannot("browser_click", map[string]any{"ref": "e9999"}, usererr.ReferenceGone, "no element e9999"))
	t.Log(a.cannot("browser_click", map[string]any{"ref": "the button"}, usererr.InvalidArgument, "browser_snapshot"))
	far := a.refusal("browser_type", map[string]any{"ref": refOf(t, first, `"Far"`), "text": "x"}, protocol.RefusedKind, 0)
	holds(t, far.Refused.Element, `button "Far"`)
	holds(t, far.Refused.Detail, "a text field")
	p.js(`far.textContent = 'Delete everything'`)
	far = a.refusal("browser_click", map[string]any{"ref": refOf(t, first, `"Far"`)}, protocol.RefusedOther, 0)
	holds(t, far.Refused.Element, `button "Far" [e`)
	holds(t, far.Refused.Detail, `button "Delete everything"`)
	if got := p.text(`window.clicks.join()`); got != "far" {
		t.Errorf("the page was clicked on %s", got)
	}
}
