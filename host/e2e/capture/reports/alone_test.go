//go:build unix

package reports

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// TestAPageOnTheBrowsersCommandLineIsWatched starts Chromium as anybody would, with the extension and
// a page on its command line: the page may have loaded before the extension runs.
func TestAPageOnTheBrowsersCommandLineIsWatched(t *testing.T) {
	e2etest.NeedBrowser(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<script>console.error('on load'); fetch('/gone.json')</script><img src="/gone.png"><div role=alert>Shown</div>`})
	s.Answer("/gone.json", 500)
	s.Answer("/gone.png", 404)
	w := e2etest.EmptyWorld(t)
	extension, err := w.Extension()
	if err != nil {
		t.Fatal(err)
	}
	found, err := installer.FindBrowser()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(found.Path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+w.Profile(), "--load-extension="+extension, s.URL)
	cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+w.Home, "TMPDIR="+w.Home) // killed, it leaves files behind
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	a := w.NewAgent(t) // before the browser is there
	var r *report.Report
	err = testbed.Eventually(context.Background(), func() (bool, error) {
		r = a.ChangesWith(map[string]any{"checkpoint": "2020-01-01T00:00:00Z", "wait": "settled"})
		return r.Severity == report.Error && r.DOM.NewErrorElements != nil, nil
	})
	text := e2etest.Show(r)
	for _, part := range []string{`"message": "on load"`, `"url": "/gone.json",`, `"status": 500`, `"url": "/gone.png",`, `"text": "Shown"`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing", part)
		}
	}
	if err != nil || t.Failed() || len(r.Network.Failures) != 2 || len(r.Console.NewErrors) != 1 {
		t.Errorf("%v: %s", err, text)
	}
}

func TestActionsOfAPersonAreToldWithoutSecrets(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<form onsubmit="return false"><label>Email <input id=email></label>
		<label>Password <input id=pw type=password></label><label>Card <input id=card autocomplete=cc-number></label>
		<select id=size aria-label=Size><option>S<option>M</select><button>Sign in</button></form>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	typing := func(selector, text string) chromedp.Action[chromedp.Void] {
		return chromedp.SendKeys(selector, text)
	}
	p.Do(typing("#email", "ann@example.com"), typing("#pw", "hunter2hunter2"), typing("#card", "4242424242424242"), chromedp.Click("button"))
	text := e2etest.Show(a.Changes())
	for _, part := range []string{`"target": "textbox \"Email\"",`, `"value": "ann@example.com"`, `"value": "[masked]"`, `"target": "button \"Sign in\""`, `"type": "submit"`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing", part)
		}
	}
	for _, secret := range []string{"hunter2", "4242"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s left the page", secret)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestAPasswordThatWasReplacedBeforeTheFirstLookIsMasked replaces password fields by text fields with their values.
func TestAPasswordThatWasReplacedBeforeTheFirstLookIsMasked(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<div id=preset><input type=password value="preset-secret-01"></div><div id=set></div><div id=late></div><x-in></x-in><script>
customElements.define('x-in', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<input type=password value="shadow-secret-02">' } })
const host = document.querySelector('x-in'), swap = (at, label, value = at.firstChild.value) => { at.innerHTML = '<input aria-label=' + label + '>'; at.firstChild.value = value }
set.innerHTML = '<input type=password>'; set.firstChild.value = 'script-secret-03'
late.innerHTML = '<input type=password>'
setTimeout(() => { late.firstChild.value = 'late-secret-04' }, 20)
setTimeout(() => { swap(preset, 'One'); swap(set, 'Three') }, 30)
setTimeout(() => { const { value } = host.shadowRoot.firstChild; host.remove(); const now = document.createElement('p'); document.body.append(now); swap(now, 'Two', value); swap(late, 'Four'); document.title = 'swapped shadow-secret-02' }, 400)</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	p.WaitForTitle("swapped shadow-secret-02")
	text, err := a.Text("browser_snapshot", map[string]any{"full_snapshot": true})
	if err != nil || strings.Contains(text, "secret-0") || strings.Count(text, "[masked]") != 5 {
		t.Errorf("%v: %s", err, text)
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		text, err = a.Text("browser_tabs", nil)
		return err != nil || strings.Contains(text, "swapped"), nil
	}); err != nil || strings.Contains(text, "secret-0") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestAFloodIsCountedToTheLastLine(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	p.JS(`for (let i = 0; i < 20000; i++) console.log('line', i)`)
	r := a.ChangesWith(map[string]any{"wait": "settled", "timeout_ms": 15000})
	lost := 0
	if r.Coverage != nil {
		lost = r.Coverage.Dropped
	}
	// The buffer holds 10,000; the rest is read from the journal.
	if r.BufferOverflow || r.Console.TotalNewEntries+lost != 20000 {
		t.Errorf("%s", e2etest.Show(r))
	}
	var page struct {
		Total   int
		Evicted uint64
	}
	a.Call("get_browser_logs", testbed.Raw(map[string]any{"limit": 1, "search": "line"}), &page)
	if page.Total == 0 {
		t.Errorf("%+v", page)
	}
}

func TestTheCommandLine(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": "<!doctype html><title>My shop</title><link rel=icon href=data:,>"})
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, ".tidemark.toml"), fmt.Appendf(nil, "origins = [%q]\n", s.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.Open(t, s.URL)
	p.JS(`for (let i = 0; i < 3; i++) { console.log('tick'); void fetch('/?rows') }`)
	settle := w.RunIn(project, "changes", "--wait", "settled")
	if settle.Code != 0 || !strings.Contains(settle.Out, "clean") {
		t.Fatalf("%+v", settle)
	}
	p.JS(`console.error('for the person')`)

	if r := w.RunIn(project, "changes", "--wait", "settled", "--since", "2020-01-01", "--fail-on", "error"); r.Code != 4 || !strings.Contains(r.Out, "for the person") {
		t.Errorf("--fail-on: %+v", r)
	}
	if r := w.RunIn(project, "changes", "--watch", "--since", "2020-01-01", "--fail-on", "error"); r.Code != 4 || !strings.Contains(r.Out, "for the person") {
		t.Errorf("--watch --fail-on: %+v", r)
	}
	r := w.RunIn(project, "changes", "--json")
	var answer report.Report
	if err := json.Unmarshal([]byte(r.Out), &answer); err != nil || answer.Severity != report.Error || answer.Checkpoint != "auto_2" {
		t.Errorf("--json: %v %+v", err, r)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"changes", "--since", "nowhere"}, 2, `no checkpoint "nowhere"`},
		{[]string{"changes", "--include", "smell"}, 2, "unknown section"},
		{[]string{"changes", "--since", "2999-01-01"}, 2, "in the future"},
		{[]string{"frobnicate"}, 2, "unknown command"},
		{[]string{"changes", "--frob"}, 2, "unknown flag"},
		{[]string{"checkpoint", "add", "Before"}, 2, "must match"},
		{[]string{"checkpoint", "add", "before_cli_test", "--note", "x"}, 0, "created before_cli_test"},
		{[]string{"checkpoint", "list"}, 0, "before_cli_test"},
		{[]string{"changes", "--since", "before_cli_test"}, 0, "clean"},
		{[]string{"changes", "--since", "before_cli_tset"}, 2, "before_cli_test"},
		{[]string{"checkpoint", "rm", "before_cli_test"}, 0, "deleted"},
		{[]string{"logs", "--level", "error"}, 0, "for the person"},
		{[]string{"logs"}, 0, `"tick" ×3`},
		{[]string{"network"}, 0, s.URL + "/?rows"}, // on a busy machine, one may take so long that it has a line of its own
		{[]string{"network"}, 0, "1 loaded files are not listed"},
		{[]string{"network", "--url", "/"}, 0, s.URL},
		{[]string{"websocket"}, 0, "no entries yet"},
		{[]string{"actions"}, 0, "navigate"},
		{[]string{"status"}, 0, "My shop"},
		{[]string{"completion", "bash"}, 0, "bash completion"},
	} {
		r := w.RunIn(project, c.args...)
		if r.Code != c.code || !strings.Contains(r.Out+r.Err, c.says) {
			t.Errorf("%v: code %d (want %d), want %q in\n%s%s", c.args, r.Code, c.code, c.says, r.Out, r.Err)
		}
	}
	var st struct {
		Version, Socket string
		PID             int
		Browsers        []struct {
			Name string
			Tabs []struct {
				ID                  int
				URL, Title, Capture string
				Watched             bool
			}
		}
		Severity string
	}
	if err := json.Unmarshal([]byte(w.RunIn(project, "status", "--json").Out), &st); err != nil {
		t.Fatal(err)
	}
	if st.PID == 0 || st.Version == "" || !strings.HasSuffix(st.Socket, "run/mcp.sock") || len(st.Browsers) != 1 || len(st.Browsers[0].Tabs) != 1 ||
		!st.Browsers[0].Tabs[0].Watched || st.Browsers[0].Tabs[0].Capture != cmp.Or(w.Way, "debugger") {
		t.Errorf("%+v", st)
	}
}
