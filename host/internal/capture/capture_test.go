package capture_test

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/testing/capturetest"
	"tidemark.dev/tidemark/protocol"
)

// TestAMomentIsRebuiltFromTheEventsBeforeIt: what MomentAt makes of a time equals what was there at
// that time, alone and with others, for random events, however much was evicted before.
func TestAMomentIsRebuiltFromTheEventsBeforeIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := capture.DefaultLimits()
		limits[capture.Network].Count = rapid.IntRange(5, 40).Draw(rt, "network")
		limits[capture.DOM].Count = rapid.IntRange(5, 40).Draw(rt, "dom")
		w := capturetest.New(t, limits)
		type taken struct {
			at     time.Time
			moment capture.Moment
		}
		var moments []taken
		for range rapid.IntRange(0, 80).Draw(rt, "steps") {
			w.Pass(time.Second)
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0, 1:
				w.Request("GET", fmt.Sprintf("/e%c", 'a'+rapid.IntRange(0, 5).Draw(rt, "endpoint")), rapid.SampledFrom([]int{200, 404, 500, 0}).Draw(rt, "status"), 10)
			case 2:
				w.Element("appeared", rapid.IntRange(1, 4).Draw(rt, "id"), ".error", rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "text"))
			case 3:
				w.Element("gone", rapid.IntRange(1, 4).Draw(rt, "id"), "", "")
			case 4:
				w.Send("navigation", fmt.Sprintf(`"how":"history","url":"%s/p%d"`, capturetest.Page, rapid.IntRange(0, 3).Draw(rt, "page")))
			}
			moments = append(moments, taken{w.Now, w.Store.View(w.Now).Now()})
		}
		v := w.Store.View(w.Now)
		times := make([]time.Time, len(moments))
		for i, m := range moments {
			times[i] = m.at
		}
		together := v.MomentsAt(times)
		check := func(m taken, again capture.Moment) {
			if m.moment.Pos[capture.Network] < v.Network().First() || m.moment.Pos[capture.DOM] < v.DOM().First() {
				return // evicted since: the oldest state that is known stands in for it
			}
			// Position 1 stands for "maybe before everything that is held".
			sameNetwork, sameDOM := again.Pos[capture.Network] == m.moment.Pos[capture.Network], again.Pos[capture.DOM] == m.moment.Pos[capture.DOM]
			if !sameNetwork && again.Pos[capture.Network] != 1 || !sameDOM && again.Pos[capture.DOM] != 1 {
				rt.Fatalf("positions %+v, were %+v", again.Pos, m.moment.Pos)
			}
			for _, endpoint := range "abcdef" {
				k := capture.EndpointKey{Page: capturetest.Page, Origin: capturetest.Page, Method: "GET", Path: "/e" + string(endpoint)}
				a, knownA := again.Endpoints.Get(k)
				b, knownB := m.moment.Endpoints.Get(k)
				if sameNetwork && (a != b || knownA != knownB) {
					rt.Fatalf("%v: %+v, was %+v", k, a, b)
				}
			}
			if sameDOM && !maps.Equal(again.DOMState.Elements(), m.moment.DOMState.Elements()) {
				rt.Fatalf("elements %v, were %v", again.DOMState.Elements(), m.moment.DOMState.Elements())
			}
		}
		for i, m := range moments {
			check(m, v.MomentAt(m.at))
			check(m, together[i])
		}
	})
}

func store(t *testing.T) (*capture.Store, time.Time) {
	t.Helper()
	now := time.Date(2026, 1, 23, 10, 0, 0, 0, time.UTC)
	return capture.New(capture.DefaultLimits(), noise.Default(), now), now
}

func hello(first int64) *protocol.Hello {
	return &protocol.Hello{Protocol: 1, Browser: "b", Extension: "1", Instance: "i", Stream: "s", First: first}
}

func line(now time.Time, text string) event.Event {
	return &event.Console{Head: event.Head{At: now.UnixMilli(), Subject: event.InTab(7, "")}, Level: event.Log, Via: "console", Text: text}
}

func TestWhatIsSentAgainIsTakenOnce(t *testing.T) {
	s, now := store(t)
	if next := s.Hello(hello(1), now); next != 1 {
		t.Fatalf("next is %d", next)
	}
	batch := []event.Event{line(now, "1"), line(now, "2"), line(now, "3")}
	if next, bad := s.Apply("i", "s", 1, batch, now); bad != nil || next != 4 {
		t.Fatalf("%d %v", next, bad)
	}
	s.Disconnected("i", now)
	if next := s.Hello(hello(2), now); next != 4 {
		t.Errorf("after coming back next is %d", next)
	}
	if next, bad := s.Apply("i", "s", 2, []event.Event{line(now, "2"), line(now, "3"), line(now, "4")}, now); bad != nil || next != 5 {
		t.Errorf("%d %v", next, bad)
	}
	if next, _ := s.Apply("i", "s", 1, batch, now); next != 5 {
		t.Errorf("all of it again: %d", next)
	}
	v := s.View(now)
	if v.Console().Len() != 4 || v.Console().At(4).Text != "4" || len(v.Gaps) != 0 {
		t.Errorf("%d entries, gaps %+v", v.Console().Len(), v.Gaps)
	}
}

func TestWhatIsMissingLiesInAGap(t *testing.T) {
	s, now := store(t)
	s.Hello(hello(1), now)
	if _, bad := s.Apply("i", "s", 1, []event.Event{line(now, "1")}, now); bad != nil {
		t.Fatal(bad)
	}
	later := now.Add(time.Second)
	if next, bad := s.Apply("i", "s", 5, []event.Event{line(later, "5"), nil, nil}, later); bad != nil || next != 8 {
		t.Fatalf("%d %v", next, bad)
	}
	gaps := s.View(later).Gaps
	if len(gaps) != 2 || gaps[0].Reason != "disconnected" || gaps[0].Dropped != 3 || !gaps[0].From.Equal(now) || !gaps[0].To.Equal(later) ||
		gaps[1].Reason != "malformed" || gaps[1].Dropped != 2 {
		t.Errorf("%+v", gaps)
	}
	if _, bad := s.Apply("i", "another", 1, nil, now); bad == nil || bad.Code != protocol.CodeOutOfOrder {
		t.Errorf("an unknown stream: %+v", bad)
	}
}

// TestAGapOfAClosedTabEndsWithIt: its end, told when the tab is no longer known, is no gap of everyone's.
func TestAGapOfAClosedTabEndsWithIt(t *testing.T) {
	w := capturetest.New(t, capture.Limits{})
	w.Open(5, "http://localhost:9/")
	gap := fmt.Sprintf(`"tab":5,"reason":"worker_unseen","from":%d,"to":`, w.Now.UnixMilli())
	w.Send("gap", gap+"0")
	w.Pass(time.Second)
	w.CloseTab(5)
	w.Pass(time.Second)
	w.Send("gap", gap+fmt.Sprint(w.Now.UnixMilli()))
	gaps := w.Store.View(w.Now).Gaps
	if len(gaps) != 1 || gaps[0].Origin() != "http://localhost:9" || gaps[0].To.IsZero() {
		t.Errorf("%+v", gaps)
	}
}

func TestADaemonThatIsNewToAStreamSaysWhatItCannotKnow(t *testing.T) {
	s, now := store(t)
	if next := s.Hello(hello(400), now); next != 400 {
		t.Errorf("next is %d", next)
	}
	if gaps := s.View(now).Gaps; len(gaps) != 1 || gaps[0].Reason != "not_replayed" {
		t.Errorf("%+v", gaps)
	}
}

func TestTabsKeepTheirIDsAndAreForgottenWhenClosed(t *testing.T) {
	s, now := store(t)
	s.Hello(hello(1), now)
	s.Hello(&protocol.Hello{Instance: "other", Stream: "o", First: 1}, now)
	s.SetTabs("i", []protocol.Tab{{ID: 99, URL: "http://localhost:1/", Watched: true}}, now)
	s.SetTabs("other", []protocol.Tab{{ID: 99, URL: "http://localhost:2/", Watched: true}}, now)
	v := s.View(now)
	if len(v.Tabs) != 2 || v.Tabs[0].ID == v.Tabs[1].ID || s.HostTab("i", 99) == s.HostTab("other", 99) {
		t.Fatalf("two browsers' tabs of the same id: %+v", v.Tabs)
	}
	events := []event.Event{
		&event.Element{Head: event.Head{At: 1, Subject: event.InTab(99, "")}, Op: "appeared", Document: "d", ID: 1, Selector: ".error", Text: "x"},
		&event.Request{Head: event.Head{At: 1, Subject: event.InTab(99, "")}, ID: "r", Method: "GET", URL: "http://localhost:1/x"},
		&event.Gap{Head: event.Head{At: 1, Subject: event.InTab(99, "")}, From: 1, Reason: "detached"},
	}
	if _, bad := s.Apply("i", "s", 1, events, now); bad != nil {
		t.Fatal(bad)
	}
	v = s.View(now)
	if len(v.DOMState.Elements()) != 1 || len(v.Flights) != 1 || !v.Gaps[0].To.IsZero() {
		t.Fatalf("%v %v %v", v.DOMState.Elements(), v.Flights, v.Gaps)
	}
	s.SetTabs("i", nil, now)
	v = s.View(now)
	if len(v.Tabs) != 1 || len(v.DOMState.Elements()) != 0 || len(v.Flights) != 0 || v.Gaps[0].To.IsZero() {
		t.Errorf("after the tab was closed: %v %v %v %v", v.Tabs, v.DOMState.Elements(), v.Flights, v.Gaps)
	}
	s.Disconnected("other", now)
	if v := s.View(now.Add(10 * time.Second)); len(v.Tabs) != 1 || v.Tabs[0].Watched {
		t.Errorf("a browser that is away: %+v", v.Tabs)
	}
	if v := s.View(now.Add(time.Minute)); len(v.Tabs) != 0 || len(v.Browsers) != 1 {
		t.Errorf("a browser that is gone: %+v %+v", v.Tabs, v.Browsers)
	}
}

func TestAThousandGapsAreBoundedAndNoSpanIsLost(t *testing.T) {
	s, now := store(t)
	s.Hello(hello(1), now)
	var events []event.Event
	began := now.Add(-time.Hour).UnixMilli()
	for i := range int64(1500) {
		events = append(events, &event.Gap{Head: event.Head{At: began, Subject: event.InTab(7, "")}, From: began + i*10, To: began + 5 + i*10, Reason: "dropped", Dropped: 1})
	}
	if _, bad := s.Apply("i", "s", 1, events, now); bad != nil {
		t.Fatal(bad)
	}
	dropped := 0
	gaps := s.View(now).Gaps
	for _, g := range gaps {
		dropped += g.Dropped
	}
	if len(gaps) > 1000 || dropped != 1500 || gaps[0].From.UnixMilli() != began {
		t.Errorf("%d gaps, %d dropped, the first from %v", len(gaps), dropped, gaps[0].From)
	}
}

func TestTemplates(t *testing.T) {
	for in, want := range map[string]string{
		"/": "/", "/users/17": "/users/{id}", "/users/17/orders/4": "/users/{id}/orders/{id}",
		"/u/3f2504e0-4f89-41d3-9a0c-0305e82c3301": "/u/{id}", "/c/deadbeef1": "/c/{id}", "/c/facade": "/c/facade",
		"/assets/index-4f3a2b1c.js": "/assets/index-{hash}.js", "/assets/index.js": "/assets/index.js", "/v2/users": "/v2/users", "/img/photo1.png": "/img/photo1.png",
		"/o/01HZXK8Q3V4W5Y6Z7A8B9C0D1E": "/o/{id}", "/files/12345.pdf": "/files/{id}.pdf", "/release-2026/notes": "/release-2026/notes",
	} {
		if got := capture.TemplatePath(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"http://localhost:3000/a/b?c=d#e": "http://localhost:3000 /a/b", "http://localhost?x": "http://localhost /", "https://u:p@host/x": "https://host /x",
		"data:text/html,x": " data:", "about:blank": " about:blank", "ws://h:1/live?t=1": "ws://h:1 /live",
	} {
		origin, path := capture.SplitURL(in)
		if got := origin + " " + path; got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	if k := capture.OriginOf("HTTP://LocalHost:3000/x"); k != "http://localhost:3000" {
		t.Error(k)
	}
	if strings.Contains(capture.OriginOf("about:blank"), "about") {
		t.Error("about:blank has an origin")
	}
}

// TestAnImpossibleTimeIsThatOfTheArrival, and is counted. A queue may be late, and a clock may be set while events are on their way.
func TestAnImpossibleTimeIsThatOfTheArrival(t *testing.T) {
	s, now := store(t)
	s.Hello(hello(1), now)
	year := 365 * 24 * time.Hour
	times := []time.Time{now.Add(-29 * 24 * time.Hour), now.Add(23 * time.Hour), now.Add(-2 * year), now.Add(2 * year), time.UnixMilli(0), time.UnixMilli(math.MaxInt64), time.UnixMilli(math.MinInt64)}
	var events []event.Event
	for _, at := range times {
		events = append(events, line(at, "x"))
	}
	request := &event.Network{Head: event.Head{At: now.UnixMilli(), Subject: event.InTab(7, "")}, Method: "GET", URL: "/", Started: now.Add(-2 * year).UnixMilli(), Duration: 10}
	gap := &event.Gap{Head: event.Head{At: now.UnixMilli()}, From: now.Add(-2 * year).UnixMilli(), To: now.Add(2 * year).UnixMilli(), Reason: protocol.GapDropped, Dropped: 1}
	if _, bad := s.Apply("i", "s", 1, append(events, request, gap), now); bad != nil {
		t.Fatal(bad)
	}
	v := s.View(now)
	for i, at := range times {
		if i > 1 {
			at = now
		}
		if got := v.Console().At(uint64(i + 1)).Time(); !got.Equal(at) {
			t.Errorf("%s became %s", times[i], got)
		}
	}
	if got := v.Network().At(1).Started; got != now.UnixMilli() {
		t.Errorf("the request started at %d", got)
	}
	if g := v.Gaps; len(g) != 1 || !g[0].From.Equal(now) || !g[0].To.Equal(now) {
		t.Errorf("the gaps are %+v", g)
	}
	if v.Mistimed != 7 {
		t.Errorf("%d are counted", v.Mistimed)
	}
}
