package branches_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// committing makes branches, commits them to Git, and undoes the commit and the branch, again and again.
func committing(v killtest.Process, top string) {
	s := prepare(top)
	s.open()
	ctx := context.Background()
	undo := func(operation string) {
		_, err := s.Timeline.Operations.Undo(ctx, user, operations.UndoParams{Where: s.where(), Operation: operation, Confirm: true})
		v.Must(err)
	}
	for {
		name := "b" + strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // another name each time
		v.Say("make")
		b, err := s.Start(ctx, user, branches.Params{Where: s.where(), From: "now", Name: name})
		v.Must(err, os.WriteFile(filepath.Join(b.Workspace, "own"), []byte(name), 0o600))
		v.Say("commit")
		c, err := s.Commit(ctx, user, branches.CommitParams{Where: s.where(), Name: name})
		v.Must(err)
		v.Say("committed", name)
		if rand.IntN(2) == 0 { //nolint:gosec // some stay
			v.Say("undo-commit", name)
			undo(c.Operation)
			v.Say("undid", name)
		}
		v.Say("undo-branch", name)
		undo(b.Operation)
		v.Say("end")
	}
}

// Whenever the daemon is killed while a branch is committed to Git, or while the commit or the branch is undone, Git has the commit or
// does not have it, and the log of operations says which. The repository is otherwise as before.
func TestAKilledCommitIsThereOrNot(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	killtest.Victim(committing)
	t.Setenv("TMPDIR", t.TempDir()) // of Git and the daemon
	s := prepare(t.TempDir())
	s.write()
	git := func(args ...string) string {
		t.Helper()
		out, err := gitrepo.Run(t.Context(), s.dir, nil, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "Test")
	git("config", "user.email", "test@example.com")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	s.open()
	s.record()
	failing(s.close())
	repository := func() string {
		return fmt.Sprint(treetest.Read(t, s.dir), git("status", "--porcelain=v2", "--branch"), git("ls-files", "--stage"))
	}
	before := repository()
	committed := map[string]bool{}
	hunt := killtest.Hunt{
		Dir: s.top, Steps: []string{"commit", "undo-commit", "undo-branch"}, Short: 3, Usual: 5,
		Said: func(step, name string) {
			switch step {
			case "committed":
				committed[name] = true
			case "undo-commit":
				delete(committed, name)
			}
		},
		Survived: func(step string) {
			failing(testbed.Eventually(t.Context(), func() (bool, error) { // what the daemon started may end after it
				running, _ := subprocess.Within(s.dir)
				return len(running) == 0, nil
			}))
			s.open()
			defer func() { failing(s.close()) }()
			if left := append(glob(os.TempDir(), "tidemark-*"), glob(s.top, "branches", "*", ".sample-*")...); len(left) > 0 {
				t.Errorf("after a kill in %s, %q are left", step, left)
			}
			ops, err := s.Timeline.Operations.Log(t.Context(), user, operations.LogParams{Where: s.where()})
			if err != nil {
				t.Fatal(err)
			}
			there := map[string]bool{}
			for name := range strings.FieldsSeq(git("for-each-ref", "--format=%(refname:short)", "refs/heads")) {
				there[name] = name != "main"
			}
			for _, o := range ops.Operations {
				name := strings.Fields(o.What)[2]
				switch {
				case o.State == records.Begun:
					t.Errorf("after a kill in %s, %s (%s) never ended", step, o.ID, o.What)
				case o.Kind != records.OpCommit:
				case (o.State == records.Done) != there[name]:
					t.Errorf("after a kill in %s, %s (%s) is %s; in Git: %t", step, o.ID, o.What, o.State, there[name])
				case o.State == records.Failed && committed[name]:
					t.Errorf("after a kill in %s, %s (%s) failed, and was done before", step, o.ID, o.What)
				default:
					delete(there, name)
				}
			}
			for name, is := range there {
				if is {
					t.Errorf("after a kill in %s, no operation made the branch %s of Git", step, name)
				}
			}
			if after := repository(); after != before {
				t.Errorf("after a kill in %s, the repository has %s\nbefore %s", step, after, before)
			}
			list, err := s.List(t.Context(), user, branches.ListParams{Where: s.where()})
			if err != nil || len(list.Branches) > len(glob(s.top, "branches", "*", "b*")) {
				t.Errorf("after a kill in %s, there are %d branches in %q, %v", step, len(list.Branches), glob(s.top, "branches", "*", "b*"), err)
			}
			for _, b := range list.Branches {
				if got := read(t, filepath.Join(b.Workspace, "sub", "a")); b.Problem != "" || got != "a\n" {
					t.Errorf("after a kill in %s, the branch %s has %q, %s", step, b.Name, got, b.Problem)
				}
				if _, err := s.Remove(t.Context(), user, branches.OneParams{Where: s.where(), Name: b.Name, Force: true}); err != nil {
					t.Error(err)
				}
			}
			if left := glob(s.top, "branches", "*", "b*"); len(left) != 0 {
				t.Errorf("after a kill in %s, %q is left", step, left)
			}
			clear(committed)
		},
	}
	hunt.Run(t)
}
