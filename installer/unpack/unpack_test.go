package unpack

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
)

func sample() fstest.MapFS {
	return fstest.MapFS{
		".gitignore":       {Data: []byte("*\n")},
		"manifest.json":    {Data: []byte(`{"name":"x"}`)},
		"background.js":    {Data: []byte("1")},
		"panel/index.html": {Data: []byte("<p>")},
	}
}

func TestUnpackIsIdempotentAndLeavesHiddenFilesOut(t *testing.T) {
	dir := t.TempDir()
	path, err := unpack(sample(), dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(path, "panel", "index.html"))
	if err != nil || string(data) != "<p>" {
		t.Fatalf("panel/index.html: %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(path, ".gitignore")); err == nil {
		t.Error(".gitignore was unpacked")
	}
	before, err := os.Stat(filepath.Join(path, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := unpack(sample(), dir)
	if err != nil || again != path {
		t.Fatalf("second time: %s, %v", again, err)
	}
	after, err := os.Stat(filepath.Join(path, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("equal files were written again")
	}
	onlyEntry(t, dir, filepath.Base(path))
}

func TestUnpackKeepsVersionsApart(t *testing.T) {
	dir := t.TempDir()
	first, err := unpack(sample(), dir)
	if err != nil {
		t.Fatal(err)
	}
	files := sample()
	files["background.js"] = &fstest.MapFile{Data: []byte("2")}
	second, err := unpack(files, dir)
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Fatal("two versions share a directory")
	}
	if data, err := os.ReadFile(filepath.Join(first, "background.js")); err != nil || string(data) != "1" {
		t.Errorf("the first version changed: %q, %v", data, err)
	}
}

func TestUnpackMendsADamagedDirectory(t *testing.T) {
	dir := t.TempDir()
	path, err := unpack(sample(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "background.js"), []byte("edited"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(sample(), dir); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(path, "background.js")); err != nil || string(data) != "1" {
		t.Errorf("background.js = %q, %v", data, err)
	}
	onlyEntry(t, dir, filepath.Base(path))
}

func TestUnpackFromManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			path, err := unpack(sample(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(filepath.Join(path, "manifest.json")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestUnpackWithoutAnExtensionSaysHowToBuildIt(t *testing.T) {
	dir := t.TempDir()
	_, err := unpack(fstest.MapFS{".gitignore": {Data: []byte("*\n")}}, dir)
	if !errors.Is(err, ErrNoExtension) {
		t.Fatalf("err = %v", err)
	}
	if err.Error() != "this binary was built without the extension; run `make build`" {
		t.Errorf("err = %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func onlyEntry(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("in the directory: %v, want only %s", entries, name)
	}
}
