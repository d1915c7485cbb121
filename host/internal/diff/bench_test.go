package diff_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// section measures what one section costs, noise rules and all. Budgets are those of the first
// specification, divided by ten.
func section(b *testing.B, s capture.Section, budget time.Duration, fill func(*enginetest.World)) {
	w := enginetest.New(b, capture.Limits{})
	requests := func() {
		for i := range 300 {
			w.Request("GET", fmt.Sprintf("/api/things/%d/parts", i%40), 200, 20)
		}
	}
	requests()
	from := w.Store.View(w.Now).Now()
	w.Pass(time.Second)
	fill(w)
	v := w.Store.View(w.Now)
	o := window.Options{Include: []capture.Section{s}, Noise: noise.Default()}
	b.ReportAllocs()
	for b.Loop() {
		diff.Compute(from, v, o)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(budget.Nanoseconds())*100, "%budget")
}

func BenchmarkConsoleDiff1000(b *testing.B) {
	section(b, capture.ConsoleSection, time.Millisecond, func(w *enginetest.World) {
		for i := range 1000 {
			switch i % 10 {
			case 0:
				w.Log("error", fmt.Sprintf("TypeError: cannot read properties of undefined (reading 'id') of order %d at 2026-01-23T10:30:%02dZ", 10_000+i, i%60))
			case 1:
				w.Log("warning", fmt.Sprintf("[vite] server connection lost, attempt %d", i))
			case 2:
				w.Log("warning", fmt.Sprintf("Warning: each child in a list should have a unique key, list %s", time.Duration(i)))
			default:
				w.Log("log", fmt.Sprintf("rendered %d items in %d.5 ms", i, i%20))
			}
		}
	})
}

func BenchmarkNetworkDiff100(b *testing.B) {
	section(b, capture.NetworkSection, 500*time.Microsecond, func(w *enginetest.World) {
		for i := range 100 {
			status := 200
			if i%10 == 0 {
				status = 500
			}
			w.Request("GET", fmt.Sprintf("/api/things/%d/parts/%s?page=%d", i, []string{"a", "b", "c"}[i%3], i), status, float64(20+i))
		}
	})
}

func BenchmarkWebSocketDiff500(b *testing.B) {
	section(b, capture.WebSocketSection, 500*time.Microsecond, func(w *enginetest.World) {
		for i := range 500 {
			switch i % 50 {
			case 0:
				w.Socket("open", "")
			case 48:
				w.Socket("received", fmt.Sprintf(`{"type":"error","id":%d}`, 10_000+i))
			case 49:
				w.Socket("close", "")
			default:
				w.Socket("received", fmt.Sprintf(`{"type":"price","value":%d.25}`, i))
			}
		}
	})
}

func BenchmarkActionsDiff50(b *testing.B) {
	section(b, capture.ActionsSection, 200*time.Microsecond, func(w *enginetest.World) {
		for i := range 50 {
			w.Send("action", fmt.Sprintf(`"action":"type","target":"textbox \"Field %d\"","value":"value %d"`, i, i))
		}
	})
}

// full is a world that holds what the budgets speak of.
func full(b *testing.B) *enginetest.World {
	w := enginetest.New(b, capture.Limits{})
	for i := range 1000 {
		w.Log("log", fmt.Sprint("line ", i))
		if i%2 == 0 {
			w.Socket("received", fmt.Sprint(i))
		}
		if i%10 == 0 {
			w.Request("GET", fmt.Sprintf("/api/%s", time.Duration(i)), 200, 5)
		}
		if i%20 == 0 {
			w.Send("action", `"action":"click","target":"button"`)
		}
		w.Pass(time.Millisecond)
	}
	return w
}

const resolveBudget = 100 * time.Microsecond

func BenchmarkCheckpointResolve(b *testing.B) {
	b.Run("by name", func(b *testing.B) {
		w := full(b)
		var r checkpoint.Registry
		for i := range checkpoint.MaxNamed {
			if _, err := r.Create(checkpoint.Checkpoint{Name: fmt.Sprintf("phase_%c", 'a'+i), Moment: w.Store.View(w.Now).Now()}); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if _, err := r.Get("", "phase_t"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(resolveBudget.Nanoseconds())*100, "%budget")
	})
	b.Run("by time", func(b *testing.B) {
		w := full(b)
		v := w.Store.View(w.Now)
		for b.Loop() {
			at, err := checkpoint.ParseTime("2026-01-23T10:30:00.500Z", time.UTC)
			if err != nil {
				b.Fatal(err)
			}
			v.MomentAt(at)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(resolveBudget.Nanoseconds())*100, "%budget")
	})
}

// BenchmarkCheckpointCreate is bounded by 1 ms in the second specification.
func BenchmarkCheckpointCreate(b *testing.B) {
	w := full(b)
	a := w.Agent()
	for b.Loop() {
		if _, err := w.Call(a, "checkpoint_create", `{"name":"session_start"}`); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6*100, "%budget")
}
