package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/killtest"
	"tidemark.dev/tidemark/host/testing/mounttest"
)

// TestAUserMountsBranches: without root, by fusermount3. A process that is killed is no loss, and nothing stays mounted.
func TestAUserMountsBranches(t *testing.T) {
	if disktest.User() == "" {
		dir, err := os.MkdirTemp("", "tidemark-user")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		disktest.AsUserWithFUSE(t, dir)
		return
	}
	mounttest.Need(t)
	t.Run("a mount", func(t *testing.T) {
		m := newMountWorldOf(t, mkdirTop(t), true)
		defer m.end()
		m.write(filepath.Join(m.dir, "file"), "original")
		number := m.take()
		dir := m.branch(number)
		m.has(filepath.Join(m.view(number), "file"), "original")
		list, err := mounts.Within(dir)
		m.must(err)
		if len(list) != 1 || list[0].Type != "fuse.tidemark" || !strings.Contains(list[0].Flags, "rw,nosuid,nodev") {
			t.Errorf("%+v", list)
		}
	})
	for name, test := range map[string]func(*testing.T, bool){
		"killed": testAKilledProcessLeavesNoDeadMount, "ended": testADaemonsEndTakesNoBranchAway, "busy": testABusyBranchIsNotRemoved,
	} {
		t.Run(name, func(t *testing.T) { test(t, true) })
	}
}

// TestAKillLosesNothingThatWasAcknowledged: files are written while the process that serves them is killed, again and again.
func TestAKillLosesNothingThatWasAcknowledged(t *testing.T) {
	mounttest.Need(t)
	aKillLosesNothing(t, mounttest.Server())
}

// TestAKillLosesNothingThatWasAcknowledgedByPaths is the same for what mounts on Windows.
func TestAKillLosesNothingThatWasAcknowledgedByPaths(t *testing.T) {
	mounttest.Need(t)
	aKillLosesNothing(t, needPaths(t))
}

func aKillLosesNothing(t *testing.T, server []string) {
	m := newMountWorldBy(t, mkdirTop(t), true, server)
	defer m.end()
	const files = 20
	for i := range files {
		m.write(filepath.Join(m.dir, fmt.Sprint("file", i)), "0")
	}
	dir := m.branch(m.take())
	acknowledged, next := [files]int{}, 1
	for kill := range killtest.Count(10, 40) {
		killed := make(chan struct{})
		written := make(chan struct{}, 1)
		go func() {
			defer close(killed)
			for range kill % 40 { // at another moment each time
				if _, ok := <-written; !ok {
					return
				}
			}
			m.kill()
		}()
		var failed error
		for ; failed == nil; next++ {
			i := next % files
			path := filepath.Join(dir, fmt.Sprint("file", i))
			switch next % 3 {
			case 0: // in place
				failed = os.WriteFile(path, fmt.Appendf(nil, "%d", next), 0o600)
			case 1: // by a name of another file
				if failed = os.WriteFile(path+".new", fmt.Appendf(nil, "%d", next), 0o600); failed == nil {
					failed = os.Rename(path+".new", path)
				}
			default:
				if failed = os.Remove(path); failed == nil || errors.Is(failed, os.ErrNotExist) {
					failed = os.WriteFile(path, fmt.Appendf(nil, "%d", next), 0o600)
				}
			}
			if failed == nil {
				acknowledged[i] = next
			}
			select {
			case written <- struct{}{}:
			default:
			}
		}
		<-killed
		if !errors.Is(failed, unix.ENOTCONN) && !errors.Is(failed, unix.ECONNABORTED) && !errors.Is(failed, unix.EIO) { // as the kernel has it
			t.Fatal(failed)
		}
		m.must(m.all.Present(t.Context(), dir))
		for i := range files {
			path := filepath.Join(dir, fmt.Sprint("file", i))
			content, err := os.ReadFile(path)
			want := fmt.Sprint(acknowledged[i])
			if i == (next-1)%files { // the operation that failed is done, in part, or not
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				m.must(os.WriteFile(path, []byte(want), 0o600))
				continue
			}
			if err != nil || string(content) != want {
				t.Fatalf("after kill %d, %s has %q, %v; want %q", kill, path, content, err, want)
			}
		}
	}
}

// TestRootMountsByFUSEAloneWhereTheKernelMountsNoOverlay: here, because what is written would be on FUSE.
func TestRootMountsByFUSEAloneWhereTheKernelMountsNoOverlay(t *testing.T) {
	mounttest.Need(t)
	outer := newMountWorldOf(t, mkdirTop(t), true)
	defer outer.end()
	outer.write(filepath.Join(outer.dir, "file"), "outer")
	m := newMountWorld(t, filepath.Join(outer.branch(outer.take()), "inner"))
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	number := m.take()
	m.alone = true // is what is expected
	dir, other := m.branch(number), m.branch(number)
	m.write(filepath.Join(dir, "file"), "changed")
	m.has(filepath.Join(dir, "file"), "changed")
	m.has(filepath.Join(other, "file"), "original")
	m.has(filepath.Join(m.dir, "file"), "original")
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".layers-*", "upper")); err != nil || len(left) > 0 {
		t.Errorf("%v is left of what the kernel refused, %v", left, err)
	}
}

// TestAccessControlListsAreNotSupported by FUSE alone: setting one is an error, and there is none to read.
func TestAccessControlListsAreNotSupported(t *testing.T) {
	mounttest.Need(t)
	m := newMountWorldOf(t, mkdirTop(t), true)
	defer m.end()
	m.write(filepath.Join(m.dir, "file"), "original")
	path := filepath.Join(m.branch(m.take()), "file")
	list := []byte("\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x04\x00\x04\x00\xff\xff\xff\xff\x20\x00\x04\x00\xff\xff\xff\xff") // rw-r--r--
	if err := unix.Setxattr(path, "system.posix_acl_access", list, 0); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Error("set:", err)
	}
	if _, err := unix.Getxattr(path, "system.posix_acl_access", make([]byte, 100)); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Error("get:", err)
	}
	setfacl, err := exec.LookPath("setfacl")
	if err != nil {
		t.Skip("setfacl is missing; on Debian it is in the package acl")
	}
	out, err := exec.CommandContext(t.Context(), setfacl, "-m", "u:1:r", path).CombinedOutput() //nolint:gosec // a test's file
	if err == nil || !strings.Contains(string(out), "Operation not supported") {
		t.Errorf("setfacl: %s, %v", out, err)
	}
}
