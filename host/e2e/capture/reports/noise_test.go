package reports

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// chatty is a page that warns at every load, and fails when it is told to.
const chatty = `<!doctype html><title>Chatty</title><link rel=icon href=data:,><script>
console.warn('list of', performance.now() + 1000, 'children without a key');
if (location.hash === '#broken') { console.error('the cart is broken'); fetch('/api/cart') }
</script>`

// TestWhatIsIgnoredInThePopupIsHiddenFromThenOn presses the popup's buttons in Chromium.
func TestWhatIsIgnoredInThePopupIsHiddenFromThenOn(t *testing.T) {
	w := e2etest.OwnWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": chatty})
	s.Answer("/api/cart", 500)
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	if r := a.Changes(); r.Severity != report.Warning {
		t.Fatalf("%s", e2etest.Show(r))
	}
	popup := w.Open(t, installer.Origin+"popup/index.html")
	press := func(label, then string) {
		t.Helper()
		popup.JS(fmt.Sprintf(`
const until = async (holds) => { for (let i = 0; i < 1000 && !holds(); i++) await new Promise((done) => setTimeout(done, 10)); if (!holds()) throw new Error(document.body.innerText); };
const button = () => [...document.querySelectorAll('.findings button')].find((b) => b.textContent === %q);
await until(() => button() && !button().disabled);
button().click();
await until(() => { const text = document.body.innerText; return %s });`, label, then))
	}
	press("Ignore", `text.includes('Ignored: list of') && text.includes('hidden as noise')`)
	p.Reload()
	if r := a.Changes(); r.Severity != report.Clean || r.NoiseHidden != 1 {
		t.Errorf("ignored: %s", e2etest.Show(r))
	}

	// It outlives the daemon.
	if r := w.Run("stop"); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return strings.Contains(w.Run("status", "--json").Out, `"connected":true`), nil
	}); err != nil {
		t.Fatal(err)
	}
	p.JS(`console.warn('list of 4321 children without a key')`)
	if r := a.Changes(); r.NoiseHidden != 1 || len(r.Console.NewWarnings) != 0 {
		t.Errorf("after the daemon was replaced: %s", e2etest.Show(r))
	}
	if r := w.Run("noise", "list"); !strings.Contains(r.Out, "ignored in the popup") {
		t.Errorf("%+v", r)
	}

	// What else breaks is told.
	p.JS(`location.hash = '#broken'; location.reload()`)
	if r := a.ChangesWith(map[string]any{"wait": "reload"}); r.Severity != report.Error || len(r.Console.NewErrors) != 1 || len(r.Network.Failures) != 1 || r.NoiseHidden != 1 {
		t.Errorf("broken: %s", e2etest.Show(r))
	}

	// The popup still offers to take it back, and does.
	p.JS(`location.hash = ''`)
	press("Undo", `!text.includes('Ignored:')`)
	p.Reload()
	if r := a.Changes(); r.Severity != report.Warning || len(r.Repeated) != 1 || r.NoiseHidden != 0 {
		t.Errorf("taken back: %s", e2etest.Show(r))
	}
}

func TestARepeatedWarningIsSuggestedAndIgnoredFromTheCommandLine(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": chatty})
	project := t.TempDir()
	file := filepath.Join(project, ".tidemark.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "origins = [%q]\n", s.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		r := w.RunIn(project, args...)
		if r.Code != 0 {
			t.Fatalf("%v: %+v", args, r)
		}
		return r.Out
	}
	p := w.Open(t, s.URL)
	for range 3 {
		p.Reload()
		run("changes", "--wait", "settled")
	}
	var a noiserules.NoiseAnswer
	if err := json.Unmarshal([]byte(run("noise", "suggest", "--json")), &a); err != nil || len(a.Suggestions) != 1 {
		t.Fatalf("%v %+v", err, a)
	}
	if f := a.Suggestions[0]; f.WouldHide != 4 || f.Fingerprint != "list of {n} children without a key" {
		t.Errorf("%+v", f)
	}
	if out := run("noise", "suggest", "--add", "1"); !strings.Contains(out, "It hides 4 entries in memory") {
		t.Error(out)
	}
	t.Cleanup(func() { w.RunIn(project, "noise", "rm", "n1") })
	p.Reload()
	if out := run("changes", "--wait", "settled"); !strings.Contains(out, "clean") || !strings.Contains(out, "1 entry hidden as noise") {
		t.Error(out)
	}
	if out := run("noise", "explain", "children"); !strings.Contains(out, "hidden  console") || !strings.Contains(out, "rule n1") {
		t.Error(out)
	}
	run("noise", "rm", "n1")

	// The same for the whole project, by its file.
	run("noise", "add", "--project", "children without a key")
	p.Reload()
	if out := run("changes", "--wait", "settled"); !strings.Contains(out, "1 entry hidden as noise") {
		t.Error(out)
	}
}
