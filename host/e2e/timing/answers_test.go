package timing

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
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

// TestWaitingOnAPageThatCannotBeReadEndsInTime: an answer is given within the time that was asked for.
func TestWaitingOnAPageThatCannotBeReadEndsInTime(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Gone", `<a href="http://127.0.0.1:1/">Leave</a>`), "/text": `<!doctype html><title>Text</title><p>Nothing but text.`})
	a := w.AgentOf(t, s, "http://127.0.0.1:1")
	w.Open(t, s.URL)
	e2etest.Holds(t, a.Act("browser_navigate", map[string]any{"url": s.URL + "/text"}).Page, "interactive_only: false shows the text")
	a.Do("browser_navigate", map[string]any{"url": s.URL})
	a.Refusal("browser_navigate", map[string]any{"url": "http://127.0.0.1:1/"}, protocol.RefusedLoad, 0)
	began := time.Now()
	_, err := a.Text("browser_wait_for", map[string]any{"text": "never", "timeout_ms": 1000})
	if took := time.Since(began); took > 2500*time.Millisecond {
		t.Errorf("after %s: %v", took, err)
	}
	if err == nil || strings.TrimSpace(err.Error()) == "" {
		t.Errorf("no reason is given: %v", err)
	}
	a.Cannot("no_such_tool", nil, usererr.NotFound, `there is no tool "no_such_tool"`)
}

// TestALineOfAHundredMegabytesIsRefusedWithinASecond, and the daemon goes on.
func TestALineOfAHundredMegabytesIsRefusedWithinASecond(t *testing.T) {
	w := e2etest.SharedWorld(t)
	t.Setenv("TIDEMARK_HOME", w.Home)
	h, err := home.Find("")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := h.DialRunning(t.Context(), home.MCPSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	line := bytes.Repeat([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":"`), 100<<20/48)
	began := time.Now()
	go func() { _, _ = conn.Write(line) }()
	answer, err := io.ReadAll(conn) // the reset that follows may come first
	if took := time.Since(began); took > time.Second || !strings.Contains(string(answer), "more than 16 MiB") && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%.200q after %s, %v", answer, took, err)
	}
	w.NewAgent(t).Changes()
}
