package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

type params = observe.ChangesParams

func show(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// expect fails with the report when something does not hold.
func expect(t *testing.T, ok bool, r any) {
	t.Helper()
	if !ok {
		t.Errorf("%s", show(r))
	}
}

// TestScenarios are the 19 scenarios of the first specification, by their words.
func TestScenarios(t *testing.T) {
	for _, s := range []struct {
		name string
		run  func(*testing.T, *enginetest.World)
	}{
		{"1 empty server is clean, all diffs empty, no significant changes", func(t *testing.T, w *enginetest.World) {
			r := w.Changes(w.Agent(), params{})
			expect(t, r.Severity == report.Clean && r.Summary == "No significant changes" && r.Empty(), r)
			expect(t, strings.Contains(show(r), `"console":{},"network":{},"websocket":{},"dom":{},"actions":{}`), r)
		}},
		{"2 three new error logs after checkpoint", func(t *testing.T, w *enginetest.World) {
			a := w.Agent()
			w.Changes(a, params{})
			for _, text := range []string{"one", "two", "three"} {
				w.Log("error", text)
			}
			r := w.Changes(a, params{})
			expect(t, len(r.Console.NewErrors) == 3 && r.Severity == report.Error, r)
		}},
		{"3 same error message 5 times is one entry with count 5", func(t *testing.T, w *enginetest.World) {
			for range 5 {
				w.Log("error", "same")
			}
			r := w.Changes(w.Agent(), params{})
			expect(t, len(r.Console.NewErrors) == 1 && r.Console.NewErrors[0] == report.Message{Message: "same", Source: "app.js:42", Count: 5}, r)
		}},
		{"4 endpoint was returning 200, now returns 500", func(t *testing.T, w *enginetest.World) {
			a := w.Agent()
			w.Request("POST", "/api/users", 200, 10)
			w.Changes(a, params{})
			w.Request("POST", "/api/users", 500, 10)
			r := w.Changes(a, params{})
			sent := report.Request{StartedAt: report.Time{Time: w.Now}, DurationMs: 10}
			expect(t, len(r.Network.Failures) == 1 && r.Network.Failures[0] == report.Failure{Method: "POST", URL: "/api/users", Status: 500, PreviousStatus: 200, Request: sent}, r)
		}},
		{"5 new endpoint never seen before", func(t *testing.T, w *enginetest.World) {
			w.Request("GET", "/api/new", 200, 10)
			r := w.Changes(w.Agent(), params{})
			expect(t, len(r.Network.NewEndpoints) == 1 && r.Network.NewEndpoints[0].URL == "/api/new" && r.Severity == report.Clean, r)
		}},
		{"6 WebSocket close event is a disconnection", func(t *testing.T, w *enginetest.World) {
			a := w.Agent()
			w.Socket("open", "")
			w.Changes(a, params{})
			w.Socket("close", "")
			r := w.Changes(a, params{})
			expect(t, len(r.WebSocket.Disconnections) == 1 && r.WebSocket.Disconnections[0].URL == "/live" && r.Severity == report.Warning, r)
		}},
		{"7 auto-checkpoint advances", func(t *testing.T, w *enginetest.World) {
			a := w.Agent()
			w.Log("error", "once")
			first, second := w.Changes(a, params{}), w.Changes(a, params{})
			expect(t, first.Checkpoint == "auto_1" && first.Severity == report.Error, first)
			expect(t, second.Checkpoint == "auto_2" && second.Severity == report.Clean && second.Console.TotalNewEntries == 0, second)
		}},
		{"8 named checkpoint always returns the same window regardless of other calls", func(t *testing.T, w *enginetest.World) {
			a, b := w.Agent(), w.Agent()
			if _, err := w.Call(a, "checkpoint_create", `{"name":"before_refactor"}`); err != nil {
				t.Fatal(err)
			}
			w.Log("error", "after it")
			for range 3 {
				w.Changes(a, params{})
				w.Changes(b, params{})
				r := w.Changes(b, params{Checkpoint: "before_refactor"})
				expect(t, len(r.Console.NewErrors) == 1 && r.Checkpoint == "before_refactor", r)
			}
		}},
		{"9 errors_only excludes warnings", func(t *testing.T, w *enginetest.World) {
			w.Log("warning", "careful")
			w.Log("error", "broken")
			r := w.Changes(w.Agent(), params{Severity: "errors_only"})
			expect(t, r.Console.NewWarnings == nil && len(r.Console.NewErrors) == 1 && r.SeverityHidden == 1 && r.WebSocket != nil, r)
		}},
		{"10 include console and network only", func(t *testing.T, w *enginetest.World) {
			r := w.Changes(w.Agent(), params{Include: []string{"console", "network"}})
			expect(t, r.Console != nil && r.Network != nil && r.WebSocket == nil && r.Actions == nil && r.DOM == nil, r)
		}},
		{"12 timestamp as checkpoint reference", func(t *testing.T, w *enginetest.World) {
			w.Log("error", "before")
			w.Pass(time.Second)
			at := w.Now.Format(time.RFC3339Nano)
			w.Pass(time.Second)
			w.Log("error", "after")
			r := w.Changes(w.Agent(), params{Checkpoint: at})
			expect(t, len(r.Console.NewErrors) == 1 && r.Console.NewErrors[0].Message == "after" && r.From.Equal(w.Now.Add(-time.Second)), r)
		}},
		{"13 token count is that of the JSON", func(t *testing.T, w *enginetest.World) {
			for i := range 30 {
				w.Log("error", fmt.Sprintf("error of kind %c", 'a'+i))
			}
			r := w.Changes(w.Agent(), params{})
			data, err := report.Encode(r)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, r.TokenCount-tokens.Estimate(data) <= 1 && tokens.Estimate(data)-r.TokenCount <= 1, r)
		}},
		{"14 100 errors are capped at 50", func(t *testing.T, w *enginetest.World) {
			for i := range 100 {
				w.Log("error", "kind "+strings.Repeat("x", i))
			}
			r := w.Changes(w.Agent(), params{})
			expect(t, len(r.Console.NewErrors) == 50 && r.Console.Omitted == 50 && strings.HasPrefix(r.Summary, "100 new console error(s)") && r.Note != "", r)
		}},
		{"16 UUIDs and numbers are normalised in fingerprints", func(t *testing.T, w *enginetest.World) {
			w.Log("error", "Error loading user 3f2504e0-4f89-41d3-9a0c-0305e82c3301 at 2026-01-23T10:00:00Z (attempt 12345)")
			w.Log("error", "Error loading user 6ba7b810-9dad-11d1-80b4-00c04fd430c8 at 2026-01-23T11:30:00+02:00 (attempt 99999)")
			r := w.Changes(w.Agent(), params{})
			expect(t, len(r.Console.NewErrors) == 1 && r.Console.NewErrors[0].Count == 2, r)
		}},
		{"17 URL paths are without query parameters", func(t *testing.T, w *enginetest.World) {
			w.Request("GET", "/api/users?page=1", 200, 10)
			w.Request("GET", "/api/users?page=2", 200, 10)
			r := w.Changes(w.Agent(), params{})
			expect(t, len(r.Network.NewEndpoints) == 1 && r.Network.NewEndpoints[0].URL == "/api/users" && r.Network.TotalNewRequests == 2, r)
		}},
		{"18 severity hierarchy is error, warning, clean", func(t *testing.T, w *enginetest.World) {
			a := w.Agent()
			expect(t, w.Changes(a, params{}).Severity == report.Clean, nil)
			w.Log("warning", "careful")
			expect(t, w.Changes(a, params{}).Severity == report.Warning, nil)
			w.Socket("close", "")
			expect(t, w.Changes(a, params{}).Severity == report.Warning, nil)
			w.Log("warning", "careful")
			w.Request("GET", "/x", 404, 1)
			expect(t, w.Changes(a, params{}).Severity == report.Error, nil)
		}},
		{"19 summary formatting", func(t *testing.T, w *enginetest.World) {
			w.Log("error", "one")
			w.Log("error", "two")
			w.Request("POST", "/api/users", 500, 1)
			r := w.Changes(w.Agent(), params{})
			expect(t, r.Summary == "2 new console error(s), 1 network failure(s)", r)
		}},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, enginetest.New(t, capture.Limits{})) })
	}
	t.Run("11 buffer wrapped past checkpoint index is best effort", func(t *testing.T) {
		limits := capture.DefaultLimits()
		limits[capture.Console].Count = 10
		w := enginetest.New(t, limits)
		a := w.Agent()
		w.Changes(a, params{})
		for i := range 25 {
			w.Log("error", "kind "+strings.Repeat("x", i))
		}
		r := w.Changes(a, params{})
		expect(t, len(r.Console.NewErrors) == 10 && r.BufferOverflow && strings.Contains(r.Summary, "evicted"), r)
	})
	t.Run("15 concurrent reads and writes", func(t *testing.T) { concurrent(t, 4, 4, 400) })
}

// concurrent runs writers and clients at once: every client gets each error exactly once.
func concurrent(t *testing.T, writers, readers, each int) {
	w := enginetest.New(t, capture.Limits{})
	var writing, reading sync.WaitGroup
	var mu sync.Mutex // the store has one stream; writers take turns in any order
	for n := range writers {
		writing.Go(func() {
			for i := range each {
				mu.Lock()
				w.Log("error", fmt.Sprintf("w%c e%s", 'a'+n, letters(i)))
				w.Request("GET", fmt.Sprintf("/w%c/%s", 'a'+n, letters(i)), 200, 1)
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	for range readers {
		a := w.Agent()
		reading.Go(func() {
			total, requests := 0, 0
			for last := false; ; {
				r := w.Changes(a, params{Include: []string{"console", "network"}})
				total += r.Console.TotalNewEntries
				requests += r.Network.TotalNewRequests
				if n := len(r.Console.NewErrors) + r.Console.Omitted; n != r.Console.TotalNewEntries {
					t.Errorf("%d distinct errors in a window of %d", n, r.Console.TotalNewEntries)
				}
				if n := len(r.Network.NewEndpoints) + r.Network.Omitted; n != r.Network.TotalNewRequests {
					t.Errorf("%d new endpoints in a window of %d: the table is not that of the positions", n, r.Network.TotalNewRequests)
				}
				if last {
					break
				}
				select {
				case <-done:
					last = true
				default:
				}
			}
			if total != writers*each || requests != writers*each {
				t.Errorf("heard of %d errors and %d requests, not of %d", total, requests, writers*each)
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
}

// letters writes a number in letters, which fingerprints and endpoints do not fold.
func letters(n int) string {
	s := ""
	for {
		s = string(rune('g'+n%20)) + s
		if n /= 20; n == 0 {
			return s
		}
	}
}

// TestEdgeCases are the rows of both specifications' tables of edge cases, by their words.
func TestEdgeCases(t *testing.T) {
	t.Run("empty buffers", func(t *testing.T) {
		w := enginetest.New(t, capture.Limits{})
		r := w.Changes(w.Agent(), params{})
		expect(t, r.Severity == report.Clean && r.Empty() && r.Coverage == nil, r)
	})
	for _, name := range []string{"buffer overflow", "buffer wrapped since checkpoint"} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{
				capture.Console: {Count: 5, Bytes: 1 << 20}, capture.Network: {Count: 5, Bytes: 1 << 20}, capture.WebSocket: {Count: 5, Bytes: 1 << 20},
				capture.Actions: {Count: 5, Bytes: 1 << 20}, capture.DOM: {Count: 5, Bytes: 1 << 20},
			})
			a := w.Agent()
			if _, err := w.Call(a, "checkpoint_create", `{"name":"session_start"}`); err != nil {
				t.Fatal(err)
			}
			for i := range 8 {
				w.Log("error", "kind "+letters(i))
				w.Request("GET", "/missing/"+letters(i), 404, 1)
				w.Socket("received", fmt.Sprintf(`{"error":%q}`, letters(i)))
				w.Send("action", `"action":"click","target":"button"`)
				w.Element("appeared", i, ".error", letters(i))
			}
			for _, p := range []params{{Checkpoint: "session_start"}, {Checkpoint: w.Now.Add(-time.Hour).Format(time.RFC3339)}, {}} {
				r := w.Changes(a, p)
				visible := 8 // including those whose appearance was evicted
				if strings.HasPrefix(p.Checkpoint, "2026") {
					visible = 5 // past visibility is known only as far as the buffers reach back
				}
				expect(t, r.BufferOverflow && strings.Contains(r.Coverage.Note, "older entries were evicted"), r)
				expect(t, len(r.Console.NewErrors) == 5 && len(r.Network.Failures) == 5 && len(r.WebSocket.ErrorMessages) == 5 && len(r.Actions.NewActions) == 5 && len(r.DOM.NewErrorElements) == visible, r)
			}
			w.Log("error", "one more")
			r := w.Changes(a, params{})
			expect(t, !r.BufferOverflow && r.Coverage == nil && len(r.Console.NewErrors) == 1, r)
		})
	}
	t.Run("no changes since checkpoint", func(t *testing.T) {
		w := enginetest.New(t, capture.Limits{})
		w.Log("error", "before it")
		a := w.Agent()
		if _, err := w.Call(a, "checkpoint_create", `{"name":"session_start"}`); err != nil {
			t.Fatal(err)
		}
		w.Pass(time.Minute)
		r := w.Changes(a, params{Checkpoint: "session_start"})
		expect(t, r.Severity == report.Clean && r.Empty() && r.Summary == "No significant changes" && r.DurationMs == 60_000, r)
	})
	t.Run("category filtering", func(t *testing.T) {
		for _, s := range capture.Sections {
			w := enginetest.New(t, capture.Limits{})
			answer, err := w.Call(w.Agent(), "get_changes_since", fmt.Sprintf(`{"include":[%q]}`, s))
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range capture.Sections {
				if strings.Contains(answer, fmt.Sprintf("%q:", other)) != (other == s) {
					t.Errorf("%s: %s", s, answer)
				}
			}
		}
	})
	t.Run("concurrent access", func(t *testing.T) { concurrent(t, 2, 8, 200) })
	t.Run("max entries per category", func(t *testing.T) {
		w := enginetest.New(t, capture.Limits{})
		for i := range 60 {
			w.Log("warning", "warning "+letters(i))
			w.Request("GET", "/missing/"+letters(i), 404, 1)
			w.Send("action", fmt.Sprintf(`"action":"click","target":"button %d"`, i))
			w.Element("appeared", i, ".error", "text "+letters(i))
			w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":"ws://localhost:5173/s%s","op":"close"`, i, letters(i)))
		}
		for range 3 {
			w.Log("error", "the worst comes first")
		}
		r := w.Changes(w.Agent(), params{})
		expect(t, len(r.Console.NewErrors) == 1 && len(r.Console.NewWarnings) == 49 && r.Console.Omitted == 11, r.Console)
		expect(t, len(r.Network.Failures) == 50 && r.Network.Omitted == 10, r.Network)
		expect(t, len(r.Actions.NewActions) == 50 && r.Actions.Omitted == 10 && r.Actions.NewActions[49].Target == "button 59", r.Actions)
		expect(t, len(r.DOM.NewErrorElements) == 50 && r.DOM.Omitted == 10, r.DOM)
		expect(t, len(r.WebSocket.Disconnections) == 50 && r.WebSocket.Omitted == 10, r.WebSocket)
	})
	t.Run("checkpoint not found", func(t *testing.T) {
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		for _, name := range []string{"session_start", "before_refactor", "after_refactor"} {
			if _, err := w.Call(a, "checkpoint_create", fmt.Sprintf(`{"name":%q}`, name)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.Call(a, "get_changes_since", `{"checkpoint":"befor_refactor"}`)
		if err == nil || !usererr.Is(err) || err.Error() != `there is no checkpoint "befor_refactor"; checkpoints are before_refactor, after_refactor, session_start (nearest first)` {
			t.Errorf("%v", err)
		}
		if r := w.Changes(a, params{}); r.Checkpoint != "auto_1" {
			t.Error("a failed call advanced the checkpoint")
		}
	})
	t.Run("DOM check times out", func(t *testing.T) {
		w := enginetest.New(t, capture.Limits{})
		w.SetTab(protocol.Tab{ID: 7, URL: enginetest.Page, Watched: true, Capture: "debugger"})
		a := w.Agent()
		r := w.Changes(a, params{})
		expect(t, r.DOMUnavailable && r.DOM != nil, r)
		r = w.Changes(a, params{Include: []string{"console"}})
		expect(t, !r.DOMUnavailable, r)
	})
	t.Run("very long gap", func(t *testing.T) {
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		w.Changes(a, params{})
		w.Pass(9 * time.Hour)
		for i := range 3000 {
			w.Log("error", "kind "+letters(i))
		}
		r := w.Changes(a, params{})
		expect(t, r.DurationMs == 9*3600*1000 && len(r.Console.NewErrors) == 50 && r.Console.Omitted == 2950 && r.Note != "", r.Summary)
	})
	t.Run("concurrent checkpoints", func(t *testing.T) {
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		for i := range 5 {
			if _, err := w.Call(a, "checkpoint_create", fmt.Sprintf(`{"name":"phase_%c"}`, 'a'+i)); err != nil {
				t.Fatal(err)
			}
			w.Log("error", "kind "+letters(i))
		}
		for i := range 5 {
			r := w.Changes(a, params{Checkpoint: fmt.Sprintf("phase_%c", 'a'+i)})
			expect(t, len(r.Console.NewErrors) == 5-i, r)
		}
	})
	t.Run("nothing watched is said", func(t *testing.T) {
		w := enginetest.New(t, capture.Limits{})
		w.SetTab(protocol.Tab{ID: 7, URL: enginetest.Page})
		r := w.Changes(w.Agent(), params{})
		expect(t, r.Severity == report.Clean && r.Summary == "No significant changes; not fully observed: no tab is watched" && r.Coverage.Note == "no tab is watched", r)
	})
}
