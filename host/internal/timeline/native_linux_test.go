package timeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// onBtrfs has the worlds of the tests that a test runs be on Btrfs.
func onBtrfs(t *testing.T) {
	if !subvolume.On(os.TempDir()) { // else this is the process that is killed
		t.Setenv("TMPDIR", disktest.Btrfs(t, disktest.Options{Bytes: 4 << 30}))
	}
}

// TestAKilledDaemonOnBtrfs loses nothing either, and leaves no half of a branch.
func TestAKilledDaemonOnBtrfs(t *testing.T) {
	onBtrfs(t)
	t.Run("AKilledDaemonLosesNothingThatItAcknowledged", TestAKilledDaemonLosesNothingThatItAcknowledged)
}

// TestOnBtrfs runs tests again with a workspace that is a subvolume.
func TestOnBtrfs(t *testing.T) {
	onBtrfs(t)
	for name, test := range map[string]func(*testing.T){
		"AMomentHasTheFilesOfItsTime":          TestAMomentHasTheFilesOfItsTime,
		"NoMomentMissesAChange":                TestNoMomentMissesAChange,
		"ExcludedFilesAreInNoSnapshot":         TestExcludedFilesAreInNoSnapshot,
		"ARestoreLeavesExcludedFilesAlone":     TestARestoreLeavesExcludedFilesAlone,
		"ABranchIsAWorkspaceOfItsOwn":          TestABranchIsAWorkspaceOfItsOwn,
		"ABranchCanBeDecidedAbout":             TestABranchCanBeDecidedAbout,
		"AMovedWorkspaceKeepsItsMoments":       TestAMovedWorkspaceKeepsItsMoments,
		"AMovedWorkspaceTakesItsBranchesAlong": TestAMovedWorkspaceTakesItsBranchesAlong,
		"PrunedSnapshotsAreNotDamaged":         TestPrunedSnapshotsAreNotDamaged,
		"EachMomentIsWhatTheWorkspaceWas":      TestEachMomentIsWhatTheWorkspaceWas,
		"ListsHaveTheMountOfAView":             TestListsHaveTheMountOfAView,
		"AFeedHasEveryMomentSnapshotAndBranch": TestAFeedHasEveryMomentSnapshotAndBranch,
		"ALostSnapshotIsNotTakenForAnother":    TestALostSnapshotIsNotTakenForAnother,
		"ASnapshotIsOnTheTimeline":             aSnapshotIsOnTheTimeline,
	} {
		t.Run(name, test)
	}
}

// aSnapshotIsOnTheTimeline: its moment, its view and its branch are of Btrfs. What keeps one from being taken is an event.
func aSnapshotIsOnTheTimeline(t *testing.T) {
	w := newWorld(t)
	w.write("file", "one")
	m := w.record("first")
	w.write("file", "two")
	s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: m.ID()})
	if err != nil || s.Provider != workspace.Btrfs || w.read(filepath.Join(s.Mount, "file")) != "one" || !subvolume.ReadOnly(s.Mount) {
		t.Fatalf("%+v, %v", s, err)
	}
	b, err := w.Branch(t.Context(), user, timeline.BranchParams{Where: w.here(), From: m.ID(), Name: "other"})
	if err != nil || !subvolume.Is(b.Workspace) || w.read(filepath.Join(b.Workspace, "file")) != "one" {
		t.Fatalf("%+v, %v", b, err)
	}
	if a := w.list(); a.FsSnapshots[0].Provider != workspace.Btrfs {
		t.Errorf("%+v", a.FsSnapshots)
	}
	if _, err := w.Undo(t.Context(), user, timeline.UndoParams{Where: w.here(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.Workspace); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the branch was not removed: %v", err)
	}
	if err := subvolume.Create(filepath.Join(w.dir, "nested")); err != nil {
		t.Fatal(err)
	}
	w.record("second")
	moments := w.list().Moments
	if !slices.ContainsFunc(moments, func(m timeline.ListMoment) bool {
		return m.Source == records.FromProvider && strings.Contains(m.Label, "has the subvolume nested in it")
	}) {
		t.Errorf("%+v", moments)
	}
}
