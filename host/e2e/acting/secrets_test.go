package acting

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/planted"
	"tidemark.dev/tidemark/protocol"
)

// TestATypedPasswordIsHiddenWhereverThePageShowsIt: in a frame that it writes, with characters in it that show nothing, and
// in a dialog, which blocks the page.
func TestATypedPasswordIsHiddenWhereverThePageShowsIt(t *testing.T) {
	e2etest.NeedBrowser(t)
	const secret = "Zq8vortexGamma"
	w := e2etest.ConfiguredWorld(t, "")
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Sign in", `<label>Password <input type="password" id="p"></label>
		<button onclick="i.srcdoc = '<button>Inner</button><input aria-label=copy value=' + p.value + '><p>It is ' + p.value + '</p>'">Frame</button>
		<button onclick="const mix = (c) => p.value.match(/.{1,4}/g).join(c); heading.textContent = 'Now ' + mix('\u00ad'); heading.title = 'As ' + mix('\x1b[1m'); labelled.ariaLabel = 'Or ' + mix('\ufeff')">Mix</button><h2 id="heading"></h2><button id="labelled"></button>
		<button onclick="prompt('Is it ' + p.value + '?', p.value)">Ask</button><button onclick="prompt('Choose a password:', 'Offered82vK')">Choose</button><iframe id="i" title="Copies"></iframe>`)})
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
	mixed := a.Act("browser_click", ref(`button "Mix"`)).String()
	e2etest.Holds(t, mixed, "Now [masked]", "As [masked]", `button "Or [masked]"`)
	asked := a.Act("browser_click", ref(`button "Ask"`))
	hidden("the dialog", asked.String())
	e2etest.Holds(t, asked.String(), "A dialog blocks the page", "Is it [masked]?")
	refused := a.Refusal("browser_click", ref(`button "Frame"`), protocol.RefusedDialog, 0)
	hidden("the refusal", refused.String())
	a.Act("browser_handle_dialog", map[string]any{"accept": true})
	offered := a.Act("browser_click", ref(`button "Choose"`)).String()
	e2etest.Holds(t, offered, "Choose a password:", "[masked]")
	if strings.Contains(offered, "Offered82vK") {
		t.Errorf("the dialog has the password that it offers:\n%s", offered)
	}
	a.Act("browser_handle_dialog", map[string]any{"accept": false})
}

// TestNoPlantedSecretIsInADialog, in its message and in its proposed answer.
func TestNoPlantedSecretIsInADialog(t *testing.T) {
	w, sent := e2etest.TappedWorld(t)
	secrets := planted.InTexts(t)
	var groups [][]string
	for rows := range slices.Chunk(secrets, 25) {
		var texts []string
		for _, row := range rows {
			texts = append(texts, row.Text)
		}
		groups = append(groups, texts)
	}
	script, err := json.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("Shop", `<button onclick="ask()">Ask</button><script src="/ask.js"></script>`),
		"/ask.js": fmt.Sprintf(`let asked = 0;
const groups = %s;
function ask() {
  const texts = groups[asked++];
  prompt(texts.join('\n'), texts[0]);
}
`, script),
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	ask := map[string]any{"ref": e2etest.RefOf(t, a.Look(), `button "Ask"`)}
	var told strings.Builder
	for range groups {
		d := a.Act("browser_click", ask)
		e2etest.Holds(t, d.String(), "A dialog blocks the page")
		told.WriteString(d.String())
		told.WriteString(a.Do("browser_tabs", nil))
		told.WriteString(a.Act("browser_handle_dialog", map[string]any{"accept": true}).String())
	}
	all := map[string]string{"an answer": told.String(), "a message of the extension": sent()}
	planted.NotIn(t, secrets, all)
	for where, text := range all {
		if !strings.Contains(text, "[masked]") {
			t.Errorf("nothing that was planted is in %s", where)
		}
	}
}
