package branches_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/mounttest"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// TestAnUnmountedBranchIsABranch: all that is done with one can be done with it, before and after a restart.
func TestAnUnmountedBranchIsABranch(t *testing.T) {
	mounttest.Need(t)
	for name, alone := range map[string]bool{"kernel": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			if !alone && overlay.Best() != overlay.Kernel {
				t.Skip("only root mounts overlays of the kernel")
			}
			testAnUnmountedBranchIsABranch(t, alone)
		})
	}
}

func testAnUnmountedBranchIsABranch(t *testing.T, alone bool) {
	s := prepare(t.TempDir())
	s.server, s.alone = mounttest.Server(), alone
	s.write()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.test"}, args...)...)
		cmd.Dir = s.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", ".")
	git("add", "-A")
	git("commit", "-qm", "one")
	s.open()
	defer func() {
		failing(s.close())
		failing(tracked.RemoveAll(s.top))
	}()
	from := s.record()
	b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: from, Name: "other", Agent: "none"})
	if err != nil || !strings.HasPrefix(b.Form, "mounted (") {
		t.Fatalf("%+v, %v", b, err)
	}
	dir := b.Workspace
	failing(os.WriteFile(filepath.Join(dir, "sub", "a"), []byte("in the branch\n"), 0o600))
	form := func(want string) {
		t.Helper()
		list, err := s.List(t.Context(), user, branches.ListParams{Where: s.where()})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Branches, func(b branches.Branch) bool { return b.Workspace == dir })
		if i < 0 || list.Branches[i].Form != want {
			t.Errorf("the list has %+v, want %q", list.Branches, want)
		}
	}
	form(b.Form)
	one := branches.OneParams{Where: s.where(), Name: "other"}
	program := exec.CommandContext(t.Context(), "sh", "-c", "echo ready; read line; exit 0")
	program.Dir = dir
	in, err := program.StdinPipe()
	failing(err)
	out, err := program.StdoutPipe()
	failing(err)
	failing(program.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Unmount(t.Context(), user, one); usererr.CodeOf(err) != usererr.ActionRefused || !strings.Contains(err.Error(), "sh (process ") {
		t.Errorf("a program works in it: %v", err)
	}
	form(b.Form)
	failing(in.Close())
	failing(program.Wait())
	f, err := os.Open(filepath.Join(dir, "sub", "a"))
	failing(err)
	if _, err := s.Unmount(t.Context(), user, one); usererr.CodeOf(err) != usererr.ActionRefused || !strings.Contains(err.Error(), "a program uses it") {
		t.Errorf("a program has a file of it open: %v", err)
	}
	failing(f.Close())
	was := treetest.Read(t, dir)
	for _, want := range []string{b.Form, ""} { // the second time it has plain files already
		u, err := s.Unmount(t.Context(), user, one)
		if err != nil || u.Was != want || u.Form != "plain files" || u.Workspace != dir || u.SessionID != b.ID {
			t.Fatalf("%+v, %v", u, err)
		}
		if got := treetest.Read(t, dir); !slices.Equal(got, was) {
			t.Errorf("the branch is\n%s\nand was\n%s", strings.Join(got, "\n"), strings.Join(was, "\n"))
		}
	}
	form("plain files")
	for range 2 {
		c, err := s.Compare(t.Context(), user, branches.CompareParams{Where: s.where(), A: "other"})
		if err != nil || len(c.A.Files) != 1 || c.A.FilesProblem != "" {
			t.Errorf("%+v, %v", c, err)
		}
		failing(s.close())
		s.open()
	}
	form("plain files")
	failing(os.WriteFile(filepath.Join(dir, "later"), []byte("later\n"), 0o600))
	inner, err := s.Start(t.Context(), user, branches.Params{Where: moments.Where{Session: b.ID}, From: "m1", Name: "inner", Agent: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(inner.Workspace, "sub", "a")); got != "a\n" {
		t.Errorf("a branch of its first moment has %q", got)
	}
	c, err := s.Commit(t.Context(), user, branches.CommitParams{Where: s.where(), Name: "other"})
	if err != nil || c.Files != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	if is, err := gitrepo.IsAt(t.Context(), s.dir, c.Branch, c.Commit); err != nil || !is {
		t.Error(is, err)
	}
	a, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other", Confirm: true})
	if err != nil || !a.Done || len(a.Steps) != 2 || read(t, filepath.Join(s.dir, "sub", "a")) != "in the branch\n" {
		t.Errorf("%+v, %v", a, err)
	}
	was = treetest.Read(t, dir)
	r, err := s.Remove(t.Context(), user, one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it was not removed")
	}
	if _, err := s.Timeline.Operations.Undo(t.Context(), user, operations.UndoParams{Where: s.where(), Operation: r.Operation, Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if got := treetest.Read(t, dir); !slices.Equal(got, was) {
		t.Errorf("the branch came back as\n%s\nand was\n%s", strings.Join(got, "\n"), strings.Join(was, "\n"))
	}
}

// TestABranchWhoseProcessWasKilledIsListedSo, with what mounts it again.
func TestABranchWhoseProcessWasKilledIsListedSo(t *testing.T) {
	s, b := mountedBranch(t)
	check := func(form, problem string) {
		t.Helper()
		list, err := s.List(t.Context(), user, branches.ListParams{Where: s.where()})
		failing(err)
		if len(list.Branches) != 1 || list.Branches[0].Form != form || !strings.Contains(list.Branches[0].Problem, problem) || problem == "" && list.Branches[0].Problem != "" {
			t.Errorf("%+v", list.Branches)
		}
	}
	check(b.Form, "")
	// The workspace of the branch is opened, which mounts it. Else that may be done in the background after the kill.
	_, err := s.Timeline.Record(t.Context(), b.Workspace, records.Moment{Label: "kept", Kind: records.Manual, Source: records.FromUser})
	failing(err)
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	failing(err)
	for _, path := range processes {
		line, _ := os.ReadFile(path)                                    // it may have ended
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))       // the pattern has digits alone
		if strings.HasSuffix(string(line), "\x00"+b.Workspace+"\x00") { // that of the mount
			failing(syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	for range 1000 {
		if overlay.Dead(b.Workspace) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	check("not "+b.Form, "`tidemark branch open other` mounts it again")
	_, err = s.Open(t.Context(), user, branches.OneParams{Where: s.where(), Name: "other", Env: []string{"SHELL=/bin/sh"}})
	failing(err)
	check(b.Form, "")
	if got := read(t, filepath.Join(b.Workspace, "sub", "a")); got != "a\n" {
		t.Errorf("%q", got)
	}
}

// TestTheViewsOfARemovedBranchAreUnmounted, which a plan of `branch apply` made.
func TestTheViewsOfARemovedBranchAreUnmounted(t *testing.T) {
	s, b := mountedBranch(t)
	failing(os.WriteFile(filepath.Join(b.Workspace, "sub", "a"), []byte("in the branch\n"), 0o600))
	_, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other"})
	failing(err)
	views := func() (at []string) {
		list, err := mounts.Below(s.top)
		failing(err)
		for _, m := range list {
			if filepath.Base(filepath.Dir(m.At)) == "views" {
				at = append(at, m.At)
			}
		}
		return at
	}
	if len(views()) == 0 {
		t.Fatal("the plan has made no view")
	}
	_, err = s.Remove(t.Context(), user, branches.OneParams{Where: s.where(), Name: "other", NoUndo: true})
	failing(err)
	if left := views(); len(left) > 0 {
		t.Errorf("%q are mounted", left)
	}
}

// mountedBranch makes a mounted branch of a shop.
func mountedBranch(t *testing.T) (*shop, *answers.Branched) {
	t.Helper()
	mounttest.Need(t)
	s := prepare(t.TempDir())
	s.server = mounttest.Server()
	s.write()
	s.open()
	t.Cleanup(func() {
		failing(s.close())
		failing(tracked.RemoveAll(s.top))
	})
	b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: s.record(), Name: "other", Agent: "none"})
	failing(err)
	return s, b
}
