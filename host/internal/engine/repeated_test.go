package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

func TestWhatAClientWasGivenIsCounted(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second func(*enginetest.World)
		repeated      string
		summary       string
		severity      report.Severity
	}{
		{"the same error", func(w *enginetest.World) { w.Log("error", "boom") }, func(w *enginetest.World) {
			for range 3 {
				w.Log("error", "boom")
			}
		}, "[{boom 3}]", "no new problems; 1 repeated error", report.Error},
		{"beside a new one", func(w *enginetest.World) { w.Log("error", "boom") }, func(w *enginetest.World) {
			w.Log("error", "boom")
			w.Log("error", "bang")
		}, "[{boom 1}]", "1 new console error(s); 1 repeated error", report.Error},
		{
			"with other numbers", func(w *enginetest.World) { w.Log("warning", "order 12345 is late") }, func(w *enginetest.World) { w.Log("warning", "order 67890 is late") },
			"[{order 67890 is late 1}]", "no new problems; 1 repeated warning", report.Warning,
		},
		{"with another time stamp of a hot update", func(w *enginetest.World) {
			thrownIn(w, "boom at /src/app.tsx?t=1732140000001", "App", "/src/app.tsx?t=1732140000001", 10)
		}, func(w *enginetest.World) {
			thrownIn(w, "boom at /src/app.tsx?t=1732140099999", "App", "/src/app.tsx?t=1732140099999", 14)
		}, "[{boom at /src/app.tsx?t=1732140099999 1}]", "no new problems; 1 repeated error", report.Error},
		{
			"from other code", func(w *enginetest.World) { thrownIn(w, "boom", "App", "/src/app.tsx", 10) }, func(w *enginetest.World) { thrownIn(w, "boom", "Cart", "/src/app.tsx", 10) },
			"[]", "1 new console error(s)", report.Error,
		},
		{
			"from another line of code without a name", func(w *enginetest.World) { thrownIn(w, "boom", "(anonymous)", "/src/app.tsx", 10) }, func(w *enginetest.World) { thrownIn(w, "boom", "(anonymous)", "/src/app.tsx", 11) },
			"[]", "1 new console error(s)", report.Error,
		},
		{
			"an endpoint that failed, worked, and fails again", func(w *enginetest.World) { w.Request("GET", "/a", 500, 1); w.Request("GET", "/a", 200, 1) }, func(w *enginetest.World) { w.Request("GET", "/a", 500, 1) },
			"[{GET /a 500 1}]", "no new problems; 1 repeated error", report.Error,
		},
		{
			"in another way", func(w *enginetest.World) { w.Request("GET", "/a", 500, 1); w.Request("GET", "/a", 200, 1) }, func(w *enginetest.World) { w.Request("GET", "/a", 404, 1) },
			"[]", "1 network failure(s)", report.Error,
		},
		{
			"a frame", func(w *enginetest.World) { w.Socket("received", `{"error":"full"}`) }, func(w *enginetest.World) { w.Socket("received", `{"error":"full"}`) },
			`[{WebSocket /live: {"error":"full"} 1}]`, "no new problems; 1 repeated warning", report.Warning,
		},
		{
			"an element", func(w *enginetest.World) { w.Element("appeared", 1, ".e", "no"); w.Element("gone", 1, "", "") }, func(w *enginetest.World) { w.Element("appeared", 2, ".e", "no") },
			"[{error element no 1}]", "no new problems; 1 repeated warning", report.Warning,
		},
		{"an element that goes", func(w *enginetest.World) { w.Element("appeared", 1, ".e", "no") }, func(w *enginetest.World) { w.Element("gone", 1, "", "") }, "[]", "No significant changes", report.Clean},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			c.first(w)
			w.Changes(a, params{})
			w.Pass(time.Second)
			since := params{Checkpoint: report.Time{Time: w.Now.Add(-time.Millisecond)}.String()}
			c.second(w)
			if named := w.Changes(a, since); len(named.Repeated) > 0 || named.Severity != c.severity {
				t.Errorf("from a time: %s", show(named))
			}
			r := w.Changes(a, params{})
			if repeated(r) != c.repeated || r.Summary != c.summary || r.Severity != c.severity {
				t.Errorf("%s", show(r))
			}
			if other := w.Changes(w.Agent(), params{}); len(other.Repeated) > 0 {
				t.Errorf("another client: %s", show(other))
			}
		})
	}
}

// repeated returns the messages that a report only counts, with their counts.
func repeated(r *report.Report) string {
	var list []string
	for _, e := range r.Repeated {
		list = append(list, fmt.Sprintf("{%s %d}", e.Message, e.Count))
	}
	return fmt.Sprint(list)
}

// thrownIn sends an error of a function.
func thrownIn(w *enginetest.World, text, function, path string, line int) {
	url := enginetest.Page + path
	w.Send("console", fmt.Sprintf(`"level":"error","via":"console","text":%q,"url":%q,"line":%d,"column":7,"stack":["%s (%s:%d:7)"]`, text, url, line, function, url, line))
}

func TestWhatIsReportedAsFixedIsNewsWhenItBreaksAgain(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	for range 2 {
		w.Request("GET", "/a", 500, 1)
		w.Element("appeared", 1, ".e", "no")
		r := w.Changes(a, params{})
		expect(t, len(r.Network.Failures) == 1 && len(r.DOM.NewErrorElements) == 1 && len(r.Repeated) == 0, r)
		w.Request("GET", "/a", 200, 1)
		w.Element("gone", 1, "", "")
		r = w.Changes(a, params{})
		expect(t, len(r.Network.Recovered) == 1 && len(r.DOM.DisappearedElements) == 1, r)
	}
}

func TestWhatAFilterHidOrHadNoRoomIsNotRepeated(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Log("warning", "careful")
	w.Changes(a, params{Severity: "errors_only"})
	w.Log("warning", "careful")
	r := w.Changes(a, params{})
	expect(t, len(r.Console.NewWarnings) == 1 && len(r.Repeated) == 0, r)

	for range 2 { // 60 errors, of which 50 are shown: the others have their turn next
		for i := range 60 {
			w.Log("error", "error "+letters(i))
		}
		r = w.Changes(a, params{})
	}
	expect(t, len(r.Console.NewErrors) == 10 && len(r.Repeated) == 6 && r.Repeated[5] == report.Repeated{Message: "45 more", Count: 45}, r)
	expect(t, r.Summary == "10 new console error(s); 50 repeated errors", r)
}

// TestEverythingIsShownBeforeItIsCounted plays random errors to clients that look now and then, and keeps its own record
// of what each was shown: whatever occurs is listed once before it is only counted, and no occurrence is lost.
func TestEverythingIsShownBeforeItIsCounted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := enginetest.New(t, capture.Limits{})
		var agents []*checkpoint.Client
		shown, fresh := make([]map[string]bool, 2), make([]map[string]int, 2)
		for i := range 2 {
			c, leave := w.Engine.Clients.Join(fmt.Sprint("client ", i), "agent", checkpoint.Scope{})
			defer leave()
			agents = append(agents, c)
			shown[i], fresh[i] = map[string]bool{}, map[string]int{}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"error": func(rt *rapid.T) {
				text := "error " + letters(rapid.IntRange(0, 70).Draw(rt, "which"))
				w.Log(rapid.SampledFrom([]string{"error", "warning"}).Draw(rt, "level"), text)
				for i := range fresh {
					fresh[i][text]++
				}
			},
			"many": func(*rapid.T) {
				for n := range 60 {
					w.Log("error", "error "+letters(n))
					for i := range fresh {
						fresh[i]["error "+letters(n)]++
					}
				}
			},
			"restart": func(*rapid.T) { // of the daemon, which writes what clients received
				for _, c := range agents {
					c.Lock()
					c.HeardLocked()
					st := c.StateLocked()
					st.Given = alike.NewGiven(st.Given.Entries())
					c.RestoreLocked(st)
					c.Unlock()
				}
			},
			"look": func(rt *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(rt, "who")
				p := params{Severity: rapid.SampledFrom([]string{"", "errors_only"}).Draw(rt, "severity")}
				r, err := w.Engine.Observer.Changes(context.Background(), agents[i], p)
				if err != nil {
					rt.Fatal(err)
				}
				total := 0
				for _, n := range fresh[i] {
					total += n
				}
				counted := 0
				for _, list := range [][]report.Message{r.Console.NewErrors, r.Console.NewWarnings} {
					for _, m := range list {
						counted += m.Count
						shown[i][m.Message] = true
					}
				}
				for _, e := range r.Repeated {
					if counted += e.Count; !strings.HasSuffix(e.Message, " more") && !shown[i][e.Message] {
						rt.Fatalf("%q was never shown: %s", e.Message, show(r))
					}
				}
				if p.Severity == "" && r.Console.Omitted == 0 && counted != total {
					rt.Fatalf("%d of %d: %s", counted, total, show(r))
				}
				if (total > 0) != (r.Severity != report.Clean) {
					rt.Fatalf("%d entries: %s", total, show(r))
				}
				fresh[i] = map[string]int{}
			},
		})
	})
}

func TestWhatAClientWasGivenIsBounded(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	for i := range 3000 {
		w.Log("error", "error "+letters(i))
		if i%40 == 39 {
			w.Log("error", "always")
			w.Changes(a, params{})
		}
	}
	n := len(a.Given().Entries())
	if n < 1000 || n > 2000 {
		t.Errorf("%d entries are remembered", n)
	}
	w.Log("error", "always")
	w.Log("error", "error "+letters(0))
	r := w.Changes(a, params{})
	expect(t, len(r.Repeated) == 1 && r.Repeated[0].Message == "always" && len(r.Console.NewErrors) == 1, r)
}

func TestAFirstLookBeginsAtTheNewestLoadOfEachTab(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	load := func(tab int, url string) {
		w.Pass(time.Second)
		w.Send("navigation", fmt.Sprintf(`"tab":%d,"how":"load","url":%q`, tab, url))
	}
	in := func(tab int, text string) {
		w.Pass(time.Second)
		w.Send("console", fmt.Sprintf(`"tab":%d,"level":"error","via":"console","text":%q`, tab, text))
	}
	w.Open(8, enginetest.Page+"/other")
	load(7, enginetest.Page+"/")
	in(7, "of the page before")
	load(8, enginetest.Page+"/other")
	in(8, "of the other tab")
	w.Request("GET", "/before", 500, 1)
	load(7, enginetest.Page+"/next")
	loaded := w.Now
	in(7, "of the page")
	w.Send("console", `"tab":7,"level":"error","via":"console","text":"late, of the page before","left":true`)
	w.Request("GET", "/before", 500, 1)

	a := w.Agent()
	r := w.Changes(a, params{Include: []string{"console"}})
	got := messages(r.Console.NewErrors)
	expect(t, strings.Contains(got, "of the page×1") && strings.Contains(got, "of the other tab×1") && !strings.Contains(got, "before") && r.From.Before(loaded), r)
	in(7, "later")
	r = w.Changes(a, params{}) // the other sections begin where the first look would have begun
	expect(t, messages(r.Console.NewErrors) == "later×1" && len(r.Network.Failures) == 1 && r.Network.Failures[0].Count == 0 && r.DOM.URLChanged == nil, r)

	r = w.Changes(w.Agent(), params{Tab: 1})
	expect(t, r.From.Equal(loaded) && len(r.Console.NewErrors) == 2, r)
	for _, all := range []string{checkpoint.Buffers, checkpoint.Start} {
		r = w.Changes(a, params{Checkpoint: all})
		expect(t, len(r.Console.NewErrors) == 5 && len(r.Repeated) == 0 && r.Checkpoint == all, r)
	}
	if _, err := w.Engine.Observer.Changes(t.Context(), a, params{Checkpoint: checkpoint.Now}); err == nil || !strings.Contains(err.Error(), "nothing to compare") {
		t.Error(err)
	}
}

func TestAFirstLookHasTheDocumentOfItsPage(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Pass(time.Second)
	w.Send("network", fmt.Sprintf(`"id":"d","method":"GET","url":%q,"resource":"document","status":500,"started":%d,"duration":5`, enginetest.Page+"/", w.Now.UnixMilli()))
	w.Pass(10 * time.Millisecond)
	w.Send("navigation", fmt.Sprintf(`"how":"load","url":%q`, enginetest.Page+"/"))
	r := w.Changes(w.Agent(), params{})
	expect(t, len(r.Network.Failures) == 1 && r.Network.Failures[0].Status == 500, r)
}

// A document ends after its page is shown if the rest of it takes long. The page before may have been loaded when its tab was not
// watched yet.
func TestAFirstLookHasNoDocumentOfThePageBefore(t *testing.T) {
	for _, watched := range []bool{true, false} {
		for _, before := range []string{"/before", "/"} {
			if before == "/" && !watched {
				continue // it may be that of the page
			}
			w := enginetest.New(t, capture.Limits{})
			for i, path := range []string{before, "/"} {
				began := w.Now
				w.Pass(20 * time.Millisecond)
				if watched || i > 0 {
					w.Send("navigation", fmt.Sprintf(`"how":"load","url":%q`, enginetest.Page+path))
				}
				w.Pass(20 * time.Millisecond)
				w.Send("network", fmt.Sprintf(`"id":"d%d","method":"GET","url":%q,"resource":"document","status":200,"started":%d,"duration":40`, i, enginetest.Page+path, began.UnixMilli()))
			}
			r := w.Changes(w.Agent(), params{})
			expect(t, r.Network.TotalNewRequests == 1 && len(r.Network.NewEndpoints) == 1 && r.Network.NewEndpoints[0].URL == "/", r)
		}
	}
}

func TestAFirstLookStopsAtTheLoadBeforeIfTheDocumentComesLate(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	document := func() {
		w.Send("network", fmt.Sprintf(`"id":"d%d","method":"GET","url":%q,"resource":"document","status":200,"started":%d,"duration":5`, w.Now.UnixMilli(), enginetest.Page+"/", w.Now.UnixMilli()))
	}
	load := func() { w.Send("navigation", fmt.Sprintf(`"how":"reload","url":%q`, enginetest.Page+"/")) }
	w.Pass(time.Second)
	document()
	w.Pass(10 * time.Millisecond)
	load()
	w.Pass(time.Second)
	w.Request("POST", "/before", 400, 1)
	w.Pass(time.Second)
	load()
	document()
	r := w.Changes(w.Agent(), params{})
	expect(t, len(r.Network.Failures) == 0 && r.Severity == report.Clean && r.Network.TotalNewRequests == 1, r)
}

func TestAWarningAboutAComponentIsRepeatedWhateverMadeReactLook(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	warn := func(key, component, from string) *report.Report {
		w.Pass(time.Second)
		w.Send("console", fmt.Sprintf(`"level":"error","via":"console","text":%q,"url":"http://localhost:5173/node_modules/react-dom.js","line":1,"column":1,"stack":[%q]`,
			"Warning: Encountered two children with the same key, `"+key+"`.\n    at "+component+"\n    at App (http://localhost:5173/src/app.tsx:9:1)", from+" (http://localhost:5173/node_modules/react-dom.js:1:1)"))
		return w.Changes(a, params{})
	}
	if r := warn("a", "List (http://localhost:5173/src/list.tsx?t=1732140000000:3:1)", "printWarning"); len(r.Console.NewErrors) != 1 {
		t.Error(show(r))
	}
	if r := warn("b", "List (http://localhost:5173/src/list.tsx?t=1732140000001:4:1)", "performReactRefresh"); r.Summary != "no new problems; 1 repeated error" || r.Severity != report.Error {
		t.Error(show(r))
	}
	if r := warn("a", "Table (http://localhost:5173/src/table.tsx:3:1)", "printWarning"); len(r.Console.NewErrors) != 1 {
		t.Error(show(r))
	}
}

// TestFoldingHidesNothing plays random problems to a client, and compares what it is answered without a checkpoint with the
// answer from a named checkpoint of the same moment: that one lists everything, and the other counts what it does not list.
func TestFoldingHidesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := enginetest.New(t, capture.Limits{})
		a, leave := w.Engine.Clients.Join("", "agent", checkpoint.Scope{})
		defer leave()
		ask := func(p params) *report.Report {
			r, err := w.Engine.Observer.Changes(context.Background(), a, p)
			if err != nil {
				rt.Fatal(err)
			}
			return r
		}
		base := func() {
			if _, err := w.Call(a, "checkpoint_create", `{"name":"base"}`); err != nil {
				rt.Fatal(err)
			}
		}
		ask(params{})
		base()
		draw := func(rt *rapid.T, of ...string) string { return rapid.SampledFrom(of).Draw(rt, "which") }
		element := 0
		rt.Repeat(map[string]func(*rapid.T){
			"message": func(rt *rapid.T) { w.Log(draw(rt, "error", "warning"), draw(rt, "boom", "bang")) },
			"request": func(rt *rapid.T) {
				w.Request(draw(rt, "GET", "POST"), draw(rt, "/a", "/b"), rapid.SampledFrom([]int{0, 200, 404, 500}).Draw(rt, "status"), 1)
			},
			"socket": func(rt *rapid.T) { w.Socket("received", draw(rt, `{"error":"full"}`, `{"error":"late"}`, `{}`)) },
			"element": func(rt *rapid.T) {
				if element++; rapid.Bool().Draw(rt, "goes") {
					w.Element("gone", element-1, "", "")
				}
				w.Element("appeared", element, ".e", draw(rt, "no", "never"))
			},
			"time": func(*rapid.T) { w.Pass(3 * time.Second) },
			"look": func(rt *rapid.T) {
				all := ask(params{Checkpoint: "base"})
				folded := ask(params{Severity: draw(rt, "", "errors_only")})
				base()
				rank := map[report.Severity]int{report.Clean: 0, report.Warning: 1, report.Error: 2}
				if len(all.Repeated) > 0 || rank[folded.Severity] < rank[all.Severity] {
					rt.Fatalf("%s\nfolded: %s", show(all), show(folded))
				}
				if folded.Severity != report.Clean && folded.Errors+folded.Warnings == 0 {
					rt.Fatalf("nothing is counted: %s", show(folded))
				}
				var listed []string
				for _, r := range folded.Repeated {
					listed = append(listed, r.Message)
				}
				for _, m := range append(folded.Console.NewErrors, folded.Console.NewWarnings...) {
					listed = append(listed, m.Message)
				}
				for _, f := range folded.Network.Failures {
					listed = append(listed, fmt.Sprintf("%s %s %d", f.Method, f.URL, f.Status))
				}
				has := func(what string) {
					if !strings.Contains(strings.Join(listed, "\n"), what) && len(folded.Repeated) < 5 {
						rt.Fatalf("%q is missing: %s\nall: %s", what, show(folded), show(all))
					}
				}
				for _, m := range all.Console.NewErrors {
					has(m.Message)
				}
				for _, f := range all.Network.Failures {
					has(f.Method + " " + f.URL)
				}
				if folded.Network.StillFailing > all.Network.StillFailing {
					rt.Fatalf("%s\nall: %s", show(folded), show(all))
				}
			},
		})
	})
}

func TestAnEndpointThatFailedBeforeStillFails(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Request("GET", "/a", 500, 1)
	b := w.Agent()
	w.Changes(b, params{Include: []string{"console"}}) // it is not given the failure
	if r := w.Changes(a, params{}); len(r.Network.Failures) != 1 {
		t.Error(show(r))
	}
	if _, err := w.Call(a, "checkpoint_create", `{"name":"base"}`); err != nil {
		t.Fatal(err)
	}
	w.Request("GET", "/a", 500, 1)
	w.Request("GET", "/b", 500, 1)
	for _, p := range []params{{Checkpoint: "base"}, {}} {
		r := w.Changes(a, p)
		want, known := "[]", 1
		if p.Checkpoint == "" {
			want, known = "[{GET /a 500 1}]", 0
		}
		expect(t, r.Network.StillFailing == 1 && len(r.Network.Failures) == 1 && r.Network.Failures[0].URL == "/b" && repeated(r) == want && len(r.Network.KnownFailures) == known && r.Severity == report.Error, r)
	}
	if r := w.Changes(b, params{}); len(r.Network.Failures) != 2 || r.Network.StillFailing != 0 {
		t.Error(show(r))
	}
}

// TestAReportOfOneTabHidesNothingOfOthers: the next report has what happened there.
func TestAReportOfOneTabHidesNothingOfOthers(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, enginetest.Page+"/other")
	a := w.Agent()
	w.Changes(a, params{})
	w.Send("console", `"tab":8,"level":"error","via":"console","text":"there"`)
	w.Log("error", "here")
	r := w.Changes(a, params{Tab: 1})
	expect(t, len(r.Console.NewErrors) == 1 && r.Console.NewErrors[0].Message == "here", r)
	r = w.Changes(a, params{})
	expect(t, len(r.Console.NewErrors) == 1 && r.Console.NewErrors[0].Message == "there" && len(r.Repeated) == 1, r)
	w.Log("error", "alone")
	w.Changes(a, params{Tab: 1})
	r = w.Changes(a, params{})
	expect(t, len(r.Console.NewErrors)+len(r.Repeated) == 0, r)
}

func TestReportsOfOneTabRepeatNothing(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, enginetest.Page+"/other")
	a := w.Agent()
	w.Changes(a, params{})
	w.Send("console", `"tab":8,"level":"error","via":"console","text":"there"`)
	w.Log("error", "here")
	w.Changes(a, params{Tab: 1})
	r := w.Changes(a, params{Tab: 1})
	expect(t, len(r.Console.NewErrors)+len(r.Repeated) == 0, r)
	w.Log("error", "here again")
	r = w.Changes(a, params{Tab: 1, Include: []string{"console"}})
	expect(t, len(r.Console.NewErrors) == 1 && len(r.Repeated) == 0, r)
	r = w.Changes(a, params{Tab: 1, Include: []string{"console"}})
	expect(t, len(r.Console.NewErrors)+len(r.Repeated) == 0, r)
	r = w.Changes(a, params{}) // what was in the other tab is not lost
	expect(t, messages(r.Console.NewErrors) == "there×1" && len(r.Repeated) == 2, r)
	r = w.Changes(a, params{Tab: 1})
	expect(t, len(r.Console.NewErrors)+len(r.Repeated) == 0, r)
}

func TestARepeatedMessageNamesTheCodeThatLoggedIt(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	log := func(line int) { thrownIn(w, fmt.Sprintf("boom %d", line), "App", "/src/app.tsx", line) }
	log(10)
	w.Changes(a, params{})
	log(10)
	if r := w.Changes(a, params{}); len(r.Repeated) != 1 || r.Repeated[0].Initiator != "app.tsx:10" {
		t.Errorf("%+v", r.Repeated)
	}
}

// TestAKnownFailureWithANewAlert: the alert is listed once, whatever it says, and the failure is counted as repeated.
func TestAKnownFailureWithANewAlert(t *testing.T) {
	for _, text := range []string{"card is expired", "Refused: card is expired", "POST /api/pay failed with status 422", "Request failed with status code 422", "Something went wrong"} {
		for _, acts := range []bool{false, true} {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			w.Changes(a, params{})
			fail := func(id string) {
				w.Send("network", fmt.Sprintf(`"id":%q,"method":"POST","url":"%s/api/pay","resource":"fetch","status":422,"started":%d,"duration":20,"mime":"application/json","response_body":"{\"message\":\"card is expired\"}"`,
					id, enginetest.Page, w.Now.UnixMilli()-20))
			}
			fail("1")
			w.Changes(a, params{})
			from := w.Store.View(w.Now).Now()
			for i := range 3 { // the alert stays, or is drawn anew
				w.Pass(5 * time.Second)
				fail(fmt.Sprint("again", i))
				if i == 1 {
					w.Element("gone", 1, "", "")
				}
				if i < 2 {
					w.Element("appeared", 1+i, ".alert", text)
				}
				news, failures, repeated := 0, 0, 0
				if acts {
					for _, c := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{Given: a.Given()}) {
						switch element := strings.HasPrefix(c.Text, "error element"); {
						case c.Given && !element:
							repeated += c.Count
						case element && !c.Given:
							news++
						case !element:
							failures++
						}
						observe.Give(w.Engine.Observer, a, c.Entries, nil)
					}
					from = w.Store.View(w.Now).Now()
				} else {
					r := w.Changes(a, params{})
					news, failures = len(r.DOM.NewErrorElements), len(r.Network.Failures)
					for _, e := range r.Repeated {
						if !strings.HasPrefix(e.Message, "error element") {
							repeated += e.Count
						}
					}
				}
				want := 0
				if i == 0 {
					want = 1
				}
				if news != want || failures != 0 || repeated != 1 {
					t.Errorf("%q, by an action: %v, time %d: %d alerts, %d failures, %d repeated", text, acts, i+1, news, failures, repeated)
				}
			}
		}
	}
}

// TestARepeatedMessageOfTwoPlacesNamesBoth: they are one entry, as the text is the same.
func TestARepeatedMessageOfTwoPlacesNamesBoth(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	log := func() {
		for _, line := range []int{98, 100} {
			thrownIn(w, "save failed", "(anonymous)", "/app.js", line)
			w.Pass(time.Second)
		}
	}
	log()
	w.Changes(a, params{})
	log()
	log()
	if r := w.Changes(a, params{}); len(r.Repeated) != 1 || r.Repeated[0].Count != 4 || r.Repeated[0].Initiator != "app.js:98, app.js:100" {
		t.Errorf("%+v", r.Repeated)
	}
}
