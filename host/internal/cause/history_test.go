package cause_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
)

// TestAServersOtherAnswerIsNoEdit: a page polls, is updated, polls without an error, and fails when the answer is another one.
// An edit that fails with its first answer is named.
func TestAServersOtherAnswerIsNoEdit(t *testing.T) {
	for at, want := range map[int64]string{1720: "src/a.js", 3120: cause.Ran} {
		rules := noise.Default()
		s := capture.New(capture.DefaultLimits(), rules, time.UnixMilli(0))
		in := func(at int64) event.Head {
			return event.Head{At: at, Subject: event.InTab(1, "http://localhost:5173")}
		}
		events := []event.Event{&event.Console{Head: in(1050), Level: event.Debug, Text: "[vite] hot updated: /src/a.js"}}
		for poll := int64(1000); poll <= 3100; poll += 700 {
			events = append(events, &event.Network{Head: in(poll + 10), Method: "GET", URL: "http://localhost:5173/api/todos", Resource: "fetch", Status: 200, Started: poll})
		}
		thrown := &event.Console{Head: in(at), Level: event.Error, Text: "TypeError: todos is undefined"}
		if err := capture.NewSink(s, capture.Browsers, epoch).Append(t.Context(), append(events, thrown)...); err != nil {
			t.Fatal(err)
		}
		if err := capture.NewSink(s, capture.Workspaces, epoch).Append(t.Context(), edit("src/a.js", 1000, event.Run{At: 12, Old: 1, New: 1}).FileChange); err != nil {
			t.Fatal(err)
		}
		past := cause.Read(s.View(time.UnixMilli(4000)), capture.Positions{}, func(event.Subject) bool { return true }, rules.Update)
		found, got := past.Of(past.OfMessage(thrown, frames("http://localhost:5173/src/a.js", 12)))
		if found != nil {
			got = found.Path
		}
		if got != want {
			t.Errorf("at %d it is %q, want %q", at, got, want)
		}
	}
}

// TestAHotUpdateThatTheServerDoesNotHave is of the connection to it: no edit takes the file away, but a start of the server.
func TestAHotUpdateThatTheServerDoesNotHave(t *testing.T) {
	for url, want := range map[string]bool{
		"http://127.0.0.1:8080/main.1e08dfccc9cb7d2312a4.hot-update.json": true,
		"http://127.0.0.1:8080/main.1e08dfccc9cb7d2312a4.hot-update.js":   true,
		"http://127.0.0.1:8080/a.hot-update.mjs?x=1":                      true,
		"http://127.0.0.1:8080/api/hot-update":                            false,
		"http://127.0.0.1:8080/hot-update.json/x":                         false,
	} {
		if got := new(cause.Past).OfRequest(&event.Network{URL: url, Status: 404}, nil).Server; got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
}

// TestAnAnswerThatBreaksOffIsNoEdit: a page opens a stream, or polls for long, as a hot update replaces a module. Its server is
// killed later.
func TestAnAnswerThatBreaksOffIsNoEdit(t *testing.T) {
	const api = "http://localhost:3001/api/events"
	for name, c := range map[string]struct {
		request     event.Network
		server, own bool
	}{
		"a stream":                   {event.Network{Head: event.Head{At: 5000}, Status: 200, Error: "net::ERR_INCOMPLETE_CHUNKED_ENCODING"}, true, true},
		"a stream of minutes":        {event.Network{Head: event.Head{At: 121_000}, Status: 200, Error: "net::ERR_INCOMPLETE_CHUNKED_ENCODING"}, true, true},
		"a stream over HTTP/2":       {event.Network{Head: event.Head{At: 5000}, Status: 200, Error: "net::ERR_HTTP2_PROTOCOL_ERROR"}, true, true},
		"a poll":                     {event.Network{Head: event.Head{At: 31_000}, Error: "net::ERR_EMPTY_RESPONSE"}, true, true},
		"a poll through a proxy":     {event.Network{Head: event.Head{At: 31_000}, Status: 500}, true, true},
		"a request that is rejected": {event.Network{Head: event.Head{At: 1120}, Error: "net::ERR_FAILED"}, false, false},
		"an answer that is blocked":  {event.Network{Head: event.Head{At: 1120}, Status: 200, Error: "net::ERR_BLOCKED_BY_ORB"}, false, false},
		"an answer of slow code":     {event.Network{Head: event.Head{At: 31_000}, Status: 500, Detail: "TypeError: cart is undefined"}, false, false},
		"an address that is missing": {event.Network{Head: event.Head{At: 31_000}, Error: "net::ERR_NAME_NOT_RESOLVED"}, false, false},
	} {
		rules := noise.Default()
		s := capture.New(capture.DefaultLimits(), rules, time.UnixMilli(0))
		in := func(at int64) event.Head {
			return event.Head{At: at, Subject: event.InTab(1, "http://localhost:5173")}
		}
		request := c.request
		request.Head, request.Method, request.URL, request.Resource, request.Started = in(request.At), "GET", api, "fetch", 1100
		logged := &event.Console{Head: in(request.At + 10), Level: event.Error, Text: "Error: the connection is lost"}
		refused := &event.Network{Head: in(request.At + 8010), Method: "GET", URL: api, Resource: "fetch", Error: "net::ERR_CONNECTION_REFUSED", Started: request.At + 8000}
		if err := capture.NewSink(s, capture.Browsers, epoch).Append(t.Context(),
			&event.Console{Head: in(1050), Level: event.Debug, Text: "[vite] hot updated: /src/a.js"}, &request, logged,
			&event.Console{Head: in(request.At + 7980), Level: event.Debug, Text: "[vite] hot updated: /src/b.js"}, refused,
		); err != nil {
			t.Fatal(err)
		}
		files := capture.NewSink(s, capture.Workspaces, epoch)
		if err := files.Append(t.Context(), edit("src/a.js", 1000, at(1)).FileChange, edit("src/b.js", request.At+7950, at(1)).FileChange); err != nil {
			t.Fatal(err)
		}
		past := cause.Read(s.View(time.UnixMilli(200_000)), capture.Positions{}, func(event.Subject) bool { return true }, rules.Update)
		symptom := past.OfRequest(&request, nil)
		if symptom.Server != c.server {
			t.Errorf("%s: of the connection: %v", name, symptom.Server)
		}
		if want := map[bool]int64{true: request.At, false: 1100}[c.server]; symptom.At != want || cause.Began(&request) != want {
			t.Errorf("%s: it began at %d, want %d", name, symptom.At, want)
		}
		if found, why := past.Of(symptom); (found == nil) != c.server {
			t.Errorf("%s: %+v, %s", name, found, why)
		}
		if found, why := past.Of(past.OfMessage(logged, nil)); c.own && (found != nil || why != cause.Outage) {
			t.Errorf("%s, and what the page logs of it: %+v, %s", name, found, why)
		}
		if found, why := past.Of(past.OfRequest(refused, nil)); request.Status == 200 && c.own && (found != nil || why != cause.Outage) {
			t.Errorf("%s, and the next request: %+v, %s", name, found, why)
		}
	}
}

// TestASocketThatBreaksOffIsNoEdit: a page's own connection ends just after a hot update, because its server was killed, or because
// one side closed it.
func TestASocketThatBreaksOffIsNoEdit(t *testing.T) {
	past := cause.Read(capture.New(capture.DefaultLimits(), noise.Default(), time.UnixMilli(0)).View(time.UnixMilli(2000)), capture.Positions{}, func(event.Subject) bool { return true }, noise.Default().Update)
	for code, want := range map[int]bool{1006: true, 1000: false, 1011: false} {
		e := &event.WebSocket{Head: event.Head{At: 1100, Subject: event.InTab(1, "http://localhost:5173")}, Op: "close", Code: code, URL: "ws://localhost:3001/feed"}
		if got := past.OfSocket(e, nil).Server; got != want {
			t.Errorf("code %d is of the connection: %v", code, got)
		}
	}
}

// TestALongPollIsNoOutageBeforeItBreaksOff: a page breaks with an edit as a long poll is under way, whose server ends later.
func TestALongPollIsNoOutageBeforeItBreaksOff(t *testing.T) {
	rules := noise.Default()
	s := capture.New(capture.DefaultLimits(), rules, time.UnixMilli(0))
	in := func(at int64) event.Head {
		return event.Head{At: at, Subject: event.InTab(1, "http://localhost:5173")}
	}
	poll := event.Network{Method: "GET", URL: "http://localhost:5173/api/poll", Resource: "fetch"}
	answered, broken := poll, poll
	answered.Head, answered.Status, answered.Started = in(900), 200, 100
	broken.Head, broken.Error, broken.Started = in(60_000), "net::ERR_EMPTY_RESPONSE", 950
	thrown := &event.Console{Head: in(20_100), Level: event.Error, Text: "TypeError: todos is undefined"}
	if err := capture.NewSink(s, capture.Browsers, epoch).Append(t.Context(),
		&answered, &event.Console{Head: in(20_050), Level: event.Debug, Text: "[vite] hot updated: /src/a.js"}, thrown, &broken,
	); err != nil {
		t.Fatal(err)
	}
	if err := capture.NewSink(s, capture.Workspaces, epoch).Append(t.Context(), edit("src/a.js", 20_000, at(12)).FileChange); err != nil {
		t.Fatal(err)
	}
	past := cause.Read(s.View(time.UnixMilli(70_000)), capture.Positions{}, func(event.Subject) bool { return true }, rules.Update)
	if found, why := past.Of(past.OfMessage(thrown, frames("http://localhost:5173/src/a.js", 12))); found == nil {
		t.Errorf("no edit is named: %s", why)
	}
}

// TestWhatFailedBeforeIsNoLaterEdit: a module is broken, the page is loaded, another module is replaced, and the page is loaded
// again.
func TestWhatFailedBeforeIsNoLaterEdit(t *testing.T) {
	const broken = "[plugin:vite:oxc] Unexpected token – /home/me/shop/src/list.tsx:3:7"
	rules := noise.Default()
	s := capture.New(capture.DefaultLimits(), rules, time.UnixMilli(0))
	in := func(at int64) event.Head {
		return event.Head{At: at, Subject: event.InTab(1, "http://localhost:5173")}
	}
	module := func(at int64, status int) *event.Network {
		return &event.Network{Head: in(at + 10), Method: "GET", URL: fmt.Sprintf("http://localhost:5173/src/list.tsx?t=%d", 1795714400000+at), Resource: "script", Status: status, Started: at}
	}
	overlay := func(at int64) *capture.Change {
		return &capture.Change{Head: in(at), Op: "appeared", Element: capture.ElementKey{Tab: 1, Origin: "http://localhost:5173", Selector: "vite-error-overlay", Text: broken}}
	}
	load := func(at int64) *capture.Change {
		return &capture.Change{Head: in(at), Op: "navigated", How: "reload", URL: "http://localhost:5173/"}
	}
	hot := func(at int64, file string) *event.Console {
		return &event.Console{Head: in(at), Level: event.Debug, Text: "[vite] hot updated: " + file}
	}
	requests := []*event.Network{module(2100, 500), module(5100, 500), module(12_100, 500), module(14_100, 500), module(20_100, 500)}
	if err := capture.NewSink(s, capture.Browsers, epoch).Append(t.Context(),
		load(1000), module(1100, 200), hot(2050, "/src/list.tsx"), requests[0], overlay(2150),
		load(5000), requests[1], overlay(5150), hot(10_100, "/src/filter.tsx"), load(12_000), requests[2], overlay(12_150),
		hot(14_050, "/src/filter.tsx"), requests[3],
		hot(16_950, "/src/list.tsx"), module(17_000, 200), hot(20_050, "/src/list.tsx"), requests[4], overlay(20_150),
	); err != nil {
		t.Fatal(err)
	}
	files := capture.NewSink(s, capture.Workspaces, epoch)
	for at, path := range map[int64]string{2000: "src/list.tsx", 10_000: "src/filter.tsx", 14_000: "src/filter.tsx", 16_900: "src/list.tsx", 20_000: "src/list.tsx"} {
		e := edit(path, at, event.Run{At: 3, Old: 1, New: 1})
		e.Tail = path
		if err := files.Append(t.Context(), e.FileChange); err != nil {
			t.Fatal(err)
		}
	}
	v := s.View(time.UnixMilli(30_000))
	past := cause.Read(v, capture.Positions{}, func(event.Subject) bool { return true }, rules.Update)
	slices.SortFunc(past.Edits, func(a, b cause.Edit) int { return int(a.At - b.At) })
	for i, want := range []string{"src/list.tsx", cause.NoEvidence, cause.Existed, cause.Existed, "src/list.tsx"} {
		found, got := past.Of(past.OfRequest(requests[i], nil))
		if found != nil {
			got = found.Path
		}
		if got != want {
			t.Errorf("the request %d: %s, want %s", i, got, want)
		}
	}
	var overlays []int64
	for _, e := range v.DOM().From(0) {
		if e.Op != "appeared" || e.At == 5150 {
			continue
		}
		found, got := past.Of(past.OfElement(e))
		overlays = append(overlays, e.At)
		if found != nil {
			got = found.Path
		}
		if want := map[int64]string{2150: "src/list.tsx", 12_150: cause.Existed, 20_150: "src/list.tsx"}[e.At]; got != want {
			t.Errorf("the overlay at %d: %s, want %s", e.At, got, want)
		}
	}
	if !slices.Equal(overlays, []int64{2150, 12_150, 20_150}) {
		t.Errorf("the overlay appeared at %v", overlays)
	}
}

// TestAGeneratedLineIsNoPlaceInAFile: webpack names lines of what its loaders made of a file, and so does the stack in React
// Refresh's overlay. A change of such a line in the file itself is no evidence of that line.
func TestAGeneratedLineIsNoPlaceInAFile(t *testing.T) {
	const refresh, dev = "#react-refresh-overlay", "#webpack-dev-server-client-overlay"
	for name, c := range map[string]struct {
		selector, text string
		line           int
		evidence       []cause.Evidence
	}{
		"a missing import": {
			dev, "ERROR in ./src/App.jsx 10:0-35 Module not found: Error: Can't resolve './Items.jsx' in '/app/src' – ./src/App.jsx:10:0 (generated)",
			0,
			[]cause.Evidence{cause.HotUpdate, cause.Order},
		},
		"a stack": {
			refresh, "Error no cart Call Stack eval src/App.jsx:11:7 ./src/App.jsx main.674f55d1d9148ac53a04.hot-update.js:18:1 options.factory main.js:2115:30 – src/App.jsx:11:7 (generated)",
			0,
			[]cause.Evidence{cause.HotUpdate, cause.Order},
		},
		"a syntax error": {
			dev, "ERROR in ./src/App.jsx Module build failed: SyntaxError: src/App.jsx: Unexpected token (11:6) – src/App.jsx:11:6",
			11,
			[]cause.Evidence{cause.Stack, cause.HotUpdate, cause.Order},
		},
	} {
		changed := edit("src/App.jsx", 5000, at(4), event.Run{At: 9, Old: 3, New: 4})
		changed.Tail = "src/App.jsx"
		past := &cause.Past{}
		symptom := past.OfElement(&capture.Change{Head: event.Head{At: 5100, Subject: event.InTab(1, "http://localhost:8080")}, Op: "appeared", Element: capture.ElementKey{Tab: 1, Selector: c.selector, Text: c.text}})
		f := cause.Finder{Edits: []cause.Edit{changed}}
		found, why := f.Find(symptom, &cause.History{Updates: []int64{1000, 5060}, Loads: []int64{1000}, Modules: []cause.Module{{At: 5060, File: "./src/App.jsx"}}})
		if found == nil || found.Line != c.line || !slices.Equal(found.Evidence, c.evidence) {
			t.Errorf("%s: %+v, %s", name, found, why)
		}
	}
}

// TestAnErrorOfAScriptOfAnotherOriginIsNoEdit: the browser hides what and where it was, and only the order would speak for an edit.
func TestAnErrorOfAScriptOfAnotherOriginIsNoEdit(t *testing.T) {
	for text, want := range map[string]string{"Script error.": cause.Outside, "Uncaught Script error.": cause.Outside, "Error: Script error. Try again": ""} {
		f := cause.Finder{Edits: []cause.Edit{edit("src/a.js", 5000, at(4))}}
		symptom := new(cause.Past).OfMessage(&event.Console{Head: event.Head{At: 5100, Subject: event.InTab(1, "http://localhost:8080")}, Level: event.Error, Via: "exception", Text: text}, nil)
		if _, why := f.Find(symptom, &cause.History{Updates: []int64{1000, 5060}, Loads: []int64{1000, 5060}}); why != want {
			t.Errorf("%q: %q, want %q", text, why, want)
		}
	}
}
