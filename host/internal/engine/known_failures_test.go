package engine_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// failAgain sends a failed request of a page's code, and the line that this logs about it.
func failAgain(w *enginetest.World, address, message string) {
	fail(w, address, message)
	w.Send("console", fmt.Sprintf(`"level":"error","via":"console","text":"Error: %s","url":"%s/Dash.tsx","line":7`, message, enginetest.Page))
	w.Pass(3 * time.Second)
}

// fail sends the request alone.
func fail(w *enginetest.World, address, message string) {
	url := enginetest.Page + address
	w.Send("network", fmt.Sprintf(`"id":"f%d","method":"GET","url":%q,"resource":"fetch","status":500,"started":%d,"duration":5,"mime":"application/json","response_body":%q,"stack":["load (%s/api.ts:4:9)"]`,
		w.Now.UnixNano(), url, w.Now.UnixMilli(), fmt.Sprintf(`{"message":%q}`, message), enginetest.Page))
}

// TestAFailureThatIsRepeatedIsCounted: with its severity, and with the line that the page logs about it.
func TestAFailureThatIsRepeatedIsCounted(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	failAgain(w, "/api/order", "no such table")
	r := w.Changes(a, params{})
	expect(t, len(r.Network.Failures) == 1 && len(r.Console.NewErrors) == 0, r)
	if _, err := w.Call(a, "checkpoint_create", `{"name":"broken"}`); err != nil {
		t.Fatal(err)
	}
	at := report.Time{Time: w.Now.Add(-time.Millisecond)}.String()
	for _, n := range []int{1, 2} {
		failAgain(w, "/api/order", "no such table")
		r = w.Changes(a, params{})
		expect(t, r.Severity == report.Error && r.Errors == 1 && r.Summary == "no new problems; 1 repeated error" && repeated(r) == "[{GET /api/order 500: no such table 1}]", r)
		expect(t, r.Repeated[0].Initiator == "api.ts:4" && len(r.Console.NewErrors) == 0, r)
		for _, from := range []string{"broken", at} {
			r = w.Changes(a, params{Checkpoint: from})
			expect(t, r.Severity == report.Warning && r.Summary == "no new problems; 1 endpoint still fails" && r.Network.StillFailing == 1, r)
			expect(t, len(r.Network.Failures)+len(r.Console.NewErrors)+len(r.Repeated) == 0 && len(r.Network.KnownFailures) == 1, r)
			f := r.Network.KnownFailures[0]
			expect(t, f.URL == "/api/order" && f.Status == 500 && f.Detail == "no such table" && max(f.Count, 1) == n && f.Initiator == "api.ts:4", r)
		}
	}
}

// TestAFailureBeforeAnEndpointRecoversIsCounted: it is news when it fails again.
func TestAFailureBeforeAnEndpointRecoversIsCounted(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Request("GET", "/a", 500, 1)
	w.Changes(a, params{})
	if _, err := w.Call(a, "checkpoint_create", `{"name":"broken"}`); err != nil {
		t.Fatal(err)
	}
	w.Request("GET", "/a", 500, 1)
	w.Request("GET", "/a", 200, 1)
	r := w.Changes(a, params{Checkpoint: "broken"})
	expect(t, r.Severity == report.Warning && r.Summary == "no new problems; 1 endpoint failed again and recovered" && len(r.Network.Recovered) == 1, r)
	expect(t, len(r.Network.KnownFailures) == 1 && r.Network.KnownFailures[0].NowStatus == 200 && r.Network.StillFailing == 0, r)
	r = w.Changes(a, params{})
	expect(t, r.Severity == report.Error && repeated(r) == "[{GET /a 500 1}]" && len(r.Network.Recovered) == 1, r)
	w.Request("GET", "/a", 500, 1)
	r = w.Changes(a, params{})
	expect(t, len(r.Network.Failures) == 1 && len(r.Repeated) == 0, r)
}

func TestARepeatedFailureKeepsTheQueryThatDistinguishesIt(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	both := func() {
		w.Request("GET", "/report?r=ok", 500, 1)
		w.Request("GET", "/report", 500, 1)
		w.Request("GET", "/other?x=1", 500, 1)
	}
	both()
	w.Changes(a, params{})
	both()
	if got := repeated(w.Changes(a, params{})); got != "[{GET /report?r=ok 500 1} {GET /report 500 1} {GET /other 500 1}]" {
		t.Error(got)
	}
}

// TestAnErrorOfAnyClassIsPartOfItsRequest: what a page throws and logs of a failed request is no error of its own.
func TestAnErrorOfAnyClassIsPartOfItsRequest(t *testing.T) {
	for _, text := range []string{
		"_HttpError: no such table", "CombinedGraphQLErrors: no such table\n    at x (app.js:1:1)", "Uncaught (in promise) DbException: no such table",
		"TypeError: Failed to fetch dynamically imported module: " + enginetest.Page + "/api/order",
	} {
		w := enginetest.New(t, capture.Limits{})
		fail(w, "/api/order", "no such table")
		w.Log("error", text)
		r := w.Changes(w.Agent(), params{})
		expect(t, len(r.Network.Failures) == 1 && len(r.Console.NewErrors) == 0, r)
	}
	w := enginetest.New(t, capture.Limits{})
	w.Request("GET", "/api/order", 0, 1)
	w.Log("error", "load failed TypeError: Failed to fetch\n    at load (app.js:1:1)")
	w.Log("error", "Order 5: no such table")
	r := w.Changes(w.Agent(), params{})
	expect(t, len(r.Network.Failures) == 1 && len(r.Console.NewErrors) == 1, r)
}

// TestAFailureKeepsTheDetailOfItsOtherOccurrences: the page was left before the last answer was read.
func TestAFailureKeepsTheDetailOfItsOtherOccurrences(t *testing.T) {
	failed := func(w *enginetest.World, path, body string) {
		w.Pass(50 * time.Millisecond)
		w.Send("network", fmt.Sprintf(`"id":"f%d","method":"GET","url":%q,"resource":"fetch","status":429,"started":%d,"duration":5,"response_body":%q`,
			w.Now.UnixNano(), enginetest.Page+path, w.Now.UnixMilli(), body))
	}
	const body = `{"error":{"message":"too many requests for tenant 4"}}`
	for _, bodies := range [][]string{{body, body, ""}, {"", body, ""}, {"", body, body}} {
		w := enginetest.New(t, capture.Limits{})
		a, b := w.Agent(), w.Agent()
		w.Changes(a, params{})
		from := w.Store.View(w.Now).Now()
		for _, body := range bodies {
			failed(w, "/api/fails", body)
		}
		r := w.Changes(a, params{})
		if f := r.Network.Failures; len(f) != 1 || f[0].Count != 3 || f[0].Detail != "too many requests for tenant 4" {
			t.Errorf("%q: %s", bodies, show(r))
		}
		list := diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{})
		if len(list) != 1 || list[0].Count != 3 || list[0].Text != `GET /api/fails 429 "too many requests for tenant 4"` {
			t.Errorf("%q: %+v", bodies, list)
		}
		// Again, to a reader that knows it, and to one that compares with a checkpoint.
		if _, err := w.Call(b, "checkpoint_create", `{"name":"known"}`); err != nil {
			t.Fatal(err)
		}
		for _, body := range bodies {
			failed(w, "/api/fails", body)
		}
		if r = w.Changes(a, params{}); len(r.Network.Failures) != 0 || len(r.Repeated) != 1 || r.Repeated[0].Count != 3 || r.Repeated[0].Message != "GET /api/fails 429: too many requests for tenant 4" {
			t.Errorf("%q, again: %s", bodies, show(r))
		}
		if r = w.Changes(b, params{Checkpoint: "known"}); len(r.Network.KnownFailures) != 1 || r.Network.KnownFailures[0].Detail != "too many requests for tenant 4" {
			t.Errorf("%q, since a checkpoint: %s", bodies, show(r))
		}
	}
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	failed(w, "/api/fails?id=1", body)
	failed(w, "/api/fails?id=2", "") // another one, of which nothing is known
	if f := w.Changes(a, params{}).Network.Failures; len(f) != 2 || f[0].Detail != "too many requests for tenant 4" || f[1].Detail != "" {
		t.Errorf("%+v", f)
	}
}
