package tracked_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// TestALossOfPowerCostsTheNewestSnapshotsAlone: those that were taken more than 0.1 s before it are whole, in a store that is whole. The
// test gives the machine time to be busy.
func TestALossOfPowerCostsTheNewestSnapshotsAlone(t *testing.T) {
	disk, lose := disktest.Powered(t, 64<<20)
	workspace := filepath.Join(t.TempDir(), "workspace")
	file := filepath.Join(workspace, "file")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	open := func(disk string) *tracked.Provider {
		t.Helper()
		p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(disk, "store"), Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := open(disk)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	const allowed = 2 * time.Second // of 0.1 s, on a machine that does other things
	var taken []time.Time           // by the number of a snapshot, from 1 on
	content := func(n int) string { return fmt.Sprint("state ", n, strings.Repeat("x", n*1000)) }
	take := func() {
		t.Helper()
		if err := os.WriteFile(file, []byte(content(len(taken)+1)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := p.Take(context.Background(), "moment")
		if err != nil || int(s.Number) != len(taken)+1 { //nolint:gosec // a small number
			t.Fatal(s, err)
		}
		taken = append(taken, time.Now())
	}
	for _, burst := range []int{1, 5, 1} {
		for range burst {
			take()
		}
		time.Sleep(allowed) // nothing tells when a disk has what was written
		take()
		at := time.Now()
		func() {
			lost := open(lose())
			defer func() {
				if err := lost.Close(); err != nil {
					t.Error(err)
				}
			}()
			var numbers []int
			for _, s := range lost.List() {
				numbers = append(numbers, int(s.Number)) //nolint:gosec // a small number
			}
			needed := 0
			for i := range taken {
				if taken[i].Before(at.Add(-allowed)) {
					needed = i + 1
				}
			}
			t.Logf("%d of %d snapshots are there after a loss of power, %d of them at least", len(numbers), len(taken), needed)
			if len(numbers) < needed || !slices.IsSorted(numbers) || len(numbers) > 0 && numbers[len(numbers)-1] != len(numbers) {
				t.Errorf("the snapshots %v are there, instead of at least %d", numbers, needed)
			}
			for _, damage := range lost.Check() {
				if !strings.Contains(damage, "was not whole") { // the end that was being written
					t.Error(damage)
				}
			}
			for _, n := range numbers {
				out := filepath.Join(t.TempDir(), "out")
				if err := lost.Checkout(context.Background(), uint64(n), out, false); err != nil { //nolint:gosec // a small number
					t.Error(err)
				} else if got, err := os.ReadFile(filepath.Join(out, "file")); err != nil || string(got) != content(n) {
					t.Errorf("s%d has another content, %v", n, err)
				}
			}
		}()
	}
}
