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
		load(7)
		if r := w.Changes(w.Agent(), params{Checkpoint: checkpoint.Buffers}); r.Severity != diff.Clean || r.NoiseHidden != 1 {
			t.Errorf("%s after a reload: %s, %+v", c.text, r.Severity, r.Console)
		}
	}
}
