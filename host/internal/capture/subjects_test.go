package capture_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/protocol"
)

// TestPagesAreThoseOfTheEntries compares the tabs that a view names at once with those that its entries name.
func TestPagesAreThoseOfTheEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(1_700_000_000_000)
		few := capture.Limit{Count: rapid.IntRange(1, 12).Draw(t, "held"), Bytes: 1 << 20}
		s := capture.New(capture.Limits{capture.Console: few, capture.Network: few, capture.WebSocket: few, capture.Actions: few, capture.DOM: few}, noise.Default(), now)
		s.Hello(&protocol.Hello{Instance: "i", Stream: "s", First: 1}, now)
		tabs := rapid.SampledFrom([]int{1, 3, 300}).Draw(t, "tabs") // more than are remembered, too
		var events []event.Event
		for range rapid.IntRange(0, 60).Draw(t, "events") + tabs%299 {
			head := event.Head{At: now.UnixMilli(), Subject: event.InTab(rapid.IntRange(1, tabs).Draw(t, "tab"), "")}
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				events = append(events, &event.Console{Head: head, Text: "a"})
			case 1:
				events = append(events, &event.Network{Head: head, ID: "1", Method: "GET", URL: "http://a.test/x", Status: 200})
			case 2:
				events = append(events, &event.WebSocket{Head: head, ID: "1", URL: "ws://a.test/", Op: "open"})
			case 3:
				events = append(events, &event.Action{Head: head, Type: "click"})
			case 4:
				url := fmt.Sprintf("http://%c.test/", 'a'+rapid.IntRange(0, 2).Draw(t, "origin"))
				events = append(events, &event.Navigation{Head: head, How: "load", URL: url})
			}
		}
		if _, bad := s.Apply("i", "s", 1, events, now); bad != nil {
			t.Fatal(bad.Message)
		}
		v := s.View(now)
		from := uint64(rapid.IntRange(0, 70).Draw(t, "from"))
		want := map[event.Subject]bool{}
		for _, section := range capture.Sections {
			for _, e := range v.Events(section, from) {
				want[e.Header().Subject] = true
			}
		}
		got := map[event.Subject]bool{}
		known := v.SubjectsSince(capture.BySection(func(capture.Section) uint64 { return from }), func(s event.Subject) {
			got[s] = true
		})
		if !known && (tabs < 256 || len(got) > 0) {
			t.Fatalf("%d tabs are not known; named all the same: %v", tabs, got)
		}
		if known && !maps.Equal(got, want) {
			t.Fatalf("named at once: %v; entries are from %v", got, want)
		}
	})
}
