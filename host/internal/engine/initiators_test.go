package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// sent sends a request that was made by frames, innermost first: "function /script.js:column".
func sent(w *enginetest.World, method, path string, status int, more string, frames ...string) {
	var lines []string
	for _, f := range frames {
		var function, script string
		var column int
		if _, err := fmt.Sscan(strings.NewReplacer(":", " ").Replace(f), &function, &script, &column); err != nil {
			panic(err)
		}
		lines = append(lines, fmt.Sprintf("%q", fmt.Sprintf("%s (%s%s:1:%d)", function, enginetest.Page, script, column)))
	}
	w.Send("network", fmt.Sprintf(`"id":"r%d","method":%q,"url":%q,"resource":"fetch","status":%d,"started":%d,"duration":12,"stack":[%s]%s`,
		w.Now.UnixNano(), method, enginetest.Page+path, status, w.Now.UnixMilli(), strings.Join(lines, ","), more))
	w.Pass(time.Millisecond)
}

func TestTheInitiatorIsTheFirstFrameOfTheProjectsOwnCode(t *testing.T) {
	const twoFiles = `{"version":3,"sources":["node_modules/axios/lib/xhr.js","src/cart.ts"],"mappings":"AAAA,UC8BA"}`
	for _, c := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"of its own script", []string{"load /plain.js:5"}, "plain.js:1"},
		{"by its source map", []string{"load /app.js:45"}, "App.tsx:5"},
		{"a library in the same bundle is left out", []string{"send /bundle.js:1", "save /bundle.js:11"}, "cart.ts:31"},
		{"a package is left out", []string{"get /node_modules/.vite/deps/axios.js:9", "load /app.js:45"}, "App.tsx:5"},
		{"a known place wins over one that is not known", []string{"f /missing.js:1", "load /app.js:45"}, "App.tsx:5"},
		{"a library that its map names by base name only is left out", []string{"ajax /lib/jquery.min.js:9", "load /plain.js:5"}, "plain.js:1"},
		{"so is one in the same bundle", []string{"send /joined.js:1", "save /joined.js:11"}, "cart.js:31"},
		{"one that a server brings is left out", []string{"emit /socket.io/socket.io.js:9", "load /plain.js:5"}, "plain.js:1"},
		{"a small script without a map is left out", []string{"go /lib/carousel.min.js:9", "load /plain.js:5"}, "plain.js:1"},
		{"the project's own small script has a map", []string{"go /site.min.js:45", "load /plain.js:5"}, "site.ts:5"},
		{"one that is not known wins over code below it that is its own source", []string{"f /missing.js:1", "load /plain.js:5"}, "missing.js:1 (generated)"},
		{"else generated code", []string{"get /node_modules/axios.js:9", "f /missing.js:7", "g /missing.js:9"}, "missing.js:1 (generated)"},
		{"else a library", []string{"send /bundle.js:1", "get /node_modules/axios.js:9"}, "node_modules/axios/lib/xhr.js:1"},
		{"else a package in a bundle of packages", []string{"get /node_modules/.vite/deps/chunk.js:45"}, "node_modules/rxjs/Observable.ts:5"},
		{"else such a bundle without its map", []string{"get /node_modules/.vite/deps/missing.js:45"}, "node_modules/.vite/deps/missing.js:1 (generated)"},
		{"else a library that is served as written", []string{"get /node_modules/plain.js:45"}, "node_modules/plain.js:1"},
		{"none without a stack", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{}
			s.put("/app.js", oneFile("src/App.tsx"))
			s.put("/bundle.js", []byte(twoFiles))
			s.put("/plain.js", nil)
			s.put("/joined.js", []byte(`{"version":3,"sources":["jquery-3.7.1.js","cart.js"],"mappings":"AAAA,UC8BA"}`))
			s.put("/lib/jquery.min.js", oneFile("jquery.js"))
			s.put("/lib/carousel.min.js", nil)
			s.put("/site.min.js", oneFile("ts/site.ts"))
			s.put("/node_modules/.vite/deps/chunk.js", oneFile("../../rxjs/Observable.ts"))
			s.put("/node_modules/plain.js", nil)
			w := enginetest.NewWithMaps(t, s.fetch)
			for _, script := range []string{"/app.js", "/bundle.js", "/plain.js", "/joined.js", "/lib/jquery.min.js", "/lib/carousel.min.js", "/site.min.js", "/node_modules/.vite/deps/chunk.js", "/node_modules/plain.js"} {
				loaded(w, script, "")
			}
			a := w.Agent()
			w.Changes(a, params{})
			ask := func() *report.NetworkDiff { return w.Changes(w.Agent(), params{}).Network }
			sent(w, "POST", "/api/cart", 422, `,"mime":"application/json","response_body":"{\"message\":\"qty must be positive\"}"`, c.frames...)
			sent(w, "GET", "/api/new", 200, "", c.frames...)
			ask()
			s.fetched(w)
			ask() // a frame below the first may need a map of its own
			s.fetched(w)
			n := ask()
			for _, r := range []report.Request{n.Failures[0].Request, n.NewEndpoints[0].Request} {
				if got := report.Marked(r.Initiator, r.Generated); got != c.want || r.DurationMs != 12 || r.StartedAt.IsZero() {
					t.Errorf("%q, %+v", got, r)
				}
			}
			if n.Failures[0].Detail != "qty must be positive" {
				t.Errorf("%+v", n.Failures[0])
			}
		})
	}
}

func TestAFrameWhoseMapIsOnItsWayIsNotPassedOver(t *testing.T) {
	s := &server{}
	s.put("/app.js", oneFile("src/App.tsx"))
	s.put("/api.js", oneFile("src/api.ts"))
	s.hold()
	w := enginetest.NewWithMaps(t, func(ctx context.Context, script sourcemap.Script) (string, []byte, error) {
		if strings.HasSuffix(script.URL, "/api.js") {
			return s.slowly(ctx, script)
		}
		return s.fetch(ctx, script)
	})
	loaded(w, "/app.js", "")
	loaded(w, "/api.js", "")
	ask := func() string {
		f := w.Changes(w.Agent(), params{}).Network.Failures[0]
		return report.Marked(f.Initiator, f.Generated)
	}
	sent(w, "GET", "/a", 500, "", "load /app.js:45")
	ask()
	s.fetched(w)
	sent(w, "GET", "/a", 500, "", "send /api.js:45", "load /app.js:45")
	if got := ask(); got != "api.js:1 (generated)" {
		t.Error(got)
	}
	s.letGo()
	s.fetched(w)
	if got := ask(); got != "api.ts:5" {
		t.Error(got)
	}
}

func TestTheCallerOfAWrapperIsTheInitiator(t *testing.T) {
	s := &server{}
	s.put("/http.js", oneFile("src/http.ts"))
	s.put("/api.js", oneFile("src/api.ts"))
	s.put("/form.js", oneFile("src/Form.tsx"))
	w := enginetest.NewWithMaps(t, s.fetch)
	for _, script := range []string{"/http.js", "/api.js", "/form.js"} {
		loaded(w, script, "")
	}
	const wrapper, post = "request /http.js:45", "post /http.js:305"
	ask := func() (list []string) {
		for range 3 { // each may need the map of one more frame
			list = nil
			for _, f := range w.Changes(w.Agent(), params{}).Network.Failures {
				list = append(list, f.URL+" "+report.Marked(f.Initiator, f.Generated))
			}
			s.fetched(w)
		}
		return list
	}
	sent(w, "POST", "/api/tasks", 422, "", wrapper, post, "create /api.js:45", "submit /form.js:45")
	if got := strings.Join(ask(), "; "); got != "/api/tasks http.ts:5" {
		t.Error("before anything else went through it:", got)
	}
	sent(w, "POST", "/api/users", 500, "", wrapper, post, "invite /api.js:305")
	sent(w, "GET", "/api/menu", 404, "", wrapper, "load /form.js:305")
	sent(w, "GET", "/api/me", 401, "", wrapper)
	if got := strings.Join(ask(), "; "); got != "/api/tasks api.ts:5; /api/users api.ts:31; /api/menu Form.tsx:31; /api/me http.ts:5" {
		t.Error(got)
	}
}

// TestAFailedRequestNamesTheCallOfItsInitiator in another file, if no library's code is between them.
func TestAFailedRequestNamesTheCallOfItsInitiator(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"in another file", []string{"list /api.js:45", "load /form.js:45"}, "api.ts:5 called at Form.tsx:5"},
		{"through a function in the same file", []string{"request /api.js:45", "list /api.js:305", "load /form.js:45"}, "api.ts:5 called at Form.tsx:5"},
		{"in a script that is its own source", []string{"list /api.js:45", "load /plain.js:45"}, "api.ts:5 called at plain.js:1"},
		{"in the same file alone", []string{"request /api.js:45", "list /api.js:305"}, "api.ts:5 called at "},
		{"by a library", []string{"list /api.js:45", "run /node_modules/plain.js:45", "load /form.js:45"}, "api.ts:5 called at "},
		{"in generated code", []string{"list /api.js:45", "load /missing.js:45"}, "api.ts:5 called at "},
		{"by a library that was called", []string{"send /node_modules/plain.js:45", "list /api.js:45", "load /form.js:45"}, "api.ts:5 called at Form.tsx:5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{}
			s.put("/api.js", oneFile("src/api.ts"))
			s.put("/form.js", oneFile("src/Form.tsx"))
			s.put("/plain.js", nil)
			s.put("/node_modules/plain.js", nil)
			w := enginetest.NewWithMaps(t, s.fetch)
			for _, script := range []string{"/api.js", "/form.js", "/plain.js", "/node_modules/plain.js"} {
				loaded(w, script, "")
			}
			sent(w, "POST", "/api/tasks", 422, "", c.frames...)
			got := ""
			for range 3 { // each may need the map of one more frame
				f := w.Changes(w.Agent(), params{}).Network.Failures[0]
				got = f.Initiator + " called at " + f.CalledAt
				s.fetched(w)
			}
			if got != c.want {
				t.Errorf("%s, not %s", got, c.want)
			}
			want := strings.TrimSuffix(c.want, " called at ")
			if line := inLines(t, w, w.Agent(), "get_network_requests", `{}`); !strings.HasSuffix(line, " "+want) {
				t.Errorf("the list of requests does not end with %q:\n%s", want, line)
			}
		})
	}
}

// TestAFunctionThatAsksWithSeveralQueriesIsAWrapper: numbers in a query do not count, as in a path.
func TestAFunctionThatAsksWithSeveralQueriesIsAWrapper(t *testing.T) {
	for want, queries := range map[string][2]string{
		"api.ts:5, api.ts:31": {"tag=x", "tag=y"}, "http.ts:5": {"page=1", "page=2"},
	} {
		s := &server{}
		s.put("/http.js", oneFile("src/http.ts"))
		s.put("/api.js", oneFile("src/api.ts"))
		w := enginetest.NewWithMaps(t, s.fetch)
		loaded(w, "/http.js", "")
		loaded(w, "/api.js", "")
		sent(w, "GET", "/api/articles?"+queries[0], 500, "", "get /http.js:45", "race /api.js:45")
		sent(w, "GET", "/api/articles?"+queries[1], 500, "", "get /http.js:45", "race /api.js:305")
		var from []string
		for range 3 { // each may need the map of one more frame
			from = nil
			for _, f := range w.Changes(w.Agent(), params{}).Network.Failures {
				from = append(from, f.Initiator)
			}
			s.fetched(w)
		}
		if got := strings.Join(slices.Compact(from), ", "); got != want {
			t.Errorf("%s: %s, not %s", queries, got, want)
		}
	}
}

func TestAWarningIsLocatedAtTheComponentThatItNames(t *testing.T) {
	s := &server{}
	s.put("/node_modules/react-dom.js", nil)
	s.put("/app.js", oneFile("src/List.tsx"))
	s.hold()
	w := enginetest.NewWithMaps(t, s.slowly)
	loaded(w, "/app.js", "")
	loaded(w, "/node_modules/react-dom.js", "")
	library := enginetest.Page + "/node_modules/react-dom.js"
	w.Send("console", fmt.Sprintf(`"level":"error","via":"console","text":%q,"url":%q,"line":1,"column":1,"stack":[%q]`,
		"Warning: Encountered two children with the same key, `1`.\n    at List ("+enginetest.Page+"/app.js:1:45)\n    at Router (<anonymous>)", library, "printWarning ("+library+":1:1)"))
	ask := func() report.Message { return w.Changes(w.Agent(), params{}).Console.NewErrors[0] }
	if m := ask(); m.Source != "app.js:1" || !m.Generated {
		t.Errorf("%+v", m)
	}
	s.letGo()
	s.fetched(w)
	if m := ask(); m.Source != "List.tsx:5" || m.Generated {
		t.Errorf("%+v", m)
	}
}

// TestAnErrorOfAFrameworkIsAtTheComponentThatItNames in what it logs about the error, before or after that.
func TestAnErrorOfAFrameworkIsAtTheComponentThatItNames(t *testing.T) {
	s := &server{}
	s.put("/node_modules/react-dom.js", nil)
	s.put("/app.js", oneFile("src/Menu.tsx"))
	library := enginetest.Page + "/node_modules/react-dom.js"
	for _, first := range []bool{true, false} {
		w := enginetest.NewWithMaps(t, s.fetch)
		loaded(w, "/app.js", "")
		loaded(w, "/node_modules/react-dom.js", "")
		log := func(via, text string) {
			w.Send("console", fmt.Sprintf(`"level":"error","via":%q,"text":%q,"url":%q,"line":1,"column":1,"stack":[%q]`, via, text, library, "render ("+library+":1:1)"))
			w.Pass(time.Millisecond)
		}
		if !first {
			log("exception", "Error: Too many re-renders.")
		}
		log("console", "The above error occurred in the <Menu> component:\n\n    at Menu ("+enginetest.Page+"/app.js:1:45)\n    at main")
		if first {
			log("exception", "Error: Too many re-renders.")
		}
		for range 2 { // the first one asks for the map
			w.Changes(w.Agent(), params{})
			s.fetched(w)
		}
		if list := w.Changes(w.Agent(), params{}).Console.NewErrors; len(list) != 1 || list[0].Source != "Menu.tsx:5" {
			t.Errorf("%+v", list)
		}
	}
}

func TestTheDocumentsOwnRequestsAreNotReadAgainForAMap(t *testing.T) {
	s := &server{}
	w := enginetest.NewWithMaps(t, s.fetch)
	w.Send("network", fmt.Sprintf(`"id":"r1","method":"GET","url":"%s/gone.css","resource":"stylesheet","status":404,"started":%d,"duration":1,"stack":["(document) (%s/:12:1)"]`, enginetest.Page, w.Now.UnixMilli(), enginetest.Page))
	if f := w.Changes(w.Agent(), params{}).Network.Failures[0]; f.Initiator != "(page):12" || f.Generated {
		t.Errorf("%+v", f)
	}
	if got := s.fetched(w); got != "" {
		t.Errorf("fetched %s", got)
	}
}

func TestInitiatorsOfOneBaseNameAreToldApart(t *testing.T) {
	s := &server{}
	s.put("/src/cart/api.js", nil)
	s.put("/src/user/api.js", nil)
	w := enginetest.NewWithMaps(t, s.fetch)
	sent(w, "GET", "/api/a", 500, "", "f /src/cart/api.js:3")
	sent(w, "GET", "/api/b", 500, "", "f /src/user/api.js:4")
	w.Changes(w.Agent(), params{})
	s.fetched(w)
	n := w.Changes(w.Agent(), params{}).Network
	if n.Failures[0].Initiator != "src/cart/api.js:1" || n.Failures[1].Initiator != "src/user/api.js:1" {
		t.Errorf("%+v", n.Failures)
	}
}

func TestMapsOfFailuresAndWritesAreAskedForAsTheyComeIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.put("/app.js", oneFile("src/App.tsx"))
		w := enginetest.NewWithMaps(t, s.fetch)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Engine.Observer.AskForMaps(ctx)
		synctest.Wait()
		sent(w, "GET", "/api/fine", 200, "", "f /other.js:3")
		sent(w, "GET", "/api/a", 500, "", "f /app.js:45")
		sent(w, "PUT", "/api/a", 200, "", "f /form.js:45")
		time.Sleep(time.Second)
		if got := s.fetched(w); got != "1/app.js 1/form.js" {
			t.Error(got)
		}
	})
}

func TestWhatALibraryRepeatsIsOfTheCodeThatBeganIt(t *testing.T) {
	s := &server{}
	s.put("/chat.js", oneFile("src/chat.ts"))
	w := enginetest.NewWithMaps(t, s.fetch)
	const library, own = "poll /socket.io/socket.io.js:1", "start /chat.js:45"
	socket := func(host, path string, frames ...string) {
		w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":%q,"op":"error","stack":[%s]`, w.Now.UnixNano(), host+path, strings.Join(frames, ",")))
		w.Pass(time.Millisecond)
	}
	const page, timer, opener = "ws://localhost:5173", `"poll (http://localhost:5173/socket.io/socket.io.js:1:1)"`, `"start (http://localhost:5173/chat.js:1:45)"`
	ask := func() string {
		var list []string
		for range 3 { // each may need the map of one more frame
			list = nil
			r := w.Changes(w.Agent(), params{})
			for _, f := range r.Network.Failures {
				list = append(list, f.Method+" "+f.URL+" "+f.Initiator)
			}
			for _, e := range r.WebSocket.ErrorMessages {
				list = append(list, e.URL+" "+e.Initiator)
			}
			s.fetched(w)
		}
		return strings.Join(list, "; ")
	}
	load := func() {
		w.Send("navigation", `"how":"load","url":"http://localhost:5173/","title":"chat"`)
		for _, script := range []string{"/chat.js", "/socket.io/socket.io.js"} {
			loaded(w, script, "")
		}
	}
	load()
	sent(w, "GET", "/sockets/?EIO=4&transport=polling&t=1", 404, "", library, own)
	sent(w, "GET", "/sockets/?EIO=4&transport=polling&t=2", 404, "", library)
	sent(w, "POST", "/sockets/?EIO=4&transport=polling&t=3", 404, "", library)
	sent(w, "POST", "/api/orders", 500, "", library)
	socket(page, "/sockets/?EIO=4&transport=websocket", timer)
	socket(page, "/live", timer, opener)
	socket(page, "/live", timer)
	socket(page, "/other", timer)
	sent(w, "GET", "/other", 200, "", own)
	socket("ws://localhost:9999", "/live", timer)
	const unknown = "socket.io.js:1"
	want := "GET /sockets/ chat.ts:5; POST /sockets/ chat.ts:5; POST /api/orders " + unknown +
		"; /live chat.ts:5; ws://localhost:9999/live " + unknown + "; /other " + unknown + "; /sockets/ chat.ts:5"
	if got := ask(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}

	load() // another page: who began it there is not known
	sent(w, "GET", "/sockets/?EIO=4&transport=polling&t=4", 404, "", library)
	if got := ask(); got != "GET /sockets/ "+unknown {
		t.Error(got)
	}
}

func TestASocketsEndHasItsInitiatorAndStatus(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for i := range 2 {
		w.Send("websocket", fmt.Sprintf(`"id":"w%d","url":"ws://localhost:5173/live","op":"error","text":"Unexpected response code: 403","status":403,%s`, i, stack))
		w.Send("websocket", fmt.Sprintf(`"id":"x%d","url":"ws://localhost:5173/feed","op":"close","code":1006,"reason":"session %d ended",%s`, i, 4711+i, stack))
	}
	is(t, w.Changes(w.Agent(), params{}).WebSocket, `{"disconnections":[{"url":"/feed","code":1006,"reason":"session 4711 ended","count":2,"initiator":"cart.js:31"}],`+
		`"error_messages":[{"url":"/live","message":"Unexpected response code: 403","status":403,"count":2,"initiator":"cart.js:31"}],"total_new_events":4}`)
}

func TestRequestsAreListedByTheirStart(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	// They end in another order than they began, and the one that fails most often began last.
	for i, path := range []string{"/d", "/b", "/c", "/a", "/d"} {
		began := map[string]int{"/a": 10, "/b": 20, "/c": 30, "/d": 40 + i}[path]
		for _, r := range []struct {
			prefix string
			status int
		}{{"/bad", 500}, {"/fine", 200}} {
			w.Send("network", fmt.Sprintf(`"id":"o%d%s","method":"GET","url":"%s%s%s","resource":"fetch","status":%d,"started":%d,"duration":500`,
				i, r.prefix, enginetest.Page, r.prefix, path, r.status, w.Now.UnixMilli()+int64(began)))
		}
	}
	var failed, fine []string
	n := w.Changes(a, params{}).Network
	for _, f := range n.Failures {
		failed = append(failed, f.URL)
	}
	for _, e := range n.NewEndpoints {
		fine = append(fine, e.URL)
	}
	if got := strings.Join(failed, " ") + " " + strings.Join(fine, " "); got != "/bad/a /bad/b /bad/c /bad/d /fine/a /fine/b /fine/c /fine/d" {
		t.Error(got)
	}
}

func TestAnActionNamesWhyARequestFailedAndWhoMadeIt(t *testing.T) {
	s := &server{}
	s.put("/app.js", oneFile("src/cart.ts"))
	w := enginetest.NewWithMaps(t, s.fetch)
	from := w.Store.View(w.Now).Now()
	// The second one ends first.
	w.Send("network", fmt.Sprintf(`"id":"b","method":"GET","url":"%s/api/menu","resource":"fetch","status":200,"started":%d,"duration":5`, enginetest.Page, w.Now.UnixMilli()+20))
	sent(w, "POST", "/api/cart", 422, `,"mime":"application/json","response_body":"{\"message\":\"qty must be positive\"}"`, "save /app.js:305")
	sent(w, "POST", "/graphql", 200, `,"request_body":"{\"query\":\"mutation AddToCart { x }\"}","response_body":"{\"errors\":[{\"message\":\"sold out\"}]}"`)
	ask := func() (text []string) {
		v := w.Store.View(w.Now)
		o := window.Options{}
		w.Engine.Observer.OriginalsIn(v).Explain(&o)
		for _, c := range diff.Consequences(from, v, 0, o) {
			text = append(text, c.Text)
		}
		return text
	}
	ask()
	s.fetched(w)
	if got := strings.Join(ask(), "; "); got != `POST /api/cart 422 "qty must be positive" from cart.ts:31; POST /graphql AddToCart GraphQL error "sold out"; GET /api/menu 200` {
		t.Error(got)
	}
}
