package ownpath_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// enter is the first argument of this program when it is to become another one.
const enter = "enter-of-a-test"

func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == enter {
		fmt.Fprintln(os.Stderr, ownpath.Enter([]ownpath.Bind{{Dir: os.Args[2], At: os.Args[3]}}, os.Args[3], os.Args[4:], os.Environ()))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A program sees the branch as root, and without it. Nobody else does, and it keeps no privileges.
func TestAProgramSeesADirectoryAtAnotherPath(t *testing.T) {
	if os.Geteuid() == 0 && disktest.User() == "" {
		disktest.AsUser(t, t.TempDir())
	}
	see(t)
}

func see(t *testing.T) {
	top := t.TempDir()
	branch, project := filepath.Join(top, "a branch"), filepath.Join(top, "project")
	if err := errors.Join(os.Mkdir(branch, 0o700), os.Mkdir(project, 0o700), os.WriteFile(filepath.Join(branch, "file"), []byte("of the branch"), 0o600),
		os.WriteFile(filepath.Join(project, "file"), []byte("original"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], enter, branch, project, "sh", "-c", "pwd; cat file; echo; id -u; grep CapEff /proc/self/status; printf new >made; cat '"+filepath.Join(project, "made")+"'; exit 7") //nolint:gosec // this test
	cmd.Dir = branch
	if err := ownpath.Prepare(cmd); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		if strings.Contains(fmt.Sprint(err), "operation not permitted") {
			t.Skip("the system allows users no namespaces")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(string(out), "\n")
	if len(lines) != 5 || lines[0] != project || lines[1] != "of the branch" || lines[2] != fmt.Sprint(os.Getuid()) || lines[4] != "new" {
		t.Errorf("%q", lines)
	}
	if os.Geteuid() != 0 && lines[3] != "CapEff:\t0000000000000000" {
		t.Errorf("it has privileges: %q", lines[3])
	}
	if content, err := os.ReadFile(filepath.Join(branch, "made")); err != nil || string(content) != "new" {
		t.Errorf("%q, %v", content, err)
	}
	if names, err := os.ReadDir(project); err != nil || len(names) != 1 {
		t.Error(names, err)
	}
	if list, err := mounts.Within(top); err != nil || len(list) > 0 {
		t.Error(list, err)
	}
}
