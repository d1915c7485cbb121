package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// hook calls the hook, and returns its answer and duration.
func (b *bubble) hook(event string) (*observe.HookAnswer, time.Duration) {
	b.t.Helper()
	return b.hookOf("s1", event)
}

func (b *bubble) hookOf(session, event string) (*observe.HookAnswer, time.Duration) {
	b.t.Helper()
	began := time.Now()
	a, client, err := b.e.Observer.Hook(context.Background(), checkpoint.Scope{}, "", observe.HookParams{Session: session, Event: event})
	if err != nil {
		b.t.Fatal(err)
	}
	b.e.Heard(client)
	return a, time.Since(began)
}

// oneLine returns an answer in one line.
func oneLine(a *observe.HookAnswer) string {
	var list []string
	for _, p := range a.Problems {
		text := p.Kind + ": " + p.Text
		if p.Earlier {
			text = "earlier " + text
		}
		list = append(list, text)
	}
	text := strings.Join(list, "; ")
	if a.Still {
		text = "still " + text
	}
	return text
}

func (b *bubble) expect(event, want string) {
	b.t.Helper()
	if a, _ := b.hook(event); oneLine(a) != want {
		b.t.Errorf("%s: %q, want %q", event, oneLine(a), want)
	}
}

func updatedEvent() event.Event {
	return &event.Console{Level: event.Debug, Via: "console", Text: "[vite] hot updated: /src/App.tsx"}
}

func failed(path string, status int) event.Event {
	return &event.Network{ID: path, Method: "GET", URL: "http://localhost" + path, Resource: "fetch", Status: status}
}

// edit sends an update after a while, with its events.
func (b *bubble) edit(events ...event.Event) {
	time.Sleep(time.Minute) // the agent thinks
	b.after(200*time.Millisecond, append([]event.Event{updatedEvent()}, events...)...)
}

func TestAHookWaitsForAnEditAndReportsItsProblemsOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit(logged("TypeError: x"))
		a, took := b.hook(observe.HookEdit)
		if oneLine(a) != "console: TypeError: x" || took != 500*time.Millisecond || a.Summary != "1 new console error(s)" || a.Watched != 1 {
			t.Errorf("%+v after %s", a, took)
		}
		b.edit()
		b.expect(observe.HookEdit, "")
		b.edit(logged("TypeError: x"))
		b.expect(observe.HookEdit, "console: TypeError: x") // it was fixed, and broke again
	})
}

func TestAnEditThatReachesNoPageIsNotWaitedForLong(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		time.Sleep(time.Minute)
		if a, took := b.hook(observe.HookEdit); oneLine(a) != "" || took != time.Second {
			t.Errorf("%q after %s", oneLine(a), took)
		}
	})
}

func TestWhatAnUpdateOfTheLastEditDidIsNotTakenForThisOne(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit()
		b.expect(observe.HookEdit, "")
		b.after(200*time.Millisecond, updatedEvent()) // a late update of the same edit
		b.edit(logged("TypeError: y"))
		b.expect(observe.HookEdit, "console: TypeError: y")
	})
}

func TestLateProblemsAreReportedByTheNextHook(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		time.Sleep(time.Minute)
		b.after(2*time.Second, updatedEvent(), logged("late"))
		b.expect(observe.HookEdit, "")
		time.Sleep(5 * time.Second)
		b.expect(observe.HookStop, "console: late")
		b.expect(observe.HookStop, "")
	})
}

func TestWhatAnotherSessionBrokeIsEarlierThanAnEdit(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.hookOf("s1", observe.HookStart)
		b.hookOf("s2", observe.HookStart)
		b.edit(logged("TypeError: x"))
		if a, _ := b.hookOf("s1", observe.HookEdit); oneLine(a) != "console: TypeError: x" {
			t.Errorf("whose edit it was: %q", oneLine(a))
		}
		b.edit(logged("TypeError: x"), logged("RangeError: y"))
		if a, _ := b.hookOf("s2", observe.HookEdit); oneLine(a) != "earlier console: TypeError: x; console: RangeError: y" {
			t.Errorf("the other session: %q", oneLine(a))
		}
	})
}

func TestAnErrorThatAnEditDidNotFixIsReportedBriefly(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit(logged("TypeError: x"))
		b.expect(observe.HookEdit, "console: TypeError: x")
		b.edit(logged("TypeError: x"))
		b.expect(observe.HookEdit, "still console: TypeError: x")
		b.edit(logged("TypeError: x"), logged("RangeError: y"))
		b.expect(observe.HookEdit, "console: RangeError: y")
	})
}

func TestProblemsFromBeforeTheSessionAreReportedOnlyAtItsStart(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(&event.WebSocket{ID: "w", URL: "ws://localhost/?token=[masked]", Op: "received", Text: `{"type":"update","updates":[]}`})
		time.Sleep(100 * time.Millisecond)
		b.send(logged("Each child should have a key"))
		time.Sleep(100 * time.Millisecond)
		b.send(updatedEvent())
		time.Sleep(time.Minute)
		b.expect(observe.HookStart, "console: Each child should have a key")
		b.edit(logged("Each child should have a key"))
		b.expect(observe.HookEdit, "")
		b.expect(observe.HookStop, "")
	})
}

func TestProblemsFixedBeforeTheSessionAreNotReported(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(updatedEvent(), logged("TypeError: old"))
		time.Sleep(time.Minute)
		b.send(updatedEvent())
		time.Sleep(time.Minute)
		b.expect(observe.HookStart, "")
		b.edit(logged("TypeError: old"))
		b.expect(observe.HookEdit, "console: TypeError: old")
	})
}

func TestASessionWithoutAReportedStartGetsTheEditAndNothingOlder(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(logged("from yesterday"))
		time.Sleep(24 * time.Hour)
		b.send(updatedEvent(), logged("by the edit"))
		b.expect(observe.HookEdit, "console: by the edit")
	})
}

func TestAStopReportsRemainingProblemsOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit(failed("/api/items", 500), logged("TypeError: x"))
		b.expect(observe.HookEdit, "console: TypeError: x; network: GET /api/items returns 500")
		b.edit(failed("/api/items", 500)) // the error is fixed, the request still fails
		b.expect(observe.HookEdit, "still network: GET /api/items returns 500")
		b.expect(observe.HookStop, "still network: GET /api/items returns 500")
		b.expect(observe.HookStop, "")
		b.edit(failed("/api/items", 500))
		b.expect(observe.HookEdit, "still network: GET /api/items returns 500")
		b.expect(observe.HookStop, "still network: GET /api/items returns 500") // another turn did not fix it
		b.edit(failed("/api/items", 200))
		b.expect(observe.HookEdit, "")
		b.expect(observe.HookStop, "")
	})
}

func TestNewProblemsDoNotReplaceOpenOnes(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit(failed("/api/items", 500))
		b.expect(observe.HookEdit, "network: GET /api/items returns 500")
		b.edit(failed("/api/items", 500), logged("TypeError: x"))
		b.expect(observe.HookEdit, "console: TypeError: x")
		b.expect(observe.HookStop, "still console: TypeError: x; network: GET /api/items returns 500")
		b.edit(failed("/api/items", 500))
		b.expect(observe.HookEdit, "still network: GET /api/items returns 500")
		b.expect(observe.HookStop, "still network: GET /api/items returns 500")
	})
}

func TestAnEditThatLeavesAnEndpointFailingIsNotClean(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit(failed("/api/items", 500))
		b.expect(observe.HookEdit, "network: GET /api/items returns 500")
		time.Sleep(time.Minute)
		b.after(200*time.Millisecond, failed("/api/items", 500)) // an edit of the server: the page polls
		b.expect(observe.HookEdit, "still network: GET /api/items returns 500")
		b.edit(failed("/api/items", 500), failed("/api/items", 200))
		b.expect(observe.HookEdit, "")
		b.edit(failed("/api/items", 404))
		b.expect(observe.HookEdit, "network: GET /api/items returns 404")
		b.send(failed("/api/items", 404)) // before the next edit
		b.edit()
		b.expect(observe.HookEdit, "")
	})
}

func TestAnEndpointThatFailedBeforeTheSessionIsRepeatedAndNeverBlocksAStop(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(updatedEvent(), failed("/api/items", 500), failed("/api/prices", 500))
		time.Sleep(time.Minute)
		b.expect(observe.HookStart, "network: GET /api/prices returns 500; network: GET /api/items returns 500")
		b.edit(failed("/api/items", 500))
		b.expect(observe.HookEdit, "still network: GET /api/items returns 500")
		b.expect(observe.HookStop, "")
		b.edit()
		b.expect(observe.HookEdit, "") // the page did not ask
		b.edit(failed("/api/items", 200))
		b.expect(observe.HookEdit, "")
		b.edit(failed("/api/items", 500)) // this edit broke it
		b.expect(observe.HookEdit, "network: GET /api/items returns 500")
		b.expect(observe.HookStop, "still network: GET /api/items returns 500")
	})
}

func TestARequestThatThePageNoLongerMakesIsNotBroken(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit(failed("/api/goods", 500))
		b.expect(observe.HookEdit, "network: GET /api/goods returns 500")
		b.edit(failed("/api/items", 200))
		b.expect(observe.HookEdit, "")
		b.expect(observe.HookStop, "")
	})
}

func TestAnOverlayIsReportedAloneAndWarningsAreNot(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		element := func(op, selector, text string, id int) event.Event {
			return &event.Element{Op: op, Document: "d", ID: id, Selector: selector, Text: text}
		}
		b.edit(&event.Console{Level: event.Warning, Via: "console", Text: "deprecated"}, element("appeared", "div.alert", "Saved with errors", 1))
		b.expect(observe.HookEdit, "")
		b.edit(element("appeared", "vite-error-overlay", "Unknown word – /src/app.css:3:1", 2))
		a, _ := b.hook(observe.HookEdit)
		if oneLine(a) != "overlay: Unknown word" || a.Problems[0].Source != "app.css:3" {
			t.Errorf("%+v", a)
		}
		b.expect(observe.HookStop, "still overlay: Unknown word")
		b.edit(element("gone", "vite-error-overlay", "", 2))
		b.expect(observe.HookEdit, "")
		b.expect(observe.HookStop, "")
	})
}

func TestAnOverlayThatStaysIsRepeatedAfterAnUpdate(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit(&event.Element{Op: "appeared", Document: "d", ID: 2, Selector: "vite-error-overlay", Text: "Unknown word – /src/app.css:3:1"})
		b.expect(observe.HookEdit, "overlay: Unknown word")
		b.edit()
		b.expect(observe.HookEdit, "still overlay: Unknown word")
		time.Sleep(time.Minute)
		b.expect(observe.HookEdit, "") // the edit reached no page
		b.edit(&event.Element{Op: "gone", Document: "d", ID: 2})
		b.expect(observe.HookEdit, "")
	})
}

func TestARequestThatFinallySucceedsIsNotAProblem(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit(failed("/api/items", 502), failed("/api/items", 200)) // its server was restarting
		b.expect(observe.HookEdit, "")
	})
}

func TestWhereNothingIsWatchedNothingIsWaitedFor(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.store.SetTabs("i", []protocol.Tab{{ID: 1, URL: "http://localhost/"}}, time.Now())
		for _, event := range []string{observe.HookStart, observe.HookEdit, observe.HookStop} {
			if a, took := b.hook(event); a.Watched != 0 || oneLine(a) != "" || took != 0 {
				t.Errorf("%s: %+v after %s", event, a, took)
			}
		}
	})
}

func TestSessionsGetTheSameProblemsIndependently(t *testing.T) {
	inBubble(t, func(b *bubble) {
		for _, s := range []string{"s1", "s2"} {
			b.hookOf(s, observe.HookStart)
		}
		b.edit(logged("TypeError: x"))
		for _, s := range []string{"s1", "s2"} {
			if a, _ := b.hookOf(s, observe.HookEdit); oneLine(a) != "console: TypeError: x" {
				t.Errorf("%s: %q", s, oneLine(a))
			}
		}
	})
}

func TestTwoConcurrentHooksReportAProblemOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.expect(observe.HookStart, "")
		b.edit(logged("TypeError: x"))
		answers := make(chan string)
		for range 2 {
			go func() {
				a, _ := b.hook(observe.HookEdit)
				answers <- oneLine(a)
			}()
		}
		if one, other := <-answers, <-answers; one+other != "console: TypeError: x" {
			t.Errorf("%q and %q", one, other)
		}
	})
}

func TestTooManySessionsDoNotCostAnotherClientItsCursor(t *testing.T) {
	inBubble(t, func(b *bubble) {
		cli := b.e.Clients.Returning("cli", checkpoint.Scope{})
		for i := range 200 {
			b.hookOf(fmt.Sprint("session ", i), observe.HookStart)
			if b.e.Clients.Returning("cli", checkpoint.Scope{}) != cli {
				t.Fatalf("forgotten after %d sessions", i)
			}
		}
		if n := len(b.e.Readers()); n > 65 {
			t.Errorf("%d clients are kept", n)
		}
	})
}

func TestAHookWithWrongParametersIsRefused(t *testing.T) {
	inBubble(t, func(b *bubble) {
		for _, p := range []observe.HookParams{{}, {Session: strings.Repeat("s", 201), Event: observe.HookEdit}, {Session: " ", Event: observe.HookEdit}, {Session: "s"}, {Session: "s", Event: "Edit"}, {Session: "s", Event: observe.HookEdit, TimeoutMs: -1}, {Session: "s", Event: observe.HookEdit, PatienceMs: 1 << 40}} {
			if _, _, err := b.e.Observer.Hook(context.Background(), checkpoint.Scope{}, "", p); !usererr.Is(err) {
				t.Errorf("%+v: %v", p, err)
			}
		}
	})
}

func TestACutStreamIsReportedWithItsError(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.hook(observe.HookStart)
		b.send(&event.Network{ID: "live", Method: "GET", URL: "http://localhost/live", Resource: "eventsource", Status: 200, Stream: true, Error: "net::ERR_INCOMPLETE_CHUNKED_ENCODING"})
		time.Sleep(time.Second)
		b.expect(observe.HookStop, "network: GET /live fails: net::ERR_INCOMPLETE_CHUNKED_ENCODING")
	})
}
