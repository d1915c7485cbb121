package provider_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

var noon = time.Date(2026, 1, 23, 12, 0, 0, 0, time.UTC)

var age = retention.Wall(func() time.Time { return noon })

// snapshots makes snapshots one hour apart, the newest an hour ago.
func snapshots(n int) []provider.Snapshot {
	all := make([]provider.Snapshot, n)
	for i := range all {
		all[i] = provider.Snapshot{Number: uint64(i + 1), At: noon.Add(-time.Duration(n-i) * time.Hour)}
	}
	return all
}

// TestByDefaultAWeekAnd500AndTwoGiBAreKept: by the settings of a user who has none.
func TestByDefaultAWeekAnd500AndTwoGiBAreKept(t *testing.T) {
	var many, old provider.Stored
	for n := range uint64(502) {
		many.Snapshots = append(many.Snapshots, provider.Snapshot{Number: n + 1, At: noon.Add(time.Duration(n) * time.Second)})
	}
	for i, hours := range []time.Duration{7*24 + 1, 7*24 - 1, 0} {
		old.Snapshots = append(old.Snapshots, provider.Snapshot{Number: uint64(i + 1), At: noon.Add(-hours * time.Hour)})
	}
	large := provider.Stored{Snapshots: snapshots(3), Spans: []provider.Span{{First: 1, Last: 1, Bytes: 1}, {First: 2, Last: 3, Bytes: 2 << 30}}}
	for name, c := range map[string]struct {
		stored provider.Stored
		want   []uint64
	}{"number": {many, []uint64{1, 2}}, "age": {old, []uint64{1}}, "bytes": {large, []uint64{1}}} {
		if got := provider.DefaultPolicy.Choose(c.stored, nil, age); !slices.Equal(got.Delete, c.want) || got.Over != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestCountAndAge(t *testing.T) {
	for _, c := range []struct {
		name       string
		policy     provider.Policy
		n          int
		references map[uint64]string
		want       []uint64
	}{
		{"nothing is over", provider.DefaultPolicy, 5, nil, nil},
		{"no policy", provider.Policy{}, 5, nil, nil},
		{"no snapshot", provider.Policy{Count: 1, Age: 1, Bytes: 1}, 0, nil, nil},
		{"the oldest go by count", provider.Policy{Count: 2}, 5, nil, []uint64{1, 2, 3}},
		{"what is referred to counts, and stays", provider.Policy{Count: 2}, 5, map[uint64]string{1: "x", 3: "x"}, []uint64{2, 4}},
		{"the newest stays whatever the count", provider.Policy{Count: 1}, 3, map[uint64]string{1: "x", 2: "x"}, nil},
		{"the old ones go by age", provider.Policy{Age: 150 * time.Minute}, 5, nil, []uint64{1, 2, 3}},
		{"the newest stays at any age", provider.Policy{Age: time.Minute}, 3, map[uint64]string{2: "x"}, []uint64{1}},
	} {
		got := c.policy.Choose(provider.Stored{Snapshots: snapshots(c.n)}, c.references, age)
		if !slices.Equal(got.Delete, c.want) || len(got.Forced) > 0 {
			t.Errorf("%s: %+v instead of %v", c.name, got, c.want)
		}
	}
	future := snapshots(3)
	future[0].At = noon.Add(1000 * time.Hour)
	if got := (provider.Policy{Age: time.Hour}).Choose(provider.Stored{Snapshots: future}, nil, age); !slices.Equal(got.Delete, []uint64{2}) {
		t.Errorf("a snapshot of the future has no age: %+v", got)
	}
}

// TestTheBudgetIsHard: after a choice the kept snapshots need at most the budget, or only the newest one is left. What is
// referred to goes only when nothing else is left, and no snapshot goes that need not.
func TestTheBudgetIsHard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		stored := provider.Stored{Snapshots: snapshots(n), Fixed: rapid.Int64Range(0, 20).Draw(t, "fixed")}
		for range rapid.IntRange(0, 12).Draw(t, "spans") {
			first := rapid.IntRange(1, n).Draw(t, "first")
			last := rapid.IntRange(first, n).Draw(t, "last")
			stored.Spans = append(stored.Spans, provider.Span{First: uint64(first), Last: uint64(last), Bytes: rapid.Int64Range(0, 30).Draw(t, "bytes")})
		}
		references := map[uint64]string{}
		for i := range n {
			if rapid.IntRange(0, 2).Draw(t, "referred") == 0 {
				references[uint64(i+1)] = "checkpoint"
			}
		}
		policy := provider.Policy{Bytes: rapid.Int64Range(1, 150).Draw(t, "budget")}
		if rapid.Bool().Draw(t, "count") {
			policy.Count = rapid.IntRange(1, n).Draw(t, "most")
		}
		got := policy.Choose(stored, references, age)

		kept := map[uint64]bool{}
		for _, s := range stored.Snapshots {
			kept[s.Number] = !slices.Contains(got.Delete, s.Number)
		}
		needed := func(kept map[uint64]bool) int64 {
			bytes := stored.Fixed
			for _, s := range stored.Spans {
				for i := s.First; i <= s.Last; i++ {
					if kept[i] {
						bytes += s.Bytes
						break
					}
				}
			}
			return bytes
		}
		if bytes := needed(kept); got.Left != bytes || got.Over != max(0, bytes-policy.Bytes) {
			t.Fatalf("%+v, %d bytes are needed", got, bytes)
		}
		if !kept[uint64(n)] {
			t.Fatal("the newest was deleted")
		}
		left := func(referred bool) int {
			all := 0
			for i := range kept {
				if _, is := references[i]; kept[i] && i != uint64(n) && is == referred {
					all++
				}
			}
			return all
		}
		frees := func(i uint64) bool {
			without := maps.Clone(kept)
			without[i] = false
			return needed(without) < needed(kept)
		}
		if vain := got.Left-stored.Fixed > policy.Bytes; vain {
			for i := range kept {
				if kept[i] && i != uint64(n) && frees(i) {
					t.Fatalf("%+v, though s%d could go", got, i)
				}
			}
			for _, i := range got.Delete {
				with := maps.Clone(kept)
				with[i] = true
				if policy.Count == 0 && needed(with) == needed(kept) {
					t.Fatalf("%+v, though s%d freed nothing", got, i)
				}
			}
		} else {
			if got.Over > 0 && left(true)+left(false) > 0 {
				t.Fatalf("%+v, though more could go", got)
			}
			if len(got.Forced) > 0 && left(false) > 0 {
				t.Fatalf("%+v, though others could go", got)
			}
		}
		forced := map[uint64]bool{}
		for _, f := range got.Forced {
			forced[f.Number] = true
		}
		for _, i := range got.Delete {
			if _, is := references[i]; is != forced[i] {
				t.Fatalf("s%d is referred to: %v, forced: %v", i, is, forced[i])
			}
		}
		if policy.Count == 0 && len(got.Delete) > 0 { // the last one that went had to
			last := got.Delete[len(got.Delete)-1]
			if len(got.Forced) > 0 {
				last = got.Forced[len(got.Forced)-1].Number
			}
			with := maps.Clone(kept)
			with[last] = true
			if needed(with) <= policy.Bytes {
				t.Fatalf("%+v, though s%d could have stayed", got, last)
			}
		}
	})
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&provider.UnknownError{Number: 7}, "no snapshot yet"},
		{&provider.UnknownError{Number: 7, Nearest: 5}, "the nearest one is s5"},
		{&provider.FullError{Budget: 2 << 30, Used: 2000 << 20}, "2000.0 MiB of 2048.0 MiB. Delete some with `tidemark timeline prune --mib MIB`"},
	} {
		if !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%q is not in %q", c.want, c.err)
		}
	}
}
