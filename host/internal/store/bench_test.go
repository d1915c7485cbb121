package store_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/enginetest"
	"tidemark.dev/tidemark/host/internal/store"
)

// BenchmarkCommit writes what a tenth of a second of a flood brings: 20,000 console entries.
func BenchmarkCommit(b *testing.B) {
	w := enginetest.New(b, capture.Limits{})
	disk := open(b, filepath.Join(b.TempDir(), "journal.db"), store.DefaultLimits())
	defer func() { _ = disk.Close() }()
	w.Store.Keep()
	commit(b, disk, w.Store, w.Now)
	var raw []string
	for i := range 20_000 {
		raw = append(raw, w.Event("console", fmt.Sprintf(`"level":"log","via":"console","text":"row %d of the table is %x","url":%q,"line":42,"column":7`, i, i*7919, enginetest.Page+"/src/app.js")))
	}
	for b.Loop() {
		b.StopTimer()
		w.SendAll(raw)
		b.StartTimer()
		commit(b, disk, w.Store, w.Now)
	}
	b.ReportMetric(float64(len(raw))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
