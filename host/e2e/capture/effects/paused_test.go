package effects

import (
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestLookingAtAPausedPageAnswersAndSaysSo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	a.Look()
	a.Breakpoint(map[string]any{"url": "app.js", "line": 4})
	p.Start(`console.error('before'); document.getElementById('go').click()`)
	a.Paused()
	for _, args := range []map[string]any{{"wait": "settled", "timeout_ms": 60000}, {"wait": "reload", "timeout_ms": 60000}, {}} {
		began := time.Now()
		r := a.ChangesWith(args)
		if r.Coverage == nil || !strings.Contains(r.Coverage.Note, "paused in the debugger at total (app.js:4) by testbed (breakpoint)") {
			t.Errorf("%v: %s", args, e2etest.Show(r))
		}
		if args["wait"] == "settled" && (r.Settled == nil || *r.Settled || w.Way != "quiet" && len(r.Console.NewErrors) != 1) {
			t.Errorf("%v: %s", args, e2etest.Show(r))
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%v took %s", args, took)
		}
	}
	a.Cannot("browser_snapshot", nil, usererr.PagePaused, "paused in the debugger at total (app.js:4)")
	a.Cannot("browser_click", map[string]any{"ref": "e1"}, usererr.PagePaused, "paused in the debugger at total (app.js:4)")
	for range 2 { // of three hits: each call waits for the next
		a.Debugger("debugger_resume", map[string]any{"wait_ms": 5000})
	}
	a.Debugger("debugger_resume", nil)
	e2etest.Holds(t, a.Whole(), `button "Go"`)
	// What a quietly captured page had not handed over when it was paused, it does now.
	if r := a.Changes(); r.Coverage != nil && strings.Contains(r.Coverage.Note, "paused") || w.Way == "quiet" && len(r.Console.NewErrors) != 1 {
		t.Error(e2etest.Show(r))
	}
}

// TestAPauseHasOneLineEverywhere compares what reports a pause in code with a source map: the debugger, the note about
// coverage, the recorded pause, the refusal of a snapshot and the snapshot of variables.
func TestAPauseHasOneLineEverywhere(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dir := e2etest.BundledProject(t)
	e2etest.Bundle(t, "vite", "url", dir)
	s := e2etest.ServeBundle(t, dir, nil)
	a := w.NewAgent(t, "--origin", s.URL, "--tools", "observe,act,debug")
	p := w.Open(t, s.URL)
	a.Changes()
	a.Look()
	a.Breakpoint(map[string]any{"url": "src/App.tsx", "line": 12})
	p.Start(`document.querySelector('#break').click()`)
	at := a.Paused()
	if len(at.Stack) == 0 || !strings.HasPrefix(at.Stack[0].Source, "src/App.tsx:12:") {
		t.Fatalf("%+v", at)
	}
	place := at.Stack[0].Function + " (App.tsx:12)"
	r := a.Changes()
	if r.Coverage == nil || !strings.Contains(r.Coverage.Note, "at "+place+" by") {
		t.Errorf("the note: %s", e2etest.Show(r))
	}
	if r.Variables == nil || len(r.Variables.Pauses) != 1 || r.Variables.Pauses[0].Place != place {
		t.Errorf("the recorded pause: %s", e2etest.Show(r))
	}
	a.Cannot("browser_snapshot", nil, usererr.PagePaused, "at "+place)
	if v := a.TakeVariables(nil); !strings.HasPrefix(v.Place, "src/App.tsx:12:") {
		t.Errorf("the snapshot of variables: %q", v.Place)
	}
	a.Debugger("debugger_resume", nil)
}
