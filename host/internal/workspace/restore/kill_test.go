package restore_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/killtest"
)

// victim recovers, and restores the two snapshots in turn.
func victim(v killtest.Process, dir string) {
	store := filepath.Join(dir, "store")
	p, err := tracked.Open(tracked.Options{Workspace: filepath.Join(dir, "workspace"), Store: store, Clock: time.Now})
	v.Must(err)
	if stage(store) != "none" {
		v.Say("recover")
	}
	_, err = restore.Recover(context.Background(), p)
	v.Must(err)
	for n := uint64(1); ; n = 3 - n {
		v.Say("prepare")
		plan, err := restore.Prepare(context.Background(), p, n, nil)
		v.Must(err)
		v.Say("restore")
		result, err := plan.Apply(context.Background())
		v.Must(err)
		if len(result.Differs) > 0 || result.Kept != "" {
			v.Fatalf("%+v", result)
		}
	}
}

// twoStates makes a workspace with every kind of change between its snapshots 1 and 2.
func twoStates(w *world) (before, after []string) {
	w.write("same", "same", "edited", "one", "gone/deep/er/x", "x", "gone/y", "y", "file-to-dir", "f", "dir-to-file/in/it", "d", "mode", "m", "time", "t",
		"hard/a", "h", "closed/x", "c", "large", strings.Repeat("large", 300_000))
	w.must(os.Link(w.path("hard/a"), w.path("hard/b")), symlink("same", w.path("link")), os.Mkdir(w.path("empty"), 0o711), os.Chmod(w.path("closed"), 0o555))
	for i := range 20 {
		w.write(fmt.Sprintf("many/%d", i), strconv.Itoa(i))
	}
	w.must(setXattr(w.path("many"), "user.state", "one"))
	if n := w.take(); n != 1 {
		w.t.Fatalf("s%d", n)
	}
	before = w.read()
	w.write("edited", "two, longer", "new/deep/x", "x")
	w.must(os.Chmod(w.path("closed"), 0o755), os.WriteFile(w.path("closed/x"), []byte("d"), 0o600), os.Chmod(w.path("closed"), 0o500),
		os.RemoveAll(w.path("gone")), os.Remove(w.path("file-to-dir")), os.RemoveAll(w.path("dir-to-file")), os.Chmod(w.path("mode"), 0o600),
		os.Chtimes(w.path("time"), time.Time{}, time.Unix(1e9, 1)), os.Remove(w.path("hard/b")), os.Remove(w.path("link")), symlink("edited", w.path("link")),
		os.Remove(w.path("empty")), setXattr(w.path("many"), "user.state", "two"), setXattr(w.path("many"), "user.more", ""))
	w.write("file-to-dir/x", "x", "dir-to-file", "f", "hard/b", "h", "hard/c", "c", "large", strings.Repeat("LARGE", 300_000))
	w.must(os.Link(w.path("hard/c"), w.path("hard/d")))
	for i := range 20 {
		w.write(fmt.Sprintf("many/%d", i), strconv.Itoa(2*i))
	}
	if n := w.take(); n != 2 {
		w.t.Fatalf("s%d", n)
	}
	return before, w.read()
}

// stage returns how far an interrupted restore has come.
func stage(store string) string {
	for _, name := range []string{"restore.done", "restore.undone", "restore.journal", "restore.staging"} {
		if _, err := os.Lstat(filepath.Join(store, name)); err == nil {
			return name
		}
	}
	return "none"
}

// TestAKilledRestoreIsWhollyBeforeOrAfter, whenever it is killed, and its recovery too.
func TestAKilledRestoreIsWhollyBeforeOrAfter(t *testing.T) {
	killtest.Victim(victim)
	w := newWorld(t, t.TempDir())
	defer w.close()
	before, after := twoStates(w)
	w.must(w.p.Close())
	stages, outcomes := map[string]int{}, map[string]int{}
	hunt := killtest.Hunt{
		Dir: w.top, Steps: []string{"restore"}, Also: []string{"recover"}, Short: 3, Usual: 8,
		Said: func(string, string) {},
		Survived: func(step string) {
			stages[step+" at "+stage(w.store)]++
			if rand.IntN(2) == 0 { //nolint:gosec // else the next process recovers
				w.recovered(before, after, outcomes)
			}
		},
	}
	hunt.Run(t)
	w.recovered(before, after, outcomes)
	t.Logf("killed in %v, recovered to %v", stages, outcomes)
	w.open()
}

// recovered opens the store, recovers, and checks that the workspace is in one of the states.
func (w *world) recovered(before, after []string, outcomes map[string]int) {
	w.t.Helper()
	w.open()
	recovery, err := restore.Recover(context.Background(), w.p)
	if err != nil {
		w.t.Fatal(err)
	}
	if recovery != nil && (len(recovery.Differs) > 0 || recovery.Kept != "") {
		w.t.Fatalf("%+v", recovery)
	}
	now := w.read()
	switch {
	case slices.Equal(now, before):
		outcomes["before"]++
	case slices.Equal(now, after):
		outcomes["after"]++
	default:
		w.t.Fatalf("the workspace is neither before nor after:\n%s", strings.Join(now, "\n"))
	}
	for _, damage := range w.p.Check() {
		if !strings.Contains(damage, "was not whole") { // the end that was being written
			w.t.Fatal(damage)
		}
	}
	w.left()
	w.must(w.p.Close())
	w.p = nil
	_ = os.Remove(filepath.Join(w.store, "history.cut"))
}

// TestARecoveryThatIsKilledIsDoneAgain, also when it had set everything back, and began to clean up: nothing is taken for an
// edit of the user, and an edit that it met is reported by the next one.
func TestARecoveryThatIsKilledIsDoneAgain(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	before, _ := twoStates(w)
	crash := func(do func()) (crashed bool) {
		defer func() { crashed = recover() != nil }()
		do()
		return false
	}
	defer restore.Finishing(nil)
	for at := 0; at < 40; at += 8 {
		edited := at == 24
		w.apply(w.prepare(1))
		w.is(before)
		plan := w.prepare(2)
		n := 0
		plan.Observe(func(string) {
			if n++; n == 45 {
				panic("crash")
			}
		})
		if !crash(func() { _, _ = plan.Apply(context.Background()) }) {
			t.Fatal("the restore ended")
		}
		if edited {
			w.write("edited", "by the user")
		}
		removals := 0
		restore.Finishing(func() {
			if removals++; removals > at {
				panic("crash")
			}
		})
		if !crash(func() { _, _ = restore.Recover(context.Background(), w.p) }) {
			t.Fatal("the recovery ended")
		}
		restore.Finishing(nil)
		w.must(w.p.Close())
		w.open()
		recovery, err := restore.Recover(context.Background(), w.p)
		w.must(err)
		if edited {
			if recovery == nil || len(recovery.Differs) != 1 || recovery.Differs[0].Path != "edited" {
				t.Errorf("after %d removals: %+v", at, recovery)
			}
			continue
		}
		if recovery == nil || recovery.Finished || len(recovery.Differs) > 0 || recovery.Kept != "" {
			t.Errorf("after %d removals: %+v", at, recovery)
		}
		w.is(before)
		w.left()
	}
}

// TestARestoreThatIsKilledWhileItCleansUpIsDone, at each removal, and after the last one: nothing is said to differ.
func TestARestoreThatIsKilledWhileItCleansUpIsDone(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	before, after := twoStates(w)
	defer restore.Finishing(nil)
	for at, ended := 0, false; !ended; at += 13 { // the last round reaches the end
		w.apply(w.prepare(1))
		w.is(before)
		plan, removals := w.prepare(2), 0
		restore.Finishing(func() {
			staging, _ := filepath.Glob(filepath.Join(w.store, "restore-*"))
			if ended = len(staging) == 0; ended || removals >= at {
				panic("crash")
			}
			removals++
		})
		func() {
			defer func() {
				if recover() == nil {
					t.Fatal("the restore ended")
				}
			}()
			_, _ = plan.Apply(context.Background())
		}()
		restore.Finishing(nil)
		w.must(w.p.Close())
		w.open()
		recovery, err := restore.Recover(context.Background(), w.p)
		w.must(err)
		if recovery == nil || !recovery.Finished || len(recovery.Differs) > 0 || recovery.Kept != "" {
			t.Errorf("after %d removals: %+v", removals, recovery)
		}
		w.is(after)
		w.left()
	}
}

// TestACrashBetweenAnyTwoChangesIsRecovered: at every fifth change, from a random one on, in both directions. `make
// kill-workspace` tries each.
func TestACrashBetweenAnyTwoChangesIsRecovered(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	before, after := twoStates(w)
	states := map[uint64][]string{1: before, 2: after}
	crashes, step := 0, 5
	switch {
	case runtime.GOOS == "windows":
		step = 16 // Wine is slow
	case os.Getenv("TIDEMARK_KILLS") != "":
		step = 1
	}
	for _, target := range slices.Sorted(maps.Keys(states)) {
		from := states[3-target]
		for at := rand.IntN(step); ; at += step { //nolint:gosec // each is tried some time
			w.apply(w.prepare(3 - target))
			w.is(from)
			plan := w.prepare(target)
			n := 0
			plan.Observe(func(string) {
				if n == at {
					panic("crash")
				}
				n++
			})
			crashed := func() (crashed bool) {
				defer func() { crashed = recover() != nil }()
				_, err := plan.Apply(context.Background())
				w.must(err)
				return false
			}()
			if !crashed {
				w.is(states[target])
				break
			}
			crashes++
			if at%2 == 0 { // as by another process
				w.must(w.p.Close())
				w.open()
			}
			recovery, err := restore.Recover(context.Background(), w.p)
			w.must(err)
			if recovery == nil || recovery.Finished || len(recovery.Differs) > 0 || recovery.Kept != "" {
				t.Fatalf("%+v", recovery)
			}
			w.is(from)
			w.left()
		}
	}
	t.Logf("%d crashes", crashes)
	if crashes < 60/step {
		t.Errorf("%d crashes are too few", crashes)
	}
}
