package timeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAKilledDaemonOnBtrfs loses nothing either, and leaves no half of a branch.
func TestAKilledDaemonOnBtrfs(t *testing.T) {
	timelinetest.OnBtrfs(t)
	t.Run("AKilledDaemonLosesNothingThatItAcknowledged", TestAKilledDaemonLosesNothingThatItAcknowledged)
}

// TestOnBtrfs runs tests again with a workspace that is a subvolume.
func TestOnBtrfs(t *testing.T) {
	timelinetest.OnBtrfs(t)
	for name, test := range map[string]func(*testing.T){
		"AMovedWorkspaceKeepsItsMoments":       TestAMovedWorkspaceKeepsItsMoments,
		"AMovedWorkspaceTakesItsBranchesAlong": TestAMovedWorkspaceTakesItsBranchesAlong,
		"PrunedSnapshotsAreNotDamaged":         TestPrunedSnapshotsAreNotDamaged,
		"EachMomentIsWhatTheWorkspaceWas":      TestEachMomentIsWhatTheWorkspaceWas,
		"ListsHaveTheMountOfAView":             TestListsHaveTheMountOfAView,
		"AFeedHasEveryMomentSnapshotAndBranch": TestAFeedHasEveryMomentSnapshotAndBranch,
		"AProviderSaysWhatHelps":               aProviderSaysWhatHelps,
		"ASnapshotIsOnTheTimeline": func(t *testing.T) {
			aSnapshotIsOnTheTimeline(t, workspace.Btrfs, subvolume.Is, subvolume.Create, "has the subvolume nested in it")
		},
	} {
		t.Run(name, test)
	}
}

// aProviderSaysWhatHelps: its event is whole, however long a name in it is, and is not repeated by the next daemon.
func aProviderSaysWhatHelps(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("file", "one")
	nested := filepath.Join(w.Dir, strings.Repeat("n", 220))
	if err := subvolume.Create(nested); err != nil {
		t.Fatal(err)
	}
	events := func() (n int) {
		for _, m := range w.Listed().Moments {
			if m.Source == records.FromProvider && strings.HasSuffix(m.Label, "which is not part of its Btrfs snapshots") {
				n++
			}
		}
		return n
	}
	w.Edit("first")
	w.Restart()
	w.Write("file", "two")
	w.Edit("second")
	if n := events(); n != 1 {
		t.Errorf("there are %d events: %+v", n, w.Listed().Moments)
	}
	if err := subvolume.Delete(nested); err != nil {
		t.Fatal(err)
	}
	w.Write("file", "three")
	w.Edit("third")
	if err := subvolume.Create(nested); err != nil {
		t.Fatal(err)
	}
	w.Write("file", "four")
	if w.Edit("fourth"); events() != 2 {
		t.Errorf("it is not said again: %+v", w.Listed().Moments)
	}
}

// TestTheCommandThatGivesARightIsOnTheTimeline of a user who needs it, once. Snapshots are taken meanwhile.
func TestTheCommandThatGivesARightIsOnTheTimeline(t *testing.T) {
	dir := disktest.User()
	if dir == "" {
		disktest.AsUser(t, disktest.Btrfs(t, disktest.Options{}))
		return
	}
	w := timelinetest.New(t)
	for _, content := range []string{"one", "two"} {
		w.Write("file", content)
		w.Pass(time.Second)
		m := w.Edit(content)
		if s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID()}); err != nil || s.Provider != workspace.Provider || w.Read(filepath.Join(s.Mount, "file")) != content {
			t.Errorf("%+v, %v", s, err)
		}
	}
	var events []string
	for _, m := range w.Listed().Moments {
		if m.Source == records.FromProvider {
			events = append(events, m.Label)
		}
	}
	if want := "Run `sudo mount -o remount,user_subvol_rm_allowed " + dir + "` to allow it."; len(events) != 1 || !strings.HasSuffix(strings.TrimSuffix(events[0], "."), strings.TrimSuffix(want, ".")) {
		t.Errorf("%q has not the end %q", events, want)
	}
}

// TestAKilledDaemonOnZFS loses nothing either, and leaves no half of a branch.
func TestAKilledDaemonOnZFS(t *testing.T) {
	timelinetest.OnZFS(t)
	t.Run("AKilledDaemonLosesNothingThatItAcknowledged", TestAKilledDaemonLosesNothingThatItAcknowledged)
}

// TestOnZFS runs tests again with a workspace that is a dataset. EachMomentIsWhatTheWorkspaceWas is not among them: zfs-fuse stops
// answering some time after a few dozen branches.
func TestOnZFS(t *testing.T) {
	timelinetest.OnZFS(t)
	for name, test := range map[string]func(*testing.T){
		"ListsHaveTheMountOfAView":             TestListsHaveTheMountOfAView,
		"AFeedHasEveryMomentSnapshotAndBranch": TestAFeedHasEveryMomentSnapshotAndBranch,
		"ASnapshotIsOnTheTimeline": func(t *testing.T) {
			aSnapshotIsOnTheTimeline(t, workspace.ZFS, dataset.Is, func(dir string) error {
				of, _ := dataset.Of(filepath.Dir(dir))
				disktest.Zfs(t, "create", of.Name+"/"+filepath.Base(dir))
				return nil
			}, "has the ZFS dataset ")
		},
	} {
		t.Run(name, test)
	}
}

// TestAKilledDaemonOnNILFS2 loses nothing either, and leaves no half of a branch.
func TestAKilledDaemonOnNILFS2(t *testing.T) {
	timelinetest.OnNILFS2(t)
	t.Run("AKilledDaemonLosesNothingThatItAcknowledged", TestAKilledDaemonLosesNothingThatItAcknowledged)
}

// TestOnNILFS2 runs tests again with a workspace of which checkpoints are promoted. Its branches are copies.
func TestOnNILFS2(t *testing.T) {
	timelinetest.OnNILFS2(t)
	for name, test := range map[string]func(*testing.T){
		"AMovedWorkspaceKeepsItsMoments":       TestAMovedWorkspaceKeepsItsMoments,
		"AMovedWorkspaceTakesItsBranchesAlong": TestAMovedWorkspaceTakesItsBranchesAlong,
		"PrunedSnapshotsAreNotDamaged":         TestPrunedSnapshotsAreNotDamaged,
		"EachMomentIsWhatTheWorkspaceWas":      TestEachMomentIsWhatTheWorkspaceWas,
		"ListsHaveTheMountOfAView":             TestListsHaveTheMountOfAView,
		"AFeedHasEveryMomentSnapshotAndBranch": TestAFeedHasEveryMomentSnapshotAndBranch,
		"ASnapshotIsOnTheTimeline": func(t *testing.T) {
			branch := func(dir string) bool { return filepath.Base(dir) == "other" && nilfscp.On(dir) && !nilfscp.Is(dir) }
			aSnapshotIsOnTheTimeline(t, workspace.NILFS2, func(dir string) bool { return branch(dir) || nilfscp.Is(dir) }, func(dir string) error {
				t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
				return errors.Join(os.Mkdir(dir, 0o755), unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
			}, "something is mounted on ")
		},
	} {
		t.Run(name, test)
	}
}

// aSnapshotIsOnTheTimeline: its moment, its view and its branch are of the filesystem. What keeps one from being taken, such as a
// part of the workspace that nest makes, is an event.
func aSnapshotIsOnTheTimeline(t *testing.T, provider string, is func(dir string) bool, nest func(dir string) error, event string) {
	w := timelinetest.New(t)
	w.Write("file", "one")
	m := w.Edit("first")
	w.Write("file", "two")
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID()})
	if err != nil || s.Provider != provider || w.Read(filepath.Join(s.Mount, "file")) != "one" || !is(s.Mount) {
		t.Fatalf("%+v, %v", s, err)
	}
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: m.ID(), Name: "other"})
	if err != nil || !is(b.Workspace) || w.Read(filepath.Join(b.Workspace, "file")) != "one" {
		t.Fatalf("%+v, %v", b, err)
	}
	if a := w.Listed(); a.FsSnapshots[0].Provider != provider {
		t.Errorf("%+v", a.FsSnapshots)
	}
	if _, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.Workspace); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the branch was not removed: %v", err)
	}
	if err := nest(filepath.Join(w.Dir, "nested")); err != nil {
		t.Fatal(err)
	}
	w.Edit("second")
	moments := w.Listed().Moments
	if !slices.ContainsFunc(moments, func(m answers.ListMoment) bool {
		return m.Source == records.FromProvider && strings.Contains(m.Label, event)
	}) {
		t.Errorf("%+v", moments)
	}
}
