package branches_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// TestAnUndoneApplyIsExact: other files and directories have the times from before it, too. A directory in which something else has
// changed since then keeps its times. Files whose contents it changes are new to make.
func TestAnUndoneApplyIsExact(t *testing.T) {
	s := opened(t)
	put := func(dir, path, text string) {
		path = filepath.Join(dir, path)
		failing(os.MkdirAll(filepath.Dir(path), 0o700))
		failing(os.WriteFile(path, []byte(text), 0o600))
	}
	for _, path := range []string{"sub/b", "sub/deep/c", "emptied/only", "kept/d", "shared/e", "shared/f"} {
		put(s.dir, path, "before\n")
	}
	long := time.Now().Add(-time.Hour)
	for _, dir := range []string{"sub/deep", "sub", "emptied", "kept", "shared", "."} {
		failing(os.Chtimes(filepath.Join(s.dir, dir), long, long))
	}
	b := s.start(t, s.where(), s.record(), "other")
	put(b.Workspace, "sub/b", "changed\n")
	put(b.Workspace, "sub/deep/new", "new\n")
	put(b.Workspace, "new/dir/file", "new\n")
	put(b.Workspace, "shared/e", "changed\n")
	failing(os.RemoveAll(filepath.Join(b.Workspace, "emptied")))
	changed := []string{"sub/b", "shared/e", "emptied/only", "sub/deep/new", "new/dir/file"}
	whole := func() string {
		var times []time.Time
		for _, path := range changed { // their times are compared on their own
			if info, err := os.Lstat(filepath.Join(s.dir, path)); err == nil {
				times = append(times, info.ModTime())
				failing(os.Chtimes(filepath.Join(s.dir, path), long, long))
			}
		}
		state := fmt.Sprint(treetest.ReadWhole(t, s.dir))
		for _, path := range changed {
			if _, err := os.Lstat(filepath.Join(s.dir, path)); err == nil {
				failing(os.Chtimes(filepath.Join(s.dir, path), times[0], times[0]))
				times = times[1:]
			}
		}
		return state
	}
	timeOf := func(dir string) time.Time {
		info, err := os.Stat(filepath.Join(s.dir, dir))
		failing(err)
		return info.ModTime()
	}
	before := whole()
	apply := func() string {
		t.Helper()
		a, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other", Confirm: true})
		failing(err)
		return a.Operation
	}
	undo := func(operation string) string {
		t.Helper()
		a, err := s.Timeline.Operations.Undo(t.Context(), user, operations.UndoParams{Where: s.where(), Operation: operation, Confirm: true})
		failing(err)
		return a.Operation
	}
	applied := apply()
	after := whole()
	built := time.Now() // whoever built something did it after the apply
	newer := func(paths ...string) {
		t.Helper()
		for _, path := range paths {
			if at := timeOf(path); !at.After(built) {
				t.Errorf("%s is of %v, and what was built from it of %v", path, at, built)
			}
		}
		built = time.Now()
	}
	undone := undo(applied)
	newer("sub/b", "shared/e", "emptied/only")
	if got := whole(); got != before {
		t.Errorf("after the undo: %s\nbefore the apply: %s", got, before)
	}
	again := undo(undone)
	newer("sub/b", "shared/e", "sub/deep/new", "new/dir/file")
	if got := whole(); got != after {
		t.Errorf("after the undo of the undo: %s\nafter the apply: %s", got, after)
	}
	put(s.dir, "shared/mine", "mine\n")
	shared := timeOf("shared")
	undo(again)
	if !timeOf("shared").Equal(shared) || !timeOf("sub").Equal(long) || !timeOf(".").Equal(long) {
		t.Errorf("the times are %v, %v and %v; want %v and %v", timeOf("shared"), timeOf("sub"), timeOf("."), shared, long)
	}
	if got := read(t, filepath.Join(s.dir, "shared", "mine")) + read(t, filepath.Join(s.dir, "shared", "e")); got != "mine\nbefore\n" {
		t.Errorf("the files are %q", strings.Split(got, "\n"))
	}
}

// TestAnUndoNamesWhatWasChangedAfterwards: it takes that back, too. Other files that the apply changed are not named.
func TestAnUndoNamesWhatWasChangedAfterwards(t *testing.T) {
	s := opened(t)
	b := s.start(t, s.where(), s.record(), "other")
	for _, name := range []string{"sub/a", "sub/b", "new/c"} {
		path := filepath.Join(b.Workspace, name)
		failing(os.MkdirAll(filepath.Dir(path), 0o700))
		failing(os.WriteFile(path, []byte("branch\n"), 0o600))
	}
	a, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other", Confirm: true})
	failing(err)
	plan := func() string {
		t.Helper()
		a, err := s.Timeline.Operations.Undo(t.Context(), user, operations.UndoParams{Where: s.where(), Operation: a.Operation})
		if failing(err); len(a.Steps) < 3 {
			t.Errorf("%+v", a)
		}
		return a.Note
	}
	if got := plan(); got != "" {
		t.Error(got)
	}
	failing(os.WriteFile(filepath.Join(s.dir, "sub", "a"), []byte("mine\n"), 0o600))
	if got := plan(); got != "Files were changed after "+a.Operation+", and that is undone, too: sub/a." {
		t.Error(got)
	}
}
