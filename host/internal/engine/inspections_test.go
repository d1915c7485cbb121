package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

func paused(at time.Time, place string) *protocol.TabPaused {
	return &protocol.TabPaused{By: "agent", Reason: protocol.PauseBreakpoint, At: at.UnixMilli(), Place: place}
}

// pause has the debugger pause the page, or resume it for nil.
func pause(w *enginetest.World, p *protocol.TabPaused) {
	w.SetTab(protocol.Tab{ID: 7, URL: enginetest.Page + "/", Watched: true, Capture: "debugger", DOM: true, Paused: p})
}

// TestPausesHitsAndSnapshotsAreASection: it is there by default where something happened, and whenever it is asked for.
func TestPausesHitsAndSnapshotsAreASection(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	if r := w.Changes(a, params{}); r.Variables != nil {
		t.Errorf("nothing happened: %s", show(r))
	}
	if text := show(w.Changes(a, params{Include: []string{"variables"}})); !strings.Contains(text, `"variables":{}`) {
		t.Errorf("it was asked for: %s", text)
	}
	for range 2 {
		w.Pass(time.Second)
		pause(w, paused(w.Now, "total (cart.ts:13)"))
		w.Pass(time.Second)
		pause(w, nil)
	}
	w.Inspect(event.Inspection{Op: event.Hit, Name: "tp-1", Location: "cart.ts:14", By: "agent", Values: []string{"retry", "1"}})
	w.Inspect(event.Inspection{Op: event.Hit, Name: "tp-1", Location: "cart.ts:14", By: "agent", Values: []string{"retry", "2"}})
	w.Inspect(event.Inspection{Op: event.Snapshot, Name: "snap-1", Label: "before", Location: "cart.ts:14:3", By: "agent"})
	pause(w, paused(w.Now, "pay (cart.ts:20)"))
	r := w.Changes(a, params{})
	d := r.Variables
	if d == nil || d.TotalNewEvents != 8 || len(d.Pauses) != 2 || len(d.Hits) != 1 || len(d.Snapshots) != 1 {
		t.Fatal(show(r))
	}
	if p := d.Pauses[0]; p.Place != "total (cart.ts:13)" || p.Count != 2 || p.Paused || p.By != "agent" || p.Reason != "breakpoint" {
		t.Errorf("%+v", p)
	}
	if p := d.Pauses[1]; p.Place != "pay (cart.ts:20)" || !p.Paused {
		t.Errorf("%+v", p)
	}
	if h := d.Hits[0]; h.ID != "tp-1" || h.Count != 2 || h.Last["retry"] != "2" {
		t.Errorf("%+v", h)
	}
	if r.PageText == "" {
		t.Error("text of the page is not marked")
	}
	if again := w.Changes(a, params{}); again.Variables != nil {
		t.Errorf("told twice: %s", show(again))
	}
	w.Pass(time.Second)
	w.Inspect(event.Inspection{Op: event.Paused, Location: "old (cart.ts:1)"})
	if r := w.Changes(a, params{}); len(r.Variables.Pauses) != 1 || r.Variables.Pauses[0].Paused {
		t.Errorf("the tab is not paused there any more, although nobody saw the end: %s", show(r))
	}
	w.CloseTab(7)
	if r := w.Changes(a, params{Include: []string{"variables"}}); r.Variables.TotalNewEvents != 1 {
		t.Errorf("the pause did not end with its tab: %s", show(r))
	}
}

// TestWhatHappensOutsideOfTabsIsScopedByWorkspace: an agent of one origin hears of its own workspace and of no other.
func TestWhatHappensOutsideOfTabsIsScopedByWorkspace(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	scope := checkpoint.Scope{Origins: []string{enginetest.Page}, Workspace: "/home/me/shop"}
	client, leave := w.Engine.Clients.Join("", "agent", scope)
	defer leave()
	w.Changes(client, params{})
	at := func(s event.Subject, name string) {
		w.Inspect(event.Inspection{Head: event.Head{Subject: s}, Op: event.Snapshot, Name: name})
	}
	at(event.Subject{Kind: event.Process, Number: 1, Place: "/home/me/shop/server"}, "mine")
	at(event.Subject{Kind: event.Process, Number: 2, Place: "/home/me/other"}, "other")
	at(event.InTab(99, "http://localhost:9"), "elsewhere")
	r := w.Changes(client, params{})
	if r.Variables == nil || len(r.Variables.Snapshots) != 1 || r.Variables.Snapshots[0].ID != "mine" {
		t.Errorf("in the workspace: %s", show(r))
	}
	if r := w.Changes(w.Agent(), params{Include: []string{"variables"}}); len(r.Variables.Snapshots) != 3 {
		t.Errorf("without a scope: %s", show(r))
	}
	if r := w.Changes(w.Agent(), params{Include: []string{"variables"}, Tab: 1}); len(r.Variables.Snapshots) != 0 {
		t.Errorf("of one tab: %s", show(r))
	}
}

// TestAGapOfARecorderIsOneOfItsSections: a report of other sections is not incomplete by it.
func TestAGapOfARecorderIsOneOfItsSections(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	capture.NewSink(w.Store, "files", w.Clock).Miss(event.InWorkspace("/srv"), protocol.GapRecorderFailed, w.Now, 0)
	if r := w.Changes(a, params{}); r.Coverage != nil {
		t.Errorf("no section of files was reported: %s", show(r))
	}
	capture.NewSink(w.Store, capture.Browsers, w.Clock).Miss(event.Subject{}, protocol.GapRecorderFailed, w.Now, 3)
	if r := w.Changes(a, params{}); r.Coverage == nil || r.Coverage.Dropped != 3 {
		t.Errorf("a gap of the browsers' recorder: %s", show(r))
	}
}

// TestPausesAreOnTheTimeline: as a lane, by position and by a search.
func TestPausesAreOnTheTimeline(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	pause(w, paused(w.Now, "total (cart.ts:13)"))
	ctx := context.Background()
	line, err := w.Engine.Viewer.Timeline(ctx, protocol.ViewTimelineParams{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, l := range line.Lanes {
		found = found || l.Lane == protocol.LaneVariables && len(l.Times) == 1
	}
	if !found || line.Next[protocol.LaneVariables] != 2 {
		t.Errorf("%+v", line)
	}
	got, err := w.Engine.Viewer.Entries(ctx, protocol.ViewEntriesParams{Lane: protocol.LaneVariables, Positions: []uint64{1}})
	if err != nil || len(got.Entries) != 1 || got.Entries[0].Kind != event.Paused || got.Entries[0].Text != "total (cart.ts:13)" {
		t.Errorf("%+v %v", got, err)
	}
	got, err = w.Engine.Viewer.Entries(ctx, protocol.ViewEntriesParams{Lanes: []string{protocol.LaneVariables}, Text: "cart.ts"})
	if err != nil || len(got.Entries) != 1 {
		t.Errorf("%+v %v", got, err)
	}
}
