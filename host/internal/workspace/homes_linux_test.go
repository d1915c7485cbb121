package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// house is a home with one workspace, which other homes have too.
type house struct {
	*testing.T
	top, dir string
	w        *workspace.Workspace
	all      *workspace.Workspaces
	// was is what each of its snapshots has in the file, views and branches are directories with that.
	was             map[uint64]string
	views, branches map[uint64]string
	stopped         bool
}

func newHouse(t *testing.T, top, dir string) *house {
	h := &house{T: t, top: top, dir: dir, was: map[uint64]string{}, views: map[uint64]string{}, branches: map[uint64]string{}}
	h.start()
	return h
}

func (h *house) must(errs ...error) {
	h.Helper()
	if err := errors.Join(errs...); err != nil {
		h.Fatal(err)
	}
}

func (h *house) start() {
	h.Helper()
	h.w, _, h.all = opened(h.T, h.top, h.dir, workspace.Settings{})
	h.stopped = false
}

// stop ends the daemon of a home, and does not remove what it keeps.
func (h *house) stop() {
	if !h.stopped {
		ctx, end := context.WithCancel(context.Background())
		end()
		_ = h.all.Run(ctx, deaf{})
		h.stopped = true
	}
}

// moment takes a snapshot, with a view and a branch.
func (h *house) moment(provider, content string) {
	h.Helper()
	s, _, err := h.w.Take(h.Context(), "moment", "", true)
	if h.must(err); workspace.ProviderOf(s) != provider {
		h.Fatalf("%s takes the snapshot: %s", workspace.ProviderOf(s), h.w.Degraded())
	}
	h.was[s.Number] = content
	h.views[s.Number], err = h.w.View(h.Context(), s.Number)
	h.must(err)
	above, err := h.w.Place(filepath.Join(h.top, "branches"))
	h.must(err)
	h.branches[s.Number] = filepath.Join(above, fmt.Sprintf("branch-%d", s.Number))
	h.must(workspace.CloneAs(h.Context(), h.w, s.Number, h.branches[s.Number], h.branches[s.Number]+".making"))
}

// whole fails unless everything of the home is as it was, by the provider.
func (h *house) whole(provider string) {
	h.Helper()
	list, err := h.w.List()
	h.must(err)
	if len(list) != len(h.was) {
		h.Errorf("there are %d snapshots instead of %d", len(list), len(h.was))
	}
	for _, s := range list {
		if got := workspace.ProviderOf(s); got != provider {
			h.Errorf("s%d is of %s", s.Number, got)
		}
		copied := filepath.Join(h.T.TempDir(), "copy")
		h.must(h.w.Clone(h.Context(), s.Number, copied))
		for _, dir := range []string{copied, h.views[s.Number], h.branches[s.Number]} {
			if content, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(content) != h.was[s.Number] {
				h.Errorf("s%d has %q in %s, %v", s.Number, content, dir, err)
			}
		}
		h.must(tracked.RemoveAll(copied))
	}
}

// removed removes everything of the home but its branches, as an uninstallation does.
func (h *house) removed() {
	h.Helper()
	h.stop()
	stores := filepath.Join(h.top, "home")
	beside := workspace.Beside(stores)
	h.must(workspace.DiscardNative(stores))
	for _, dir := range beside {
		_, err := workspace.RemoveViews(dir)
		h.must(err)
	}
	h.must(tracked.RemoveAll(stores))
}

// severalHomes has the daemons of two homes work on one project in turn, and then removes one of the homes.
func severalHomes(t *testing.T, provider, dir string, tops [2]string) {
	var houses [2]*house
	for i, top := range tops {
		houses[i] = newHouse(t, top, dir)
		defer houses[i].stop()
	}
	for i := range 3 {
		content := fmt.Sprint("state ", i)
		houses[0].must(os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o600))
		for k, h := range houses {
			h.moment(provider, content)
			if i == 1 && k == 0 { // a home without the first one: its numbers are the same, and its snapshots others
				_, err := h.w.Prune(t.Context(), workspace.Settings{Count: 1}.Policy(), retention.Never)
				h.must(err)
				delete(h.was, 1)
			}
		}
		for _, h := range houses { // each removes what it does not know, and what is old
			h.stop()
			h.start()
			h.all.Sweep()
			for _, other := range houses {
				if !other.stopped {
					other.whole(provider)
				}
			}
		}
	}
	houses[0].removed()
	houses[1].whole(provider)
	houses[1].stop()
	houses[1].start()
	houses[1].whole(provider)
	for _, branch := range houses[0].branches {
		if content, err := os.ReadFile(filepath.Join(branch, "file")); err != nil || !strings.HasPrefix(string(content), "state ") {
			t.Errorf("the branch %s of the removed home: %q, %v", branch, content, err)
		}
	}
}

// TestTwoHomesOnBtrfs keep apart, in the homes and beside the project.
func TestTwoHomesOnBtrfs(t *testing.T) {
	for _, beside := range []bool{false, true} {
		t.Run(map[bool]string{false: "in the homes", true: "beside the project"}[beside], func(t *testing.T) {
			top := onBtrfs(t)
			tops := [2]string{filepath.Join(top, "one"), filepath.Join(top, "two")}
			if beside {
				tops = [2]string{t.TempDir(), t.TempDir()}
			} else if err := errors.Join(os.Mkdir(tops[0], 0o700), os.Mkdir(tops[1], 0o700)); err != nil {
				t.Fatal(err)
			}
			severalHomes(t, workspace.Btrfs, filepath.Join(top, "subvolume"), tops)
		})
	}
}

// TestTwoHomesOnZFS keep apart. A copy of a home, and a clone that another home is making, are not taken for their own.
func TestTwoHomesOnZFS(t *testing.T) {
	top, pool := onZFS(t)
	dir, tops := filepath.Join(top, "dataset"), [2]string{t.TempDir(), t.TempDir()}
	severalHomes(t, workspace.ZFS, dir, tops)
	name := pool.Name + "/dataset"
	before, err := dataset.Snapshots(t.Context(), name, dataset.SnapshotPrefix)
	if err != nil || len(before) == 0 {
		t.Fatal(before, err)
	}
	making := filepath.Join(tops[1], "branch.making")
	if err := dataset.Clone(t.Context(), name, before[0], making, false); err != nil {
		t.Fatal(err)
	}
	disktest.Zfs(t, "unmount", making)
	clones := func() int {
		return strings.Count(disktest.Zfs(t, "list", "-H", "-o", "mountpoint", "-r", name), making+"\n")
	}
	copied := t.TempDir()
	// What is mounted in the home is not part of its copy.
	if out, err := exec.CommandContext(t.Context(), "cp", "-ax", filepath.Join(tops[1], "home"), copied).CombinedOutput(); err != nil { //nolint:gosec // a test's directory
		t.Fatalf("%v %s", err, out)
	}
	other := newHouse(t, copied, dir)
	if clones() != 1 {
		t.Error("a clone that another home is making was destroyed")
	}
	other.removed()
	after, err := dataset.Snapshots(t.Context(), name, dataset.SnapshotPrefix)
	if err != nil || !slices.Equal(before, after) {
		t.Errorf("%v were kept, and are %v now: %v", before, after, err)
	}
	own := newHouse(t, tops[1], dir)
	if clones() != 0 {
		t.Error("an own clone that was being made is left")
	}
	own.removed()
	for _, dir := range []string{tops[0], tops[1], copied} {
		if err := dataset.Release(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestWhatAKilledDaemonMountedIsUnmountedOnZFS by the next start, though nobody opens the workspace. So are old views of it. What others
// mounted stays.
func TestWhatAKilledDaemonMountedIsUnmountedOnZFS(t *testing.T) {
	top, pool := onZFS(t)
	dir, home := filepath.Join(top, "dataset"), t.TempDir()
	h := newHouse(t, home, dir)
	h.must(os.WriteFile(filepath.Join(dir, "file"), []byte("one"), 0o600))
	h.moment(workspace.ZFS, "one")
	h.stop()
	store := filepath.Join(home, "home", workspace.ID(dir))
	name := pool.Name + "/dataset"
	snapshots, err := dataset.Snapshots(t.Context(), name, dataset.SnapshotPrefix)
	if h.must(err); len(snapshots) == 0 {
		t.Fatal("no snapshot is kept")
	}
	native := filepath.Join(store, "views", "native")
	reading, foreign := filepath.Join(native, "reading"), filepath.Join(native, "foreign")
	h.must(dataset.Clone(t.Context(), name, snapshots[0], reading, true))
	h.must(os.Mkdir(foreign, 0o700), unix.Mount("tmpfs", foreign, "tmpfs", 0, "size=1m"))
	defer func() { h.must(unix.Unmount(foreign, 0), dataset.Release(home)) }()
	all := workspace.New(workspace.Options{Dir: filepath.Join(home, "home"), Clock: time.Now, Log: slog.New(slog.DiscardHandler)})
	at := func() (at []string) {
		list, err := mounts.Within(store)
		h.must(err)
		for _, m := range list {
			at = append(at, m.At)
		}
		slices.Sort(at)
		return at
	}
	view := h.views[1]
	if workspace.SweepClosed(all); !slices.Equal(at(), []string{foreign, view}) {
		t.Errorf("%v is mounted", at())
	}
	h.must(os.Chtimes(view+".used", time.Time{}, time.Now().Add(-2*time.Hour)))
	if workspace.SweepClosed(all); !slices.Equal(at(), []string{foreign}) {
		t.Errorf("%v is mounted", at())
	}
}

// TestOldViewsOfAClosedWorkspaceAreRemoved, and what is open is left to itself.
func TestOldViewsOfAClosedWorkspaceAreRemoved(t *testing.T) {
	top := onBtrfs(t)
	h := newHouse(t, top, filepath.Join(top, "subvolume"))
	defer h.stop()
	h.must(os.WriteFile(filepath.Join(h.dir, "file"), []byte("one"), 0o600))
	h.moment(workspace.Btrfs, "one")
	view := h.views[1]
	there := func() bool {
		_, err := os.Lstat(view)
		return err == nil
	}
	h.must(os.Chtimes(view+".used", time.Time{}, time.Now().Add(-2*time.Hour)))
	if workspace.SweepClosed(h.all); !there() {
		t.Error("a view of an open workspace was removed")
	}
	h.stop()
	all := workspace.New(workspace.Options{Dir: filepath.Join(top, "home"), Clock: time.Now, Log: slog.New(slog.DiscardHandler)})
	if workspace.SweepClosed(all); there() {
		t.Error("an old view is left")
	}
	if _, err := os.Lstat(h.branches[1]); err != nil {
		t.Error(err)
	}
}

// TestASnapshotThatAKilledDaemonTookIsRemoved by the next start, though nobody opens the workspace.
func TestASnapshotThatAKilledDaemonTookIsRemoved(t *testing.T) {
	top := onBtrfs(t)
	h := newHouse(t, top, filepath.Join(top, "subvolume"))
	h.must(os.WriteFile(filepath.Join(h.dir, "file"), []byte("one"), 0o600))
	h.moment(workspace.Btrfs, "one")
	h.stop()
	native := filepath.Join(top, "home", workspace.ID(h.dir), "views", "native")
	h.must(subvolume.Snapshot(h.dir, filepath.Join(native, "taking"), true))
	all := workspace.New(workspace.Options{Dir: filepath.Join(top, "home"), Clock: time.Now, Log: slog.New(slog.DiscardHandler)})
	workspace.SweepClosed(all)
	if left, err := os.ReadDir(native); err != nil || len(left) != 1 || !strings.HasPrefix(left[0].Name(), "s1-") {
		t.Errorf("%v, %v", left, err)
	}
	h.start()
	h.whole(workspace.Btrfs)
	h.stop()
}
