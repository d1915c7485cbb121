package acting

import (
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

func TestTypingIsTrusted(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<form id="f"><label>Task <input id="i"></label></form><ul id="l"></ul><textarea aria-label="Long"></textarea><div contenteditable role="textbox" aria-label="Letter">Dear</div><script>
		f.onsubmit = (e) => { e.preventDefault(); const li = document.createElement('li'); li.innerHTML = '<input type=checkbox aria-label="Done"> '; li.append(i.value); l.append(li); i.value = '' }</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	var tasks []string
	for i := range 5 {
		tasks = append(tasks, fmt.Sprintf("Task %d", i+1))
	}
	d := a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Task"`), "text": tasks, "submit": true})
	t.Logf("\n%s", d)
	e2etest.Intact(t, d)
	e2etest.Holds(t, d.Page, `checkbox "Done"`)
	if got := p.Text(`[...l.children].map((e) => e.textContent.trim()).join()`); got != strings.Join(tasks, ",") {
		t.Errorf("the page has %q", got)
	}
	d = a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Letter"`), "text": " all"})
	e2etest.Intact(t, d)
	e2etest.Holds(t, d.Page, `"Dear all"  # was "Dear"`)
	d = a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Letter"`), "text": "Sir", "clear": true})
	e2etest.Holds(t, d.Page, `"Sir"  # was "Dear all"`)
	d = a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Long"`), "text": "one\ntwo"})
	e2etest.Holds(t, d.Page, `"one\ntwo"`)
}

func TestWhatCannotBeClickedIsNot(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button id="far" style="position:absolute;top:4000px">Far</button><button id="off" disabled>Off</button><button id="under">Under</button>
		<div role="dialog" aria-label="Cookies" id="over" style="position:absolute;background:white"><p>We bake</p><button>Fine</button></div><button id="gone">Gone</button><script>
		window.clicks = []; document.onclick = (e) => window.clicks.push(e.target.id);
		const r = under.getBoundingClientRect(); Object.assign(over.style, {left: r.left - 20 + 'px', top: r.top + scrollY - 20 + 'px', width: r.width + 40 + 'px', height: r.height + 40 + 'px'})</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Far"`)})
	off := a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Off"`)}, protocol.RefusedDisabled, 0)
	e2etest.Holds(t, off.Refused.Element, `button "Off"`)
	under := a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Under"`)}, protocol.RefusedCovered, 0)
	e2etest.Holds(t, under.Refused.Element, `button "Under"`)
	e2etest.Holds(t, under.Refused.CoveredBy, `dialog "Cookies"`)
	p.JS(`gone.remove()`)
	a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Gone"`)}, protocol.RefusedGone, 0)
	t.Log(a.Cannot("browser_click", map[string]any{"ref": "e9999"}, usererr.ReferenceGone, "no element e9999"))
	t.Log(a.Cannot("browser_click", map[string]any{"ref": "the button"}, usererr.InvalidArgument, "browser_snapshot"))
	far := a.Refusal("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Far"`), "text": "x"}, protocol.RefusedKind, 0)
	e2etest.Holds(t, far.Refused.Element, `button "Far"`)
	e2etest.Holds(t, far.Refused.Detail, "a text field")
	p.JS(`far.textContent = 'Delete everything'`)
	far = a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Far"`)}, protocol.RefusedOther, 0)
	e2etest.Holds(t, far.Refused.Element, `button "Far" [e`)
	e2etest.Holds(t, far.Refused.Detail, `button "Delete everything"`)
	if got := p.Text(`window.clicks.join()`); got != "far" {
		t.Errorf("the page was clicked on %s", got)
	}
}
