package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/enginetest"
)

// TestWhatIsVisibleIsToldHoweverMuchWasEvicted: an error that a person sees is never "clean", though
// the change that it came with is held no more.
func TestWhatIsVisibleIsToldHoweverMuchWasEvicted(t *testing.T) {
	limits := capture.DefaultLimits()
	limits.DOM.Count = 5
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
	for name, r := range map[string]*diff.Report{"a window": w.Changes(a, params{}), "the first look": w.Changes(w.Agent(), params{})} {
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
		if !slices.Equal(fresh, wantFresh) || !slices.Equal(gone, wantGone) || r.Severity != diff.Warning || !r.BufferOverflow {
			t.Errorf("%s: %s", name, show(r))
		}
	}
	wander()
	r := w.Changes(a, params{})
	expect(t, r.DOM.NewErrorElements == nil && r.DOM.DisappearedElements == nil && r.Severity == diff.Clean, r)
}
