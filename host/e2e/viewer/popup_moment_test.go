package viewer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/installer"
)

// TestAMomentIsAddedInThePopup: it has the label, a snapshot of the files as they are, and a place among the other moments. Without
// an open project, the popup says what opens one.
func TestAMomentIsAddedInThePopup(t *testing.T) {
	w := e2etest.SeparateWorld(t)
	popup := &e2etest.Viewer{Tab: w.Open(t, installer.Origin+"popup/index.html")}
	add := func(label, want string) {
		t.Helper()
		quoted, _ := json.Marshal(label)
		text, _ := json.Marshal(want)
		popup.JS(`
await until(() => says('Connected'), 'the connection');
const adding = document.querySelector('.add-moment');
adding.open = true;
fill(adding.querySelector('input'), ` + string(quoted) + `);
await press('Add', adding);
await until(() => adding.querySelector('.result, .problem[role=status]').textContent.includes(` + string(text) + `), 'what became of it');`)
	}
	add("too early", "no workspace is open")

	dir := filepath.Join(t.TempDir(), "shop")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		r := w.RunIn(dir, args...)
		if r.Code != 0 {
			t.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
		}
		return r.Out
	}
	write("src/cart.js", "export const total = 1\n")
	run("project", "allow", dir)
	run("session", "start")
	write("src/cart.js", "export const total = 2\n")
	add(` it broke <b>here</b> `, "Added m2 in shop-1.")
	write("src/cart.js", "export const total = 3\n")
	run("timeline", "moment", "add", "--label", "later")

	var list answers.List
	if err := json.Unmarshal([]byte(run("timeline", "list", "--json")), &list); err != nil || len(list.Moments) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	m := list.Moments[1]
	if m.ID != "m2" || m.Label != "it broke <b>here</b>" || m.Kind != "manual" || m.Source != "user" || m.FsSnapshot != "s2" || m.Changed != 1 || m.TS < list.Moments[0].TS || m.TS > list.Moments[2].TS {
		t.Errorf("%+v", m)
	}
	var sought struct {
		Mount string `json:"mount"`
	}
	if err := json.Unmarshal([]byte(run("timeline", "seek", "m2", "--json")), &sought); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(sought.Mount, "src", "cart.js")); string(data) != "export const total = 2\n" {
		t.Errorf("at m2 the file is %q, %v", data, err)
	}
}
