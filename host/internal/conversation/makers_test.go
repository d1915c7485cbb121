package conversation

import (
	"math/bits"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Spans that overlap are those that a plain walk finds, and the work grows with them alone, even beside calls that never end.
func TestOverlappingSpansAreFoundWithoutAWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(t, "spans")
		unended := rapid.IntRange(1, 400).Draw(t, "one in so many never ends")
		s := &spans{}
		seed := rapid.Uint32().Draw(t, "seed")
		next := func(below int) int64 {
			seed = seed*1664525 + 1013904223
			return int64(seed>>8) % int64(below)
		}
		for i := range n {
			one := &span{at: i, begin: next(10 * n)}
			if one.end = one.begin + next(30); i%unended == unended-1 {
				one.end = 1 << 62
			}
			s.add(one)
		}
		s.arrange()
		for range 20 {
			from := next(10*n + 10)
			to := from + next(20)
			var want []int
			for _, one := range s.list {
				if one.begin <= to && one.end >= from {
					want = append(want, one.at)
				}
			}
			found, looked := s.overlapping(time.Unix(0, from), time.Unix(0, to))
			var got []int
			for _, one := range found {
				got = append(got, one.at)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("from %d to %d: %d, want %d", from, to, got, want)
			}
			if most := 2 * (len(found) + 2) * (bits.Len(uint(n)) + 1); looked > most {
				t.Fatalf("%d of %d spans took %d looks (at most %d)", len(found), n, looked, most)
			}
		}
	})
}
