package hooks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/devserver"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestTwoFilesThatWereEditedAtOnce: a handler fails later. The edit is named that wrote the expression which failed. If another part
// of its line was edited, the other file may be the cause, and none is named. A restart of the daemon in between changes nothing.
func TestTwoFilesThatWereEditedAtOnce(t *testing.T) {
	type edits struct{ from, to, other, into, error, want string }
	again := map[string]*e2etest.World{"": e2etest.SharedWorld(t), " after a restart": e2etest.SeparateWorld(t)}
	run := func(t *testing.T, restart string, c edits) {
		w := again[restart]
		app := &devApp{&devserver.App{TB: t, Dir: t.TempDir()}, t}
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Cache-Control", "no-store")
			http.FileServer(http.Dir(app.Dir)).ServeHTTP(rw, r)
		}))
		t.Cleanup(server.Close)
		app.URL = server.URL
		app.Write(".tidemark.toml", fmt.Sprintf("origins = [%q]\n", app.URL))
		app.Write("index.html", "<title>Shop</title><link rel=icon href='data:,'><button id=total>Total</button><script src=/util.js></script><script src=/main.js></script>\n")
		app.Write("util.js", "const money = {\n  euro: (n) => n.toFixed(2) + ' EUR',\n};\n")
		app.Write("main.js", "document.getElementById('total').onclick = () => {\n  const sum = 12;\n  document.title = 'Total ' + money.euro(sum);\n};\n")
		s := &session{t: t, w: w, id: "together-" + app.URL, dir: app.Dir, patience: "1ms"} // its page has no hot updates
		s.records()
		p := w.Open(t, app.URL)
		s.starts()
		app.Edit("main.js", c.from, c.to)
		app.Edit("util.js", c.other, c.into)
		s.edited("main.js")
		s.edited("util.js")
		p.Reload()
		if restart != "" {
			if r := w.Run("stop"); r.Code != 0 {
				t.Fatal(r.Err)
			}
			if err := testbed.Eventually(t.Context(), func() (bool, error) {
				return strings.Contains(w.Run("status", "--json").Out, `"watched":true`), nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		since := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		p.Do(chromedp.Click("#total"))
		var found []report.Introduced
		answer := ""
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			answer = w.RunIn(app.Dir, "changes", "--since", since, "--wait", "settled", "--json").Out
			found = introduced(t, answer)
			return strings.Contains(answer, c.error) && !strings.Contains(answer, "may be missing"), nil // a daemon that begins reads the files first
		}); err != nil {
			t.Fatalf("%v: %s", err, answer)
		}
		for _, by := range found {
			if by.Path != c.want {
				t.Errorf("want %q: %+v", c.want, by)
			}
		}
		if c.want != "" && len(found) == 0 {
			t.Errorf("want %q: %s", c.want, answer)
		}
	}
	for name, c := range map[string]edits{
		"the failing expression":   {"money.euro", "money.eura", "2) +", "3) +", "money.eura is not a function", "main.js"},
		"another part of the line": {"'Total '", "'Sum '", "euro:", "eur:", "money.euro is not a function", ""},
		"a line that was inserted": {"  document", "  sum.cents.whole;\n  document", "2) +", "3) +", "reading 'whole'", "main.js"},
		"an argument":              {"(sum)", "(none)", "2) +", "3) +", "none is not defined", "main.js"},
	} {
		for _, restart := range []string{"", " after a restart"} {
			t.Run(name+restart, func(t *testing.T) { run(t, restart, c) })
		}
	}
}
