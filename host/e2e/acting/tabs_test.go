package acting

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/tiktoken-go/tokenizer/codec"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
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
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": todo})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	calls, tokens := 0, 0
	do := func(tool string, args map[string]any) string {
		began := time.Now()
		text := a.Do(tool, args)
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
	added := do("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, "What needs"), "text": []string{"Buy milk", "Feed the cat", "Water plants", "Call Ada", "Sleep"}, "submit": true})
	do("browser_click", map[string]any{"ref": e2etest.RefOf(t, added, `checkbox "Buy milk"`)})
	do("browser_click", map[string]any{"ref": e2etest.RefOf(t, added, `checkbox "Call Ada"`)})
	last := do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Active"`)})
	do("get_changes_since", map[string]any{"include": []string{"console", "network"}})
	if got := p.Text(`list.innerText + count.textContent`); strings.Contains(got, "Buy milk") || !strings.Contains(got, "3 items left") {
		t.Errorf("the page has %s\n%s", got, last)
	}
	t.Logf("%d calls, %d tokens", calls, tokens)
	if calls > 10 || tokens > 700 {
		t.Errorf("%d calls and %d tokens; the budget is 10 and 700", calls, tokens)
	}
}

// TestAnActionOnATabThatIsBeingClosedSaysSo, whether the host knows of the end yet or not.
func TestAnActionOnATabThatIsBeingClosedSaysSo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button>Buy</button>`)})
	a := w.AgentOf(t, s)
	for range 5 {
		p := w.Open(t, s.URL)
		id := chromedp.FromContext(p.Ctx).Target.TargetID
		page := a.Do("browser_snapshot", nil)
		args := map[string]any{"ref": e2etest.RefOf(t, page, `"Buy"`)}
		args["tab"] = a.Act("browser_hover", args).Tab
		closed := make(chan error, 1)
		go func() {
			_, err := chromedp.CallBrowser(w.Browser.Context(), target.CloseTarget, target.CloseTargetParams{TargetID: id})
			closed <- err
		}()
		for i := 0; ; i++ {
			_, err := a.Text("browser_hover", args)
			if i == 0 && <-closed != nil {
				t.Fatal("the tab is not closed")
			}
			if err != nil {
				e2etest.Coded(t, err, usererr.TabClosed, "was closed. browser_tabs lists the open ones.")
				break
			}
		}
	}
}

func TestOneAgentHoldsATab(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button onclick="this.textContent = 'Bought'">Buy</button>`)})
	a, b := w.AgentOf(t, s), w.AgentOf(t, s)
	w.Open(t, s.URL)
	first, second := a.Look(), b.Look()
	a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Buy"`)})
	t.Log(b.Cannot("browser_click", map[string]any{"ref": e2etest.RefOf(t, second, `"Buy"`)}, usererr.TabInUse, "testbed"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	bought := e2etest.RefOf(t, b.Look(), `Bought`)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := b.Text("browser_click", map[string]any{"ref": bought}); err == nil {
			break
		} else if time.Since(began) > testbed.Patience {
			t.Fatalf("the tab of an agent that has left is held still: %v", err)
		}
	}
}

func TestAReferenceThatIsStaleNamesItsSuccessor(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<div id="box"><button>Save draft</button></div><script>window.clicked = ''; document.onclick = (e) => { if (e.target.tagName === 'BUTTON') clicked += e.target.textContent + ';' }</script>`)})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	p.JS(`box.innerHTML = '<p>Saved</p><div><button>Save draft now</button></div>'`)
	e2etest.Holds(t, a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Save draft"`)}, protocol.RefusedGone, 0).Refused.Detail, `button "Save draft now" [e`)
	if got := p.Text(`clicked`); got != "" {
		t.Errorf("clicked was %s", got)
	}
}

func TestAnElementThatMovesIsWaitedFor(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<style>@keyframes slide { from { transform: translateX(0) } to { transform: translateX(400px) } } #m { animation: slide 700ms forwards linear; position: relative } #e { animation: slide 4s infinite linear }</style>
		<button id="m" onclick="this.textContent = 'Caught'">Moving</button><br><button id="e" onclick="this.textContent = 'Caught too'">Endless</button><button id="late" disabled onclick="this.textContent = 'On'">Late</button><script>setTimeout(() => late.disabled = false, 800)</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Moving"`)}).Page, "Caught")
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Late"`)}).Page, `"On"`)
	a.Refusal("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Endless"`)}, protocol.RefusedMoving, 0)
}

func TestTabsAreOpenedShownAndClosed(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("One", ``), "/two": e2etest.StorePage("Two", `<button>Second</button>`),
		"/unsaved": e2etest.StorePage("Unsaved", `<a href="/two" target="_blank" onclick="window.dirty = 1">Other tab</a><script>onbeforeunload = (e) => { if (window.dirty) e.preventDefault() }</script>`),
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Do("browser_tabs", nil)
	opened := a.Do("browser_tabs", map[string]any{"action": "new", "url": s.URL + "/two"})
	e2etest.Holds(t, opened, s.URL+`/two"`, `"current":true`)
	e2etest.Holds(t, a.Look(), `button "Second"`)
	e2etest.Lacks(t, a.Do("browser_tabs", map[string]any{"action": "close"}), "/two")
	e2etest.Lacks(t, first, "/two")
	e2etest.Lacks(t, a.Cannot("browser_tabs", map[string]any{"action": "new", "url": "chrome://settings"}, usererr.InvalidArgument, "http or https"), "back")
	// A page that asks whether it is to be left is told of at once.
	a.Do("browser_tabs", map[string]any{"action": "new", "url": s.URL + "/unsaved"})
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"Other tab"`)})
	if len(d.Opened) != 1 || d.Opened[0].ID == 0 || d.Opened[0].URL != s.URL+"/two" {
		t.Errorf("opened %+v", d.Opened)
	}
	a.Cannot("browser_tabs", map[string]any{"action": "close"}, usererr.ActionRefused, "is still open", "asks whether to leave it", "browser_handle_dialog")
	a.Do("browser_handle_dialog", map[string]any{"accept": true})
	e2etest.Lacks(t, a.Do("browser_tabs", nil), "/unsaved")
}
