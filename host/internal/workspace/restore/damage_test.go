package restore_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/restore"
)

// damage flips a bit within a content, wherever it is in the store.
func (w *world) damage(content string) {
	w.t.Helper()
	packs, err := filepath.Glob(filepath.Join(w.store, "objects", "*.pack"))
	w.must(err)
	for _, path := range packs {
		data, err := os.ReadFile(path)
		w.must(err)
		at := bytes.Index(data, []byte(content)[len(content)/2:][:100])
		if at < 0 {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		w.must(err)
		_, err = f.WriteAt([]byte{data[at] ^ 1}, int64(at))
		w.must(errors.Join(err, f.Close()))
		return
	}
	w.t.Fatal("the content is not in the store")
}

// TestADamagedCopyIsStoredAgain before the file of which it is the copy is deleted or replaced, whole or in chunks.
func TestADamagedCopyIsStoredAgain(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	content := func(size int) string {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(rand.Uint32()) //nolint:gosec // what cannot be compressed
		}
		return string(b)
	}
	w.write("a", "one", "replaced", "one")
	first := w.take()
	deleted, replaced, large := content(20_000), content(300_000), content(3<<20)
	w.write("a", "two", "deleted", deleted, "replaced", replaced, "large", large)
	w.take()
	before := w.read()
	for _, c := range []string{deleted, replaced, large} {
		w.damage(c)
	}
	plan := w.prepare(first)
	if plan.Count(restore.Delete) != 2 || plan.Count(restore.Replace) != 2 {
		t.Fatalf("%+v", plan.Steps)
	}
	result := w.apply(plan)
	w.must(w.p.Close())
	w.open()
	w.apply(w.prepare(result.Safety))
	w.is(before)
}
