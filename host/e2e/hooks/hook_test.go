package hooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"tidemark.dev/tidemark/host/testing/devserver"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// devApp is an application in development, whose page shows a list of items.
type devApp struct {
	*devserver.App
	t *testing.T
}

// startVite serves the application of testdata with the Vite of node_modules, and perhaps more environment variables.
func startVite(t *testing.T, env ...string) *devApp {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	modules := e2etest.Repository("node_modules")
	if _, err := os.Stat(filepath.Join(modules, "vite")); err != nil {
		t.Skipf("%v; make build installs it", err)
	}
	app := &devApp{&devserver.App{TB: t, Dir: t.TempDir()}, t}
	files, err := txtar.ParseFile("testdata/vite-app.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files.Files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(app.Dir, f.Name)), 0o700); err != nil {
			t.Fatal(err)
		}
		app.Write(f.Name, string(f.Data))
	}
	if err := os.Symlink(modules, filepath.Join(app.Dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	app.Serve(exec.Command(node, "serve.mjs", modules), env...)
	return app
}

// session is an agent's session with the hook set up, in a project's directory.
type session struct {
	t       *testing.T
	w       *e2etest.World
	id, dir string
	// patience is how long a hook waits for an update of the page after an edit. Empty is 4s: on a machine that is busy with
	// other tests one may take its time to begin.
	patience string
}

// hook runs the hook as Claude Code does, and returns what it says.
func (s *session) hook(event string, fields map[string]any) string {
	s.t.Helper()
	input := map[string]any{"session_id": s.id, "transcript_path": "/dev/null", "cwd": s.dir, "permission_mode": "default", "hook_event_name": event}
	for k, v := range fields {
		input[k] = v
	}
	data, err := json.Marshal(input)
	if err != nil {
		s.t.Fatal(err)
	}
	var out, errOut strings.Builder
	for range 3 {
		cmd := s.w.Command("hook", "--debug", "--patience", cmp.Or(s.patience, "4s"), "--timeout", "10s")
		cmd.Stdin = strings.NewReader(string(data))
		out.Reset()
		errOut.Reset()
		cmd.Stdout, cmd.Stderr = &out, &errOut
		// The hook of an agent does not wait for a daemon that is silent for a quarter of a second. On a busy machine it may be.
		if err = cmd.Run(); !strings.Contains(errOut.String(), "the daemon does not respond") {
			break
		}
	}
	said := errOut.String()
	for _, what := range []string{"moment ", "conversation was recorded"} { // what became of them
		if line, rest, _ := strings.Cut(said, "\n"); strings.Contains(line, what) {
			said = rest
		}
	}
	fine := said == "" || said == "tidemark: nothing reported: no new problems\n" || said == "tidemark: nothing reported: after this event no page is checked\n" || fields["stop_hook_active"] == true
	if err != nil || !fine {
		s.t.Fatalf("the hook: %v %s", err, errOut.String())
	}
	return out.String()
}

// starts runs the hook as the session starts, once the project's page is watched.
func (s *session) starts() string {
	s.t.Helper()
	if err := testbed.Eventually(s.t.Context(), func() (bool, error) {
		return strings.Contains(s.w.RunIn(s.dir, "status", "--json").Out, `"watched":true`), nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return s.hook("SessionStart", map[string]any{"source": "startup"})
}

// edited runs the hook after an edit, and returns what the agent is told.
func (s *session) edited(name string) string {
	s.t.Helper()
	out := s.hook("PostToolUse", map[string]any{
		"tool_name": "Edit", "tool_use_id": "toolu_1",
		"tool_input": map[string]any{"file_path": filepath.Join(s.dir, name)}, "tool_response": map[string]any{"success": true},
	})
	if out == "" {
		return ""
	}
	var told struct {
		HookSpecificOutput struct{ HookEventName, AdditionalContext string }
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil || told.HookSpecificOutput.HookEventName != "PostToolUse" {
		s.t.Fatalf("%v: %s", err, out)
	}
	return told.HookSpecificOutput.AdditionalContext
}

// stops runs the hook as the agent is done, and returns why it is to go on.
func (s *session) stops() string {
	s.t.Helper()
	out := s.hook("Stop", map[string]any{"stop_hook_active": false})
	if out == "" {
		return ""
	}
	var told struct{ Decision, Reason string }
	if err := json.Unmarshal([]byte(out), &told); err != nil || told.Decision != "block" {
		s.t.Fatalf("%v: %s", err, out)
	}
	return told.Reason
}

func TestTheHookSpeaksWhenAnEditBreaksTheViteApplicationAndOnlyThen(t *testing.T) {
	w := e2etest.SharedWorld(t)
	app := startVite(t)
	s := &session{t: t, w: w, id: "vite-" + app.URL, dir: app.Dir}
	p := w.Open(t, app.URL)
	p.JS(`while (!document.querySelector('li')) await new Promise((done) => setTimeout(done, 20))`)
	if said := s.starts(); said != "" {
		t.Fatalf("the page is fine as the session starts: %s", said)
	}
	edits := []struct {
		file, from, to string
		// cause is what the hook must name; "": it must say nothing.
		cause []string
	}{
		{"src/App.jsx", "<ul>", "<ul class='items'>", nil},
		{"src/app.css", "sans-serif", "serif", nil},
		{"src/App.jsx", "</ul>", "</ol>", []string{"App.jsx", "ul"}}, // a syntax error
		{"src/App.jsx", "</ol>", "</ul>", nil},
		{"src/price.js", "toFixed(2)", "toFixed(1)", nil},
		{"notes.md", "Nothing", "Nothing at all", nil},
		{"src/price.js", "(cents / 100)", "cents.value", []string{"TypeError", "price.js"}}, // while it renders
		{"src/price.js", "cents.value", "(cents / 100)", nil},
		{"src/main.js", "show(App);", "show(App); // at once", nil},                      // a whole reload
		{"src/App.jsx", "./price.js", "./prices.js", []string{"./prices.js", "App.jsx"}}, // a file that is not there
		{"src/App.jsx", "./prices.js", "./price.js", nil},
		{"src/app.css", "body {", "body { margin: 0;", nil},
		{"src/api.js", "/api/items", "/api/goods", []string{"/api/goods", "500"}}, // a request that fails
		{"src/api.js", "/api/goods", "/api/items", nil},
		{"src/App.jsx", "<li key", "<li title='an item' key", nil},
		{"src/app.css", "body {", "@import './fonts.css'; body {", []string{"fonts.css"}}, // a style sheet that is not there
		{"src/app.css", "@import './fonts.css'; body {", "body {", nil},
		{"src/api.js", "return answer.json();", "const list = await answer.json();\n  return list;", nil},
		{"index.html", "<title>Items", "<title>Things", nil}, // a whole reload
		{"src/price.js", "toFixed(1)", "toFixed(2)", nil},
	}
	spoke, breaking := 0, 0
	for i, e := range edits {
		if e.cause != nil {
			breaking++
		}
		app.Edit(e.file, e.from, e.to)
		began := time.Now()
		said := s.edited(e.file)
		t.Logf("edit %d of %s, after %s: %s", i+1, e.file, time.Since(began).Round(time.Millisecond), said)
		if said != "" {
			spoke++
		}
		if (said != "") != (e.cause != nil) {
			t.Errorf("edit %d of %s (%s → %s): %q", i+1, e.file, e.from, e.to, said)
		}
		for _, word := range e.cause {
			if !strings.Contains(said, word) {
				t.Errorf("edit %d of %s does not name its cause, %s: %s", i+1, e.file, word, said)
			}
		}
		if len(said) > 1600 {
			t.Errorf("edit %d: %d bytes", i+1, len(said))
		}
	}
	if len(edits) != 20 || breaking != 5 || spoke != 5 {
		t.Errorf("%d edits, %d of them breaking: the hook spoke %d times", len(edits), breaking, spoke)
	}
	if said := s.stops(); said != "" {
		t.Errorf("all is well as the session ends: %s", said)
	}
}

// projectOf is a directory of a project whose pages are a site's.
func projectOf(t *testing.T, s *e2etest.Site) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".tidemark.toml"), fmt.Appendf(nil, "origins = [%q]\n", s.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnAgentThatStopsWhileThePageIsBrokenIsToldOnce(t *testing.T) {
	w := e2etest.SharedWorld(t)
	site := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	site.Answer("/api/items", 500)
	s := &session{t: t, w: w, id: "stop-" + site.URL, dir: projectOf(t, site)}
	p := w.Open(t, site.URL)
	if said := s.starts(); said != "" {
		t.Errorf("as the session starts: %s", said)
	}
	p.Reload()
	p.JS(`await fetch('/api/items')`)
	if said := s.edited("a.js"); !strings.Contains(said, "GET /api/items returns 500") {
		t.Errorf("after the edit: %q", said)
	}
	if said := s.hook("Stop", map[string]any{"stop_hook_active": true}); said != "" {
		t.Errorf("an agent that a hook has held up already: %s", said)
	}
	if said := s.stops(); !strings.Contains(said, "still broken") || !strings.Contains(said, "GET /api/items returns 500") {
		t.Errorf("as the agent stops: %q", said)
	}
	if said := s.stops(); said != "" {
		t.Errorf("as it stops again: %q", said)
	}
	p.JS(`console.error('later, by itself')`)
	if said := s.stops(); !strings.Contains(said, "later, by itself") {
		t.Errorf("something new: %q", said)
	}
	other := &session{t: t, w: w, id: "late-" + site.URL, dir: s.dir}
	if said := other.starts(); !strings.Contains(said, "already broken") || strings.Count(said, "\n") != 1 {
		t.Errorf("another session starts with the page broken: %s", said)
	}
	if said := other.stops(); said != "" {
		t.Errorf("what it did not break: %s", said)
	}
}

func TestTheHooksPlaceOutlivesTheDaemon(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.SeparateWorld(t)
	site := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	s := &session{t: t, w: w, id: "outlives", dir: projectOf(t, site)}
	p := w.Open(t, site.URL)
	s.starts()
	p.Reload()
	p.JS(`console.error('before')`)
	if said := s.edited("a.js"); !strings.Contains(said, "before") {
		t.Errorf("%q", said)
	}
	p.JS(`console.error('while nobody looked')`)
	if ran := w.Run("stop"); ran.Code != 0 {
		t.Fatal(ran.Err)
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return strings.Contains(w.Run("status", "--json").Out, `"watched":true`), nil
	}); err != nil {
		t.Fatal(err)
	}
	if said := s.edited("a.js"); !strings.Contains(said, "while nobody looked") || strings.Contains(said, "before") {
		t.Errorf("%q", said)
	}
}
