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

// BenchmarkFullBuffers is what the first entry of an answer costs.
func BenchmarkFullBuffers(b *testing.B) {
	rules := noise.Default()
	s := capture.New(capture.DefaultLimits(), rules, time.UnixMilli(0))
	k := capture.NewSink(s, capture.Browsers, epoch)
	for i := range int64(10_000) {
		head := event.Head{At: i, Subject: event.InTab(1, "http://localhost")}
		if err := k.Append(b.Context(),
			&event.Console{Head: head, Level: event.Error, Text: fmt.Sprintf("TypeError: cannot read %d of undefined (reading 'name')", i), URL: "http://localhost/a.js", Line: 3},
			&event.Network{Head: head, Method: "GET", URL: fmt.Sprintf("http://localhost/src/a.js?t=%d", 1_700_000_000_000+i), Status: 200, Started: i},
			&event.WebSocket{Head: head, Op: "received", URL: "ws://localhost/live", Text: fmt.Sprintf(`{"type":"tick","at":%d}`, i)},
		); err != nil {
			b.Fatal(err)
		}
	}
	files := capture.NewSink(s, capture.Workspaces, epoch)
	for i := range int64(1000) {
		if err := files.Append(b.Context(), &event.FileChange{Head: event.Head{At: i, Subject: event.InWorkspace(root)}, Path: fmt.Sprintf("src/%d.js", i), Change: event.FileModified}); err != nil {
			b.Fatal(err)
		}
	}
	v := s.View(epoch())
	for b.Loop() {
		cause.Read(v, capture.Positions{}, func(event.Subject) bool { return true }, rules.Update)
	}
}
