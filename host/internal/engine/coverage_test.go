package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// gap sends a gap of tab 7, in milliseconds relative to now. An end of 0 leaves it open.
func gap(w *enginetest.World, reason string, from, to int64) {
	end := int64(0)
	if to != 0 {
		end = w.Now.UnixMilli() + to
	}
	w.Send("gap", fmt.Sprintf(`"from":%d,"to":%d,"reason":%q`, w.Now.UnixMilli()+from, end, reason))
}

func note(r *report.Report) string {
	if r.Coverage == nil {
		return ""
	}
	return r.Coverage.Note
}

func TestEveryGapReasonHasWords(t *testing.T) {
	for reason, words := range map[string]string{
		protocol.GapLateAttach:    "a tab began loading before capture started",
		protocol.GapWorkerRestart: "the extension's worker restarted",
		protocol.GapDetached:      "capture of a tab ended",
		protocol.GapDropped:       "events were dropped",
		protocol.GapCaptureFailed: "a tab could not be captured",
		protocol.GapDisconnected:  "the browser's connection was interrupted",
		protocol.GapMalformed:     "events could not be read",
		protocol.GapNotReplayed:   "events before Tidemark started are unknown",
		"of_a_later_version":      "of a later version",
	} {
		w := enginetest.New(t, capture.Limits{})
		gap(w, reason, -50, 0)
		r := w.Changes(w.Agent(), params{})
		if note(r) != words || r.Severity != report.Clean || r.Summary != "No significant changes; not fully observed: "+words || r.Coverage.Gaps[0].Reason != reason {
			t.Errorf("%s: %s", reason, show(r))
		}
	}
}

func TestAGapIsReportedWhileItLastsAndOnceAfterItsEnd(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Pass(time.Second)
	gap(w, "detached", 0, 0)
	began := w.Now.UnixMilli()
	w.Pass(time.Second)
	is(t, w.Changes(a, params{}).Coverage, `{"gaps":[{"from":"2026-01-23T10:30:01.000Z","reason":"detached"}],"note":"capture of a tab ended"}`)
	w.Pass(time.Second)
	is(t, w.Changes(a, params{}).Coverage, `{"gaps":[{"from":"2026-01-23T10:30:02.000Z","reason":"detached"}],"note":"capture of a tab ended"}`)
	w.Pass(time.Second)
	w.Send("gap", fmt.Sprintf(`"from":%d,"to":%d,"reason":"detached"`, began, w.Now.UnixMilli()))
	w.Pass(time.Second)
	is(t, w.Changes(a, params{}).Coverage, `{"gaps":[{"from":"2026-01-23T10:30:03.000Z","to":"2026-01-23T10:30:04.000Z","reason":"detached"}],"note":"capture of a tab ended"}`)
	is(t, w.Changes(a, params{}).Coverage, `null`)
}

func TestAGapThatArrivesAfterALookIsReportedInTheNextOne(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Pass(time.Second)
	w.Changes(a, params{})
	w.Pass(50 * time.Millisecond)
	gap(w, "late_attach", -500, -100) // it had ended before the look, but was still on its way to the host
	is(t, w.Changes(a, params{}).Coverage, `{"gaps":[{"from":"2026-01-23T10:30:00.550Z","to":"2026-01-23T10:30:00.950Z","reason":"late_attach"}],"note":"a tab began loading before capture started"}`)
	is(t, w.Changes(a, params{}).Coverage, `null`)
}

func TestAGapIsReportedForEachSection(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Pass(time.Second)
	gap(w, "dropped", -500, -100)
	for _, c := range []struct {
		include  string
		reported bool
	}{{"console", true}, {"console", false}, {"network", true}, {"network", false}, {"actions", true}} {
		w.Pass(time.Second)
		if r := w.Changes(a, params{Include: []string{c.include}}); (r.Coverage != nil) != c.reported {
			t.Errorf("%s: %s", c.include, show(r))
		}
	}
}

func TestAGapIsReportedOnlyInItsScope(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	w.Pass(time.Second)
	gap(w, "detached", -500, -100) // of tab 7
	for _, c := range []struct {
		name     string
		client   *checkpoint.Client
		p        params
		reported bool
	}{
		{"all", w.Agent(), params{}, true},
		{"its project", w.Scoped("localhost:5173"), params{}, true},
		{"another project", w.Scoped("localhost:3000"), params{}, false},
		{"its tab", w.Agent(), params{Tab: 1}, true},
		{"another tab", w.Agent(), params{Tab: 2}, false},
	} {
		if r := w.Changes(c.client, c.p); (r.Coverage != nil) != c.reported {
			t.Errorf("%s: %s", c.name, show(r))
		}
	}
	w.Send("gap", fmt.Sprintf(`"tab":0,"from":%d,"to":%d,"reason":"worker_restart"`, w.Now.UnixMilli()-10, w.Now.UnixMilli()-5))
	if r := w.Changes(w.Scoped("localhost:3000"), params{}); note(r) != "the extension's worker restarted" {
		t.Errorf("a gap of the whole browser: %s", show(r))
	}
}

func TestAListedCheckpointReportsTheGapsOfItsSpan(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	checkpointed := func(name string) string {
		t.Helper()
		answer, err := w.Call(a, "checkpoint_create", fmt.Sprintf(`{"name":%q}`, name))
		if err != nil {
			t.Fatal(err)
		}
		w.Pass(time.Second)
		return answer
	}
	checkpointed("session_start")
	gap(w, "dropped", -100, -50)
	if second := checkpointed("before_refactor"); !strings.Contains(second, "No significant changes; not fully observed: events were dropped") {
		t.Error(second)
	}
	if third := checkpointed("after_refactor"); !strings.Contains(third, `"summary":"No significant changes"`) {
		t.Error(third)
	}
}

func TestManyGapsAreListedInPartAndCountedInFull(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for i := range 25 {
		w.Send("gap", fmt.Sprintf(`"from":%d,"to":%d,"reason":"dropped","dropped":2`, w.Now.UnixMilli()+int64(i), w.Now.UnixMilli()+int64(i)))
	}
	c := w.Changes(w.Agent(), params{}).Coverage
	if len(c.Gaps) != 10 || c.Dropped != 50 || c.Note != "events were dropped (50 events lost)" {
		t.Errorf("%s", show(c))
	}
}

func TestATimeBeforeTidemarkBeganIsNotFullyObserved(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	is(t, w.Changes(a, params{Checkpoint: "2026-01-23T10:29:00Z"}).Coverage,
		`{"gaps":[{"from":"2026-01-23T10:29:00.000Z","to":"2026-01-23T10:30:00.000Z","reason":"not_replayed"}],"note":"events before Tidemark started are unknown"}`)
	is(t, w.Changes(a, params{Checkpoint: "2026-01-23T10:30:00Z"}).Coverage, `null`)
	is(t, w.Changes(a, params{}).Coverage, `null`)
}

func TestABrowserThatComesBackWithEventsMissingLeavesAGap(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Pass(time.Second)
	w.Store.Disconnected("i", w.Now)
	w.Pass(time.Second)
	is(t, w.Changes(a, params{}).Coverage, `{"note":"a browser is not connected; no tab is watched","unwatched":true}`)
	w.Pass(time.Second)
	w.Store.Hello(&protocol.Hello{Protocol: 1, Extension: "1", Browser: "Chromium 156", Instance: "i", Stream: "s", First: 6}, w.Now)
	is(t, w.Changes(a, params{}).Coverage,
		`{"gaps":[{"from":"2026-01-23T10:30:02.000Z","to":"2026-01-23T10:30:03.000Z","reason":"disconnected"}],"dropped":5,"note":"the browser's connection was interrupted (5 events lost)"}`)
	is(t, w.Changes(a, params{}).Coverage, `null`)
}

// TestABrowserThatLeftIsReportedOnlyWhereItsTabsAreInScope: beside another browser.
func TestABrowserThatLeftIsReportedOnlyWhereItsTabsAreInScope(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	mine, others := w.Scoped("localhost:5173"), w.Scoped("localhost:3000")
	w.Changes(mine, params{})
	w.Store.Hello(&protocol.Hello{Protocol: 1, Extension: "1", Browser: "Chromium 156", Instance: "another", Stream: "t", First: 1}, w.Now)
	w.Store.SetTabs("another", []protocol.Tab{{ID: 1, URL: "http://localhost:3000/", Watched: true, DOM: true, Capture: "debugger"}}, w.Now)
	w.Changes(others, params{})
	w.Pass(time.Second)
	w.Store.Disconnected("another", w.Now)
	w.Pass(time.Second)
	is(t, w.Changes(mine, params{}).Coverage, `null`)
	if got := note(w.Changes(others, params{})); !strings.HasPrefix(got, "the browser of tab 2 is not connected; no watched tab shows") {
		t.Error(got)
	}
	if got := note(w.Changes(w.Agent(), params{})); strings.Contains(got, "a browser") {
		t.Error(got)
	}
}

func TestEvictionsAreReportedToTheClientsThatMissedEntries(t *testing.T) {
	limits := capture.DefaultLimits()
	limits[capture.Console].Count = 5
	w := enginetest.New(t, limits)
	w.Open(8, "http://localhost:3000/")
	mine, others := w.Scoped("localhost:5173"), w.Scoped("localhost:3000")
	w.Changes(mine, params{})
	w.Changes(others, params{})
	for i := range 8 {
		w.Log("error", "kind "+letters(i))
	}
	if r := w.Changes(others, params{}); r.BufferOverflow || r.Coverage != nil {
		t.Errorf("another project's evictions: %s", show(r))
	}
	if r := w.Changes(mine, params{}); !r.BufferOverflow || r.Console.TotalNewEntries != 5 || note(r) != "older entries were evicted from the buffers" || r.Severity != report.Error {
		t.Errorf("%s", show(r))
	}
	if r := w.Changes(mine, params{}); r.BufferOverflow {
		t.Errorf("reported twice: %s", show(r))
	}
}

func TestATimeBeforeTheOldestKeptEntryIsAnOverflow(t *testing.T) {
	limits := capture.DefaultLimits()
	limits[capture.Console].Count = 5
	w := enginetest.New(t, limits)
	a := w.Agent()
	w.Element("appeared", 1, ".error", "there from the start")
	var times []string
	for i := range 8 {
		w.Pass(time.Second)
		w.Log("error", "kind "+letters(i))
		times = append(times, w.Now.Format(time.RFC3339))
	}
	for i, want := range []struct {
		overflow bool
		entries  int
	}{{true, 5}, {true, 5}, {false, 5}, {false, 4}, {false, 3}, {false, 2}, {false, 1}, {false, 0}} {
		r := w.Changes(a, params{Checkpoint: times[i]})
		if r.BufferOverflow != want.overflow || r.Console.TotalNewEntries != want.entries || len(r.DOM.NewErrorElements) != 0 {
			t.Errorf("since entry %d: %s", i+1, show(r))
		}
	}
}
