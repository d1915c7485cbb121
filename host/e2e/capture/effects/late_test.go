package effects

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// notLate checks that an answer reports nothing as late.
func notLate(t *testing.T, d *e2etest.Acted) {
	t.Helper()
	if d.Late != nil {
		t.Errorf("it is told as late:\n%s", d)
	}
}

// late is what an answer reports as late after the one before it, which there must be.
func late(t *testing.T, d *e2etest.Acted) *act.Late {
	t.Helper()
	if d.Late == nil || d.Late.First {
		t.Fatalf("nothing is told as late:\n%s", d)
	}
	return d.Late
}

// lately has a page do something 700 ms after a click, when that has been answered; window.fired counts.
const lately = `<script>window.fired = 0; const later = (f) => setTimeout(() => { f(); fired++ }, 700)</script>`

func waitForLate(p *e2etest.Tab) {
	p.T.Helper()
	p.JS(`while (window.fired === 0) await new Promise((r) => requestAnimationFrame(r)); window.fired = 0`)
}

// TestAPageThatChangesLateIsToldSo in the next action's answer, and in no other.
func TestAPageThatChangesLateIsToldSo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Late", lately+`<button onclick="later(() => { state.textContent = 'Saved' })">Save</button>
		<button onclick="later(() => { state.innerHTML = '<div role=alert>Error: not saved</div>' })">Break</button>
		<button onclick="count.textContent = Number(count.textContent) + 1">Count</button>
		<label>Name <input id="name"></label><button onclick="later(() => { name.value = 'Ada'; name.dispatchEvent(new Event('input')) })">Look up</button>
		<p role="status" id="state">Draft</p><p role="status" id="count">0</p>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	click := func(button string) *e2etest.Acted {
		return a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"`+button+`"`)})
	}
	notLate(t, click("Count"))

	d := click("Save")
	notLate(t, d)
	e2etest.Lacks(t, d.String(), "Saved")
	waitForLate(p)
	d = click("Count")
	t.Logf("\n%s", d)
	e2etest.Holds(t, late(t, d).Page, `"Saved"  # was "Draft"`)
	e2etest.Lacks(t, d.Late.Page, `"2"`)
	e2etest.Holds(t, d.Page, `"2"  # was "1"`)
	e2etest.Lacks(t, d.Page, "Saved")
	d = click("Count")
	notLate(t, d)
	e2etest.Lacks(t, d.String(), "Saved")
	e2etest.Holds(t, d.Page, `"3"  # was "2"`)

	// A banner is something that broke, too: both are late.
	d = click("Break")
	notLate(t, d)
	e2etest.Lacks(t, d.String(), "not saved")
	waitForLate(p)
	d = click("Count")
	t.Logf("\n%s", d)
	e2etest.Intact(t, d)
	e2etest.Holds(t, e2etest.Said(late(t, d).Broke), "error element", "Error: not saved")
	e2etest.Holds(t, d.Late.Page, "alert", "Error: not saved")
	e2etest.Lacks(t, d.Page, "not saved")

	// An action that does nothing to the page.
	notLate(t, click("Save"))
	waitForLate(p)
	d = a.Act("browser_press_key", map[string]any{"key": "Shift"})
	e2etest.Holds(t, late(t, d).Page, `"Saved"`)
	if !d.Unchanged {
		t.Errorf("the page changed: %s", d)
	}

	// What a snapshot has shown is known.
	click("Break")
	waitForLate(p)
	e2etest.Holds(t, a.Look(), "not saved")
	d = click("Count")
	e2etest.Holds(t, e2etest.Said(late(t, d).Repeated), "error element")
	e2etest.Lacks(t, d.Late.Page, "in status")
	e2etest.Lacks(t, d.Page, "not saved")

	// The page's last words before it is left.
	click("Save")
	waitForLate(p)
	d = a.Act("browser_navigate", map[string]any{"url": s.URL})
	e2etest.Holds(t, late(t, d).Page, `"Saved"`)
	e2etest.Holds(t, d.Page, `button "Save"`)
}

// TestLateTextThatASnapshotLeftOutIsToldSo: one of what can be operated does not show it.
func TestLateTextThatASnapshotLeftOutIsToldSo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Late", lately+`<button onclick="later(() => { state.textContent = 'Saved'; undo.disabled = false })">Save</button>
		<button id="undo" disabled>Undo</button><button onclick="count.textContent = Number(count.textContent) + 1">Count</button>
		<p>The list is <b id="state">a draft</b>.</p><p>Counted <b id="count">0</b></p>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	count := map[string]any{"ref": e2etest.RefOf(t, first, `"Count"`)}
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Save"`)})
	waitForLate(p)
	look := a.Look()
	e2etest.Holds(t, look, `"Undo"`)
	e2etest.Lacks(t, look, "Saved")
	d := a.Act("browser_click", count)
	t.Logf("\n%s", d)
	e2etest.Holds(t, late(t, d).Page, "Saved", "a draft")
	e2etest.Lacks(t, d.Late.Page, "Undo", "Counted")
	e2etest.Holds(t, d.Page, "Counted")
	e2etest.Lacks(t, d.Page, "Saved", "Undo")

	// What is known is not told again, and one of everything leaves nothing out.
	a.Look()
	d = a.Act("browser_click", count)
	notLate(t, d)
	e2etest.Lacks(t, d.String(), "Saved")
	p.JS(`state.textContent = 'Sent'`)
	e2etest.Holds(t, a.Everything(), "Sent")
	d = a.Act("browser_click", count)
	notLate(t, d)
	e2etest.Lacks(t, d.String(), "Sent")
}

// TestALateChangeInAFrameIsToldSo, also in one of another process.
func TestALateChangeInAFrameIsToldSo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	inner := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Inner", `<p role="status" id="state">Waiting</p><script>onmessage = () => setTimeout(() => { state.textContent = 'Paid'; parent.postMessage('paid', '*') }, 700)</script>`)})
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Outer", lately+`<button onclick="frames[0].postMessage('pay', '*')">Pay</button><button>Nothing</button><iframe title="Bank" src="`+inner.URL+`"></iframe><script>onmessage = () => fired++</script>`)})
	a := w.NewAgent(t, "--origin", s.URL, "--origin", inner.URL)
	p := w.Open(t, s.URL)
	first := a.Everything()
	e2etest.Holds(t, first, "Waiting")
	e2etest.Lacks(t, a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Pay"`)}), "Paid")
	waitForLate(p)
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Nothing"`)})
	e2etest.Holds(t, late(t, d).Page, `"Paid"`)
	e2etest.Lacks(t, d.Page, "Paid")
}

// TestALateRenderingAnewKeepsReferences: what is the same is not told, and what is acted on is the same.
func TestALateRenderingAnewKeepsReferences(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("List", lately+`<button onclick="later(() => draw('Ready'))">Refresh</button><div id="box"></div><script>
		window.picked = ''; const draw = (state) => { box.innerHTML = '<p role="status">' + state + '</p>' + ['Ada', 'Bob', 'Cy'].map((n) => '<button onclick="picked += this.textContent; this.textContent += \' picked\'">' + n + '</button>').join('') }; draw('Waiting')</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Refresh"`)})
	waitForLate(p)
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Bob"`)})
	t.Logf("\n%s", d)
	e2etest.Holds(t, late(t, d).Page, `"Ready"  # was "Waiting"`)
	e2etest.Lacks(t, d.Late.Page, "picked")
	e2etest.Holds(t, d.Page, `"Bob picked" [e`, `# was "Bob"`)
	e2etest.Lacks(t, d.Page, "Ready")
	if got := p.Text(`picked`); got != "Bob" {
		t.Errorf("picked was %q", got)
	}
}

// TestALateNavigationIsToldSo: the references of the page that was left act on nothing.
func TestALateNavigationIsToldSo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":    e2etest.StorePage("Cart", lately+`<button onclick="setTimeout(() => { location = '/thanks' }, 700)">Order</button><button>Empty</button>`),
		"/thanks": e2etest.StorePage("Thanks", `<button onclick="this.textContent = 'Printed'">Print</button>`),
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	e2etest.Lacks(t, a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Order"`)}), "Thanks")
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		list, err := a.Text("browser_tabs", nil)
		return strings.Contains(list, `"title":"Thanks"`), err
	}); err != nil {
		t.Fatal(err)
	}
	d := a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Empty"`)}, protocol.RefusedGone, 0)
	e2etest.Holds(t, late(t, d).Page, s.URL+"/thanks", `button "Print"`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, d.Late.Page, `"Print"`)}).Page, `"Printed" [e`)
}

// TestWhatBreaksBeforeAnElementIsReadyIsLate: the action had done nothing yet.
func TestWhatBreaksBeforeAnElementIsReadyIsLate(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Slow", `<button onclick="next.disabled = true; setTimeout(() => { console.error('the first broke') }, 1000); setTimeout(() => { next.disabled = false }, 1500)">First</button>
		<button id="next" onclick="throw new Error('the next broke')">Next</button>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	e2etest.Intact(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"First"`)}))
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Next"`)})
	t.Logf("\n%s", d)
	e2etest.Holds(t, e2etest.Said(d.Broke), "the next broke")
	e2etest.Lacks(t, e2etest.Said(d.Broke), "the first broke")
	e2etest.Holds(t, e2etest.Said(late(t, d).Broke), "the first broke")
	e2etest.Lacks(t, e2etest.Said(d.Late.Broke), "the next broke")
}

// TestAPageThatNeverStandsStillIsActedOnAllTheSame: a clock changes between any two actions.
func TestAPageThatNeverStandsStillIsActedOnAllTheSame(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Clock", `<p role="timer" id="clock">0</p><button onclick="count.textContent = Number(count.textContent) + 1">Count</button><p role="status" id="count">0</p><script>setInterval(() => { clock.textContent = Number(clock.textContent) + 1 }, 20)</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	tick := func() {
		p.JS(`const was = clock.textContent; while (clock.textContent === was) await new Promise((r) => requestAnimationFrame(r))`)
	}
	ref := e2etest.RefOf(t, a.Look(), `"Count"`)
	tick()
	d := a.Act("browser_click", map[string]any{"ref": ref})
	if d.Late == nil || !d.Late.First || !strings.Contains(d.Late.Page, "timer") || d.Page == "" {
		t.Errorf("\n%s", d)
	}
	for range 5 {
		tick()
		d := a.Act("browser_click", map[string]any{"ref": ref})
		e2etest.Holds(t, late(t, d).Page, "timer")
		e2etest.Lacks(t, d.Late.Page, "status")
		e2etest.Holds(t, d.Page, "status")
	}
}

// TestTheSameBreakLateAndAtOnceIsToldTwice: that it came late takes nothing from what the action itself broke.
func TestTheSameBreakLateAndAtOnceIsToldTwice(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Late", lately+`<script>let n = 0; const fail = () => { fired++; throw new Error('no stock') }; const order = () => n++ === 0 ? setTimeout(fail, 700) : fail()</script>
		<button onclick="order()">Order</button>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	ref := e2etest.RefOf(t, a.Look(), `"Order"`)
	e2etest.Intact(t, a.Act("browser_click", map[string]any{"ref": ref}))
	waitForLate(p)
	d := a.Act("browser_click", map[string]any{"ref": ref})
	e2etest.Holds(t, e2etest.Said(d.Broke), "Error: no stock")
	e2etest.Holds(t, e2etest.Said(late(t, d).Broke), "Error: no stock")
}

// TestWhatAPageOpensAndLoadsDownLateIsToldSo: tabs and files that its timers have the browser open.
func TestWhatAPageOpensAndLoadsDownLateIsToldSo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Late", lately+`<button onclick="later(() => window.open('/other'))">Open</button>
		<button onclick="later(() => { location = '/file' })">Load</button><button>Other</button>`), "/other": e2etest.BlankPage})
	s.Mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="report.csv"`)
		_, _ = io.WriteString(w, "a,b")
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	click := func(button string) *e2etest.Acted {
		return a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"`+button+`"`)})
	}
	for _, c := range []struct {
		button string
		told   func(act.Made) bool
	}{
		{"Load", func(m act.Made) bool { return slices.Equal(m.Downloads, []string{"report.csv"}) }},
		{"Open", func(m act.Made) bool { return len(m.Opened) == 1 }},
	} {
		nothing := func(d *e2etest.Acted) {
			t.Helper()
			if len(d.Opened)+len(d.Downloads) > 0 || d.Late != nil {
				t.Errorf("%s: %s", c.button, d)
			}
		}
		nothing(click(c.button))
		waitForLate(p)
		t.Log(a.Do("browser_tabs", nil))
		err := testbed.Eventually(context.Background(), func() (bool, error) {
			d := click("Other")
			t.Log(c.button, d)
			return d.Late != nil && c.told(d.Late.Made), nil
		})
		if err != nil {
			t.Errorf("%s: %v", c.button, err)
		}
		nothing(click("Other"))
	}
}

// TestAPageThatTakesItselfAwayIsEmpty: document.open leaves a document without any element.
func TestAPageThatTakesItselfAwayIsEmpty(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Late", `<button onclick="document.open()">Open</button>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	e2etest.Lacks(t, a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Open"`)}), `"Open" [`)
	e2etest.Holds(t, a.Whole(), "the page is empty")
	p.JS(`document.write('<title>Again</title><button>New</button>'); document.close()`)
	e2etest.Holds(t, a.Look(), `button "New" [`)
}
