package timeline_test

import (
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline"
)

// The machine was suspended, its clock was set back while the daemon ran, and once more while it did not: the times of the
// session only grow, and what passed counts once.
func TestASessionHasOneClock(t *testing.T) {
	w := newWorld(t)
	add := func(content string) {
		t.Helper()
		w.write("a", content)
		w.record(content)
	}
	add("first")
	w.pass(2 * time.Hour) // suspended: the process's clock stood still
	add("after the suspension")
	w.pass(-time.Hour)
	add("after the clock was set back")
	w.restart()
	w.pass(-time.Hour)
	add("after it was set back again")
	w.pass(time.Hour)
	add("last")

	a := w.list()
	for i, want := range []time.Duration{0, 0, 2 * time.Hour, 2 * time.Hour, 2 * time.Hour, 3 * time.Hour} { // session started, first, …
		if at := time.Duration(a.Moments[i].TS * float64(time.Second)); at < want || at > want+time.Minute {
			t.Errorf("%s is at %v, want %v", a.Moments[i].Label, at, want)
		}
		if i > 0 && (a.Moments[i].TS < a.Moments[i-1].TS || a.Moments[i].ID == a.Moments[i-1].ID) {
			t.Errorf("%+v follows %+v", a.Moments[i], a.Moments[i-1])
		}
	}
	for i, s := range a.FsSnapshots {
		if i > 0 && s.TS < a.FsSnapshots[i-1].TS {
			t.Errorf("%+v follows %+v", s, a.FsSnapshots[i-1])
		}
	}
	if last := a.Moments[len(a.Moments)-1].TS; a.DurationSec < last || a.DurationSec > last+60 {
		t.Errorf("the session lasts %g s, its last moment is at %g s", a.DurationSec, last)
	}
	for _, c := range []struct{ to, want string }{{"60", "first"}, {"7100", "first"}, {"11000", "last"}} {
		s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: c.to})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.read(s.Mount + "/a"); got != c.want {
			t.Errorf("%s s has %q, want %q", c.to, got, c.want)
		}
	}
	if _, err := w.EndSession(t.Context(), user, timeline.SessionParams{Where: w.here()}); err != nil {
		t.Fatal(err)
	}
	ended, err := w.Session(t.Context(), user, timeline.SessionParams{Where: timeline.Where{Session: a.ID}})
	if err != nil || ended.DurationSec < a.DurationSec {
		t.Errorf("ended after %+v, %v", ended, err)
	}
}
