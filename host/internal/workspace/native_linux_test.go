package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
		{"directory", map[string]string{"/": "btrfs"}, "tracked", "config.toml chooses it for /, which is not possible: the project is a directory and not a Btrfs subvolume"},
	} {
		settings := workspace.Settings{Provider: c.provider}
		if err := settings.Check(); err != nil {
			t.Fatal(err)
		}
		w, end, _ := opened(t, top, filepath.Join(top, c.dir), settings)
		_, _, err := w.Take(t.Context(), "first", "", false)
		if err != nil {
			t.Fatal(err)
		}
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
			costs(t, p)
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

// costs fails if the cost of what is available is not known, or another one is.
func costs(t *testing.T, p workspace.Choice) {
	t.Helper()
	c := p.Cost
	if p.Available != (c != nil) || p.Available != (p.Seek != "") || p.Available != (p.Branch != "") {
		t.Errorf("%+v", p)
	} else if c != nil && (c.SnapshotMs <= c.FilesystemMs || (c.FilesystemMs > 0) != (p.Name != workspace.Provider) || c.Compared == 0) {
		t.Errorf("%+v of %s", c, p.Name)
	}
}

// TestTheCostIsThatOfMoments: the list has what a snapshot takes with its record, and what the last moments with changes took.
func TestTheCostIsThatOfMoments(t *testing.T) {
	top := onBtrfs(t)
	dir := filepath.Join(top, "subvolume")
	w, end, _ := opened(t, top, dir, workspace.Settings{})
	defer end()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(fmt.Sprint(i)), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second one finds no change
			if _, _, err := w.Take(t.Context(), "moment", "", false); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 { // measuring counts as no moment
		m, err := w.Providers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Providers {
			costs(t, p)
			want := map[string]int{workspace.Btrfs: 3}[p.Name]
			if c := p.Cost; c != nil && (c.Recent != want || (c.RecentMs > 0) != (want > 0) || c.Compared != 1 || c.Files != 1) {
				t.Errorf("%+v of %s", c, p.Name)
			}
			if p.Name == workspace.Btrfs && (!strings.Contains(p.Seek, "a Btrfs snapshot, made in ") || !strings.Contains(p.Branch, "a Btrfs snapshot, made in ")) {
				t.Errorf("%q, %q", p.Seek, p.Branch)
			}
		}
	}
	if views := w.Views(); len(views) > 0 {
		t.Errorf("%v is left", views)
	}
}

// TestProvidersBeforeTheFirstMoment: they are listed, and nothing is recorded by that.
func TestProvidersBeforeTheFirstMoment(t *testing.T) {
	top := onBtrfs(t)
	for name, used := range map[string]string{"subvolume": workspace.Btrfs, "directory": workspace.Provider} {
		w, end, _ := opened(t, top, filepath.Join(top, name), workspace.Settings{})
		m, err := w.Providers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first := m.Providers[slices.IndexFunc(m.Providers, func(p workspace.Choice) bool { return p.Available })]
		if c := first.Cost; first.Name != used || first.Seek == "" || first.Branch == "" || c == nil || c.SnapshotMs != 0 || (c.FilesystemMs > 0) != (used == workspace.Btrfs) {
			t.Errorf("%+v, %+v", first, c)
		}
		if list, err := w.List(); err != nil || len(list) > 0 {
			t.Errorf("%v was recorded, %v", list, err)
		}
		end()
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

// TestNothingIsLeftBesideARemovedProject, but its branches are.
func TestNothingIsLeftBesideARemovedProject(t *testing.T) {
	top := onBtrfs(t)
	for name, branched := range map[string]bool{"subvolume": false, "directory": true} {
		dir := filepath.Join(top, name)
		w, _, all := opened(t, t.TempDir(), dir, workspace.Settings{})
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("one"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := w.Take(t.Context(), "first", "", false)
		if err != nil {
			t.Fatal(err)
		}
		view, err := w.View(t.Context(), s.Number)
		if err != nil {
			t.Fatal(err)
		}
		beside := filepath.Dir(view)
		if branched {
			if err := os.MkdirAll(filepath.Join(beside, "branches", "mine"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		all.CloseDir(dir)
		if err := tracked.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		all.Sweep()
		left, err := os.ReadDir(beside)
		if branched && (err != nil || len(left) != 1) || !branched && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v is left in %s, %v", left, beside, err)
		}
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

// TestARefusedFilesystemIsAskedAgain: at the next moment where its mount changed, and always for the list of providers.
func TestARefusedFilesystemIsAskedAgain(t *testing.T) {
	mount := onBtrfs(t)
	dir, top := filepath.Join(mount, "subvolume"), t.TempDir()
	remount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("", mount, "", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	defer remount(0)
	_, _, all := opened(t, top, dir, workspace.Settings{})
	used := func() string {
		t.Helper()
		w, err := all.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := w.Take(t.Context(), "moment", "", true)
		if err != nil {
			t.Fatal(err)
		}
		return workspace.ProviderOf(s)
	}
	if got := used(); got != workspace.Provider {
		t.Errorf("%s takes the snapshot on a read-only filesystem", got)
	}
	remount(0)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := used(); got != workspace.Btrfs {
		t.Errorf("%s takes the snapshot once the filesystem can", got)
	}
	all.CloseDir(dir)
	beside, err := filepath.Glob(filepath.Join(mount, ".tidemark-views-subvolume-*"))
	if err != nil || len(beside) != 1 {
		t.Fatal(beside, err)
	}
	blocked := filepath.Join(beside[0], "native") // what no mount shows
	if err := errors.Join(os.RemoveAll(blocked), os.WriteFile(blocked, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := used(); got != workspace.Provider {
		t.Errorf("%s takes the snapshot without a directory", got)
	}
	if err := errors.Join(os.Remove(blocked), os.WriteFile(filepath.Join(dir, "file"), []byte("two"), 0o600)); err != nil {
		t.Fatal(err)
	}
	workspace.Renew(all, dir)
	if got := used(); got != workspace.Btrfs {
		t.Errorf("%s takes the snapshot after the user asked for the providers", got)
	}
}

// TestARefusedRemovalOfViewsIsDoneTheNextTime: a view stays known as one while something is mounted in it.
func TestARefusedRemovalOfViewsIsDoneTheNextTime(t *testing.T) {
	beside := filepath.Join(t.TempDir(), ".tidemark-views-shop")
	within := filepath.Join(beside, "s1", "dir")
	if err := errors.Join(os.MkdirAll(within, 0o700), os.WriteFile(filepath.Join(beside, "s1.used"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", within, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	_, err := workspace.RemoveViews(beside)
	if unmounted := unix.Unmount(within, 0); err == nil || unmounted != nil {
		t.Fatal(err, unmounted)
	}
	if branches, err := workspace.RemoveViews(beside); err != nil || branches {
		t.Error(branches, err)
	}
}

// TestAMovedProjectLeavesNoViews beside its old place, and branches there stay.
func TestAMovedProjectLeavesNoViews(t *testing.T) {
	mount := onBtrfs(t)
	dir, top, to := filepath.Join(mount, "subvolume"), t.TempDir(), filepath.Join(mount, "moved")
	w, end, all := opened(t, top, dir, workspace.Settings{})
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := w.Take(t.Context(), "moment", "", false)
	if err != nil {
		t.Fatal(err)
	}
	view, err := w.View(t.Context(), s.Number)
	branches := filepath.Join(filepath.Dir(view), "branches")
	if err := errors.Join(err, os.MkdirAll(filepath.Join(branches, "mine"), 0o700), os.Rename(dir, to)); err != nil {
		t.Fatal(err)
	}
	end()
	if err := all.Move(dir, to); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Dir(view))
	if err != nil || len(left) != 1 || left[0].Name() != "branches" {
		t.Error(left, err)
	}
}

// TestTheStatusHasWhatTakesTheSnapshots, and the list of the providers too.
func TestTheStatusHasWhatTakesTheSnapshots(t *testing.T) {
	mount := onBtrfs(t)
	dir := filepath.Join(mount, "subvolume")
	w, end, all := opened(t, t.TempDir(), dir, workspace.Settings{})
	defer end()
	nested := filepath.Join(dir, "nested")
	for _, c := range []struct {
		change func(string) error
		used   string
	}{{func(string) error { return nil }, workspace.Btrfs}, {subvolume.Create, workspace.Provider}, {subvolume.Delete, workspace.Btrfs}} {
		if err := c.change(nested); err != nil {
			t.Fatal(err)
		}
		m, err := w.Providers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		listed := m.Providers[slices.IndexFunc(m.Providers, func(p workspace.Choice) bool { return p.Available })].Name
		if status := all.Status()[0].Provider; listed != c.used || status != c.used {
			t.Errorf("%s in the list, %s in the status, instead of %s", listed, status, c.used)
		}
	}
}

// TestAMountedSubvolumeNamesTheSettingThatHelps, which does: nothing beside the project is on its filesystem.
func TestAMountedSubvolumeNamesTheSettingThatHelps(t *testing.T) {
	mount, dir := onBtrfs(t), filepath.Join(t.TempDir(), "shop")
	if err := errors.Join(os.Mkdir(dir, 0o755), unix.Mount(filepath.Join(mount, "subvolume"), dir, "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	for top, used := range map[string]string{t.TempDir(): workspace.Provider, mount: workspace.Btrfs} {
		w, end := open(t, top, dir)
		s, _, err := w.Take(t.Context(), "moment", "", false)
		if err != nil {
			t.Fatal(err)
		}
		got := w.Degraded()
		if named := strings.HasSuffix(got, "set TIDEMARK_HOME to a directory on the project's filesystem."); workspace.ProviderOf(s) != used || named != (used == workspace.Provider) {
			t.Errorf("%s, %q", workspace.ProviderOf(s), got)
		}
		end()
	}
}
