package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// do calls an acting tool.
func (a *agent) do(tool string, args map[string]any) string {
	a.t.Helper()
	text, err := a.Text(tool, args)
	if err != nil {
		a.t.Fatalf("%s %v: %v", tool, args, err)
	}
	return text
}

// refused calls an acting tool that must say why it cannot.
func (a *agent) cannot(tool string, args map[string]any, parts ...string) string {
	a.t.Helper()
	text, err := a.Text(tool, args)
	if err == nil {
		a.t.Fatalf("%s %v was done: %s", tool, args, text)
	}
	holds(a.t, err.Error(), parts...)
	return err.Error()
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
	d := a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Add"`)})
	t.Logf("\n%s", d)
	holds(t, d, "Nothing broke.", "POST /api/cart 201", `status`, `"1 item"  # was "0 items"`)
	lacks(t, d, "Section")
	if p.text(`window.trusted`) != "true" {
		t.Error("the click was not trusted")
	}
	d = a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Break"`)})
	t.Logf("\n%s", d)
	holds(t, d, "Broke:", "GET /api/fail 500", "it broke", `"Failed 500"`)
	d = a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Add"`)})
	t.Logf("\n%s", d)
	holds(t, d, "Nothing broke.", "POST /api/cart 201")
	lacks(t, d, "it broke", "500\n")
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
	d := a.do("browser_type", map[string]any{"ref": refOf(t, first, `"Task"`), "text": tasks, "submit": true})
	t.Logf("\n%s", d)
	holds(t, d, "Nothing broke.", "checkbox \"Done\"")
	if got := p.text(`[...l.children].map((e) => e.textContent.trim()).join()`); got != strings.Join(tasks, ",") {
		t.Errorf("the page has %q", got)
	}
	d = a.do("browser_type", map[string]any{"ref": refOf(t, first, `"Letter"`), "text": " all"})
	holds(t, d, `"Dear all"  # was "Dear"`, "Nothing broke.")
	d = a.do("browser_type", map[string]any{"ref": refOf(t, first, `"Letter"`), "text": "Sir", "clear": true})
	holds(t, d, `"Sir"  # was "Dear all"`)
	d = a.do("browser_type", map[string]any{"ref": refOf(t, first, `"Long"`), "text": "one\ntwo"})
	holds(t, d, `"one\ntwo"`)
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
	t.Log(a.cannot("browser_click", map[string]any{"ref": refOf(t, first, `"Off"`)}, `button "Off"`, "is disabled", "nothing was done"))
	t.Log(a.cannot("browser_click", map[string]any{"ref": refOf(t, first, `"Under"`)}, `button "Under"`, "is covered by", `dialog "Cookies"`, "nothing was done"))
	p.js(`gone.remove()`)
	t.Log(a.cannot("browser_click", map[string]any{"ref": refOf(t, first, `"Gone"`)}, "is gone"))
	t.Log(a.cannot("browser_click", map[string]any{"ref": "e9999"}, "no element e9999"))
	t.Log(a.cannot("browser_click", map[string]any{"ref": "the button"}, "browser_snapshot"))
	t.Log(a.cannot("browser_type", map[string]any{"ref": refOf(t, first, `"Far"`), "text": "x"}, `button "Far"`, "field that takes text"))
	p.js(`far.textContent = 'Delete everything'`)
	t.Log(a.cannot("browser_click", map[string]any{"ref": refOf(t, first, `"Far"`)}, `button "Far" [e`, `has become button "Delete everything"`))
	if got := p.text(`window.clicks.join()`); got != "far" {
		t.Errorf("the page was clicked on %s", got)
	}
}
