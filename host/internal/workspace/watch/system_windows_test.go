package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/watch"
)

// underWine reports whether Wine runs the test.
func underWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// TestLostChangesAreReported: more than there is room for, and a directory that is replaced.
func TestLostChangesAreReported(t *testing.T) {
	w := newWorld(t)
	w.same()
	watch.Overflow(w.watcher)
	if _, whole, err := w.watcher.Take(context.Background()); !whole || err != nil {
		t.Error(whole, err)
	}
	if _, whole, err := w.watcher.Take(context.Background()); whole || err != nil {
		t.Error(whole, err)
	}
	if err := os.Rename(w.dir, filepath.Join(filepath.Dir(w.dir), "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, whole, err := w.watcher.Take(context.Background()); !whole || err != nil || w.watcher.Limited() == "" {
			t.Error(whole, err)
		}
	}
}
