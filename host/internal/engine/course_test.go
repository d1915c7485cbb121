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
	to := append(slices.Clone(from[1:]), time.Time{})
	want := []report.Severity{"clean", "error", "warning", "error", "", "warning"}
	for range 2 { // what is kept is the same
		if got := w.Engine.Regressions.Course(t.Context(), c, dir, from, to); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		w.Pass(10 * time.Minute)
	}
	for i := range from[:5] {
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
	if got := w.Engine.Regressions.Course(t.Context(), c, dir, from[1:2], to[1:2]); got[0] == report.Error {
		t.Errorf("the error of another project's page counts: %q", got)
	}
	if got := w.Engine.Regressions.Course(t.Context(), w.Scoped(enginetest.Page), dir, from[1:2], to[1:2]); got[0] != report.Error {
		t.Errorf("a client has origins of its own: %q", got)
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
		return w.Engine.Regressions.Course(t.Context(), c, t.TempDir(), []time.Time{began}, []time.Time{ended})[0]
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
