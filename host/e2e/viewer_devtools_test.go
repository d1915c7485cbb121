package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// inspected is a page in a browser of its own, with the real DevTools open and Tidemark's panel in it.
type inspected struct {
	*world
	page *tab
	// tools is the document of DevTools, panel that of Tidemark's panel.
	tools, panel context.Context
}

// inspect opens the DevTools of a site's page, and Tidemark's panel there.
func inspect(t *testing.T, s *site) *inspected {
	t.Helper()
	needBrowser(t)
	w := emptyWorld(t)
	dir, err := w.Extension()
	if err != nil {
		t.Fatal(err)
	}
	b, err := browser.Launch(context.Background(), browser.Options{
		Headless: true, ExtensionDir: dir, Binary: w.Binary, Way: w.Way, Notes: io.Discard,
		Env: []string{"TIDEMARK_HOME=" + w.Home}, ExtraArgs: []string{"--auto-open-devtools-for-tabs"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Browser = b
	if err := chromedp.Do(b.Context()); err != nil {
		t.Fatal(err)
	}
	in := &inspected{world: w, page: &tab{t, &testbed.Tab{Ctx: b.Context()}}}
	in.page.do(chromedp.Navigate(s.URL))
	in.tools = attach(t, b, "DevTools of the page", func(info *target.Info) bool {
		return strings.HasPrefix(info.URL, "devtools://")
	})
	// DevTools is not ready at once, and hears of the panel some time after.
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return chromedp.Run(in.tools, chromedp.Evaluate[bool](`(async () => {
const { ViewManager } = await import('./ui/legacy/legacy.js');
try {
	const manager = ViewManager.ViewManager.instance();
	const id = [...manager.views.keys()].find((key) => key.startsWith('chrome-extension'));
	if (id === undefined) return false;
	await manager.showView(id);
	return true;
} catch { return false; }
})()`, chromedp.EvalAwaitPromise))
	}); err != nil {
		t.Fatalf("the panel is not in DevTools: %v", err)
	}
	in.panel = attach(t, b, "Tidemark's panel", func(info *target.Info) bool {
		return info.URL == installer.Origin+"panel/index.html"
	})
	run(in.panel, t, viewerHelp+`
await until(() => document.querySelector('.report'), 'a report');
if (document.querySelector('.tab-select').value === '0') await until(() => document.querySelector('.tab-select').value !== '0', 'the inspected tab');`)
	return in
}

// TestThePanelIsInDevTools opens Tidemark's panel in the real DevTools window of a page.
func TestThePanelIsInDevTools(t *testing.T) {
	s := newBasket(t)
	in := inspect(t, s.site)
	s.status.Store(500)
	in.page.js(`document.getElementById('pay').click()`)
	run(in.panel, t, viewerHelp+`
await until(() => says('1 failed request') && says('the cart cannot be read'), 'what happened');
await until(() => document.querySelector('button.source'), 'a source');
document.querySelector('button.source').click();`)
	run(in.tools, t, `
const until = async (holds) => { for (let i = 0; i < 500; i++) { if (holds()) return; await new Promise((done) => setTimeout(done, 20)); } throw new Error('the Sources panel does not open'); };
const { ViewManager } = await import('./ui/legacy/legacy.js');
await until(() => ViewManager.ViewManager.instance().isViewVisible('sources'));`)
}

// TestThePanelOutsideOfDevToolsSaysWhereItBelongs to whoever opens it by its address.
func TestThePanelOutsideOfDevToolsSaysWhereItBelongs(t *testing.T) {
	w := shared.get(t)
	p := w.open(t, installer.Origin+"panel/index.html")
	p.see("on the page that you want to inspect")
	p.see("“Open viewer”")
	for _, theme := range []string{"light", "dark"} {
		p.theme(theme)
		p.accessible("the panel outside of DevTools, " + theme)
	}
}

// TestThePanelFollowsTheThemeOfDevTools, and axe-core finds nothing in it either way.
func TestThePanelFollowsTheThemeOfDevTools(t *testing.T) {
	axe, err := os.ReadFile("../../node_modules/axe-core/axe.min.js")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("axe-core is not installed; npm ci")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newBasket(t)
	in := inspect(t, s.site)
	s.status.Store(500)
	in.page.js(`document.getElementById('pay').click()`)
	run(in.panel, t, viewerHelp+`await until(() => says('1 failed request'), 'what happened')`)
	for theme, ground := range map[string]string{"dark": "dark", "default": "light"} {
		run(in.tools, t, `
const { Settings } = await import('./core/common/common.js');
Settings.Settings.instance().moduleSetting('ui-theme').set('`+theme+`')`)
		run(in.panel, t, viewerHelp+`
const light = () => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]) > 128;
await until(() => light() === (`+strconv.Quote(ground)+` === 'light'), 'a `+ground+` panel');
`+string(axe)+`
const found = (await axe.run(document)).violations.map((v) => [v.id, v.nodes.map((n) => n.html + ' ' + n.failureSummary)]);
if (found.length > 0) throw new Error(JSON.stringify(found));`)
	}
}

// attach attaches to a target of the browser, once it is there.
func attach(t *testing.T, b *browser.Browser, what string, is func(*target.Info) bool) context.Context {
	t.Helper()
	var found target.ID
	err := testbed.Eventually(t.Context(), func() (bool, error) {
		infos, err := chromedp.CallBrowser(b.Context(), target.GetTargets, target.GetTargetsParams{})
		if err != nil {
			return false, err
		}
		seen := []string{}
		for _, info := range infos.TargetInfos {
			seen = append(seen, info.Type+" "+info.URL)
			if is(info) {
				found = info.TargetID
				return true, nil
			}
		}
		return false, fmt.Errorf("there are %s", strings.Join(seen, ", "))
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	ctx, cancel := chromedp.NewContext(b.Context(), chromedp.WithTargetID(found))
	t.Cleanup(cancel)
	// The session lives as long as the context of the first command does.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return ctx
}

func run(ctx context.Context, t *testing.T, script string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, testbed.Patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void]("(async () => {"+script+"\n})()", chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheViewersPagesAreAccessible has axe-core look at every view, light and dark.
func TestTheViewersPagesAreAccessible(t *testing.T) {
	w := shared.get(t)
	axe, err := os.ReadFile("../../node_modules/axe-core/axe.min.js")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("axe-core is not installed; npm ci")
	}
	if err != nil {
		t.Fatal(err)
	}
	b := newBasket(t)
	a := w.of(t, b.site)
	p := w.open(t, b.URL)
	p.js(`await load(); deprecated()`)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "session_start", "note": "a note"}, &struct{}{})
	b.status.Store(500)
	p.js(`document.getElementById('pay').click()`)
	a.changes()
	v := w.view(t, b.site)
	v.shows("failed request")
	popup := &viewer{w.open(t, installer.Origin+"popup/index.html")}
	popup.js(`await until(() => says('Connected'), 'the connection')`)
	look := func(what string, of *tab, width int64) {
		t.Helper()
		for _, dark := range []bool{false, true} {
			if _, err := shot(of.Ctx, width, 800, dark); err != nil {
				t.Fatal(err)
			}
			of.js("if (!globalThis.axe) { " + string(axe) + "\n}")
			found := of.textOf(`axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.help, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + ' ' + n.failureSummary)])))`)
			if found != "[]" {
				t.Errorf("%s, dark: %v: %s", what, dark, found)
			}
		}
	}
	v.js(`document.querySelector('.line .opener:enabled').click(); await until(() => document.querySelector('.occurrence'), 'an occurrence')`)
	look("changes", v.tab, 1200)
	look("side panel", v.tab, 400)
	for _, section := range []string{"Events", "Agent calls", "Page"} {
		name, err := json.Marshal(section)
		if err != nil {
			t.Fatal(err)
		}
		v.js(`await press(` + string(name) + `); await until(() => document.querySelector('.event, .call, .tree li'), 'something')`)
		look(section, v.tab, 1200)
	}
	look("popup", popup.tab, 380)

	// Variables, as far as a keyboard gets in them.
	vs := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": retrying})
	d := w.debugs(t, vs)
	d.stop(w.open(t, vs.URL), "go()")
	d.take(map[string]any{"depth": 2})
	d.on()
	d.take(map[string]any{"depth": 2})
	v = w.view(t, vs)
	v.js(`await press('Variables'); await until(() => document.querySelectorAll('[role=treeitem]').length > 5, 'a tree'); document.querySelector('[role=treeitem]').focus()`)
	look("variables", v.tab, 1200)
	look("variables in the side panel", v.tab, 400)
	v.do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	at := v.text(`document.activeElement.textContent`)
	v.do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft))
	if back := v.text(`document.activeElement.textContent`); at == back || back == "" {
		t.Errorf("the keys lead from %q to %q", at, back)
	}
	d.debugger("debugger_resume", nil)
}

// textOf evaluates an expression that is a promise of a text.
func (p *tab) textOf(expression string) string {
	p.t.Helper()
	text, err := chromedp.Run(p.Ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// TestWatchingIsPausedAndResumed pauses in the popup: what happens meanwhile is a gap, and is never told. What came
// before keeps the names of its tabs.
func TestWatchingIsPausedAndResumed(t *testing.T) {
	needBrowser(t)
	w := separateWorld(t)
	s := newSite(t, map[string]string{"/{$}": blank, "/second": strings.Replace(blank, "<title>page", "<title>The second", 1)})
	a := w.agent(t)
	p := w.open(t, s.URL)
	second := w.open(t, s.URL+"/second")
	p.js(`console.error('before the pause')`)
	second.js(`console.error('before the pause')`)
	a.changes()
	popup := &viewer{w.open(t, installer.Origin+"popup/index.html")}
	popup.js(`await press('Pause'); await until(() => says('Watching is paused') && button('Resume'), 'that it is paused');
await until(() => document.querySelector('.now.unknown'), 'that nobody can say how it stands')`)
	for _, theme := range []string{"light", "dark"} {
		popup.theme(theme)
		popup.accessible("the popup while watching is paused, " + theme)
	}
	d := dashboard(t, w, w.World)
	d.see("Watching is paused")
	d.accessible("the dashboard while watching is paused")
	d.js(viewerHelp + `
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
	p.js(`console.error('while it was paused')`)
	popup.js(`await press('Resume'); await until(() => !says('Watching is paused'), 'that it goes on')`)
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return strings.Contains(w.Run("status", "--json").Out, `"watched":true`), nil
	}); err != nil {
		t.Fatal(err)
	}
	p.js(`console.error('after it was resumed')`)
	r := a.changes()
	if text := show(r); strings.Contains(text, "while it was paused") || !strings.Contains(text, "after it was resumed") || !strings.Contains(text, `"paused"`) {
		t.Errorf("%s", text)
	}
}
