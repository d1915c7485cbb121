package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/testing/enginetest"
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

// BenchmarkRestore fills the buffers of a new daemon from the journal.
func BenchmarkRestore(b *testing.B) {
	w := enginetest.New(b, capture.Limits{})
	disk := open(b, filepath.Join(b.TempDir(), "journal.db"), store.DefaultLimits())
	defer func() { _ = disk.Close() }()
	w.Store.Keep()
	body := strings.Repeat("A kettle of enamelled steel. ", 160)
	for i := range 110 {
		var raw []string
		for j := range 40 {
			raw = append(raw, w.Event("network", fmt.Sprintf(`"id":"%d.%d","method":"GET","url":"http://localhost:5173/api/%d","resource":"fetch","status":200,"started":1,"duration":12,"response_headers":{"content-type":"application/json"},"response_body":%q`, i, j, j, body)))
		}
		for j := range 190 {
			raw = append(raw, w.Event("websocket", fmt.Sprintf(`"id":"w","url":"ws://localhost:5173/live","op":"received","text":%q`, body[j:j+300])))
		}
		for j := range 95 {
			raw = append(raw, w.Event("console", fmt.Sprintf(`"level":"log","via":"console","text":%q,"url":"http://localhost:5173/a.js","line":1`, body[j:j+400])))
		}
		w.SendAll(raw)
		commit(b, disk, w.Store, w.Now)
	}
	for b.Loop() {
		restore(b, disk, capture.DefaultLimits(), w.Now)
	}
}
