package effects

import (
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

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
