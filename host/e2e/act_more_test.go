package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

const todo = `<!doctype html><title>Todos</title><h1>todos</h1><input aria-label="What needs to be done?" id="new"><ul id="list"></ul>
<p id="count">0 items left</p><nav><a href="#/" id="all">All</a> <a href="#/active">Active</a> <a href="#/completed">Completed</a></nav><script>
let items = [];
const draw = () => {
	const shown = items.filter((i) => location.hash === '#/active' ? !i.done : location.hash === '#/completed' ? i.done : true);
	list.replaceChildren(...shown.map((i) => i.row));
	for (const i of items) i.row.querySelector('input').checked = i.done;
	count.textContent = items.filter((i) => !i.done).length + ' items left';
};
document.getElementById('new').onkeydown = (e) => {
	if (e.key !== 'Enter' || !e.target.value) return;
	const row = document.createElement('li'), i = {done: false, row};
	row.innerHTML = '<label><input type="checkbox"> </label><button aria-label="Delete">x</button>';
	row.querySelector('label').append(e.target.value);
	row.querySelector('input').onchange = (c) => { i.done = c.target.checked; draw() };
	items.push(i); e.target.value = ''; draw();
};
onhashchange = draw;
</script>`

// TestATodoListIsWorkedThroughInFewTokens: five things are added, two done, the list filtered, and then it is
// seen whether anything broke.
func TestATodoListIsWorkedThroughInFewTokens(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": todo})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	calls, tokens := 0, 0
	do := func(tool string, args map[string]any) string {
		began := time.Now()
		text := a.do(tool, args)
		n, err := codec.NewO200kBase().Count(text)
		if err != nil {
			t.Fatal(err)
		}
		calls++
		tokens += n
		t.Logf("%s: %d tokens, %s\n%s", tool, n, time.Since(began).Round(time.Millisecond), text)
		return text
	}
	first := do("browser_snapshot", nil)
	added := do("browser_type", map[string]any{"ref": refOf(t, first, "What needs"), "text": []string{"Buy milk", "Feed the cat", "Water plants", "Call Ada", "Sleep"}, "submit": true})
	do("browser_click", map[string]any{"ref": refOf(t, added, `checkbox "Buy milk"`)})
	do("browser_click", map[string]any{"ref": refOf(t, added, `checkbox "Call Ada"`)})
	last := do("browser_click", map[string]any{"ref": refOf(t, first, `"Active"`)})
	do("get_changes_since", map[string]any{"include": []string{"console", "network"}})
	if got := p.text(`list.innerText + count.textContent`); strings.Contains(got, "Buy milk") || !strings.Contains(got, "3 items left") {
		t.Errorf("the page has %s\n%s", got, last)
	}
	t.Logf("%d calls, %d tokens", calls, tokens)
	if calls > 10 || tokens > 700 {
		t.Errorf("%d calls and %d tokens; the budget is 10 and 700", calls, tokens)
	}
}

func TestOneAgentHoldsATab(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<button onclick="this.textContent = 'Bought'">Buy</button>`)})
	a, b := w.of(t, s), w.of(t, s)
	w.open(t, s.URL)
	first, second := a.look(), b.look()
	a.do("browser_click", map[string]any{"ref": refOf(t, first, `"Buy"`)})
	t.Log(b.cannot("browser_click", map[string]any{"ref": refOf(t, second, `"Buy"`)}, usererr.TabInUse, "testbed"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := b.Text("browser_click", map[string]any{"ref": refOf(t, b.look(), `Bought`)}); err == nil {
			break
		} else if time.Since(began) > 10*time.Second {
			t.Fatalf("the tab of an agent that has left is held still: %v", err)
		}
	}
}

func TestAReferenceThatIsStaleNamesItsSuccessor(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<div id="box"><button>Save draft</button></div><script>window.clicked = ''; document.onclick = (e) => { if (e.target.tagName === 'BUTTON') clicked += e.target.textContent + ';' }</script>`)})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	first := a.look()
	p.js(`box.innerHTML = '<p>Saved</p><div><button>Save draft now</button></div>'`)
	holds(t, a.refusal("browser_click", map[string]any{"ref": refOf(t, first, `"Save draft"`)}, protocol.RefusedGone, 0).Refused.Detail, `button "Save draft now" [e`)
	if got := p.text(`clicked`); got != "" {
		t.Errorf("clicked was %s", got)
	}
}

func TestAPageThatHangsIsAnsweredAllTheSame(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<button id="b">Hang</button><button id="c">Other</button><script>b.onclick = () => { const end = performance.now() + 4000; while (performance.now() < end); document.title = 'Back' }</script>`)})
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.look()
	began := time.Now()
	text, err := a.Text("browser_click", map[string]any{"ref": refOf(t, first, `"Hang"`)})
	t.Logf("%s: %s (%v)", time.Since(began), text, err)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the answer came after %s", took)
	}
}

func TestAnElementThatMovesIsWaitedFor(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<style>@keyframes slide { from { transform: translateX(0) } to { transform: translateX(400px) } } #m { animation: slide 700ms forwards linear; position: relative } #e { animation: slide 300ms infinite alternate linear }</style>
		<button id="m" onclick="this.textContent = 'Caught'">Moving</button><br><button id="e" onclick="this.textContent = 'Caught too'">Endless</button><button id="late" disabled onclick="this.textContent = 'On'">Late</button><script>setTimeout(() => late.disabled = false, 800)</script>`)})
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.look()
	holds(t, a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Moving"`)}).Page, "Caught")
	holds(t, a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Late"`)}).Page, `"On"`)
	a.refusal("browser_click", map[string]any{"ref": refOf(t, first, `"Endless"`)}, protocol.RefusedMoving, 0)
}

func TestTabsAreOpenedShownAndClosed(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/{$}": store("One", ``), "/two": store("Two", `<button>Second</button>`),
		"/unsaved": store("Unsaved", `<a href="/two" target="_blank" onclick="window.dirty = 1">Other tab</a><script>onbeforeunload = (e) => { if (window.dirty) e.preventDefault() }</script>`),
	})
	a := w.of(t, s)
	w.open(t, s.URL)
	first := a.do("browser_tabs", nil)
	opened := a.do("browser_tabs", map[string]any{"action": "new", "url": s.URL + "/two"})
	holds(t, opened, s.URL+`/two"`, `"current":true`)
	holds(t, a.look(), `button "Second"`)
	lacks(t, a.do("browser_tabs", map[string]any{"action": "close"}), "/two")
	lacks(t, first, "/two")
	lacks(t, a.cannot("browser_tabs", map[string]any{"action": "new", "url": "chrome://settings"}, usererr.InvalidArgument, "http or https"), "back")
	// A page that asks whether it is to be left is told of at once.
	a.do("browser_tabs", map[string]any{"action": "new", "url": s.URL + "/unsaved"})
	d := a.act("browser_click", map[string]any{"ref": refOf(t, a.look(), `"Other tab"`)})
	if len(d.Opened) != 1 || d.Opened[0].ID == 0 || d.Opened[0].URL != s.URL+"/two" {
		t.Errorf("opened %+v", d.Opened)
	}
	began := time.Now()
	a.cannot("browser_tabs", map[string]any{"action": "close"}, usererr.ActionRefused, "is still open", "asks whether to leave it", "browser_handle_dialog")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
	a.do("browser_handle_dialog", map[string]any{"accept": true})
	lacks(t, a.do("browser_tabs", nil), "/unsaved")
}

// TestAnAnswerThatThePageDoesNotReadIsNotWaitedFor: many pages look at the status alone.
func TestAnAnswerThatThePageDoesNotReadIsNotWaitedFor(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/{$}": store("Shop", `<button onclick="fetch('/api', {method: 'POST'}).then((r) => said.textContent = 'saved ' + r.status)">Save</button><p role="status" id="said">-</p>`),
		"/api": `{"items": [` + strings.Repeat(`"a long answer",`, 200) + `1]}`,
	})
	a := w.of(t, s)
	w.open(t, s.URL)
	ref := refOf(t, a.look(), `"Save"`)
	began := time.Now()
	holds(t, a.act("browser_click", map[string]any{"ref": ref}).Page, `"saved 200"`)
	if took := time.Since(began); took > 1500*time.Millisecond {
		t.Errorf("it took %s", took)
	}
}

// TestAPageThatHangsIsToldSoInTime: one in an endless loop, which the browser does not leave either.
func TestAPageThatHangsIsToldSoInTime(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/{$}":  store("Hangs", `<button onclick="for (;;);">Hang</button><button>Other</button>`),
		"/next": store("Next", `<button onclick="this.textContent = 'Clicked'">Click</button>`),
	})
	a := w.of(t, s)
	first := a.do("browser_navigate", map[string]any{"url": s.URL}) // in a tab that no test's debugger holds
	within := func(most time.Duration, do func() string) {
		t.Helper()
		began := time.Now()
		said := do()
		took := time.Since(began)
		t.Logf("%s: %s", took.Round(time.Millisecond), said)
		if took > most {
			t.Errorf("it took %s: %s", took, said)
		}
	}
	hangs := func(tool string, args map[string]any, reason string, parts ...string) string {
		t.Helper()
		d := a.refusal(tool, args, reason, 0)
		holds(t, d.Refused.Detail, parts...)
		if !d.Refused.Busy {
			t.Errorf("the page is not said to be busy: %s", d)
		}
		return d.String()
	}
	within(10*time.Second, func() string {
		d := a.act("browser_click", map[string]any{"ref": refOf(t, first, `"Hang"`)})
		if !d.Busy {
			t.Errorf("the page is not said to be busy: %s", d)
		}
		return d.String()
	})
	within(6*time.Second, func() string {
		return hangs("browser_click", map[string]any{"ref": refOf(t, first, `"Other"`)}, protocol.RefusedFailed, "the page does not answer")
	})
	for _, to := range []string{s.URL + "/next", "reload"} {
		within(9*time.Second, func() string {
			return hangs("browser_navigate", map[string]any{"url": to}, protocol.RefusedLoad, "hangs", "cannot be left", "browser_tabs")
		})
	}
	// The browser is on its way to another page now, and never leaves this one.
	for _, c := range []struct {
		tool string
		args map[string]any
		most time.Duration
	}{
		{"browser_press_key", map[string]any{"key": "Enter"}, 6 * time.Second},
		{"browser_click", map[string]any{"ref": refOf(t, first, `"Other"`)}, 6 * time.Second},
		{"browser_wait_for", map[string]any{"text": "never", "timeout_ms": 1000}, 2500 * time.Millisecond},
		{"browser_wait_for", map[string]any{"settled": true, "timeout_ms": 1000}, 3500 * time.Millisecond},
		{"browser_wait_for", map[string]any{"ref": refOf(t, first, `"Other"`), "timeout_ms": 1000}, 3500 * time.Millisecond},
		{"browser_screenshot", nil, 6 * time.Second},
	} {
		within(c.most, func() string { return hangs(c.tool, c.args, protocol.RefusedFailed, "page does not answer") })
	}
	within(8*time.Second, func() string {
		return a.cannot("browser_snapshot", nil, usererr.PageUnavailable, "page does not answer", "browser_tabs")
	})
	within(9*time.Second, func() string { return a.do("browser_tabs", map[string]any{"action": "close"}) })
	within(9*time.Second, func() string {
		d := a.do("browser_navigate", map[string]any{"url": s.URL + "/next"})
		holds(t, a.act("browser_click", map[string]any{"ref": refOf(t, d, `"Click"`)}).Page, "Clicked")
		return d
	})
	a.do("browser_tabs", map[string]any{"action": "close"})
}
