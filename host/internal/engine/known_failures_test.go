package engine_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
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
	at := diff.Time{Time: w.Now.Add(-time.Millisecond)}.String()
	for _, n := range []int{1, 2} {
		failAgain(w, "/api/order", "no such table")
		r = w.Changes(a, params{})
		expect(t, r.Severity == diff.Error && r.Errors == 1 && r.Summary == "no new problems; 1 repeated error" && repeated(r) == "[{GET /api/order 500: no such table 1}]", r)
		expect(t, r.Repeated[0].Initiator == "api.ts:4" && len(r.Console.NewErrors) == 0, r)
		for _, from := range []string{"broken", at} {
			r = w.Changes(a, params{Checkpoint: from})
			expect(t, r.Severity == diff.Warning && r.Summary == "no new problems; 1 endpoint still fails" && r.Network.StillFailing == 1, r)
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
	expect(t, r.Severity == diff.Warning && r.Summary == "no new problems; 1 endpoint failed again and recovered" && len(r.Network.Recovered) == 1, r)
	expect(t, len(r.Network.KnownFailures) == 1 && r.Network.KnownFailures[0].NowStatus == 200 && r.Network.StillFailing == 0, r)
	r = w.Changes(a, params{})
	expect(t, r.Severity == diff.Error && repeated(r) == "[{GET /a 500 1}]" && len(r.Network.Recovered) == 1, r)
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
