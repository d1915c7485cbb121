package workspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// TestStatusSaysWhereEachSnapshotComparesAllFiles, also before the first snapshot.
func TestStatusSaysWhereEachSnapshotComparesAllFiles(t *testing.T) {
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "shop")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, end, all := opened(t, top, dir, workspace.Settings{})
	defer end()
	want := map[string]string{"linux": "", "darwin": "macOS may report a change too late", "windows": "Windows may report a change too late"}[runtime.GOOS]
	check := func() {
		t.Helper()
		list := all.Status()
		if len(list) != 1 || want == "" && list[0].Limited != "" || !strings.HasPrefix(list[0].Limited, want) {
			t.Errorf("%+v, want %q", list, want)
		}
		if why := w.Degraded(); strings.Contains(why, "compares all files") {
			t.Errorf("%q, though this system has nothing better", why)
		}
	}
	check()
	if _, _, err := w.Take(t.Context(), "first", "", false); err != nil {
		t.Fatal(err)
	}
	check()
}

// TestAWorkspaceInUseCanBeMovedAndRemoved: nothing that Tidemark keeps open in it, such as a watch, keeps the user from it. Each
// snapshot has what is there by then.
func TestAWorkspaceInUseCanBeMovedAndRemoved(t *testing.T) {
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	parent := filepath.Join(top, "parent")
	dir := filepath.Join(parent, "shop")
	fill := func(round int) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "src", "deep"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"cart.ts", "src/deep/price.ts", fmt.Sprintf("src/%d.ts", round)} {
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), fmt.Append(nil, round), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(0)
	w, end := open(t, top, dir)
	defer end()
	same := func() {
		t.Helper()
		s, _, err := w.Take(t.Context(), "test", "", false)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(top, "out")
		if err := w.Clone(t.Context(), s.Number, out); err != nil {
			t.Fatal(err)
		}
		if got, want := treetest.Read(t, out), treetest.Read(t, dir); !slices.Equal(got, want) {
			t.Fatalf("s%d is\n%s\ninstead of\n%s", s.Number, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
	same()
	for round, leave := range []func() error{
		func() error { return os.RemoveAll(dir) },
		func() error { return os.Rename(dir, dir+"-moved") },
		func() error { return os.Rename(parent, parent+"-moved") },
		func() error { return os.RemoveAll(parent) },
	} {
		if err := leave(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("round %d: it is still there: %v", round, err)
		}
		fill(round + 1)
		same()
	}
}
