package ring

import (
	"iter"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestBehavesLikeAList compares a ring with a plain list under random appends and views.
func TestBehavesLikeAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxCount := rapid.IntRange(1, 40).Draw(t, "maxCount")
		maxBytes := rapid.IntRange(1, 200).Draw(t, "maxBytes")
		var evicted []int
		r := New(Options[int]{
			MaxCount: maxCount, MaxBytes: maxBytes, Chunk: rapid.IntRange(1, 8).Draw(t, "chunk"),
			Size: func(v *int) int { return *v }, Mark: func(v *int) bool { return *v%3 == 0 }, Flag: func(v *int) bool { return *v%5 == 0 }, Label: func(v *int) uint64 { return uint64(*v % 7) },
			Evict: func(pos uint64, v *int) {
				if int(pos) != len(evicted)+1 {
					t.Fatalf("position %d left, want %d", pos, len(evicted)+1)
				}
				evicted = append(evicted, *v)
			},
		})
		var all []int
		type taken struct {
			view  View[int]
			first int
			n     int
		}
		var views []taken
		check := func(tv taken) {
			if got := int(tv.view.Next()) - 1; got != tv.n {
				t.Fatalf("Next is %d, want %d", got+1, tv.n+1)
			}
			i := int(tv.view.First()) - 1
			if i != tv.first {
				t.Fatalf("the view's first position moved from %d to %d", tv.first+1, i+1)
			}
			for pos, v := range tv.view.From(0) {
				if int(pos) != i+1 || *v != all[i] || tv.view.At(pos) != v {
					t.Fatalf("position %d holds %d, want %d at %d", pos, *v, all[i], i+1)
				}
				i++
			}
			if i != tv.n {
				t.Fatalf("the view ended at %d of %d", i, tv.n)
			}
			from := rapid.IntRange(0, tv.n+2).Draw(t, "from")
			until := tv.view.Until(uint64(rapid.IntRange(from, tv.n+2).Draw(t, "until")))
			for name, v := range map[string]View[int]{"view": tv.view, "until": until, "empty": {}} {
				var want, got, wantFlagged, flagged []uint64
				for pos, value := range v.From(uint64(from)) {
					if *value%3 == 0 {
						want = append(want, pos)
					}
					if *value%5 == 0 {
						wantFlagged = append(wantFlagged, pos)
					}
				}
				for pos, value := range v.Flagged(uint64(from)) {
					if v.At(pos) != value {
						t.Fatalf("%s from %d: position %d has another value", name, from, pos)
					}
					flagged = append(flagged, pos)
				}
				for pos := range v.Marked(uint64(from)) {
					got = append(got, pos)
				}
				labeled := uint64(max(from, int(v.FirstInRing())))
				for pos, label := range v.Labels(uint64(from)) {
					if pos != labeled || label != uint64(*v.At(pos)%7) || v.Label(pos) != label {
						t.Fatalf("%s from %d: position %d has label %d, want position %d", name, from, pos, label, labeled)
					}
					labeled++
				}
				if labeled < v.Next() || v.Label(v.Next()) != 0 {
					t.Fatalf("%s from %d: labels until %d, want %d", name, from, labeled, v.Next())
				}
				if !slices.Equal(got, want) || !slices.Equal(flagged, wantFlagged) {
					t.Fatalf("%s from %d: marked %v, want %v; flagged %v, want %v", name, from, got, want, flagged, wantFlagged)
				}
			}
		}
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			v := rapid.IntRange(0, 30).Draw(t, "size")
			if pos, _ := r.Append(v); int(pos) != len(all)+1 {
				t.Fatalf("position %d, want %d", pos, len(all)+1)
			}
			all = append(all, v)
			view := r.View()
			first := int(view.First()) - 1
			held := all[first:]
			if len(held) > maxCount || len(held) > 1 && total(held) > maxBytes {
				t.Fatalf("%d values, %d bytes held; allowed %d, %d", len(held), total(held), maxCount, maxBytes)
			}
			if r.Bytes() != total(held) || view.Len() != len(held) || int(view.Evicted()) != first || len(evicted) != first {
				t.Fatalf("accounts disagree: bytes %d/%d len %d/%d evicted %d/%d/%d", r.Bytes(), total(held), view.Len(), len(held), view.Evicted(), len(evicted), first)
			}
			views = append(views, taken{view, first, len(all)})
		}
		for _, tv := range views {
			check(tv)
		}
	})
}

func total(list []int) int {
	n := 0
	for _, v := range list {
		n += v
	}
	return n
}

func TestAViewIsReadWithoutALockWhileTheRingIsWritten(t *testing.T) {
	r := New(Options[int]{MaxCount: 100, MaxBytes: 1 << 20, Chunk: 8, Size: func(*int) int { return 1 }})
	views := make(chan View[int], 8)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for v := range views {
				for pos, n := range v.From(0) {
					if *n != int(pos) {
						t.Errorf("position %d holds %d", pos, *n)
						return
					}
				}
			}
		})
	}
	for i := range 20_000 {
		r.Append(i + 1)
		if i%10 == 0 {
			views <- r.View()
		}
	}
	close(views)
	readers.Wait()
}

func TestAPositionOutsideIsNil(t *testing.T) {
	r := New(Options[int]{MaxCount: 2, MaxBytes: 100, Size: func(*int) int { return 1 }})
	for i := range 5 {
		r.Append(i)
	}
	v := r.View()
	for _, pos := range []uint64{0, 1, 3, 6} {
		if v.At(pos) != nil {
			t.Errorf("position %d is held", pos)
		}
	}
	if *v.At(4) != 3 || *v.At(5) != 4 {
		t.Error("the newest two are not held")
	}
}

// TestAViewOfAnyPartHoldsItsPart compares views with a past, cut anywhere, with the list of all values.
func TestAViewOfAnyPartHoldsItsPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(Options[int]{MaxCount: rapid.IntRange(1, 10).Draw(t, "most"), MaxBytes: 1000, Chunk: 4, Size: func(*int) int { return 1 }})
		n := rapid.IntRange(0, 30).Draw(t, "values")
		all := make([]int, n+1)
		for i := 1; i <= n; i++ {
			all[i] = i
			r.Append(i)
		}
		v := r.View().Behind(uint64(rapid.IntRange(1, n+1).Draw(t, "kept")), func(from, to uint64) iter.Seq2[uint64, *int] {
			return func(yield func(uint64, *int) bool) {
				for p := from; p < to; p++ {
					if !yield(p, &all[p]) {
						return
					}
				}
			}
		})
		until := uint64(rapid.IntRange(0, n+2).Draw(t, "until"))
		holds := func(name string, v View[int], first, next uint64) {
			next = max(1, min(next, until))
			first = min(first, next)
			if v.First() != first || v.Next() != next || v.Len() != int(next-first) || v.FirstInRing() < first || v.FirstInRing() > next {
				t.Fatalf("%s: from %d to %d, of %d, in the ring from %d; want %d to %d", name, v.First(), v.Next(), v.Len(), v.FirstInRing(), first, next)
			}
			for _, read := range []iter.Seq2[uint64, *int]{v.From(0), v.Marked(0)} {
				p := first
				for pos, value := range read {
					if pos != p || *value != int(p) {
						t.Fatalf("%s: %d holds %d, want %d", name, pos, *value, p)
					}
					p++
				}
				if p != next {
					t.Fatalf("%s: ended at %d, want %d", name, p, next)
				}
			}
		}
		first := v.First()
		holds("a part", v.Until(until), first, v.Next())
		holds("a part in the ring", v.Until(until).InRing(), v.FirstInRing(), v.Next())
		holds("a part of the ring", v.InRing().Until(until), v.FirstInRing(), v.Next())
	})
}
