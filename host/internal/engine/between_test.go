package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// named makes a checkpoint of this moment.
func named(t *testing.T, w *enginetest.World, c *checkpoint.Client, name string) {
	t.Helper()
	if _, err := w.Engine.Observer.CheckpointCreate(context.Background(), c, observe.CheckpointParams{Name: name}); err != nil {
		t.Fatal(err)
	}
}

func between(t *testing.T, w *enginetest.World, c *checkpoint.Client, from, to string) *report.Report {
	t.Helper()
	r, err := w.Engine.Observer.Between(t.Context(), c, observe.BetweenParams{From: from, To: to}, nil)
	if err != nil {
		t.Fatalf("%s to %s: %v", from, to, err)
	}
	return r
}

func words(list []report.Message) string {
	var words []string
	for _, m := range list {
		words = append(words, m.Message)
	}
	return strings.Join(words, " ")
}

// story is a session with three checkpoints a second apart, and entries before, between and after them.
func story(t *testing.T, w *enginetest.World, c *checkpoint.Client) (times []string) {
	t.Helper()
	for i, name := range []string{"first", "second", "third"} {
		w.Pass(time.Second)
		w.Log("error", fmt.Sprint("before_", name))
		w.Request("GET", "/api/cart", []int{200, 500, 200}[i], 10)
		w.Pass(time.Second)
		named(t, w, c, name)
		times = append(times, w.Now.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	w.Pass(time.Second)
	w.Log("warning", "after_all")
	return times
}

func TestBetweenTwoMomentsIsWhatHappenedThereAndNothingElse(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	at := story(t, w, c)
	for _, s := range []struct{ from, to, errors, warnings, network string }{
		{"first", "second", "before_second", "", `{"failures":[{"method":"GET","url":"/api/cart","status":500,"previous_status":200}],"total_new_requests":1}`},
		{at[0], at[1], "before_second", "", `{"failures":[{"method":"GET","url":"/api/cart","status":500,"previous_status":200}],"total_new_requests":1}`},
		{"second", at[2], "before_third", "", `{"recovered":[{"method":"GET","url":"/api/cart","status":200,"previous_status":500}],"total_new_requests":1}`},
		{"third", "now", "", "after_all", `{}`},
		{"third", "", "", "after_all", `{}`},
		{"second", "second", "", "", `{}`},
		{"", "first", "before_first", "", `{"new_endpoints":[{"method":"GET","url":"/api/cart","status":200}],"total_new_requests":1}`},
	} {
		r := between(t, w, c, s.from, s.to)
		if words(r.Console.NewErrors) != s.errors || words(r.Console.NewWarnings) != s.warnings || r.Coverage != nil {
			t.Errorf("%s to %s: %s", s.from, s.to, show(r))
		}
		is(t, r.Network, s.network)
	}
}

func TestBetweenMovesNothingAndSaysTheSameAgain(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	story(t, w, c)
	before := show(between(t, w, c, "first", "second"))
	w.Pass(time.Minute)
	w.Log("error", "later")
	w.CloseTab(7) // the present watch state proves nothing about the past
	if again := show(between(t, w, c, "first", "second")); again != before {
		t.Errorf("%s\nand then\n%s", before, again)
	}
	r := w.Changes(c, params{})
	if !strings.Contains(words(r.Console.NewErrors), "before_first") || r.Checkpoint != "auto_1" {
		t.Errorf("the client's own place has moved: %s", show(r))
	}
}

func TestAWindowThatEndedKnowsItsGapsAndNotThoseOfLater(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	w.Pass(time.Second)
	named(t, w, c, "first")
	w.Pass(time.Second)
	w.Log("log", "something")
	w.Pass(time.Second)
	named(t, w, c, "second")
	w.Pass(time.Second)
	gap(w, "dropped", -1800, -1200) // a gap in the window that was reported after it
	w.Pass(time.Second)
	gap(w, "worker_restart", -100, -50)
	for _, to := range []string{"second", w.Now.Add(-2 * time.Second).UTC().Format(time.RFC3339)} {
		is(t, between(t, w, c, "first", to).Coverage, `{"gaps":[{"from":"2026-01-23T10:30:02.200Z","to":"2026-01-23T10:30:02.800Z","reason":"dropped"}],"note":"events were dropped"}`)
	}
}

func TestAListedCheckpointSaysWhatWasNotObserved(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	for _, name := range []string{"observed", "not_observed"} {
		w.Pass(time.Second)
		w.Log("log", "something")
		if name == "not_observed" {
			gap(w, "dropped", -800, -200)
		}
		w.Pass(time.Second)
		named(t, w, c, name)
	}
	list := w.Engine.Observer.CheckpointList(c).Checkpoints
	if list[0].Summary != "" || list[1].Severity != report.Clean || list[1].Summary != "No significant changes; not fully observed: events were dropped" {
		t.Errorf("%+v", list)
	}
}

func TestNobodyWatchedIsNotClean(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Scoped("http://elsewhere:1")
	w.Pass(time.Second)
	named(t, w, c, "first")
	w.Pass(time.Second)
	named(t, w, c, "second")
	w.Pass(time.Second)
	w.Log("log", "on another page")
	if r := between(t, w, c, "first", "second"); note(r) != "no tab is known to have been watched" {
		t.Error(show(r))
	}
}

// TestASpanBeforeAnyTabWasWatchedIsNotClean, although the first address that a tab leaves tells where it was before: it was
// there only since it was opened.
func TestASpanBeforeAnyTabWasWatchedIsNotClean(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	w.CloseTab(7)
	times := make([]string, 4)
	for i := range times {
		w.Pass(3 * time.Second)
		times[i] = w.Now.UTC().Format(time.RFC3339)
		if i == 1 {
			w.Pass(time.Second)
			w.SetTab(protocol.Tab{ID: 9, URL: enginetest.Page}) // it is not watched yet
			w.Open(8, enginetest.Page+"/")
		}
	}
	w.Pass(time.Second)
	for _, tab := range []string{"8", "9"} {
		w.Send("navigation", `"tab":`+tab+`,"how":"load","url":"http://localhost:5173/cart"`)
	}
	if r := between(t, w, c, times[0], times[1]); note(r) != "no tab is known to have been watched" {
		t.Error(show(r))
	}
	if r := between(t, w, c, times[2], times[3]); r.Coverage != nil {
		t.Error(show(r))
	}
}

func TestAQuietSpanOfAWatchedTabIsClean(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	w.Log("log", "one")
	w.Pass(10 * time.Second)
	from := w.Now.Add(-5 * time.Second).UTC().Format(time.RFC3339)
	to := w.Now.Add(-3 * time.Second).UTC().Format(time.RFC3339)
	if r := between(t, w, c, from, to); r.Coverage != nil || r.Summary != "No significant changes" {
		t.Error(show(r))
	}
}

func TestMistakesAboutTwoMoments(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	at := story(t, w, c)
	for _, s := range []struct{ from, to, want string }{
		{"second", "first", "Swap the two"},
		{at[1], at[0], "Swap the two"},
		{"now", "", `from is "now"`},
		{"frist", "", `there is no checkpoint "frist"; checkpoints are first`},
		{"first", "secnod", `there is no checkpoint "secnod"; checkpoints are second`},
		{"first", "2999-01-01", "is in the future"},
		{"first", "2026-99-01", "not a valid ISO 8601 time"},
		{"auto_1", "", "there is no checkpoint"},
	} {
		if _, err := w.Engine.Observer.Between(t.Context(), c, observe.BetweenParams{From: s.from, To: s.to}, nil); err == nil || !usererr.Is(err) || !strings.Contains(err.Error(), s.want) {
			t.Errorf("%s to %s: %v, want %s", s.from, s.to, err, s.want)
		}
	}
	if _, err := w.Engine.Observer.CheckpointCreate(context.Background(), c, observe.CheckpointParams{Name: "now"}); err == nil || !strings.Contains(err.Error(), "present moment") {
		t.Error(err)
	}
}

// TestASpanWithoutAnyBrowserIsNotClean checks the span while it is the newest and after a browser has returned. A
// span that only begins in it is clean.
func TestASpanWithoutAnyBrowserIsNotClean(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := w.Agent()
	w.Element("appeared", 1, ".error", "Payment failed")
	w.Pass(time.Second)
	w.Store.Disconnected("i", w.Now)
	for _, name := range []string{"first", "second"} {
		w.Pass(time.Second)
		named(t, w, c, name)
	}
	w.Pass(time.Minute)
	named(t, w, c, "third")
	hello := protocol.Hello{Protocol: 1, Extension: "1", Browser: "Chromium 156", Instance: "i", Session: "again", Stream: "new", First: 1}
	for _, connected := range []bool{false, true} {
		if connected {
			w.Store.Hello(&hello, w.Now)
		}
		for _, to := range []string{"second", "third"} {
			r := between(t, w, c, "first", to)
			if !strings.Contains(note(r), "no browser was connected") || r.DOM != nil && len(r.DOM.DisappearedElements) > 0 {
				t.Errorf("connected %v, to %s: %s", connected, to, show(r))
			}
		}
	}
	w.Pass(time.Second)
	named(t, w, c, "fourth")
	if r := between(t, w, c, "third", "fourth"); strings.Contains(note(r), "no browser") {
		t.Error(show(r))
	}
}
