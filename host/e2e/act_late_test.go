package e2e

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/protocol"
)

// notLate checks that an answer reports nothing as late.
func notLate(t *testing.T, d *acted) {
	t.Helper()
	if d.Late != nil {
		t.Errorf("it is told as late:\n%s", d)
	}
}

// late is what an answer reports as late after the one before it, which there must be.
func late(t *testing.T, d *acted) *act.Late {
	t.Helper()
	if d.Late == nil || d.Late.First {
		t.Fatalf("nothing is told as late:\n%s", d)
	}
	return d.Late
}

// lately has a page do something 700 ms after a click, when that has been answered; window.fired counts.
const lately = `<script>window.fired = 0; const later = (f) => setTimeout(() => { f(); fired++ }, 700)</script>`

func (p *tab) waitForLate() {
	p.t.Helper()
	p.js(`while (window.fired === 0) await new Promise((r) => requestAnimationFrame(r)); window.fired = 0`)
}

// TestAPageThatChangesLateIsToldSo in the next action's answer, and in no other.
func TestAPageThatChangesLateIsToldSo(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Late", lately+`<button onclick="later(() => { state.textContent = 'Saved' })">Save</button>
		<button onclick="later(() => { state.innerHTML = '<div role=alert>Error: not saved</div>' })">Break</button>
		<button onclick="count.textContent = Number(count.textContent) + 1">Count</button>
		<label>Name <input id="name"></label><button onclick="later(() => { name.value = 'Ada'; name.dispatchEvent(new Event('input')) })">Look up</button>
		<p role="status" id="state">Draft</p><p role="status" id="count">0</p>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	click := func(button string) *acted {
		return a.act("browser_click", map[string]any{"ref": refOf(t, first, `"`+button+`"`)})
	}
	notLate(t, click("Count"))

	d := click("Save")
	notLate(t, d)
	lacks(t, d.String(), "Saved")
	p.waitForLate()
	d = click("Count")
	t.Logf("\n%s", d)
	holds(t, late(t, d).Page, `"Saved"  # was "Draft"`)
	lacks(t, d.Late.Page, `"2"`)
	holds(t, d.Page, `"2"  # was "1"`)
	lacks(t, d.Page, "Saved")
	d = click("Count")
	notLate(t, d)
	lacks(t, d.String(), "Saved")
	holds(t, d.Page, `"3"  # was "2"`)

	// A banner is something that broke, too: both are late.
	d = click("Break")
	notLate(t, d)
	lacks(t, d.String(), "not saved")
	p.waitForLate()
	d = click("Count")
	t.Logf("\n%s", d)
	intact(t, d)
	holds(t, said(late(t, d).Broke), "error element", "Error: not saved")
	holds(t, d.Late.Page, "alert", "Error: not saved")
	lacks(t, d.Page, "not saved")

	// An action that does nothing to the page.
	notLate(t, click("Save"))
	p.waitForLate()
	d = a.act("browser_press_key", map[string]any{"key": "Shift"})
	holds(t, late(t, d).Page, `"Saved"`)
	if !d.Unchanged {
		t.Errorf("the page changed: %s", d)
	}

	// What a snapshot has shown is known.
	click("Break")
	p.waitForLate()
	holds(t, a.look(), "not saved")
	d = click("Count")
	holds(t, said(late(t, d).Broke), "error element")
	lacks(t, d.Late.Page, "in status")
	lacks(t, d.Page, "not saved")

	// The page's last words before it is left.
	click("Save")
	p.waitForLate()
	d = a.act("browser_navigate", map[string]any{"url": s.URL})
	holds(t, late(t, d).Page, `"Saved"`)
	holds(t, d.Page, `button "Save"`)
}

// TestLateTextThatASnapshotLeftOutIsToldSo: one of what can be operated does not show it.
func TestLateTextThatASnapshotLeftOutIsToldSo(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Late", lately+`<button onclick="later(() => { state.textContent = 'Saved'; undo.disabled = false })">Save</button>
		<button id="undo" disabled>Undo</button><button onclick="count.textContent = Number(count.textContent) + 1">Count</button>
		<p>The list is <b id="state">a draft</b>.</p><p>Counted <b id="count">0</b></p>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	count := map[string]any{"ref": refOf(t, first, `"Count"`)}
	a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Save"`)})
	p.waitForLate()
	look := a.look()
	holds(t, look, `"Undo"`)
	lacks(t, look, "Saved")
	d := a.act("browser_click", count)
	t.Logf("\n%s", d)
	holds(t, late(t, d).Page, "Saved", "a draft")
	lacks(t, d.Late.Page, "Undo", "Counted")
	holds(t, d.Page, "Counted")
	lacks(t, d.Page, "Saved", "Undo")

	// What is known is not told again, and one of everything leaves nothing out.
	a.look()
	d = a.act("browser_click", count)
	notLate(t, d)
	lacks(t, d.String(), "Saved")
	p.js(`state.textContent = 'Sent'`)
	holds(t, a.everything(), "Sent")
	d = a.act("browser_click", count)
	notLate(t, d)
	lacks(t, d.String(), "Sent")
}

// TestALateChangeInAFrameIsToldSo, also in one of another process.
func TestALateChangeInAFrameIsToldSo(t *testing.T) {
	w := shared.get(t)
	inner := newSite(t, map[string]string{"/{$}": store("Inner", `<p role="status" id="state">Waiting</p><script>onmessage = () => setTimeout(() => { state.textContent = 'Paid'; parent.postMessage('paid', '*') }, 700)</script>`)})
	s := newSite(t, map[string]string{"/{$}": store("Outer", lately+`<button onclick="frames[0].postMessage('pay', '*')">Pay</button><button>Nothing</button><iframe title="Bank" src="`+inner.URL+`"></iframe><script>onmessage = () => fired++</script>`)})
	a := w.agent(t, "--origin", s.URL, "--origin", inner.URL)
	p := w.open(t, s.URL)
	first := a.everything()
	holds(t, first, "Waiting")
	lacks(t, a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Pay"`)}), "Paid")
	p.waitForLate()
	d := a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Nothing"`)})
	holds(t, late(t, d).Page, `"Paid"`)
	lacks(t, d.Page, "Paid")
}

// TestALateRenderingAnewKeepsReferences: what is the same is not told, and what is acted on is the same.
func TestALateRenderingAnewKeepsReferences(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("List", lately+`<button onclick="later(() => draw('Ready'))">Refresh</button><div id="box"></div><script>
		window.picked = ''; const draw = (state) => { box.innerHTML = '<p role="status">' + state + '</p>' + ['Ada', 'Bob', 'Cy'].map((n) => '<button onclick="picked += this.textContent; this.textContent += \' picked\'">' + n + '</button>').join('') }; draw('Waiting')</script>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Refresh"`)})
	p.waitForLate()
	d := a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Bob"`)})
	t.Logf("\n%s", d)
	holds(t, late(t, d).Page, `"Ready"  # was "Waiting"`)
	lacks(t, d.Late.Page, "picked")
	holds(t, d.Page, `"Bob picked" [e`, `# was "Bob"`)
	lacks(t, d.Page, "Ready")
	if got := p.text(`picked`); got != "Bob" {
		t.Errorf("picked was %q", got)
	}
}

// TestALateNavigationIsToldSo: the references of the page that was left act on nothing.
func TestALateNavigationIsToldSo(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/{$}":    store("Cart", lately+`<button onclick="setTimeout(() => { location = '/thanks' }, 700)">Order</button><button>Empty</button>`),
		"/thanks": store("Thanks", `<button onclick="this.textContent = 'Printed'">Print</button>`),
	})
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.look()
	lacks(t, a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Order"`)}), "Thanks")
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		list, err := a.Text("browser_tabs", nil)
		return strings.Contains(list, `"title":"Thanks"`), err
	}); err != nil {
		t.Fatal(err)
	}
	d := a.refusal("browser_click", map[string]any{"ref": refOf(t, first, `"Empty"`)}, protocol.RefusedGone, 0)
	holds(t, late(t, d).Page, s.URL+"/thanks", `button "Print"`)
	holds(t, a.act("browser_click", map[string]any{"ref": refOf(t, d.Late.Page, `"Print"`)}).Page, `"Printed" [e`)
}

// TestWhatBreaksBeforeAnElementIsReadyIsLate: the action had done nothing yet.
func TestWhatBreaksBeforeAnElementIsReadyIsLate(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Slow", `<button onclick="next.disabled = true; setTimeout(() => { console.error('the first broke') }, 1000); setTimeout(() => { next.disabled = false }, 1500)">First</button>
		<button id="next" onclick="throw new Error('the next broke')">Next</button>`)})
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.look()
	intact(t, a.act("browser_click", map[string]any{"ref": refOf(t, first, `"First"`)}))
	d := a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Next"`)})
	t.Logf("\n%s", d)
	holds(t, said(d.Broke), "the next broke")
	lacks(t, said(d.Broke), "the first broke")
	holds(t, said(late(t, d).Broke), "the first broke")
	lacks(t, said(d.Late.Broke), "the next broke")
}

// TestAPageThatNeverStandsStillIsActedOnAllTheSame: a clock changes between any two actions.
func TestAPageThatNeverStandsStillIsActedOnAllTheSame(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Clock", `<p role="timer" id="clock">0</p><button onclick="count.textContent = Number(count.textContent) + 1">Count</button><p role="status" id="count">0</p><script>setInterval(() => { clock.textContent = Number(clock.textContent) + 1 }, 20)</script>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	tick := func() {
		p.js(`const was = clock.textContent; while (clock.textContent === was) await new Promise((r) => requestAnimationFrame(r))`)
	}
	ref := refOf(t, a.look(), `"Count"`)
	tick()
	d := a.act("browser_click", map[string]any{"ref": ref})
	if d.Late == nil || !d.Late.First || !strings.Contains(d.Late.Page, "timer") || d.Page == "" {
		t.Errorf("\n%s", d)
	}
	for range 5 {
		tick()
		d := a.act("browser_click", map[string]any{"ref": ref})
		holds(t, late(t, d).Page, "timer")
		lacks(t, d.Late.Page, "status")
		holds(t, d.Page, "status")
	}
}

// TestTheSameBreakLateAndAtOnceIsToldTwice: that it came late takes nothing from what the action itself broke.
func TestTheSameBreakLateAndAtOnceIsToldTwice(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Late", lately+`<script>let n = 0; const fail = () => { fired++; throw new Error('no stock') }; const order = () => n++ === 0 ? setTimeout(fail, 700) : fail()</script>
		<button onclick="order()">Order</button>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	ref := refOf(t, a.look(), `"Order"`)
	intact(t, a.act("browser_click", map[string]any{"ref": ref}))
	p.waitForLate()
	d := a.act("browser_click", map[string]any{"ref": ref})
	holds(t, said(d.Broke), "Error: no stock")
	holds(t, said(late(t, d).Broke), "Error: no stock")
}

// TestWhatAPageOpensAndLoadsDownLateIsToldSo: tabs and files that its timers have the browser open.
func TestWhatAPageOpensAndLoadsDownLateIsToldSo(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Late", lately+`<button onclick="later(() => window.open('/other'))">Open</button>
		<button onclick="later(() => { location = '/file' })">Load</button><button>Other</button>`), "/other": blank})
	s.mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="report.csv"`)
		_, _ = io.WriteString(w, "a,b")
	})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	click := func(button string) *acted {
		return a.act("browser_click", map[string]any{"ref": refOf(t, first, `"`+button+`"`)})
	}
	for _, c := range []struct {
		button string
		told   func(act.Made) bool
	}{
		{"Load", func(m act.Made) bool { return slices.Equal(m.Downloads, []string{"report.csv"}) }},
		{"Open", func(m act.Made) bool { return len(m.Opened) == 1 }},
	} {
		nothing := func(d *acted) {
			t.Helper()
			if len(d.Opened)+len(d.Downloads) > 0 || d.Late != nil {
				t.Errorf("%s: %s", c.button, d)
			}
		}
		nothing(click(c.button))
		p.waitForLate()
		t.Log(a.do("browser_tabs", nil))
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
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Late", `<button onclick="document.open()">Open</button>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	lacks(t, a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Open"`)}), `"Open" [`)
	holds(t, a.whole(), "the page is empty")
	p.js(`document.write('<title>Again</title><button>New</button>'); document.close()`)
	holds(t, a.look(), `button "New" [`)
}
