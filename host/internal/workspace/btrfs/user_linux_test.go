package btrfs_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/btrfs"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
)

const (
	// nobody is a user without rights.
	nobody = 65534
	// userEnv names the directory in which a process of that user works.
	userEnv = "TIDEMARK_TEST_USER"
)

// TestAUserNeedsOneRight: without it one command is named and nothing is left, with it everything works without root.
func TestAUserNeedsOneRight(t *testing.T) {
	if dir := os.Getenv(userEnv); dir != "" {
		asUser(t, dir)
		return
	}
	for _, option := range []string{"", "user_subvol_rm_allowed"} {
		dir := disktest.Btrfs(t, disktest.Options{Mount: option})
		// The directory of this program may be closed to others, and so are those above the mount.
		program, err := os.ReadFile(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		self := filepath.Join(dir, "test")
		if err := errors.Join(os.WriteFile(self, program, 0o755), os.Chown(dir, nobody, nobody)); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		open(t, dir)
		cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.run", "^"+t.Name()+"$") //nolint:gosec // this test
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), userEnv+"="+dir, "TIDEMARK_TEST_MOUNT="+option, "TMPDIR="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Fatalf("as another user: %v\n%s", err, out)
		}
	}
}

// open lets other users into the directories above one.
func open(t *testing.T, dir string) {
	t.Helper()
	for dir = filepath.Dir(dir); dir != filepath.Dir(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // a directory of this test
				t.Fatal(err)
			}
		}
	}
}

func asUser(t *testing.T, dir string) {
	workspace, native := filepath.Join(dir, "workspace"), filepath.Join(dir, "native")
	if err := subvolume.Create(workspace); err != nil {
		t.Fatal(err)
	}
	s, err := btrfs.Open(workspace, native, time.Now)
	if os.Getenv("TIDEMARK_TEST_MOUNT") == "" {
		if unfit := (&btrfs.Unfit{}); !errors.As(err, &unfit) || unfit.Command != "sudo mount -o remount,user_subvol_rm_allowed "+dir {
			t.Error(err)
		}
		if left, err := os.ReadDir(native); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "store"), Clock: time.Now, Freezer: s, Deleting: func(n []uint64) { s.Forget(n...) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	ctx := context.Background()
	if err := errors.Join(s.Settle(nil), os.WriteFile(filepath.Join(workspace, "file"), []byte("one"), 0o600), os.Mkdir(filepath.Join(workspace, ".git"), 0o500)); err != nil {
		t.Fatal(err)
	}
	taken, _, err := p.Take(ctx, "test")
	if err != nil || !s.Has(taken.Number) {
		t.Fatal(err, s.Failed())
	}
	for _, readOnly := range []bool{true, false} {
		out := filepath.Join(dir, "out")
		if err := s.Checkout(ctx, p, taken.Number, out, readOnly); err != nil || !subvolume.Is(out) || subvolume.ReadOnly(out) != readOnly {
			t.Error(err)
		}
		if err := tracked.RemoveAll(out); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Error("it is still there")
		}
	}
	if _, err := p.Prune(ctx, taken.Number); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(native); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v, %v", left, err, s.Failed())
	}
}
