package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// dashboard opens the dashboard of a home in a browser's tab, as `tidemark open` would.
func dashboard(t *testing.T, in *world, of *testbed.World) *tab {
	t.Helper()
	r := of.Run("open", "--print")
	if r.Code != 0 {
		t.Fatal(r.Err)
	}
	return in.open(t, strings.TrimSpace(r.Out))
}

// see waits until the page holds a text.
func (p *tab) see(text string) {
	p.t.Helper()
	if err := testbed.Eventually(context.Background(), func() (bool, error) {
		return strings.Contains(p.text("document.body.innerText"), text), nil
	}); err != nil {
		p.t.Fatalf("%q is not seen: %v in\n%s", text, err, p.text("document.body.innerText"))
	}
}

// theme has the page be shown light or dark.
func (p *tab) theme(name string) {
	p.t.Helper()
	p.do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return chromedp.Void{}, err
	})
}

// accessible runs axe-core over the page.
func (p *tab) accessible(what string) {
	p.t.Helper()
	axe, err := os.ReadFile("../../node_modules/axe-core/axe.min.js")
	if err != nil {
		p.t.Skip(err)
	}
	p.js(string(axe) + "\n;window.axeFound = JSON.stringify((await axe.run(document)).violations.map((v) => [v.id, v.nodes.map((n) => n.html + ' ' + n.failureSummary)]));")
	if found := p.text("window.axeFound"); found != "[]" {
		p.t.Errorf("%s: axe-core finds %s", what, found)
	}
}

// TestTheDashboardShowsASession walks through a review: what the agent's session did to the page, live and
// afterwards, in a browser tab that has nothing but an address from `tidemark open`.
func TestTheDashboardShowsASession(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": blank})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "dashboard_start"}, &struct{}{})
	p.js(`console.warn('a new deprecation notice')`)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "after_dashboard_refactor"}, &struct{}{})

	d := dashboard(t, w, w.World)
	d.see("dashboard_start")
	d.see("after_dashboard_refactor")
	if hash := d.text("location.hash"); hash != "" {
		t.Errorf("the code is still in the address: %s", hash)
	}

	// What happens in the page is seen as it happens; what the page writes is text.
	p.js(`
console.error('broken <img src=x onerror="window.top.pwned = 1"> </script><script>pwned = 1</script> \u202Egnp.exe \x1b[31mred');
await fetch('/api/<b>bold</b>').catch(() => undefined);`)
	d.see(`broken <img src=x onerror="window.top.pwned = 1">`)
	if got := d.text(`String(window.pwned) + document.querySelectorAll('img[src="x"], main script, main b').length + /[\u202e\u001b]/.test(document.body.innerText)`); got != "undefined0false" {
		t.Errorf("page text became something else: %s", got)
	}
	d.js(`window.violations = await new Promise((done) => { const seen = []; new ReportingObserver((list) => seen.push(...list), {types: ['csp-violation'], buffered: true}).observe(); setTimeout(() => done(seen.map((r) => JSON.stringify(r.body)).join()), 50); });`)
	if got := d.text("window.violations"); got != "" {
		t.Errorf("the dashboard does what its policy forbids: %s", got)
	}
	for _, theme := range []string{"light", "dark"} {
		d.theme(theme)
		d.accessible("the dashboard, " + theme)
	}

	// Its own page is watched by nobody.
	var st struct {
		Browsers []struct {
			Tabs []struct {
				URL     string
				Watched bool
			}
		}
	}
	if err := json.Unmarshal([]byte(w.Run("status", "--json").Out), &st); err != nil {
		t.Fatal(err)
	}
	for _, b := range st.Browsers {
		for _, tab := range b.Tabs {
			if tab.Watched && strings.Contains(tab.URL, "tidemark-dashboard") {
				t.Errorf("the dashboard watches itself: %+v", tab)
			}
		}
	}

	// Reloaded, the tab is still signed in; another tab is not.
	d.reload()
	d.see("dashboard_start")
	other := w.open(t, d.text("location.href"))
	other.see("tidemark open")
	for _, theme := range []string{"light", "dark"} {
		other.theme(theme)
		other.accessible("without a session, " + theme)
	}
}

// TestTheDashboardOutlivesTheDaemon: while none runs it says so and keeps what it shows; it goes on by itself with
// the next; and when the session has ended it says how to get another.
func TestTheDashboardOutlivesTheDaemon(t *testing.T) {
	w := shared.get(t)
	home := emptyWorld(t)
	run := func(args ...string) {
		t.Helper()
		if r := home.Run(args...); r.Code != 0 {
			t.Fatalf("%s: %s", args, r.Err)
		}
	}
	run("checkpoint", "add", "before_stop")
	d := dashboard(t, w, home.World)
	d.see("before_stop")
	run("stop")
	d.see("Tidemark is not running")
	d.see("before_stop")
	d.js(`const live = document.querySelector('.live').getAttribute('aria-pressed'); if (live !== 'false') throw new Error('it is said to be live: ' + live)`)
	run("checkpoint", "add", "after_stop")
	d.see("after_stop")
	if strings.Contains(d.text("document.body.innerText"), "Tidemark is not running") {
		t.Error("it is still said that Tidemark does not run")
	}

	run("stop")
	if err := os.Remove(filepath.Join(home.Home, "token")); err != nil {
		t.Fatal(err)
	}
	run("status")
	d.see("sign-in has ended")
	d.see("tidemark open")
	d.accessible("when the sign-in has ended")
	again := dashboard(t, w, home.World)
	again.see("after_stop")
}
