package cause_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
)

// TestALineThatRanIsNotAtFault: a line fails that was changed, and something else was changed after it.
func TestALineThatRanIsNotAtFault(t *testing.T) {
	const before, click = 5000, 29_990
	other := edit("src/b.js", 20_000, at(1))
	for name, c := range map[string]struct {
		later   cause.Edit
		symptom cause.Symptom
		history cause.History
		want    string
	}{
		"the same click before": {other, cause.Symptom{}, cause.History{Inputs: []int64{before, click}}, cause.Ran},
		"another click before": {
			other,
			cause.Symptom{},
			cause.History{Inputs: []int64{before, click}, Did: map[int64]cause.Input{before: {"click", `button "a"`, "#a"}, click: {"click", `button "b"`, "#b"}}},
			"src/a.js:12 [stack]",
		},
		"no click before": {other, cause.Symptom{}, cause.History{Inputs: []int64{click}}, "src/a.js:12 [stack]"},
		"the same click before, which failed so": {
			other, cause.Symptom{Earlier: []int64{before + 10}}, cause.History{Inputs: []int64{before, click}}, "src/a.js:12 [stack]",
		},
		"the other change is in the same file": {edit("src/a.js", 20_000, at(10)), cause.Symptom{}, cause.History{Inputs: []int64{before, click}}, cause.Ran},
		"a style sheet":                        {edit("src/a.css", 20_000, at(1)), cause.Symptom{}, cause.History{Inputs: []int64{before, click}}, "src/a.js:12 [stack]"},
		"a text":                               {edit("README.md", 20_000, at(1)), cause.Symptom{}, cause.History{Inputs: []int64{before, click}}, "src/a.js:12 [stack]"},
		"the other change follows at once":     {edit("src/b.js", 1400, at(1)), cause.Symptom{}, cause.History{Inputs: []int64{click}}, cause.NoEvidence},
		"by itself, after the page had run for longer": {
			other, cause.Symptom{At: 25_050}, cause.History{}, cause.Ran,
		},
		"by itself, after the page had run for less": {other, cause.Symptom{At: 60_000}, cause.History{}, "src/a.js:12 [stack]"},
	} {
		if c.symptom.At == 0 {
			c.symptom.At = click + 10
		}
		c.symptom.Frames = frames("src/a.js", 12)
		f := cause.Finder{Edits: []cause.Edit{edit("src/a.js", 1000, at(12)), c.later}}
		c.history.Updates = []int64{1050, c.later.Edited + 50}
		if got := told(f.Find(c.symptom, &c.history)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func told(found *cause.Cause, why string) string {
	if found == nil {
		return why
	}
	return fmt.Sprintf("%s:%d %v", found.Path, found.Line, found.Evidence)
}

// TestAComponentThatWasDrawnIsNotAtFault: a page is loaded, a component is edited and drawn, and with the next load a request
// has another answer.
func TestAComponentThatWasDrawnIsNotAtFault(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		history func(h *cause.History)
		want    string
	}{
		"a component":                      {"src/Header.jsx", nil, cause.Ran},
		"a module that is only imported":   {"src/header.js", nil, "src/header.js:1 [hot_update order]"},
		"a component that was not drawn":   {"src/Header.jsx", func(h *cause.History) { h.Modules = nil }, "src/Header.jsx:1 [order]"},
		"an error as it was drawn":         {"src/Header.jsx", func(h *cause.History) { h.Errors = []int64{2060} }, "src/Header.jsx:1 [hot_update order]"},
		"an error before the answer":       {"src/Header.jsx", func(h *cause.History) { h.Answers = h.Answers[:1] }, "src/Header.jsx:1 [hot_update order]"},
		"an answer that it had not before": {"src/Header.jsx", func(h *cause.History) { h.Answers = h.Answers[1:] }, "src/Header.jsx:1 [hot_update order]"},
	} {
		api := event.EndpointKey{Path: "/api/cart"}
		h := cause.History{
			Updates: []int64{1000, 2050, 4000}, Loads: []int64{1000, 4000}, Modules: []cause.Module{{At: 2050, File: "/" + c.path}},
			Answers: []cause.Answer{{Span: cause.Span{Began: 1100, Ended: 1110}, Endpoint: api}, {Span: cause.Span{Began: 4100, Ended: 4110}, Endpoint: api}},
		}
		if c.history != nil {
			c.history(&h)
		}
		changed := edit(c.path, 2000, at(1))
		changed.Tail = c.path
		f := cause.Finder{Edits: []cause.Edit{changed}}
		if got := told(f.Find(cause.Symptom{At: 4120, Frames: frames("/src/Cart.jsx", 16)}, &h)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestAServersAnswerIsBlamedOnWhatItMayFollowFrom: a page is loaded, a file is changed, and later a request fails.
func TestAServersAnswerIsBlamedOnWhatItMayFollowFrom(t *testing.T) {
	const code = "TypeError: Cannot read properties of undefined (reading 'gross')"
	for _, c := range []struct {
		paths    []string
		resource string
		status   int
		detail   string
		click    bool
		want     string
	}{
		{[]string{"views/list.ejs"}, "document", 500, "ReferenceError: itemz is not defined", false, "views/list.ejs:1 [order]"},
		{[]string{"views/list.ejs"}, "document", 500, "Error: connect ECONNREFUSED db:5432", false, cause.Outside},
		{[]string{"views/list.ejs"}, "document", 500, "Error: disk full", false, cause.Outside},
		{[]string{"views/list.ejs"}, "document", 500, "Error: getaddrinfo ENOTFOUND db", false, cause.Outside},
		{[]string{"views/list.ejs"}, "document", 500, "Error: Connection terminated due to connection timeout", false, cause.Outside},
		{[]string{"notes.md"}, "document", 500, "Error: no rows", false, cause.NoEvidence},
		{[]string{"public/style.css"}, "document", 500, "Error: no rows", false, cause.NoEvidence},
		{[]string{"public/style.css"}, "stylesheet", 500, "Error: no rows", false, "public/style.css:1 [order]"},
		{[]string{"lib/store.js"}, "fetch", 500, code, true, "lib/store.js:1 [order]"},
		{[]string{"lib/store.js", "notes.md", "public/style.css"}, "fetch", 500, code, true, "lib/store.js:1 [order]"},
		{[]string{"lib/store.js", "lib/cart.js"}, "fetch", 500, code, true, cause.NoEvidence},
		{[]string{"public/cart.js"}, "fetch", 500, code, true, cause.NoEvidence},
		{[]string{"lib/store.js"}, "fetch", 500, "", true, cause.Outage},
		{[]string{"lib/store.js"}, "fetch", 502, "Bad Gateway", true, cause.Outage},
		{[]string{"lib/store.js"}, "fetch", 500, "AggregateError [ECONNREFUSED]: TypeError", true, cause.Outage},
	} {
		rules := noise.Default()
		s := capture.New(capture.DefaultLimits(), rules, time.UnixMilli(0))
		in := func(at int64) event.Head {
			return event.Head{At: at, Subject: event.InTab(1, "http://localhost:3000")}
		}
		failed := &event.Network{Head: in(40_020), Method: "GET", URL: "http://localhost:3000/api/total", Resource: c.resource, Status: c.status, Detail: c.detail, Started: 40_010}
		events := []event.Event{
			&capture.Change{Head: in(1000), Op: "navigated", How: "load", URL: "http://localhost:3000/"},
			&event.Network{Head: in(1110), Method: "GET", URL: failed.URL, Resource: c.resource, Status: 200, Started: 1100},
			&capture.Change{Head: in(38_000), Op: "navigated", How: "load", URL: "http://localhost:3000/"},
		}
		if c.click {
			events = append(events, &event.Action{Head: in(40_000), Type: "click", Selector: "#total"})
		}
		if err := capture.NewSink(s, capture.Browsers, time.Now).Append(t.Context(), append(events, failed)...); err != nil {
			t.Fatal(err)
		}
		for i, path := range c.paths {
			if err := capture.NewSink(s, capture.Workspaces, time.Now).Append(t.Context(), edit(path, 10_000+int64(i)*10, at(1)).FileChange); err != nil {
				t.Fatal(err)
			}
		}
		past := cause.Read(s.View(time.UnixMilli(50_000)), capture.Positions{}, func(event.Subject) bool { return true }, rules.Update)
		if got := told(past.Of(cause.OfRequest(failed, nil))); got != c.want {
			t.Errorf("%v, %s %d %q: %s, want %s", c.paths, c.resource, c.status, c.detail, got, c.want)
		}
	}
}
