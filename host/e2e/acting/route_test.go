package acting

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestARouteThatRendersInManyTasksIsInItsActionsAnswer, as frameworks render a view that takes long: frame by frame, without a
// change of the page until it is done.
func TestARouteThatRendersInManyTasksIsInItsActionsAnswer(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Routes", `<a href="/orders" id="a">Orders</a><main id="m">Home</main><script>
		a.onclick = (e) => {
			e.preventDefault();
			history.pushState(null, '', '/orders');
			const { port1, port2 } = new MessageChannel();
			const until = performance.now() + 600;
			port1.onmessage = async () => {
				for (const slice = performance.now() + 5; performance.now() < slice; );
				if (performance.now() < until) return port2.postMessage(0);
				await fetch('/api/orders');
				m.textContent = 'Three orders';
			};
			port2.postMessage(0);
		};</script>`)})
	s.Answer("/api/orders", 200)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"Orders"`)})
	t.Logf("\n%s", d)
	e2etest.Holds(t, d.String(), "Requests: GET /api/orders 200", "Three orders")
}
