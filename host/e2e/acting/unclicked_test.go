package acting

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

// TestAClickThatTheBrowserDoesNotFire is reported with what moved or replaced the pressed element, and only then.
func TestAClickThatTheBrowserDoesNotFire(t *testing.T) {
	w := e2etest.SharedWorld(t)
	const form = `<label>Email <input id="email"></label><div id="hints"></div><button id="send">Send</button><p role="status" id="said">none</p><script>
		const sent = () => { said.textContent = 'sent' };
		send.onclick = sent;`
	moved := protocol.ActUnclicked{Pressed: `button "Send"`, Released: `p "Enter an address"`, Field: `textbox "Email"`}
	replaced := protocol.ActUnclicked{Pressed: `button "Send"`, Released: `button "Send"`, Field: `textbox "Email"`, Removed: true}
	const hint = `hints.innerHTML = '<p style="height: 900px; margin: 0">Enter an address</p>'`
	const anew = `send.replaceWith(send.cloneNode(true)); document.getElementById('send').onclick = sent`
	pages := map[string]struct {
		script string
		want   *protocol.ActUnclicked
		sent   bool
	}{
		"/moved":      {`email.onblur = () => { ` + hint + ` }`, &moved, false},
		"/microtask":  {`email.onblur = () => { Promise.resolve().then(() => { ` + hint + ` }) }`, &moved, false},
		"/replaced":   {`email.onblur = () => { ` + anew + ` }`, &replaced, false},
		"/still":      {`email.onblur = () => { hints.dataset.checked = 'yes' }`, nil, true},
		"/inside":     {`email.onblur = () => { send.innerHTML = '<b>Send</b>' }`, nil, true},
		"/on-press":   {`send.onmousedown = (e) => { e.preventDefault(); email.blur(); sent(); ` + hint + ` }`, nil, true},
		"/on-release": {`send.onpointerup = () => { sent(); ` + hint + ` }`, nil, true},
		"/on-removal": {`send.onpointerup = () => { sent(); send.remove() }`, nil, true},
		"/on-pointer": {`send.onpointerdown = (e) => { e.preventDefault(); email.blur(); sent(); ` + hint + ` }`, nil, true},
	}
	served := map[string]string{}
	for path, p := range pages {
		served[path] = e2etest.StorePage("Form", form+p.script+`</script>`)
	}
	s := e2etest.NewSite(t, served)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL+"/still")
	for path, p := range pages {
		page := a.Do("browser_navigate", map[string]any{"url": s.URL + path})
		page = a.Do("browser_type", map[string]any{"ref": e2etest.RefOf(t, page, `textbox "Email"`), "text": "ada"}) + page
		d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, page, `button "Send"`)})
		got := d.Unclicked
		if (got == nil) != (p.want == nil) || got != nil && *got != *p.want {
			t.Errorf("%s: got %+v, want %+v\n%s", path, got, p.want, d)
		}
		if sent := strings.Contains(d.Page, `"sent"`); sent != p.sent {
			t.Errorf("%s: sent is %v\n%s", path, sent, d)
		}
	}
}
