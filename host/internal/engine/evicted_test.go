package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// TestVisibleErrorsAreReportedAfterAnyEviction: an error that the user sees is never "clean", even when its change
// was evicted.
func TestVisibleErrorsAreReportedAfterAnyEviction(t *testing.T) {
	limits := capture.DefaultLimits()
	limits[capture.DOM].Count = 5
	w := enginetest.New(t, limits)
	a := w.Agent()
	wander := func() {
		for i := range 10 {
			w.Send("navigation", fmt.Sprintf(`"how":"history","url":"http://localhost:5173/p%d"`, i))
		}
	}
	w.Element("appeared", 1, ".error", "Offline")
	w.Element("appeared", 2, ".error", "Stays")
	w.Changes(a, params{})
	w.Element("gone", 1, "", "")
	w.Element("appeared", 3, ".error", "Broken")
	w.Element("appeared", 4, ".toast", "Came and went")
	w.Element("gone", 4, "", "")
	wander()
	for name, r := range map[string]*report.Report{"a window": w.Changes(a, params{}), "the first look": w.Changes(w.Agent(), params{})} {
		var fresh, gone []string
		for _, e := range r.DOM.NewErrorElements {
			fresh = append(fresh, e.Text)
			if !e.AppearedAt.IsZero() || e.GoneAt != nil {
				t.Errorf("%s: times that nobody knows: %s", name, show(e))
			}
		}
		for _, e := range r.DOM.DisappearedElements {
			gone = append(gone, e.Text)
		}
		wantFresh, wantGone := []string{"Broken"}, []string{"Offline"}
		if name == "the first look" {
			wantFresh, wantGone = []string{"Broken", "Stays"}, nil
		}
		if !slices.Equal(fresh, wantFresh) || !slices.Equal(gone, wantGone) || r.Severity != report.Warning || !r.BufferOverflow {
			t.Errorf("%s: %s", name, show(r))
		}
	}
	wander()
	r := w.Changes(a, params{})
	expect(t, r.DOM.NewErrorElements == nil && r.DOM.DisappearedElements == nil && r.Severity == report.Clean, r)
}

// kept is a world's journal, written when the test requests it.
type kept struct {
	*store.Store
	w *enginetest.World
}

func (k *kept) Past() (observe.Past, error) { return k.Store.Past(k.w.Store.Index()) }

func (k *kept) ReadersChanged() {}

func (k *kept) Sync(context.Context) error {
	d := k.w.Store.Drain(k.w.Now)
	if err := k.Commit(d, nil); err != nil {
		return err
	}
	k.w.Store.Kept(d)
	return nil
}

// TestACheckpointOfTheFirstInstantReachesBack: a checkpoint can be made in the very millisecond in which Tidemark
// starts. Entries that left the buffers since then are read from disk. A comparison with the start of the buffers
// does not read it.
func TestACheckpointOfTheFirstInstantReachesBack(t *testing.T) {
	disk, notice, err := store.Open(filepath.Join(t.TempDir(), "journal.db"), store.DefaultLimits(), time.Now())
	if err != nil || notice != "" {
		t.Fatal(err, notice)
	}
	t.Cleanup(func() { _ = disk.Close() })
	limits := capture.DefaultLimits()
	limits[capture.Console].Count = 5
	k := &kept{Store: disk}
	w := enginetest.NewKept(t, limits, k)
	k.w = w
	a := w.Agent()
	if _, err := w.Engine.Observer.CheckpointCreate(t.Context(), a, observe.CheckpointParams{Name: "first"}); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		w.Pass(time.Second)
		w.Log("error", fmt.Sprintf("fault %c", 'a'+i))
	}
	if err := k.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]int{
		"first":                20,
		"2026-01-23T10:29:00Z": 20, // before any entry
		"":                     5,
	} {
		between, err := w.Engine.Observer.Between(t.Context(), a, observe.BetweenParams{From: from}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := between.Console.TotalNewEntries; n != want || between.BufferOverflow != (want < 20) {
			t.Errorf("since %q: %d entries of %d; %s", from, n, want, show(between))
		}
	}
	seen, err := w.Engine.Viewer.Report(t.Context(), protocol.ViewReportParams{From: "first"})
	if err != nil {
		t.Fatal(err)
	}
	if r := seen.Report.(*report.Report); r.Console.TotalNewEntries != 20 || r.BufferOverflow {
		t.Errorf("the viewer shows %s", show(r))
	}
	asked := w.Changes(a, params{Checkpoint: "first"})
	expect(t, asked.Console.TotalNewEntries == 20 && !asked.BufferOverflow, asked)
}
