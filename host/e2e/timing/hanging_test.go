package timing

import (
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

func TestAPageThatHangsIsAnsweredAllTheSame(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button id="b">Hang</button><button id="c">Other</button><script>b.onclick = () => { const end = performance.now() + 4000; while (performance.now() < end); document.title = 'Back' }</script>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	began := time.Now()
	text, err := a.Text("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Hang"`)})
	t.Logf("%s: %s (%v)", time.Since(began), text, err)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the answer came after %s", took)
	}
}

// TestAPageThatHangsIsToldSoInTime: one in an endless loop, which the browser does not leave either.
func TestAPageThatHangsIsToldSoInTime(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":  e2etest.StorePage("Hangs", `<button onclick="for (;;);">Hang</button><button>Other</button>`),
		"/next": e2etest.StorePage("Next", `<button onclick="this.textContent = 'Clicked'">Click</button>`),
	})
	a := w.AgentOf(t, s)
	first := a.Do("browser_navigate", map[string]any{"url": s.URL}) // in a tab that no test's debugger holds
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
		d := a.Refusal(tool, args, reason, 0)
		e2etest.Holds(t, d.Refused.Detail, parts...)
		if !d.Refused.Busy {
			t.Errorf("the page is not said to be busy: %s", d)
		}
		return d.String()
	}
	within(10*time.Second, func() string {
		d := a.Answer("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Hang"`)})
		if !d.Busy {
			t.Errorf("the page is not said to be busy: %s", d)
		}
		return d.String()
	})
	within(6*time.Second, func() string {
		return hangs("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Other"`)}, protocol.RefusedFailed, "the page does not answer")
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
		{"browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Other"`)}, 6 * time.Second},
		{"browser_wait_for", map[string]any{"text": "never", "timeout_ms": 1000}, 2500 * time.Millisecond},
		{"browser_wait_for", map[string]any{"settled": true, "timeout_ms": 1000}, 3500 * time.Millisecond},
		{"browser_wait_for", map[string]any{"ref": e2etest.RefOf(t, first, `"Other"`), "timeout_ms": 1000}, 3500 * time.Millisecond},
		{"browser_screenshot", nil, 6 * time.Second},
	} {
		within(c.most, func() string { return hangs(c.tool, c.args, protocol.RefusedFailed, "page does not answer") })
	}
	within(8*time.Second, func() string {
		return a.Cannot("browser_snapshot", nil, usererr.PageUnavailable, "page does not answer", "browser_tabs")
	})
	within(9*time.Second, func() string { return a.Do("browser_tabs", map[string]any{"action": "close"}) })
	within(9*time.Second, func() string {
		d := a.Do("browser_navigate", map[string]any{"url": s.URL + "/next"})
		e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, d, `"Click"`)}).Page, "Clicked")
		return d
	})
	a.Do("browser_tabs", map[string]any{"action": "close"})
}

// TestAnAnswerThatThePageDoesNotReadIsNotWaitedFor: many pages look at the status alone.
func TestAnAnswerThatThePageDoesNotReadIsNotWaitedFor(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("Shop", `<button onclick="fetch('/api', {method: 'POST'}).then((r) => said.textContent = 'saved ' + r.status)">Save</button><p role="status" id="said">-</p>`),
		"/api": `{"items": [` + strings.Repeat(`"a long answer",`, 200) + `1]}`,
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	ref := e2etest.RefOf(t, a.Look(), `"Save"`)
	began := time.Now()
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": ref}).Page, `"saved 200"`)
	if took := time.Since(began); took > 1500*time.Millisecond {
		t.Errorf("it took %s", took)
	}
}
