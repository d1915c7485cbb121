package operations_test

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestOnBtrfs runs tests again with a workspace that is a subvolume.
func TestOnBtrfs(t *testing.T) {
	timelinetest.OnBtrfs(t)
	for name, test := range map[string]func(*testing.T){
		"ARestoreLeavesExcludedFilesAlone": TestARestoreLeavesExcludedFilesAlone,
		"ABranchIsAWorkspaceOfItsOwn":      TestABranchIsAWorkspaceOfItsOwn,
		"ABranchCanBeDecidedAbout":         TestABranchCanBeDecidedAbout,
	} {
		t.Run(name, test)
	}
}
