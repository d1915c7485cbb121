package operations_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// stopping is a context that calls stop at the first check after a path was removed.
type stopping struct {
	context.Context
	path string
	stop func() error
}

func (s *stopping) Err() error {
	if _, err := os.Lstat(s.path); errors.Is(err, os.ErrNotExist) {
		return s.stop()
	}
	return s.Context.Err()
}

// TestWhatWasNotSetBackIsNamed: a restore is killed, or fails, and meanwhile another program has made a directory again with a
// file in it. The files in it are set back, and the log, the list and the next plan name what still differs.
func TestWhatWasNotSetBackIsNamed(t *testing.T) {
	for _, killed := range []bool{true, false} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			w := timelinetest.New(t)
			w.Write("a", "one")
			empty := w.Edit("empty")
			for n := range 7 {
				for f := range 20 {
					w.Write(fmt.Sprintf("n%d/f%d", n, f), "content")
				}
			}
			w.Edit("full")
			server := func() {
				if err := os.Mkdir(filepath.Join(w.Dir, "n3"), 0o755); err == nil {
					w.Write("n3/mine.txt", "user")
					w.Write("n3/f5", "user")
				}
			}
			ctx := &stopping{Context: t.Context(), path: filepath.Join(w.Dir, "n3"), stop: func() error { panic("killed") }}
			if !killed {
				ctx.stop = func() error { server(); return context.Canceled }
			}
			func() {
				defer func() {
					if killed && recover() == nil {
						t.Fatal("it ended")
					}
				}()
				_, err := w.Operations.Restore(ctx, timelinetest.User, operations.RestoreParams{Where: w.Here(), To: empty.ID(), Confirm: true})
				if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), `"n3/f5"`) {
					t.Errorf("%v", err)
				}
			}()
			if killed {
				server()
				w.Restart()
			}
			problem := w.Listed().Problem
			ops, err := w.Operations.Log(t.Context(), timelinetest.User, operations.LogParams{Where: w.Here()})
			if err != nil || len(ops.Operations) != 1 {
				t.Fatal(ops, err)
			}
			op := ops.Operations[0]
			named := func(path string) bool {
				return slices.ContainsFunc(op.Differs, func(line string) bool { return strings.HasPrefix(line, path+": ") })
			}
			if op.State != "failed" || len(op.Differs) != 2 || !named("n3") || !named("n3/f5") || op.Restore != "tidemark timeline restore "+op.Safety {
				t.Errorf("%+v", op)
			}
			for path, want := range map[string]string{"n3/mine.txt": "user", "n3/f5": "user", "n3/f6": "content", "n6/f0": "content", "n0/f19": "content"} {
				if got := w.Read(filepath.Join(w.Dir, path)); got != want {
					t.Errorf("%s is %q", path, got)
				}
			}
			if !strings.Contains(problem, op.ID) || !strings.Contains(problem, "lists the others") || !strings.Contains(problem, op.Restore) {
				t.Errorf("the list says %q", problem)
			}
			if _, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Operation: op.ID, Confirm: true}); err == nil || !strings.Contains(err.Error(), op.Restore) {
				t.Errorf("%v", err)
			}
			plan, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: op.Safety})
			if err != nil || !strings.Contains(plan.Note, op.ID) {
				t.Fatalf("%+v, %v", plan, err)
			}
			if _, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: op.Safety, Confirm: true}); err != nil {
				t.Fatal(err)
			}
			if got := w.Read(filepath.Join(w.Dir, "n3/f5")); got != "content" {
				t.Errorf("%q", got)
			}
			if problem := w.Listed().Problem; problem != "" {
				t.Errorf("the list still says %q", problem)
			}
		})
	}
}

// TestTheSampleOfAKilledEstimateIsRemoved at the next start, also one of an earlier build, and nothing beside it.
func TestTheSampleOfAKilledEstimateIsRemoved(t *testing.T) {
	w := timelinetest.New(t)
	dir := filepath.Join(w.Top, "branches", "shop-1")
	text := rand.Text()
	block := strings.Repeat(text, (8<<20)/len(text))
	var want []string
	for _, d := range []struct {
		name  string
		files map[string]string
		stays bool
	}{
		{tracked.SamplePrefix + "123", map[string]string{"block": "x"}, false},
		{"whole.sample", map[string]string{"block": block, "0": "any", "17": "content"}, false},
		{"half.sample", map[string]string{"block": block[:1000]}, false},
		{"begun.sample", map[string]string{"block": ""}, false},
		{"empty.sample", nil, false},
		{"other-text.sample", map[string]string{"block": "x"}, true},
		{"not-repeated.sample", map[string]string{"block": text + rand.Text()}, true},
		{"other-file.sample", map[string]string{"block": block, "notes": "mine"}, true},
		{"other-number.sample", map[string]string{"block": block, "007": "mine"}, true},
		{"directory.sample", map[string]string{"1/file": "mine"}, true},
		{"Other.sample", map[string]string{"block": block}, true},
		{"whole", map[string]string{"block": block}, true},
	} {
		d.name = filepath.Join(dir, d.name)
		if err := os.MkdirAll(d.name, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, content := range d.files {
			file = filepath.Join(d.name, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o400)); err != nil {
				t.Fatal(err)
			}
		}
		if d.stays {
			want = append(want, d.name)
		}
	}
	w.Restart()
	slices.Sort(want)
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || !slices.Equal(left, want) {
		t.Errorf("%q is left, %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) != 0 {
		t.Errorf("%q is left, %v", left, err)
	}
}
