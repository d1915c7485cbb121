package effects

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// loops is a page that asks for its notifications again as soon as it has them, once it is told to.
const loops = `<button onclick="loop()">Loop</button><button onclick="stop = true">Stop</button>
	<button onclick="n.textContent = 'clicked ' + ++clicks">Count</button><p id="n">not clicked</p><script>
	let clicks = 0, stop = false;
	async function loop() { while (!stop) await (await fetch('/notifications')).text(); }
	</script>`

func TestAnActionDoesNotWaitForAPageInAStorm(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Loop", loops)})
	s.Mux.HandleFunc("/notifications", func(http.ResponseWriter, *http.Request) {
		time.Sleep(150 * time.Millisecond) // so that one is in flight at any time
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	page := a.Look()
	act := func(name string) (string, time.Duration) {
		began := time.Now()
		d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, page, name)})
		t.Logf("after %s:\n%s", time.Since(began), d)
		return d.String(), time.Since(began)
	}
	const storm = "repeated without end: GET /notifications ×"
	if _, took := act(`"Loop"`); took > 4*time.Second {
		t.Errorf("the action that began the storm took %s", took)
	}
	began := time.Now()
	r := a.ChangesWith(map[string]any{"wait": "settled", "timeout_ms": 10000})
	if *r.Settled || time.Since(began) > 5*time.Second || !strings.Contains(r.UnsettledBecause, "a storm continues: GET /notifications ×") ||
		len(r.Storms) != 1 || r.Severity != report.Warning ||
		slices.ContainsFunc(r.Network.NewEndpoints, func(e report.Endpoint) bool { return e.URL == "/notifications" }) {
		t.Errorf("after %s: %+v, %s", time.Since(began), r.Storms, r.Summary)
	}
	for range 2 {
		text, took := act(`"Count"`)
		e2etest.Holds(t, text, storm, `clicked`)
		e2etest.Lacks(t, text, "Requests:", "Pending:")
		if took > 2*time.Second {
			t.Errorf("an action in the storm took %s", took)
		}
	}
	act(`"Stop"`)
	if r := a.ChangesWith(map[string]any{"wait": "settled", "timeout_ms": 10000}); !*r.Settled {
		t.Errorf("when it has ended: %s", r.Summary)
	}
	if r := a.Changes(); r.Severity != report.Clean || r.Storms != nil {
		t.Errorf("then: %s", r.Summary)
	}
}

func TestASocketThatIsRefusedAndTriesAgainIsAStorm(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Live", `<script>
		function connect() { const s = new WebSocket(location.origin.replace('http', 'ws') + '/live'); s.onclose = () => setTimeout(connect, 200); }
		addEventListener('load', connect)</script>`)})
	s.Answer("/live", 403)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	began := time.Now()
	for {
		r := a.ChangesWith(map[string]any{"checkpoint": report.Time{Time: began.Add(-time.Second)}.String()})
		if len(r.Storms) == 1 && strings.HasPrefix(r.Storms[0].What, "WebSocket /live") && r.Severity == report.Warning && r.Storms[0].Error != "" && r.WebSocket.ErrorMessages == nil && r.WebSocket.Disconnections == nil {
			break
		}
		if time.Since(began) > 15*time.Second {
			t.Fatalf("%+v, %+v", r.Storms, r.WebSocket)
		}
		a.ChangesWith(map[string]any{"wait": "settled", "timeout_ms": 500}) // gives the page time
	}
}

func TestAPageThatPollsSettles(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Poll", `<script>setInterval(() => fetch('/state'), 500)</script>`)})
	s.Answer("/state", 200)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	r := a.ChangesWith(map[string]any{"wait": "settled", "timeout_ms": 15000})
	if !*r.Settled {
		t.Errorf("%s", r.Summary)
	}
	time.Sleep(3 * time.Second) // what is claimed is about a span
	if r := a.Changes(); r.Severity != report.Clean || r.Storms != nil {
		t.Errorf("%s", r.Summary)
	}
}
