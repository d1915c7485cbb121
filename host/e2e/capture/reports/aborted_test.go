package reports

import (
	"os"
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestASignalThatIsThrownIsAtItsOwnStack: an aborted signal is at the code that aborted it. That of a time limit has no stack. It is
// where it was thrown, and of an async function where that ends, which quiet capture does not see.
func TestASignalThatIsThrownIsAtItsOwnStack(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<script src="/app.js"></script>`), "/app.js": `function check(signal) {
  signal.throwIfAborted();
}
async function pay(signal) {
  await new Promise((done) => setTimeout(done, 80));
  check(signal);
}
function cancel() {
  const controller = new AbortController();
  controller.abort();
  return controller.signal;
}
`})
	limit := "app.js:7"
	if os.Getenv(testbed.WayEnv) == "quiet" {
		limit = ""
	}
	for _, c := range []struct{ run, message, source string }{
		{"pay(cancel())", "AbortError: signal is aborted without reason", "app.js:10"},
		{"const signal = AbortSignal.timeout(1); setTimeout(() => check(signal), 80)", "TimeoutError: signal timed out", "app.js:2"},
		{"pay(AbortSignal.timeout(1))", "TimeoutError: signal timed out", limit},
	} {
		a := w.AgentOf(t, s)
		w.Open(t, s.URL).JS("setTimeout(() => { " + c.run + " })")
		var list []report.Message
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			list = a.ChangesWith(map[string]any{"checkpoint": "auto_0"}).Console.NewErrors
			return slices.ContainsFunc(list, func(e report.Message) bool { return e.Message == c.message && e.Source == c.source }), nil
		}); err != nil {
			t.Errorf("%s: %v: %+v", c.run, err, list)
		}
	}
}
