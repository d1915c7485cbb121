package regression_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
)

// TestAVerdictStays: what comes after a range, of however many files, takes nothing away from what is read of it.
func TestAVerdictStays(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	start, _ := a.moment(t, "start")
	a.looked = a.page.Now
	a.edit("style.css", "1")
	broken := a.edit("cart.js", "1", "boom")
	a.after(10)
	a.says(start, broken, "found "+broken)
	next := a.edit("cart.js", "2")
	for i := range 400 {
		a.page.ChangeFile(a.dir, event.FileChange{
			Change: event.FileAdded, Path: fmt.Sprintf(".next/dev/%d.js", i), Since: a.page.Now.UnixMilli() - 1, Edited: a.page.Now.UnixMilli(), Snapshot: 4,
		})
		a.page.Pass(10 * time.Millisecond)
	}
	a.says(start, broken, "found "+broken)
	a.says(broken, next, "clean  no new errors were recorded in this time")
}

// TestTheMomentBeforeIsInTheRange, also where an earlier moment has the same snapshot.
func TestTheMomentBeforeIsInTheRange(t *testing.T) {
	a := newApp(t)
	a.write(t, "cart.js", "0")
	a.moment(t, "start")
	from, _ := a.moment(t, "prompt")
	a.looked = a.page.Now
	broken := a.edit("cart.js", "1", "boom")
	r, err := a.Find(t.Context(), user, regression.Params{Where: moments.Where{Dir: a.dir}, From: from, To: broken})
	if err != nil || r.Moment != broken || r.Before != from {
		t.Errorf("%+v, %v, want %s before %s", r, err, from, broken)
	}
}
