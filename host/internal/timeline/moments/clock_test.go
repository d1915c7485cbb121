package moments_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// The machine was suspended, its clock was set back while the daemon ran, and once more while it did not: the times of the
// session only grow, and what passed counts once.
func TestASessionHasOneClock(t *testing.T) {
	w := timelinetest.New(t)
	add := func(content string) {
		t.Helper()
		w.Write("a", content)
		w.Edit(content)
	}
	add("first")
	w.Pass(2 * time.Hour) // suspended: the process's clock stood still
	add("after the suspension")
	w.Pass(-time.Hour)
	add("after the clock was set back")
	w.Restart()
	w.Pass(-time.Hour)
	add("after it was set back again")
	w.Pass(time.Hour)
	add("last")

	a := w.Listed()
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
		s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: c.to})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Read(s.Mount + "/a"); got != c.want {
			t.Errorf("%s s has %q, want %q", c.to, got, c.want)
		}
	}
	if _, err := w.EndSession(t.Context(), timelinetest.User, timeline.SessionParams{Where: w.Here()}); err != nil {
		t.Fatal(err)
	}
	ended, err := w.Session(t.Context(), timelinetest.User, timeline.SessionParams{Where: moments.Where{Session: a.ID}})
	if err != nil || ended.DurationSec < a.DurationSec {
		t.Errorf("ended after %+v, %v", ended, err)
	}
}

func TestLongPausesBeginAnotherSession(t *testing.T) {
	w := timelinetest.New(t)
	w.Edit("today")
	first := w.Listed().ID
	w.Pass(13 * time.Hour)
	w.Edit("tomorrow")
	second := w.Listed()
	if second.ID == first || second.Moments[0].Source != records.FromStart {
		t.Errorf("%s goes on after 13 hours: %+v", first, second)
	}
	all, err := w.Sessions(t.Context(), timelinetest.User, timeline.SessionsParams{Dir: w.Dir})
	if err != nil || len(all.Sessions) != 2 || all.Sessions[1].Ended == nil {
		t.Errorf("%+v, %v", all, err)
	}
	// A moment of an earlier session is reached by its ID.
	if _, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: "m2"}); err != nil {
		t.Error(err)
	}
}

// A clock that is set back, by more and by less than moments are apart: each moment has the files of its time, and none
// waits until the old time comes again.
func TestAClockThatIsSetBackDelaysNoMoment(t *testing.T) {
	w := timelinetest.New(t)
	var ids []string
	for i, step := range []time.Duration{0, -time.Hour, -100 * time.Millisecond, 24 * time.Hour, -48 * time.Hour, -time.Second} {
		w.Pass(step)
		content := strings.Repeat("x", i+1)
		w.Write("a", content)
		m, err := w.Add(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here(), Label: content})
		if err != nil || m.FsSnapshot == false {
			t.Fatalf("after %v: %+v, %v", step, m, err)
		}
		ids = append(ids, m.ID)
		if i == 3 {
			w.Restart()
		}
	}
	for i, id := range ids {
		if got := w.Sought(id, "a"); len(got) != i+1 {
			t.Errorf("%s has %q", id, got)
		}
	}
	var listed []string // of the last session: a long pause begins another one
	for _, m := range w.Listed().Moments {
		if strings.HasPrefix(m.Label, "x") { // else it is the session's own
			listed = append(listed, m.ID)
		}
	}
	if n := len(ids) - len(listed); n < 0 || !slices.Equal(listed, ids[n:]) {
		t.Errorf("%v are listed, after %v", listed, ids)
	}
	w.CheckClean()
}
