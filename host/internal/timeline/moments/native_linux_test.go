package moments_test

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestOnBtrfs runs tests again with a workspace that is a subvolume.
func TestOnBtrfs(t *testing.T) {
	timelinetest.OnBtrfs(t)
	for name, test := range map[string]func(*testing.T){
		"AMomentHasTheFilesOfItsTime":       TestAMomentHasTheFilesOfItsTime,
		"NoMomentMissesAChange":             TestNoMomentMissesAChange,
		"ExcludedFilesAreInNoSnapshot":      TestExcludedFilesAreInNoSnapshot,
		"ALostSnapshotIsNotTakenForAnother": TestALostSnapshotIsNotTakenForAnother,
	} {
		t.Run(name, test)
	}
}
