package main

import (
	"encoding/json"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// BenchmarkStateCheck is what the daemon does for a state check of the latency part, without its transport.
func BenchmarkStateCheck(b *testing.B) {
	w := enginetest.New(b, capture.Limits{})
	agent := w.Agent()
	for range b.N {
		b.StopTimer()
		events := round(time.Now(), false)
		raw := make([]string, len(events))
		for i, e := range events {
			data, err := json.Marshal(e)
			if err != nil {
				b.Fatal(err)
			}
			raw[i] = string(data)
		}
		w.SendAll(raw)
		b.StartTimer()
		w.Changes(agent, observe.ChangesParams{})
	}
}
