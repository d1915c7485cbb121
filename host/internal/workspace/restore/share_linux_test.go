package restore_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/extents"
	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// TestWhatWasMovedSharesItsExtents with the file that the restore deletes or replaces, where the filesystem can share them.
func TestWhatWasMovedSharesItsExtents(t *testing.T) {
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, disktest.Sharing(t, kind))
			defer w.close()
			content := func() string {
				b := make([]byte, 200_000)
				for i := range b {
					b[i] = byte(rand.Uint32()) //nolint:gosec // a test's content
				}
				return string(b)
			}
			w.write("dir/moved", content(), "one", content(), "other", content(), "edited", content(), "small", "s")
			w.must(os.Chmod(w.path("dir/moved"), 0o400))
			target := w.take()
			want := w.read()
			witness := filepath.Join(w.top, "witness")
			w.must(os.Mkdir(witness, 0o755))
			names := map[string]bool{"dir/moved": true, "one": true, "other": true, "edited": false}
			for name := range names {
				clone(w, name, filepath.Join(witness, filepath.Base(name)))
			}
			w.must(os.Rename(w.path("dir"), w.path("there")), os.Rename(w.path("one"), w.path("x")), os.Rename(w.path("other"), w.path("one")), os.Rename(w.path("x"), w.path("other")))
			w.write("edited", content(), "small", "t")
			plan := w.prepare(target)
			if plan.Count(restore.Replace) != 4 {
				t.Fatalf("%+v", plan.Steps)
			}
			w.apply(plan)
			w.is(want)
			for name, is := range names {
				if shared := disktest.Shared(t, w.path(name), filepath.Join(witness, filepath.Base(name))); is != (shared >= 196_000) || !is && shared > 0 {
					t.Errorf("%s shares %d bytes", name, shared)
				}
			}
		})
	}
}

// clone makes a file that shares its extents with one of the workspace.
func clone(w *world, name, to string) {
	w.t.Helper()
	from, err := os.Open(w.path(name))
	w.must(err)
	in, err := os.OpenRoot(filepath.Dir(to))
	w.must(err)
	made, err := extents.Clone(in, filepath.Base(to), from)
	w.must(err)
	w.must(from.Close(), in.Close(), made.Close())
}
