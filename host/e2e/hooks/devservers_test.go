package hooks

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/devserver"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// devServers are the development servers that serve the application of package devserver.
var devServers = []string{"vite", "webpack", "next"}

// needDevServer skips a test of a server that takes long to start and to build: such tests are `make regressions`.
func needDevServer(t *testing.T, name string) {
	t.Helper()
	if name != devServers[0] && os.Getenv("TIDEMARK_BROKEN") == "" {
		t.Skip("webpack and Next.js run in `make regressions`, which sets TIDEMARK_BROKEN")
	}
}

// startDevServer installs the application with one of them, prepares it where that is not nil, and serves it.
func startDevServer(t *testing.T, name string, prepare func(*devApp)) *devApp {
	t.Helper()
	var start func(*devserver.App)
	if prepare != nil {
		start = func(a *devserver.App) { prepare(&devApp{a, t}) }
	}
	return &devApp{devserver.Start(t, name, []string{"shop", "app"}, start), t}
}

// broken are edits that break the application of package devserver: while it is compiled, while it renders, in its
// requests, or in what another file makes of it.
var broken = []struct{ file, from, to string }{
	{"src/price.js", "(cents / 100)", "cents.value"},
	{"src/App.jsx", "</ul>", "</ol>"},
	{"src/api.js", "/api/items", "/api/goods"},
	{"src/App.jsx", "./Item.jsx", "./Items.jsx"},
	{"src/cart.js", "export const empty", "throw new Error('no cart');\nexport const empty"},
	{"src/api.js", "answer.json()", "answer.text()"},
	{"src/App.jsx", "items().then", "items().them"},
	{"src/App.jsx", "list.map", "list.mop"},
	{"src/Item.jsx", "item.cents", "item.price.cents"},
	{"src/Item.jsx", "{price(", "{prise("},
	{"src/price.js", "export const price", "export const cost"},
	{"src/Cart.jsx", "cart.lines.reduce", "cart.rows.reduce"},
	{"src/title.js", "`${count} items`", "count.items.length"},
	{"src/app.css", "body {", "@import './fonts.css'; body {"},
	{"src/Item.jsx", "export function Item", "export function Thing"},
	{"src/api.js", "await fetch", "await fetsh"},
	{"src/title.js", "export const title =", "export const title ==="},
	{"src/App.jsx", "useReducer(add, empty)", "useReducer(add)"},
	{"src/Cart.jsx", "  return (", "  console.error('the cart is drawn');\n  return ("},
	{"src/price.js", "toFixed(2)", "toFixed(200)"},
}

// TestEachDevelopmentServersErrorsNameTheirEdit: what an edit breaks is reported with the edit's file and moment, by any
// development server. No evidence is better than that of another file.
func TestEachDevelopmentServersErrorsNameTheirEdit(t *testing.T) {
	for _, server := range devServers {
		t.Run(server, func(t *testing.T) {
			needDevServer(t, server)
			w := e2etest.SharedWorld(t)
			app := startDevServer(t, server, nil)
			s := &session{t: t, w: w, id: "devserver-" + app.URL, dir: app.Dir}
			s.records()
			p := app.opens(s)
			if r := w.RunIn(app.Dir, "timeline", "moment", "add", "--label", "before the edits"); r.Code != 0 { // all files are recorded
				t.Fatal(r.Err)
			}
			edits := broken
			if n := seeds(t, "TIDEMARK_BROKEN", 3); n < len(edits) {
				edits = edits[:n]
			}
			named := 0
			for _, e := range edits {
				since := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
				app.Edit(e.file, e.from, e.to)
				said := s.edited(e.file)
				found, broke := app.broke(s, since)
				if !broke { // a module that only effects use is not run again: a developer reloads
					app.reload(p)
					found, broke = app.broke(s, since)
				}
				if !broke {
					t.Logf("%s (%s → %s): nothing is reported", e.file, e.from, e.to)
				}
				right := len(found) > 0
				for _, by := range found {
					if by.Path == e.file {
						continue
					}
					right = false
					if slices.Contains(by.Evidence, "stack") {
						t.Errorf("%s (%s → %s): a stack is said to prove %+v", e.file, e.from, e.to, by)
					}
				}
				if right {
					named++
				} else {
					t.Logf("%s (%s → %s) is not named: %+v; the hook says %q", e.file, e.from, e.to, found, said)
					t.Logf("now: %s", w.RunIn(app.Dir, "changes", "--since", since, "--json").Out)
					t.Logf("what broke since: %s", w.RunIn(app.Dir, "timeline", "find-regression", since, "--json").Out)
				}
				app.Edit(e.file, e.to, e.from)
				s.edited(e.file)
				app.reload(p)
				app.shows(p)
				w.RunIn(app.Dir, "changes", "--wait", "settled") // no agent edits as a page loads
			}
			t.Logf("%d of %d edits are named", named, len(edits))
			if missed := len(edits) - named; missed > max(1, len(edits)/20) {
				t.Errorf("%d of %d edits are named, wanted all but one in twenty", named, len(edits))
			}
		})
	}
}

// broke waits until errors since a time are reported, or for a while, and returns the changes that they name.
func (a *devApp) broke(s *session, since string) (found []report.Introduced, broke bool) {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), 5*time.Second)
	defer cancel()
	_ = testbed.Eventually(ctx, func() (bool, error) { // a busy machine builds slowly
		r := s.w.RunIn(a.Dir, "changes", "--since", since, "--wait", "settled", "--json").Out
		found, broke = introduced(a.t, r), strings.Contains(r, `"severity":"error"`)
		return broke, nil
	})
	return found, broke
}

// reload loads the page again, also while it loads itself.
func (a *devApp) reload(p *e2etest.Tab) {
	a.Helper()
	if err := testbed.Eventually(a.Context(), func() (bool, error) { return p.Tab.Do(chromedp.Reload()) == nil, nil }); err != nil {
		a.Fatalf("the page cannot be loaded again: %v", err)
	}
}

// opens opens the page in a session, loaded while it is watched: of an earlier load the updates may be missing.
func (a *devApp) opens(s *session) *e2etest.Tab {
	a.Helper()
	p := s.w.Open(a.t, a.URL)
	a.shows(p)
	s.starts()
	a.reload(p)
	a.shows(p)
	return p
}

// shows waits until the page shows its items.
func (a *devApp) shows(p *e2etest.Tab) {
	a.Helper()
	if err := testbed.Eventually(a.Context(), func() (bool, error) {
		return p.Tab.JS(`if (!document.querySelector('li')) throw new Error('no items')`) == nil, nil // it may load again
	}); err != nil {
		a.Fatalf("the page shows no items: %v", err)
	}
}

// TestAnErrorThatOnlyReactRefreshShowsIsReportedOnce: webpack's hot updates catch what a module throws, and the plugin of React
// Refresh shows it in a frame. What webpack's own frame shows as well is no second entry.
func TestAnErrorThatOnlyReactRefreshShowsIsReportedOnce(t *testing.T) {
	needDevServer(t, "webpack")
	w := e2etest.SeparateWorld(t) // webpack has one port in each test, and a tab of another test may find its server there
	app := startDevServer(t, "webpack", nil)
	s := &session{t: t, w: w, id: "overlay-" + app.URL, dir: app.Dir}
	p := w.Open(t, app.URL)
	app.shows(p)
	for _, c := range []struct{ from, to, want string }{
		{"export", "throw new RangeError('no items today');\nexport", "no items today"},
		{"</ul>", "</ol>", "Expected"},
	} {
		since := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		app.Edit("src/App.jsx", c.from, c.to)
		if _, broke := app.broke(s, since); !broke {
			t.Errorf("%s: nothing is reported", c.to)
		}
		var answer report.Report
		r := w.RunIn(app.Dir, "changes", "--since", since, "--wait", "settled", "--json")
		if err := json.Unmarshal([]byte(r.Out), &answer); err != nil {
			t.Fatal(err, r.Err)
		}
		if answer.Errors = len(answer.Console.NewErrors) + len(answer.DOM.NewErrorElements); answer.Errors != 1 || !strings.Contains(r.Out, c.want) {
			t.Errorf("%s: not one entry that says %q: %s", c.to, c.want, r.Out)
		}
		app.Edit("src/App.jsx", c.to, c.from)
		app.reload(p)
		app.shows(p)
	}
}

// TestAServerThatWasStartedAgainHasNoHotUpdate: webpack's client asks for the changes since the build that its page has, gets none,
// and loads the page. No edit broke anything, and a later one neither.
func TestAServerThatWasStartedAgainHasNoHotUpdate(t *testing.T) {
	needDevServer(t, "webpack")
	w := e2etest.SeparateWorld(t)
	app := startDevServer(t, "webpack", nil)
	s := &session{t: t, w: w, id: "restart-" + app.URL, dir: app.Dir}
	s.records()
	p := app.opens(s)
	priced := func(text string) {
		t.Helper()
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			return p.Tab.JS(`if (!document.querySelector('li')?.textContent.match(/`+text+`/)) throw new Error('not yet')`) == nil, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	app.Stop()
	app.Edit("src/price.js", "toFixed(2)", "toFixed(3)")
	said := s.edited("src/price.js")
	app.Restart()
	priced(`\.\d{3}\b`)
	app.Edit("src/price.js", "toFixed(3)", "toFixed(4)")
	said += s.edited("src/price.js")
	priced(`\.\d{4}\b`)
	if requests := w.RunIn(app.Dir, "network", "--url", "hot-update.json", "--status-min", "404").Out; !strings.Contains(requests, "hot-update.json") {
		t.Errorf("no update was missing: %s", requests)
	}
	list, found := w.RunIn(app.Dir, "timeline", "list").Out, w.RunIn(app.Dir, "timeline", "find-regression").Out
	if said != "" || strings.Contains(list, "✖") || !strings.HasPrefix(found, "Nothing broke") {
		t.Errorf("the hook says %q\n%s\n%s", said, list, found)
	}
}

// TestALineOfWhatWebpackEvaluatesIsOneOfTheFile, or it is marked: webpack's cheap maps may be of what loaders made of the files.
func TestALineOfWhatWebpackEvaluatesIsOneOfTheFile(t *testing.T) {
	for _, devtool := range []string{"eval-source-map", "eval-cheap-module-source-map", "eval-cheap-source-map"} {
		t.Run(devtool, func(t *testing.T) {
			needDevServer(t, "webpack")
			w := e2etest.SeparateWorld(t)
			app := startDevServer(t, "webpack", func(a *devApp) {
				a.Edit("serve.mjs", "devtool: 'cheap-module-source-map'", "devtool: '"+devtool+"'")
			})
			s := &session{t: t, w: w, id: devtool + app.URL, dir: app.Dir}
			s.records()
			p := app.opens(s)
			for _, e := range []struct {
				file, from, to string
				line           int
			}{
				{"src/price.js", "(cents / 100)", "cents.value", 1},
				{"src/App.jsx", "list.map", "list.mop", 21},
				{"src/App.jsx", "./Item.jsx", "./Items.jsx", 5},
				{"src/cart.js", "export const empty", "throw new Error('no cart');\nexport const empty", 1},
			} {
				since := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
				app.Edit(e.file, e.from, e.to)
				s.edited(e.file)
				for _, how := range []string{"a hot update", "a load"} {
					found, broke := app.broke(s, since)
					said := w.RunIn(app.Dir, "changes", "--since", since, "--wait", "settled").Out
					if !broke || len(found) == 0 {
						t.Errorf("%s after %s: nothing is named: %s", e.to, how, said)
					}
					for _, by := range found {
						if by.Path != e.file || by.Line != 0 && by.Line != e.line {
							t.Errorf("%s after %s: %+v, want line %d", e.to, how, by, e.line)
						}
					}
					for _, place := range regexp.MustCompile(filepath.Base(e.file)+`:(\d+)( \(generated\))?`).FindAllStringSubmatch(places(said), -1) {
						if place[2] == "" && place[1] != strconv.Itoa(e.line) {
							t.Errorf("%s after %s: %s is no line of it: %s", e.to, how, place[0], said)
						}
					}
					app.reload(p)
				}
				app.Edit(e.file, e.to, e.from)
				s.edited(e.file)
				app.reload(p)
				app.shows(p)
			}
		})
	}
}

// places returns what a report says behind the messages of a page.
func places(report string) string {
	var lines []string
	for line := range strings.Lines(report) {
		cells := strings.Split(strings.TrimSpace(line), "  ")
		lines = append(lines, cells[len(cells)-1])
		if n := len(cells); n > 2 {
			lines = append(lines, cells[n-2])
		}
	}
	return strings.Join(lines, "\n")
}
