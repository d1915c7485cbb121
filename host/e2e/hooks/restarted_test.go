package hooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/testing/devserver"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestARestartMarksNoMomentAsBroken: a load ended the errors of the page before, and still has after a restart of the daemon. A
// project without a page has none of them.
func TestARestartMarksNoMomentAsBroken(t *testing.T) {
	w := e2etest.SeparateWorld(t)
	app := &devApp{&devserver.App{TB: t, Dir: t.TempDir()}, t}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "no-store")
		http.FileServer(http.Dir(app.Dir)).ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	app.Write("index.html", "<title>Shop</title><link rel=icon href='data:,'><h1 id=n>…</h1><script type=module>\n"+
		"const n = (await (await fetch('items.json')).json()).length;\ndocument.getElementById('n').textContent = n;\n</script>\n")
	app.Write("items.json", `[{"name": "Tea"}]`)
	s := &session{t: t, w: w, id: "restarted-" + server.URL, dir: app.Dir}
	s.records()
	add := func(dir, label string) {
		t.Helper()
		if r := w.RunIn(dir, "timeline", "moment", "add", "--label", label); r.Code != 0 {
			t.Fatal(r.Err)
		}
	}
	moments := func(dir string) (list answers.List) {
		t.Helper()
		if r := w.RunIn(dir, "timeline", "list", "--json"); json.Unmarshal([]byte(r.Out), &list) != nil {
			t.Fatal(r.Out, r.Err)
		}
		return list
	}
	severities := func(dir string) (all []string) {
		for _, m := range moments(dir).Moments {
			all = append(all, fmt.Sprint(m.Label, " ", m.Severity, " ", m.BrokenSince != nil))
		}
		return all
	}
	p := w.Open(t, server.URL)
	reload := func() {
		t.Helper()
		p.Reload()
		w.RunIn(app.Dir, "changes", "--wait", "settled")
	}
	add(app.Dir, "good")
	reload()
	app.Write("items.json", `[{"name": "Tea"`)
	add(app.Dir, "broken")
	reload()
	app.Write("items.json", `[{"name": "Tea"}]`)
	add(app.Dir, "repaired")
	reload()
	add(app.Dir, "later")
	add(app.Dir, "last")
	before := severities(app.Dir)
	for _, m := range moments(app.Dir).Moments {
		if broken := m.Label == "broken"; (m.Severity == report.Error) != broken || m.BrokenSince != nil {
			t.Errorf("before the restart: %+v", m)
		}
	}
	if r := w.Run("stop"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return strings.Contains(w.Run("status", "--json").Out, `"watched":true`), nil
	}); err != nil {
		t.Fatal(err)
	}
	if after := severities(app.Dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("before the restart:\n%q\nafter it:\n%q", before, after)
	}
}
