package branches_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
)

// TestPermissionsThatBothChangedAreAConflict: those that one side changed are taken, and never those of the branch in silence.
func TestPermissionsThatBothChangedAreAConflict(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has other permissions")
	}
	s := opened(t)
	put := func(dir, name, text string, mode fs.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		failing(os.WriteFile(path, []byte(text), 0o600))
		failing(os.Chmod(path, mode))
	}
	names := []string{"both", "ours", "theirs", "program", "text", "lines"}
	for _, name := range names {
		put(s.dir, name, "1\n2\n3\n4\n5\n", 0o644)
	}
	b := s.start(t, s.where(), s.record(), "other")
	put(s.dir, "both", "1\n2\n3\n4\n5\n", 0o600)
	put(b.Workspace, "both", "1\n2\n3\n4\n5\n", 0o755)
	put(s.dir, "ours", "1\n2\n3\n4\n5\n", 0o600)
	put(b.Workspace, "ours", "branch\n", 0o644)
	put(b.Workspace, "theirs", "1\n2\n3\n4\n5\n", 0o600)
	put(s.dir, "program", "original\n2\n3\n4\n5\n", 0o644)
	put(b.Workspace, "program", "1\n2\n3\n4\nbranch\n", 0o755)
	put(s.dir, "text", "original\n2\n3\n4\n5\n", 0o600)
	put(b.Workspace, "text", "1\n2\n3\n4\nbranch\n", 0o640)
	put(s.dir, "lines", "original\n", 0o644)
	put(b.Workspace, "lines", "branch\n", 0o644)
	apply := func(conflicts string, confirm bool) (*branches.Applied, error) {
		return s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other", Conflicts: conflicts, Confirm: confirm})
	}
	paths := func(list []branches.Conflict) (paths string) {
		for _, c := range list {
			paths += " " + c.Path
		}
		return paths
	}
	a, err := apply("", false)
	if failing(err); paths(a.Conflicts) != " both lines text" {
		t.Errorf("the conflicts are %+v", a.Conflicts)
	}
	if _, err = apply("", true); err == nil || !strings.Contains(err.Error(), "3 files have conflicts") {
		t.Error(err)
	}
	a, err = apply("mark", false)
	if failing(err); paths(a.Conflicts) != " both text" || paths(a.Marked) != " lines" {
		t.Errorf("the conflicts are %+v, and marked are %+v", a.Conflicts, a.Marked)
	}
	if a, err = apply("original", true); err != nil || !a.Done || paths(a.Settled) != " both lines text" {
		t.Errorf("%+v, %v", a, err)
	}
	for name, want := range map[string]struct {
		mode fs.FileMode
		text string
	}{
		"both": {0o600, "1\n2\n3\n4\n5\n"}, "ours": {0o600, "branch\n"}, "theirs": {0o600, "1\n2\n3\n4\n5\n"}, "program": {0o755, "original\n2\n3\n4\nbranch\n"},
		"text": {0o600, "original\n2\n3\n4\nbranch\n"}, "lines": {0o644, "original\n"},
	} {
		info, err := os.Stat(filepath.Join(s.dir, name))
		failing(err)
		if got := read(t, filepath.Join(s.dir, name)); info.Mode().Perm() != want.mode || got != want.text {
			t.Errorf("%s has %o and %q; want %o and %q", name, info.Mode().Perm(), got, want.mode, want.text)
		}
	}
	if a, err = apply("", false); err != nil || len(a.Conflicts)+len(a.Steps) > 0 { // what was settled is no conflict again
		t.Errorf("%+v, %v", a, err)
	}
}

// TestWhatTheOriginalCannotHaveIsNamed: a file in a directory that it made a link, and one that is too large to be merged. The side of
// the original leaves them, and all others are applied.
func TestWhatTheOriginalCannotHaveIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("not every user of Windows may make links")
	}
	s := opened(t)
	failing(os.Mkdir(filepath.Join(s.dir, "d"), 0o700))
	failing(os.WriteFile(filepath.Join(s.dir, "d", "x"), []byte("x\n"), 0o600))
	b := s.start(t, s.where(), s.record(), "other")
	failing(os.WriteFile(filepath.Join(b.Workspace, "d", "new"), []byte("new\n"), 0o600))
	failing(os.WriteFile(filepath.Join(b.Workspace, "small"), []byte("small\n"), 0o600))
	outside := t.TempDir()
	failing(os.RemoveAll(filepath.Join(s.dir, "d")))
	failing(os.Symlink(outside, filepath.Join(s.dir, "d")))
	for _, conflicts := range []string{"", "mark", "branch", "original"} {
		a, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other", Conflicts: conflicts})
		list, other := a.Conflicts, a.Settled
		if conflicts == "original" {
			list, other = other, list
		}
		if err != nil || len(list) != 1 || list[0].Path != "d/new" || len(other) > 0 {
			t.Errorf("with %q: %+v, %v", conflicts, a, err)
		}
	}
	a, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other", Conflicts: "original", Confirm: true})
	if err != nil || len(a.Steps) != 1 || read(t, filepath.Join(s.dir, "small")) != "small\n" {
		t.Errorf("%+v, %v", a, err)
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("behind the link there is %v, %v", list, err)
	}
}
