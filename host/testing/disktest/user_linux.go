package disktest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const (
	// nobody is a user without rights.
	nobody = 65534
	// userEnv names the directory in which a process of that user works.
	userEnv = "TIDEMARK_TEST_USER"
)

// User returns the directory of [AsUser] in the process that it runs, "" in others.
func User() string { return os.Getenv(userEnv) }

// AsUser runs the calling test again as a user without rights, in a directory that is given to them. It needs root.
func AsUser(t *testing.T, dir string, env ...string) {
	t.Helper()
	run(t, asUser(t, dir, nil, env))
}

// AsUserWithFUSE is AsUser where users may open /dev/fuse, as on most systems. What is mounted is seen by that process alone.
func AsUserWithFUSE(t *testing.T, dir string, env ...string) {
	t.Helper()
	for _, program := range []string{"fusermount3", "unshare", "setpriv"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing; on Debian it is in the package %s", program, map[bool]string{true: "fuse3", false: "util-linux"}[program == "fusermount3"])
		}
	}
	cmd := asUser(t, dir, nil, env)
	const script = `mount -t tmpfs none /mnt && mknod -m 666 /mnt/fuse c 10 229 && mount --bind /mnt/fuse /dev/fuse &&
		exec setpriv --reuid=$0 --regid=$0 --clear-groups "$@"`
	inside := []string{"unshare", "-m", "sh", "-c", script, strconv.Itoa(nobody)}
	if out, err := exec.CommandContext(t.Context(), inside[0], append(inside[1:], "true")...).CombinedOutput(); err != nil { //nolint:gosec // constants
		t.Skipf("root may not give users a /dev/fuse here: %v\n%s", err, out)
	}
	args := append(inside, cmd.Args...)
	cmd.Args, cmd.SysProcAttr.Credential = args, nil
	path, err := exec.LookPath("unshare")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path = path
	run(t, cmd)
}

// AsUserWith is AsUser with a program that allow gives rights to.
func AsUserWith(t *testing.T, dir string, allow func(program string) error, env ...string) {
	t.Helper()
	run(t, asUser(t, dir, allow, env))
}

func asUser(t *testing.T, dir string, allow func(program string) error, env []string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a test as another user")
	}
	// The directory of this program may be closed to others, and so are those above a mount.
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "test")
	if err := errors.Join(os.WriteFile(self, program, 0o755), os.Chown(dir, nobody, nobody)); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if allow != nil {
		if err := allow(self); err != nil {
			t.Fatal(err)
		}
	}
	enter(t, dir)
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.run", "^"+t.Name()+"$") //nolint:gosec // this test
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), userEnv+"="+dir, "TMPDIR="+dir), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "--- SKIP: "+t.Name()) {
		t.Skipf("as another user: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("as another user: %v\n%s", err, out)
	}
}

// enter lets other users into the directories above one.
func enter(t *testing.T, dir string) {
	t.Helper()
	for dir = filepath.Dir(dir); dir != filepath.Dir(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // a directory of this test
				t.Fatal(err)
			}
		}
	}
}
