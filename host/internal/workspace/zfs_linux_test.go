package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/disksize"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// onZFS makes a dataset and a directory on ZFS, and returns what they are in.
func onZFS(t *testing.T) (top string, pool disktest.Pool) {
	t.Helper()
	pool = disktest.ZFS(t, 1<<30)
	top, err := grants.Resolve(pool.Dir)
	if err != nil {
		t.Fatal(err)
	}
	pool.Create(t, filepath.Join(top, "dataset"))
	if err := os.Mkdir(filepath.Join(top, "directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	return top, pool
}

// TestTheChoiceOnZFSHasItsReason, by the settings or by what the workspace is.
func TestTheChoiceOnZFSHasItsReason(t *testing.T) {
	top, pool := onZFS(t)
	for _, c := range []struct {
		dir      string
		provider map[string]string
		used     string
		why      string // of ZFS
	}{
		{"dataset", nil, "zfs", "the project is on the ZFS dataset " + pool.Name + "/dataset"},
		{"directory", nil, "zfs", "They serve no view and no branch: the project is a directory in the ZFS dataset " + pool.Name},
		{"dataset", map[string]string{top: "tracked"}, "tracked", "config.toml chooses tracked for " + top},
		{"dataset", map[string]string{"/": "tracked", filepath.Join(top, "dataset"): "zfs"}, "zfs", "the project is on the ZFS dataset"},
	} {
		settings := workspace.Settings{Provider: c.provider}
		if err := settings.Check(); err != nil {
			t.Fatal(err)
		}
		w, end, _ := opened(t, t.TempDir(), filepath.Join(top, c.dir), settings)
		_, _, err := w.Take(t.Context(), "first", "", false)
		if err != nil {
			t.Fatal(err)
		}
		m, err := w.Providers(context.Background())
		end()
		if err != nil {
			t.Fatal(err)
		}
		used := ""
		for _, p := range m.Providers {
			if p.Available && used == "" {
				used = p.Name
			}
			costs(t, p)
			if p.Name == "zfs" && !strings.Contains(p.Why, c.why) {
				t.Errorf("%s is not in %q", c.why, p.Why)
			}
		}
		if used != c.used || m.Filesystem != "zfs" {
			t.Errorf("%s: %s on %s", c.dir, used, m.Filesystem)
		}
	}
}

// TestAUserOfZFSNeedsRights: without them one command is named, and the record takes the snapshots.
func TestAUserOfZFSNeedsRights(t *testing.T) {
	top, pool := onZFS(t)
	programs := t.TempDir()
	denies := "#!/bin/sh\necho 'cannot create snapshots : permission denied' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(programs, "zfs"), []byte(denies), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", programs+":"+path)
	dir := filepath.Join(top, "dataset")
	w, end, _ := opened(t, t.TempDir(), dir, workspace.Settings{})
	defer end()
	t.Setenv("PATH", path)
	s, _, err := w.Take(t.Context(), "test", "", false)
	if err != nil || workspace.ProviderOf(s) != workspace.Provider {
		t.Errorf("%+v, %v", s, err)
	}
	want := "ZFS snapshots are not used: the user may not take and destroy snapshots of the ZFS dataset " + pool.Name + "/dataset. Run `sudo zfs allow -u root snapshot,destroy,mount " + pool.Name + "/dataset` to allow it."
	if got := w.Degraded(); got != want {
		t.Errorf("%q", got)
	}
}

// TestOldViewsOnZFSAreUnmounted, and a removed project is kept by no snapshot. What a program works in stays, and what is mounted.
func TestOldViewsOnZFSAreUnmounted(t *testing.T) {
	top, pool := onZFS(t)
	dir, home := filepath.Join(top, "dataset"), t.TempDir()
	w, end, all := opened(t, home, dir, workspace.Settings{})
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := w.Take(t.Context(), "first", "", false)
	if err != nil || workspace.ProviderOf(s) != workspace.ZFS || !workspace.Instant(w, s.Number) {
		t.Fatal(s, err)
	}
	view, err := w.View(t.Context(), s.Number)
	if err != nil {
		t.Fatal(err)
	}
	used, err := os.Open(filepath.Join(view, "file"))
	if err := errors.Join(err, os.Chtimes(view+".used", time.Time{}, time.Now().Add(-2*time.Hour))); err != nil {
		t.Fatal(err)
	}
	if all.Sweep(); !dataset.Is(view) {
		t.Error("a view that a program reads is not there any more")
	}
	if err := used.Close(); err != nil {
		t.Fatal(err)
	}
	if got := disksize.Of(home); got > 1<<20 {
		t.Errorf("what is mounted counts: %d bytes", got)
	}
	end()
	w, end, all = opened(t, home, dir, workspace.Settings{})
	defer end()
	if list, err := mounts.Within(home); err != nil || len(list) > 0 || len(w.Views()) > 0 {
		t.Errorf("%v is mounted, %v", list, err)
	}
	disktest.Zfs(t, "unmount", pool.Name+"/dataset")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	all.Sweep()
	if names, err := dataset.Snapshots(t.Context(), pool.Name+"/dataset", ""); err != nil || len(names) > 0 {
		t.Errorf("%v is left of a removed project, %v", names, err)
	}
}
