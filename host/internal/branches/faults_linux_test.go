package branches_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// A full disk, a snapshot that is not there and a name that is taken: an error, and nothing of a branch or of a conversation.
func TestABranchThatCannotBeMadeLeavesNothing(t *testing.T) {
	s := prepare(disktest.Small(t, "32m"))
	s.write()
	failing(os.WriteFile(filepath.Join(s.dir, "big.bin"), []byte(strings.Repeat("0123456789abcdef", 400_000)), 0o600))
	s.open()
	defer func() { failing(s.close()) }()
	from := s.record()
	files, said := fmt.Sprint(treetest.Read(t, s.dir)), read(t, s.transcript)
	start := func(name, from string) error {
		_, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: from, Name: name, Message: "do it"})
		return err
	}
	left := func() int {
		return len(glob(s.top, "branches", "*", "[a-z]*")) - len(glob(s.top, "branches", "*", "*.log")) + len(glob(s.top, "claude", "projects", "*"))
	}
	var made int
	var err error
	for ; made < 8 && err == nil; made++ {
		before := left()
		if err = start(fmt.Sprintf("b%d", made), from); err != nil && left() != before {
			t.Errorf("a full disk leaves %q and %q", glob(s.top, "branches", "*", "*"), glob(s.top, "claude", "projects", "*"))
		}
	}
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("after %d branches of 6 MB on a disk of 32: %v", made, err)
	}
	before := left()
	for _, bad := range []struct{ name, from, why string }{{"other", "s999", "there is no snapshot s999"}, {"b0", from, "already has a branch"}, {"../x", from, "lower-case"}} {
		if err := start(bad.name, bad.from); err == nil || !strings.Contains(err.Error(), bad.why) {
			t.Errorf("%s from %s: %v", bad.name, bad.from, err)
		}
	}
	if left() != before {
		t.Errorf("what failed leaves %q", glob(s.top, "branches", "*", "*"))
	}
	if fmt.Sprint(treetest.Read(t, s.dir)) != files || read(t, s.transcript) != said {
		t.Error("the original has changed")
	}
}

// An apply for which the disk is too small changes nothing, and leaves nothing beside the files.
func TestAnApplyOnAFullDiskChangesNothing(t *testing.T) {
	s := prepare(t.TempDir())
	s.dir = filepath.Join(disktest.Small(t, "8m"), "shop")
	s.write()
	s.open()
	defer func() { failing(s.close()) }()
	b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: s.record(), Name: "big"})
	failing(err)
	failing(os.WriteFile(filepath.Join(b.Workspace, "sub", "a"), []byte("changed\n"), 0o600))
	failing(os.Remove(filepath.Join(b.Workspace, "new\nline")))
	failing(os.WriteFile(filepath.Join(b.Workspace, "z.bin"), []byte(strings.Repeat("0123456789abcdef", 1<<20)), 0o600))
	before := fmt.Sprint(treetest.Read(t, s.dir))
	_, err = s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "big", Confirm: true})
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "z.bin") {
		t.Errorf("16 MB on a disk of 8: %v", err)
	}
	if after := fmt.Sprint(treetest.Read(t, s.dir)); after != before {
		t.Errorf("the original has %s\nbefore %s", after, before)
	}
	ops, err := s.Timeline.Operations.Log(t.Context(), user, operations.LogParams{Where: s.where()})
	if err != nil || ops.Operations[0].Kind != records.OpApply || ops.Operations[0].State != records.Failed {
		t.Errorf("the operations are %+v, %v", ops, err)
	}
}
