package regression_test

import (
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
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
			a.edit("harmless.js", "1")
			a.late = late
			broken := a.edit("cart.js", "1", "boom")
			a.after(30)
			r, err := a.Find(t.Context(), user, regression.Params{Where: moments.Where{Dir: a.dir}, From: start, To: broken})
			if err != nil || r.Moment != broken {
				t.Errorf("%+v, %v, want %s", r, err, broken)
			}
		})
	}
}
