package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// incompressible returns bytes that share no block with others.
func incompressible(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rand.Uint32()) //nolint:gosec // a test's content
	}
	return b
}

// TestARestoreSharesExtents with the filesystem's own snapshot of the moment, if that is there and has the recorded content.
// Otherwise the files come from the store.
func TestARestoreSharesExtents(t *testing.T) {
	top := onBtrfs(t)
	dir := filepath.Join(top, "subvolume")
	w, _, all := opened(t, top, dir, workspace.Settings{})
	stop := func() {
		ctx, end := context.WithCancel(context.Background())
		end()
		_ = all.Run(ctx, deaf{})
	}
	defer func() { stop() }()
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	const size = 300_000
	store := filepath.Join(top, "home", workspace.ID(dir))
	kept := func(number uint64) string {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(store, "views", "native", fmt.Sprintf("s%d-*", number)))
		if must(err); len(all) != 1 {
			t.Fatalf("%v are kept", all)
		}
		return all[0]
	}
	for _, c := range []struct {
		what   string
		change func(snapshot string, large []byte) error
		// shared are the files that share their extents then.
		shared []string
	}{
		{"whole", func(string, []byte) error { return nil }, []string{"large", "closed", "dir/medium"}},
		{"changed", func(snapshot string, large []byte) error {
			err := subvolume.SetReadOnly(snapshot, false)
			return errors.Join(err, os.WriteFile(filepath.Join(snapshot, "large"), incompressible(len(large)), 0o600), os.Truncate(filepath.Join(snapshot, "dir", "medium"), 5000), subvolume.SetReadOnly(snapshot, true))
		}, []string{"closed"}},
		{"with links", func(snapshot string, _ []byte) error {
			link, outside := filepath.Join(snapshot, "large"), filepath.Join(top, "outside")
			err := errors.Join(os.WriteFile(outside, incompressible(size), 0o600), subvolume.SetReadOnly(snapshot, false), os.Remove(link), os.Symlink(outside, link))
			return errors.Join(err, os.RemoveAll(filepath.Join(snapshot, "dir")), os.Symlink(dir, filepath.Join(snapshot, "dir")))
		}, []string{"closed"}},
		{"deleted", func(snapshot string, _ []byte) error { return subvolume.Delete(snapshot) }, nil},
		{"the only whole copy", func(_ string, large []byte) error {
			stop() // what it has read is in memory
			err := damage(store, large)
			w, _, all = opened(t, top, dir, workspace.Settings{})
			return err
		}, []string{"large", "closed", "dir/medium"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			must(tracked.RemoveAll(filepath.Join(dir, "dir")), os.RemoveAll(filepath.Join(dir, "closed")))
			must(os.Mkdir(filepath.Join(dir, "dir"), 0o755))
			large := incompressible(size)
			for name, content := range map[string][]byte{"large": large, "closed": incompressible(size), "dir/medium": incompressible(20_000), "small": []byte("small")} {
				must(os.WriteFile(filepath.Join(dir, name), content, 0o640)) //nolint:gosec // a test's file
			}
			must(os.Chmod(filepath.Join(dir, "closed"), 0))
			s, _, err := w.Take(t.Context(), "moment", "", false)
			must(err)
			was, snapshot := treetest.Read(t, dir), kept(s.Number)
			must(os.WriteFile(filepath.Join(dir, "large"), []byte("other"), 0o600), os.WriteFile(filepath.Join(dir, "small"), nil, 0o600), os.Remove(filepath.Join(dir, "closed")), os.RemoveAll(filepath.Join(dir, "dir")))
			witness := filepath.Join(top, "witness") // of extents that a change takes from the snapshot
			must(subvolume.Snapshot(snapshot, witness, true))
			defer func() { must(subvolume.Delete(witness)) }()
			must(c.change(snapshot, large))
			plan, err := w.PrepareRestore(t.Context(), s.Number, nil)
			must(err)
			result, err := w.Restore(t.Context(), plan)
			if must(err); len(result.Differs) > 0 || result.Kept != "" {
				t.Errorf("%+v", result)
			}
			if now := treetest.Read(t, dir); !slices.Equal(was, now) {
				t.Errorf("it is\n%q\nwas\n%q", now, was)
			}
			if content, err := os.ReadFile(filepath.Join(dir, "large")); err != nil || !bytes.Equal(content, large) {
				t.Errorf("the large file has another content, %v", err)
			}
			if damages, err := w.Check(); err != nil || len(damages) > 0 {
				t.Errorf("%q, %v", damages, err)
			}
			shares(t, dir, witness, []string{"large", "closed", "dir/medium"}, c.shared)
		})
	}
}

// shares fails unless exactly some of the files share at least 16 KiB with those of another directory.
func shares(t *testing.T, dir, other string, names, some []string) {
	t.Helper()
	for _, name := range names {
		shared := disktest.Shared(t, filepath.Join(dir, name), filepath.Join(other, name))
		if want := slices.Contains(some, name); want != (shared >= 16<<10) || !want && shared > 0 {
			t.Errorf("%s shares %d bytes", name, shared)
		}
	}
}

// damage flips a bit of a content in a store.
func damage(store string, content []byte) error {
	found := errors.New("the content is not in the store")
	err := filepath.WalkDir(store, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".pack" {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // a test's file
		if err != nil {
			return err
		}
		if at := bytes.Index(data, content[len(content)/2:][:100]); at >= 0 {
			data[at] ^= 1
			found = os.WriteFile(path, data, 0o600)
		}
		return nil
	})
	return errors.Join(err, found)
}

// TestARestoreSharesExtentsWithAView where the filesystem has no snapshots of its own.
func TestARestoreSharesExtentsWithAView(t *testing.T) {
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			top, err := grants.Resolve(disktest.Sharing(t, kind))
			if err != nil {
				t.Fatal(err)
			}
			dir, names := filepath.Join(top, "project"), []string{"one", "two"}
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			w, end := open(t, t.TempDir(), dir)
			defer end()
			for _, name := range names {
				if err := os.WriteFile(filepath.Join(dir, name), incompressible(100_000), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, _, err := w.Take(t.Context(), "moment", "", false)
			if err != nil {
				t.Fatal(err)
			}
			was := treetest.Read(t, dir)
			view, err := w.View(t.Context(), s.Number)
			if err != nil {
				t.Fatal(err)
			}
			changed := filepath.Join(view, "two")
			if err := errors.Join(os.Remove(filepath.Join(dir, "one")), os.WriteFile(filepath.Join(dir, "two"), nil, 0o600), os.Chmod(changed, 0o600), os.WriteFile(changed, incompressible(100_000), 0o600)); err != nil {
				t.Fatal(err)
			}
			plan, err := w.PrepareRestore(t.Context(), s.Number, nil)
			if err != nil {
				t.Fatal(err)
			}
			if result, err := w.Restore(t.Context(), plan); err != nil || len(result.Differs) > 0 {
				t.Fatal(result, err)
			}
			if now := treetest.Read(t, dir); !slices.Equal(was, now) {
				t.Errorf("it is\n%q\nwas\n%q", now, was)
			}
			shares(t, dir, view, names, []string{"one"})
		})
	}
}
