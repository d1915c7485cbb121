package engine_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestEntriesReplayedByANewWorkerAreNotNew: a new worker makes the browser log everything again, from shortly before
// the old one stopped.
func TestEntriesReplayedByANewWorkerAreNotNew(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	var sent []string
	say := func(text string) {
		sent = append(sent, w.Event("console", fmt.Sprintf(`"level":"error","via":"console","text":%q`, text)))
	}
	say("early")
	w.Pass(time.Second)
	say("late")
	say("late")
	say("late too")
	w.SendAll(sent)
	w.Changes(a, params{})

	w.Restart("the new worker's")
	say("late")       // a third time, in the same millisecond
	say("never told") // likewise
	w.Pass(time.Second)
	say("early") // a real repetition
	w.SendAll(sent)
	r := w.Changes(a, params{})
	if got := fmt.Sprintf("%d %d %s", r.Console.TotalNewEntries, len(r.Console.NewErrors), repeated(r)); got != "3 1 [{late 1} {early 1}]" {
		t.Errorf("%s", show(r))
	}

	w.Restart("one more")
	w.SendAll(sent)
	if r := w.Changes(a, params{}); r.Console.TotalNewEntries != 0 {
		t.Errorf("%s", show(r))
	}
	if r := w.Changes(w.Agent(), params{}); r.Console.TotalNewEntries != 7 {
		t.Errorf("%s", show(r))
	}
}
