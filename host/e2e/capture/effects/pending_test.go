package effects

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestOpenRequestsHaveTheirOperation: two GraphQL operations at one address are told apart before either has ended.
func TestOpenRequestsHaveTheirOperation(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Pending", `<button onclick="for (const name of ['Cart', 'Pay'])
		fetch('/graphql', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({query: 'query ' + name + ' { a }'})})">Load</button>`)})
	end := make(chan struct{})
	s.Mux.HandleFunc("/graphql", func(w http.ResponseWriter, _ *http.Request) {
		<-end
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":{"a":1}}`)
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	p.Press("Load")
	soon := map[string]any{"wait": "settled", "timeout_ms": 400}
	r := a.ChangesWith(soon)
	e2etest.Holds(t, r.UnsettledBecause, "POST /graphql Cart", "POST /graphql Pay")
	text := a.Do("get_network_requests", map[string]any{"url": "graphql"})
	t.Logf("\n%s", text)
	e2etest.Holds(t, text, "# open: POST /graphql Cart since", "# open: POST /graphql Pay since")
	close(end)
	a.ChangesWith(map[string]any{"wait": "settled"})
	text = a.Do("get_network_requests", map[string]any{"url": "graphql"})
	e2etest.Holds(t, text, "POST /graphql Cart 200", "POST /graphql Pay 200")
	e2etest.Lacks(t, text, "open")
}

// submitting is a form whose handler returns before its request has ended. Then the page empties the fields, and shows what the
// answer says.
const submitting = `<form id="f"><label>Name <input id="name"></label><label>Card <input id="card"></label><button>Pay</button></form><p id="state" class="error" role="alert"></p>
	<button id="other">Other</button><p role="status" id="count">0</p><script>
	f.onsubmit = (e) => { e.preventDefault(); void pay() };
	async function pay() {
		const answer = await fetch('/api/pay', {method: 'POST', body: '{}'});
		if (!answer.ok) { f.reset(); state.textContent = 'Refused: ' + (await answer.json()).message }
		window.done = (window.done ?? 0) + 1;
	}
	other.onclick = () => { count.textContent = Number(count.textContent) + 1 }</script>`

// TestARefusedSubmitWhoseHandlerReturnsEarly is reported by the action if the answer comes within its time.
func TestARefusedSubmitWhoseHandlerReturnsEarly(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Early", submitting)})
	var takes time.Duration
	s.Mux.HandleFunc("/api/pay", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(takes) // what the page waits for
		refuse(w, "expired "+takes.String())
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	for _, takes = range []time.Duration{0, 300 * time.Millisecond, 900 * time.Millisecond, 1500 * time.Millisecond} {
		p.Reload()
		first := a.Whole()
		a.Changes()
		a.Act("browser_fill_form", map[string]any{"fields": []map[string]any{
			{"ref": e2etest.RefOf(t, first, `"Name"`), "value": "Ada"}, {"ref": e2etest.RefOf(t, first, `"Card"`), "value": "none"},
		}})
		d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Pay"`)})
		t.Logf("%s\n%s", takes, d)
		e2etest.Holds(t, e2etest.Said(d.Broke), `POST /api/pay 422 "expired `+takes.String()+`"`)
		if len(d.Emptied) != 2 {
			t.Errorf("after %s: emptied %q", takes, d.Emptied)
		}
		if n := strings.Count(d.String(), "POST /api/pay"); n != 1 {
			t.Errorf("after %s: told %d times:\n%s", takes, n, d)
		}
		d = a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Other"`)})
		notLate(t, d)
		e2etest.Lacks(t, d.String(), "/api/pay", "expired")
	}
}

// TestARefusedSubmitThatIsAnsweredLater than the action is in the next answer, as late, and in no other.
func TestARefusedSubmitThatIsAnsweredLater(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Later", submitting)})
	answer := make(chan struct{})
	s.Mux.HandleFunc("/api/pay", func(w http.ResponseWriter, _ *http.Request) {
		<-answer
		refuse(w, "card is expired")
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	for _, next := range []string{"action", "report"} {
		p.Reload()
		first := a.Whole()
		a.Changes()
		name := `textbox "Name" [` + e2etest.RefOf(t, first, `"Name"`) + "]"
		a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `"Name"`), "text": "Ada"})
		d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Pay"`)})
		t.Logf("\n%s", d)
		if len(d.Unfinished) != 1 || len(d.Broke) > 0 {
			t.Errorf("pending: %s", d)
		}
		answer <- struct{}{}
		p.WaitUntil(`window.done`)
		if next == "action" {
			d = a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Other"`)})
			t.Logf("\n%s", d)
			e2etest.Holds(t, e2etest.Said(late(t, d).Broke), `POST /api/pay 422 "card is expired"`)
			e2etest.Lacks(t, e2etest.Said(d.Broke), "/api/pay")
			if want := []string{name}; !slices.Equal(d.Late.Emptied, want) || len(d.Emptied) > 0 {
				t.Errorf("emptied %q, late %q", d.Emptied, d.Late.Emptied)
			}
			d = a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Other"`)})
			notLate(t, d)
			continue
		}
		// The same failure again is counted as repeated, and listed once.
		r := a.ChangesWith(map[string]any{"wait": "settled"})
		t.Log(e2etest.Show(r))
		if n := strings.Count(e2etest.Show(r), "/api/pay"); n != 1 {
			t.Errorf("told %d times: %s", n, e2etest.Show(r))
		}
		if want := []report.EmptiedField{{Element: name}}; !slices.Equal(r.DOM.EmptiedFields, want) {
			t.Errorf("emptied %v", r.DOM.EmptiedFields)
		}
		d = a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Other"`)})
		if d.Late != nil && len(d.Late.Broke)+len(d.Late.Repeated) > 0 {
			t.Errorf("told again as late:\n%s", d)
		}
		if d.Late != nil && len(d.Late.Emptied) > 0 || len(d.Emptied) > 0 {
			t.Errorf("emptied again:\n%s", d)
		}
		e2etest.Lacks(t, d.String(), "/api/pay")
	}
}

func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = io.WriteString(w, `{"message":"`+why+`"}`)
}
