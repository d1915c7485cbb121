package engine_test

import (
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestAClockThatJumpsByYearsHidesNothing: what is new is decided by the order of arrival, whatever the clock says.
func TestAClockThatJumpsByYearsHidesNothing(t *testing.T) {
	const years = 2 * 365 * 24 * time.Hour
	for name, jumps := range map[string][]time.Duration{
		"forward and back": {years, -years},
		"back and forward": {-years, years},
		"back":             {-years, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a, b := w.Agent(), w.Agent()
			w.Changes(a, observe.ChangesParams{})
			w.Changes(b, observe.ChangesParams{})
			var texts []string
			for i, jump := range append([]time.Duration{0}, jumps...) {
				text := []string{"first", "second", "third"}[i]
				w.Pass(jump)
				if _, err := w.Call(b, "checkpoint_create", `{"name":"before_`+text+`"}`); err != nil {
					t.Fatal(err)
				}
				w.Log("error", text+" failed")
				texts = append(texts, text)
				if r := w.Changes(a, observe.ChangesParams{}); r.Console == nil || r.Console.TotalNewEntries != 1 || !strings.Contains(r.Summary, "1 new console error") {
					t.Errorf("%s: %s, %+v", text, r.Summary, r.Console)
				}
			}
			if r := w.Changes(b, observe.ChangesParams{}); r.Console == nil || r.Console.TotalNewEntries != len(texts) {
				t.Errorf("in all: %s, %+v", r.Summary, r.Console)
			}
			for i, text := range texts {
				if r := w.Changes(b, observe.ChangesParams{Checkpoint: "before_" + text}); r.Console == nil || r.Console.TotalNewEntries != len(texts)-i {
					t.Errorf("since before_%s: %s, %+v", text, r.Summary, r.Console)
				}
			}
		})
	}
}
