package rhythm_test

import (
	"fmt"
	"testing"

	"tidemark.dev/tidemark/host/internal/rhythm"
)

func TestLoops(t *testing.T) {
	for _, c := range []struct {
		name     string
		n        int
		duration int64
		gap      func(i int) int64
		address  func(i int) string
		want     bool
	}{
		{"a timer", 100, 5, func(int) int64 { return 60 }, nil, true},
		{"one with jitter", 100, 5, func(i int) int64 { return 60 + int64(i%5)*20 }, nil, true},
		{"one whose answers overlap", 100, 250, func(int) int64 { return 60 }, nil, true},
		{"a timer for a moment", 80, 5, func(int) int64 { return 60 }, nil, false},
		{"items one after the other", 1000, 50, func(int) int64 { return 55 }, nil, false},
		{"bursts", 400, 5, func(i int) int64 { return []int64{0, 0, 0, 300}[i%4] }, nil, false},
		{"polling", 100, 5, func(int) int64 { return 250 }, nil, false},
		{"typing", 60, 5, func(int) int64 { return 120 }, func(i int) string { return "/search?q=" + fmt.Sprintf("%0*d", i+1, 0) }, false},
	} {
		var l rhythm.Loop
		at := int64(1_000_000)
		for i := range c.n {
			address := fmt.Sprint("/items?id=", i)
			if c.address != nil {
				address = c.address(i)
			}
			l.Take("load (app.js:3:1)", address, at, at+c.duration)
			at += c.gap(i)
		}
		if l.Found() != c.want {
			t.Errorf("%s: %v", c.name, l.Found())
		}
	}
}

func TestALoopIsOfOnePlace(t *testing.T) {
	var l rhythm.Loop
	for i := range int64(200) {
		l.Take(fmt.Sprint("load (app.js:", i/50, ":1)"), fmt.Sprint("/items?id=", i), i*60, i*60+5)
	}
	if l.Found() {
		t.Error("found")
	}
}
