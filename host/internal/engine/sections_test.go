package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// everything puts an entry into every list of every section after the agent's first look.
func everything(t *testing.T, p params) *report.Report {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	requests(w, "GET /slow 200 10", "GET /slow 200 10", "GET /slow 200 10", "GET /was/bad 500 1")
	w.Element("appeared", 1, ".error", "before")
	w.Changes(a, params{})
	w.Log("error", "e")
	w.Log("warning", "w")
	requests(w, "GET /bad 500 1", "GET /slow 200 900", "GET /was/bad 200 1", "GET /new 200 1")
	w.Socket("open", "")
	w.Socket("received", `{"error":"no"}`)
	w.Socket("close", "")
	w.Element("gone", 1, "", "")
	w.Element("appeared", 2, ".error", "now")
	w.Send("navigation", `"how":"history","url":"http://localhost:5173/cart"`)
	w.Send("navigation", `"how":"crash","url":"http://localhost:5173/cart"`)
	r := w.Changes(a, p)
	if again := w.Changes(a, params{}); !again.Empty() {
		t.Errorf("the filter kept the checkpoint back: %s", show(again))
	}
	return r
}

// lists names the lists of a report that have entries, and its sections.
func lists(r *report.Report) string {
	var names []string
	add := func(name string, n int) {
		if n > 0 {
			names = append(names, name)
		}
	}
	add("errors", len(r.Console.NewErrors))
	add("warnings", len(r.Console.NewWarnings))
	add("failures", len(r.Network.Failures))
	add("degraded", len(r.Network.Degraded))
	add("recovered", len(r.Network.Recovered))
	add("endpoints", len(r.Network.NewEndpoints))
	add("disconnections", len(r.WebSocket.Disconnections))
	add("messages", len(r.WebSocket.ErrorMessages))
	add("connections", len(r.WebSocket.NewConnections))
	add("crashed", len(r.DOM.Crashed))
	add("elements", len(r.DOM.NewErrorElements))
	add("disappeared", len(r.DOM.DisappearedElements))
	if r.DOM.URLChanged != nil {
		names = append(names, "url")
	}
	add("actions", len(r.Actions.NewActions))
	return strings.Join(names, " ")
}

func TestASeverityHidesListsAndCountsThemAndNothingElse(t *testing.T) {
	const summary = "1 new console error(s), 1 new console warning(s), 1 network failure(s), 1 degraded endpoint(s), 1 disconnection(s), 1 WebSocket error(s), 1 crashed page(s), 1 new error element(s)"
	for _, c := range []struct {
		severity, lists string
		hidden          int
	}{
		{"all", "errors warnings failures degraded recovered endpoints disconnections messages connections crashed elements disappeared url actions", 0},
		{"warnings", "errors warnings failures degraded disconnections messages crashed elements url", 5},
		{"errors_only", "errors failures crashed url", 10},
	} {
		r := everything(t, params{Severity: c.severity})
		if got := lists(r); got != c.lists || r.SeverityHidden != c.hidden {
			t.Errorf("%s: %s, %d hidden; want %s, %d", c.severity, got, r.SeverityHidden, c.lists, c.hidden)
		}
		if r.Severity != report.Error || r.Summary != summary {
			t.Errorf("%s: %s, %s", c.severity, r.Severity, r.Summary)
		}
		if r.Console.TotalNewEntries != 2 || r.Network.TotalNewRequests != 4 || r.WebSocket.TotalNewMessages != 1 || r.WebSocket.TotalNewEvents != 3 || r.Actions.TotalNewActions != 1 {
			t.Errorf("%s: the totals changed: %s", c.severity, show(r))
		}
	}
}

func TestSeverityAndSummarySpeakOfTheSectionsThatWereAskedForOnly(t *testing.T) {
	for include, want := range map[string]string{
		"console":   "error: 1 new console error(s), 1 new console warning(s)",
		"network":   "error: 1 network failure(s), 1 degraded endpoint(s)",
		"websocket": "warning: 1 disconnection(s), 1 WebSocket error(s)",
		"dom":       "error: 1 crashed page(s), 1 new error element(s)",
		"actions":   "clean: No significant changes",
	} {
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		requests(w, "GET /slow 200 10", "GET /slow 200 10", "GET /slow 200 10")
		w.Changes(a, params{})
		w.Log("error", "e")
		w.Log("warning", "w")
		requests(w, "GET /bad 500 1", "GET /slow 200 900")
		w.Socket("received", `{"error":"no"}`)
		w.Socket("close", "")
		w.Element("appeared", 2, ".error", "now")
		w.Send("navigation", `"how":"crash","url":"http://localhost:5173/"`)
		r := w.Changes(a, params{Include: []string{include, include}})
		if got := fmt.Sprintf("%s: %s", r.Severity, r.Summary); got != want {
			t.Errorf("%s: %q, want %q", include, got, want)
		}
	}
}

func TestSectionsThatWereNotAskedForWaitForTheirTurn(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Pass(time.Second)
	requests(w, "GET /a 200 1")
	w.Log("error", "one")
	w.Changes(a, params{Include: []string{"console"}})
	w.Pass(time.Second)
	requests(w, "GET /a 500 1")
	w.Log("error", "two")
	r := w.Changes(a, params{Include: []string{"network"}})
	is(t, r.Network, `{"failures":[{"method":"GET","url":"/a","status":500,"previous_status":200}],"total_new_requests":2}`)
	if r.DurationMs != 2000 || r.Checkpoint != "auto_3" {
		t.Errorf("%s", show(r))
	}
	r = w.Changes(a, params{Include: []string{"console", "network"}})
	if r.DurationMs != 1000 || messages(r.Console.NewErrors) != "two×1" || r.Network.TotalNewRequests != 0 {
		t.Errorf("%s", show(r))
	}
}

func TestOnesOwnCheckpointCanBeNamedWithoutAdvancing(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a, b := w.Agent(), w.Agent()
	w.Changes(a, params{})
	w.Log("error", "e")
	for range 2 {
		if r := w.Changes(a, params{Checkpoint: "auto_1"}); r.Checkpoint != "auto_1" || r.Console.TotalNewEntries != 1 {
			t.Errorf("%s", show(r))
		}
	}
	if _, err := w.Call(b, "get_changes_since", `{"checkpoint":"auto_1"}`); err == nil {
		t.Error("another client's checkpoint was found")
	}
}

func TestSockets(t *testing.T) {
	step := func(w *enginetest.World, id, path, op, more string) {
		w.Send("websocket", fmt.Sprintf(`"id":%q,"url":"ws://localhost:5173%s","op":%q%s`, id, path, op, more))
	}
	for _, c := range []struct {
		name   string
		happen func(*enginetest.World)
		want   string
	}{
		{"frames are counted, not listed", func(w *enginetest.World) {
			step(w, "1", "/live", "open", "")
			step(w, "1", "/live", "sent", `,"text":"hi"`)
			step(w, "1", "/live", "received", `,"text":"{\"ok\":true}"`)
			step(w, "1", "/live", "received", `,"binary":true,"size":900`)
		}, `{"new_connections":[{"url":"/live"}],"total_new_messages":3,"total_new_events":4}`},
		{"a clean close is a disconnection too", func(w *enginetest.World) {
			step(w, "1", "/live", "close", `,"code":1000,"reason":"bye"`)
			step(w, "2", "/live", "close", `,"code":1006`)
			step(w, "3", "/live", "close", `,"code":1006`)
		}, `{"disconnections":[{"url":"/live","code":1006,"count":2},{"url":"/live","code":1000,"reason":"bye"}],"total_new_events":3}`},
		{"frames that say error are one entry when they say the same", func(w *enginetest.World) {
			step(w, "1", "/live", "received", `,"text":"{\"type\":\"error\",\"id\":1234}"`)
			step(w, "1", "/live", "received", `,"text":"{\"type\":\"error\",\"id\":5678}"`)
			step(w, "1", "/live", "received", `,"text":"{\"error\":null}"`)
		}, `{"error_messages":[{"url":"/live","message":"{\"type\":\"error\",\"id\":1234}","count":2}],"total_new_messages":3,"total_new_events":3}`},
		{"a connection that never opened is an error and no disconnection", func(w *enginetest.World) {
			step(w, "1", "/live", "error", `,"text":"the connection could not be established"`)
			step(w, "1", "/live", "close", "")
		}, `{"error_messages":[{"url":"/live","message":"the connection could not be established"}],"total_new_events":2}`},
		{"one that broke after it opened is both", func(w *enginetest.World) {
			step(w, "1", "/live", "open", "")
			step(w, "1", "/live", "error", "")
			step(w, "1", "/live", "close", "")
		}, `{"disconnections":[{"url":"/live"}],"error_messages":[{"url":"/live","message":"the connection failed"}],"new_connections":[{"url":"/live"}],"total_new_events":3}`},
		{"one whose page was left is no news", func(w *enginetest.World) {
			step(w, "1", "/live", "close", `,"leaving":true`)
		}, `{"total_new_events":1}`},
		{"a development server's are noise", func(w *enginetest.World) {
			step(w, "1", "/?token=abcdefghijkl", "open", "")
			step(w, "1", "/?token=abcdefghijkl", "close", "")
			step(w, "2", "/_next/webpack-hmr", "close", "")
		}, `{"total_new_events":3}`},
		{"another host's are shown whole", func(w *enginetest.World) {
			w.Send("websocket", `"id":"1","url":"wss://push.test/feed?key=1","op":"open"`)
		}, `{"new_connections":[{"url":"wss://push.test/feed"}],"total_new_events":1}`},
	} {
		w := enginetest.New(t, capture.Limits{})
		c.happen(w)
		r := w.Changes(w.Agent(), params{})
		t.Run(c.name, func(t *testing.T) { is(t, r.WebSocket, c.want) })
	}
}

func TestErrorElements(t *testing.T) {
	reload := func(w *enginetest.World, document string) {
		w.Send("element", fmt.Sprintf(`"op":"reset","frame":0,"document":%q,"id":0`, document))
		w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`)
	}
	for _, c := range []struct {
		name          string
		before, since func(*enginetest.World)
		want          string
		severity      report.Severity
	}{
		{"one that is still there is no news", func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
		}, func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
		}, `{}`, report.Clean},
		{"another of the same kind is", func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
		}, func(w *enginetest.World) {
			w.Element("appeared", 2, ".error", "a")
		}, `{"new_error_elements":[{"selector":".error","text":"a","appeared_at":"2026-01-23T10:31:00.000Z"}]}`, report.Warning},
		{"of two alike one may go", func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
			w.Element("appeared", 2, ".error", "a")
		}, func(w *enginetest.World) {
			w.Element("gone", 1, "", "")
		}, `{}`, report.Clean},
		{"when both have gone it disappeared", func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
			w.Element("appeared", 2, ".error", "a")
		}, func(w *enginetest.World) {
			w.Element("gone", 1, "", "")
			w.Element("gone", 2, "", "")
		}, `{"disappeared_elements":[{"selector":".error","text":"a"}]}`, report.Clean},
		{"one that is replaced by its like is no news", func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
		}, func(w *enginetest.World) {
			w.Element("gone", 1, "", "")
			w.Element("appeared", 9, ".error", "a")
		}, `{}`, report.Clean},
		{"one that flickers appeared once", nil, func(w *enginetest.World) {
			for range 3 {
				w.Element("appeared", 1, ".toast", "a")
				w.Pass(time.Second)
				w.Element("gone", 1, "", "")
			}
		}, `{"new_error_elements":[{"selector":".toast","text":"a","appeared_at":"2026-01-23T10:31:00.000Z","gone_at":"2026-01-23T10:31:03.000Z"}]}`, report.Warning},
		{"one whose text changes is another", func(w *enginetest.World) {
			w.Element("appeared", 1, "[role=alert]", "Saving failed")
		}, func(w *enginetest.World) {
			w.Element("changed", 1, "[role=alert]", "Saving failed twice")
		}, `{"new_error_elements":[{"selector":"[role=alert]","text":"Saving failed twice","appeared_at":"2026-01-23T10:31:00.000Z"}],"disappeared_elements":[{"selector":"[role=alert]","text":"Saving failed"}]}`, report.Warning},
		{"one that a reload brings back is no news", func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
		}, func(w *enginetest.World) {
			reload(w, "d2")
			w.Send("element", `"op":"appeared","frame":0,"document":"d2","id":1,"selector":".error","text":"a"`)
		}, `{}`, report.Clean},
		{"one that a reload takes away disappeared", func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
		}, func(w *enginetest.World) { reload(w, "d2") }, `{"disappeared_elements":[{"selector":".error","text":"a"}]}`, report.Clean},
		{"what the new document has when the old one goes is kept", nil, func(w *enginetest.World) {
			w.Send("element", `"op":"appeared","frame":0,"document":"d2","id":1,"selector":".error","text":"a"`)
			reload(w, "d2")
		}, `{"new_error_elements":[{"selector":".error","text":"a","appeared_at":"2026-01-23T10:31:00.000Z"}]}`, report.Warning},
		{"a frame's reset leaves the other frames alone", func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
		}, func(w *enginetest.World) {
			w.Send("element", `"op":"reset","frame":4,"document":"f2","id":0`)
		}, `{}`, report.Clean},
		{"a tab that is closed mends nothing", func(w *enginetest.World) {
			w.Element("appeared", 1, ".error", "a")
		}, func(w *enginetest.World) { w.CloseTab(7) }, `{}`, report.Clean},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			if c.before != nil {
				c.before(w)
			}
			w.Changes(a, params{})
			w.Pass(time.Minute)
			c.since(w)
			r := w.Changes(a, params{})
			is(t, r.DOM, c.want)
			if r.Severity != c.severity {
				t.Errorf("severity %s, want %s", r.Severity, c.severity)
			}
		})
	}
}

func TestTheLastChangeOfAddressIsReported(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, "http://localhost:3000/")
	a := w.Agent()
	w.Changes(a, params{})
	at := func(tab int, how, url string) {
		w.Send("navigation", fmt.Sprintf(`"tab":%d,"how":%q,"url":%q`, tab, how, url))
	}
	at(8, "history", "http://localhost:3000/users")
	at(7, "history", "http://localhost:5173/cart")
	at(8, "hash", "http://localhost:3000/users#top")
	is(t, w.Changes(a, params{}).DOM.URLChanged, `{"from":"http://localhost:3000/","to":"http://localhost:3000/users#top","tab":2}`)
	is(t, w.Changes(a, params{Tab: 1, Checkpoint: "2026-01-23T10:29:00Z"}).DOM.URLChanged, `null`) // its earlier address is unknown
	at(8, "load", "http://localhost:3000/")
	at(8, "history", "http://localhost:3000/users#top")
	is(t, w.Changes(a, params{}).DOM.URLChanged, `null`)
}

func TestACrashIsReported(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Send("request", `"id":"r","method":"GET","url":"http://localhost:5173/x","resource":"fetch"`)
	w.Send("navigation", `"how":"crash","url":"http://localhost:5173/"`)
	r := w.Changes(w.Agent(), params{})
	is(t, r.DOM, `{"crashed":[{"url":"http://localhost:5173/","at":"2026-01-23T10:30:00.000Z"}]}`)
	if r.Severity != report.Error || r.Summary != "1 crashed page(s)" || len(w.Store.View(w.Now).Flights) != 0 {
		t.Errorf("%s", show(r))
	}
}
