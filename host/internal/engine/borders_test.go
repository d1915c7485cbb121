package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestSeverityAndListAgreeAtTheBorders: stretches that touch share no entry and lose none, also one that is exactly at a border or a
// request that began before and ended after it. A stretch has the severity of what its report lists.
func TestSeverityAndListAgreeAtTheBorders(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := enginetest.New(t, capture.Limits{})
		c := w.Agent()
		w.Pass(time.Second)
		began := w.Now
		var happened []time.Time // of events, of which each is an error of its own
		want := map[string]bool{}
		for n := range rapid.IntRange(1, 8).Draw(rt, "events") {
			w.Pass(time.Duration(rapid.IntRange(0, 3).Draw(rt, "pause")) * time.Millisecond)
			name := fmt.Sprintf("e%c", 'a'+n)
			if rapid.Bool().Draw(rt, "request") {
				ms := rapid.IntRange(0, 5).Draw(rt, "duration")
				w.Send("network", fmt.Sprintf(`"id":%q,"method":"GET","url":"http://localhost:5173/%s","resource":"fetch","status":500,"started":%d,"duration":%d`, name, name, w.Now.UnixMilli()-int64(ms), ms))
				happened = append(happened, w.Now.Add(-time.Duration(ms)*time.Millisecond))
				name = "/" + name
			} else {
				w.Log("error", name)
			}
			happened = append(happened, w.Now)
			want[name] = true
		}
		w.Pass(5 * time.Millisecond)
		borders := []time.Time{began.Add(-10 * time.Millisecond), w.Now}
		for range rapid.IntRange(1, 4).Draw(rt, "borders") {
			at := rapid.SampledFrom(happened).Draw(rt, "at an event")
			borders = append(borders, at.Add(time.Duration(rapid.IntRange(-1, 1).Draw(rt, "off"))*time.Millisecond))
		}
		slices.SortFunc(borders, time.Time.Compare)
		borders = slices.CompactFunc(borders, time.Time.Equal)
		w.Pass(time.Hour) // nothing follows any more
		name := func(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
		course := w.Engine.Regressions.Course(t.Context(), c, t.TempDir(), borders[:len(borders)-1], borders[1:])
		got := map[string]bool{}
		for i, stretch := range course {
			severity := stretch.Severity
			if !stretch.Since.IsZero() { // nothing new is listed
				severity = report.Clean
			}
			r := between(t, w, c, name(borders[i]), name(borders[i+1]))
			var listed []string
			for _, m := range r.Console.NewErrors {
				listed = append(listed, m.Message)
			}
			for _, f := range r.Network.Failures {
				listed = append(listed, f.URL)
			}
			if (len(listed) > 0) != (r.Severity == report.Error) || len(listed) != r.Errors || r.Severity != severity && (severity != "" || r.Coverage == nil) {
				rt.Fatalf("from %s to %s: %s with %d errors, its moment %s, and the list has %v", name(borders[i]), name(borders[i+1]), r.Severity, r.Errors, severity, listed)
			}
			for _, e := range listed {
				if got[e] {
					rt.Fatalf("%s is in two stretches: %v", e, borders)
				}
				got[e] = true
			}
		}
		for e := range want {
			if !got[e] {
				rt.Fatalf("%s is in no stretch of %v", e, borders)
			}
		}
		since := rapid.SampledFrom(happened).Draw(rt, "since")
		if r := w.Changes(c, params{Checkpoint: name(since)}); r.Errors != between(t, w, c, name(since), "now").Errors {
			rt.Fatalf("since %s: %d errors, between there and now another number", name(since), r.Errors)
		}
	})
}
