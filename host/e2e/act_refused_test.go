package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
	"tidemark.dev/tidemark/protocol"
)

// inWorker runs a script in the extension's worker.
func (w *world) inWorker(t *testing.T, script string) {
	t.Helper()
	askWorker[bool](t, w.World, "("+script+", true)")
}

// askWorker evaluates an expression in the extension's worker.
func askWorker[T any](t *testing.T, w *testbed.World, expression string) (answer T) {
	t.Helper()
	infos, err := chromedp.CallBrowser(w.Browser.Context(), target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos.TargetInfos {
		if info.Type != "service_worker" || !strings.HasPrefix(info.URL, installer.Origin) {
			continue
		}
		ctx, detach := chromedp.NewContext(w.Browser.Context(), chromedp.WithTargetID(info.TargetID), chromedp.WithDetachOnCancel())
		defer detach()
		if answer, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression)); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	t.Fatal("the worker does not run")
	return answer
}

// counter is a page that counts clicks, and says whether the last one was a person's.
var counterPage = store("Counter", `<button id="b">Count</button><p role="status" id="s">0</p><script>
	let n = 0; b.onclick = (e) => { n++; window.trusted = String(e.isTrusted); s.textContent = String(n) }</script>`)

func TestATabThatAPersonSwitchedOffIsNotActedOn(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": counterPage})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	ref := refOf(t, a.look(), `"Count"`)
	popup := w.open(t, installer.Origin+"popup/index.html")
	popup.until(`document.querySelector('[aria-label="Watch Counter"]')?.getAttribute('aria-checked') === 'true'`)
	popup.js(`document.querySelector('[aria-label="Watch Counter"]').click()`)
	popup.until(`document.querySelector('[aria-label="Watch Counter"]').getAttribute('aria-checked') === 'false'`)
	a.cannot("browser_click", map[string]any{"ref": ref}, usererr.NotWatched, "in Tidemark's popup")
	a.cannot("browser_type", map[string]any{"ref": ref, "text": "x"}, usererr.NotWatched, "in Tidemark's popup")
	if got := p.text(`s.textContent`); got != "0" {
		t.Errorf("it was acted on: %s", got)
	}
	popup.js(`document.querySelector('[aria-label="Watch Counter"]').click()`)
	popup.until(`document.querySelector('[aria-label="Watch Counter"]').getAttribute('aria-checked') === 'true'`)
	holds(t, a.act("browser_click", map[string]any{"ref": ref}).Page, `"1"`)
}

// TestWithoutTheDebuggerTheAnswerSaysSo: a browser that refuses its debugger is acted on by a script's events.
func TestWithoutTheDebuggerTheAnswerSaysSo(t *testing.T) {
	w := worldIn(t, "quiet")
	w.inWorker(t, `chrome.debugger.attach = () => Promise.reject(new Error('The administrator forbids debugging'))`)
	s := newSite(t, map[string]string{"/{$}": counterPage, "/order": store("Order", order), "/search": store("Search", `<label>Search <input onkeyup="said.textContent = 'for ' + this.value"></label><p role="status" id="said"></p>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	d := a.act("browser_click", map[string]any{"ref": refOf(t, a.look(), `"Count"`)})
	holds(t, d.Untrusted, "The administrator forbids debugging")
	holds(t, d.Page, `"1"  # was "0"`)
	if p.text(`window.trusted`) != "false" {
		t.Error("the click was trusted")
	}
	ref := refOf(t, a.do("browser_navigate", map[string]any{"url": s.URL + "/search"}), `"Search"`)
	d = a.act("browser_type", map[string]any{"ref": ref, "text": "Ada"})
	holds(t, d.Untrusted, "The administrator forbids debugging")
	holds(t, d.Page, `"for Ada"`)
	first := a.do("browser_navigate", map[string]any{"url": s.URL + "/order"})
	for range 2 {
		d := a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Order"`)})
		want := act.InvalidField{Element: `textbox "Name" [` + refOf(t, first, `"Name"`) + "]", Message: "Please fill out this field."}
		if !slices.Contains(d.Invalid, want) {
			t.Errorf("%+v is missing in %+v", want, d.Invalid)
		}
	}
}

func TestOneAgentHoldsATabAndTheOtherIsTold(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": counterPage})
	one, two := w.of(t, s), w.of(t, s)
	p := w.open(t, s.URL)
	ref := refOf(t, one.look(), `"Count"`)
	other := refOf(t, two.look(), `"Count"`)
	one.do("browser_click", map[string]any{"ref": ref})
	two.cannot("browser_click", map[string]any{"ref": other}, usererr.TabInUse, "testbed", "Act on another tab")
	holds(t, two.look(), "1") // it may look all the same
	one.do("browser_click", map[string]any{"ref": ref})
	if got := p.text(`s.textContent`); got != "2" {
		t.Errorf("%s clicks", got)
	}
	// What the one did is news to the other, but not to itself.
	if own, others := one.changes(), two.changes(); len(own.Actions.NewActions) > 1 || len(others.Actions.NewActions) < 3 {
		t.Errorf("own %+v, the other's %+v", own.Actions, others.Actions)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	// The daemon learns a moment later that the other left; until then it refuses.
	var text string
	if err := testbed.Eventually(t.Context(), func() (_ bool, err error) {
		text, err = two.Text("browser_click", map[string]any{"ref": other})
		return err == nil, err
	}); err != nil {
		t.Fatal(err)
	}
	holds(t, text, `"3"`)
}

// TestWhatIsLeftOfAStoppedActionIsNotDone: a person stops an agent in the middle of typing one text after the other.
func TestWhatIsLeftOfAStoppedActionIsNotDone(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Tasks", `<form id="f"><label>Task <input id="i"></label></form><ul id="l"></ul><script>
		f.onsubmit = async (e) => { e.preventDefault(); const li = document.createElement('li'); li.textContent = i.value; l.append(li); i.value = ''; await fetch('/slow') }</script>`)})
	s.mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	a := w.of(t, s)
	p := w.open(t, s.URL)
	popup := w.open(t, installer.Origin+"popup/index.html")
	ref := refOf(t, a.look(), `"Task"`)
	answered := make(chan error, 1)
	go func() {
		_, err := a.Text("browser_type", map[string]any{"ref": ref, "text": []string{"One", "Two", "Three"}, "submit": true})
		answered <- err
	}()
	p.until(`l.children.length === 1`)
	popup.until(`document.querySelector('[aria-label="Stop testbed"]')`)
	popup.press("Stop testbed")
	coded(t, <-answered, usererr.AgentStopped)
	popup.until(`document.querySelector('.agents').innerText.includes('Allow again')`)
	popup.press("Allow again")
	popup.until(`document.querySelector('[aria-label="Stop testbed"]')`)
	a.do("browser_press_key", map[string]any{"key": "Escape"}) // which is done when nothing of the other is any more
	if got := p.text(`[...l.children].map((e) => e.textContent).join()`); got != "One" {
		t.Errorf("typed %s", got)
	}
}

// TestNothingElseGetsAClick: neither what comes under the pointer because it came, nor what stands where the element
// was a moment ago.
func TestNothingElseGetsAClick(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<style>div, button { position: absolute } #cover { left: 0; top: 0; width: 300px; height: 80px }
			@keyframes swing { to { transform: translateX(400px) } } #swing { top: 300px; animation: swing 400ms infinite alternate ease-in-out }</style>
		<div style="left:20px;top:200px"><button id="account" style="width:200px">Account</button></div>
		<button id="shy" style="left:20px;top:400px">Shy</button><button id="swing">Swing</button><p role="status" id="said">-</p><script>
		for (const type of ['pointerdown', 'mousedown', 'mouseup', 'click']) addEventListener(type, (e) => { if (said.textContent === '-') said.textContent = type + ' on ' + (e.target.id || e.target.tagName) });
		account.onmouseenter = () => account.parentNode.insertAdjacentHTML('beforeend', '<button id="cover">Delete everything</button>');
		shy.onmouseenter = () => { shy.style.left = parseInt(shy.style.left) + 300 + 'px' };</script>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	for name, want := range map[string]string{"Account": protocol.RefusedCovered, "Shy": protocol.RefusedMoving, "Swing": protocol.RefusedMoving} {
		d := a.answer("browser_click", map[string]any{"ref": refOf(t, first, `"`+name+`"`)})
		got := p.text(`said.textContent`)
		if d.Refused == nil && got == "pointerdown on "+strings.ToLower(name) && name == "Swing" {
			continue // it was caught where it turns round
		}
		if d.Refused == nil || d.Refused.Reason != want {
			t.Errorf("%s: %s", name, d)
		}
		if got != "-" {
			t.Errorf("%s: %s", name, got)
		}
		p.js(`said.textContent = '-'; document.getElementById('cover')?.remove()`)
	}
}

// TestADropLandsOnItsTarget although the page has moved that when the drag began.
func TestADropLandsOnItsTarget(t *testing.T) {
	w := shared.get(t)
	zones := `<div id="top"></div><div role="button" tabindex="0" id="src" draggable="DRAGGABLE" style="height:40px">Source</div><div role="button" tabindex="0" class="zone" id="one" style="height:60px">One</div><div role="button" tabindex="0" class="zone" id="two" style="height:60px">Two</div><p role="status" id="said">-</p><script>
		const began = () => { document.getElementById('top').style.height = '100px' };
		src.ondragstart = (e) => { e.dataTransfer.setData('text', 'x'); setTimeout(began) };
		let held = false; src.onmousedown = () => { held = src.draggable === false; if (held) began() };
		for (const z of document.querySelectorAll('.zone')) { z.ondragover = (e) => e.preventDefault(); z.ondrop = (e) => { e.preventDefault(); said.textContent = 'on ' + z.id }; z.onmouseup = () => { if (held) said.textContent = 'on ' + z.id } }</script>`
	for _, native := range []string{"true", "false"} {
		s := newSite(t, map[string]string{"/{$}": store("Shop", strings.Replace(zones, "DRAGGABLE", native, 1))})
		a := w.of(t, s)
		w.open(t, s.URL)
		first := a.look()
		holds(t, a.act("browser_drag", map[string]any{"from": refOf(t, first, `"Source"`), "to": refOf(t, first, `"Two"`)}).Page, `"on two"`)
	}
}
