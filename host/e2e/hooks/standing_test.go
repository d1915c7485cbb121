package hooks

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAPageThatIsStillBrokenIsNotClean: after the edit that broke a page, other edits show it as still broken since that one. The
// edit that repairs it is clean. The edit that broke it is found either way.
func TestAPageThatIsStillBrokenIsNotClean(t *testing.T) {
	for i, broken := range breaking {
		if i%6 != 2 && seeds(t, "TIDEMARK_REGRESSIONS", 0) == 0 {
			continue
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			e := startEdits(t, e2etest.SharedWorld(t), "standing", i)
			write := func(file, from, to string) {
				t.Helper()
				e.Edit(file, from, to)
				e.edited(file)
			}
			write(broken.file, broken.from, broken.to)
			write("src/app.css", "1px", "2px")
			e.Write("README.md", "# Shop\n")
			e.edited("README.md")
			found := e.find()
			write(broken.file, broken.to, broken.from)
			e.shows(e.page)
			write("src/app.css", "2px", "3px")
			var list answers.List
			if r := e.w.RunIn(e.devApp.Dir, "timeline", "list", "--kind", "edit", "--json"); json.Unmarshal([]byte(r.Out), &list) != nil || len(list.Moments) != 5 {
				t.Fatal(r.Out, r.Err)
			}
			edits := list.Moments
			if edits[0].Severity != report.Error || edits[0].BrokenSince != nil {
				t.Errorf("the edit that broke it: %+v", edits[0])
			}
			for _, m := range edits[1:3] {
				if m.Severity != report.Error || m.BrokenSince == nil || m.BrokenSince.Moment != edits[0].ID {
					t.Errorf("it was broken since %s: %+v, %+v", edits[0].ID, m, m.BrokenSince)
				}
			}
			if last := edits[4]; last.Severity != report.Clean || last.BrokenSince != nil {
				t.Errorf("after the repair: %+v, %+v", last, last.BrokenSince)
			}
			r := e.w.RunIn(e.devApp.Dir, "timeline", "list")
			if n := strings.Count(r.Out, "still broken since "+edits[0].ID); n < 2 {
				t.Errorf("%d moments are still broken:\n%s", n, r.Out)
			}
			if again := e.find(); again.Moment != edits[0].ID || found.Moment != again.Moment {
				t.Errorf("%s is found, and %s after the repair; want %s", found.Moment, again.Moment, edits[0].ID)
			}
		})
	}
}

// TestAHotUpdateOfOtherModulesLeavesAnErrorStanding: what one module logs is still wrong after an update of another one, by any
// development server whose client names the modules, and over with an update of its own.
func TestAHotUpdateOfOtherModulesLeavesAnErrorStanding(t *testing.T) {
	for _, server := range devServers {
		t.Run(server, func(t *testing.T) {
			needDevServer(t, server)
			w := e2etest.SharedWorld(t)
			app := startDevServer(t, server, nil)
			s := &session{t: t, w: w, id: "standing-" + app.URL, dir: app.Dir}
			s.records()
			p := app.opens(s)
			for _, e := range []struct{ file, from, to string }{
				{"src/Cart.jsx", "  return (", "  console.error('the cart is drawn');\n  return ("},
				{"src/Item.jsx", "item.cents", "item.cents + 0"},
				{"src/Cart.jsx", "  console.error('the cart is drawn');\n  return (", "  return ("},
				{"src/Item.jsx", "item.cents + 0", "item.cents"},
			} {
				w.RunIn(app.Dir, "changes", "--wait", "settled") // no agent edits as a page loads
				app.Edit(e.file, e.from, e.to)
				s.edited(e.file)
				w.RunIn(app.Dir, "changes", "--wait", "reload", "--timeout", "20000") // webpack may take seconds to build
				app.shows(p)
			}
			t.Log(w.RunIn(app.Dir, "timeline", "list").Out)
			var list answers.List
			if r := w.RunIn(app.Dir, "timeline", "list", "--kind", "edit", "--json"); json.Unmarshal([]byte(r.Out), &list) != nil || len(list.Moments) != 4 {
				t.Fatal(r.Out, r.Err)
			}
			edits := list.Moments
			if m := edits[0]; m.Severity != report.Error || m.BrokenSince != nil {
				t.Errorf("the edit that logs an error: %+v", m)
			}
			// The client of webpack-dev-server 6 names no modules, and an update of any may have ended the error.
			if m := edits[1]; (m.Severity != report.Error || m.BrokenSince != nil && m.BrokenSince.Moment != edits[0].ID) && (server != "webpack" || m.Severity != report.Clean) {
				t.Errorf("the edit of another module: %+v, %+v", m, m.BrokenSince)
			}
			for _, m := range edits[2:] {
				if m.Severity != report.Clean {
					t.Errorf("after the repair: %+v, %+v", m, m.BrokenSince)
				}
			}
		})
	}
}
