package tracked_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// TestWhatIsNotDeletedStays: whatever is taken, deleted, pruned and reopened, each remaining snapshot is the tree as it
// was, no number comes again, and what is reclaimable is freed.
func TestWhatIsNotDeletedStays(t *testing.T) {
	top := t.TempDir()
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(t *rapid.T) {
		p := newSide(t, top, editor, rapid.Bool().Draw(t, "watched"))
		var highest uint64
		some := func() []uint64 {
			all := slices.Sorted(maps.Keys(p.was))
			return rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, len(all), rapid.ID[uint64]).Draw(t, "numbers")
		}
		for range rapid.IntRange(2, 16).Draw(t, "steps") {
			step := rapid.SampledFrom([]string{"take", "take", "take", "delete", "prune", "reopen", "cancel"}).Draw(t, "step")
			if len(p.was) == 0 && step != "reopen" {
				step = "take"
			}
			switch step {
			case "take":
				for range rapid.IntRange(0, 8).Draw(t, "edits") {
					editor.Edit(t, p.dir)
				}
				s, same, err := p.Take(context.Background(), "test")
				if err != nil {
					t.Fatal(err)
				}
				if _, there := p.was[s.Number]; same && !there || !same && s.Number <= highest {
					t.Fatalf("s%d after s%d, the same: %v", s.Number, highest, same)
				}
				highest = s.Number
				p.was[s.Number] = treetest.Read(t, p.dir)
			case "delete", "prune", "cancel":
				numbers := some()
				ctx, cancel := context.WithCancel(context.Background())
				var err error
				switch step {
				case "delete":
					err = p.Delete(numbers...)
				case "prune":
					_, err = p.Prune(ctx, numbers...)
				case "cancel":
					if err = p.Delete(numbers...); err == nil {
						cancel()
						if _, err = p.Prune(ctx); errors.Is(err, context.Canceled) {
							err = nil
						}
					}
				}
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range numbers {
					delete(p.was, n)
				}
			case "reopen":
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				p.open(t)
			}
		}
		check := func() {
			paths := map[string]bool{}
			for _, lines := range p.was {
				for _, line := range lines {
					paths[treetest.Path(t, line)] = true
				}
			}
			var list []uint64
			for _, s := range p.List() {
				list = append(list, s.Number)
			}
			if want := slices.Sorted(maps.Keys(p.was)); !slices.Equal(list, want) {
				t.Fatalf("%v instead of %v", list, want)
			}
			for n, want := range p.was {
				dir := filepath.Join(p.base, fmt.Sprintf("s%d", n))
				if err := p.Checkout(context.Background(), n, dir, false); err != nil {
					t.Fatal(err)
				}
				if got := treetest.Read(t, dir); !slices.Equal(got, want) {
					t.Fatalf("s%d is\n%q\nwas\n%q", n, got, want)
				}
				if err := tracked.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				whole, err := p.Tree(n)
				if err != nil {
					t.Fatal(err)
				}
				for path := range paths {
					e, err := p.Entry(n, path)
					if in := whole.Lookup(path); err != nil || (e == nil) != (in == nil) || e != nil && !e.Same(&in.Entry) {
						t.Fatalf("s%d has %+v at %q, not %+v, %v", n, in, path, e, err)
					}
				}
			}
			if damages := p.Check(); len(damages) > 0 {
				t.Fatal(damages)
			}
		}
		check()
		if _, err := p.Prune(context.Background()); err != nil {
			t.Fatal(err)
		}
		check()
		u, err := p.Usage(context.Background())
		if err != nil || u.Total() != p.Size() || u.Contents < 0 || u.Reclaimable < 0 || u.Reclaimable*4 > u.Total() {
			t.Fatalf("%+v, %d bytes, %v", u, p.Size(), err)
		}
	})
}

// incompressible makes a content.
func incompressible(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rand.Uint32()) //nolint:gosec // what cannot be compressed
	}
	return b
}

type room struct {
	*testing.T
	workspace string
	p         *tracked.Provider
	options   tracked.Options
}

func newRoom(t *testing.T, options tracked.Options) *room {
	dir := t.TempDir()
	options.Workspace, options.Store = filepath.Join(dir, "workspace"), filepath.Join(dir, "store")
	if options.Clock == nil {
		options.Clock = time.Now
	}
	r := &room{T: t, workspace: options.Workspace, options: options}
	if err := os.Mkdir(r.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	r.open()
	t.Cleanup(func() { _ = r.p.Close() })
	return r
}

func (r *room) open() {
	r.Helper()
	var err error
	if r.p, err = tracked.Open(r.options); err != nil {
		r.Fatal(err)
	}
}

func (r *room) write(name string, content []byte) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.workspace, name), content, 0o600); err != nil {
		r.Fatal(err)
	}
}

func (r *room) take() uint64 {
	r.Helper()
	s, _, err := r.p.Take(context.Background(), "")
	if err != nil {
		r.Fatal(err)
	}
	return s.Number
}

func (r *room) has(number uint64, name string, content []byte) {
	r.Helper()
	dir := filepath.Join(r.TempDir(), "out")
	if err := r.p.Checkout(context.Background(), number, dir, false); err != nil {
		r.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, content) {
		r.Fatalf("s%d: %s has %d bytes instead of %d, %v", number, name, len(got), len(content), err)
	}
}

// TestTheBudgetIsKept: by deleting the oldest snapshots to which nothing refers, else by refusing the snapshot.
func TestTheBudgetIsKept(t *testing.T) {
	const budget = 2 << 20
	references := map[uint64]string{}
	var pruned []uint64
	r := newRoom(t, tracked.Options{
		Budget: budget, References: func() map[uint64]string { return references }, Deleting: func(n []uint64) { pruned = append(pruned, n...) },
	})
	content := incompressible(400_000)
	r.write("kept", content)
	references[r.take()] = "checkpoint start"
	for range 10 {
		r.write("file", incompressible(300_000))
		r.take()
		if size := r.p.Size(); size > budget {
			t.Fatalf("the store takes %d bytes of %d", size, budget)
		}
	}
	r.has(1, "kept", content)
	if len(pruned) == 0 || slices.Contains(pruned, 1) || len(pruned)+len(r.p.List()) != 11 {
		t.Fatalf("%v were deleted, %d are left", pruned, len(r.p.List()))
	}
	before := r.p.List()
	for _, s := range before {
		references[s.Number] = "test"
	}
	r.write("large", incompressible(budget))
	_, _, err := r.p.Take(context.Background(), "")
	full := &provider.FullError{}
	if !errors.As(err, &full) || full.Budget != budget || !strings.Contains(err.Error(), "2.0 MiB") {
		t.Fatal(err)
	}
	if after := r.p.List(); len(after) != len(before) || r.p.Size() > budget {
		t.Fatalf("%d of %d snapshots, %d bytes", len(after), len(before), r.p.Size())
	}
	if u, err := r.p.Usage(context.Background()); err != nil || u.Reclaimable > budget/100 {
		t.Fatalf("what the failed snapshot stored is still there: %+v, %v", u, err)
	}
	small := []byte("small")
	if err := os.Remove(filepath.Join(r.workspace, "large")); err != nil {
		t.Fatal(err)
	}
	r.write("small", small)
	r.has(r.take(), "small", small)
	if damages := r.p.Check(); len(damages) > 0 {
		t.Fatal(damages)
	}
}

// TestRetainFreesWhatItChose, and says what had to go.
func TestRetainFreesWhatItChose(t *testing.T) {
	var hours atomic.Int64
	clock := func() time.Time { return time.Unix(1e9, 0).Add(time.Duration(hours.Load()) * time.Hour) }
	r := newRoom(t, tracked.Options{Clock: clock})
	for i := range 8 {
		hours.Add(1)
		r.write("file", incompressible(500_000))
		if n := r.take(); n != uint64(i+1) {
			t.Fatal(n)
		}
	}
	retain := func(p provider.Policy, references map[uint64]string) provider.Choice {
		t.Helper()
		choice, err := r.p.Retain(context.Background(), p, retention.Wall(clock), references)
		if err != nil {
			t.Fatal(err)
		}
		return choice
	}
	if c := retain(provider.DefaultPolicy, nil); len(c.Delete) > 0 {
		t.Fatalf("%+v", c)
	}
	if c := retain(provider.Policy{Age: 210 * time.Minute}, map[uint64]string{1: "branch"}); !slices.Equal(c.Delete, []uint64{2, 3, 4}) {
		t.Fatalf("%+v", c)
	}
	if c := retain(provider.Policy{Count: 4}, map[uint64]string{1: "branch"}); !slices.Equal(c.Delete, []uint64{5}) || c.Left > 2_700_000 {
		t.Fatalf("%+v", c)
	}
	c := retain(provider.Policy{Bytes: 1_100_000}, map[uint64]string{1: "branch", 7: "checkpoint"})
	if !slices.Equal(c.Delete, []uint64{1, 6}) || len(c.Forced) != 1 || c.Forced[0].By != "branch" || c.Over > 0 || c.Left > 1_100_000 {
		t.Fatalf("%+v", c)
	}
	if c := retain(provider.Policy{Bytes: 100_000}, nil); !slices.Equal(c.Delete, []uint64{7}) || c.Over < 400_000 {
		t.Fatalf("%+v", c)
	}
}

// TestASnapshotFollowsDeletedOnes that no collection removed yet.
func TestASnapshotFollowsDeletedOnes(t *testing.T) {
	r := newRoom(t, tracked.Options{})
	r.write("file", []byte("one"))
	if err := r.p.Delete(r.take()); err != nil {
		t.Fatal(err)
	}
	next := r.take() // of the same tree
	r.has(next, "file", []byte("one"))
	if err := r.p.Delete(next); err != nil {
		t.Fatal(err)
	}
	if err := r.p.Close(); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.write("file", []byte("two"))
	next = r.take()
	for range 2 {
		r.has(next, "file", []byte("two"))
		if damages := r.p.Check(); len(r.p.List()) != 1 || len(damages) > 0 {
			t.Fatal(r.p.List(), damages)
		}
		if _, err := r.p.Prune(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheHistoryDoesNotGrowForever: its size follows the snapshots that are left.
func TestTheHistoryDoesNotGrowForever(t *testing.T) {
	r := newRoom(t, tracked.Options{})
	var most int64
	for i := range 120 {
		r.write("file", []byte(fmt.Sprint(i)))
		n := r.take()
		if i%20 == 19 {
			var old []uint64
			for _, s := range r.p.List() {
				if s.Number+5 < n {
					old = append(old, s.Number)
				}
			}
			if _, err := r.p.Prune(context.Background(), old...); err != nil {
				t.Fatal(err)
			}
			if size := r.p.Size(); i < 40 {
				most = size * 3 / 2
			} else if size > most {
				t.Fatalf("%d bytes after %d snapshots, at most %d were expected", size, i+1, most)
			}
		}
	}
}

// TestACheckoutOutlivesItsSnapshot that is deleted while it is being written.
func TestACheckoutOutlivesItsSnapshot(t *testing.T) {
	r := newRoom(t, tracked.Options{})
	contents := map[string][]byte{}
	for i := range 200 {
		name := fmt.Sprint("f", i)
		contents[name] = incompressible(5_000)
		r.write(name, contents[name])
	}
	n := r.take()
	for name := range contents {
		r.write(name, []byte("other"))
	}
	r.take()
	dir := filepath.Join(t.TempDir(), "out")
	done := make(chan error)
	go func() { done <- r.p.Checkout(context.Background(), n, dir, false) }()
	for { // until it has begun
		if _, err := os.Stat(dir); err == nil {
			break
		}
		runtime.Gosched()
	}
	if _, err := r.p.Prune(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for name, want := range contents {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Fatal(name, err)
		}
	}
	if _, err := r.p.Prune(context.Background()); err != nil {
		t.Fatal(err)
	}
	if u, err := r.p.Usage(context.Background()); err != nil || u.Contents > 100_000 {
		t.Fatalf("%+v, %v", u, err)
	}
}

// TestAFileThatChangesAllTheTimeIsNamed, when its readings fill the budget.
func TestAFileThatChangesAllTheTimeIsNamed(t *testing.T) {
	change := func() {}
	r := newRoom(t, tracked.Options{Budget: 16 << 20, Clock: func() time.Time {
		change() // the clock is read between the opening and the reading of a file
		return time.Now()
	}})
	change = func() { r.write("busy", incompressible(6<<20)) }
	change()
	_, _, err := r.p.Take(context.Background(), "")
	change = func() {}
	full := &provider.FullError{}
	if !errors.As(err, &full) || full.Changing != "busy" || full.Times < 2 || !strings.Contains(err.Error(), `"busy" (6.0 MiB) changed while it was read`) {
		t.Fatal(err)
	}
}
