package main

import (
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/recording"
)

func TestATimeOfDayInARecording(t *testing.T) {
	began := time.Date(2026, 3, 1, 23, 59, 58, 700e6, time.Local)
	s := recording.Summary{Header: recording.Header{ID: "t1", Started: began}, Duration: 4500 * time.Millisecond} // it ends at 00:00:03.2
	for ts, want := range map[string]time.Duration{
		"23:59:58": 300*time.Millisecond - time.Nanosecond, // what a command prints for 23:59:58.7 to .999…
		"23:59:59": 1300*time.Millisecond - time.Nanosecond,
		"00:00:00": 2300*time.Millisecond - time.Nanosecond,
		"00:00:03": s.Duration,
	} {
		if at, err := frameTime(ts, s); err != nil || at != want {
			t.Errorf("%s: %v %v, want %v", ts, at, err, want)
		}
	}
	for _, ts := range []string{"23:59:57", "00:00:05", "12:00:00"} {
		if at, err := frameTime(ts, s); err == nil {
			t.Errorf("%s is in the recording at %v", ts, at)
		}
	}
}
