package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// TestAFailedHotUpdateIsReportedUntilThePageReloads: Vue's as an error, webpack's as the warning and Rsbuild's as the error that
// it is.
func TestAFailedHotUpdateIsReportedUntilThePageReloads(t *testing.T) {
	for _, c := range []struct {
		level, text string
		want        report.Severity
	}{
		{"warning", "[HMR] Something went wrong during Vue component hot-reload. Full reload required.", report.Error},
		{"warning", "[HMR] Cannot apply update. Need to do a full reload!", report.Warning},
		{"error", "[rsbuild] HMR update failed, performing full reload: Error: Aborted", report.Error},
	} {
		w := enginetest.New(t, capture.Limits{})
		load := func(tab int) {
			w.Pass(time.Second)
			w.Send("navigation", fmt.Sprintf(`"tab":%d,"how":"reload","url":%q`, tab, enginetest.Page+"/"))
			w.Pass(time.Second)
		}
		w.Open(8, enginetest.Page+"/other")
		load(7)
		w.Log(c.level, c.text)
		load(8)
		if r := w.Changes(w.Agent(), params{}); r.Severity != c.want || r.NoiseHidden != 0 || len(r.Console.NewErrors)+len(r.Console.NewWarnings) != 1 {
			t.Errorf("%s: %s, %+v", c.text, r.Severity, r.Console)
		}
		a := w.Agent()
		w.Changes(a, params{})
		for range 2 { // nothing is new, and the page is stale all the same
			if r := w.Changes(a, params{}); r.Severity != c.want || len(r.Repeated) != 1 || r.Repeated[0].Count != 1 || r.Repeated[0].Message != c.text {
				t.Errorf("%s again: %s, %+v", c.text, r.Severity, r.Repeated)
			}
		}
		explained := func() string {
			answer, err := w.Call(a, "configure_noise", fmt.Sprintf(`{"action":"explain","text":%q}`, c.text[:5]))
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		if logs := inLines(t, w, a, "get_browser_logs", fmt.Sprintf(`{"level":%q}`, c.want)); !strings.Contains(logs, fmt.Sprintf("%s %q", c.want, c.text)) {
			t.Errorf("%s", logs)
		}
		if got := explained(); !strings.Contains(got, fmt.Sprintf(`"level":%q`, c.want)) {
			t.Errorf("%s", got)
		}
		load(7)
		if got := explained(); !strings.Contains(got, "a hot update failed, and its page was reloaded, updated or closed since") {
			t.Errorf("%s", got)
		}
		if r := w.Changes(a, params{}); r.Severity != report.Clean || len(r.Repeated) != 0 {
			t.Errorf("%s, and a reload: %s, %+v", c.text, r.Severity, r.Repeated)
		}
		if r := w.Changes(w.Agent(), params{Checkpoint: checkpoint.Buffers}); r.Severity != report.Clean || r.NoiseHidden != 1 {
			t.Errorf("%s after a reload: %s, %+v", c.text, r.Severity, r.Console)
		}
	}
}

// TestAHotUpdateThatAServerDoesNotHaveIsOverWithALoad: webpack's client asks for the changes since the build that its page has. A
// server that was started again has none, and the client loads the page.
func TestAHotUpdateThatAServerDoesNotHaveIsOverWithALoad(t *testing.T) {
	for name, c := range map[string]struct {
		path, off string
		errors    int
	}{
		"what changed": {"/main.a8d5652855ba2aa5e89c.hot-update.json", "", 0},
		"its code":     {"/main.a8d5652855ba2aa5e89c.hot-update.js", "", 0},
		"another file": {"/main.json", "", 1},
		"no pack":      {"/main.a8d5652855ba2aa5e89c.hot-update.json", "hot-update", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			if c.off != "" {
				if _, err := w.Call(w.Agent(), "configure_noise", `{"action":"disable","pack":"hot-update"}`); err != nil {
					t.Fatal(err)
				}
			}
			a := w.Agent()
			w.Changes(a, params{})
			began := w.Now
			w.Pass(time.Second)
			w.Request("GET", c.path, 404, 5)
			w.Pass(time.Millisecond)
			if r := w.Changes(a, params{}); r.Errors != 1 || r.Severity != report.Error {
				t.Errorf("before the load: %s, %+v", r.Summary, r.Network)
			}
			w.Send("navigation", fmt.Sprintf(`"how":"reload","url":%q`, enginetest.Page+"/"))
			w.Pass(time.Second)
			r := w.Changes(w.Agent(), params{Checkpoint: began.UTC().Format("2006-01-02T15:04:05.000Z")})
			if r.Errors != c.errors || (r.NoiseHidden > 0) != (c.errors == 0) {
				t.Errorf("after the load: %s, %+v, %+v, %d hidden", r.Summary, r.Network, r.Console, r.NoiseHidden)
			}
		})
	}
}

// TestATabThatShowsTheBrowsersErrorPageIsBroken until its page is loaded: nothing of such a page can be read, and nothing happens in it.
func TestATabThatShowsTheBrowsersErrorPageIsBroken(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	tab := protocol.Tab{ID: 7, URL: enginetest.Page + "/", Watched: true, DOM: true}
	request := func(answer string) {
		w.Send("network", fmt.Sprintf(`"id":"r","method":"GET","url":%q,"resource":"document","started":%d,"duration":1,%s`, enginetest.Page+"/", w.Now.UnixMilli(), answer))
	}
	expect := func(what string, severity report.Severity, repeated int) {
		t.Helper()
		w.Pass(time.Second)
		r := w.Changes(a, params{})
		if r.Severity != severity || len(r.Repeated) != repeated || repeated > 0 && r.Repeated[0].Message != "GET / net::ERR_CONNECTION_REFUSED" {
			t.Errorf("%s: %s, %q, %+v", what, r.Severity, r.Summary, r.Repeated)
		}
	}
	request(`"status":0,"error":"net::ERR_CONNECTION_REFUSED"`)
	expect("a load that fails", report.Error, 0)
	expect("and leaves the page as it was", report.Clean, 0)
	tab.DOM = false
	w.SetTab(tab)
	expect("with the browser's page", report.Error, 1)
	expect("later", report.Error, 1)
	request(`"status":0,"error":"net::ERR_CONNECTION_REFUSED"`)
	expect("again", report.Error, 1)
	request(`"status":200`)
	expect("an answer", report.Clean, 0)
	expect("before the page can be read", report.Clean, 0)
}

// TestWhatBelongsToAPageThatIsLoadedAgain: its last messages announce the load, and what it does not show any more the next one may.
// If the load comes to nothing, the page is as wrong as it was.
func TestWhatBelongsToAPageThatIsLoadedAgain(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Pass(time.Second)
	w.Log("error", "Error: no cart")
	w.Send("element", `"op":"emptied","frame":0,"document":"d1","id":0`)
	w.Log("warning", "[HMR] Error: Aborted because ./src/index.ts is not accepted")
	w.Log("warning", "[HMR] Cannot apply update. Need to do a full reload!")
	expect := func(what string, severity report.Severity, warnings, repeated int) {
		t.Helper()
		w.Pass(time.Millisecond)
		r := w.Changes(a, params{})
		if r.Severity != severity || r.Warnings != warnings || len(r.Repeated) != repeated {
			t.Errorf("%s: %s, %q, %+v", what, r.Severity, r.Summary, r.Repeated)
		}
	}
	expect("before the load", report.Error, 2, 0)
	request := func(id, path, resource string) {
		w.Send("request", fmt.Sprintf(`"id":%q,"method":"GET","url":%q,"resource":%q`, id, enginetest.Page+path, resource))
	}
	request("frame", "/inner", "document")
	request("fetch", "/", "fetch")
	expect("requests of the page", report.Error, 2, 3)
	request("page", "/", "document")
	expect("while it is loaded", report.Clean, 0, 0)
	w.Send("network", fmt.Sprintf(`"id":"page","method":"GET","url":%q,"resource":"document","status":0,"canceled":true,"started":%d,"duration":1`, enginetest.Page+"/", w.Now.UnixMilli()))
	expect("after it was given up", report.Error, 2, 3)
	request("again", "/", "document")
	w.Send("navigation", fmt.Sprintf(`"how":"reload","url":%q`, enginetest.Page+"/"))
	expect("loaded", report.Clean, 0, 0)
}

// TestAFailedUpdateOfAModuleIsMendedByTheNextOneOfIt: Vue renders a component anew with each update, so that its page is wrong no
// longer than until one was applied. Another module's update, or a style of the component, mends nothing.
func TestAFailedUpdateOfAModuleIsMendedByTheNextOneOfIt(t *testing.T) {
	const failure = "[HMR] Something went wrong during Vue component hot-reload. Full reload required."
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	updated := func(module string) { w.Log("debug", "[vite] hot updated: "+module) }
	expect := func(what string, severity report.Severity, repeated int) {
		t.Helper()
		w.Pass(time.Second)
		if r := w.Changes(a, params{}); r.Severity != severity || len(r.Repeated) != repeated {
			t.Errorf("%s: %s, %q, %+v", what, r.Severity, r.Summary, r.Repeated)
		}
	}
	w.Changes(a, params{})
	updated("/src/App.vue") // of the same batch
	w.Log("warning", failure)
	updated("/src/Cart.vue")
	expect("a failed update", report.Error, 0)
	updated("/src/App.vue")
	updated("/src/Cart.vue?vue&type=style&index=0&lang.css")
	expect("updates of other modules", report.Error, 1)
	w.Log("warning", failure)
	updated("/src/Cart.vue")
	expect("a wrong fix", report.Error, 1)
	updated("/src/Cart.vue")
	w.Send("console", `"level":"error","via":"exception","text":"TypeError: no parent"`)
	expect("an update that throws", report.Error, 1)
	expect("after it", report.Error, 1)
	updated("/src/Cart.vue")
	expect("the fix", report.Clean, 0)
	expect("later", report.Clean, 0)
	if r := w.Changes(w.Agent(), params{Checkpoint: checkpoint.Buffers}); r.Errors != 1 || r.NoiseHidden == 0 { // the one that was thrown
		t.Errorf("from the beginning: %s, %q", r.Severity, r.Summary)
	}
	w.Log("warning", "[HMR] Root or manually mounted instance modified. Full reload required.")
	updated("/src/Cart.vue")
	expect("a root that is not loaded again", report.Error, 0)
	updated("/src/Cart.vue")
	expect("nor later", report.Error, 1)
}

// TestABrokenPageIsReportedUntilItIsMended: a wrong repair brings no new error, and is no reason to call the page clean.
func TestABrokenPageIsReportedUntilItIsMended(t *testing.T) {
	const text = "[plugin:vite:react] Unexpected token (3:7) – /src/app.tsx"
	for name, c := range map[string]struct {
		break_, mend func(w *enginetest.World)
		message      string
	}{
		"an overlay": {
			func(w *enginetest.World) { w.Element("appeared", 1, "vite-error-overlay", text) },
			func(w *enginetest.World) { w.Element("gone", 1, "vite-error-overlay", "") },
			"error element [plugin:vite:react] Unexpected token (3:7)",
		},
		"an empty page": {
			func(w *enginetest.World) {
				w.Send("console", `"level":"error","via":"exception","text":"Error: no cart"`)
				w.Send("element", `"op":"emptied","frame":0,"document":"d1","id":0`)
			},
			func(w *enginetest.World) {
				w.Send("navigation", fmt.Sprintf(`"how":"reload","url":%q`, enginetest.Page+"/"))
			},
			"the page is empty",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			w.Pass(time.Second)
			c.break_(w)
			w.Pass(time.Second)
			if r := w.Changes(a, params{}); r.Severity != report.Error || len(r.Repeated) != 0 {
				t.Errorf("%s, %+v", r.Severity, r.Repeated)
			}
			for range 2 {
				w.Pass(time.Second)
				if r := w.Changes(a, params{}); r.Severity != report.Error || len(r.Repeated) != 1 || r.Repeated[0].Message != c.message || r.Repeated[0].Count != 1 || r.Summary != "no new problems; 1 repeated error" {
					t.Errorf("while it stands: %s, %q, %+v", r.Severity, r.Summary, r.Repeated)
				}
			}
			if _, err := w.Call(a, "checkpoint_create", `{"name":"broken"}`); err != nil {
				t.Fatal(err)
			}
			w.Pass(time.Second)
			since := w.Changes(a, params{Checkpoint: "broken"})
			if since.Severity != report.Error || len(since.Repeated) != 1 || since.Summary != "no new problems; 1 repeated error" {
				t.Errorf("since a checkpoint while it stands: %s, %q, %+v", since.Severity, since.Summary, since.Repeated)
			}
			if p := overview(w); p.Severity != string(since.Severity) || p.Errors != since.Errors || p.Summary != since.Summary {
				t.Errorf("the popup says %s, %d errors, %q", p.Severity, p.Errors, p.Summary)
			}
			if r := w.Changes(a, params{Checkpoint: w.Now.Add(-time.Second).Format(time.RFC3339)}); len(r.Repeated) != 0 {
				t.Errorf("a time lists what is new: %+v", r.Repeated)
			}
			c.mend(w)
			w.Pass(time.Second)
			if r := w.Changes(a, params{Checkpoint: "broken"}); r.Severity != report.Clean || len(r.Repeated) != 0 {
				t.Errorf("mended, since a checkpoint: %s, %+v", r.Severity, r.Repeated)
			}
			if r := w.Changes(a, params{}); r.Severity != report.Clean || len(r.Repeated) != 0 {
				t.Errorf("mended: %s, %+v", r.Severity, r.Repeated)
			}
		})
	}
}
