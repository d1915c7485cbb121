package regression_test

import (
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// The change of the last moment is recorded 10 s after it: its snapshot took long. The end of the range has passed by then.
func TestAChangeRecordedLate(t *testing.T) {
	for name, late := range map[string]time.Duration{"soon": time.Second, "late": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			a := newApp(t)
			a.write(t, "cart.js", "0")
			start, _ := a.moment(t, "start")
			a.looked = a.page.Now
			a.pause, a.hook = 300*time.Millisecond, 10*time.Millisecond
			a.recordedLate("harmless.js", 0)
			broken := a.recordedLate("cart.js", late, "boom")
			a.after(30)
			r, err := a.Find(t.Context(), user, regression.Params{Where: moments.Where{Dir: a.dir}, From: start, To: broken})
			if err != nil || r.Moment != broken {
				t.Errorf("%+v, %v, want %s", r, err, broken)
			}
		})
	}
}

func (a *app) recordedLate(path string, late time.Duration, happens ...string) (moment string) {
	a.t.Helper()
	a.page.Pass(a.pause)
	e := event.FileChange{Change: event.FileModified, Path: path, Tail: path, Since: a.looked.UnixMilli(), Edited: a.page.Now.UnixMilli()}
	a.write(a.t, path, "1")
	a.page.Pass(100 * time.Millisecond)
	a.page.Send("navigation", `"url":"`+enginetest.Page+`/","how":"reload"`)
	a.page.Pass(10 * time.Millisecond)
	for _, text := range happens {
		a.page.Log("error", text)
	}
	a.page.Pass(a.hook)
	if a.hooked {
		m := a.record(a.t, "Edit "+path)
		moment, e.Snapshot = m.ID(), m.Snapshot
	} else {
		moment, e.Snapshot = a.moment(a.t, "Edit "+path)
	}
	a.page.Pass(late)
	a.looked = a.page.Now
	a.page.ChangeFile(a.dir, e)
	return moment
}
