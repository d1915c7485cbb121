package storms

import (
	"testing"

	"pgregory.net/rapid"
)

// occurrence is when something began and ended, in milliseconds.
type occurrence struct{ began, ended int64 }

// stormOf returns the pace of what happened, in the order in which it ended.
func stormOf(t *tempo, list []occurrence) *pace {
	p := &pace{}
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j].ended < list[j-1].ended; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	for _, o := range list {
		p.add(t, o.began, o.ended, true)
	}
	return p
}

func TestSteadySlowPollingIsNoStorm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// Up to three parts of a page that ask for the same thing each second or more slowly, or one that asks more often.
		parts := rapid.IntRange(1, 3).Draw(rt, "parts")
		shortest := int64(1000)
		if parts == 1 {
			shortest = 250
		}
		var list []occurrence
		for range parts {
			period := rapid.Int64Range(shortest, 10_000).Draw(rt, "period")
			at := rapid.Int64Range(0, period).Draw(rt, "phase")
			// An answer that takes nearly as long as the pause between two requests is a loop or a long poll. So are parts
			// that each ask when another part has its answer.
			takes := rapid.Int64Range(0, period/int64(2*parts)).Draw(rt, "takes")
			for range 60 {
				began := at + rapid.Int64Range(0, 20).Draw(rt, "jitter")
				list = append(list, occurrence{began, began + takes})
				at += period
			}
		}
		if p := stormOf(&requestTempo, list); p.storm {
			rt.Fatalf("a storm of %d from %d to %d", p.total, p.from, p.to)
		}
	})
}

func TestALoopIsAStorm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.SampledFrom([]int64{0, 20, 200, 600}).Draw(rt, "slowest answer")
		pause := rapid.Int64Range(0, 80).Draw(rt, "pause")
		var list []occurrence
		at := int64(0)
		for at < 20_000 {
			ended := at + rapid.Int64Range(most/2, most).Draw(rt, "takes")
			list = append(list, occurrence{at, ended})
			at = ended + max(1, pause)
		}
		last := list[len(list)-1]
		p := stormOf(&requestTempo, list)
		if !p.storm || p.from != 0 || p.total != len(list) || !p.goesOn(&requestTempo, last.ended+100) || p.goesOn(&requestTempo, last.ended+5000) {
			rt.Fatalf("%+v of %d", p, len(list))
		}
	})
}

func TestAnEffectThatFetchesFiveTimesASecondIsAStorm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list []occurrence
		at := int64(0)
		for range 40 {
			list = append(list, occurrence{at, at + 5})
			at += rapid.Int64Range(170, 220).Draw(rt, "gap")
		}
		if p := stormOf(&requestTempo, list); !p.storm || p.from != 0 || p.total != 40 {
			rt.Fatalf("%+v", p)
		}
	})
}

func TestABurstIsNoStorm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list []occurrence
		for range 500 {
			at := rapid.Int64Range(0, 1000).Draw(rt, "at")
			list = append(list, occurrence{at, at + rapid.Int64Range(0, 3000).Draw(rt, "takes")})
		}
		if p := stormOf(&requestTempo, list); p.storm {
			rt.Fatalf("%+v", p)
		}
	})
}

func TestAReconnectingSocketIsAStormUnlessItBacksOff(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		gap := rapid.Int64Range(60, 1100).Draw(rt, "gap")
		growth := rapid.Int64Range(150, 300).Draw(rt, "growth in percent")
		var loop, backoff []occurrence
		at, later, wait := int64(0), int64(0), max(gap, 200)
		for range 20 {
			at += gap + rapid.Int64Range(0, gap/8).Draw(rt, "jitter")
			loop = append(loop, occurrence{at, at})
			backoff = append(backoff, occurrence{later, later})
			later, wait = later+wait, min(wait*growth/100, 30_000)
		}
		if p := stormOf(&socketTempo, loop); !p.storm || p.total != len(loop) {
			rt.Fatalf("a loop: %+v", p)
		}
		if p := stormOf(&socketTempo, backoff); p.storm {
			rt.Fatalf("one that backs off: %+v", p)
		}
	})
}

func TestWhatCountsIsCountedSinceTheStormBegan(t *testing.T) {
	p := &pace{}
	for i := range int64(30) {
		p.add(&requestTempo, i*200, i*200+10, i >= 20)
	}
	if !p.storm || p.total != 10 || p.from != 0 || p.to != 29*200 {
		t.Errorf("%+v", p)
	}
}
