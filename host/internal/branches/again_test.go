package branches_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// A program repeats a request after the daemon ended without an answer. What was done before that is not done again, and the answer is
// the same.
func TestARepeatedRequestIsAnsweredAsBefore(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := prepare(t.TempDir())
	s.write()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "Test"}, {"config", "user.email", "test@example.com"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		if _, err := gitrepo.Run(t.Context(), s.dir, nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	s.open()
	defer func() { failing(s.close()) }()
	restart := func() {
		failing(s.close())
		s.open()
	}
	begin := func() string {
		t.Helper()
		b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: "now", Name: "way"})
		if err != nil {
			t.Fatal(err)
		}
		failing(os.WriteFile(filepath.Join(b.Workspace, "own"), []byte("own"), 0o600))
		return b.Workspace
	}
	s.record()
	dir := begin()

	commit := func(call, message string) (*branches.Committed, error) {
		return s.Commit(tool.WithCall(t.Context(), call), user, branches.CommitParams{Where: s.where(), Name: "way", Message: message})
	}
	first, err := commit("one", "made")
	if err != nil {
		t.Fatal(err)
	}
	restart()
	for _, call := range []string{"one", "two", ""} {
		if again, err := commit(call, "made"); err != nil || *again != *first {
			t.Errorf("the commit that is repeated as %q is %+v, %v; it was %+v", call, again, err, first)
		}
	}
	if again, err := commit("two", "another message"); usererr.CodeOf(err) != usererr.AlreadyExists {
		t.Errorf("with another message: %+v, %v", again, err)
	}
	failing(os.WriteFile(filepath.Join(dir, "own"), []byte("later"), 0o600))
	if again, err := commit("one", "made"); err != nil || *again != *first {
		t.Errorf("after another change, the commit that is repeated is %+v, %v; it was %+v", again, err, first)
	}
	if again, err := commit("two", "made"); usererr.CodeOf(err) != usererr.AlreadyExists {
		t.Errorf("with another change: %+v, %v", again, err)
	}

	remove := func(call string) (*branches.Removed, error) {
		return s.Remove(tool.WithCall(t.Context(), call), user, branches.OneParams{Where: s.where(), Name: "way"})
	}
	removed, err := remove("three")
	if err != nil {
		t.Fatal(err)
	}
	restart()
	if again, err := remove("three"); err != nil || *again != *removed {
		t.Errorf("the removal that is repeated is %+v, %v; it was %+v", again, err, removed)
	}
	if again, err := remove("four"); err != nil || again.Operation != removed.Operation || !strings.Contains(again.Note, "was removed before") {
		t.Errorf("the removal that the user repeats is %+v, %v", again, err)
	}
	if again, err := s.Remove(t.Context(), user, branches.OneParams{Where: s.where(), Name: "other"}); usererr.CodeOf(err) != usererr.NotFound {
		t.Errorf("the removal of a branch that never was: %+v, %v", again, err)
	}
	dir = begin() // one of the same name is not removed by a request that was for the first
	if again, err := remove("three"); err != nil || again.SessionID != removed.SessionID || again.Operation != "" {
		t.Errorf("with a later branch of that name, the removal is %+v, %v", again, err)
	}
	if got := read(t, filepath.Join(dir, "own")); got != "own" {
		t.Errorf("the later branch has %q", got)
	}
	if _, err := s.Timeline.Operations.Undo(t.Context(), user, operations.UndoParams{Where: s.where(), Operation: first.Operation, Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Commit(tool.WithCall(t.Context(), "one"), user, branches.CommitParams{Where: s.where(), Name: "way", Message: "made"}); err != nil || again.Commit == first.Commit && again.Operation == first.Operation {
		t.Errorf("after the undo, a commit is %+v, %v", again, err)
	}
}
