package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/stacks"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// failedLoads sends requests for articles, of which those from a number on do not exist.
func failedLoads(w *enginetest.World, from, to, exist int) {
	for i := from; i < to; i++ {
		status, body := 200, "{}"
		if i >= exist {
			status, body = 404, fmt.Sprintf(`{"error":"article not found: a%d"}`, i)
		}
		w.Send("network", fmt.Sprintf(`"id":"a%d","method":"GET","url":"%s/api/articles/a%d","resource":"fetch","status":%d,"started":%d,"duration":%d,"mime":"application/json","response_body":%q,%s`,
			w.Now.UnixNano(), enginetest.Page, i, status, w.Now.UnixMilli()+int64(i), 5, body, stack))
	}
}

// placed names the code of requests and of messages by the first line of their stacks.
var placed = window.Options{
	Initiator: func(e event.Event) report.Place {
		f, _ := stacks.Parse(append(event.StackOf(e), "")[0])
		return report.Place{File: f.URL, Line: f.Line}
	},
	Logged: func(e *event.Console) (report.Place, bool) {
		f, _ := stacks.Parse(e.Logged)
		return report.Place{File: f.URL, Line: f.Line}, true
	},
}

// TestABurstIsOneEntry: what differs in numbers alone, and is more than a few.
func TestABurstIsOneEntry(t *testing.T) {
	log := func(w *enginetest.World, level, via, text string, line int) {
		w.Send("console", fmt.Sprintf(`"level":%q,"via":%q,"text":%q,"url":"%s/src/app.js","line":%d`, level, via, text, enginetest.Page, line))
	}
	for _, c := range []struct {
		name   string
		happen func(w *enginetest.World)
		// want are the problems that an action lists, then the requests. report is what get_changes_since lists, and again what is
		// repeated when all of it happens once more.
		want, report, again string
	}{
		{
			"warnings of a loop",
			func(w *enginetest.World) {
				for i := range 500 {
					log(w, "warning", "console", fmt.Sprintf("render %d of 500 took too long", i), 25)
				}
			},
			`warning: "render {n} of 500 took too long" (app.js:25) ×500`,
			`render {n} of 500 took too long (app.js:25) ×500`,
			`render 0 of 500 took too long ×500`,
		},
		{
			"a few are listed one by one",
			func(w *enginetest.World) {
				for i := range 3 {
					log(w, "error", "console", fmt.Sprint("row failed {id: ", i, "}"), 7)
				}
			},
			`error: "row failed {id: 0}" (app.js:7); error: "row failed {id: 1}" (app.js:7); error: "row failed {id: 2}" (app.js:7)`,
			`row failed {id: 2} (app.js:7) ×1; row failed {id: 1} (app.js:7) ×1; row failed {id: 0} (app.js:7) ×1`,
			`row failed {id: 0} ×1; row failed {id: 1} ×1; row failed {id: 2} ×1`,
		},
		{
			"errors of several lines, and what they hide",
			func(w *enginetest.World) {
				for i := range 40 {
					log(w, "error", "console", fmt.Sprint("row failed {id: ", i, "}"), 8)
					log(w, "error", "console", fmt.Sprint("row failed {id: ", i, "}"), 9)
				}
				log(w, "error", "exception", "TypeError: the real cause", 10)
			},
			`error: "row failed {id: {n}}" (app.js:8) ×40; error: "row failed {id: {n}}" (app.js:9) ×40; error: "TypeError: the real cause" (app.js:10)`,
			`row failed {id: {n}} (app.js:8) ×80; TypeError: the real cause (app.js:10) ×1`,
			``,
		},
		{
			"requests that fail",
			func(w *enginetest.World) {
				failedLoads(w, 0, 60, 35)
				for range 25 {
					log(w, "error", "rejection", "TypeError: Cannot read properties of undefined (reading 'title')", 21)
				}
			},
			`error: "TypeError: Cannot read properties of undefined (reading 'title')" (app.js:21) ×25; GET /api/articles/{id} 404 "article not found: a{n}" from cart.js:31 ×25; GET /api/articles/{id} 200 ×35`,
			`TypeError: Cannot read properties of undefined (reading 'title') (app.js:21) ×25; GET /api/articles/{id} 404 ×25 article not found: a{n} cart.js:31; new: GET /api/articles/{id} 200 ×35`,
			`GET /api/articles/a35 404: article not found: a35 ×25; TypeError: Cannot read properties of undefined (reading 'title') ×25`,
		},
		{
			"requests that differ in their query",
			func(w *enginetest.World) {
				for i := range 5 {
					w.Request("GET", fmt.Sprint("/api/items?page=", i), 500, 5)
				}
			},
			`GET /api/items?page={n} 500 ×5`,
			`GET /api/items 500 ×5  `,
			``,
		},
		{
			"requests that several lines of a server refuse",
			func(w *enginetest.World) {
				for i := range 8 {
					body := fmt.Sprintf(`{"message":"no article %d","stack":"Error\n    at get (/app/api.js:%d:3)"}`, i, 20+i/4)
					w.Send("network", fmt.Sprintf(`"id":"p%d","method":"GET","url":"%s/api/articles/a%d","resource":"fetch","status":500,"started":%d,"duration":5,"response_body":%q`, i, enginetest.Page, i, w.Now.UnixMilli()+int64(i), body))
				}
			},
			`GET /api/articles/{id} 500 "no article {n} (api.js:20)" ×4; GET /api/articles/{id} 500 "no article {n} (api.js:21)" ×4`,
			`GET /api/articles/{id} 500 ×4 no article {n} (api.js:20) ; GET /api/articles/{id} 500 ×4 no article {n} (api.js:21) `,
			``,
		},
		{
			"requests that several lines make",
			func(w *enginetest.World) {
				for i := range 6 {
					w.Send("network", fmt.Sprintf(`"id":"p%d","method":"POST","url":"%s/rooms/%d","resource":"xhr","status":200,"started":%d,"duration":5,"stack":["send (%s/src/store.js:%d:9)"]`,
						w.Now.UnixNano(), enginetest.Page, i, w.Now.UnixMilli()+int64(i), enginetest.Page, 40+12*(i/3)))
				}
			},
			`POST /rooms/{id} 200 from store.js:40 and from store.js:52 ×6`,
			`new: POST /rooms/{id} 200 ×0`,
			``,
		},
		{
			"requests that many lines make",
			func(w *enginetest.World) {
				for i := range 5 {
					w.Send("network", fmt.Sprintf(`"id":"p%d","method":"PUT","url":"%s/rooms/%d","resource":"xhr","status":500,"started":%d,"duration":5,"stack":["send (%s/src/store.js:%d:9)"]`,
						w.Now.UnixNano(), enginetest.Page, i, w.Now.UnixMilli()+int64(i), enginetest.Page, 40+i))
				}
			},
			`PUT /rooms/{id} 500 from store.js:40 and from store.js:41 and from store.js:42 and 2 more ×5`,
			`PUT /rooms/{id} 500 ×5  store.js:44`,
			``,
		},
		{
			"an error that several lines log",
			func(w *enginetest.World) {
				for i := range 5 {
					w.Send("console", fmt.Sprintf(`"level":"error","via":"console","text":"Error: row %d","url":"%s/src/rows.js","line":30,"logged":"log (%s/src/app.js:%d:3)"`, i, enginetest.Page, enginetest.Page, 7+i/3))
				}
			},
			`error: "Error: row {n}" (rows.js:30, logged at app.js:7) and (rows.js:30, logged at app.js:8) ×5`,
			`Error: row {n} (rows.js:30) ×5`,
			``,
		},
		{
			"requests that fail in several ways",
			func(w *enginetest.World) {
				for i := range 3 {
					w.Request("GET", fmt.Sprint("/api/s", i), 500, 5)
					w.Request("GET", fmt.Sprint("/api/s", 10+i), 503, 5)
				}
			},
			`GET /api/s0 500; GET /api/s10 503; GET /api/s1 500; GET /api/s11 503; GET /api/s2 500; GET /api/s12 503`,
			`GET /api/s12 503 ×0  ; GET /api/s2 500 ×0  ; GET /api/s11 503 ×0  ; GET /api/s1 500 ×0  ; GET /api/s10 503 ×0  ; GET /api/s0 500 ×0  `,
			``,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			from := w.Store.View(w.Now).Now()
			w.Pass(time.Millisecond)
			c.happen(w)
			w.Pass(100 * time.Millisecond)
			var lines []string
			for _, request := range []bool{false, true} {
				for _, l := range diff.Consequences(from, w.Store.View(w.Now), 0, placed) {
					if l.Request == request {
						lines = append(lines, l.Line())
					}
				}
			}
			if got := strings.Join(lines, "; "); got != c.want {
				t.Errorf("an action has\n%s, not\n%s", got, c.want)
			}
			shown := func(r *report.Report) string {
				var list []string
				for _, m := range append(r.Console.NewErrors, r.Console.NewWarnings...) {
					list = append(list, fmt.Sprintf("%s (%s) ×%d", m.Message, m.Source, m.Count))
				}
				for _, f := range r.Network.Failures {
					list = append(list, fmt.Sprintf("%s %s %d ×%d %s %s", f.Method, f.URL, f.Status, f.Count, f.Detail, f.Initiator))
				}
				for _, f := range r.Network.NewEndpoints {
					list = append(list, fmt.Sprintf("new: %s %s %d ×%d", f.Method, f.URL, f.Status, f.Count))
				}
				return strings.Join(list, "; ")
			}
			got := w.Changes(a, params{})
			if s := shown(got); s != c.report {
				t.Errorf("a report has\n%s, not\n%s", s, c.report)
			}
			if s := shown(w.Changes(a, params{Checkpoint: checkpoint.Buffers})); s != c.report {
				t.Errorf("one of everything has\n%s, not\n%s", s, c.report)
			}
			c.happen(w)
			r := w.Changes(a, params{})
			if s := shown(r); s != "" {
				t.Errorf("once more it has\n%s", s)
			}
			var again []string
			for _, e := range r.Repeated {
				again = append(again, fmt.Sprintf("%s ×%d", e.Message, e.Count))
			}
			if s := strings.Join(again, "; "); c.again != "" && s != c.again {
				t.Errorf("repeated are\n%s, not\n%s", s, c.again)
			}
		})
	}
}

// What an action reported as one entry is repeated in the next report, also what it had no room to name one by one.
func TestABurstOfAnActionIsKnown(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	from := w.Store.View(w.Now).Now()
	w.Pass(time.Millisecond)
	failedLoads(w, 0, 200, 0)
	for i := range 200 {
		w.Log("error", fmt.Sprint("row failed ", i))
	}
	answer := &act.Answer{Broke: diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{})}
	var shown int
	for _, c := range answer.Broke {
		shown += len(c.Entries)
		a.Lock()
		a.GiveLocked(c.Entries, nil)
		a.Unlock()
	}
	r := w.Changes(a, params{})
	expect(t, len(r.Console.NewErrors) == 0 && len(r.Network.Failures) == 0 && len(r.Repeated) == 2 && shown == 2, r)
}

// An endpoint that recovered may fail anew.
func TestABurstIsNewAfterItsEndpointRecovered(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	failedLoads(w, 0, 20, 0)
	w.Changes(a, params{})
	failedLoads(w, 0, 20, 20)
	r := w.Changes(a, params{})
	expect(t, len(r.Network.Recovered) == 1 && r.Network.Recovered[0].URL == "/api/articles/{id}", r)
	failedLoads(w, 0, 20, 0)
	r = w.Changes(a, params{})
	expect(t, len(r.Network.Failures) == 1 && r.Network.Failures[0].PreviousStatus == 200, r)
}

// Errors that nothing caught are shown before others when there is no room for all.
func TestUncaughtErrorsAreShownFirst(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	for i := range 2 * report.MaxEntries {
		w.Log("error", "failed: "+strings.Repeat("x", i+1))
		w.Log("error", "failed: "+strings.Repeat("x", i+1))
		if i == 0 {
			w.Send("console", `"level":"error","via":"exception","text":"TypeError: the cause","url":"http://localhost:5173/a.js","line":1`)
		}
	}
	r := w.Changes(a, params{})
	expect(t, len(r.Console.NewErrors) == report.MaxEntries && r.Console.NewErrors[0].Message == "TypeError: the cause", r)
}
