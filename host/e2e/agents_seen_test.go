package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// until waits in a page for an expression.
func (p *tab) until(condition string) {
	p.t.Helper()
	p.js(fmt.Sprintf(`for (let i = 0; i < 1500; i++) { if (%s) return; await new Promise((done) => setTimeout(done, 10)) } throw new Error(document.body.innerText)`, condition))
}

// press clicks a button of the popup, by its text or label.
func (p *tab) press(name string) {
	p.t.Helper()
	p.js(fmt.Sprintf(`[...document.querySelectorAll('button')].find((b) => b.textContent === %[1]q || b.ariaLabel === %[1]q).click()`, name))
}

// picture keeps a screenshot in both themes where TIDEMARK_TEST_PICTURES says, and nothing otherwise.
func (p *tab) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("TIDEMARK_TEST_PICTURES")
	if dir == "" {
		return
	}
	for _, theme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(p.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}); err != nil {
			p.t.Fatal(err)
		}
		data, err := chromedp.Run(p.Ctx, chromedp.Screenshot("body"))
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+theme+".png"), data, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

// TestAPersonSeesWhoActsAndStopsItAtOnce: popup and panel name the agent, the tab and the action while it acts; the
// action that is under way ends, later ones are refused, until the person allows the agent again.
func TestAPersonSeesWhoActsAndStopsItAtOnce(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": store("Shop", `<button id="b" onclick="s.textContent = 'paying'">Pay</button><p role="status" id="s">open</p>
		<form onsubmit="event.preventDefault(); fetch('/slow')"><label>Voucher <input></label></form>`)})
	s.mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	a := w.of(t, s)
	p := w.open(t, s.URL)
	popup := w.open(t, installer.Origin+"popup/index.html")
	panel := w.view(t, s)
	page := a.look()
	ref, voucher := refOf(t, page, `"Pay"`), refOf(t, page, `"Voucher"`)

	a.do("browser_click", map[string]any{"ref": ref})
	popup.until(`/testbed[\s\S]* on Shop[\s\S]*click button "Pay"/.test(document.querySelector('.agents')?.innerText ?? '')`)
	panel.until(`/testbed.* acted on this page.* · click button "Pay"/.test(document.querySelector('.acts')?.textContent ?? '')`)
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
	popup.until(`document.querySelector('.agents').innerText.includes('is acting on')`)
	panel.until(`document.querySelector('.acts').textContent.includes('is acting on this page')`)
	panel.picture("panel-acting")
	popup.picture("acting")
	popup.js(`document.querySelector('.agents .stop').click()`)
	for _, ended := range []chan error{answered, waited} {
		select {
		case err := <-ended:
			coded(t, err, usererr.AgentStopped, "during the action")
			t.Logf("stopped %s after it began", time.Since(began))
		case <-time.After(testbed.Patience):
			t.Fatal("it was not stopped")
		}
	}
	popup.until(`document.querySelector('.agents').innerText.includes('was stopped by you')`)
	popup.picture("stopped")
	for _, theme := range []string{"light", "dark"} {
		popup.theme(theme)
		popup.accessible("the popup with an agent, " + theme)
		panel.theme(theme)
		panel.accessible("the panel with an agent, " + theme)
	}
	a.cannot("browser_click", map[string]any{"ref": ref}, usererr.AgentStopped, "allow it again")
	// It may look all the same.
	if text, err := a.Text("browser_snapshot", map[string]any{"full_snapshot": true}); err != nil || !strings.Contains(text, "Pay") {
		t.Errorf("%s %v", text, err)
	}
	panel.until(`document.querySelector('.acts').textContent.includes('was stopped by you')`)
	panel.picture("panel-stopped")
	panel.press("Allow again")
	popup.until(`!document.querySelector('.agents').innerText.includes('was stopped by you')`)
	p.js(`b.onclick = () => { s.textContent = 'again' }`)
	holds(t, a.act("browser_click", map[string]any{"ref": ref}).Page, "again")
	panel.until(`/testbed.* acted on this page/.test(document.querySelector('.acts').textContent)`)
	panel.js(`document.querySelector('.acts .stop').click()`)
	popup.until(`document.querySelector('.agents').innerText.includes('was stopped by you')`)
	a.cannot("browser_click", map[string]any{"ref": ref}, usererr.AgentStopped)
}
