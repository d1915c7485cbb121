package engine_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

func messages(list []report.Message) string {
	var out []string
	for _, m := range list {
		out = append(out, fmt.Sprintf("%s×%d", m.Message, m.Count))
	}
	return strings.Join(out, ", ")
}

func TestErrorsAreOrderedByFrequencyThenRecency(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for _, text := range []string{"early", "often", "late", "often", "twice", "often", "twice"} {
		w.Log("error", text)
	}
	if got := messages(w.Changes(w.Agent(), params{}).Console.NewErrors); got != "often×3, twice×2, late×1, early×1" {
		t.Error(got)
	}
}

func TestErrorsAreKeptBeforeWarnings(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for i := range 60 {
		for range 3 {
			w.Log("warning", "warning "+letters(i))
		}
	}
	for i := range 48 {
		w.Log("error", "error "+letters(i))
	}
	c := w.Changes(w.Agent(), params{}).Console
	if len(c.NewErrors) != 48 || len(c.NewWarnings) != 2 || c.Omitted != 58 || c.TotalNewEntries != 228 {
		t.Errorf("%d errors, %d warnings, %d omitted of %d", len(c.NewErrors), len(c.NewWarnings), c.Omitted, c.TotalNewEntries)
	}
}

func TestTheSameMessageAsBeforeIsNewWhenItIsLoggedAgain(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Log("error", "again")
	w.Changes(a, params{})
	since := params{Checkpoint: report.Time{Time: w.Now}.String()}
	w.Pass(time.Second)
	w.Log("error", "again")
	if got := messages(w.Changes(a, since).Console.NewErrors); got != "again×1" {
		t.Error(got)
	}
	r := w.Changes(a, params{}) // the cursor's call counts what it has given before
	expect(t, len(r.Console.NewErrors) == 0 && len(r.Repeated) == 1 && r.Repeated[0] == report.Repeated{Message: "again", Count: 1, Initiator: "app.js:42"} && r.Severity == report.Error, r)
}

func TestAMessageFromSeveralPlacesNamesThem(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	from := w.Store.View(w.Now).Now()
	logged := func(text, file string, line int) {
		w.Send("console", fmt.Sprintf(`"level":"error","via":"exception","text":%q,"url":"http://localhost:5173/src/%s","line":%d,"column":5`, text, file, line))
	}
	for range 2 {
		logged("no total", "cart.js", 4)
		logged("no total", "order.js", 9)
	}
	logged("no total", "cart.js", 30)
	logged("moved", "cart.js?t=1769164200001", 4)
	logged("moved", "cart.js?t=1769164200002", 5)
	logged("alone", "cart.js", 7)
	logged("alone", "cart.js", 7)
	got := map[string]string{}
	for _, m := range w.Changes(w.Agent(), params{}).Console.NewErrors {
		got[m.Message] = fmt.Sprintf("%s ×%d, %s", m.Source, m.Count, m.Also)
	}
	want := map[string]string{"no total": "cart.js:4 ×5, at order.js:9, at cart.js:30", "moved": "cart.js:4 ×2, ", "alone": "cart.js:7 ×2, "}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	var lines []string
	for _, c := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
		lines = append(lines, c.Line())
	}
	if got, want := strings.Join(lines, "; "), `error: "no total" (cart.js:4) ×5, also at order.js:9, at cart.js:30; error: "moved" (cart.js:4) ×2; error: "alone" (cart.js:7) ×2`; got != want {
		t.Errorf("an action: %s", got)
	}
}

func TestMessagesAreCutAtTwoHundredCharacters(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for _, n := range []int{199, 200, 201, 5000} {
		w.Log("error", fmt.Sprint(n)+strings.Repeat("é", n-len(fmt.Sprint(n))))
	}
	for _, m := range w.Changes(w.Agent(), params{}).Console.NewErrors {
		n := len([]rune(m.Message))
		if cut := strings.HasSuffix(m.Message, "…"); n > 200 || cut != (strings.HasPrefix(m.Message, "201") || strings.HasPrefix(m.Message, "5000")) {
			t.Errorf("%d characters: %s", n, m.Message)
		}
	}
}

func TestSourcesAreBaseNamesUnlessTwoClash(t *testing.T) {
	for _, c := range []struct {
		name string
		urls []string
		want string
	}{
		{"base name and line", []string{"/src/pages/app.js"}, "app.js:1"},
		{"clashing ones are shown whole", []string{"/src/cart/index.js", "/src/shop/index.js", "/src/app.js"}, "src/cart/index.js:1 src/shop/index.js:2 app.js:3"},
		{"the same script twice does not clash", []string{"/src/app.js?t=1", "/src/app.js?t=2"}, "app.js:1 app.js:2"},
		{"a path is no base name", []string{"/app.js", "/src/app.js"}, "app.js:1 src/app.js:2"},
		{"the same path of two origins", []string{"http://cdn.test/lib/app.js?v=1", "/lib/app.js", "/x.js"}, "http://cdn.test/lib/app.js:1 http://localhost:5173/lib/app.js:2 x.js:3"},
		{"the pages of two origins", []string{"http://cdn.test/", "/"}, "http://cdn.test/:1 http://localhost:5173/:2"},
		{"the page itself", []string{"/"}, "(page):1"},
		{"a page with a number", []string{"/orders/42", "/42"}, "orders/42:1 42:2"},
		{"no source", []string{""}, ""},
	} {
		w := enginetest.New(t, capture.Limits{})
		for i, url := range c.urls {
			if strings.HasPrefix(url, "/") {
				url = enginetest.Page + url
			}
			w.Send("console", fmt.Sprintf(`"level":"error","via":"exception","text":"e %s","url":%q,"line":%d`, letters(i), url, i+1))
		}
		var got []string
		for _, m := range w.Changes(w.Agent(), params{}).Console.NewErrors {
			got = append([]string{m.Source}, got...) // the newest comes first
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNoiseIsHiddenAndCountedAndErrorsStay(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Log("warning", "[vite] connecting...")
	w.Log("debug", "[vite] hot updated: /src/App.tsx")
	w.Log("error", "[vite] Failed to reload /src/App.tsx.")
	w.Send("console", `"level":"error","via":"console","text":"not ours","url":"chrome-extension://abc/content.js"`)
	w.Request("POST", "https://www.google-analytics.com/g/collect", 0, 1)
	r := w.Changes(w.Agent(), params{})
	if got := messages(r.Console.NewErrors); got != "[vite] Failed to reload /src/App.tsx.×1" || r.NoiseHidden != 3 || len(r.Console.NewWarnings) != 0 || len(r.Network.Failures) != 0 {
		t.Error(show(r))
	}
}

func TestTheTabIsNamedOnlyWhereSeveralAreCovered(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Log("error", "alone")
	is(t, w.Changes(a, params{}).Console.NewErrors, `[{"message":"alone","source":"app.js:42","count":1}]`)
	w.Open(8, "http://localhost:3000/")
	w.Log("error", "here")
	w.Send("console", `"tab":8,"level":"error","via":"console","text":"there"`)
	w.Send("console", `"tab":8,"level":"error","via":"console","text":"here"`)
	is(t, w.Changes(a, params{}).Console.NewErrors, `[{"message":"here","count":1,"tab":2},{"message":"there","count":1,"tab":2},{"message":"here","source":"app.js:42","count":1,"tab":1}]`)
	for _, of := range []struct{ r *report.Report }{{w.Changes(w.Scoped(enginetest.Page), params{})}, {w.Changes(w.Agent(), params{Tab: 1})}} {
		if strings.Contains(show(of.r.Console), `"tab"`) || of.r.Console.TotalNewEntries != 2 {
			t.Error(show(of.r.Console))
		}
	}
}

func TestLogEntriesThatRepeatOtherEntriesAreNotCounted(t *testing.T) {
	const entry = `"level":"error","via":"browser","category":"network"`
	for _, c := range []struct {
		name   string
		happen func(*enginetest.World)
		errors string
	}{
		{"the request ends first", func(w *enginetest.World) {
			w.Send("network", `"id":"r","method":"GET","url":"http://localhost:5173/x","resource":"fetch","status":0,"error":"net::ERR_CONNECTION_REFUSED","started":1,"duration":1`)
			w.Send("console", entry+`,"request":"r","text":"Failed to load resource: net::ERR_CONNECTION_REFUSED"`)
		}, ""},
		{"the entry comes first", func(w *enginetest.World) {
			w.Send("request", `"id":"r","method":"GET","url":"http://localhost:5173/x","resource":"fetch"`)
			w.Send("console", entry+`,"request":"r","text":"Failed to load resource: 404"`)
			w.Send("network", `"id":"r","method":"GET","url":"http://localhost:5173/x","resource":"fetch","status":404,"started":1,"duration":1`)
		}, ""},
		{"the request is not known", func(w *enginetest.World) {
			w.Send("console", entry+`,"request":"r","text":"Failed to load resource: 404"`)
		}, "Failed to load resource: 404×1"},
		{"the request is another tab's", func(w *enginetest.World) {
			w.Open(8, "http://localhost:5173/")
			w.Send("request", `"tab":8,"id":"r","method":"GET","url":"http://localhost:5173/x","resource":"fetch"`)
			w.Send("console", entry+`,"request":"r","text":"Failed to load resource: 404"`)
		}, "Failed to load resource: 404×1"},
		{"the page itself says so", func(w *enginetest.World) {
			w.Send("request", `"id":"r","method":"GET","url":"http://localhost:5173/x","resource":"fetch"`)
			w.Send("console", `"level":"error","via":"console","request":"r","text":"Failed to load resource: 404"`)
		}, "Failed to load resource: 404×1"},
		{"a socket that could not be opened, its secrets masked", func(w *enginetest.World) {
			w.Send("websocket", `"id":"w","url":"ws://localhost:5173/live?token=hunter2hunter2&a=1","op":"error","text":"the connection could not be established"`)
			w.Send("console", entry+`,"text":"WebSocket connection to 'ws://localhost:5173/live?token=hunter2hunter2&a=1' failed: "`)
		}, ""},
		{"a socket that the page closed too early", func(w *enginetest.World) {
			w.Send("websocket", `"id":"w","url":"ws://localhost:5173/live","op":"error","text":"WebSocket is closed before the connection is established."`)
			w.Send("console", `"level":"warning","via":"browser","category":"network","text":"WebSocket connection to 'ws://localhost:5173/live' failed: WebSocket is closed before the connection is established."`)
			w.Send("websocket", `"id":"w","url":"ws://localhost:5173/live","op":"open"`)
			w.Send("websocket", `"id":"w","url":"ws://localhost:5173/live","op":"close"`)
		}, ""},
		{"a socket that failed long ago", func(w *enginetest.World) {
			w.Send("websocket", `"id":"w","url":"ws://localhost:5173/live","op":"error"`)
			w.Pass(time.Minute)
			w.Send("console", entry+`,"text":"WebSocket connection to 'ws://localhost:5173/live' failed: "`)
		}, "WebSocket connection to 'ws://localhost:5173/live' failed×1"},
	} {
		w := enginetest.New(t, capture.Limits{})
		c.happen(w)
		r := w.Changes(w.Agent(), params{})
		if got := messages(r.Console.NewErrors); got != c.errors || len(r.Console.NewWarnings) > 0 {
			t.Errorf("%s: %q %+v", c.name, got, r.Console.NewWarnings)
		}
		if s := r.WebSocket; len(s.ErrorMessages) > 1 || len(s.Disconnections)+len(s.NewConnections) > 0 {
			t.Errorf("%s: %s", c.name, show(s))
		}
	}
}

// TestAFailedLoadWithoutItsRequestNamesTheAddress: the request began before capture did, and the browser keeps no record of
// one that had no answer.
func TestAFailedLoadWithoutItsRequestNamesTheAddress(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	from := w.Store.View(w.Now).Now()
	send := func() {
		for _, url := range []string{"https://fonts.test/css2?family=Roboto", "http://localhost:5173/a.png", "http://localhost:5173/b.png"} {
			w.Send("console", fmt.Sprintf(`"level":"error","via":"browser","category":"network","url":%q,"text":"Failed to load resource: net::ERR_NAME_NOT_RESOLVED"`, url))
		}
		w.Send("console", `"level":"error","via":"browser","category":"other","text":"Failed to load <img> http://localhost:5173/a.png"`)
		w.Send("console", `"level":"error","via":"browser","category":"other","text":"Failed to load <img> http://localhost:5173/c.png"`)
	}
	send()
	const text = "Failed to load resource: net::ERR_NAME_NOT_RESOLVED"
	r := w.Changes(a, params{})
	is(t, r.Console.NewErrors, `[{"message":"Failed to load <img> http://localhost:5173/c.png","count":1},{"message":"`+text+` /b.png","count":1},`+
		`{"message":"`+text+` /a.png","count":1},{"message":"`+text+` https://fonts.test/css2","count":1}]`)
	send()
	if r = w.Changes(a, params{}); r.Summary != "no new problems; 4 repeated errors" || r.Repeated[0].Message != text+" https://fonts.test/css2" {
		t.Error(show(r))
	}
	var said []string
	for _, c := range diff.Consequences(from, w.Store.View(w.Now), 0, window.Options{}) {
		said = append(said, fmt.Sprintf("%s ×%d", c.Text, c.Count))
	}
	if got := strings.Join(said, "; "); got != `error: "`+text+` https://fonts.test/css2" ×2; error: "`+text+` /a.png" ×2; error: "`+text+` /b.png" ×2; error: "Failed to load <img> http://localhost:5173/c.png" ×2` {
		t.Error(got)
	}
}

func TestABackfilledFailureIsNotCountedAgainFromTheLog(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Send("console", `"level":"error","via":"browser","category":"network","request":"1.2","url":"http://localhost:5173/x.png","text":"Failed to load resource: 404"`)
	w.Send("network", `"id":"backfill-1","method":"GET","url":"http://localhost:5173/x.png","resource":"image","status":404,"started":1,"duration":1,"backfilled":true`)
	r := w.Changes(w.Agent(), params{})
	if len(r.Console.NewErrors) != 0 || len(r.Network.Failures) != 1 {
		t.Error(show(r))
	}
}

// TestAnElementThatCannotLoadIsCountedAsItsRequestsFailure: reported by the page before the browser's records were
// read, it is one failure. Without a record of its request, it is a separate error.
func TestAnElementThatCannotLoadIsCountedAsItsRequestsFailure(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	unusable := `"level":"error","via":"browser","category":"other","text":"Failed to load <img> http://localhost:5173/%s.png"`
	w.Send("console", fmt.Sprintf(unusable, "x"))
	w.Send("console", fmt.Sprintf(unusable, "y"))
	w.Send("network", `"id":"backfill-1","method":"GET","url":"http://localhost:5173/x.png","resource":"image","status":404,"started":1,"duration":1,"backfilled":true`)
	r := w.Changes(a, params{})
	if len(r.Console.NewErrors) != 1 || !strings.Contains(r.Console.NewErrors[0].Message, "y.png") || len(r.Network.Failures) != 1 {
		t.Errorf("%+v %+v", r.Console.NewErrors, r.Network.Failures)
	}
}
