package operations_test

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestOnBtrfs runs tests again with a workspace that is a subvolume.
func TestOnBtrfs(t *testing.T) {
	timelinetest.OnBtrfs(t)
	again(t)
}

// TestOnZFS runs them with one that is a dataset.
func TestOnZFS(t *testing.T) {
	timelinetest.OnZFS(t)
	again(t)
}

// TestOnNILFS2 runs them with one of which checkpoints are promoted.
func TestOnNILFS2(t *testing.T) {
	timelinetest.OnNILFS2(t)
	again(t)
}

func again(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"ARestoreLeavesExcludedFilesAlone": TestARestoreLeavesExcludedFilesAlone,
		"ABranchIsAWorkspaceOfItsOwn":      TestABranchIsAWorkspaceOfItsOwn,
		"ABranchCanBeDecidedAbout":         TestABranchCanBeDecidedAbout,
		"ARefusedRemovalIsNotDoneLater":    TestARefusedRemovalIsNotDoneLater,
	} {
		t.Run(name, test)
	}
}
