package regression_test

import (
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
)

// What was recorded of the browser needs no snapshot where the range begins, nor of the change itself.
func TestPrunedSnapshotsChangeNoVerdict(t *testing.T) {
	a := newApp(t)
	here := moments.Where{Dir: a.dir}
	a.write(t, "money.js", "1")
	first := a.record(t, "start").ID()
	a.looked = a.page.Now
	a.editHooked("style.css", "1")
	broke := a.editHooked("money.js", "2", "money is broken")
	a.editHooked("style.css", "2")
	a.editHooked("style.css", "3")
	for _, one := range []struct {
		keep            int
		before, hasDiff bool
		note            string
	}{
		{5, true, true, ""},
		{4, true, true, " has no snapshot (s1 was pruned)."},
		{3, false, false, "no moment to restore"},
		{2, false, false, "The snapshot of the change is not there any more"},
	} {
		if _, err := a.Timeline.Prune(t.Context(), user, timeline.PruneParams{Where: here, Count: one.keep}); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{"", "start", first, "s1", "0"} {
			r, err := a.Find(t.Context(), user, regression.Params{Where: here, From: from})
			if err != nil {
				t.Errorf("%d are kept, from %q: %v", one.keep, from, err)
				continue
			}
			if r.Verdict != regression.Found || r.Moment != broke || (r.Before != "") != one.before || (r.Diff != nil) != one.hasDiff || !strings.Contains(r.Note, one.note) {
				t.Errorf("%d are kept, from %q: %+v", one.keep, from, r)
			}
		}
	}
}

// editHooked is edit with a moment of a hook, whose snapshot a limit may delete.
func (a *app) editHooked(path, text string, happens ...string) (moment string) {
	a.t.Helper()
	a.hooked = true
	defer func() { a.hooked = false }()
	moment = a.edit(path, text, happens...)
	a.page.Pass(time.Minute)
	return moment
}
