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
			cause.History{Inputs: []int64{before, click}, Did: map[int64]cause.Input{before: {Type: "click", Target: `button "a"`, Selector: "#a"}, click: {Type: "click", Target: `button "b"`, Selector: "#b"}}},
			"src/a.js:12 [stack]",
		},
		"no click before": {other, cause.Symptom{}, cause.History{Inputs: []int64{click}}, "src/a.js:12 [stack]"},
		"the same click before, which failed so": {
			other, cause.Symptom{Earlier: []int64{before + 10}}, cause.History{Inputs: []int64{before, click}}, "src/a.js:12 [stack]",
		},
		"the other change is in the same file": {edit("src/a.js", 20_000, at(10)), cause.Symptom{}, cause.History{Inputs: []int64{before, click}}, cause.Ran},
		"a style sheet":                        {edit("src/a.css", 20_000, at(1)), cause.Symptom{}, cause.History{Inputs: []int64{before, click}}, cause.Ran},
		"a text":                               {edit("README.md", 20_000, at(1)), cause.Symptom{}, cause.History{Inputs: []int64{before, click}}, cause.Ran},
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

// TestAnEditThatRanIsNotNamed: a line is edited, runs without an error, and fails after the data changed that the page shows.
func TestAnEditThatRanIsNotNamed(t *testing.T) {
	const edited = 10_000
	api := event.EndpointKey{Path: "/api/items"}
	answers := func(times ...int64) (list []cause.Answer) {
		for _, at := range times {
			list = append(list, cause.Answer{Span: cause.Span{Began: at, Ended: at + 20}, Endpoint: api, Request: &event.Network{Stack: []string{"App (http://localhost:5173/src/App.tsx:9:3)"}}})
		}
		return list
	}
	loads := func(times ...int64) cause.History {
		return cause.History{Updates: times, Loads: times}
	}
	clicks := func(h cause.History, times ...int64) cause.History {
		h.Inputs, h.Did = times, map[int64]cause.Input{}
		for _, at := range times {
			h.Did[at] = cause.Input{Type: "click", Target: `button "Load"`, Selector: "#load"}
		}
		return h
	}
	fetched := func(h cause.History, times ...int64) cause.History {
		h.Answers = answers(times...)
		return h
	}
	hot := func(h cause.History) cause.History {
		h.Updates = append([]int64{1000, edited + 100}, h.Updates[1:]...)
		h.Modules = []cause.Module{{At: edited + 100, File: "/src/List.tsx?t=1"}}
		return h
	}
	asked := func(h cause.History) cause.History { // of a bundler, whose addresses do not name the file
		h.Frames = func(*event.Network) []cause.Frame { return frames("/home/me/shop/src/List.tsx", 9) }
		return h
	}
	sized := func(h cause.History, sizes ...int64) cause.History {
		for i, size := range sizes {
			h.Answers[i].Content.Size = size
		}
		return h
	}
	visits := func(h cause.History, pages ...string) cause.History {
		for i, page := range pages {
			h.Visits = append(h.Visits, cause.Visit{At: h.Loads[i], Page: page})
		}
		return h
	}
	const named, ordered = "src/List.tsx:11 [stack]", "src/List.tsx:11 [stack order]"
	for name, c := range map[string]struct {
		at      int64
		earlier []int64
		history cause.History
		want    string
	}{
		"a good load": {14_060, nil, fetched(loads(1000, 12_000, 14_000), 1030, 12_030, 14_030), cause.Ran},
		"three good loads": {
			30_060, nil, fetched(loads(1000, 12_000, 18_000, 24_000, 30_000), 1030, 12_030, 18_030, 24_030, 30_030), cause.Ran,
		},
		"a good load without a request":             {20_060, nil, loads(1000, 12_000, 20_000), cause.Ran},
		"a load that was left before the answer":    {12_460, nil, fetched(loads(1000, 12_000, 12_300), 1030, 12_430), ordered},
		"a load that was left at once":              {12_160, nil, loads(1000, 12_000, 12_100), ordered},
		"a load at once, perhaps without the edit":  {14_060, nil, loads(1000, edited+100, 14_000), named},
		"a good answer after the same error":        {15_060, []int64{12_060}, fetched(loads(1000, 12_000, 13_000), 12_030, 13_530, 15_030), named},
		"the first load":                            {12_060, nil, fetched(loads(1000, 12_000), 1030, 12_030), ordered},
		"the same error with the load before":       {14_060, []int64{12_060}, fetched(loads(1000, 12_000, 14_000), 1030, 12_030, 14_030), ordered},
		"another page before":                       {20_060, nil, visits(fetched(loads(1000, 12_000, 20_000), 1030, 12_030, 20_030), "/a", "/b", "/a"), named},
		"a hot update that drew it":                 {14_060, nil, hot(fetched(loads(1000, 14_000), 1030, 14_030)), cause.Ran},
		"a hot update, an answer that it asked for": {14_060, nil, asked(hot(fetched(loads(1000, 14_000), 1030, 14_030))), named},
		"the same, the answer is as before":         {14_060, nil, sized(asked(hot(fetched(loads(1000, 14_000), 1030, 14_030))), 300, 300), named},
		"the same, the answer is another one":       {14_060, nil, sized(asked(hot(fetched(loads(1000, 14_000), 1030, 14_030))), 300, 301), cause.Ran},
		"the same, the former answer is not known":  {14_060, nil, sized(asked(hot(fetched(loads(1000, 14_000), 1030, 14_030))), 0, 301), named},
		"a hot update, an error before the answer":  {14_015, nil, hot(fetched(loads(1000, 14_000), 1030, 14_030)), named},
		"a hot update that was reported later":      {14_060, nil, hot(fetched(loads(1000, 14_000), edited+80, 14_030)), cause.Ran},
		"a hot update, after which it asked again":  {14_060, nil, hot(fetched(loads(1000, 14_000), 1030, edited+200, 14_030)), cause.Ran},
		"a click that was fine twice":               {20_060, nil, clicks(fetched(loads(1000, 12_000), 13_010, 15_010, 20_010), 13_000, 15_000, 20_000), cause.Ran},
		"a click that was fine before the load":     {20_060, nil, clicks(fetched(loads(1000, 12_000, 19_000), 13_010, 20_010), 13_000, 20_000), cause.Ran},
		"a first click":                             {20_060, nil, clicks(fetched(loads(1000, 12_000), 20_010), 20_000), named},
		"a click before the edit":                   {20_060, nil, clicks(fetched(loads(1000, 12_000), 5010, 20_010), 5000, 20_000), named},
		"a second click before the first's answer":  {13_360, nil, clicks(fetched(loads(1000, 12_000), 13_310, 13_340), 13_300, 13_330), named},
		"a second click, and the answer came later": {13_900, nil, clicks(cause.History{Updates: []int64{1000, 12_000}, Loads: []int64{1000, 12_000}, Answers: []cause.Answer{{Span: cause.Span{Began: 13_010, Ended: 13_890}, Endpoint: api}}}, 13_000, 13_500), named},
	} {
		changed := edit("src/List.tsx", edited, at(11))
		changed.Tail = "List.tsx"
		f := cause.Finder{Edits: []cause.Edit{changed}}
		s := cause.Symptom{At: c.at, Earlier: c.earlier, Frames: frames("http://localhost:5173/src/List.tsx", 11)}
		if got := told(f.Find(s, &c.history)); got != c.want {
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
		typed    bool
	}{
		{[]string{"views/list.ejs"}, "document", 500, "ReferenceError: itemz is not defined", false, "views/list.ejs:1 [order]", false},
		{[]string{"views/list.ejs"}, "document", 500, "Error: connect ECONNREFUSED db:5432", false, cause.Outside, false},
		{[]string{"views/list.ejs"}, "document", 500, "Error: disk full", false, cause.Outside, false},
		{[]string{"views/list.ejs"}, "document", 500, "Error: getaddrinfo ENOTFOUND db", false, cause.Outside, false},
		{[]string{"views/list.ejs"}, "document", 500, "Error: Connection terminated due to connection timeout", false, cause.Outside, false},
		{[]string{"notes.md"}, "document", 500, "Error: no rows", false, cause.NoEvidence, false},
		{[]string{"public/style.css"}, "document", 500, "Error: no rows", false, cause.NoEvidence, false},
		{[]string{"public/style.css"}, "stylesheet", 500, "Error: no rows", false, "public/style.css:1 [order]", false},
		{[]string{"lib/store.js"}, "fetch", 500, code, true, "lib/store.js:1 [order]", false},
		{[]string{"lib/store.js", "notes.md", "public/style.css"}, "fetch", 500, code, true, "lib/store.js:1 [order]", false},
		{[]string{"lib/store.js", "lib/cart.js"}, "fetch", 500, code, true, cause.NoEvidence, false},
		{[]string{"public/cart.js"}, "fetch", 500, code, true, cause.NoEvidence, false},
		{[]string{"lib/store.js"}, "fetch", 500, "", true, cause.Outage, false},
		{[]string{"lib/store.js"}, "fetch", 502, "Bad Gateway", true, cause.Outage, false},
		{[]string{"lib/store.js"}, "fetch", 500, "AggregateError [ECONNREFUSED]: TypeError", true, cause.Outage, false},
		{[]string{"lib/total.js"}, "fetch", 500, "Internal Server Error", false, "lib/total.js:1 [order]", true},
		{[]string{"lib/total.js"}, "fetch", 500, "Internal server error", true, "lib/total.js:1 [order]", true},
		{[]string{"lib/total.js"}, "fetch", 500, "Internal Server Error", false, cause.Outage, false}, // of the proxy of Next.js
		{[]string{"lib/total.js", "lib/cart.js"}, "fetch", 500, "Internal Server Error", false, cause.Unsaid, true},
		{[]string{"notes.md"}, "fetch", 500, "Internal Server Error", false, cause.Unsaid, true},
	} {
		rules := noise.Default()
		s := capture.New(capture.DefaultLimits(), rules, time.UnixMilli(0))
		in := func(at int64) event.Head {
			return event.Head{At: at, Subject: event.InTab(1, "http://localhost:3000")}
		}
		failed := &event.Network{Head: in(40_020), Method: "GET", URL: "http://localhost:3000/api/total", Resource: c.resource, Status: c.status, Detail: c.detail, Started: 40_010}
		if c.typed {
			failed.Mime = "text/plain"
		}
		events := []event.Event{
			&capture.Change{Head: in(1000), Op: "navigated", How: "load", URL: "http://localhost:3000/"},
			&event.Network{Head: in(1110), Method: "GET", URL: failed.URL, Resource: c.resource, Status: 200, Started: 1100},
			&capture.Change{Head: in(38_000), Op: "navigated", How: "load", URL: "http://localhost:3000/"},
		}
		if c.click {
			events = append(events, &event.Action{Head: in(40_000), Type: "click", Selector: "#total"})
		}
		if err := capture.NewSink(s, capture.Browsers, epoch).Append(t.Context(), append(events, failed)...); err != nil {
			t.Fatal(err)
		}
		for i, path := range c.paths {
			if err := capture.NewSink(s, capture.Workspaces, epoch).Append(t.Context(), edit(path, 10_000+int64(i)*10, at(1)).FileChange); err != nil {
				t.Fatal(err)
			}
		}
		past := cause.Read(s.View(time.UnixMilli(50_000)), capture.Positions{}, func(event.Subject) bool { return true }, rules.Update)
		if got := told(past.Of(past.OfRequest(failed, nil))); got != c.want {
			t.Errorf("%v, %s %d %q: %s, want %s", c.paths, c.resource, c.status, c.detail, got, c.want)
		}
	}
}

// TestTheExpressionThatAnEditWroteIsItsOwn: a line is edited just before another file, and fails with a later click.
func TestTheExpressionThatAnEditWroteIsItsOwn(t *testing.T) {
	const named = "src/a.js:12 [stack]"
	type run struct{ at, old, new, from, to int }
	for name, c := range map[string]struct {
		lines  []run
		column int
		stack  []cause.Frame
		also   []cause.Edit
		want   string
		known  bool
		text   string
	}{
		"in what was written":               {[]run{{12, 1, 1, 20, 30}}, 25, nil, nil, named, false, ""},
		"behind it":                         {[]run{{12, 1, 1, 20, 30}}, 31, nil, nil, named, false, ""},
		"elsewhere in the line":             {[]run{{12, 1, 1, 20, 30}}, 40, nil, nil, cause.NoEvidence, true, ""},
		"before it":                         {[]run{{12, 1, 1, 20, 30}}, 5, nil, nil, cause.NoEvidence, true, ""},
		"a missing name behind the place":   {[]run{{12, 1, 1, 20, 30}}, 5, nil, nil, cause.NoEvidence, false, "ReferenceError: fetsh is not defined"},
		"a missing name before the place":   {[]run{{12, 1, 1, 20, 30}}, 40, nil, nil, cause.NoEvidence, true, "ReferenceError: fetsh is not defined"},
		"a line that is new":                {[]run{{10, 0, 5, 0, 0}}, 5, nil, nil, named, false, ""},
		"one of several that were replaced": {[]run{{10, 5, 5, 0, 0}}, 5, nil, nil, cause.NoEvidence, false, ""},
		"a column that is not known":        {[]run{{12, 1, 1, 1, 30}}, 1, nil, nil, cause.NoEvidence, false, ""},
		"called by the other file":          {[]run{{12, 1, 1, 20, 30}}, 25, frames("src/b.js", 7), nil, cause.NoEvidence, false, ""},
		"called by a third file":            {[]run{{12, 1, 1, 20, 30}}, 25, frames("src/c.js", 7), nil, named, false, ""},
		"a line that was moved since":       {[]run{{9, 1, 1, 20, 30}}, 25, nil, []cause.Edit{edit("src/a.js", 1450, event.Run{At: 2, New: 3})}, named, false, ""},
	} {
		for when, b := range map[string]cause.Edit{"after": edit("src/b.js", 1400, at(1)), "with": edit("src/b.js", 1010, at(1)), "before": edit("src/b.js", 600, at(1))} {
			e := edit("src/a.js", 1000)
			for _, r := range c.lines {
				e.Replaced(event.Run{At: r.at, Old: r.old, New: r.new}, event.Columns{From: r.from, To: r.to})
			}
			f := cause.Finder{Edits: append([]cause.Edit{e, b}, c.also...)}
			s := cause.Symptom{At: 30_010, Text: c.text, Frames: append([]cause.Frame{{File: "src/a.js", Line: 12, Column: c.column}}, c.stack...)}
			h := cause.History{Updates: []int64{620, 1050, 1420, 1500}, Inputs: []int64{30_000}}
			want := c.want
			if when == "before" && !c.known {
				want = named // the page had it before the edit
			}
			if got := told(f.Find(s, &h)); got != want {
				t.Errorf("%s, %s: %s, want %s", name, when, got, want)
			}
		}
	}
}
