package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestTheCourseOfASession: each stretch has the severity that a report about it has, the last one up to now.
func TestTheCourseOfASession(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	dir := t.TempDir()
	var from []time.Time
	step := func(happens func()) {
		w.Pass(time.Second)
		from = append(from, w.Now)
		w.Pass(time.Second)
		happens()
	}
	step(func() { w.Log("log", "all is well") })
	step(func() { w.Log("error", "boom") })
	step(func() { w.Log("warning", "careful"); w.Request("GET", "/api/cart", 200, 10) })
	step(func() { w.Request("GET", "/api/cart", 500, 10); w.Log("warning", "careful") })
	step(func() { gap(w, "dropped", -500, -100) })
	step(func() { w.Element("appeared", 1, "p.error", "No") })
	step(func() { w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`) })
	w.Pass(time.Second)
	to := append(slices.Clone(from[1:]), time.Time{})
	want := []report.Severity{"clean", "error", "warning", "error", "", "warning", "clean"}
	broken := []int{-1, -1, 1, -1, 1, 1, -1} // the stretch since which the page is
	for range 2 {                            // what is kept is the same
		for i, got := range w.Engine.Regressions.Course(t.Context(), c, dir, from, to) {
			stretch := timeline.Stretch{Severity: want[i]}
			if b := broken[i]; b >= 0 {
				stretch = timeline.Stretch{Severity: report.Error, Since: from[b].Add(time.Second).UTC()}
			}
			if got != stretch {
				t.Fatalf("stretch %d: %v, want %v", i, got, stretch)
			}
		}
		w.Pass(10 * time.Minute)
	}
	for i := range from[:6] {
		name := func(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
		r := between(t, w, c, name(from[i]), name(to[i]))
		if got := r.Severity; got != want[i] && (want[i] != "" || r.Coverage == nil) {
			t.Errorf("the report about stretch %d says %s, %v", i, got, r.Coverage)
		}
	}
	// A project with pages of its own is not judged by others.
	if err := os.WriteFile(filepath.Join(dir, ".tidemark.toml"), []byte(`origins = ["http://localhost:9"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.Engine.Regressions.Course(t.Context(), c, dir, from[1:2], to[1:2]); got[0].Severity == report.Error {
		t.Errorf("the error of another project's page counts: %q", got)
	}
	if got := w.Engine.Regressions.Course(t.Context(), w.Scoped(enginetest.Page), dir, from[1:2], to[1:2]); got[0].Severity != report.Error {
		t.Errorf("a client has origins of its own: %q", got)
	}
}

// TestTheCourseOfABrokenPage: what one edit broke is still broken after other edits, until one repairs it. What is broken anew, or in
// another way too, is new.
func TestTheCourseOfABrokenPage(t *testing.T) {
	const cart = `"level":"error","via":"exception","text":"TypeError: no total","url":"http://localhost:5173/src/cart.js?t=1","line":3,"stack":["total (http://localhost:5173/src/cart.js?t=1:3:9)","App (http://localhost:5173/src/App.jsx?t=1:8:5)"]`
	type world = enginetest.World
	updated := func(files ...string) func(*world) {
		return func(w *world) {
			for _, file := range files {
				w.Log("debug", "[vite] hot updated: "+file)
			}
		}
	}
	also := func(steps ...func(*world)) func(*world) {
		return func(w *world) {
			for _, step := range steps {
				step(w)
				w.Pass(50 * time.Millisecond)
			}
		}
	}
	throws := func(w *world) { w.Send("console", cart) }
	failed := func(w *world) {
		w.Send("console", `"level":"error","via":"console","text":"[vite] Failed to reload /src/App.jsx. This could be due to syntax errors or importing non-existent modules. (see errors above)","url":"http://localhost:5173/@vite/client","line":1011,"stack":["warnFailedUpdate (http://localhost:5173/@vite/client:616:15)"]`)
	}
	loads := func(w *world) { w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`) }
	asks := func(status int) func(*world) { return func(w *world) { w.Request("GET", "/api/cart", status, 5) } }
	element := func(op, selector string) func(*world) {
		return func(w *world) { w.Element(op, 1, selector, "[plugin:vite] Unexpected token") }
	}
	other, nothing := updated("/src/Other.jsx"), func(*world) {}
	cases := map[string]struct {
		steps []func(*world)
		want  []string
	}{
		"thrown with an update": {
			[]func(*world){also(updated("/src/App.jsx"), throws), other, other, updated("/src/App.jsx"), other},
			[]string{"error", "since 0", "since 0", "clean", "clean"},
		},
		"thrown by a click": {
			[]func(*world){throws, other, updated("/src/cart.js"), other},
			[]string{"error", "since 0", "clean", "clean"},
		},
		"repaired by a load": {
			[]func(*world){also(loads, throws), other, loads, other},
			[]string{"error", "since 0", "clean", "clean"},
		},
		"thrown again by each load": {
			[]func(*world){also(loads, throws), also(loads, throws), also(loads, throws), loads},
			[]string{"error", "since 0", "since 0", "clean"},
		},
		"broken in another way too": {
			[]func(*world){also(updated("/src/App.jsx"), throws), also(other, func(w *world) { w.Log("error", "no stock") }), updated("/src/App.jsx", "/src/Other.jsx"), other},
			[]string{"error", "error", "clean", "clean"},
		},
		"broken again": {
			[]func(*world){also(loads, throws), loads, also(loads, throws)},
			[]string{"error", "clean", "error"},
		},
		"an overlay": {
			[]func(*world){element("appeared", "vite-error-overlay"), other, element("gone", "vite-error-overlay"), other},
			[]string{"error", "since 0", "clean", "clean"},
		},
		"a request": {
			[]func(*world){also(asks(200), asks(500)), other, asks(500), asks(200), other},
			[]string{"error", "since 0", "since 0", "clean", "clean"},
		},
		"a page that is empty": {
			[]func(*world){also(updated("/src/App.jsx"), throws, func(w *world) { w.Send("element", `"op":"emptied","frame":0,"document":"d","id":0`) }), other, also(updated("/src/cart.js"), func(w *world) { w.Send("element", `"op":"filled","frame":0,"document":"d","id":0`) }), other},
			[]string{"error", "since 0", "clean", "clean"},
		},
		"a tab that was closed": {
			[]func(*world){throws, other, func(w *world) { w.CloseTab(7) }},
			[]string{"error", "since 0", ""},
		},
		"a module that Vite's client cannot replace": {
			[]func(*world){failed, other, updated("/src/App.jsx"), other, failed, updated("/src/App.jsx via /src/main.jsx")},
			[]string{"error", "since 0", "clean", "clean", "error", "clean"},
		},
		"long after a tab was closed": {
			[]func(*world){throws, other, func(w *world) { w.CloseTab(7) }, nothing, nothing},
			[]string{"error", "since 0", "clean", "", ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			loads(w)
			w.Pass(time.Minute)
			var from []time.Time
			for _, step := range tc.steps {
				from = append(from, w.Now)
				w.Pass(time.Second)
				step(w)
				w.Pass(time.Minute)
			}
			for range 2 { // what is kept is the same
				for i, got := range w.Engine.Regressions.Course(t.Context(), w.Agent(), t.TempDir(), from, append(slices.Clone(from[1:]), time.Time{})) {
					said := string(got.Severity)
					if !got.Since.IsZero() {
						said = fmt.Sprint("since ", slices.IndexFunc(from, func(at time.Time) bool { return got.Since.Sub(at) >= time.Second && got.Since.Sub(at) < 2*time.Second }))
					}
					if said != tc.want[i] {
						t.Errorf("stretch %d: %q, want %q", i, said, tc.want[i])
					}
				}
				w.Pass(10 * time.Minute)
			}
		})
	}
}

// TestTheCourseOfAStretchThatWasNotObserved: what the extension could not send changes it when it follows. After a while
// nothing follows, and it is kept.
func TestTheCourseOfAStretchThatWasNotObserved(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	began := w.Now
	w.Pass(time.Second)
	gap(w, "worker_restarted", -500, -100)
	w.Pass(time.Second)
	ended := w.Now
	course := func() report.Severity {
		t.Helper()
		return w.Engine.Regressions.Course(t.Context(), c, t.TempDir(), []time.Time{began}, []time.Time{ended})[0].Severity
	}
	late := func() { // an event of the stretch
		w.Send("console", fmt.Sprintf(`"level":"error","via":"console","text":"boom","url":"http://localhost:5173/a.js","line":1,"at":%d`, began.UnixMilli()+100))
	}
	w.Pass(14 * time.Minute)
	if got := course(); got != "" {
		t.Fatalf("%q with a gap", got)
	}
	late()
	if got := course(); got != report.Error {
		t.Errorf("%q with a late error", got)
	}
	w.Pass(time.Hour)
	if got := course(); got != report.Error {
		t.Errorf("%q after an hour", got)
	}
}

// BenchmarkCourse judges the stretches of a first page of moments, over full buffers.
func BenchmarkCourse(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := enginetest.New(b, capture.Limits{})
			var from []time.Time
			for i := range 1000 {
				if i%(1000/n) == 0 {
					from = append(from, w.Now)
				}
				w.Log([]string{"log", "log", "warning", "error"}[i%4], fmt.Sprint("line ", i))
				w.Request("GET", fmt.Sprint("/api/", i%50), 200, 5)
				w.Element("appeared", i, "p.error", "No")
				w.Pass(time.Second)
			}
			to := append(slices.Clone(from[1:]), time.Time{})
			for b.Loop() {
				c := &checkpoint.Client{User: true, Scope: checkpoint.Scope{Origins: []string{enginetest.Page, fmt.Sprint("http://", n, ".test:", b.N, time.Now().UnixNano())}}} // without what was kept for another
				w.Engine.Regressions.Course(b.Context(), c, b.TempDir(), from, to)
			}
		})
	}
}
