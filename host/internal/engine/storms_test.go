package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/storms"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// often does something at an interval, for a while.
func often(w *enginetest.World, every, span time.Duration, do func(i int)) {
	for i := range int(span / every) {
		do(i)
		w.Pass(every)
	}
}

// stack is the stack of a request as JSON.
const stack = `"stack":["load (http://localhost:5173/src/cart.js:31:5)","(anonymous) (http://localhost:5173/src/main.js:2:1)"]`

// fetch sends a request with a body, and who made it.
func fetch(w *enginetest.World, method, path, body string, status int) {
	w.Send("network", fmt.Sprintf(`"id":"f%d","method":%q,"url":%q,"resource":"fetch","status":%d,"started":%d,"duration":5,"request_body":%q,%s`,
		w.Now.UnixNano(), method, enginetest.Page+path, status, w.Now.UnixMilli(), body, stack))
}

// TestStorms lists what repeats, and the storms that a report has.
func TestStorms(t *testing.T) {
	socket := func(w *enginetest.World, op, more string) {
		w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":"ws://localhost:5173/live?token=%d","op":%q%s`, w.Now.UnixNano(), w.Now.UnixNano(), op, more))
	}
	for _, c := range []struct {
		name   string
		happen func(w *enginetest.World)
		want   string
		wrong  []string // what else the report must not have
	}{
		{
			"a loop of requests", func(w *enginetest.World) {
				often(w, 190*time.Millisecond, 95*time.Second, func(int) { fetch(w, "GET", "/notifications", "", 200) })
			},
			"GET /notifications ×500 in 94.8 s from cart.js:31, called at main.js:2",
			[]string{"new_endpoints"},
		},
		{
			"one with a time stamp in its address", func(w *enginetest.World) {
				often(w, 100*time.Millisecond, 5*time.Second, func(i int) { fetch(w, "GET", fmt.Sprint("/feed?_=", 1769164200000+i), "", 200) })
			},
			"GET /feed ×50 in 4.9 s from cart.js:31, called at main.js:2", nil,
		},
		{
			"a loop of a GraphQL query", func(w *enginetest.World) {
				often(w, 100*time.Millisecond, 5*time.Second, func(int) {
					fetch(w, "POST", "/graphql", `{"operationName":"Me","query":"query Me { me { id } }"}`, 200)
				})
			},
			"POST /graphql Me ×50 in 4.9 s from cart.js:31, called at main.js:2", nil,
		},
		{
			"a loop that fails", func(w *enginetest.World) {
				often(w, 200*time.Millisecond, 6*time.Second, func(int) { fetch(w, "POST", "/api/cart", "{}", 500) })
			},
			"POST /api/cart ×30 in 5.8 s from cart.js:31, called at main.js:2", nil,
		},
		{
			"pages without end", func(w *enginetest.World) {
				often(w, 200*time.Millisecond, 30*time.Second, func(i int) { fetch(w, "GET", fmt.Sprint("/items?page=", i), "", 200) })
			},
			"GET /items ×150 in 29.8 s from cart.js:31, called at main.js:2", nil,
		},
		{
			"pages without end, fast", func(w *enginetest.World) {
				often(w, 30*time.Millisecond, 11*time.Second, func(i int) { fetch(w, "GET", fmt.Sprint("/items?after=", i), "", 200) })
			},
			"GET /items ×366 in 10.9 s from cart.js:31, called at main.js:2", nil,
		},
		{
			"pages at a steady rhythm", func(w *enginetest.World) {
				often(w, 60*time.Millisecond, 6*time.Second, func(i int) { fetch(w, "GET", fmt.Sprint("/api/items?id=", i), "", 200) })
			},
			"GET /api/items ×100 in 5.9 s from cart.js:31, called at main.js:2", nil,
		},
		{
			"items at a steady rhythm", func(w *enginetest.World) {
				often(w, 100*time.Millisecond, 9*time.Second, func(i int) { fetch(w, "GET", fmt.Sprint("/api/json2/", i), "", 200) })
			},
			"GET /api/json2/{id} ×90 in 8.9 s from cart.js:31, called at main.js:2",
			[]string{"new_endpoints"},
		},
		{
			"a page that reloads itself", func(w *enginetest.World) {
				often(w, 200*time.Millisecond, 4*time.Second, func(int) {
					w.Send("network", fmt.Sprintf(`"id":"d%d","method":"GET","url":"%s/","resource":"document","status":200,"started":%d,"duration":5`, w.Now.UnixNano(), enginetest.Page, w.Now.UnixMilli()))
					w.Send("navigation", `"how":"reload","url":"`+enginetest.Page+`/"`)
				})
			},
			"GET / ×20 in 3.8 s", nil,
		},
		{
			"requests that are given up each time", func(w *enginetest.World) {
				often(w, 150*time.Millisecond, 4*time.Second, func(int) {
					w.Send("network", fmt.Sprintf(`"id":"c%d","method":"GET","url":"%s/api/a","resource":"fetch","status":0,"canceled":true,"started":%d,"duration":1`, w.Now.UnixNano(), enginetest.Page, w.Now.UnixMilli()))
				})
			},
			"GET /api/a ×26 in 3.8 s", nil,
		},
		{
			"a socket that is refused and tries again", func(w *enginetest.World) {
				often(w, time.Second, 20*time.Second, func(int) {
					socket(w, "error", `,"text":"refused","status":403,`+stack)
					socket(w, "close", "")
				})
			},
			"WebSocket /live ×20 in 19.0 s from cart.js:31: refused",
			[]string{"disconnections", "error_messages"},
		},
		{
			"one that is closed and tries again", func(w *enginetest.World) {
				often(w, 300*time.Millisecond, 6*time.Second, func(int) {
					socket(w, "open", ","+stack)
					socket(w, "close", `,"code":1008,"reason":"session expired",`+stack)
				})
			},
			"WebSocket /live ×20 in 5.7 s from cart.js:31",
			[]string{"new_connections"},
		},
		{
			"a warning with each rendering", func(w *enginetest.World) {
				often(w, 100*time.Millisecond, 5*time.Second, func(i int) { w.Log("warning", fmt.Sprint("rendered Cart, time ", i)) })
			},
			`console warning: "rendered Cart, time 49" ×50 in 4.9 s from app.js:42`,
			[]string{"new_warnings"},
		},
		{
			"a flood of logs", func(w *enginetest.World) {
				often(w, 16*time.Millisecond, 8*time.Second, func(i int) { w.Log("log", fmt.Sprint("frame ", i)) })
			},
			`console log: "frame 499" ×500 in 8.0 s from app.js:42`, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			c.happen(w)
			r := w.Changes(a, params{})
			var got []string
			for _, s := range r.Storms {
				got = append(got, s.Line())
			}
			if strings.Join(got, "; ") != c.want || r.Severity == report.Clean || !strings.Contains(r.Summary, "1 storm(s)") || r.PageText != report.Untrusted {
				t.Errorf("%q, %s: %s", got, r.Severity, r.Summary)
			}
			for _, list := range c.wrong {
				if strings.Contains(show(r), list) {
					t.Errorf("%s in %s", list, show(r))
				}
			}
			w.Pass(time.Minute)
			if later := w.Changes(a, params{}); later.Severity != report.Clean || len(later.Storms) != 0 {
				t.Errorf("a minute later: %s", show(later))
			}
		})
	}
}

// TestAStormIsOfTheCodeThatMadeIt: what other code asks for afterwards is none of it.
func TestAStormIsOfTheCodeThatMadeIt(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	often(w, 100*time.Millisecond, 10*time.Second, func(int) { fetch(w, "GET", "/api/me", "", 200) })
	w.Pass(3 * time.Minute)
	w.Send("network", fmt.Sprintf(`"id":"late","method":"GET","url":"%s/api/me","resource":"fetch","status":200,"started":%d,"duration":5,"stack":["other (http://localhost:5173/src/menu.js:7:5)"]`,
		enginetest.Page, w.Now.UnixMilli()))
	r := w.Changes(w.Agent(), params{Checkpoint: checkpoint.Buffers})
	if len(r.Storms) != 1 || r.Storms[0].Line() != "GET /api/me ×100 in 9.9 s from cart.js:31, called at main.js:2" {
		t.Error(show(r))
	}
}

func TestWhatIsNoStorm(t *testing.T) {
	for name, happen := range map[string]func(w *enginetest.World){
		"polling each second": func(w *enginetest.World) {
			often(w, time.Second, 5*time.Minute, func(int) { fetch(w, "GET", "/api/state", "", 200) })
		},
		"polling four times a second": func(w *enginetest.World) {
			often(w, 250*time.Millisecond, time.Minute, func(int) { fetch(w, "GET", "/api/state", "", 200) })
		},
		"typing into a search": func(w *enginetest.World) {
			often(w, 120*time.Millisecond, 4*time.Second, func(i int) { fetch(w, "GET", "/search?q="+strings.Repeat("a", i+1), "", 200) })
		},
		"saving a draft with each key": func(w *enginetest.World) {
			often(w, 120*time.Millisecond, 9*time.Second, func(i int) { fetch(w, "PUT", "/draft", `{"text":"`+strings.Repeat("a", i+1)+`"}`, 200) })
		},
		"a list whose rows load one by one": func(w *enginetest.World) {
			often(w, 20*time.Millisecond, 4*time.Second, func(i int) { fetch(w, "GET", fmt.Sprint("/api/items/", i), "", 200) })
		},
		"a long list whose rows load one by one": func(w *enginetest.World) {
			often(w, 20*time.Millisecond, 9*time.Second, func(i int) { fetch(w, "GET", fmt.Sprint("/api/items/", i), "", 200) })
		},
		"many parts of a page that ask for the same at its start": func(w *enginetest.World) {
			often(w, 30*time.Millisecond, time.Second, func(int) { fetch(w, "GET", "/api/me", "", 200) })
		},
		"a GraphQL page that starts": func(w *enginetest.World) {
			often(w, 50*time.Millisecond, 3*time.Second, func(i int) {
				fetch(w, "POST", "/graphql", fmt.Sprintf(`{"operationName":"Item","query":"query Item { item }","variables":{"id":%d}}`, i), 200)
			})
		},
		"the picture of a camera": func(w *enginetest.World) {
			often(w, 100*time.Millisecond, 20*time.Second, func(i int) { w.Request("GET", fmt.Sprint("/camera.jpg?t=", 1000+i), 200, 5) })
		},
		"a socket that backs off": func(w *enginetest.World) {
			for wait := 200 * time.Millisecond; wait < 40*time.Second; wait *= 2 {
				w.Socket("error", "refused")
				w.Pass(wait)
			}
		},
		"frames of a socket": func(w *enginetest.World) {
			often(w, 20*time.Millisecond, 10*time.Second, func(int) { w.Socket("received", `{"price":1}`) })
		},
		"an error each second": func(w *enginetest.World) {
			often(w, time.Second, time.Minute, func(int) { w.Log("error", "no connection") })
		},
		"a thousand lines at once": func(w *enginetest.World) {
			often(w, time.Millisecond, time.Second, func(i int) { w.Log("log", fmt.Sprint("row ", i)) })
			w.Log("warning", "many rows")
		},
		"different warnings of one line": func(w *enginetest.World) {
			often(w, 100*time.Millisecond, 5*time.Second, func(i int) { w.Log("warning", "no key for "+letters(i)) })
		},
		"a development server that is asked whether it is back": func(w *enginetest.World) {
			often(w, 100*time.Millisecond, 10*time.Second, func(int) { w.Request("GET", "/__vite_ping", 200, 5) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			happen(w)
			if r := w.Changes(a, params{}); len(r.Storms) != 0 || strings.Contains(r.Summary, "storm") {
				t.Errorf("%+v: %s", r.Storms, r.Summary)
			}
		})
	}
}

func TestAStormIsReportedInEachWindowWhileItGoesOn(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	reported := 0
	for range 12 {
		often(w, 200*time.Millisecond, time.Second, func(int) { fetch(w, "GET", "/api/a", "", 200) })
		r := w.Changes(a, params{})
		if len(r.Storms) == 1 {
			reported += r.Storms[0].Count
			if r.Severity != report.Warning || reported > 5 && r.Storms[0].Count != 5 {
				t.Errorf("%s", show(r))
			}
		}
	}
	// The first looks are too early to tell.
	if reported < 50 {
		t.Errorf("%d requests are reported as a storm", reported)
	}
}

func TestWhatAPageLogsEachTimeItLoadsIsNoFlood(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for range 12 {
		w.Send("navigation", fmt.Sprintf(`"how":"reload","url":%q`, enginetest.Page+"/"))
		for i := range 40 {
			w.Log("log", fmt.Sprint("[render] row ", i))
			w.Pass(time.Millisecond)
		}
		w.Pass(260 * time.Millisecond)
	}
	if r := w.Changes(w.Agent(), params{Checkpoint: checkpoint.Buffers}); len(r.Storms) != 0 || r.Severity != report.Clean {
		t.Errorf("%s", show(r))
	}
}

// TestAFloodOfLogsIsOneOfItsPage: what the same line of code logged before a reload does not count.
func TestAFloodOfLogsIsOneOfItsPage(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for range 2 {
		w.Send("navigation", fmt.Sprintf(`"how":"reload","url":%q`, enginetest.Page+"/"))
		w.Pass(100 * time.Millisecond)
		often(w, 25*time.Millisecond, 4*time.Second, func(i int) { w.Log("log", fmt.Sprint("[render] row ", i)) })
	}
	r := w.Changes(w.Agent(), params{Checkpoint: checkpoint.Buffers})
	expect(t, len(r.Storms) == 1 && r.Storms[0].Count == 160 && r.Storms[0].SpanMs < 4000, r)
}

func TestMessagesOfAStormAreRepeatedOnceItWasReported(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	flood := func(from, n int) {
		for i := range n {
			w.Log("error", fmt.Sprint("Render loop ", from+i))
			w.Pass(10 * time.Millisecond)
		}
	}
	flood(0, 300)
	if r := w.Changes(a, params{}); len(r.Storms) != 1 || len(r.Console.NewErrors) != 1 || r.Console.NewErrors[0].Count != 300 {
		t.Errorf("%s", show(r))
	}
	from := w.Store.View(w.Now).Now()
	flood(300, 3)
	if r := w.Changes(a, params{}); len(r.Console.NewErrors) != 0 || len(r.Repeated) != 1 || r.Repeated[0].Count != 3 || r.Severity != report.Error {
		t.Errorf("%s", show(r))
	}
	// An action that has all of a storm has one line of it, beside the storm's.
	flood(303, 300)
	lines := diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{})
	if len(lines) != 2 || lines[0].Count+lines[1].Count != 304 {
		t.Errorf("%+v", lines)
	}
	// The next page has nothing of it.
	w.Pass(time.Second)
	w.Send("navigation", fmt.Sprintf(`"how":"load","url":%q`, enginetest.Page+"/next"))
	w.Pass(100 * time.Millisecond)
	if list, _ := storms.Since(from, w.Store.View(w.Now), window.Options{}); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestStormsAreFilteredHiddenAndNarrowedAsOtherEntries(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	storm := func() {
		often(w, 100*time.Millisecond, 5*time.Second, func(int) { fetch(w, "GET", "/api/a", "", 200) })
	}
	storm()
	if r := w.Changes(a, params{Severity: "errors_only"}); r.Storms != nil || r.Severity != report.Warning || r.SeverityHidden != 1 {
		t.Errorf("errors only: %s", show(r))
	}
	storm()
	if r := w.Changes(a, params{Include: []string{"console"}}); r.Storms != nil || r.Severity != report.Clean {
		t.Errorf("another section: %s", show(r))
	}
	if r := w.Changes(w.Scoped("http://localhost:9999"), params{}); r.Storms != nil {
		t.Errorf("another project: %s", show(r))
	}
	if _, err := w.Call(a, "configure_noise", `{"action":"add","kind":"network","fingerprint":"GET http://localhost:5173/api/a 200"}`); err != nil {
		t.Fatal(err)
	}
	if r := w.Changes(a, params{}); r.Storms != nil || r.Severity != report.Clean || r.NoiseHidden == 0 {
		t.Errorf("noise: %s", show(r))
	}
}

// TestAPageInAStormIsNotSettled shows that a wait ends as soon as a storm is certain, and names it.
func TestAPageInAStormIsNotSettled(t *testing.T) {
	loop := func(b *bubble, every time.Duration) {
		for i := range 200 {
			id := fmt.Sprint("s", i)
			n := &event.Network{ID: id, Method: "GET", URL: "http://localhost/notifications", Resource: "fetch", Status: 200}
			b.after(time.Duration(i)*every, &event.Request{ID: id, Method: "GET", URL: n.URL, Resource: "fetch"})
			b.after(time.Duration(i)*every+5*time.Millisecond, n)
		}
	}
	for _, every := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 220 * time.Millisecond} {
		// One that asks for something else each time is certain after five seconds.
		inBubble(t, func(b *bubble) {
			for i := range 300 {
				n := &event.Network{ID: fmt.Sprint("v", i), Method: "GET", URL: fmt.Sprint("http://localhost/api/items?id=", i), Resource: "fetch", Status: 200, Stack: []string{"load (http://localhost/app.js:66:1)"}}
				b.after(time.Duration(i)*60*time.Millisecond, &event.Request{ID: n.ID, Method: "GET", URL: n.URL, Resource: "fetch"})
				b.after(time.Duration(i)*60*time.Millisecond+5*time.Millisecond, n)
			}
			time.Sleep(6 * time.Second)
			r, took := b.wait(params{Wait: "settled"})
			if *r.Settled || took > 100*time.Millisecond || !strings.Contains(r.UnsettledBecause, "a storm continues: GET /api/items ×") || len(r.Storms) != 1 {
				t.Errorf("%s after %s", show(r), took)
			}
		})
		inBubble(t, func(b *bubble) {
			loop(b, every)
			time.Sleep(10 * time.Millisecond)
			r, took := b.wait(params{Wait: "settled"})
			if *r.Settled || took > 2500*time.Millisecond || took < time.Second || !strings.Contains(r.UnsettledBecause, "a storm continues: GET /notifications ×") {
				t.Errorf("every %s: %s after %s", every, show(r), took)
			}
			time.Sleep(500 * time.Millisecond)
			if r, took = b.wait(params{Wait: "settled"}); *r.Settled || took > every+10*time.Millisecond || len(r.Storms) != 1 || r.Severity != report.Warning {
				t.Errorf("again, every %s: %s after %s", every, show(r), took)
			}
		})
	}
	inBubble(t, func(b *bubble) {
		loop(b, 50*time.Millisecond)
		time.Sleep(10*time.Second - 10*time.Millisecond) // the last one has just ended
		if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took > 1500*time.Millisecond {
			t.Errorf("a storm that is just over: %s after %s", show(r), took)
		}
	})
	inBubble(t, func(b *bubble) {
		loop(b, 50*time.Millisecond) // for ten seconds
		time.Sleep(15 * time.Second)
		if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took != 0 || len(r.Storms) != 1 {
			t.Errorf("a storm that is over: %s after %s", show(r), took)
		}
	})
}

func TestAStormThatAnUpdateEndedDoesNotCount(t *testing.T) {
	inBubble(t, func(b *bubble) {
		for i := range 50 {
			b.after(time.Duration(i)*100*time.Millisecond, &event.Network{ID: fmt.Sprint(i), Method: "GET", URL: "http://localhost/a", Resource: "fetch", Status: 200})
		}
		b.after(4950*time.Millisecond, &event.Navigation{How: "reload", URL: "http://localhost/"})
		timeout := 10_000
		r, took := b.wait(params{Wait: "reload", TimeoutMs: &timeout})
		if !*r.Settled || took != 5250*time.Millisecond {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

// TestAKnownFloodKeepsItsStorm: with its count, span and place. An error of it is repeated, too, with its severity.
func TestAKnownFloodKeepsItsStorm(t *testing.T) {
	for _, c := range []struct {
		level    string
		severity report.Severity
		repeated string
	}{
		{"error", report.Error, "[{TypeError: price 60}]"},
		{"warning", report.Warning, "[]"},
	} {
		t.Run(c.level, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			flood := func() {
				often(w, 50*time.Millisecond, 3*time.Second, func(int) {
					w.Send("console", fmt.Sprintf(`"level":%q,"via":"console","text":"TypeError: price","url":"%s/Loop.tsx","line":8`, c.level, enginetest.Page))
				})
			}
			flood()
			w.Changes(a, params{})
			flood()
			r := w.Changes(a, params{})
			expect(t, len(r.Storms) == 1 && r.Storms[0].Count == 60 && r.Storms[0].Initiator == "Loop.tsx:8" && r.Storms[0].SpanMs > 2000, r)
			expect(t, r.Severity == c.severity && repeated(r) == c.repeated, r)
		})
	}
}

func TestAStormThatEndedIsNoProblemOfALaterAction(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	often(w, 50*time.Millisecond, 3*time.Second, func(int) { w.Log("error", "TypeError: height") })
	from := w.Store.View(w.Now).Now()
	storms := func(since int64) (list []diff.Consequence) {
		for _, c := range diff.Consequences(from, w.Store.View(w.Now), since, window.Options{}) {
			if c.Storm {
				list = append(list, c)
			}
		}
		return list
	}
	w.Pass(100 * time.Millisecond)
	if list := storms(w.Now.UnixMilli()); len(list) != 1 || list[0].At != w.Now.UnixMilli() {
		t.Errorf("while it goes on: %+v", list)
	}
	w.Pass(500 * time.Millisecond)
	if list := storms(w.Now.UnixMilli()); len(list) != 0 {
		t.Errorf("after it: %+v", list)
	}
	from = capture.Moment{}
	if list := storms(w.Now.UnixMilli()); len(list) != 1 || list[0].At >= w.Now.UnixMilli() {
		t.Errorf("in a window that has it, it is late: %+v", list)
	}
}

// TestAFloodThatEndedIsNotRepeated: the answer before had all of it.
func TestAFloodThatEndedIsNotRepeated(t *testing.T) {
	for _, level := range []string{"log", "warning", "error"} {
		w := enginetest.New(t, capture.Limits{})
		often(w, 5*time.Millisecond, 4*time.Second, func(int) { w.Log(level, "tick") })
		lines := func(from capture.Moment) (list []string) {
			for _, c := range diff.Consequences(from, w.Store.View(w.Now), w.Now.UnixMilli(), window.Options{}) {
				if c.Storm {
					list = append(list, c.Line())
				}
			}
			return list
		}
		want := fmt.Sprintf(`repeated without end: console %s: "tick" ×800 in 4.0 s from app.js:42`, level)
		if got := lines(capture.Moment{}); len(got) != 1 || got[0] != want {
			t.Errorf("while it goes on: %q", got)
		}
		w.Pass(100 * time.Millisecond)
		from := w.Store.View(w.Now).Now()
		w.Pass(150 * time.Millisecond)
		w.Send("console", `"level":"log","via":"console","text":"clicked","url":"http://localhost:5173/menu.js","line":7`)
		if got := lines(from); len(got) != 0 {
			t.Errorf("nothing new: %q", got)
		}
		w.Pass(200 * time.Millisecond)
		want = fmt.Sprintf(`repeated, now over: console %s: "tick" ×800 in 4.0 s from app.js:42`, level)
		if got := lines(capture.Moment{}); len(got) != 1 || got[0] != want {
			t.Errorf("soon after it: %q", got)
		}
	}
}

// TestALoopOverIDsIsOneStorm: each of the addresses repeats without end.
func TestALoopOverIDsIsOneStorm(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	from := w.Store.View(w.Now).Now()
	w.Pass(time.Millisecond)
	began := w.Now.UnixMilli()
	often(w, 30*time.Millisecond, 9*time.Second, func(i int) { fetch(w, "GET", fmt.Sprint("/api/articles/a", i%5), "", 200) })
	lines := func() (list []string) {
		for _, c := range diff.Consequences(from, w.Store.View(w.Now), began, window.Options{}) {
			list = append(list, c.Line())
		}
		return list
	}
	const storm = "GET /api/articles/{id} ×300 in 9.0 s"
	if got := lines(); len(got) != 1 || got[0] != "repeated without end: "+storm {
		t.Errorf("%q", got)
	}
	w.Pass(350 * time.Millisecond)
	if got := lines(); len(got) != 1 || got[0] != "repeated, now over: "+storm {
		t.Errorf("just after it stopped: %q", got)
	}
	r := w.Changes(a, params{})
	expect(t, len(r.Storms) == 1 && r.Storms[0].Initiator == "cart.js:31" && r.Storms[0].Count == 300 && r.Network.NewEndpoints == nil, r)
}

// TestAStormBeginsAnewAfterAPauseAndWithAPage: the same loop ran before.
func TestAStormBeginsAnewAfterAPauseAndWithAPage(t *testing.T) {
	for name, between := range map[string]func(*enginetest.World){
		"a pause": func(w *enginetest.World) { w.Pass(4 * time.Second) },
		"a pause and a new page": func(w *enginetest.World) {
			w.Pass(4 * time.Second)
			w.Send("navigation", `"how":"load","url":"http://localhost:5173/"`)
		},
		"a new page": func(w *enginetest.World) {
			w.Send("navigation", `"how":"reload","url":"http://localhost:5173/"`)
			w.Pass(100 * time.Millisecond)
		},
	} {
		w := enginetest.New(t, capture.Limits{})
		a := w.Agent()
		w.Changes(a, params{})
		loop := func() {
			often(w, 30*time.Millisecond, 3*time.Second, func(int) { fetch(w, "GET", "/api/notifications", "", 200) })
		}
		loop()
		between(w)
		loop()
		if r := w.Changes(a, params{}); len(r.Storms) != 1 || r.Storms[0].Line() != "GET /api/notifications ×100 in 3.0 s from cart.js:31, called at main.js:2" {
			t.Errorf("%s: %s", name, show(r))
		}
	}
}
