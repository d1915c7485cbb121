package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/grants"
)

// manyWorld returns a directory of a project that is to be made, and what writes a file in it.
func manyWorld(t *testing.T) (top, dir string, write func(path string)) {
	t.Helper()
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(top, "shop")
	return top, dir, func(path string) {
		t.Helper()
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("text"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyChangesHideNoEdit: of a snapshot with more changes than are recorded, such as a restore of thousands of files, those of each
// directory are, not those alone whose paths sort first.
func TestManyChangesHideNoEdit(t *testing.T) {
	top, dir, write := manyWorld(t)
	write("readme")
	all, to, end := recorded(t, top, dir)
	defer end()
	w, err := all.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Take(t.Context(), "", "", false); err != nil {
		t.Fatal(err)
	}
	for i := range 1500 {
		write(fmt.Sprint("generated/", i))
		write(fmt.Sprint("node_modules/p", i, "/index.js"))
		write(fmt.Sprint("packages/a/dist/", i))
	}
	edits := []string{"packages/a/src/view.ts", "packages/b/src/view.ts", "src/a.ts", "src/deep/er/b.ts", "zz"}
	for _, path := range edits {
		write(path)
	}
	if _, _, err := w.Take(t.Context(), "", "", false); err != nil {
		t.Fatal(err)
	}
	if err := all.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, path := range edits {
		if !to.paths[path] {
			t.Errorf("%s is not among the %d changes that are recorded", path, len(to.all))
		}
	}
	for i := range 1500 {
		if path := fmt.Sprint("generated/", i); !to.paths[path] {
			t.Fatalf("%s is not recorded, though only programs made the others", path)
		}
	}
	if len(to.all) != 2000 {
		t.Errorf("%d changes are recorded", len(to.all))
	}
}

// TestADirectoryInPlaceOfAFile, and the reverse, with more changes than are recorded: other edits are still among them.
func TestADirectoryInPlaceOfAFile(t *testing.T) {
	top, dir, write := manyWorld(t)
	write("lib/t")
	write("other")
	all, to, end := recorded(t, top, dir)
	defer end()
	w, err := all.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(){
		func() {},
		func() {
			if err := os.Remove(filepath.Join(dir, "lib", "t")); err != nil {
				t.Fatal(err)
			}
			for i := range 2500 {
				write(fmt.Sprint("lib/t/", i))
			}
			write("edit 1")
		},
		func() {
			if err := os.RemoveAll(filepath.Join(dir, "lib")); err != nil {
				t.Fatal(err)
			}
			write("lib")
			write("edit 2")
		},
	} {
		change()
		if _, _, err := w.Take(t.Context(), "", "", false); err != nil {
			t.Fatal(err)
		}
		if err := all.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, path := range []string{"edit 1", "lib", "edit 2"} {
		if !to.paths[path] {
			t.Errorf("%s is not among the %d changes that are recorded", path, len(to.all))
		}
	}
}
