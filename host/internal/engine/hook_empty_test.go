package engine_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
)

// hotUpdate is what Vite sends and logs of a hot update of a file.
func hotUpdate(file string) []event.Event {
	return []event.Event{
		&event.WebSocket{ID: "w", URL: "ws://localhost/?token=[masked]", Op: "received", Text: `{"type":"update","updates":[]}`},
		&event.Console{Level: event.Debug, Via: "console", Text: "[vite] hot updated: " + file},
	}
}

func thrown(text string) event.Event {
	return &event.Console{Level: event.Error, Via: "exception", Text: text}
}

func becomes(op string) event.Event { return &event.Element{Op: op, Document: "d"} }

// updates sends the update of a file, what comes of it and, a while later, what became of the page.
func (b *bubble) updates(file string, events ...event.Event) {
	b.after(200*time.Millisecond, append(hotUpdate(file), events...)...)
}

// breaks empties the page with an error, and tells whom the hook tells.
func (b *bubble) breaks(session, want string) {
	b.t.Helper()
	b.updates("/src/App.tsx", thrown("TypeError: bar"))
	b.after(500*time.Millisecond, becomes("emptied"))
	b.says(session, observe.HookEdit, want)
}

func (b *bubble) fixes(session, want string) {
	b.t.Helper()
	b.updates("/src/App.tsx", becomes("filled"))
	b.says(session, observe.HookEdit, want)
}

func (b *bubble) says(session, event, want string) {
	b.t.Helper()
	if a, _ := b.hookOf(session, event); oneLine(a) != want {
		b.t.Errorf("%s of %s: %q, want %q", event, session, oneLine(a), want)
	}
}

const (
	emptied = "console: TypeError: bar; empty: the page is empty"
	still   = "still " + emptied
)

// TestAPageThatIsEmptyIsBrokenUntilItIsFilled whatever updates come.
func TestAPageThatIsEmptyIsBrokenUntilItIsFilled(t *testing.T) {
	for _, file := range []string{"/src/App.tsx", "/src/App.css", "/src/Other.tsx", ""} {
		t.Run(file, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.says("s1", observe.HookStart, "")
				b.breaks("s1", emptied)
				if file != "" { // an edit of a README reaches no page
					b.updates(file)
				}
				b.says("s1", observe.HookEdit, still)
				b.says("s1", observe.HookStop, still)
				b.says("s1", observe.HookStop, "")
				b.says("s2", observe.HookStart, emptied)
				b.says("s2", observe.HookStop, "")
				b.fixes("s1", "")
				b.says("s1", observe.HookStop, "")
				b.says("s2", observe.HookEdit, "")
				b.says("s3", observe.HookStart, "")
				b.breaks("s2", emptied) // it is not from before the session any more
				b.says("s2", observe.HookStop, still)
			})
		})
	}
}

// TestWhatAHealthyPageHasBehindItIsNotFromBeforeASession: the update that fixed it came within a second.
func TestWhatAHealthyPageHasBehindItIsNotFromBeforeASession(t *testing.T) {
	for _, pause := range []time.Duration{0, 2 * time.Second} {
		t.Run(fmt.Sprint(pause), func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.says("s1", observe.HookStart, "")
				b.breaks("s1", emptied)
				b.fixes("s1", "")
				time.Sleep(pause)
				b.says("s2", observe.HookStart, "")
				b.breaks("s2", emptied)
				b.says("s2", observe.HookStop, still)
			})
		})
	}
}

// TestAnErrorFromBeforeTheSessionThatLeavesThePageEmptyIsReported: it left something before.
func TestAnErrorFromBeforeTheSessionThatLeavesThePageEmptyIsReported(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.send(append(hotUpdate("/src/App.tsx"), thrown("TypeError: bar"))...)
		time.Sleep(time.Minute)
		b.says("s1", observe.HookStart, "console: TypeError: bar")
		b.breaks("s1", emptied)
		b.says("s1", observe.HookStop, still)
	})
}

// TestAnErrorThatASessionWasToldOfIsNotBlamedOnALaterEdit: no update between them ran the code that throws it.
func TestAnErrorThatASessionWasToldOfIsNotBlamedOnALaterEdit(t *testing.T) {
	for file, want := range map[string]string{
		"/src/App.css": "still console: TypeError: bar", "/src/Other.tsx": "still console: TypeError: bar", "/src/App.tsx": "console: TypeError: bar",
	} {
		t.Run(file, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.says("s1", observe.HookStart, "")
				b.updates("/src/App.tsx", thrown("TypeError: bar"))
				b.says("s1", observe.HookEdit, "console: TypeError: bar")
				b.updates("/src/App.tsx", thrown("TypeError: bar"))
				b.says("s1", observe.HookEdit, "still console: TypeError: bar")
				b.updates(file)
				b.says("s1", observe.HookEdit, "")
				b.updates("/src/App.tsx", thrown("TypeError: bar"))
				b.says("s1", observe.HookEdit, want)
			})
		})
	}
}

// TestWhatAnotherSessionBrokeAndFixedIsNotReported: it is over, and no edit of this session did it.
func TestWhatAnotherSessionBrokeAndFixedIsNotReported(t *testing.T) {
	for name, fix := range map[string]func(*bubble){
		"a hot update": func(b *bubble) { b.fixes("other", "") },
		"a reload": func(b *bubble) {
			b.after(200*time.Millisecond, &event.Navigation{How: "reload", URL: "http://localhost/"})
			b.says("other", observe.HookEdit, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				b.send(&event.Navigation{How: "load", URL: "http://localhost/"})
				time.Sleep(time.Minute)
				b.says("idle", observe.HookStart, "")
				b.says("other", observe.HookStart, "")
				b.breaks("other", emptied)
				fix(b)
				b.says("idle", observe.HookStop, "")
				b.breaks("other", emptied)
				fix(b)
				b.updates("/src/App.tsx")
				b.says("idle", observe.HookEdit, "")
				b.breaks("other", emptied)
				b.updates("/src/App.css")
				b.says("idle", observe.HookEdit, emptied) // never is a broken page called clean
			})
		})
	}
}

// TestAnErrorOfNoUpdateIsNotLost: code that runs anew does not show that what a click did is over.
func TestAnErrorOfNoUpdateIsNotLost(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.says("s1", observe.HookStart, "")
		b.send(hotUpdate("/src/App.tsx")...)
		time.Sleep(time.Minute)
		b.send(thrown("TypeError: clicked"))
		time.Sleep(time.Minute)
		b.updates("/src/App.tsx")
		b.says("s1", observe.HookEdit, "earlier console: TypeError: clicked")
	})
}
