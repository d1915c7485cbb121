package hooks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// lazy is a session in a Vite application with a button that loads a module, which imports another one. No page has loaded either.
type lazy struct {
	*session
	app  *devApp
	page *e2etest.Tab
}

func startLazy(t *testing.T, name string) *lazy {
	t.Helper()
	app := startVite(t)
	app.Write("src/stats.js", "export const sum = (list) =>\n  list.reduce((a, b) => a + b, 0);\n")
	app.Write("src/route.js", "import { sum } from './stats.js';\n\nexport const show = () => (document.title = 'Sum ' + sum([1, 2]));\n")
	app.Edit("index.html", `<div id="app">`, `<button id="stats">Stats</button><div id="app">`)
	app.Edit("src/main.js", "show(App);", "show(App);\ndocument.getElementById('stats').onclick = async () => (await import('./route.js')).show();")
	l := &lazy{&session{t: t, w: e2etest.SharedWorld(t), id: name + app.URL, dir: app.Dir}, app, nil}
	l.records()
	l.page = app.opens(l.session)
	return l
}

// clicks clicks the button, and returns the changes that are named once an answer has a text, and the answer.
func (l *lazy) clicks(has string) (found []report.Introduced, answer string) {
	l.t.Helper()
	since := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	l.page.Do(chromedp.Click("#stats"))
	if err := testbed.Eventually(l.t.Context(), func() (bool, error) {
		answer = l.w.RunIn(l.dir, "changes", "--since", since, "--wait", "settled", "--json").Out
		found = introduced(l.t, answer)
		return strings.Contains(answer, has), nil
	}); err != nil {
		l.t.Fatalf("%s is not reported: %v, %s", has, err, answer)
	}
	return found, answer
}

// last returns the newest moment.
func (l *lazy) last() string {
	l.t.Helper()
	var list struct{ Moments []struct{ ID string } }
	if err := json.Unmarshal([]byte(l.w.RunIn(l.dir, "timeline", "list", "--json").Out), &list); err != nil || len(list.Moments) == 0 {
		l.t.Fatal(err, list)
	}
	return list.Moments[len(list.Moments)-1].ID
}

// regression returns what broke the page since a moment.
func (l *lazy) regression(from string) (a regression.Regression) {
	l.t.Helper()
	r := l.w.RunIn(l.dir, "timeline", "find-regression", from, "--json")
	if err := json.Unmarshal([]byte(r.Out), &a); r.Code != 0 || err != nil {
		l.t.Fatalf("exit %d, %v: %s%s", r.Code, err, r.Out, r.Err)
	}
	return a
}

// restarts ends the server and starts it again, and waits until the page has loaded itself.
func (l *lazy) restarts() {
	l.t.Helper()
	l.page.JS(`window.former = true`)
	l.app.Restart()
	if err := testbed.Eventually(l.t.Context(), func() (bool, error) {
		return l.page.Tab.JS(`if (window.former || !document.querySelector('li')) throw new Error('not yet')`) == nil, nil
	}); err != nil {
		l.t.Fatalf("the page does not load itself: %v", err)
	}
}

// TestAModuleThatIsFirstLoadedAfterItsEdit: Vite's server does not know a file that no page has asked for, and sends no update. A page
// that loads it later has the edit, and fails in its line. So it is after the server was started again, also if the browser has the
// same answer from before. The hook of the edit that repairs it says that the page broke before.
func TestAModuleThatIsFirstLoadedAfterItsEdit(t *testing.T) {
	l := startLazy(t, "lazy")
	for _, restarted := range []bool{false, true} {
		if restarted {
			l.restarts()
		}
		last := l.last()
		l.app.Edit("src/stats.js", "b, 0)", "b, 1)")
		l.edited("src/stats.js")
		l.app.Edit("src/stats.js", "b, 1)", "b, 0)")
		l.edited("src/stats.js")
		l.app.Edit("src/stats.js", "b, 0)", "b.k.y, 0)")
		if said := l.edited("src/stats.js"); said != "" {
			t.Errorf("no page has it: %s", said)
		}
		found, answer := l.clicks("reading 'y'")
		if len(found) != 1 || found[0].Path != "src/stats.js" || found[0].Line != 2 || found[0].Moment != l.last() || !slices.Contains(found[0].Evidence, "stack") {
			t.Errorf("restarted %v: %+v: %s", restarted, found, answer)
		}
		if a := l.regression(last); a.Verdict != regression.Found || a.IntroducedBy == nil || a.IntroducedBy.Path != "src/stats.js" {
			t.Errorf("restarted %v: %+v %+v", restarted, a, a.IntroducedBy)
		}
		broke := l.last()
		l.app.Edit("src/stats.js", "b.k.y, 0)", "b, 0)")
		if said := l.edited("src/stats.js"); !strings.Contains(said, "broke before this edit") || !strings.Contains(said, ", after src/stats.js:2 ("+broke+")") {
			t.Errorf("restarted %v, and repaired after the click: %s", restarted, said)
		}
	}
}

// TestAMissingModuleNamesItsRemoval: the page asks for a file that was removed.
func TestAMissingModuleNamesItsRemoval(t *testing.T) {
	l := startLazy(t, "missing")
	l.clicks(`"type":"click"`)
	l.app.reload(l.page)
	l.app.shows(l.page)
	l.edited("src/stats.js")
	last := l.last()
	if err := os.Remove(filepath.Join(l.dir, "src/stats.js")); err != nil {
		t.Fatal(err)
	}
	l.edited("src/stats.js")
	found, answer := l.clicks("dynamically imported module")
	if len(found) != 2 {
		t.Errorf("the request and what was thrown do not each name a change: %s", answer)
	}
	for _, by := range found {
		if by.Path != "src/stats.js" || by.Moment != l.last() || !slices.Contains(by.Evidence, "stack") {
			t.Errorf("%+v: %s", by, answer)
		}
	}
	if a := l.regression(last); a.Verdict != regression.Found || a.IntroducedBy == nil || a.IntroducedBy.Path != "src/stats.js" {
		t.Errorf("%+v %+v", a, a.IntroducedBy)
	}
}
