package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestWhatSaysTheSameIsMentioned with the failure, in reports and in what actions caused. What says more stays an entry.
func TestWhatSaysTheSameIsMentioned(t *testing.T) {
	log := func(via, text string, line int) func(*enginetest.World) {
		return func(w *enginetest.World) {
			w.Pass(time.Millisecond)
			w.Send("console", fmt.Sprintf(`"level":"error","via":%q,"text":%q,"url":%q,"line":%d`, via, text, enginetest.Page+"/api.js", line))
		}
	}
	element := func(text string) func(*enginetest.World) {
		return func(w *enginetest.World) { w.Element("appeared", 1, ".error", text) }
	}
	refused := func(w *enginetest.World) {
		w.Send("network", fmt.Sprintf(`"id":"p","method":"POST","url":"http://localhost:5173/api/pay","resource":"fetch","status":422,"started":%d,"duration":5,"response_body":%q`, w.Now.UnixMilli(), `{"message":"the card has expired"}`))
	}
	thrown := func(w *enginetest.World) {
		w.Send("network", fmt.Sprintf(`"id":"p","method":"POST","url":"http://localhost:5173/api/pay","resource":"fetch","status":500,"started":%d,"duration":5,"response_body":%q`, w.Now.UnixMilli(), `{"message":"no such card","stack":"Error: no such card\n    at pay (/app/server/pay.js:7:3)"}`))
	}
	noAnswer := func(w *enginetest.World) { w.Request("GET", "/api/x", 0, 1) }
	socket := func(w *enginetest.World) {
		w.Send("websocket", `"id":"w1","url":"ws://localhost:5173/live","op":"error","text":"refused","stack":["live (http://localhost:5173/live.js:4:1)"]`)
	}
	const event = "socket failed Event {isTrusted: true, type: 'error', target: WebSocket, currentTarget: WebSocket, eventPhase: 2, …}"
	const pay = `POST /api/pay 422 "the card has expired"`
	for _, c := range []struct {
		name  string
		steps []func(*enginetest.World)
		want  string
	}{
		{"the error logged", []func(*enginetest.World){refused, log("console", "Error: the card has expired\n    at pay", 12)}, pay + ", also logged at api.js:12"},
		{"logged after words", []func(*enginetest.World){refused, log("console", "Cannot pay: Error: the card has expired\n    at pay", 12)}, pay + `, also logged at api.js:12 ("Cannot pay")`},
		{"its message after words", []func(*enginetest.World){refused, log("console", "Cannot pay: the card has expired", 12)}, pay + `, also logged at api.js:12 ("Cannot pay")`},
		{"another message", []func(*enginetest.World){refused, log("console", "Cannot pay: the card was stolen", 12)}, pay + `; error: "Cannot pay: the card was stolen" (api.js:12)`},
		{"more than the message", []func(*enginetest.World){refused, log("console", "the card has expired: ask for another one", 12)}, pay + `; error: "the card has expired: ask for another one" (api.js:12)`},
		{"what the server's code threw", []func(*enginetest.World){thrown, log("console", "Error: no such card\n    at pay", 12), element("no such card")}, `POST /api/pay 500 "no such card (pay.js:7)", also logged at api.js:12, shown in .error`},
		{"thrown and shown", []func(*enginetest.World){refused, log("rejection", "_HttpError: the card has expired\n    at pay", 9), element("the card has expired")}, pay + ", also thrown at api.js:9, shown in .error"},
		{"shown with an icon", []func(*enginetest.World){refused, element("⚠ the card has expired")}, pay + ", also shown in .error"},
		{"shown with more", []func(*enginetest.World){refused, element("the card has expired. Call 555")}, pay + `; error element .error: "the card has expired. Call 555"`},
		{"no answer, logged after words", []func(*enginetest.World){noAnswer, log("console", "load failed TypeError: Failed to fetch\n    at x", 3)}, `GET /api/x net::ERR_CONNECTION_REFUSED, also logged at api.js:3 ("load failed")`},
		{"an exception, its message logged and shown", []func(*enginetest.World){log("console", "render failed", 17), log("exception", "Error: render failed\n    at x", 18), element("render failed")}, `error: "Error: render failed at x" (api.js:18), also logged at api.js:17, shown in .error`},
		{"an error that is shown", []func(*enginetest.World){log("console", "no stock", 17), element("no stock")}, `error: "no stock" (api.js:17), also shown in .error`},
		{"a connection, and its event logged", []func(*enginetest.World){socket, log("console", event, 13)}, `WebSocket /live: refused, also logged at api.js:13 ("socket failed")`},
		{"an event without its connection", []func(*enginetest.World){log("console", event, 13)}, `error: "` + event + `" (api.js:13)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			from := w.Store.View(w.Now).Now()
			for _, step := range c.steps {
				step(w)
				w.Pass(time.Millisecond)
			}
			var lines []string
			for _, one := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
				lines = append(lines, one.Line())
			}
			if got := strings.Join(lines, "; "); got != c.want {
				t.Errorf("an action caused %s\nwant %s", got, c.want)
			}
			entries := strings.Count(c.want, "; ") + 1
			_, also, _ := strings.Cut(strings.Split(c.want, "; ")[0], ", also ")
			r := w.Changes(a, params{})
			var got []string
			count := 0
			for _, m := range r.Console.NewErrors {
				got = append(got, m.Also)
				count++
			}
			for _, f := range r.Network.Failures {
				got = append(got, f.Also)
				count++
			}
			for _, e := range r.WebSocket.ErrorMessages {
				got = append(got, e.Also)
				count++
			}
			count += len(r.DOM.NewErrorElements)
			if strings.Join(got, "") != also || count != entries {
				t.Errorf("the report mentions %q: %s", got, show(r))
			}
			// What was mentioned was given.
			for _, step := range c.steps {
				step(w)
			}
			if r := w.Changes(a, params{}); len(r.Console.NewErrors)+len(r.Network.Failures)+len(r.WebSocket.ErrorMessages)+len(r.DOM.NewErrorElements) > 0 && !strings.Contains(c.want, ".error") {
				t.Errorf("again: %s", show(r))
			}
		})
	}
}

// TestAFailedBuildIsOneEntry with Vite 4, whose client shows an overlay, logs, and has a connection to the page's own address.
func TestAFailedBuildIsOneEntry(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	from := w.Store.View(w.Now).Now()
	w.Send("websocket", `"id":"v","url":"ws://localhost:5173/","op":"received","text":"{\"type\":\"error\",\"err\":{\"message\":\"Failed to parse source\",\"id\":\"/src/x.js\"}}"`)
	w.Element("appeared", 1, "vite-error-overlay", "Failed to parse source /src/x.js")
	w.Send("console", `"level":"error","via":"console","text":"[hmr] Failed to reload /src/x.js. This could be due to syntax errors or importing non-existent modules. (see errors above)","url":"http://localhost:5173/@vite/client","line":120`)
	if list := diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}); len(list) != 1 || !strings.HasPrefix(list[0].Text, "error element vite-error-overlay") {
		t.Errorf("%+v", list)
	}
	if r := w.Changes(a, params{}); r.Summary != "1 new error overlay(s)" {
		t.Error(show(r))
	}
}

// TestAConnectionThatIsRefusedAgainAndAgainIsOneStorm, with why and what logs it.
func TestAConnectionThatIsRefusedAgainAndAgainIsOneStorm(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	from := w.Store.View(w.Now).Now()
	for range 12 {
		w.Send("websocket", `"id":"w1","url":"ws://localhost:5173/live","op":"error","text":"refused","status":404`)
		w.Send("console", `"level":"error","via":"console","text":"Event {type: 'error', target: WebSocket}","url":"http://localhost:5173/live.js","line":13`)
		w.Pass(300 * time.Millisecond)
	}
	var lines []string
	for _, one := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
		lines = append(lines, one.Line())
	}
	if got := strings.Join(lines, "; "); got != "repeated without end: WebSocket /live ×12 in 3.3 s: refused (status 404), also logged at live.js:13" {
		t.Error(got)
	}
	r := w.Changes(a, params{})
	if len(r.Storms) != 1 || len(r.Console.NewErrors) != 0 || r.Storms[0].Error != "refused" || r.Storms[0].Status != 404 || r.Storms[0].Also != "logged at live.js:13" || r.Summary != "1 storm(s)" || r.Severity != report.Error {
		t.Error(show(r))
	}
}

// TestAPageThatBecameEmptyIsNewOnce to a client that an action told.
func TestAPageThatBecameEmptyIsNewOnce(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	from := w.Store.View(w.Now).Now()
	w.Log("error", "TypeError: no price")
	w.Send("element", `"op":"emptied","frame":0,"document":"d","id":0`)
	list := diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{})
	list = slices.DeleteFunc(list, func(c diff.Consequence) bool { return c.Text != "the page is empty" })
	if len(list) != 1 || len(list[0].Entries) != 1 {
		t.Fatalf("%+v", list)
	}
	a.Lock()
	a.GiveLocked(list[0].Entries, nil)
	a.Unlock()
	if r := w.Changes(a, params{}); r.Summary != "1 new console error(s); 1 repeated error" || r.Severity != report.Error || r.DOM.PageEmptySince == nil {
		t.Errorf("%s", show(r))
	}
}

// TestARequestIsOvertakenByOneOfAnEarlierAnswer when it ends after a later one that ended before the window.
func TestARequestIsOvertakenByOneOfAnEarlierAnswer(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	search := func(id, query string, started time.Time) {
		w.Send("network", fmt.Sprintf(`"id":%q,"method":"GET","url":"http://localhost:5173/api/search?q=%s","resource":"fetch","status":200,"started":%d,"duration":%d`,
			id, query, started.UnixMilli(), w.Now.Sub(started).Milliseconds()))
	}
	began := w.Now
	w.Pass(time.Second)
	search("b", "abc", began.Add(100*time.Millisecond))
	from := w.Store.View(w.Now).Now()
	w.Pass(5 * time.Second)
	search("a", "ab", began)
	search("c", "abcd", w.Now)
	var lines []string
	for _, one := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
		lines = append(lines, one.Line())
	}
	if got := strings.Join(lines, "; "); got != "GET /api/search?q=ab 200 (6000 ms, answered after a later one); GET /api/search?q=abcd 200" {
		t.Error(got)
	}
}
