package engine_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestAFailedHotUpdateIsReportedUntilThePageReloads: Vue's as an error, webpack's as the warning that it is.
func TestAFailedHotUpdateIsReportedUntilThePageReloads(t *testing.T) {
	for _, c := range []struct {
		text string
		want diff.Severity
	}{
		{"[HMR] Something went wrong during Vue component hot-reload. Full reload required.", diff.Error},
		{"[HMR] Cannot apply update. Need to do a full reload!", diff.Warning},
	} {
		w := enginetest.New(t, capture.Limits{})
		load := func(tab int) {
			w.Pass(time.Second)
			w.Send("navigation", fmt.Sprintf(`"tab":%d,"how":"reload","url":%q`, tab, enginetest.Page+"/"))
			w.Pass(time.Second)
		}
		w.Open(8, enginetest.Page+"/other")
		load(7)
		w.Log("warning", c.text)
		load(8)
		if r := w.Changes(w.Agent(), params{}); r.Severity != c.want || r.NoiseHidden != 0 || len(r.Console.NewErrors)+len(r.Console.NewWarnings) != 1 {
			t.Errorf("%s: %s, %+v", c.text, r.Severity, r.Console)
		}
		a := w.Agent()
		w.Changes(a, params{})
		for range 2 { // nothing is new, and the page is stale all the same
			if r := w.Changes(a, params{}); r.Severity != c.want || len(r.Repeated) != 1 || r.Repeated[0].Count != 1 || r.Repeated[0].Message != c.text {
				t.Errorf("%s again: %s, %+v", c.text, r.Severity, r.Repeated)
			}
		}
		load(7)
		if r := w.Changes(a, params{}); r.Severity != diff.Clean || len(r.Repeated) != 0 {
			t.Errorf("%s, and a reload: %s, %+v", c.text, r.Severity, r.Repeated)
		}
		if r := w.Changes(w.Agent(), params{Checkpoint: checkpoint.Buffers}); r.Severity != diff.Clean || r.NoiseHidden != 1 {
			t.Errorf("%s after a reload: %s, %+v", c.text, r.Severity, r.Console)
		}
	}
}
