package devservers

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/devserver"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// serversEnv names the servers of `make dev-servers`, "all" for all. Without it a short form runs.
const serversEnv = "TIDEMARK_DEV_SERVERS"

// short is what CI runs: one server, and of each kind an edit.
var short = []string{"text", "style", "syntax", "undefined at render"}

// TestEditsInDevelopmentServers: a healthy edit is clean, a broken one is reported with its place, and a repair is clean.
func TestEditsInDevelopmentServers(t *testing.T) {
	chosen := strings.Split(os.Getenv(serversEnv), ",")
	for _, s := range servers {
		if all := chosen[0] == "all"; !all && !slices.Contains(chosen, s.name) && (chosen[0] != "" || s.name != servers[0].name) {
			continue
		}
		var seen []*outcome
		for _, way := range []string{"debugger", "quiet"} {
			t.Run(s.name+"/"+way, func(t *testing.T) {
				way := strings.TrimPrefix(way, "debugger")
				c := begin(t, s, way)
				for _, e := range s.edits {
					if chosen[0] == "" && !slices.Contains(short, e.kind) {
						continue
					}
					t.Run(e.kind, func(t *testing.T) {
						o := &outcome{edit: e}
						seen = append(seen, o)
						c.edit(t, e, o)
					})
				}
			})
		}
		if len(seen) == 2*len(s.edits) { // a part of a server's edits is no row of the table
			publish(t, s, seen)
		}
	}
}

// check is a page of a development server with an agent that edits.
type check struct {
	server
	app     *devserver.App
	agent   *e2etest.Agent
	witness *witness
}

func begin(t *testing.T, s server, way string) *check {
	t.Helper()
	w := e2etest.WorldIn(t, way)
	c := &check{server: s, app: devserver.Start(t, s.name, s.shared, nil)}
	c.agent = w.NewAgent(t, "--origin", c.app.URL)
	c.compile(t)
	p := w.Open(t, c.app.URL+s.path)
	c.witness = watch(t, p)
	c.restore(t)
	return c
}

// compile has the server make the page for the first time, which can take longer than a browser waits for it.
func (c *check) compile(t *testing.T) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.app.URL+c.path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
}

// restore waits until the page is as it should be and its agent has seen that.
func (c *check) restore(t *testing.T) {
	t.Helper()
	c.shows(t, shown)
	c.agent.T = t
	c.agent.Changes()
	c.witness.take()
}

func (c *check) shows(t *testing.T, what string) {
	t.Helper()
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return c.witness.holds(what), nil }); err != nil {
		t.Fatalf("the page never shows %s", what)
	}
}

// edit makes an edit and repairs it.
func (c *check) edit(t *testing.T, e edit, o *outcome) {
	c.agent.T, c.witness.p.T = t, t
	place := c.place(t, e)
	r := c.after(t, e, o)
	broke, warnings := c.witness.take()
	covered := c.witness.covered()
	if unseen := e.shows != "" && !c.witness.holds(e.shows); unseen || !e.healthy && len(broke)+len(warnings) == 0 && !covered {
		c.reload(t) // not every server runs effects again
		c.tells(e)
		r = c.agent.Changes()
		broke, warnings = c.witness.take()
		covered = c.witness.covered()
	}
	wrong := ""
	switch broken := len(broke) > 0 || covered; {
	case e.healthy && (broken || e.shows != "" && !c.witness.holds(e.shows)):
		wrong = fmt.Sprintf("the edit is not healthy: %q, covered %v", broke, covered)
	case e.healthy && r.Severity != report.Clean:
		wrong = "a healthy edit is not clean: " + e2etest.Show(r)
	case !e.healthy && !broken && len(warnings) == 0:
		wrong = "the edit breaks nothing"
	case broken && r.Severity != report.Error, !broken && !e.healthy && r.Severity == report.Clean:
		wrong = fmt.Sprintf("what breaks is not reported: %q, %q, covered %v: %s", broke, warnings, covered, e2etest.Show(r))
	}
	if o.told = wrong == ""; !o.told {
		t.Error(wrong)
	}
	if e.placed {
		if o.place, wrong = placed(place, r); wrong != "" {
			t.Error(wrong)
		}
		t.Logf("%s is %s", place, o.place)
		if o.place == generated {
			t.Log(e2etest.Show(r))
		}
	}
	if wrong = c.repair(t, e, o); wrong != "" {
		t.Error(wrong)
	}
	c.restore(t)
	o.repaired = wrong == ""
}

// tells waits until the page that was loaded again shows what an edit does, or has what it breaks. One that does neither is judged as
// it is.
func (c *check) tells(e edit) {
	_ = testbed.Eventually(c.agent.T.Context(), func() (bool, error) {
		if e.healthy {
			return e.shows == "" && c.witness.holds(shown) || e.shows != "" && c.witness.holds(e.shows), nil
		}
		return c.witness.heard() || c.witness.covered(), nil
	})
}

// repair takes an edit back, and returns what is wrong with the answer.
func (c *check) repair(t *testing.T, e edit, o *outcome) string {
	t.Helper()
	back := edit{file: e.file, from: e.to, to: e.from}
	if e.shows != "" {
		back.shows = fmt.Sprintf("!(%s) && %s", e.shows, shown)
	}
	c.witness.asksForReload() // for the edit
	r := c.after(t, back, o)
	stale := c.witness.asksForReload()
	broke, _ := c.witness.take()
	switch {
	case !c.witness.holds(shown) || c.witness.covered():
		if clean := r.Severity == report.Clean && (r.Settled == nil || *r.Settled); clean && (len(broke) > 0 || c.witness.covered()) {
			return fmt.Sprintf("the page is not repaired, and the agent is told nothing: %q, %s", broke, e2etest.Show(r))
		} // else the server did not run the code again
		c.reload(t)
	case stale:
		if r.Severity != report.Error {
			return "the server asks for a reload, and the agent is not told: " + e2etest.Show(r)
		}
		c.reload(t)
		if r = c.agent.ChangesWith(map[string]any{"wait": "reload", "timeout_ms": 10000}); r.Severity == report.Error {
			return "the page that was loaded again is not clean: " + e2etest.Show(r)
		}
	case r.Severity == report.Error && len(broke) == 0:
		return "the repair is not clean: " + e2etest.Show(r)
	}
	return ""
}

// reload loads the page again, as a developer would, also while it loads itself.
func (c *check) reload(t *testing.T) {
	t.Helper()
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return c.witness.p.Tab.Do(chromedp.Reload()) == nil, nil }); err != nil {
		t.Fatalf("the page cannot be loaded again: %v", err)
	}
}

// after makes an edit and returns what the agent is told.
func (c *check) after(t *testing.T, e edit, o *outcome) *report.Report {
	t.Helper()
	c.app.Edit(e.file, e.from, e.to)
	began := time.Now()
	in := c.witness.when(t.Context(), e.shows)
	r := c.agent.ChangesWith(map[string]any{"wait": "reload", "timeout_ms": 10000})
	ended := time.Now()
	wait := "an update that cannot be seen"
	if at, ok := in(); ok {
		o.waits = append(o.waits, ended.Sub(at))
		wait = fmt.Sprintf("%d ms after its update", ended.Sub(at).Milliseconds())
	}
	t.Logf("%s → %s: %s after %d ms, %s, %q, %d tokens", e.from, e.to, r.Severity, ended.Sub(began).Milliseconds(), wait, r.Summary, r.TokenCount)
	if e.then != "" {
		c.witness.p.JS(e.then)
		r = c.agent.Changes()
	}
	o.tokens = append(o.tokens, r.TokenCount)
	return r
}

// place returns the base name and line of what an edit replaces.
func (c *check) place(t *testing.T, e edit) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.app.Dir, e.file))
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(data), e.from)
	return fmt.Sprintf("%s:%d", filepath.Base(e.file), 1+strings.Count(before, "\n"))
}

// placed returns how a report names the place of an error, and what is wrong with it. An overlay has it in fields.
func placed(place string, r *report.Report) (how, wrong string) {
	for _, e := range r.DOM.NewErrorElements {
		if e.Source() == place {
			return right, ""
		}
		if !e.Generated && strings.HasPrefix(e.Source(), path.Base(place[:strings.LastIndex(place, ":")])+":") {
			return "", fmt.Sprintf("the overlay is at %s, not %s", e.Source(), place)
		}
	}
	switch text := e2etest.Show(r); {
	case strings.Contains(text, place):
		return right, ""
	case strings.Contains(text, `"generated": true`):
		return generated, ""
	default:
		return "", fmt.Sprintf("%s is not in %s", place, text)
	}
}
