package e2e

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// late is how an answer begins to tell of what came after the one before it; thisAction what follows on it.
const (
	late       = "Late, after your last action was answered:\n"
	thisAction = "By this action:\n"
)

// parts are an answer's lines about what came late and about what the action caused on the page.
func parts(t *testing.T, answer string) (before, caused string) {
	t.Helper()
	_, rest, found := strings.Cut(answer, late)
	if !found {
		t.Fatalf("nothing is marked late:\n%s", answer)
	}
	before, caused, found = strings.Cut(rest, thisAction)
	if !found {
		t.Fatalf("what this action did is not told apart:\n%s", answer)
	}
	return before, caused
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
	click := func(button string) string {
		return a.do("browser_click", map[string]any{"ref": refOf(t, first, `"`+button+`"`)})
	}
	lacks(t, click("Count"), "Late")

	lacks(t, click("Save"), "Late", "Saved")
	p.waitForLate()
	answer := click("Count")
	t.Logf("\n%s", answer)
	before, caused := parts(t, answer)
	holds(t, before, `"Saved"  # was "Draft"`)
	holds(t, caused, `"2"  # was "1"`)
	lacks(t, before, `"2"`)
	lacks(t, caused, "Saved")
	answer = click("Count")
	lacks(t, answer, "Late", "Saved", thisAction)
	holds(t, answer, `"3"  # was "2"`)

	// A banner is something that broke, too: both are late.
	lacks(t, click("Break"), "Late", "not saved")
	p.waitForLate()
	answer = click("Count")
	t.Logf("\n%s", answer)
	before, caused = parts(t, answer)
	holds(t, answer, "Nothing broke.")
	holds(t, before, "- error element", "alert", "Error: not saved")
	lacks(t, caused, "not saved")

	// An action that does nothing to the page.
	lacks(t, click("Save"), "Late")
	p.waitForLate()
	before, caused = parts(t, a.do("browser_press_key", map[string]any{"key": "Shift"}))
	holds(t, before, `"Saved"`)
	holds(t, caused, "The page did not change.")

	// What a snapshot has shown is known.
	click("Break")
	p.waitForLate()
	holds(t, a.look(), "not saved")
	answer = click("Count")
	before, caused = parts(t, answer)
	holds(t, before, "- error element")
	lacks(t, before, "in status")
	lacks(t, caused, "not saved")

	// The page's last words before it is left.
	click("Save")
	p.waitForLate()
	before, caused = parts(t, a.do("browser_navigate", map[string]any{"url": s.URL}))
	holds(t, before, `"Saved"`)
	holds(t, caused, `button "Save"`)
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
	d := a.look()
	holds(t, d, `"Undo"`)
	lacks(t, d, "Saved")
	answer := a.do("browser_click", count)
	t.Logf("\n%s", answer)
	before, caused := parts(t, answer)
	holds(t, before, "Saved", "a draft")
	lacks(t, before, "Undo", "Counted")
	holds(t, caused, "Counted")
	lacks(t, caused, "Saved", "Undo")

	// What is known is not told again, and one of everything leaves nothing out.
	a.look()
	lacks(t, a.do("browser_click", count), "Late", "Saved")
	p.js(`state.textContent = 'Sent'`)
	holds(t, a.everything(), "Sent")
	lacks(t, a.do("browser_click", count), "Late", "Sent")
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
	before, caused := parts(t, a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Nothing"`)}))
	holds(t, before, `"Paid"`)
	lacks(t, caused, "Paid")
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
	answer := a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Bob"`)})
	t.Logf("\n%s", answer)
	before, caused := parts(t, answer)
	holds(t, before, `"Ready"  # was "Waiting"`)
	lacks(t, before, "picked")
	holds(t, caused, `"Bob picked" [e`, `# was "Bob"`)
	lacks(t, caused, "Ready")
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
	said := a.cannot("browser_click", map[string]any{"ref": refOf(t, first, `"Empty"`)}, "is gone", "nothing was done")
	t.Logf("\n%s", said)
	_, said, _ = strings.Cut(said, late)
	holds(t, said, s.URL+"/thanks", `button "Print"`)
	holds(t, a.do("browser_click", map[string]any{"ref": refOf(t, said, `"Print"`)}), `"Printed" [e`)
}

// TestWhatBreaksBeforeAnElementIsReadyIsLate: the action had done nothing yet.
func TestWhatBreaksBeforeAnElementIsReadyIsLate(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Slow", `<button onclick="next.disabled = true; setTimeout(() => { console.error('the first broke') }, 1000); setTimeout(() => { next.disabled = false }, 1500)">First</button>
		<button id="next" onclick="throw new Error('the next broke')">Next</button>`)})
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.look()
	lacks(t, a.do("browser_click", map[string]any{"ref": refOf(t, first, `"First"`)}), "broke:")
	answer := a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Next"`)})
	t.Logf("\n%s", answer)
	caused, before, _ := strings.Cut(answer, late)
	holds(t, caused, "Broke:", "the next broke")
	lacks(t, caused, "the first broke")
	holds(t, before, "the first broke")
	lacks(t, before, "the next broke")
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
	holds(t, a.do("browser_click", map[string]any{"ref": ref}), "Late, before this action:\n", "timer", thisAction)
	for range 5 {
		tick()
		before, caused := parts(t, a.do("browser_click", map[string]any{"ref": ref}))
		holds(t, before, "timer")
		lacks(t, before, "status")
		holds(t, caused, "status")
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
	holds(t, a.do("browser_click", map[string]any{"ref": ref}), "Nothing broke.")
	p.waitForLate()
	broke, lately, found := strings.Cut(a.do("browser_click", map[string]any{"ref": ref}), late)
	if !found || !strings.Contains(broke, "Error: no stock") || !strings.Contains(lately, "Error: no stock") {
		t.Errorf("%s\n%s%s", broke, late, lately)
	}
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
	click := func(button string) string {
		return a.do("browser_click", map[string]any{"ref": refOf(t, first, `"`+button+`"`)})
	}
	for _, c := range [][2]string{{"Load", "Downloading: report.csv"}, {"Open", "Opened "}} {
		button, told := c[0], c[1]
		lacks(t, click(button), told)
		p.waitForLate()
		t.Log(a.do("browser_tabs", nil))
		var seen string
		err := testbed.Eventually(context.Background(), func() (bool, error) {
			answer := click("Other")
			t.Log(button, answer)
			_, seen, _ = strings.Cut(answer, late)
			return strings.Contains(seen, told), nil
		})
		if err != nil {
			t.Errorf("%s: %v: %s", button, err, seen)
		}
		lacks(t, click("Other"), told)
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
