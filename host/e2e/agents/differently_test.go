package agents

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// serve serves a directory at a port of this machine until the test ends. 0 is any. Files are never cached, and a request of
// /changed is answered when cart.js changes, as a development server has its pages loaded again.
func serve(t *testing.T, dir string, port int) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(dir))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // loopback
		w.Header().Set("Cache-Control", "no-store")
		if r.URL.Path == "/changed" {
			first, _ := os.ReadFile(filepath.Join(dir, "cart.js"))
			for now := first; string(now) == string(first); now, _ = os.ReadFile(filepath.Join(dir, "cart.js")) {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
			return
		}
		files.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func decode(t *testing.T, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// Of twenty edits of the real Claude Code, one breaks the page. A call finds it, a branch from the moment before does it
// differently, and its page is clean while that of the original is still broken.
func TestABranchDoesDifferentlyWhatBrokeThePage(t *testing.T) {
	program(t, "claude")
	w := newWorld(t)
	w.World = e2etest.SeparateWorld(t)
	w.tidemark("project", "allow", "--grant", "conversation", w.project)
	port := serve(t, w.project, 0)
	w.write(".tidemark.toml", fmt.Sprintf("origins = [\"http://127.0.0.1:%d\"]\n", port))
	w.write("index.html", "<!doctype html><title>shop</title><link rel=icon href=data:,><script src=cart.js></script><script>fetch('/changed').then(() => location.reload())</script>\n")
	const broken = 12
	cart := func(n int) string {
		if n >= broken {
			return fmt.Sprintf("// %d\nlet cart = null\ndocument.title = 'items ' + cart.items.length\n", n)
		}
		return fmt.Sprintf("// %d\nlet cart = { items: [] }\ndocument.title = 'items ' + cart.items.length\n", n)
	}
	w.write("cart.js", cart(0))
	w.tidemark("session", "start")
	page := w.Open(t, fmt.Sprintf("http://127.0.0.1:%d/", port))
	page.WaitForTitle("items 0")

	var turns []modelserver.Turn
	for n := 1; n <= 20; n++ {
		turns = append(turns, modelserver.Turn{Text: fmt.Sprintf("Step %d.", n), Calls: []modelserver.Call{call(fmt.Sprintf("toolu_%d", n), "Edit", map[string]any{
			"file_path": filepath.Join(w.project, "cart.js"), "old_string": cart(n - 1), "new_string": cart(n),
		})}})
	}
	turns = append([]modelserver.Turn{{Calls: []modelserver.Call{call("toolu_0", "Read", map[string]any{"file_path": filepath.Join(w.project, "cart.js")})}}}, append(turns, modelserver.Turn{Text: "All done."})...)
	w.claude(claudeEvents, "Work on the cart", turns...)

	var found regression.Regression
	decode(t, w.tidemark("timeline", "find-regression", "--json"), &found)
	if found.Verdict != regression.Found || found.Moment != w.momentOf(fmt.Sprintf("toolu_%d", broken)) || found.IntroducedBy == nil || found.IntroducedBy.Path != "cart.js" {
		t.Fatalf("what broke is %+v %+v", found, found.IntroducedBy)
	}
	before := whole(t, w.project)
	transcripts, _ := filepath.Glob(filepath.Join(w.home, "claude", "projects", "*", "*.jsonl"))
	if len(transcripts) != 1 {
		t.Fatalf("the transcripts are %q", transcripts)
	}
	transcript := w.content(transcripts[0])

	server := modelserver.Start(t,
		modelserver.Turn{Text: "Differently.", Calls: []modelserver.Call{call("toolu_b1", "Bash", map[string]any{"command": "sed -i 's/items: \\[\\]/items: [1]/' cart.js", "description": "edit"})}},
		modelserver.Turn{Text: "Done differently."},
	)
	if err := os.WriteFile(filepath.Join(w.home, "claude", "settings.json"), []byte(strings.Replace(w.settings(claudeEvents...), "{", `{"permissions":{"allow":["Bash","Write","Edit"]},`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := w.branch(claudeEnv(filepath.Join(w.home, "claude"), server), "--moment", w.momentOf(fmt.Sprintf("toolu_%d", broken-1)), "--name", "differently", "--message", "Do it differently")
	if asked := server.Asked(); b.Agent.Method != "transcript" || len(asked) == 0 || !strings.Contains(asked[0], fmt.Sprintf("Step %d.", broken-1)) || strings.Contains(asked[0], fmt.Sprintf("Step %d.", broken)) {
		t.Errorf("the agent is %+v, and its model was asked %q", b.Agent, asked)
	}
	if got, want := w.content(b.Workspace, "cart.js"), strings.Replace(cart(broken-1), "[]", "[1]", 1); got != want {
		t.Errorf("the branch has %q", got)
	}

	// Both pages, side by side: each side sees its own.
	serve(t, b.Workspace, port+b.Agent.Ports)
	other := w.Open(t, fmt.Sprintf("http://127.0.0.1:%d/", port+b.Agent.Ports))
	other.WaitForTitle("items 1")
	page.Reload()
	w.tidemark("changes", "--wait", "settled")
	for _, one := range []struct {
		dir, ports string
		severity   report.Severity
	}{{w.project, "", report.Error}, {b.Workspace, fmt.Sprint(b.Agent.Ports), report.Clean}} {
		cmd := w.Command("changes", "--since", "start", "--json")
		cmd.Dir, cmd.Env = one.dir, append(cmd.Env, "TIDEMARK_PORT_OFFSET="+one.ports)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var r report.Report
		decode(t, string(out), &r)
		if r.Severity != one.severity {
			t.Errorf("in %s, the report is %s", one.dir, out)
		}
	}
	var c branches.Comparison
	decode(t, w.tidemark("branch", "compare", "differently", "--json"), &c)
	if c.A.Severity != report.Clean || c.B.Severity != report.Error || c.A.Browser == nil || c.A.Browser.Severity != report.Clean || c.B.Browser == nil || c.B.Browser.Severity != report.Error {
		t.Errorf("the severities are %q and %q: %+v, %+v", c.A.Severity, c.B.Severity, c.A.Browser, c.B.Browser)
	}
	if fmt.Sprint(c.A.Files, c.B.Files, c.Different) != "[cart.js] [cart.js] [cart.js]" || c.A.Calls != 1 || c.B.Calls != 9 || c.A.Tokens == nil || c.B.Tokens == nil {
		t.Errorf("the comparison is %+v", c)
	}
	if c.A.First != "Bash sed" || c.B.First != "Edit cart.js" { // where they diverge
		t.Errorf("the branch began with %q, the original went on with %q", c.A.First, c.B.First)
	}
	t.Log("\n" + w.tidemark("branch", "compare", "differently"))
	if after := whole(t, w.project); after != before {
		t.Errorf("the original has changed:\n%s\nbefore:\n%s", after, before)
	}
	if w.content(transcripts[0]) != transcript {
		t.Error("the original conversation has changed")
	}
}
