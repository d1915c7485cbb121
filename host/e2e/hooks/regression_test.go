package hooks

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// harmless are edits that break nothing: a pattern in a file, and what takes its place.
var harmless = []struct{ file, pattern, to string }{
	{"src/App.jsx", `<ul[^>]*>`, `<ul class="c%d">`},
	{"src/app.css", `margin: \d+px|body \{`, `margin: %dpx`},
	{"src/price.js", `^(// \d+\n)?`, "// %d\n"},
	{"src/api.js", `^(// \d+\n)?`, "// %d\n"},
	{"src/main.js", `^(// \d+\n)?`, "// %d\n"},
}

// breaking are edits that break the page.
var breaking = []struct{ file, from, to string }{
	{"src/price.js", "(cents / 100)", "cents.value"},
	{"src/App.jsx", "</ul>", "</ol>"},
	{"src/App.jsx", "./price.js", "./prices.js"},
	{"src/api.js", "/api/items", "/api/goods"},
	{"src/price.js", "export const price", "export const cost"},
	{"src/App.jsx", "items().then", "items().them"},
	{"src/api.js", "answer.json()", "answer.text()"},
	{"src/main.js", "h(Component)", "g(Component)"},
	{"src/App.jsx", "list.map", "list.mop"},
	{"src/App.jsx", "item.cents", "item.price.cents"},
}

// seeds returns how many seeds of a kind to run: few, or as many as `make regressions` wants.
func seeds(t *testing.T, name string, few int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return few
	}
	return n
}

// edits is a session of edits in an application whose files are recorded.
type edits struct {
	*devApp
	*session
	random *rand.Rand
	page   *e2etest.Tab
	count  int
}

func startEdits(t *testing.T, w *e2etest.World, name string, seed int, env ...string) *edits {
	t.Helper()
	app := startVite(t, env...)
	e := &edits{app, &session{t: t, w: w, id: fmt.Sprintf("%s-%d-%s", name, seed, app.URL), dir: app.Dir}, rand.New(rand.NewPCG(uint64(seed), 7)), nil, 0} //nolint:gosec // a seed is small
	app.Write("src/app.css", "body { margin: 1px; }\n")
	e.records()
	e.page = w.Open(t, app.URL)
	e.shows(e.page)
	e.starts()
	return e
}

// harmless makes an edit that breaks nothing.
func (e *edits) harmless() {
	e.devApp.Helper()
	e.count++
	h := harmless[e.random.IntN(len(harmless))]
	text := e.read(h.file)
	at := regexp.MustCompile(h.pattern).FindStringIndex(text)
	e.Write(h.file, text[:at[0]]+fmt.Sprintf(h.to, e.count)+text[at[1]:])
	e.edited(h.file)
}

func (e *edits) read(file string) string {
	e.devApp.Helper()
	data, err := os.ReadFile(filepath.Join(e.devApp.Dir, file))
	if err != nil {
		e.devApp.Fatal(err)
	}
	return string(data)
}

func (e *edits) find(args ...string) (a regression.Regression) {
	e.devApp.Helper()
	r := e.w.RunIn(e.devApp.Dir, append([]string{"timeline", "find-regression", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(r.Out), &a); r.Code != 0 || err != nil {
		e.devApp.Fatalf("exit %d, %v: %s%s", r.Code, err, r.Out, r.Err)
	}
	return a
}

// TestTheEditThatBrokeThePageIsFound: among twenty edits, with one call. Going back to before it repairs the page.
func TestTheEditThatBrokeThePageIsFound(t *testing.T) {
	for seed := range seeds(t, "TIDEMARK_REGRESSIONS", 3) {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			e := startEdits(t, e2etest.SharedWorld(t), "breaks", seed)
			at, broken := e.random.IntN(20), breaking[seed%len(breaking)]
			for i := range 20 {
				if i != at {
					e.harmless()
					continue
				}
				e.Edit(broken.file, broken.from, broken.to)
				if said := e.edited(broken.file); !strings.Contains(said, "after "+broken.file) {
					t.Errorf("the hook does not name %s: %s", broken.file, said)
				}
			}
			a := e.find()
			if a.Verdict != regression.Found || a.IntroducedBy == nil || a.IntroducedBy.Path != broken.file || a.Label != "Edit "+broken.file {
				t.Fatalf("edit %d of %s is not found: %+v %+v %+v", at, broken.file, a, a.Problem, a.IntroducedBy)
			}
			if a.Diff == nil || !strings.Contains(a.Diff.Text, broken.to) {
				t.Errorf("the difference is not that of the edit: %+v", a.Diff)
			}
			if r := e.w.RunIn(e.devApp.Dir, "timeline", "restore", a.Before, "--yes"); r.Code != 0 {
				t.Fatal(r.Err)
			}
			e.shows(e.page)
		})
	}
}

// TestAServerThatWentDownIsNoEdit: an error that does not follow from an edit is not blamed on one.
func TestAServerThatWentDownIsNoEdit(t *testing.T) {
	for seed := range seeds(t, "TIDEMARK_OUTAGES", 1) {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `[{"name":"pen","cents":120}]`)
			}))
			defer api.Close()
			e := startEdits(t, e2etest.SharedWorld(t), "outage", seed, "API="+api.URL)
			at := 3 + e.random.IntN(10)
			for i := range 16 {
				if i == at {
					api.Close()
				}
				e.harmless()
			}
			e.page.JS(`await fetch('/api/items')`) // at the latest now
			a := e.find()
			if a.Verdict != regression.Unknown || a.Reason == "" || a.IntroducedBy != nil || a.Problem == nil {
				t.Errorf("the server went down before edit %d: %+v %+v", at, a, a.Problem)
			}
		})
	}
}

// TestTheEditIsFoundAfterARestart: what was recorded is enough.
func TestTheEditIsFoundAfterARestart(t *testing.T) {
	e2etest.NeedBrowser(t)
	e := startEdits(t, e2etest.SeparateWorld(t), "restart", 1)
	broken := breaking[6] // which only the hot update and the order of edits tell
	e.harmless()
	e.Edit(broken.file, broken.from, broken.to)
	e.edited(broken.file)
	e.harmless()
	before := e.find()
	if r := e.w.Run("stop"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	after := e.find()
	for _, a := range []regression.Regression{before, after} {
		if a.Verdict != regression.Found || a.IntroducedBy == nil || a.IntroducedBy.Path != broken.file || a.Label != "Edit "+broken.file {
			t.Errorf("%+v %+v %+v", a, a.Problem, a.IntroducedBy)
		}
	}
	if before.Moment != after.Moment || before.Before != after.Before {
		t.Errorf("%s after %s before the restart, %s after %s since", before.Moment, before.Before, after.Moment, after.Before)
	}
}
