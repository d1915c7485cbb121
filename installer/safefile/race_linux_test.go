package safefile_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/installer/safefile"
)

// TestAPlaceIsNeverThroughALinkThatCame: a program exchanges a directory, or a file, and a link to elsewhere, as fast as it can,
// while files are written. Nothing elsewhere changes.
func TestAPlaceIsNeverThroughALinkThatCame(t *testing.T) {
	rounds := 500
	if testing.Short() {
		rounds = 50
	}
	for _, swapped := range []string{"a", "a/b", "a/b/file"} {
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		must := func(errs ...error) {
			t.Helper()
			for _, err := range errs {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		path := func(name string) string { return filepath.Join(top, name) }
		target := map[string]string{"a": path("elsewhere"), "a/b": path("elsewhere/b"), "a/b/file": path("elsewhere/b/file")}[swapped]
		must(os.MkdirAll(path("a/b"), 0o700), os.MkdirAll(path("elsewhere/b"), 0o700), os.Symlink(target, path("decoy")),
			os.WriteFile(path("a/b/file"), []byte("old"), 0o600), os.WriteFile(path("elsewhere/b/file"), []byte("elsewhere"), 0o600))
		stop := make(chan struct{})
		var swaps atomic.Int64
		done, refused := 0, 0
		var racing sync.WaitGroup
		racing.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = unix.Renameat2(unix.AT_FDCWD, path(swapped), unix.AT_FDCWD, path("decoy"), unix.RENAME_EXCHANGE)
					swaps.Add(1)
				}
			}
		})
		for tried := 0; tried < rounds || done == 0 || swaps.Load() == 0; tried++ { // until something raced
			p, err := safefile.OpenPlace(path("a/b/file"))
			if err != nil {
				refused++
				continue
			}
			if data, _, err := p.ReadInfo(100); err == nil && string(data) == "elsewhere" {
				t.Error("it reads what is elsewhere")
			}
			if err := p.Write([]byte("new"), 0o600); err != nil {
				t.Error(err)
			}
			must(p.Close())
			done++
		}
		close(stop)
		racing.Wait()
		t.Logf("%s: %d exchanges, %d written, %d refused", swapped, swaps.Load(), done, refused)
		entries, err := os.ReadDir(path("elsewhere/b"))
		must(err)
		if data, err := os.ReadFile(path("elsewhere/b/file")); err != nil || string(data) != "elsewhere" || len(entries) != 1 {
			t.Errorf("%s: elsewhere is %q, %v, %v", swapped, data, entries, err)
		}
	}
}

// TestAPlaceMakesItsDirectories, with links that were there before.
func TestAPlaceMakesItsDirectories(t *testing.T) {
	top := t.TempDir()
	if err := os.Mkdir(filepath.Join(top, "real"), 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	real, err := safefile.Resolve(filepath.Join(top, "link", "new", "dir", "file"))
	if err != nil || filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(real)))) != "real" {
		t.Fatal(real, err)
	}
	p, err := safefile.OpenPlace(real)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if err := p.Write([]byte("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	if data, info, err := p.ReadInfo(3); err != nil || string(data) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q, %v", data, err)
	}
	if err := p.Remove(); err != nil {
		t.Error(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(top, "broken")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"broken", "broken/file"} {
		if real, err := safefile.Resolve(filepath.Join(top, name)); err == nil {
			t.Errorf("%s is %s", name, real)
		}
	}
}
