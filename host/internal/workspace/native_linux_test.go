package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// TestBtrfsSnapshotsOfWhatAnotherProcessEdits, with the watcher.
func TestBtrfsSnapshotsOfWhatAnotherProcessEdits(t *testing.T) {
	whatAnotherProcessEdits(t, disktest.Btrfs(t, disktest.Options{Bytes: 1 << 30}), subvolume.Create)
}

// TestSnapshotsOfWhatAnotherProcessEditsWithinASecond: the times of files show none of the edits.
func TestSnapshotsOfWhatAnotherProcessEditsWithinASecond(t *testing.T) {
	whatAnotherProcessEdits(t, disktest.Seconds(t), func(dir string) error { return os.Mkdir(dir, 0o755) })
}

// onBtrfs makes a subvolume and a directory on Btrfs, and returns what they are in.
func onBtrfs(t *testing.T) string {
	t.Helper()
	top, err := grants.Resolve(disktest.Btrfs(t, disktest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := subvolume.Create(filepath.Join(top, "subvolume")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(top, "directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	return top
}

// deaf drops what is recorded.
type deaf struct{ recorder.Sink }

func (deaf) Append(context.Context, ...event.Event) error { return nil }
func (deaf) Miss(event.Subject, string, time.Time, int)   {}

// TestABtrfsSubvolumeHasItsSnapshots: they serve views and copies, hide in no list of views, and do not outlive their record.
func TestABtrfsSubvolumeHasItsSnapshots(t *testing.T) {
	top := onBtrfs(t)
	dir := filepath.Join(top, "subvolume")
	ctx, stopped := context.Background(), func() context.Context { ctx, stop := context.WithCancel(t.Context()); stop(); return ctx }()
	w, _, all := opened(t, top, dir, workspace.Settings{})
	end := func() { _ = all.Run(stopped, deaf{}) } // as the daemon stops
	must := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(content string) { must(os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o600)) }
	write("one")
	first, _, err := w.Take(ctx, "first", "", false)
	must(err)
	write("two")
	second, _, err := w.Take(ctx, "second", "", false)
	must(err)
	again, same, err := w.Take(ctx, "again", "", true)
	must(err)
	if !same || again.Number != second.Number || workspace.ProviderOf(first) != workspace.Btrfs || w.Degraded() != "" {
		t.Fatalf("%+v, %+v, %v, %q", first, again, same, w.Degraded())
	}
	for range 2 { // after reopening too
		view, err := w.View(ctx, first.Number)
		must(err)
		copied := filepath.Join(top, "copy")
		must(w.Clone(ctx, first.Number, copied))
		for _, at := range []string{view, copied} {
			if content, err := os.ReadFile(filepath.Join(at, "file")); string(content) != "one" || !subvolume.Is(at) {
				t.Fatalf("%s has %q, %v", at, content, err)
			}
		}
		must(subvolume.Delete(copied))
		if views := w.Views(); len(views) != 1 || views[first.Number] != view {
			t.Errorf("%v", views)
		}
		list, err := w.List()
		must(err)
		if len(list) != 2 || workspace.ProviderOf(list[0]) != workspace.Btrfs || workspace.ProviderOf(list[1]) != workspace.Btrfs {
			t.Errorf("%+v", list)
		}
		end()
		w, _, all = opened(t, top, dir, workspace.Settings{})
	}
	defer func() { end() }()
	native := filepath.Join(top, "home", workspace.ID(dir), "views", "native")
	entries, err := os.ReadDir(native)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	policy := workspace.Settings{Count: 1}.Policy()
	pruned, err := w.Prune(ctx, policy, retention.Never)
	must(err)
	if entries, err = os.ReadDir(native); err != nil || len(entries) != 1 || len(pruned.Deleted) != 1 {
		t.Errorf("%v, %+v, %v", entries, pruned, err)
	}
}

// TestTheChoiceOfAProviderHasItsReason, by the settings or by what the workspace is.
func TestTheChoiceOfAProviderHasItsReason(t *testing.T) {
	top := onBtrfs(t)
	for _, c := range []struct {
		dir      string
		provider map[string]string
		used     string
		why      string // of Btrfs
	}{
		{"subvolume", nil, "btrfs", "the project is a Btrfs subvolume"},
		{"directory", nil, "tracked", "a directory and not a Btrfs subvolume"},
		{"subvolume", map[string]string{top: "tracked"}, "tracked", "config.toml chooses tracked for " + top},
		{"subvolume", map[string]string{"/": "tracked", filepath.Join(top, "subvolume"): "btrfs"}, "btrfs", "the project is a Btrfs subvolume"},
		{"directory", map[string]string{"/": "btrfs"}, "tracked", "a directory and not a Btrfs subvolume"},
	} {
		settings := workspace.Settings{Provider: c.provider}
		if err := settings.Check(); err != nil {
			t.Fatal(err)
		}
		w, end, _ := opened(t, top, filepath.Join(top, c.dir), settings)
		m, err := w.Providers(context.Background())
		end()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		used := ""
		for _, p := range m.Providers {
			names = append(names, p.Name)
			if p.Available && used == "" {
				used = p.Name
			}
			if p.Available != (p.SnapshotMs > 0) || p.Available && (p.Seek == "" || p.Branch == "") {
				t.Errorf("%+v", p)
			}
			if p.Name == "btrfs" && !strings.Contains(p.Why, c.why) {
				t.Errorf("%s is not in %q", c.why, p.Why)
			}
		}
		if got := fmt.Sprint(names); got != "[zfs btrfs nilfs2 tracked]" || used != c.used || m.Filesystem != "btrfs" {
			t.Errorf("%s: %s of %s", c.dir, used, got)
		}
	}
	for _, bad := range []map[string]string{{"relative": "btrfs"}, {"/": "zip"}} {
		if err := (workspace.Settings{Provider: bad}).Check(); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// TestARemovedProjectIsKeptByNoSnapshot of the filesystem: they would keep its files.
func TestARemovedProjectIsKeptByNoSnapshot(t *testing.T) {
	top := onBtrfs(t)
	dir := filepath.Join(top, "subvolume")
	w, end, all := opened(t, top, dir, workspace.Settings{})
	defer end()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, _, err := w.Take(t.Context(), "first", "", false)
	if err != nil || workspace.ProviderOf(first) != workspace.Btrfs {
		t.Fatal(first, err)
	}
	native := filepath.Join(top, "home", workspace.ID(dir), "views", "native")
	count := func() int {
		t.Helper()
		entries, err := os.ReadDir(native)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if all.Sweep(); count() != 1 {
		t.Error("the snapshot of a project that is there was removed")
	}
	if err := tracked.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if all.Sweep(); count() != 0 {
		t.Error("the snapshot of a removed project is still there")
	}
}

// TestBranchesBesideAWorkspaceStay when its views are removed, whatever their names are.
func TestBranchesBesideAWorkspaceStay(t *testing.T) {
	dir, top := filepath.Join(onBtrfs(t), "directory"), t.TempDir()
	w, end := open(t, top, dir)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, _, err := w.Take(t.Context(), "first", "", false)
	if err != nil {
		t.Fatal(err)
	}
	above, err := w.Place(filepath.Join(top, "branches"))
	if err != nil || !strings.HasPrefix(above, filepath.Dir(dir)) {
		t.Fatal(above, err)
	}
	branches := []string{"s1", "other", "native", "s2"}
	for _, name := range branches {
		if err := w.Clone(t.Context(), first.Number, filepath.Join(above, name)); err != nil {
			t.Fatal(err)
		}
	}
	old := filepath.Join(filepath.Dir(above), "old") // as earlier versions made it
	view, err := w.View(t.Context(), first.Number)
	if err := errors.Join(err, w.Clone(t.Context(), first.Number, old), os.Chtimes(view+".used", time.Time{}, time.Now().Add(-2*time.Hour))); err != nil {
		t.Fatal(err)
	}
	end()
	_, end = open(t, top, dir)
	defer end()
	for _, branch := range []string{"s1", "other", "native", "s2", "../old"} {
		if _, err := os.Lstat(filepath.Join(above, branch, "file")); err != nil {
			t.Errorf("the branch %s: %v", branch, err)
		}
	}
	if _, err := os.Lstat(view); err == nil {
		t.Error("an old view is still there")
	}
}
