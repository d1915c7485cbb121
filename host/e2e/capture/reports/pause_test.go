package reports

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// TestWatchingIsPausedAndResumed pauses in the popup: what happens meanwhile is a gap, and is never told. What came
// before keeps the names of its tabs.
func TestWatchingIsPausedAndResumed(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.SeparateWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage, "/second": strings.Replace(e2etest.BlankPage, "<title>page", "<title>The second", 1)})
	a := w.NewAgent(t)
	p := w.Open(t, s.URL)
	second := w.Open(t, s.URL+"/second")
	p.JS(`console.error('before the pause')`)
	second.JS(`console.error('before the pause')`)
	a.Changes()
	popup := &e2etest.Viewer{Tab: w.Open(t, installer.Origin+"popup/index.html")}
	popup.JS(`await press('Pause'); await until(() => says('Watching is paused') && button('Resume'), 'that it is paused');
await until(() => document.querySelector('.now.unknown'), 'that nobody can say how it stands')`)
	for _, theme := range []string{"light", "dark"} {
		popup.SetTheme(theme)
		popup.CheckAccessible("the popup while watching is paused, " + theme)
	}
	d := e2etest.Dashboard(t, w, w.World)
	d.WaitForText("Watching is paused")
	d.CheckAccessible("the dashboard while watching is paused")
	d.JS(e2etest.ViewerHelp + `
const named = (tag) => [...document.querySelectorAll(tag)].map((e) => e.textContent + ' ' + e.title).join();
await until(() => /tab \d page/.test(named('.line .tab-name')) && /tab \d The second/.test(named('.line .tab-name')), 'the names of both tabs at entries');
await until(() => /The second/.test(named('.tab-select option')), 'both tabs in the list');
const gaps = [...document.querySelectorAll('.coverage li')].map((li) => li.textContent).filter((text) => /paused/.test(text));
if (gaps.length !== 1 || !/tabs \d+, \d+/.test(gaps[0])) throw new Error('what was not observed reads ' + JSON.stringify(gaps));`)
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return !strings.Contains(w.Run("status", "--json").Out, `"watched":true`), nil
	}); err != nil {
		t.Fatal(err)
	}
	p.JS(`console.error('while it was paused')`)
	popup.JS(`await press('Resume'); await until(() => !says('Watching is paused'), 'that it goes on')`)
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return strings.Contains(w.Run("status", "--json").Out, `"watched":true`), nil
	}); err != nil {
		t.Fatal(err)
	}
	p.JS(`console.error('after it was resumed')`)
	r := a.Changes()
	if text := e2etest.Show(r); strings.Contains(text, "while it was paused") || !strings.Contains(text, "after it was resumed") || !strings.Contains(text, `"paused"`) {
		t.Errorf("%s", text)
	}
}
