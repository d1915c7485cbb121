package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// extensions respond to syncs as a test requires.
type extensions struct {
	mu       sync.Mutex
	timeouts []time.Duration
	answer   func(nth int) (noDOM, noCapture []int)
}

func (x *extensions) Sync(_ context.Context, timeout time.Duration) (noDOM, noCapture []int) {
	x.mu.Lock()
	x.timeouts = append(x.timeouts, timeout)
	n := len(x.timeouts)
	x.mu.Unlock()
	return x.answer(n)
}

// live is a world in a bubble of time. Everything it starts ends with the test.
func live(t *testing.T, x *extensions, run func(*testing.T, *enginetest.World)) {
	synctest.Test(t, func(t *testing.T) {
		var world *enginetest.World
		if x == nil {
			world = enginetest.NewLive(t, nil)
		} else {
			world = enginetest.NewLive(t, x)
		}
		world.Log("log", "the page has loaded")
		time.Sleep(time.Minute)
		run(t, world)
	})
}

// took calls get_changes_since and returns how long the answer took.
func took(w *enginetest.World, c *checkpoint.Client, p params) (*report.Report, time.Duration) {
	began := time.Now()
	return w.Changes(c, p), time.Since(began)
}

const load = `"how":"reload","url":"http://localhost:5173/"`

func TestAnAgentThatHasJustComeWaitsForTheUpdateOfItsOwnEdit(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		w.Send("navigation", load) // long before
		time.Sleep(time.Minute)
		a := w.Agent()
		time.AfterFunc(time.Second, func() {
			w.Send("navigation", load)
			w.Log("error", "broken by the edit")
		})
		if r, d := took(w, a, params{Wait: "reload"}); !*r.Settled || d != 1300*time.Millisecond || r.Severity != report.Error {
			t.Errorf("%s after %s", show(r), d)
		}
	})
}

func TestAnUpdateBetweenComingAndTheFirstLookIsEnough(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		a := w.Agent()
		w.Send("navigation", load)
		time.Sleep(time.Second)
		if r, d := took(w, a, params{Wait: "reload"}); !*r.Settled || d != 300*time.Millisecond {
			t.Errorf("%s after %s", show(r), d)
		}
	})
}

// TestARefreshWithoutAChangeIsNoUpdate: Next.js logs a refresh for what its server compiles without an effect on the page, such
// as a route. The update of the edit follows.
func TestARefreshWithoutAChangeIsNoUpdate(t *testing.T) {
	const (
		connected = `{"type":"turbopack-connected","data":{"sessionId":1}}`
		building  = `{"type":"building"}`
		issues    = `{"type":"turbopack-message","data":[{"resource":{"path":"a.js"},"type":"issues","issues":[]}]}`
		update    = `{"type":"turbopack-message","data":[{"resource":{"path":"a.js"},"type":"partial","instruction":{}}]}`
		server    = `{"type":"serverComponentChanges","hash":"2"}`
		built     = `{"type":"built","hash":"0","errors":[],"warnings":[]}`
		broken    = `{"type":"built","hash":"1","errors":[{"message":"./src/a.js:3:12"}]}`
		begins    = "[Fast Refresh] rebuilding"
		done      = "[Fast Refresh] done in 130ms"
		closed    = "closed"
		next      = "next"
		gap       = "gap"
	)
	for name, c := range map[string]struct {
		before, after []string // the wait begins, and what comes a second later
		early         bool     // what comes then is an update
	}{
		"a route that is compiled":             {[]string{connected}, []string{building, begins, built, done}, false},
		"the same, with modules that are fine": {[]string{connected}, []string{building, begins, issues, built, done}, false},
		"an earlier update":                    {[]string{connected, building, update, built, done}, []string{building, begins, built, done}, false},
		"a server's component":                 {[]string{connected}, []string{building, begins, server, built, done}, true},
		"a repair, which changes nothing":      {[]string{connected, building, broken}, []string{building, begins, built, done}, true},
		"what was built before it was known":   {[]string{}, []string{connected, built, done}, true},
		"no connection is known":               {nil, []string{begins, done}, true},
		"webpack":                              {nil, []string{building, begins, built, done}, true},
		"it closed":                            {[]string{connected, closed}, []string{begins, done}, true},
		"the next document":                    {[]string{connected, building, next, connected}, []string{building, begins, built, done}, false},
		"an update of the next document":       {[]string{connected, building, next, connected}, []string{building, begins, server, built, done}, true},
		"a gap":                                {[]string{connected, gap}, []string{building, begins, built, done}, true},
	} {
		t.Run(name, func(t *testing.T) {
			live(t, nil, func(t *testing.T, w *enginetest.World) {
				document := 1
				send := func(lines []string) {
					for _, line := range lines {
						socket := fmt.Sprintf(`"id":"hmr%d","url":"ws://localhost:5173/_next/hmr?id=1"`, document)
						switch {
						case line == closed:
							w.Send("websocket", socket+`,"op":"close","code":1000`)
						case line == next:
							document++
						case line == gap:
							now := time.Now().UnixMilli()
							w.Send("gap", fmt.Sprintf(`"from":%d,"to":%d,"reason":"dropped","dropped":2`, now-10, now))
						case strings.HasPrefix(line, "["):
							w.Log("log", line)
						default:
							w.Send("websocket", socket+fmt.Sprintf(`,"op":"received","text":%q,"size":%d`, line, len(line)))
						}
					}
				}
				a := w.Agent()
				send(c.before)
				time.Sleep(time.Minute)
				w.Changes(a, params{})
				time.AfterFunc(time.Second, func() { send(c.after) })
				time.AfterFunc(2*time.Second, func() {
					w.Send("navigation", load)
					w.Log("error", "broken by the edit")
				})
				want := 2300 * time.Millisecond
				if c.early {
					want = 1300 * time.Millisecond
				}
				if r, d := took(w, a, params{Wait: "reload"}); !*r.Settled || d != want || (r.Severity == report.Error) == c.early {
					t.Errorf("%s after %s, want %s", show(r), d, want)
				}
			})
		})
	}
}

func TestAnOlderCheckpointDoesNotMakeAnOldUpdateNew(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		a := w.Agent()
		if _, err := w.Call(a, "checkpoint_create", `{"name":"session_start"}`); err != nil {
			t.Fatal(err)
		}
		w.Send("navigation", load)
		w.Changes(a, params{})
		time.AfterFunc(time.Second, func() { w.Send("navigation", load) })
		if r, d := took(w, a, params{Wait: "reload", Checkpoint: "session_start"}); !*r.Settled || d != 1300*time.Millisecond {
			t.Errorf("%s after %s", show(r), d)
		}
		// An update that the client has seen is not waited for again.
		if r, d := took(w, a, params{Wait: "reload"}); *r.Settled || d != 3*time.Second || r.UnsettledBecause != "no navigation or hot update occurred" {
			t.Errorf("%s after %s", show(r), d)
		}
	})
}

func TestAnotherProjectsUpdateIsNotWaitedFor(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		w.Open(8, "http://localhost:3000/")
		time.Sleep(time.Second)
		a := w.Scoped("localhost:3000")
		w.Send("navigation", load)
		w.Send("request", `"id":"r","method":"GET","url":"http://localhost:5173/slow","resource":"fetch"`)
		if r, d := took(w, a, params{Wait: "reload"}); *r.Settled || d != 3*time.Second {
			t.Errorf("%s after %s", show(r), d)
		}
		w.Send("request", `"id":"r2","method":"GET","url":"http://localhost:5173/slow","resource":"fetch"`)
		if r, d := took(w, a, params{Wait: "settled"}); !*r.Settled || d != 0 {
			t.Errorf("%s after %s", show(r), d)
		}
	})
}

func TestTheCommandLineTakesAnyUpdateBeforeItsFirstLook(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		w.Send("navigation", load)
		time.Sleep(time.Minute)
		c := w.Engine.Clients.Returning("cli", checkpoint.Scope{})
		if r, d := took(w, c, params{Wait: "reload"}); !*r.Settled || d != 300*time.Millisecond {
			t.Errorf("%s after %s", show(r), d)
		}
		if r, _ := took(w, w.Engine.Clients.Returning("cli", checkpoint.Scope{}), params{Wait: "reload"}); *r.Settled {
			t.Errorf("%s", show(r))
		}
	})
}

func TestWhatABrowserStillHasIsFetchedBeforeAPageCountsAsQuiet(t *testing.T) {
	var w *enginetest.World
	x := &extensions{answer: func(nth int) (noDOM, noCapture []int) {
		if nth == 2 { // the page seemed quiet, but the extension had not been asked
			w.Log("error", "on its way")
		}
		return nil, nil
	}}
	live(t, x, func(t *testing.T, world *enginetest.World) {
		w = world
		r, d := took(w, w.Agent(), params{Wait: "settled"})
		if !*r.Settled || d != 300*time.Millisecond || len(r.Console.NewErrors) != 1 {
			t.Errorf("%s after %s", show(r), d)
		}
		if want := []time.Duration{500 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond}; !slices.Equal(x.timeouts, want) {
			t.Errorf("syncs %v", x.timeouts)
		}
	})
}

func TestFramesThatArriveDuringASyncDoNotKeepAPageUnsettled(t *testing.T) {
	var w *enginetest.World
	x := &extensions{answer: func(int) (noDOM, noCapture []int) {
		time.Sleep(20 * time.Millisecond)
		w.Socket("received", `{"price":1}`)
		return nil, nil
	}}
	live(t, x, func(t *testing.T, world *enginetest.World) {
		w = world
		if r, d := took(w, w.Agent(), params{Wait: "settled"}); !*r.Settled || d != 40*time.Millisecond {
			t.Errorf("%s after %s", show(r), d)
		}
	})
}

func TestTabsThatDoNotAnswerAreNotSettled(t *testing.T) {
	const unanswered = "1 tab(s) did not answer in time"
	silent := 3 // how many syncs they do not answer
	x := &extensions{}
	x.answer = func(nth int) (noDOM, noCapture []int) {
		if nth > silent {
			return nil, nil
		}
		time.Sleep(x.timeouts[nth-1])
		return []int{1}, []int{1}
	}
	live(t, x, func(t *testing.T, w *enginetest.World) {
		if r, d := took(w, w.Agent(), params{Wait: "settled"}); !*r.Settled || d < 1500*time.Millisecond || r.DOMUnavailable || note(r) != "" {
			t.Errorf("they answer the fourth time: %s after %s", show(r), d)
		}
	})
	silent = 1000
	live(t, x, func(t *testing.T, w *enginetest.World) {
		r, d := took(w, w.Agent(), params{Wait: "settled"})
		if *r.Settled || r.UnsettledBecause != unanswered || d != 3*time.Second || !r.DOMUnavailable || note(r) != unanswered {
			t.Errorf("%s after %s", show(r), d)
		}
		if r, _ := took(w, w.Agent(), params{Wait: "settled", Include: []string{"console"}}); r.DOMUnavailable {
			t.Errorf("%s", show(r))
		}
	})
}

// TestATabIsNotSilentThatHadNoTimeToAnswer: it answered, and the end of the wait cuts the last sync off.
func TestATabIsNotSilentThatHadNoTimeToAnswer(t *testing.T) {
	x := &extensions{}
	x.answer = func(nth int) (noDOM, noCapture []int) {
		const needed = 20 * time.Millisecond
		if timeout := x.timeouts[nth-1]; timeout < needed {
			time.Sleep(timeout)
			return []int{1}, []int{1}
		}
		time.Sleep(needed)
		return nil, nil
	}
	live(t, x, func(t *testing.T, w *enginetest.World) {
		w.Log("log", "just now")
		ms := 310 // quiet after 300
		r, d := took(w, w.Agent(), params{Wait: "settled", TimeoutMs: &ms})
		if because := "the wait ended before 1 tab(s) delivered their last events"; *r.Settled || r.UnsettledBecause != because || d != 310*time.Millisecond || r.DOMUnavailable || note(r) != "" {
			t.Errorf("%s after %s", show(r), d)
		}
	})
}

func TestATimeoutBoundsTheSyncsToo(t *testing.T) {
	x := &extensions{}
	x.answer = func(int) (noDOM, noCapture []int) {
		time.Sleep(x.timeouts[len(x.timeouts)-1])
		return nil, nil
	}
	live(t, x, func(t *testing.T, w *enginetest.World) {
		for _, ms := range []int{0, 100, 700} {
			w.Log("log", "just now")
			r, d := took(w, w.Agent(), params{Wait: "settled", TimeoutMs: &ms})
			if limit := time.Duration(ms) * time.Millisecond; d > limit || *r.Settled != (ms == 700) {
				t.Errorf("%d ms: %s after %s", ms, show(r), d)
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestARequestInFlightIsNamedWhenTheTimeRunsOut(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		for _, id := range strings.Fields("a b c d e") {
			w.Send("request", `"id":"`+id+`","method":"GET","url":"http://localhost:5173/api/`+id+`?q","resource":"fetch"`)
		}
		ms := 500
		r, d := took(w, w.Agent(), params{Wait: "settled", TimeoutMs: &ms})
		if *r.Settled || d != 500*time.Millisecond || !strings.HasPrefix(r.UnsettledBecause, "5 request(s) in flight: GET /api/") || strings.Count(r.UnsettledBecause, "GET") != 3 {
			t.Errorf("%s after %s", show(r), d)
		}
	})
}

func TestAnEventStreamIsNotWaitedFor(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		const stream = `"id":"s","method":"GET","url":"http://localhost:5173/sse","resource":"eventsource"`
		w.Send("request", stream)
		w.Send("network", stream+`,"status":200,"stream":true,"started":1,"duration":5`)
		if r, d := took(w, w.Agent(), params{Wait: "settled"}); !*r.Settled || d != 300*time.Millisecond {
			t.Errorf("%s after %s", show(r), d)
		}
	})
}

func TestRequestsOfARemovedWorkerAreNotWaitedFor(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		w.Send("request", `"id":"r","method":"GET","url":"http://localhost:5173/x","resource":"fetch"`)
		time.Sleep(time.Second)
		w.Restart("s2")
		if r, d := took(w, w.Agent(), params{Wait: "settled"}); !*r.Settled || d != 0 {
			t.Errorf("%s after %s", show(r), d)
		}
	})
}

func TestAWaitingCallHoldsUpNoOther(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		a := w.Agent()
		w.Log("error", "e")
		waiting := make(chan *report.Report)
		go func() { waiting <- w.Changes(a, params{Wait: "settled"}) }()
		synctest.Wait()
		now, d := took(w, a, params{})
		if d != 0 || now.Console.TotalNewEntries != 2 || now.Checkpoint != "auto_1" {
			t.Errorf("%s after %s", show(now), d)
		}
		if later := <-waiting; later.Console.TotalNewEntries != 0 || later.Checkpoint != "auto_2" {
			t.Errorf("reported again: %s", show(later))
		}
	})
}

func TestAnAnswerThatNobodyWaitsForEndsAtOnce(t *testing.T) {
	live(t, nil, func(t *testing.T, w *enginetest.World) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		minute := 60_000
		if _, err := w.Engine.Observer.Changes(ctx, w.Agent(), params{Wait: "reload", TimeoutMs: &minute}); err == nil || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestTheFirstAnswerAfterAnErrorKnowsWhetherThePageIsEmpty, without a wait. Others do not wait for that.
func TestTheFirstAnswerAfterAnErrorKnowsWhetherThePageIsEmpty(t *testing.T) {
	live(t, &extensions{answer: func(int) (_, _ []int) { return nil, nil }}, func(t *testing.T, w *enginetest.World) {
		a := w.Agent()
		w.Changes(a, params{})
		time.Sleep(10 * time.Second)
		w.Log("error", "logged")
		r, waited := took(w, a, params{})
		expect(t, len(r.Console.NewErrors) == 1 && waited == 0, r)
		w.Send("console", `"level":"error","via":"exception","text":"TypeError: no price"`)
		time.AfterFunc(320*time.Millisecond, func() { w.Send("element", `"op":"emptied","frame":0,"document":"d","id":0`) })
		r, waited = took(w, a, params{})
		expect(t, len(r.Console.NewErrors) == 1 && r.DOM.PageEmptySince != nil && waited == 320*time.Millisecond, r)
		w.Send("element", `"op":"filled","frame":0,"document":"d","id":0`)
		time.Sleep(10 * time.Second)
		w.Send("console", `"level":"error","via":"exception","text":"TypeError: it shows something"`)
		r, waited = took(w, a, params{})
		expect(t, len(r.Console.NewErrors) == 1 && r.DOM.PageEmptySince == nil && waited == 500*time.Millisecond, r)
		if r, waited = took(w, a, params{}); waited != 0 {
			t.Errorf("waited %s: %s", waited, show(r))
		}
	})
}
