package restore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// foreign is a workspace of a user without rights, with directories of root. Those that make has in dist-1 and dist-2 are the two
// states of dist; see [world.turn].
func foreign(t *testing.T, make func(root string) error) *world {
	t.Helper()
	top := disktest.User()
	if top == "" {
		top = t.TempDir()
		dir := filepath.Join(top, "workspace")
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, 65534, 65534), make(dir)); err != nil {
			if os.Geteuid() != 0 {
				t.Skip("only root can make directories of another user")
			}
			t.Fatal(err)
		}
		disktest.AsUser(t, top)
		return nil
	}
	w := &world{t: t, top: top, dir: filepath.Join(top, "workspace"), store: filepath.Join(top, "store")}
	w.options.Workspace, w.options.Store, w.options.Clock = w.dir, w.store, time.Now
	w.options.Skip = func(path string) bool { return strings.HasPrefix(path, "dist-") }
	w.open()
	return w
}

// turn makes another state of dist the present one.
func (w *world) turn(from, to string) {
	w.t.Helper()
	if from != "" {
		w.must(os.Rename(w.path("dist"), w.path("dist-"+from)))
	}
	if to != "" {
		w.must(os.Rename(w.path("dist-"+to), w.path("dist")))
	}
}

// file writes a file of root.
func file(path, content string, mode os.FileMode) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), mode), os.Chmod(path, mode))
}

// TestWhatIsAnotherUsersIsAProblemOfThePlan: what this user may not change is named before anything is, it can be left, and no
// restore blocks the next one.
func TestWhatIsAnotherUsersIsAProblemOfThePlan(t *testing.T) {
	w := foreign(t, func(root string) error {
		at := func(path string) string { return filepath.Join(root, path) }
		return errors.Join(file(at("dist-1/o"), "o", 0o644), file(at("dist-1/mine/x"), "x", 0o644), os.Chown(at("dist-1/mine"), 65534, 65534), os.Chown(at("dist-1/mine/x"), 65534, 65534),
			file(at("dist-2/o"), "changed", 0o644), file(at("dist-2/o2/deep/f"), "new", 0o644), file(at("dist-2/mine/x"), "y", 0o644), os.Chown(at("dist-2/mine"), 65534, 65534), os.Chown(at("dist-2/mine/x"), 65534, 65534))
	})
	if w == nil {
		return
	}
	defer w.close()
	w.write("a", "one")
	w.turn("", "1")
	first := w.take()
	w.turn("1", "2")
	w.write("a", "two")
	second := w.take()
	for _, target := range []uint64{first, second, first} {
		before := w.read()
		plan := w.prepare(target)
		var want []string
		if target == first {
			want = []string{"dist"}
			if got := paths(plan.Problems); !slices.Equal(got, want) || !strings.Contains(plan.Problems[0].Reason, "another user (UID 0)") {
				t.Fatalf("%+v", plan.Problems)
			}
			var blocked *restore.BlockedError
			if _, err := plan.Apply(context.Background()); !errors.As(err, &blocked) {
				t.Fatal(err)
			}
			w.is(before)
			w.clean()
			plan = w.prepare(target)
			plan.Leave()
		}
		if result := w.apply(plan); !slices.Equal(paths(result.Differs), want) {
			t.Errorf("%+v", result.Differs)
		}
		for path, want := range map[string]string{"a": map[uint64]string{first: "one", second: "two"}[target], "dist/mine/x": map[uint64]string{first: "x", second: "y"}[target], "dist/o": "changed"} {
			if got, err := os.ReadFile(w.path(path)); string(got) != want {
				t.Errorf("%s is %q, want %q: %v", path, got, want, err)
			}
		}
		w.write("b", "so that the next target differs")
	}
}

// TestTimesOfAnotherUsersDirectoryAreNoted, also if only its files may be changed.
func TestTimesOfAnotherUsersDirectoryAreNoted(t *testing.T) {
	w := foreign(t, func(root string) error {
		at := func(path string) string { return filepath.Join(root, path) }
		old := time.Unix(1e9, 0)
		return errors.Join(file(at("dist-1/o"), "o", 0o644), file(at("dist-2/o"), "o", 0o644), os.Chtimes(at("dist-1/o"), old, old), os.Chtimes(at("dist-2/o"), old, old), os.Chtimes(at("dist-1"), old, old),
			os.Mkdir(at("open"), 0o755), os.Chmod(at("open"), 0o777))
	})
	if w == nil {
		return
	}
	defer w.close()
	w.write("a", "one", "open/f", "one")
	w.turn("", "1")
	first := w.take()
	w.turn("1", "2")
	w.write("a", "two", "open/f", "two", "open/g", "new")
	w.take()
	plan := w.prepare(first)
	if len(plan.Problems) > 0 || len(plan.Left) == 0 || plan.Left[0].Path != "dist" || !strings.Contains(plan.Left[0].Reason, "its times") {
		t.Fatalf("%+v, %+v", plan.Problems, plan.Left)
	}
	result := w.apply(plan)
	if got := paths(result.Differs); !slices.Equal(got, []string{"dist", "open"}) {
		t.Errorf("%+v", result.Differs)
	}
	for _, path := range []string{"a", "open/f"} {
		if got, err := os.ReadFile(w.path(path)); string(got) != "one" {
			t.Errorf("%s is %q: %v", path, got, err)
		}
	}
	if plan := w.prepare(first); len(plan.Steps) > 0 || len(plan.Problems) > 0 {
		t.Errorf("%+v, %+v", plan.Steps, plan.Problems)
	}
}

// TestAttributesThatCannotBeSetBackBlockNothing: a crash in a directory of another user is recovered, what is not as before is
// named, and the next restore works.
func TestAttributesThatCannotBeSetBackBlockNothing(t *testing.T) {
	w := foreign(t, func(root string) error {
		open := filepath.Join(root, "open")
		return errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o777))
	})
	if w == nil {
		return
	}
	defer w.close()
	w.write("a", "one", "open/f", "one")
	first := w.take()
	w.write("a", "two", "open/f", "two", "open/g", "new")
	plan := w.prepare(first)
	before := contents(w)
	plan.Observe(func(path string) {
		if path == "open" {
			panic("crash")
		}
	})
	func() {
		defer func() { _ = recover() }()
		_, err := plan.Apply(context.Background())
		t.Fatal(err)
	}()
	recovery, err := restore.Recover(context.Background(), w.p)
	w.must(err)
	if recovery == nil || !slices.Equal(paths(recovery.Differs), []string{"open"}) || !strings.Contains(recovery.Differs[0].Reason, "operation not permitted") {
		t.Fatalf("%+v", recovery)
	}
	if got := contents(w); !slices.Equal(got, before) {
		t.Errorf("%q, not %q", got, before)
	}
	w.clean()
	w.apply(w.prepare(first))
}

// TestAFileThatCannotBeSetBackBlocksNothing: root has put a directory in the place of the one that it was in.
func TestAFileThatCannotBeSetBackBlocksNothing(t *testing.T) {
	w := foreign(t, func(root string) error { return file(filepath.Join(root, "dist-2/o"), "o", 0o644) })
	if w == nil {
		return
	}
	defer w.close()
	w.write("a", "one", "dist/f", "one", "dist/h", "one")
	first := w.take()
	w.write("a", "two", "dist/f", "two", "dist/g", "new")
	plan := w.prepare(first)
	w.crash(plan, "dist")
	w.turn("1", "2")
	recovery, err := restore.Recover(context.Background(), w.p)
	w.must(err)
	if got := paths(recovery.Differs); !slices.Equal(got, []string{"dist/f", "dist/g", "dist"}) {
		t.Errorf("%+v", recovery.Differs)
	}
	if got, err := os.ReadFile(w.path("a")); string(got) != "two" {
		t.Errorf("%q, %v", got, err)
	}
	w.clean()
	plan = w.prepare(first)
	if got := paths(plan.Problems); !slices.Equal(got, []string{"dist"}) {
		t.Errorf("%+v", plan.Problems)
	}
	plan.Leave()
	w.apply(plan)
	w.turn("2", "1")
	w.apply(w.prepare(recovery.Safety))
	for path, want := range map[string]string{"a": "two", "dist/f": "two", "dist/g": "new"} {
		if got, err := os.ReadFile(w.path(path)); string(got) != want {
			t.Errorf("%s is %q: %v", path, got, err)
		}
	}
}
