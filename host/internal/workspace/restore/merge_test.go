package restore_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// crash applies a plan until a path is to be changed.
func (w *world) crash(plan *restore.Plan, at string) {
	w.t.Helper()
	plan.Observe(func(path string) {
		if path == at {
			panic("crash")
		}
	})
	defer func() { _ = recover() }()
	_, err := plan.Apply(context.Background())
	w.t.Fatalf("it ended: %v", err)
}

// TestARecoveryMergesIntoADirectoryThatCameBack: after a crash, another program has made a directory again that the restore had
// moved away, or has replaced one in which it changed files. The files are set back into it, and what is in it stays.
func TestARecoveryMergesIntoADirectoryThatCameBack(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("z/edited", "one", "z/same", "same", "a", "one")
	target := w.take()
	for i := range 10 {
		w.write(fmt.Sprintf("n/f%d", i), "n", fmt.Sprintf("n/sub/f%d", i), "n")
	}
	w.write("z/edited", "two", "z/added", "two", "a", "two")
	plan := w.prepare(target)
	before := contents(w)
	w.crash(plan, "z")
	w.must(os.Rename(w.path("z"), w.path("moved")))
	w.write("n/mine", "user", "n/f3", "user", "z/mine", "user")
	recovery, err := restore.Recover(context.Background(), w.p)
	w.must(err)
	want := []string{"moved/same same", "n/mine user", "n/f3 user", "z/mine user", "moved/edited one"}
	for _, line := range before {
		if line != "n/f3 n" && line != "z/same same" {
			want = append(want, line)
		}
	}
	slices.Sort(want)
	if got := contents(w); !slices.Equal(got, want) {
		t.Errorf("%q\nnot\n%q", got, want)
	}
	if got := paths(recovery.Differs); !slices.Equal(got, []string{"n", "n/f3", "z"}) {
		t.Errorf("%+v", recovery.Differs)
	}
	w.clean()
	w.apply(w.prepare(recovery.Safety))
	if got := contents(w); !slices.Equal(got, before) {
		t.Errorf("%q\nnot\n%q", got, before)
	}
}

func paths(problems []tree.Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.Path)
	}
	return all
}
