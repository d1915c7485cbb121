package acting

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

// TestATypedPasswordIsHiddenWhereverThePageShowsIt: in a frame that it writes, and in a dialog, which blocks the page.
func TestATypedPasswordIsHiddenWhereverThePageShowsIt(t *testing.T) {
	e2etest.NeedBrowser(t)
	const secret = "Zq8vortexGamma"
	w := e2etest.ConfiguredWorld(t, "")
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Sign in", `<label>Password <input type="password" id="p"></label>
		<button onclick="i.srcdoc = '<button>Inner</button><input aria-label=copy value=' + p.value + '><p>It is ' + p.value + '</p>'">Frame</button>
		<button onclick="prompt('Is it ' + p.value + '?', p.value)">Ask</button><iframe id="i" title="Copies"></iframe>`)})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	hidden := func(where, text string) {
		t.Helper()
		if strings.Contains(text, secret) {
			t.Errorf("%s has the password:\n%s", where, text)
		}
	}
	ref := func(name string) map[string]any { return map[string]any{"ref": e2etest.RefOf(t, first, name)} }
	a.Act("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, `textbox "Password"`), "text": secret})
	hidden("the answer", a.Act("browser_click", ref(`button "Frame"`)).String())
	all := a.Everything()
	hidden("the snapshot", all)
	e2etest.Holds(t, all, `textbox "copy"`, "It is [masked]")
	asked := a.Act("browser_click", ref(`button "Ask"`))
	hidden("the dialog", asked.String())
	e2etest.Holds(t, asked.String(), "A dialog blocks the page", "Is it [masked]?")
	refused := a.Refusal("browser_click", ref(`button "Frame"`), protocol.RefusedDialog, 0)
	hidden("the refusal", refused.String())
	a.Act("browser_handle_dialog", map[string]any{"accept": true})
}
