package reports

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestARequestThatWasGivenUpNamesItsCode, and so does the error without a stack that came of it.
func TestARequestThatWasGivenUpNamesItsCode(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<script src="/app.js"></script>`), "/app.js": `async function load(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(60) });
  return answer.json();
}
async function again(path) {
  const early = new AbortController();
  const first = fetch(path, { signal: early.signal }).catch(() => 'given up');
  setTimeout(() => early.abort(), 30);
  await first;
  const second = await fetch('/fast' + path);
  return second.json();
}
function old(path) {
  const request = new XMLHttpRequest();
  request.open('GET', path);
  request.timeout = 60;
  request.send();
}
`})
	s.Mux.HandleFunc("/slow/", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	p.JS(`setTimeout(() => { load('/slow/1') }); setTimeout(() => { again('/slow/2').catch(() => 0); old('/slow/3') }, 500)`) // one after the other: of several at once it is not known which one the error is of
	text := ""
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		text = a.Do("get_network_requests", map[string]any{"url": "/slow/"})
		return strings.Count(text, " GET /slow/") == 3 && strings.Count(text, "canceled") == 3, nil
	}); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for path, line := range map[string]int{"1": 2, "2": 7, "3": 17} {
		if _, of, _ := strings.Cut(text, " /slow/"+path+" canceled"); !strings.HasSuffix(strings.SplitN(of, "\n", 2)[0], fmt.Sprintf(" app.js:%d", line)) {
			t.Errorf("/slow/%s is not of line %d:\n%s", path, line, text)
		}
	}
	r := a.ChangesWith(map[string]any{"checkpoint": "auto_0", "wait": "settled"})
	for _, e := range r.Console.NewErrors {
		if strings.Contains(e.Message, "TimeoutError") && e.Source == "app.js:2" {
			return
		}
	}
	t.Errorf("%s", e2etest.Show(r))
}

// TestTheDetailOfAnAnswerThatThePageDoesNotRead is there in both ways. The debugger waits for no answer that takes long, and an
// empty one says nothing.
func TestTheDetailOfAnAnswerThatThePageDoesNotRead(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", "")})
	release := make(chan struct{})
	s.Mux.HandleFunc("/fail/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		switch r.URL.Path {
		case "/fail/small":
			_, _ = fmt.Fprint(w, `{"message":"the ledger is locked"}`)
		case "/fail/large":
			_, _ = fmt.Fprintf(w, `{"message":"the ledger is full","lines":%q}`, strings.Repeat("x", 100_000))
		case "/fail/slow":
			_, _ = fmt.Fprint(w, `{"message":`)
			_ = http.NewResponseController(w).Flush()
			<-release
			_, _ = fmt.Fprint(w, `"the ledger is slow"}`)
		}
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	p.JS(`for (const path of ['small', 'large', 'slow', 'empty']) await fetch('/fail/' + path)`)
	want := map[string]string{"small": "the ledger is locked", "large": "the ledger is full", "slow": "", "empty": ""}
	if os.Getenv(testbed.WayEnv) == "quiet" {
		want["slow"] = "the ledger is slow"
		close(release)
	} else {
		defer close(release)
	}
	var r *report.Report
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		r = a.ChangesWith(map[string]any{"checkpoint": "auto_0"})
		return len(r.Network.Failures) == len(want), nil
	}); err != nil {
		t.Errorf("%v: %s", err, e2etest.Show(r))
	}
	for _, f := range r.Network.Failures {
		if path := strings.TrimPrefix(f.URL, "/fail/"); f.Detail != want[path] {
			t.Errorf("%s has the detail %q", path, f.Detail)
		}
	}
}
