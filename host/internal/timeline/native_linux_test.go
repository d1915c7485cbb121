package timeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
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
		"ASnapshotIsOnTheTimeline":             aSnapshotIsOnTheTimeline,
	} {
		t.Run(name, test)
	}
}

// aSnapshotIsOnTheTimeline: its moment, its view and its branch are of Btrfs. What keeps one from being taken is an event.
func aSnapshotIsOnTheTimeline(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("file", "one")
	m := w.Edit("first")
	w.Write("file", "two")
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID()})
	if err != nil || s.Provider != workspace.Btrfs || w.Read(filepath.Join(s.Mount, "file")) != "one" || !subvolume.ReadOnly(s.Mount) {
		t.Fatalf("%+v, %v", s, err)
	}
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: m.ID(), Name: "other"})
	if err != nil || !subvolume.Is(b.Workspace) || w.Read(filepath.Join(b.Workspace, "file")) != "one" {
		t.Fatalf("%+v, %v", b, err)
	}
	if a := w.Listed(); a.FsSnapshots[0].Provider != workspace.Btrfs {
		t.Errorf("%+v", a.FsSnapshots)
	}
	if _, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.Workspace); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the branch was not removed: %v", err)
	}
	if err := subvolume.Create(filepath.Join(w.Dir, "nested")); err != nil {
		t.Fatal(err)
	}
	w.Edit("second")
	moments := w.Listed().Moments
	if !slices.ContainsFunc(moments, func(m answers.ListMoment) bool {
		return m.Source == records.FromProvider && strings.Contains(m.Label, "has the subvolume nested in it")
	}) {
		t.Errorf("%+v", moments)
	}
}
