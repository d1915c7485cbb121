package viewer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestTheDashboardShowsASession walks through a review: what the agent's session did to the page, live and
// afterwards, in a browser tab that has nothing but an address from `tidemark open`.
func TestTheDashboardShowsASession(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "dashboard_start"}, &struct{}{})
	p.JS(`console.warn('a new deprecation notice')`)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "after_dashboard_refactor"}, &struct{}{})

	d := e2etest.Dashboard(t, w, w.World)
	d.WaitForText("dashboard_start")
	d.WaitForText("after_dashboard_refactor")
	if hash := d.Text("location.hash"); hash != "" {
		t.Errorf("the code is still in the address: %s", hash)
	}

	// What happens in the page is seen as it happens; what the page writes is text.
	p.JS(`
console.error('broken <img src=x onerror="window.top.pwned = 1"> </script><script>pwned = 1</script> \u202Egnp.exe \x1b[31mred');
await fetch('/api/<b>bold</b>').catch(() => undefined);`)
	d.WaitForText(`broken <img src=x onerror="window.top.pwned = 1">`)
	if got := d.Text(`String(window.pwned) + document.querySelectorAll('img[src="x"], main script, main b').length + /[\u202e\u001b]/.test(document.body.innerText)`); got != "undefined0false" {
		t.Errorf("page text became something else: %s", got)
	}
	d.JS(`window.violations = await new Promise((done) => { const seen = []; new ReportingObserver((list) => seen.push(...list), {types: ['csp-violation'], buffered: true}).observe(); setTimeout(() => done(seen.map((r) => JSON.stringify(r.body)).join()), 50); });`)
	if got := d.Text("window.violations"); got != "" {
		t.Errorf("the dashboard does what its policy forbids: %s", got)
	}
	for _, theme := range []string{"light", "dark"} {
		d.SetTheme(theme)
		d.CheckAccessible("the dashboard, " + theme)
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
	d.Reload()
	d.WaitForText("dashboard_start")
	other := w.Open(t, d.Text("location.href"))
	other.WaitForText("tidemark open")
	for _, theme := range []string{"light", "dark"} {
		other.SetTheme(theme)
		other.CheckAccessible("without a session, " + theme)
	}
}

// TestTheDashboardOutlivesTheDaemon: while none runs it says so and keeps what it shows; it goes on by itself with
// the next; and when the session has ended it says how to get another.
func TestTheDashboardOutlivesTheDaemon(t *testing.T) {
	w := e2etest.SharedWorld(t)
	home := e2etest.EmptyWorld(t)
	run := func(args ...string) {
		t.Helper()
		if r := home.Run(args...); r.Code != 0 {
			t.Fatalf("%s: %s", args, r.Err)
		}
	}
	run("checkpoint", "add", "before_stop")
	d := e2etest.Dashboard(t, w, home.World)
	d.WaitForText("before_stop")
	run("stop")
	d.WaitForText("Tidemark is not running")
	d.WaitForText("before_stop")
	d.JS(`const live = document.querySelector('.live').getAttribute('aria-pressed'); if (live !== 'false') throw new Error('it is said to be live: ' + live)`)
	run("checkpoint", "add", "after_stop")
	d.WaitForText("after_stop")
	if strings.Contains(d.Text("document.body.innerText"), "Tidemark is not running") {
		t.Error("it is still said that Tidemark does not run")
	}

	run("stop")
	if err := os.Remove(filepath.Join(home.Home, "token")); err != nil {
		t.Fatal(err)
	}
	run("status")
	d.WaitForText("sign-in has ended")
	d.WaitForText("tidemark open")
	d.CheckAccessible("when the sign-in has ended")
	again := e2etest.Dashboard(t, w, home.World)
	again.WaitForText("after_stop")
}
