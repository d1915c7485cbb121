package memory_test

import (
	"runtime/debug"
	"testing"

	"tidemark.dev/tidemark/host/internal/memory"
)

func TestTheLimitIsTheSumOfTheParts(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer func() {
		memory.Limit(0)
		debug.SetMemoryLimit(before)
	}()
	var a, b memory.Part
	a.Need(10 << 20)
	if debug.SetMemoryLimit(-1) != before {
		t.Error("a part limits a process that has no limit")
	}
	memory.Limit(1 << 30)
	b.Need(20 << 20)
	a.Need(5 << 20)
	if got := debug.SetMemoryLimit(-1); got != 1<<30+25<<20 {
		t.Error(got)
	}
	a.Need(0)
	b.Need(0)
	if got := debug.SetMemoryLimit(-1); got != 1<<30 {
		t.Error(got)
	}
}

func TestGarbageIsCollectedAgainWhenAllHaveGrown(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	first, second := memory.Grow(), memory.Grow()
	first()
	first()
	if n := percent(); n != -1 {
		t.Errorf("%d %% while one grows", n)
	}
	if second(); percent() != 100 {
		t.Errorf("%d %% afterwards", percent())
	}
}
