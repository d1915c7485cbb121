package effects

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestWhatAnAgentWasGivenIsNotListedAgain whether an action reported it or get_changes_since did.
func TestWhatAnAgentWasGivenIsNotListedAgain(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Repeats", `<button id="b">Break</button><button id="c">Count</button><p role="status" id="s">0</p><script>
		b.onclick = async () => { await fetch('/api/fail'); s.textContent += '!'; throw new Error('it broke') };
		c.onclick = () => { s.textContent += '.' };
		window.unseen = () => console.error('nobody saw this')</script>`)})
	s.Answer("/api/fail", 500)
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	click := func(button string) *e2etest.Acted {
		return a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"`+button+`"`)})
	}
	d := click("Break")
	e2etest.Holds(t, e2etest.Said(d.Broke), "GET /api/fail 500", "it broke")
	d = click("Break")
	t.Logf("\n%s", d)
	e2etest.Holds(t, e2etest.Said(d.Repeated), "GET /api/fail 500", "it broke")
	e2etest.Holds(t, d.String(), "No new problems.", "2 repeated errors:\n- ")
	if len(d.Broke) > 0 {
		t.Errorf("told again: %s", d)
	}
	r := a.ChangesWith(map[string]any{"wait": "settled"})
	t.Log(e2etest.Show(r))
	if r.Severity != report.Error || len(r.Console.NewErrors)+len(r.Network.Failures) > 0 || len(r.Repeated) != 2 || r.Summary != "no new problems; 2 repeated errors" {
		t.Errorf("%s", e2etest.Show(r))
	}
	p.JS(`unseen()`)
	if r = a.ChangesWith(map[string]any{"wait": "settled"}); len(r.Console.NewErrors) != 1 || len(r.Repeated) > 0 {
		t.Errorf("%s", e2etest.Show(r))
	}
	p.JS(`unseen()`)
	d = click("Count")
	t.Logf("\n%s", d)
	if d.Late == nil || len(d.Late.Broke) > 0 {
		t.Errorf("told again: %s", d)
	} else {
		e2etest.Holds(t, e2etest.Said(d.Late.Repeated), "nobody saw this")
	}
	if r = a.ChangesWith(map[string]any{"checkpoint": "auto_0"}); len(r.Repeated) > 0 || len(r.Console.NewErrors) != 2 || len(r.Network.Failures) != 1 {
		t.Errorf("from the beginning: %s", e2etest.Show(r))
	}
}

// TestAMessageThatTypingTakesBackIsAFlash and no problem.
func TestAMessageThatTypingTakesBackIsAFlash(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Flash", `<label>Name <input id="nick"></label><p class="error" id="hint" hidden>Too short</p>
		<label>Mail <input id="mail"></label><p class="error" role="alert" id="alarm" hidden>No address</p><script>
		nick.oninput = () => { hint.hidden = nick.value.length > 3 || nick.value === '' };
		mail.oninput = () => { alarm.hidden = mail.value.length > 3 || mail.value === '' }</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	a.Changes()
	write := func(field, text string) { p.Do(chromedp.SendKeys("#"+field, text)) }
	write("nick", "Ad")
	p.WaitUntil(`!hint.hidden`)
	write("nick", "a Lovelace")
	p.JS(`nick.blur()`)
	r := a.ChangesWith(map[string]any{"wait": "settled"})
	t.Log(e2etest.Show(r))
	if r.Severity != report.Clean || len(r.DOM.Flashes) != 1 || len(r.DOM.NewErrorElements) > 0 {
		t.Errorf("%s", e2etest.Show(r))
	}
	write("mail", "ad")
	p.WaitUntil(`!alarm.hidden`)
	write("mail", "a@example.org")
	p.JS(`mail.blur()`)
	if r = a.ChangesWith(map[string]any{"wait": "settled"}); r.Severity != report.Warning || len(r.DOM.NewErrorElements) != 1 {
		t.Errorf("with an alert role: %s", e2etest.Show(r))
	}
	d := a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Name"`), "text": "Ada Byron"})
	t.Logf("\n%s", d)
	e2etest.Intact(t, d)
}

// TestAMessageThatCameAndWentIsInOneAnswer, whether it was visible when the action was answered or not.
func TestAMessageThatCameAndWentIsInOneAnswer(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Brief", `<label>Now <input id="now"></label><p class="error" id="hint" hidden>Too short</p>
		<label>Soon <input id="soon"></label><p class="error" id="check" hidden>Checking the name</p><script>
		const brief = (input, message, ms) => { input.oninput = () => { message.hidden = false; setTimeout(() => { message.hidden = true; window.over = true }, ms) } };
		brief(now, hint, 20); brief(soon, check, 400)</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	for field, message := range map[string]string{"Now": "Too short", "Soon": "Checking the name"} {
		first := a.Whole()
		a.Changes()
		p.JS(`window.over = false`)
		d := a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"`+field+`"`), "text": "Ada"})
		told := strings.Count(e2etest.Said(d.Broke)+e2etest.Said(d.Flashes), message)
		p.WaitUntil(`window.over`)
		r := a.ChangesWith(map[string]any{"wait": "settled"})
		t.Logf("%s\n%s\n%s", field, d, e2etest.Show(r))
		if told += len(r.DOM.Flashes) + len(r.DOM.NewErrorElements) + len(r.Repeated); told != 1 {
			t.Errorf("%s is told %d times", message, told)
		}
	}
}

// TestAPageThatGoesEmptyIsReported until it has content again.
func TestAPageThatGoesEmptyIsReported(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Empty</title><div id="root"><h1>Shop</h1></div><script>
		window.clear = () => root.replaceChildren();
		window.unmount = () => { clear(); setTimeout(() => { throw new Error('render failed') }) };
		window.draw = () => { root.innerHTML = '<h1>Shop</h1>' };
		window.after = (ms) => new Promise((r) => setTimeout(r, ms))</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	changes := func() *report.Report { return a.ChangesWith(map[string]any{"wait": "settled"}) }
	changes()
	p.JS(`clear(); await after(400)`) // longer than a page may be empty between two views
	if r := changes(); r.DOM.PageEmptySince != nil || r.Severity != report.Clean {
		t.Errorf("without an error: %s", e2etest.Show(r))
	}
	p.JS(`draw(); await after(50); unmount(); await after(400)`)
	r := changes()
	t.Log(e2etest.Show(r))
	if r.DOM.PageEmptySince == nil || r.Severity != report.Error || len(r.Console.NewErrors) != 1 {
		t.Errorf("%s", e2etest.Show(r))
	}
	p.JS(`history.pushState({}, '', '?view=2')`)
	if r = changes(); r.DOM.PageEmptySince == nil {
		t.Errorf("another view: %s", e2etest.Show(r))
	}
	p.JS(`draw(); await after(50)`)
	if r = changes(); r.DOM.PageEmptySince != nil {
		t.Errorf("drawn again: %s", e2etest.Show(r))
	}
}

// TestAPageOfWrappersIsEmpty: where its code failed, it left elements without content, or wrote the document again.
func TestAPageOfWrappersIsEmpty(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Empty</title><div id="root"><h1>Shop</h1></div><script>
		window.fail = (how) => { how(); setTimeout(() => { throw new Error('render failed') }) };
		window.after = (ms) => new Promise((r) => setTimeout(r, ms))</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	for _, how := range []string{
		`root.replaceChildren(document.createElement('main'))`,
		`root.innerHTML = '<div class="layout"><header></header><main><ul></ul></main></div>'`,
		`document.body.innerHTML = '<div id="root"><main></main></div>'`,
		`document.open(); document.write('<main></main>'); document.close()`,
	} {
		p.Reload()
		a.ChangesWith(map[string]any{"wait": "settled"})
		p.JS(`await after(1200); fail(() => { ` + how + ` }); await after(500)`)
		if r := a.ChangesWith(map[string]any{"wait": "settled"}); r.DOM.PageEmptySince == nil || r.Severity != report.Error {
			t.Errorf("%s: %s", how, e2etest.Show(r))
		}
	}
}

// TestAPageInAnElementWithoutABoxIsNotEmpty, such as every page of SvelteKit, when its code fails.
func TestAPageInAnElementWithoutABoxIsNotEmpty(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Contents</title><div style="display: contents"><h1>Shop</h1><p id="last">Sale</p></div><script>
		window.fail = () => { last.textContent = ''; setTimeout(() => { throw new Error('render failed') }) };
		window.after = (ms) => new Promise((r) => setTimeout(r, ms))</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	p.JS(`await after(1200); fail(); await after(400)`) // longer than until the page is looked at
	if r := a.ChangesWith(map[string]any{"wait": "settled"}); r.DOM.PageEmptySince != nil || len(r.Console.NewErrors) != 1 {
		t.Errorf("%s", e2etest.Show(r))
	}
}

// TestARequestThatEndsAfterItsActionIsLate in the next answer, and in no other.
func TestARequestThatEndsAfterItsActionIsLate(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Late requests", `<button id="b">Save</button><button id="c">Count</button><p role="status" id="s">0</p><script>
		window.done = 0; b.onclick = () => fetch('/api/save').then((r) => r.text()).then(() => done++); c.onclick = () => { s.textContent += '.' }</script>`)})
	release := make(chan struct{})
	s.Mux.HandleFunc("/api/save", func(http.ResponseWriter, *http.Request) { <-release })
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	click := func(button string) *e2etest.Acted {
		return a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"`+button+`"`)})
	}
	a.Changes()
	d := click("Save")
	e2etest.Holds(t, d.String(), "Pending: GET /api/save")
	release <- struct{}{}
	p.WaitUntil(`window.done === 1`)
	r := a.ChangesWith(map[string]any{"wait": "settled"})
	if len(r.Network.Late) != 1 || r.Network.Late[0].URL != "/api/save" || r.Network.Late[0].Status != 200 {
		t.Errorf("%s", e2etest.Show(r))
	}
	if d = click("Count"); d.Late != nil {
		t.Errorf("again: %s", d)
	}
	click("Save")
	release <- struct{}{}
	p.WaitUntil(`window.done === 2`)
	d = click("Count")
	t.Logf("\n%s", d)
	e2etest.Holds(t, e2etest.Said(late(t, d).Requests), "GET /api/save 200")
	if r = a.ChangesWith(map[string]any{"wait": "settled"}); len(r.Network.Late) > 0 {
		t.Errorf("again: %s", e2etest.Show(r))
	}
}

// TestTheSameRequestManyTimesIsOneLine: of the action that made them, and of the report after they ended.
func TestTheSameRequestManyTimesIsOneLine(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Many requests", `<button id="b">Load</button><script>window.done = 0;
		b.onclick = () => { for (const q of [...Array(14).fill('page=1'), 'page=2']) fetch('/api/items?' + q).then((r) => r.text()).then(() => done++) }</script>`)})
	release := make(chan struct{})
	s.Mux.HandleFunc("/api/items", func(http.ResponseWriter, *http.Request) { <-release })
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	a.Changes()
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Load"`)})
	e2etest.Holds(t, d.String(), "\nPending: GET /api/items?page=1 ×14, GET /api/items?page=2\n")
	close(release)
	p.WaitUntil(`window.done === 15`)
	r := a.ChangesWith(map[string]any{"wait": "settled"})
	// The server answers all at once, so that some may overtake others: those have a line of their own.
	lines, counts := map[string]bool{}, map[string]int{}
	for _, l := range r.Network.Late {
		lines[fmt.Sprint(l.URL, l.Overtaken)] = true
		counts[l.URL] += max(l.Count, 1)
	}
	if len(lines) != len(r.Network.Late) || counts["/api/items?page=1"] != 14 || counts["/api/items?page=2"] != 1 {
		t.Errorf("%s", e2etest.Show(r))
	}
}

// TestTheFirstAnswerHasThatThePageIsEmpty: the one that has the error, without a wait.
func TestTheFirstAnswerHasThatThePageIsEmpty(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Empty</title><div id="root"><h1>Shop</h1></div><script>
		window.unmount = () => { setTimeout(() => { root.replaceChildren(); throw new Error('render failed') }) }</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	for range 3 {
		p.Reload()
		a.ChangesWith(map[string]any{"wait": "settled"})
		p.JS(`unmount()`)
		for {
			r := a.Changes()
			if len(r.Console.NewErrors)+len(r.Repeated) == 0 && t.Context().Err() == nil {
				continue // it has not arrived
			}
			if r.DOM.PageEmptySince == nil {
				t.Errorf("%s", e2etest.Show(r))
			}
			break
		}
	}
}
