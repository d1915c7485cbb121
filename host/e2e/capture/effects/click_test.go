package effects

import (
	"net/http"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

func TestAClickAnswersWithWhatItCaused(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button id="b">Add</button><button id="c">Break</button><p role="status" id="s">0 items</p><script>
		b.onclick = async (e) => { window.trusted = String(e.isTrusted); await fetch('/api/cart', {method: 'POST'}); s.textContent = '1 item' };
		c.onclick = async () => { const r = await fetch('/api/fail'); s.textContent = 'Failed ' + r.status; throw new Error('it broke') }</script>`)})
	s.Mux.HandleFunc("/api/cart", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(150 * time.Millisecond) // what the page waits for
		w.WriteHeader(http.StatusCreated)
	})
	s.Answer("/api/fail", 500)
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	first := a.Look()
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Add"`)})
	t.Logf("\n%s", d)
	e2etest.Intact(t, d)
	e2etest.Holds(t, e2etest.Said(d.Requests), "POST /api/cart 201")
	e2etest.Holds(t, d.Page, `status`, `"1 item"  # was "0 items"`)
	e2etest.Lacks(t, d.Page, "Section")
	if p.Text(`window.trusted`) != "true" {
		t.Error("the click was not trusted")
	}
	d = a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Break"`)})
	t.Logf("\n%s", d)
	e2etest.Holds(t, e2etest.Said(d.Broke), "GET /api/fail 500", "it broke")
	e2etest.Holds(t, d.Page, `"Failed 500"`)
	d = a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Add"`)})
	t.Logf("\n%s", d)
	e2etest.Intact(t, d)
	e2etest.Holds(t, e2etest.Said(d.Requests), "POST /api/cart 201")
	e2etest.Lacks(t, d.String(), "it broke", "500\n")
	began := time.Now()
	for range 5 {
		a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Add"`)})
	}
	t.Logf("%s a call with 150 ms of the page's own", time.Since(began)/5)
}
