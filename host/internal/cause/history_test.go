package cause_test

import (
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
		if err := capture.NewSink(s, capture.Browsers, time.Now).Append(t.Context(), append(events, thrown)...); err != nil {
			t.Fatal(err)
		}
		if err := capture.NewSink(s, capture.Workspaces, time.Now).Append(t.Context(), edit("src/a.js", 1000, event.Run{At: 12, Old: 1, New: 1}).FileChange); err != nil {
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
