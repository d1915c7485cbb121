package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// slowWorld is a world whose maps take time to arrive.
func slowWorld(t *testing.T, s *server, takes time.Duration) *enginetest.World {
	return enginetest.NewWithMaps(t, func(ctx context.Context, script sourcemap.Script) (string, []byte, error) {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		return s.fetch(ctx, script)
	})
}

func TestAnAnswerWaitsForTheMapsThatItNeedsAndNoLonger(t *testing.T) {
	for _, c := range []struct {
		name    string
		takes   time.Duration
		timeout int // of the call, in ms; 0 for the default
		wait    string
		want    string
		after   time.Duration
	}{
		{"the map comes in time", 100 * time.Millisecond, 0, "", "App.tsx:5 boom×1", 100 * time.Millisecond},
		{"the map is slow", time.Second, 0, "", "app.js:1 (generated) boom×1", 150 * time.Millisecond},
		{"the call has less time", time.Second, 20, "", "app.js:1 (generated) boom×1", 20 * time.Millisecond},
		{"the call waits for the page anyway", 900 * time.Millisecond, 0, "settled", "App.tsx:5 boom×1", 900 * time.Millisecond},
		{"longer than that it does not", 2 * time.Second, 0, "settled", "app.js:1 (generated) boom×1", time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			s.put("/app.js", oneFile("src/App.tsx"))
			w := slowWorld(t, s, c.takes)
			throw(w, "boom", "/app.js", 45)
			w.Send("console", fmt.Sprintf(`"level":"log","via":"console","text":"fine","url":"%s/other.js","line":1,"column":1`, enginetest.Page))
			w.Pass(time.Second) // the page is quiet
			p := params{Wait: c.wait}
			if c.timeout > 0 {
				p.TimeoutMs = &c.timeout
			}
			a := w.Agent()
			began := time.Now()
			if got := sources(w.Changes(a, p)); got != c.want || time.Since(began) != c.after {
				t.Errorf("%s: %s after %v", c.name, got, time.Since(began))
			}
			if got := sources(w.Changes(a, params{})); got != "" {
				t.Errorf("%s: reported again: %s", c.name, got)
			}
			if got := s.fetched(w); got != "1/app.js" {
				t.Errorf("%s: asked for %s", c.name, got)
			}
			began = time.Now()
			w.Changes(w.Agent(), params{})
			if time.Since(began) != 0 {
				t.Errorf("%s: an answer waits for a map that is there", c.name)
			}
		})
	}
}

func TestNobodyIsHeldUpByAnAnswerThatWaitsForAMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.put("/app.js", oneFile("src/App.tsx"))
		w := slowWorld(t, s, time.Second)
		throw(w, "boom", "/app.js", 45)
		a := w.Agent()
		go w.Changes(a, params{})
		synctest.Wait()
		began := time.Now()
		a.Lock()
		//nolint:staticcheck // that it can be locked is what is tested
		a.Unlock()
		if time.Since(began) != 0 {
			t.Error("the client is locked while its answer waits")
		}
		time.Sleep(time.Second)
	})
}

func TestACallThatEndsWhileItWaitsForAMapReportsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.put("/app.js", oneFile("src/App.tsx"))
		w := slowWorld(t, s, time.Second)
		throw(w, "boom", "/app.js", 45)
		a := w.Agent()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := w.Engine.Observer.Changes(ctx, a, params{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		s.fetched(w)
		if got := sources(w.Changes(a, params{})); got != "App.tsx:5 boom×1" {
			t.Error(got)
		}
	})
}

func TestOnlyGeneratedCodeIsMarked(t *testing.T) {
	s := &server{}
	s.put("/plain.js", nil)
	s.put("/app.js", []byte(`{"version":3,"sources":["src/App.tsx"],"mappings":"AAAA,UCSA"}`))
	w := enginetest.NewWithMaps(t, s.fetch)
	loaded(w, "/plain.js", "")
	throw(w, "as it was written", "/plain.js", 45)
	throw(w, "mapped", "/app.js", 1)
	throw(w, "where the map says nothing", "/app.js", 11)
	throw(w, "the map cannot be had", "/missing.js", 1)
	throw(w, "without a column", "/plain.js", 0)
	throw(w, "without a column in code with a map", "/app.js", 0)
	want := map[string]string{
		"as it was written": "plain.js:1", "mapped": "App.tsx:1", "where the map says nothing": "app.js:1 (generated)", "the map cannot be had": "missing.js:1 (generated)",
		"without a column": "plain.js:1", "without a column in code with a map": "app.js:1 (generated)",
	}
	check := func() {
		t.Helper()
		got := sources(w.Changes(w.Agent(), params{}))
		for message, source := range want {
			if !strings.Contains(", "+got, ", "+source+" "+message+"×") {
				t.Errorf("%q is not %q in %s", message, source, got)
			}
		}
		for _, e := range logs(t, w, w.Agent()) {
			if e.Generated != strings.HasSuffix(want[e.Message], "(generated)") {
				t.Errorf("%+v", e)
			}
		}
	}
	check()
	// A script without a map stays known as such, whatever was loaded since.
	w.Pass(time.Second)
	loaded(w, "/plain.js", "")
	check()
}

// TestCodeThatWasReplacedIsMarkedUnlessItIsItsOwnSource: whose map was never fetched, as after a restart. The map of the code in its
// place is not used.
func TestCodeThatWasReplacedIsMarkedUnlessItIsItsOwnSource(t *testing.T) {
	s := &server{}
	s.put("/plain.js", nil)
	s.put("/app.js", oneFile("src/App.tsx"))
	w := enginetest.NewWithMaps(t, s.fetch)
	for i := range 2 {
		loaded(w, "/plain.js", "")
		loaded(w, "/app.js", "")
		w.Pass(time.Second)
		if i == 0 {
			throw(w, "one", "/plain.js", 45)
			throw(w, "two", "/app.js", 45)
			w.Pass(time.Second)
		}
	}
	if got := sources(w.Changes(w.Agent(), params{Checkpoint: "start"})); got != "app.js:1 (generated) two×1, plain.js:1 one×1" {
		t.Error(got)
	}
}

func TestEvaluatedCodeDoesNotUseTheMapOfTheFileItIsNamedAfter(t *testing.T) {
	const id = "?id=%5Bproject%5D%2Fapp%2Fpage.js+%5Bapp-client%5D+%28ecmascript%29"
	s := &server{}
	s.put("/_next/static/chunks/app.js"+id, oneFile("app/other.js"))
	s.put("/mix.js?id=abc", oneFile("src/App.vue"))
	w := enginetest.NewWithMaps(t, s.fetch)
	loaded(w, "/mix.js?id=abc", "")
	throw(w, "evaluated", "/_next/static/chunks/app.js"+id, 45)
	throw(w, "loaded", "/mix.js?id=abc", 45)
	if got := sources(w.Changes(w.Agent(), params{})); got != "App.vue:5 loaded×1, page.js [evaluated]:1 (generated) evaluated×1" {
		t.Error(got)
	}
	if got := s.fetched(w); got != "1/mix.js?id=abc" {
		t.Error(got)
	}
}

// TestAPlaceComesFromTheMapOfTheCodeThatRan: after any edits, reloads and updates, a place reported as original
// belongs to the version of the code that ran.
func TestAPlaceComesFromTheMapOfTheCodeThatRan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := &server{}
		w := enginetest.NewWithMaps(t, func(ctx context.Context, script sourcemap.Script) (string, []byte, error) {
			path, _, _ := strings.Cut(script.URL, "?") // the server has one version of a file for every query
			return s.fetch(ctx, sourcemap.Script{Tab: script.Tab, URL: path})
		})
		version, running, errors := 0, 0, 0
		file, script := "/src/App.jsx", "/src/App.jsx"
		if rapid.Bool().Draw(r, "bundle") {
			file, script = "/main.js", "/main.js"
		}
		ran := map[string]int{} // by message
		serve := func() {
			version++
			s.put(file, oneFile(fmt.Sprintf("v%d.ts", version)))
		}
		serve()
		running = version
		loaded(w, script, "")
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			w.Pass(time.Duration(rapid.IntRange(1, 2000).Draw(r, "ms")) * time.Millisecond)
			switch rapid.SampledFrom([]string{"throw", "reload", "update", "ask", "wait"}).Draw(r, "step") {
			case "throw":
				errors++
				message := "error " + strings.Repeat("x", errors)
				throw(w, message, script, 45)
				ran[message] = running
			case "reload":
				serve()
				running, script = version, file
				loaded(w, script, "")
			case "update":
				serve()
				if file == "/main.js" {
					loaded(w, fmt.Sprintf("/main.%d.hot-update.js", version), "")
					break // the code of main.js stays
				}
				fresh := fmt.Sprintf("%s?t=%d", file, w.Now.UnixMilli())
				loaded(w, fresh, "")
				if rapid.Bool().Draw(r, "taken") {
					running, script = version, fresh
				}
			case "ask":
				w.Changes(w.Agent(), params{})
			case "wait":
				s.fetched(w)
			}
		}
		for range 2 {
			for _, m := range w.Changes(w.Agent(), params{}).Console.NewErrors {
				if want := fmt.Sprintf("v%d.ts:5", ran[m.Message]); m.Source != want && !m.Generated {
					r.Fatalf("%s is reported at %s, and it was %s", m.Message, m.Source, want)
				}
			}
			s.fetched(w)
		}
	})
}

func TestEverySurfaceMarksAGeneratedLine(t *testing.T) {
	s := &server{}
	w := enginetest.NewWithMaps(t, s.fetch)
	loaded(w, "/app.js", "")
	throw(w, "boom", "/app.js", 45, "f ("+enginetest.Page+"/app.js:1:45)")
	s.fetched(w)
	between, err := w.Engine.Observer.Between(t.Context(), w.Agent(), observe.BetweenParams{}, nil)
	if err != nil || !between.Console.NewErrors[0].Generated {
		t.Error(between, err)
	}
	peek, err := w.Engine.Observer.Peek(t.Context(), w.Agent())
	if err != nil || !peek.Console.NewErrors[0].Generated {
		t.Error(peek, err)
	}
	hook, _, err := w.Engine.Observer.Hook(t.Context(), checkpoint.Scope{}, "", observe.HookParams{Session: "s", Event: observe.HookStart})
	if err != nil || !hook.Problems[0].Generated {
		t.Error(hook, err)
	}
	if e := logs(t, w, w.Agent())[0]; !e.Generated || !strings.HasSuffix(e.Stack[0], ":1:45) (generated)") {
		t.Errorf("%+v", e)
	}
}

// TestAPlaceThatCameLateIsGivenOnce: the next answer after the map arrived has the place of an error that was shown at a
// generated line, also if the error occurs again and is only counted.
func TestAPlaceThatCameLateIsGivenOnce(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			s.put("/app.js", oneFile("src/App.tsx"))
			w := slowWorld(t, s, time.Second)
			throw(w, "boom", "/app.js", 45)
			a, other := w.Agent(), w.Agent()
			if r := w.Changes(a, params{}); sources(r) != "app.js:1 (generated) boom×1" || r.Located != nil {
				t.Errorf("%s, %+v", sources(r), r.Located)
			}
			if r := w.Changes(a, params{}); r.Located != nil {
				t.Errorf("located without a map: %+v", r.Located)
			}
			time.Sleep(time.Second)
			if again {
				throw(w, "boom", "/app.js", 45)
			}
			r := w.Changes(a, params{})
			if fmt.Sprint(r.Located) != "[{boom App.tsx:5}]" || sources(r) != "" || len(r.Repeated) > 0 != again || r.PageText == "" {
				t.Errorf("%v, %s, %v", r.Located, sources(r), r.Repeated)
			}
			if r := w.Changes(a, params{}); r.Located != nil {
				t.Errorf("located twice: %+v", r.Located)
			}
			if r := w.Changes(other, params{}); r.Located != nil || !strings.HasPrefix(sources(r), "App.tsx:5 boom") {
				t.Errorf("%v, %s", r.Located, sources(r))
			}
		})
	}
}

// TestAMapThatDoesNotComeLocatesNothing: the error is forgotten, and no answer waits for it.
func TestAMapThatDoesNotComeLocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		w := slowWorld(t, s, 4*time.Second)
		throw(w, "boom", "/app.js", 45)
		a := w.Agent()
		w.Changes(a, params{})
		for range 8 {
			began := time.Now()
			if r := w.Changes(a, params{}); r.Located != nil || time.Since(began) > 0 {
				t.Errorf("%+v after %v", r.Located, time.Since(began))
			}
			time.Sleep(time.Second)
		}
	})
}
