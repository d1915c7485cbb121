package tracked_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/killtest"
)

// state is what the workspace of a victim contains: a small file that names it, a large one, and one in a directory that
// comes and goes.
func writeState(workspace, name string, large int) error {
	sub := filepath.Join(workspace, "dir")
	if len(name)%2 == 0 {
		return errors.Join(os.WriteFile(filepath.Join(workspace, "small"), []byte(name), 0o600),
			os.WriteFile(filepath.Join(workspace, "large"), []byte(strings.Repeat(name, large)), 0o600), os.RemoveAll(sub))
	}
	return errors.Join(os.WriteFile(filepath.Join(workspace, "small"), []byte(name), 0o600), os.WriteFile(filepath.Join(workspace, "large"), []byte(strings.Repeat(name, large)), 0o600),
		os.MkdirAll(sub, 0o755), os.WriteFile(filepath.Join(sub, "file"), []byte(name), 0o600))
}

// isState returns the name of the state that a directory has.
func isState(dir string) (string, error) {
	small, err := os.ReadFile(filepath.Join(dir, "small"))
	if err != nil {
		return "", err
	}
	name := string(small)
	large, err := os.ReadFile(filepath.Join(dir, "large"))
	if err != nil {
		return "", err
	}
	if strings.ReplaceAll(string(large), name, "") != "" {
		return "", fmt.Errorf("its large file is not one of %s", name)
	}
	file, err := os.ReadFile(filepath.Join(dir, "dir", "file"))
	switch {
	case len(name)%2 == 0 && errors.Is(err, os.ErrNotExist):
		return name, nil
	case err != nil || string(file) != name || len(name)%2 == 0:
		return "", fmt.Errorf("its other file is %q instead of %q, %w", file, name, err)
	}
	return name, nil
}

// victim takes snapshots, deletes and prunes them, and restores them, at random. It says each snapshot with its state when
// it was returned.
func victim(v killtest.Process, dir string) {
	workspace := filepath.Join(dir, "workspace")
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "store"), Clock: time.Now})
	v.Must(err)
	ctx := context.Background()
	_, err = restore.Recover(ctx, p)
	for first := true; ; first = false {
		v.Must(err)
		v.Say("next")
		list := p.List()
		var some []uint64
		for _, s := range list {
			if rand.IntN(3) == 0 { //nolint:gosec // which ones
				some = append(some, s.Number)
			}
		}
		step := rand.IntN(8) //nolint:gosec // what to do
		if len(list) == 0 || first {
			step = 0 // the process before may have been killed between its edits
		}
		switch step {
		case 5:
			v.Say("delete", strings.Trim(fmt.Sprint(some), "[]"))
			err = p.Delete(some...)
		case 6:
			v.Say("prune", strings.Trim(fmt.Sprint(some), "[]"))
			_, err = p.Prune(ctx, some...)
		case 7:
			var plan *restore.Plan
			plan, err = restore.Prepare(ctx, p, list[rand.IntN(len(list))].Number, nil) //nolint:gosec // which one
			v.Must(err)
			v.Say("restore")
			_, err = plan.Apply(ctx)
		default:
			name := strings.Repeat("x", rand.IntN(2)) + strconv.FormatUint(rand.Uint64N(1<<40), 36) //nolint:gosec // a test's edits
			v.Must(writeState(workspace, name, rand.IntN(100_000)))                                 //nolint:gosec // a test's edits
			v.Say("take")
			var s *tracked.Snapshot
			s, _, err = p.Take(ctx, name)
			v.Must(err)
			v.Say("taken", s.Number, name)
		}
	}
}

// TestAKilledProcessLosesNothingThatItReturned, whatever it was doing: no snapshot that was not to be deleted, and nothing
// of the workspace.
func TestAKilledProcessLosesNothingThatItReturned(t *testing.T) {
	killtest.Victim(victim)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	returned, doomed := map[uint64]string{}, map[uint64]bool{}
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	hunt := killtest.Hunt{
		Dir: dir, Steps: []string{"take", "delete", "prune", "restore"}, Short: 1, Usual: 3,
		Said: func(step, rest string) {
			switch step {
			case "taken":
				n, name, _ := strings.Cut(rest, " ")
				returned[number(n)] = name
			case "delete", "prune":
				for n := range strings.FieldsSeq(rest) {
					doomed[number(n)] = true
				}
			case "next":
				maps.DeleteFunc(returned, func(n uint64, _ string) bool { return doomed[n] })
				clear(doomed)
			}
		},
		Survived: func(step string) {
			survived(t, dir, returned, doomed)
			clear(doomed)
			if step == "restore" || step == "take" {
				if _, err := isState(filepath.Join(dir, "workspace")); err != nil {
					t.Fatalf("the workspace, after a kill in %s: %v", step, err)
				}
			}
		},
	}
	hunt.Run(t)
}

// survived checks that every returned snapshot is there, and whole, and that the store is clean. What was to be deleted
// when the process was killed may be there or not.
func survived(t *testing.T, dir string, returned map[uint64]string, doomed map[uint64]bool) {
	t.Helper()
	p := openProvider(t, filepath.Join(dir, "workspace"), filepath.Join(dir, "store"), nil)
	defer func() {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	if r, err := restore.Recover(context.Background(), p); err != nil || r != nil && (len(r.Differs) > 0 || r.Kept != "") {
		t.Fatalf("%+v, %v", r, err)
	}
	there := map[uint64]bool{}
	list := p.List()
	for _, s := range list {
		there[s.Number] = true
	}
	for n, name := range returned {
		if doomed[n] && !there[n] {
			delete(returned, n)
			continue
		}
		if !there[n] {
			t.Fatalf("s%d, which was returned as %q, is not there; s%v are", n, name, slices.Sorted(maps.Keys(there)))
		}
	}
	for i, s := range list {
		if name := returned[s.Number]; len(list) > 6 && i > 2 && i < len(list)-3 || name == "" {
			continue // some of them will do
		}
		out := filepath.Join(dir, "out")
		if err := p.Checkout(context.Background(), s.Number, out, false); err != nil {
			t.Fatal(err)
		}
		if name, err := isState(out); err != nil || name != returned[s.Number] {
			t.Fatalf("s%d is %q instead of %q, %v", s.Number, name, returned[s.Number], err)
		}
		if err := tracked.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
	for _, damage := range p.Check() {
		if !strings.Contains(damage, "was not whole") { // the end that was being written, which was not returned
			t.Fatal(damage)
		}
	}
	left, err := os.ReadDir(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if !slices.Contains([]string{"objects", "history", "history.cut", "history.second", "reserve"}, f.Name()) {
			t.Fatalf("%s was left in the store", f.Name())
		}
	}
	if len(list) > 0 && rand.IntN(4) == 0 { //nolint:gosec // how often
		var numbers []uint64
		for _, s := range list[:len(list)*3/4] {
			numbers = append(numbers, s.Number)
			delete(returned, s.Number)
		}
		if _, err := p.Prune(context.Background(), numbers...); err != nil {
			t.Fatal(err)
		}
	}
}
