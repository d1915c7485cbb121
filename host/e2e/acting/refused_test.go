package acting

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
	"tidemark.dev/tidemark/protocol"
)

// counter is a page that counts clicks, and says whether the last one was a person's.
var counterPage = e2etest.StorePage("Counter", `<button id="b">Count</button><p role="status" id="s">0</p><script>
	let n = 0; b.onclick = (e) => { n++; window.trusted = String(e.isTrusted); s.textContent = String(n) }</script>`)

func TestATabThatAPersonSwitchedOffIsNotActedOn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": counterPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	ref := e2etest.RefOf(t, a.Look(), `"Count"`)
	popup := w.Open(t, installer.Origin+"popup/index.html")
	popup.WaitUntil(`document.querySelector('[aria-label="Watch Counter"]')?.getAttribute('aria-checked') === 'true'`)
	popup.JS(`document.querySelector('[aria-label="Watch Counter"]').click()`)
	popup.WaitUntil(`document.querySelector('[aria-label="Watch Counter"]').getAttribute('aria-checked') === 'false'`)
	a.Cannot("browser_click", map[string]any{"ref": ref}, usererr.NotWatched, "in Tidemark's popup")
	a.Cannot("browser_type", map[string]any{"ref": ref, "text": "x"}, usererr.NotWatched, "in Tidemark's popup")
	if got := p.Text(`s.textContent`); got != "0" {
		t.Errorf("it was acted on: %s", got)
	}
	popup.JS(`document.querySelector('[aria-label="Watch Counter"]').click()`)
	popup.WaitUntil(`document.querySelector('[aria-label="Watch Counter"]').getAttribute('aria-checked') === 'true'`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": ref}).Page, `"1"`)
}

func TestOneAgentHoldsATabAndTheOtherIsTold(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": counterPage})
	one, two := w.AgentOf(t, s), w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	ref := e2etest.RefOf(t, one.Look(), `"Count"`)
	other := e2etest.RefOf(t, two.Look(), `"Count"`)
	one.Do("browser_click", map[string]any{"ref": ref})
	two.Cannot("browser_click", map[string]any{"ref": other}, usererr.TabInUse, "testbed", "Act on another tab")
	e2etest.Holds(t, two.Look(), "1") // it may look all the same
	one.Do("browser_click", map[string]any{"ref": ref})
	if got := p.Text(`s.textContent`); got != "2" {
		t.Errorf("%s clicks", got)
	}
	// What the one did is news to the other, but not to itself.
	if own, others := one.Changes(), two.Changes(); len(own.Actions.NewActions) > 1 || len(others.Actions.NewActions) < 3 {
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
	e2etest.Holds(t, text, `"3"`)
}

// TestWhatIsLeftOfAStoppedActionIsNotDone: a person stops an agent in the middle of typing one text after the other.
func TestWhatIsLeftOfAStoppedActionIsNotDone(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Tasks", `<form id="f"><label>Task <input id="i"></label></form><ul id="l"></ul><script>
		f.onsubmit = async (e) => { e.preventDefault(); const li = document.createElement('li'); li.textContent = i.value; l.append(li); i.value = ''; await fetch('/slow') }</script>`)})
	s.Mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	popup := w.Open(t, installer.Origin+"popup/index.html")
	ref := e2etest.RefOf(t, a.Look(), `"Task"`)
	answered := make(chan error, 1)
	go func() {
		_, err := a.Text("browser_type", map[string]any{"ref": ref, "text": []string{"One", "Two", "Three"}, "submit": true})
		answered <- err
	}()
	p.WaitUntil(`l.children.length === 1`)
	popup.WaitUntil(`document.querySelector('[aria-label="Stop testbed"]')`)
	popup.Press("Stop testbed")
	e2etest.Coded(t, <-answered, usererr.AgentStopped)
	popup.WaitUntil(`document.querySelector('.agents').innerText.includes('Allow again')`)
	popup.Press("Allow again")
	popup.WaitUntil(`document.querySelector('[aria-label="Stop testbed"]')`)
	a.Do("browser_press_key", map[string]any{"key": "Escape"}) // which is done when nothing of the other is any more
	if got := p.Text(`[...l.children].map((e) => e.textContent).join()`); got != "One" {
		t.Errorf("typed %s", got)
	}
}

// TestNothingElseGetsAClick: neither what comes under the pointer because it came, nor what stands where the element
// was a moment ago.
func TestNothingElseGetsAClick(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<style>div, button { position: absolute } #cover { left: 0; top: 0; width: 300px; height: 80px }
			@keyframes swing { to { transform: translateX(400px) } } #swing { top: 300px; animation: swing 400ms infinite alternate ease-in-out }</style>
		<div style="left:20px;top:200px"><button id="account" style="width:200px">Account</button></div>
		<button id="shy" style="left:20px;top:400px">Shy</button><button id="swing">Swing</button><p role="status" id="said">-</p><script>
		for (const type of ['pointerdown', 'mousedown', 'mouseup', 'click']) addEventListener(type, (e) => { if (said.textContent === '-') said.textContent = type + ' on ' + (e.target.id || e.target.tagName) });
		account.onmouseenter = () => account.parentNode.insertAdjacentHTML('beforeend', '<button id="cover">Delete everything</button>');
		shy.onmouseenter = () => { shy.style.left = parseInt(shy.style.left) + 300 + 'px' };</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	// The swinging button comes last: the page may say only later where it was caught.
	for _, one := range [][2]string{{"Account", protocol.RefusedCovered}, {"Shy", protocol.RefusedMoving}, {"Swing", protocol.RefusedMoving}} {
		name, want := one[0], one[1]
		d := a.Answer("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"`+name+`"`)})
		got := p.Text(`said.textContent`)
		if d.Refused == nil && got == "pointerdown on "+strings.ToLower(name) && name == "Swing" {
			continue // it was caught where it turns round
		}
		if d.Refused == nil || d.Refused.Reason != want {
			t.Errorf("%s: %s", name, d)
		}
		if got != "-" {
			t.Errorf("%s: %s", name, got)
		}
		p.JS(`said.textContent = '-'; document.getElementById('cover')?.remove()`)
	}
}

// TestADropLandsOnItsTarget although the page has moved that when the drag began.
func TestADropLandsOnItsTarget(t *testing.T) {
	w := e2etest.SharedWorld(t)
	zones := `<div id="top"></div><div role="button" tabindex="0" id="src" draggable="DRAGGABLE" style="height:40px">Source</div><div role="button" tabindex="0" class="zone" id="one" style="height:60px">One</div><div role="button" tabindex="0" class="zone" id="two" style="height:60px">Two</div><p role="status" id="said">-</p><script>
		const began = () => { document.getElementById('top').style.height = '100px' };
		src.ondragstart = (e) => { e.dataTransfer.setData('text', 'x'); setTimeout(began) };
		let held = false; src.onmousedown = () => { held = src.draggable === false; if (held) began() };
		for (const z of document.querySelectorAll('.zone')) { z.ondragover = (e) => e.preventDefault(); z.ondrop = (e) => { e.preventDefault(); said.textContent = 'on ' + z.id }; z.onmouseup = () => { if (held) said.textContent = 'on ' + z.id } }</script>`
	for _, native := range []string{"true", "false"} {
		s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", strings.Replace(zones, "DRAGGABLE", native, 1))})
		a := w.AgentOf(t, s)
		w.Open(t, s.URL)
		first := a.Look()
		e2etest.Holds(t, a.Act("browser_drag", map[string]any{"from": e2etest.RefOf(t, first, `"Source"`), "to": e2etest.RefOf(t, first, `"Two"`)}).Page, `"on two"`)
	}
}

// TestWithoutTheDebuggerTheAnswerSaysSo: a browser that refuses its debugger is acted on by a script's events.
func TestWithoutTheDebuggerTheAnswerSaysSo(t *testing.T) {
	w := e2etest.WorldIn(t, "quiet")
	e2etest.AskWorker[bool](t, w.World, `(chrome.debugger.attach = () => Promise.reject(new Error('The administrator forbids debugging')), true)`)
	s := e2etest.NewSite(t, map[string]string{"/{$}": counterPage, "/order": e2etest.StorePage("Order", order), "/search": e2etest.StorePage("Search", `<label>Search <input onkeyup="said.textContent = 'for ' + this.value"></label><p role="status" id="said"></p>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"Count"`)})
	e2etest.Holds(t, d.Untrusted, "The administrator forbids debugging")
	e2etest.Holds(t, d.Page, `"1"  # was "0"`)
	if p.Text(`window.trusted`) != "false" {
		t.Error("the click was trusted")
	}
	ref := e2etest.RefOf(t, a.Do("browser_navigate", map[string]any{"url": s.URL + "/search"}), `"Search"`)
	d = a.Act("browser_type", map[string]any{"ref": ref, "text": "Ada"})
	e2etest.Holds(t, d.Untrusted, "The administrator forbids debugging")
	e2etest.Holds(t, d.Page, `"for Ada"`)
	first := a.Do("browser_navigate", map[string]any{"url": s.URL + "/order"})
	for range 2 {
		d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Order"`)})
		want := act.InvalidField{Element: `textbox "Name" [` + e2etest.RefOf(t, first, `"Name"`) + "]", Message: "Please fill out this field."}
		if !slices.Contains(d.Invalid, want) {
			t.Errorf("%+v is missing in %+v", want, d.Invalid)
		}
	}
}

// TestAnElementThatWasHiddenForATimeKeepsItsReference: behind a dialog that gives the page back after it has faded, or by a style. The
// page is not looked at in between.
func TestAnElementThatWasHiddenForATimeKeepsItsReference(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Away</title><div id="app"><button id="other" onclick="n.textContent++">Other</button><p id="n">0</p></div>
		<button id="hide" onclick="app.setAttribute('aria-hidden', 'true')">Hide</button><button id="drop" onclick="app.style.display = 'none'">Drop</button>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	listing := a.Look()
	other := map[string]any{"ref": e2etest.RefOf(t, listing, `"Other"`)}
	back := `app.removeAttribute('aria-hidden'); app.style.display = ''`
	for i, by := range []string{"Hide", "Drop"} {
		a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, listing, `"`+by+`"`)})
		a.Cannot("browser_click", other, usererr.ReferenceGone, `(button "Other") is no longer shown`, `Hidden: button "Other", div#app, `+[]string{"aria-hidden: true", "display: none"}[i])
		p.JS(back)
		a.Do("browser_click", other)
		if got, want := p.Text(`n.textContent`), []string{"1", "2"}[i]; got != want {
			t.Errorf("%s: %s clicks", by, got)
		}
		a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, listing, `"`+by+`"`)})
		p.JS(`setTimeout(() => { ` + back + ` }, 1000)`)
		e2etest.Holds(t, a.Act("browser_wait_for", other).Met, "The element is ready.")
	}
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, listing, `"Drop"`)})
	a.Cannot("browser_wait_for", map[string]any{"ref": other["ref"], "timeout_ms": 300}, usererr.ReferenceGone, "is no longer shown")
	p.JS(`app.remove()`)
	a.Cannot("browser_click", other, usererr.ReferenceGone, "no longer exists")
}
