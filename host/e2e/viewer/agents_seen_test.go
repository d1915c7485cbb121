package viewer

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// TestAPersonSeesWhoActsAndStopsItAtOnce: popup and panel name the agent, the tab and the action while it acts; the
// action that is under way ends, later ones are refused, until the person allows the agent again.
func TestAPersonSeesWhoActsAndStopsItAtOnce(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button id="b" onclick="s.textContent = 'paying'">Pay</button><p role="status" id="s">open</p>
		<form onsubmit="event.preventDefault(); fetch('/slow')"><label>Voucher <input></label></form>`)})
	s.Mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	popup := w.Open(t, installer.Origin+"popup/index.html")
	panel := w.OpenViewer(t, s)
	page := a.Look()
	ref, voucher := e2etest.RefOf(t, page, `"Pay"`), e2etest.RefOf(t, page, `"Voucher"`)

	a.Do("browser_click", map[string]any{"ref": ref})
	popup.WaitUntil(`/testbed[\s\S]* on Shop[\s\S]*click button "Pay"/.test(document.querySelector('.agents')?.innerText ?? '')`)
	panel.WaitUntil(`/testbed.* acted on this page.* · click button "Pay"/.test(document.querySelector('.acts')?.textContent ?? '')`)
	waited, answered := make(chan error, 1), make(chan error, 1)
	began := time.Now()
	go func() { // beside what it does
		_, err := a.Text("browser_wait_for", map[string]any{"text": "never", "timeout_ms": 100_000})
		waited <- err
	}()
	go func() {
		_, err := a.Text("browser_type", map[string]any{"ref": voucher, "text": strings.Fields(strings.Repeat("Tea ", 12)), "submit": true})
		answered <- err
	}()
	popup.WaitUntil(`document.querySelector('.agents').innerText.includes('is acting on')`)
	panel.WaitUntil(`document.querySelector('.acts').textContent.includes('is acting on this page')`)
	panel.Picture("panel-acting")
	popup.Picture("acting")
	popup.JS(`document.querySelector('.agents .stop').click()`)
	for _, ended := range []chan error{answered, waited} {
		select {
		case err := <-ended:
			e2etest.Coded(t, err, usererr.AgentStopped, "during the action")
			t.Logf("stopped %s after it began", time.Since(began))
		case <-time.After(testbed.Patience):
			t.Fatal("it was not stopped")
		}
	}
	popup.WaitUntil(`document.querySelector('.agents').innerText.includes('was stopped by you')`)
	popup.Picture("stopped")
	for _, theme := range []string{"light", "dark"} {
		popup.SetTheme(theme)
		popup.CheckAccessible("the popup with an agent, " + theme)
		panel.SetTheme(theme)
		panel.CheckAccessible("the panel with an agent, " + theme)
	}
	a.Cannot("browser_click", map[string]any{"ref": ref}, usererr.AgentStopped, "allow it again")
	// It may look all the same.
	if text, err := a.Text("browser_snapshot", map[string]any{"full_snapshot": true}); err != nil || !strings.Contains(text, "Pay") {
		t.Errorf("%s %v", text, err)
	}
	panel.WaitUntil(`document.querySelector('.acts').textContent.includes('was stopped by you')`)
	panel.Picture("panel-stopped")
	panel.Press("Allow again")
	popup.WaitUntil(`!document.querySelector('.agents').innerText.includes('was stopped by you')`)
	p.JS(`b.onclick = () => { s.textContent = 'again' }`)
	e2etest.Holds(t, a.Act("browser_click", map[string]any{"ref": ref}).Page, "again")
	panel.WaitUntil(`/testbed.* acted on this page/.test(document.querySelector('.acts').textContent)`)
	panel.JS(`document.querySelector('.acts .stop').click()`)
	popup.WaitUntil(`document.querySelector('.agents').innerText.includes('was stopped by you')`)
	a.Cannot("browser_click", map[string]any{"ref": ref}, usererr.AgentStopped)
}
