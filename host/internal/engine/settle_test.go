package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/protocol"
)

// bubble is an engine inside a synctest bubble, with the bubble's time.
type bubble struct {
	t     *testing.T
	store *capture.Store
	e     *engine.Engine
	agent *checkpoint.Client

	mu   sync.Mutex // timers send too
	next int64
}

func inBubble(t *testing.T, run func(*bubble)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t, next: 1}
		b.store = capture.New(capture.DefaultLimits(), noise.Default(), time.Now())
		b.e = engine.New(engine.Options{Store: b.store, Noise: noise.Default(), Workspaces: b, Clock: time.Now, Location: time.UTC})
		b.store.Hello(&protocol.Hello{Instance: "i", Stream: "s", First: 1}, time.Now())
		b.store.SetTabs("i", []protocol.Tab{{ID: 1, URL: "http://localhost/", Watched: true, DOM: true}}, time.Now())
		var leave func()
		b.agent, leave = b.e.Clients.Join("", "agent", checkpoint.Scope{})
		defer leave()
		if _, err := b.e.Observer.Changes(context.Background(), b.agent, params{}); err != nil {
			t.Fatal(err)
		}
		run(b)
	})
}

// Sync implements observe.Workspaces: all that a test changes is recorded at once.
func (b *bubble) Sync(context.Context, string) (bool, error) { return true, nil }

func (b *bubble) send(events ...event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ev := range events {
		h := ev.Header()
		h.At, h.Number = time.Now().UnixMilli(), 1
	}
	if _, bad := b.store.Apply("i", "s", b.next, events, time.Now()); bad != nil {
		b.t.Error(bad.Message)
	}
	b.next += int64(len(events))
}

// after sends events after a delay.
func (b *bubble) after(d time.Duration, events ...event.Event) {
	time.AfterFunc(d, func() { b.send(events...) })
}

// wait calls get_changes_since, and returns how long the answer took.
func (b *bubble) wait(p params) (*report.Report, time.Duration) {
	b.t.Helper()
	began := time.Now()
	r, err := b.e.Observer.Changes(context.Background(), b.agent, p)
	if err != nil {
		b.t.Fatal(err)
	}
	return r, time.Since(began)
}

func TestNothingSettlesThatIsNotObserved(t *testing.T) {
	for name, end := range map[string]func(*bubble){
		"the browser ended":  func(b *bubble) { b.store.Disconnected("i", time.Now()) },
		"the tab is off":     func(b *bubble) { b.store.SetTabs("i", []protocol.Tab{{ID: 1, URL: "http://localhost/"}}, time.Now()) },
		"the tab was closed": func(b *bubble) { b.store.SetTabs("i", nil, time.Now()) },
		"it ends during a wait": func(b *bubble) {
			b.send(request("slow"))
			time.AfterFunc(time.Second, func() { b.store.Disconnected("i", time.Now()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				time.Sleep(time.Second)
				end(b)
				r, took := b.wait(params{Wait: "settled"})
				if r.Settled == nil || *r.Settled || r.UnsettledBecause != "nothing is observed" || r.Coverage == nil || !r.Coverage.Unwatched || took > 2*time.Second {
					t.Errorf("after %v: %s", took, show(r))
				}
			})
		})
	}
}

func request(id string) event.Event {
	return &event.Request{ID: id, Method: "GET", URL: "http://localhost/api/" + id, Resource: "fetch"}
}

func answered(id string) event.Event {
	return &event.Network{ID: id, Method: "GET", URL: "http://localhost/api/" + id, Resource: "fetch", Status: 200}
}

func logged(text string) event.Event {
	return &event.Console{Level: event.Error, Via: "console", Text: text}
}

func TestAQuietPageIsSettledAtOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		time.Sleep(time.Second)
		if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took != 0 {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

func TestSettledMeansNothingNewFor300ms(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(logged("one"))
		b.after(200*time.Millisecond, logged("two"))
		b.after(450*time.Millisecond, logged("three"))
		r, took := b.wait(params{Wait: "settled"})
		if !*r.Settled || took != 750*time.Millisecond || len(r.Console.NewErrors) != 3 {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

func TestSettledWaitsForRequestsInFlight(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(request("r"))
		b.after(1500*time.Millisecond, answered("r"))
		r, took := b.wait(params{Wait: "settled"})
		if !*r.Settled || took != 1800*time.Millisecond {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

// TestSettledWaitsForASlowRequest: for one, too, that an action before the wait has called pending.
func TestSettledWaitsForASlowRequest(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(request("slow"))
		b.after(5*time.Second, &event.Network{ID: "slow", Method: "GET", URL: "http://localhost/api/slow", Resource: "fetch", Status: 500})
		time.Sleep(2100 * time.Millisecond)
		b.wait(params{})
		short := 1000
		if r, took := b.wait(params{Wait: "settled", TimeoutMs: &short}); *r.Settled || took != time.Second || r.UnsettledBecause != "1 request(s) in flight: GET /api/slow" {
			t.Errorf("%s after %s", show(r), took)
		}
		if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took != 2200*time.Millisecond || r.Severity != report.Error {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

func TestAStreamIsNotWaitedFor(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(request("stream"))
		time.Sleep(29 * time.Second)
		long := 5000
		if r, took := b.wait(params{Wait: "settled", TimeoutMs: &long}); *r.Settled || took != 5*time.Second {
			t.Errorf("it is no stream yet: %s after %s", show(r), took)
		}
		if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took != 0 {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

func TestALongPollIsNotWaitedFor(t *testing.T) {
	for name, answers := range map[string]time.Duration{"it has news now and then": 4 * time.Second, "it has none for long": 45 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				for i := range 3 {
					id := fmt.Sprint("poll", i)
					at := time.Duration(i) * answers
					b.after(at+20*time.Millisecond, &event.Request{ID: id, Method: "GET", URL: "http://localhost/api/news", Resource: "fetch"})
					b.after(at+answers, &event.Network{ID: id, Method: "GET", URL: "http://localhost/api/news", Resource: "fetch", Status: 200, Duration: float64(answers.Milliseconds())})
				}
				time.Sleep(answers + time.Second)
				if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took != 0 {
					t.Errorf("%s after %s", show(r), took)
				}
			})
		})
	}
}

func TestSocketFramesDoNotKeepAPageUnsettled(t *testing.T) {
	inBubble(t, func(b *bubble) {
		for i := range 40 {
			b.after(time.Duration(i*50)*time.Millisecond, &event.WebSocket{ID: "w", URL: "ws://localhost/live", Op: "received", Text: fmt.Sprint(i)})
		}
		r, took := b.wait(params{Wait: "settled"})
		if !*r.Settled || took > 400*time.Millisecond {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

func TestATimeoutSaysWhy(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(request("r"))
		for i := range 20 {
			b.after(time.Duration(i*100+50)*time.Millisecond, request(fmt.Sprint("r", i)))
		}
		timeout := 500
		r, took := b.wait(params{Wait: "settled", TimeoutMs: &timeout})
		if *r.Settled || took != 500*time.Millisecond || r.UnsettledBecause == "" || r.Summary != "No significant changes; not settled: "+r.UnsettledBecause {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

// poll requests an endpoint at an interval, from now on. Each request takes a while.
func (b *bubble) poll(id string, every, takes time.Duration, status int) {
	for i := range int(30 * time.Second / every) {
		n := fmt.Sprint(id, i)
		url := fmt.Sprint("http://localhost/api/", id, "?n=", i)
		jitter := time.Duration(i*37%30) * time.Millisecond
		b.after(time.Duration(i)*every+jitter, &event.Request{ID: n, Method: "GET", URL: url, Resource: "fetch"})
		b.after(time.Duration(i)*every+jitter+takes, &event.Network{ID: n, Method: "GET", URL: url, Resource: "fetch", Status: status})
	}
}

func TestAPageThatPollsSettlesInTheQuietTime(t *testing.T) {
	for name, polls := range map[string]func(*bubble){
		"four times a second": func(b *bubble) { b.poll("tick", 250*time.Millisecond, 20*time.Millisecond, 200) },
		"slow answers":        func(b *bubble) { b.poll("tick", 250*time.Millisecond, 600*time.Millisecond, 200) },
		"each second":         func(b *bubble) { b.poll("tick", time.Second, 20*time.Millisecond, 200) },
		"failing":             func(b *bubble) { b.poll("tick", 250*time.Millisecond, 20*time.Millisecond, 503) },
		"two of them": func(b *bubble) {
			b.poll("tick", 250*time.Millisecond, 20*time.Millisecond, 200)
			b.poll("tock", 400*time.Millisecond, 20*time.Millisecond, 200)
		},
		"twice the same": func(b *bubble) {
			b.poll("tick", 700*time.Millisecond, 20*time.Millisecond, 200)
			time.Sleep(200 * time.Millisecond)
			b.poll("tick", 700*time.Millisecond, 20*time.Millisecond, 200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				polls(b)
				time.Sleep(8 * time.Second)
				if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took != 0 {
					t.Errorf("%s after %s", show(r), took)
				}
				b.send(logged("news"))
				if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took != 300*time.Millisecond {
					t.Errorf("%s after %s", show(r), took)
				}
				b.hook(observe.HookStart)
				if _, took := b.hook(observe.HookEdit); took != time.Second {
					t.Errorf("an edit's hook took %s", took)
				}
				if _, took := b.hook(observe.HookStop); took != 0 {
					t.Errorf("a stop's hook took %s", took)
				}
			})
		})
	}
}

func TestAReloadIsWaitedForOnAPageThatPolls(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.poll("tick", 250*time.Millisecond, 20*time.Millisecond, 200)
		time.Sleep(8 * time.Second)
		b.after(500*time.Millisecond, &event.Navigation{How: "reload", URL: "http://localhost/"}, request("items"))
		b.after(1200*time.Millisecond, answered("items"), logged("broken by the edit"))
		r, took := b.wait(params{Wait: "reload"})
		if !*r.Settled || took != 1500*time.Millisecond || len(r.Console.NewErrors) != 1 {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

func TestRequestsThatComeOftenButInNoRhythmAreWaitedFor(t *testing.T) {
	inBubble(t, func(b *bubble) {
		at := time.Duration(0)
		for i := range 60 {
			at += time.Duration(20+i*i*i%7*70) * time.Millisecond
			b.after(at, request("items"))
			b.after(at+10*time.Millisecond, answered("items"))
		}
		time.Sleep(3 * time.Second)
		b.send(request("items"))
		b.after(500*time.Millisecond, answered("items"))
		if r, took := b.wait(params{Wait: "settled"}); took < 300*time.Millisecond {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

func TestReloadWaitsForTheHotUpdateThatIsStillToCome(t *testing.T) {
	for name, update := range map[string]event.Event{
		"a reload":            &event.Navigation{How: "reload", URL: "http://localhost/"},
		"a load":              &event.Navigation{How: "load", URL: "http://localhost/next"},
		"Vite's log":          &event.Console{Level: event.Debug, Via: "console", Text: "[vite] hot updated: /src/App.tsx"},
		"a failed hot update": &event.Console{Level: event.Error, Via: "console", Text: "[vite] Failed to reload /src/App.tsx"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				time.Sleep(time.Second)
				b.after(time.Second, update, logged("broken by the edit"))
				r, took := b.wait(params{Wait: "reload"})
				if !*r.Settled || took != 1300*time.Millisecond || r.Severity != report.Error {
					t.Errorf("%s after %s", show(r), took)
				}
			})
		})
	}
}

func TestAFrameThatAnnouncesAReloadIsNotTakenForItsEnd(t *testing.T) {
	inBubble(t, func(b *bubble) {
		time.Sleep(time.Second)
		b.after(100*time.Millisecond, &event.WebSocket{ID: "w", URL: "ws://localhost/?token=[masked]", Op: "received", Text: `{"type":"full-reload"}`})
		b.after(300*time.Millisecond, &event.Navigation{How: "reload", URL: "http://localhost/"})
		b.after(500*time.Millisecond, logged("broken by the edit"))
		r, took := b.wait(params{Wait: "reload"})
		if len(r.Console.NewErrors) != 1 || took != 800*time.Millisecond || r.Severity != report.Error {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

func TestAnUpdateSinceTheLastLookIsEnough(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(&event.Navigation{How: "reload", URL: "http://localhost/"})
		time.Sleep(time.Second)
		if r, took := b.wait(params{Wait: "reload"}); !*r.Settled || took != 300*time.Millisecond {
			t.Errorf("%s after %s", show(r), took)
		}
		// Not again: the next edit's update is still to come.
		r, took := b.wait(params{Wait: "reload"})
		if *r.Settled || took != 3*time.Second || r.UnsettledBecause != "no navigation or hot update occurred" {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

// An update since the last look may be of an edit before the last one, whose own update is about to begin.
func TestTheUpdateOfTheLastOfTwoEditsIsAwaited(t *testing.T) {
	inBubble(t, func(b *bubble) {
		update := &event.Console{Level: event.Debug, Via: "console", Text: "[vite] hot updated: /src/App.tsx"}
		b.send(update)
		time.Sleep(2 * time.Second)
		b.after(200*time.Millisecond, update, logged("broken by the second edit"))
		if r, took := b.wait(params{Wait: "reload"}); !*r.Settled || r.Severity != report.Error || took != 500*time.Millisecond {
			t.Errorf("%s after %s", show(r), took)
		}
	})
}

// An update since the last look is not of a file that was changed after it. What a development server writes is no such file.
func TestAnUpdateBeforeTheLastEditIsNotEnough(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		update  bool
		settled bool
		took    time.Duration
	}{
		"a hot update follows": {"src/App.tsx", true, true, 2300 * time.Millisecond},
		"none follows":         {"notes.txt", false, false, 3 * time.Second},
		"a cache":              {"node_modules/.vite/deps/react.js", false, true, 0},
		"a file that is built": {"dist/index.js", false, true, 0},
		"of another workspace": {"../other/src/App.tsx", false, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.agent.Scope.Workspace = "/shop"
				b.send(&event.Console{Level: event.Debug, Via: "console", Text: "[vite] hot updated: /src/App.tsx"})
				time.Sleep(time.Second)
				root := b.agent.Scope.Workspace
				path, other := strings.CutPrefix(c.path, "../other/")
				if other {
					root = "/other"
				}
				change := &event.FileChange{Head: event.Head{At: time.Now().UnixMilli() + 500, Subject: event.InWorkspace(root)}, Path: path, Change: event.FileModified, Edited: time.Now().UnixMilli()}
				if err := capture.NewSink(b.store, capture.Workspaces, time.Now).Append(t.Context(), change); err != nil {
					t.Fatal(err)
				}
				if c.update {
					b.after(2*time.Second, &event.Console{Level: event.Debug, Via: "console", Text: "[vite] hot updated: /src/App.tsx"}, logged("broken by the edit"))
				}
				r, took := b.wait(params{Wait: "reload"})
				if *r.Settled != c.settled || took != c.took || c.update != (r.Severity == report.Error) {
					t.Errorf("%s after %s", show(r), took)
				}
				if !c.settled && r.UnsettledBecause != "no navigation or hot update occurred" {
					t.Errorf("it ends because %s", r.UnsettledBecause)
				}
			})
		})
	}
}

// A page that was asked for before the last edit may be shown after it, as where a server compiles it first.
func TestALoadThatWasAskedForBeforeTheLastEditIsNotEnough(t *testing.T) {
	for name, c := range map[string]struct {
		asked   time.Duration // after the edit
		ended   bool          // the document, before the page is shown
		because string        // it ends without an update
		took    time.Duration
	}{
		"before, and it has ended":       {-time.Second, true, "", 2300 * time.Millisecond},
		"before, and it still loads":     {-time.Second, false, "", 2300 * time.Millisecond},
		"before, and no update follows":  {-time.Second, true, "the page was loaded, but requested before the last edit", 3 * time.Second},
		"afterwards":                     {500 * time.Millisecond, true, "", 1300 * time.Millisecond},
		"afterwards, and it still loads": {500 * time.Millisecond, false, "", 1300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.agent.Scope.Workspace = "/shop"
				time.Sleep(time.Minute)
				change := &event.FileChange{Head: event.Head{At: time.Now().UnixMilli(), Subject: event.InWorkspace("/shop")}, Path: "app/page.tsx", Change: event.FileModified, Edited: time.Now().Add(time.Second).UnixMilli()}
				ask := func() {
					b.send(&event.Request{ID: "d", Method: "GET", URL: "http://localhost/", Resource: "document"})
				}
				if c.asked < 0 {
					ask()
					time.Sleep(-c.asked)
				} else {
					time.Sleep(time.Second)
					time.AfterFunc(c.asked, ask)
				}
				if err := capture.NewSink(b.store, capture.Workspaces, time.Now).Append(t.Context(), change); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Second, func() {
					end := &event.Network{ID: "d", Method: "GET", URL: "http://localhost/", Resource: "document", Status: 200, Started: change.Edited + c.asked.Milliseconds()}
					load := &event.Navigation{How: "load", URL: "http://localhost/#cart"}
					if c.ended {
						b.send(end, load)
					} else {
						b.send(load, end)
					}
				})
				if c.because == "" {
					b.after(2*time.Second, &event.Console{Level: event.Log, Via: "console", Text: "[Fast Refresh] done in 130ms"}, logged("broken by the edit"))
				}
				if r, took := b.wait(params{Wait: "reload"}); r.UnsettledBecause != c.because || took != c.took || (r.Severity == report.Error) != (c.asked < 0 && c.because == "") {
					t.Errorf("%s after %s", show(r), took)
				}
			})
		})
	}
}

func TestAHashOrPushStateIsNoReload(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.after(time.Second, &event.Navigation{How: "history", URL: "http://localhost/cart"})
		if r, _ := b.wait(params{Wait: "reload"}); *r.Settled {
			t.Errorf("%s", show(r))
		}
	})
}

func TestACallThatIsGivenUpAdvancesNothing(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(logged("one"))
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if _, err := b.e.Observer.Changes(ctx, b.agent, params{Wait: "reload"}); err == nil {
			t.Error("no error")
		}
		if r, _ := b.wait(params{}); len(r.Console.NewErrors) != 1 {
			t.Errorf("%s", show(r))
		}
	})
}

// TestAPageWhoseCodeThrewSettlesWhenItIsKnownWhetherItIsEmpty: that is reported a while after it became empty, or was loaded.
func TestAPageWhoseCodeThrewSettlesWhenItIsKnownWhetherItIsEmpty(t *testing.T) {
	emptied := func() event.Event { return &event.Element{Op: "emptied", Document: "d"} }
	load := func() event.Event { return &event.Navigation{How: "reload", URL: "http://localhost/"} }
	thrown := func() event.Event { return &event.Console{Level: event.Error, Via: "exception", Text: "TypeError: x"} }
	inBubble(t, func(b *bubble) {
		caught := &event.Console{Level: event.Error, Via: "console", Text: "ERROR TypeError: x", Logged: "handle (http://localhost/main.js:3:1)"}
		b.send(load(), caught)
		b.after(1100*time.Millisecond, emptied())
		if r, took := b.wait(params{Wait: "reload"}); !*r.Settled || r.DOM.PageEmptySince == nil || took != 1400*time.Millisecond {
			t.Errorf("empty from its load on: %s after %s", show(r), took)
		}
		b.send(&event.Element{Op: "filled", Document: "d"})
		time.Sleep(10 * time.Second)
		b.send(thrown())
		b.after(350*time.Millisecond, emptied())
		if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || r.DOM.PageEmptySince == nil || took != 650*time.Millisecond {
			t.Errorf("emptied later: %s after %s", show(r), took)
		}
	})
	inBubble(t, func(b *bubble) {
		b.send(load(), thrown())
		ms := 500
		if r, _ := b.wait(params{Wait: "reload", TimeoutMs: &ms}); *r.Settled || r.UnsettledBecause != "an error was thrown, and it is not known yet whether the page is empty" {
			t.Errorf("not known in time: %s", show(r))
		}
		if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took != 800*time.Millisecond {
			t.Errorf("it is not empty: %s after %s", show(r), took)
		}
		time.Sleep(10 * time.Second)
		b.send(thrown())
		if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took != 500*time.Millisecond {
			t.Errorf("nor later: %s after %s", show(r), took)
		}
	})
}

// TestAPageThatLogsAllTheTimeSettlesAfterAnError: its logs do not delay what is known of its content.
func TestAPageThatLogsAllTheTimeSettlesAfterAnError(t *testing.T) {
	chat := func(b *bubble) {
		for i := range 100 {
			b.after(time.Duration(i)*400*time.Millisecond+time.Millisecond, &event.Console{Level: event.Log, Via: "console", Text: fmt.Sprint("unread ", i)})
		}
	}
	thrown := func() event.Event { return &event.Console{Level: event.Error, Via: "exception", Text: "TypeError: x"} }
	inBubble(t, func(b *bubble) {
		chat(b)
		time.Sleep(10 * time.Second)
		b.send(thrown())
		if r, took := b.wait(params{Wait: "settled"}); !*r.Settled || took > 1600*time.Millisecond {
			t.Errorf("%s after %s", show(r), took)
		}
	})
	inBubble(t, func(b *bubble) {
		chat(b)
		b.send(&event.Navigation{How: "reload", URL: "http://localhost/"}, thrown())
		b.after(900*time.Millisecond, &event.Network{ID: "main", Method: "GET", URL: "http://localhost/main.js", Resource: "script", Status: 200})
		if r, took := b.wait(params{Wait: "reload"}); !*r.Settled || took < 2200*time.Millisecond || took > 2600*time.Millisecond {
			t.Errorf("main.js delays the end of the load: %s after %s", show(r), took)
		}
	})
}

func TestAWaitNamesTheOperationsOfRequests(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(&event.Request{ID: "g", Method: "POST", URL: "http://localhost/graphql", Resource: "fetch", Operation: "Pay"})
		short := 500
		if r, _ := b.wait(params{Wait: "settled", TimeoutMs: &short}); *r.Settled || r.UnsettledBecause != "1 request(s) in flight: POST /graphql Pay" {
			t.Error(show(r))
		}
	})
}

// TestPollingOfOneOperation: a steady poll at an address does not have a wait ignore other operations there.
func TestPollingOfOneOperation(t *testing.T) {
	inBubble(t, func(b *bubble) {
		send := func(at time.Duration, id, name string, took time.Duration) {
			b.after(at, &event.Request{ID: id, Method: "POST", URL: "http://localhost/graphql", Resource: "fetch", Operation: name})
			b.after(at+took, &event.Network{ID: id, Method: "POST", URL: "http://localhost/graphql", Resource: "fetch", Status: 200, Operation: name})
		}
		for i := range 12 {
			send(time.Duration(i)*time.Second, fmt.Sprint("p", i), "Poll", 20*time.Millisecond)
		}
		send(8*time.Second, "pay", "Pay", 1500*time.Millisecond)
		time.Sleep(8*time.Second + 10*time.Millisecond)
		if r, took := b.wait(params{Wait: "settled"}); took < 1400*time.Millisecond {
			t.Errorf("after %s: %s", took, show(r))
		}
	})
}
