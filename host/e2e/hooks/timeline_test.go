package hooks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// listed is what `tidemark timeline list --json` prints.
type listed struct {
	SessionID string
	Moments   []struct{ ID, Label, Source string }
}

func (l *listed) last(source string) string {
	for i := len(l.Moments) - 1; i >= 0; i-- {
		if l.Moments[i].Source == source {
			return l.Moments[i].ID
		}
	}
	return ""
}

// The thin line of time travel, on a Vite application: an agent's hooks are moments, the edit that breaks the page is one,
// and going back to the prompt before it repairs the page.
func TestAnEditThatBreaksTheViteApplicationIsUndoneFromTheTimeline(t *testing.T) {
	w := e2etest.SharedWorld(t)
	app := startVite(t)
	s := &session{t: t, w: w, id: "timeline-" + app.URL, dir: app.Dir}
	run := func(args ...string) string {
		t.Helper()
		r := w.RunIn(app.Dir, args...)
		if r.Code != 0 {
			t.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
		}
		return r.Out
	}
	run("project", "allow", app.Dir)
	run("session", "start")
	t.Cleanup(func() {
		run("session", "end")
		run("project", "forget", app.Dir)
	})
	p := w.Open(t, app.URL)
	p.JS(`while (!document.querySelector('li')) await new Promise((done) => setTimeout(done, 20))`)
	if said := s.starts(); said != "" {
		t.Fatalf("the page is fine as the session starts: %s", said)
	}
	s.hook("UserPromptSubmit", map[string]any{"prompt": "show cents", "prompt_id": "p1"})
	run("timeline", "moment", "add", "--label", "before the edit") // on a busy machine a hook does not wait for its moment
	whole, err := os.ReadFile(filepath.Join(app.Dir, "src/price.js"))
	if err != nil {
		t.Fatal(err)
	}
	app.Edit("src/price.js", "(cents / 100)", "cents.value")
	if said := s.edited("src/price.js"); !strings.Contains(said, "TypeError") {
		t.Fatalf("the broken edit is not reported: %q", said)
	}

	var list listed
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		list = listed{}
		err := json.Unmarshal([]byte(run("timeline", "list", "--json")), &list)
		return list.last("edit") != "", err
	}); err != nil {
		t.Fatal(err)
	}
	prompt, edit := list.last("prompt"), list.last("edit")
	if prompt == "" || !strings.Contains(run("timeline", "diff", prompt, edit), "-export") && !strings.Contains(run("timeline", "diff", prompt, edit), "cents.value") {
		t.Errorf("the edit is not the difference of %s and %s: %s", prompt, edit, run("timeline", "diff", prompt, edit))
	}
	if out := run("changes", "--include", "files"); !strings.Contains(out, "src/price.js") || !strings.Contains(out, "Edit src/price.js") {
		t.Errorf("the report has no changed file with its call: %s", out)
	}
	var seek struct{ Mount string }
	if err := json.Unmarshal([]byte(run("timeline", "seek", prompt, "--json")), &seek); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(seek.Mount, "src/price.js")); err != nil || string(got) != string(whole) {
		t.Errorf("the view of %s has %q, %v", prompt, got, err)
	}

	// A branch has the broken file and the message. The original is restored, and its page is whole again.
	var branch struct {
		SessionID, Workspace, InjectedMessage string
	}
	if err := json.Unmarshal([]byte(run("timeline", "session-branch", "--moment", edit, "--name", "keep", "--message", "use cents", "--agent", "none", "--json")), &branch); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(branch.Workspace, "src/price.js")); err != nil || !strings.Contains(string(got), "cents.value") || branch.InjectedMessage != "use cents" {
		t.Errorf("the branch %+v has %q, %v", branch, got, err)
	}
	run("timeline", "restore", prompt, "--yes")
	if got, err := os.ReadFile(filepath.Join(app.Dir, "src/price.js")); err != nil || string(got) != string(whole) {
		t.Errorf("the restored file is %q, %v", got, err)
	}
	p.JS(`while (!document.querySelector('li')) await new Promise((done) => setTimeout(done, 20))`)
	if said := s.stops(); said != "" {
		t.Errorf("the page is whole again, and the agent is told: %s", said)
	}
	run("timeline", "undo", "--yes") // of the restore
	run("timeline", "undo", "--yes") // of the branch
	if _, err := os.Stat(branch.Workspace); !os.IsNotExist(err) {
		t.Errorf("the branch is still there: %v", err)
	}
}
