package workspace_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/disksize"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// onNILFS2 makes a directory on NILFS2.
func onNILFS2(t *testing.T) (dir string) {
	t.Helper()
	top, err := grants.Resolve(disktest.NILFS2(t, disktest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(top, "project")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "file"), []byte("one"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTheChoiceOnNILFS2HasItsReason, by the settings or by what the workspace is.
func TestTheChoiceOnNILFS2HasItsReason(t *testing.T) {
	dir := onNILFS2(t)
	for _, c := range []struct {
		provider map[string]string
		used     string
		why      string // of NILFS2
	}{
		{nil, "nilfs2", "the project is on NILFS2"},
		{map[string]string{"/": "tracked"}, "tracked", "config.toml chooses tracked for /"},
		{map[string]string{"/": "tracked", dir: "nilfs2"}, "nilfs2", "the project is on NILFS2"},
	} {
		settings := workspace.Settings{Provider: c.provider}
		if err := settings.Check(); err != nil {
			t.Fatal(err)
		}
		w, end, _ := opened(t, t.TempDir(), dir, settings)
		_, _, err := w.Take(t.Context(), "first", "", false)
		if err != nil {
			t.Fatal(err)
		}
		m, err := w.Providers(context.Background())
		end()
		if err != nil {
			t.Fatal(err)
		}
		used := ""
		for _, p := range m.Providers {
			if p.Available && used == "" {
				used = p.Name
			}
			costs(t, p)
			if p.Name == "nilfs2" && !strings.Contains(p.Why, c.why) {
				t.Errorf("%s is not in %q", c.why, p.Why)
			}
			if p.Name == "nilfs2" && p.Available && (!strings.Contains(p.Seek, "a mount of the NILFS2 snapshot") || p.Branch != "as with tracked") {
				t.Errorf("%+v", p)
			}
		}
		if used != c.used || m.Filesystem != "nilfs2" {
			t.Errorf("%s on %s", used, m.Filesystem)
		}
	}
	if left := disktest.Snapshots(t, filepath.Dir(dir)); len(left) > 0 {
		t.Errorf("%v are left of what was closed for good", left)
	}
}

// TestABranchOnNILFS2IsMounted, as the filesystem makes none, and its views are not.
func TestABranchOnNILFS2IsMounted(t *testing.T) {
	top := filepath.Join(disktest.NILFS2(t, disktest.Options{}), "top")
	onBothForms(t, func(t *testing.T, alone bool) {
		m := newMountWorldOf(t, top, alone)
		defer m.end()
		m.write(filepath.Join(m.dir, "file"), "original")
		number := m.take()
		dir := m.branch(number)
		m.write(filepath.Join(dir, "file"), "changed")
		m.has(filepath.Join(m.dir, "file"), "original")
		if view, err := m.w.View(t.Context(), number); err != nil || workspace.Mounted(view) != "" {
			t.Error(view, err)
		}
		matrix, err := m.w.Providers(t.Context())
		m.must(err)
		for _, p := range matrix.Providers {
			if p.Name == "tracked" && !strings.HasPrefix(p.Branch, "writable: "+overlay.FormOf(dir).Long()) || p.Name == "nilfs2" && p.Branch != "as with tracked" {
				t.Errorf("%+v", p)
			}
		}
		m.must(tracked.RemoveAll(dir))
	})
}

// stopped ends all workspaces as the daemon does when it stops.
func stopped(t *testing.T, all *workspace.Workspaces) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := all.Run(ctx, deaf{}); err != nil {
		t.Fatal(err)
	}
}

// TestOldViewsOnNILFS2AreUnmounted, and a removed project is kept by no snapshot. What a program works in stays.
func TestOldViewsOnNILFS2AreUnmounted(t *testing.T) {
	dir, home := onNILFS2(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	w, _, all := opened(t, home, dir, workspace.Settings{})
	s, _, err := w.Take(t.Context(), "first", "", false)
	if err != nil || workspace.ProviderOf(s) != workspace.NILFS2 || workspace.Instant(w, s.Number) {
		t.Fatal(s, err)
	}
	view, err := w.View(t.Context(), s.Number)
	if err != nil || !nilfscp.Is(view) {
		t.Fatal(view, err)
	}
	at, _ := mounts.Within(view)
	if again, err := w.View(t.Context(), s.Number); err != nil || again != view {
		t.Fatal(again, err)
	}
	if now, err := mounts.Within(view); err != nil || len(now) != 2 || now[0] != at[0] {
		t.Errorf("%v, %v, before %v", now, err, at)
	}
	used, err := os.Open(filepath.Join(view, "file"))
	if err := errors.Join(err, os.Chtimes(view+".used", time.Time{}, time.Now().Add(-2*time.Hour))); err != nil {
		t.Fatal(err)
	}
	if all.Sweep(); !nilfscp.Is(view) {
		t.Error("a view that a program reads is not there any more")
	}
	if err := used.Close(); err != nil {
		t.Fatal(err)
	}
	if got := disksize.Of(home); got > 1<<20 {
		t.Errorf("what is mounted counts: %d bytes", got)
	}
	stopped(t, all)
	w, end, all := opened(t, home, dir, workspace.Settings{})
	defer end()
	if list, err := mounts.Within(home); err != nil || len(list) > 0 || len(w.Views()) > 0 {
		t.Errorf("%v is mounted, %v", list, err)
	}
	if got := disktest.Snapshots(t, filepath.Dir(dir)); len(got) != 1 {
		t.Errorf("%v are promoted", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	all.Sweep()
	if got := disktest.Snapshots(t, filepath.Dir(dir)); len(got) > 0 {
		t.Errorf("%v is left of a removed project", got)
	}
}

// TestAnotherProviderUnpromotesOnNILFS2 what is not used any more.
func TestAnotherProviderUnpromotesOnNILFS2(t *testing.T) {
	dir, home := onNILFS2(t), t.TempDir()
	w, _, all := opened(t, home, dir, workspace.Settings{})
	if _, _, err := w.Take(t.Context(), "first", "", false); err != nil {
		t.Fatal(err)
	}
	stopped(t, all)
	if got := disktest.Snapshots(t, filepath.Dir(dir)); len(got) != 1 {
		t.Fatalf("%v are promoted", got)
	}
	_, end, _ := opened(t, home, dir, workspace.Settings{Provider: map[string]string{"/": "tracked"}})
	end()
	if got := disktest.Snapshots(t, filepath.Dir(dir)); len(got) > 0 {
		t.Errorf("%v is left", got)
	}
}

// TestAUserOnNILFS2NeedsOneRight: without it one command is named and nothing is promoted, with it everything works without root. It
// is in effect for the calls alone that need it.
func TestAUserOnNILFS2NeedsOneRight(t *testing.T) {
	if dir := disktest.User(); dir != "" {
		asUserOnNILFS2(t, dir)
		return
	}
	for _, allowed := range []string{"", "yes"} {
		dir := filepath.Dir(onNILFS2(t))
		if err := errors.Join(os.Chown(filepath.Join(dir, "project"), 65534, 65534), os.Chown(filepath.Join(dir, "project", "file"), 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		home := t.TempDir() // NILFS2 has no extended attributes, which such a right is
		disktest.AsUserWith(t, home, func(program string) error {
			if allowed == "" {
				return nil
			}
			permitted := make([]byte, 20) // struct vfs_cap_data, as `setcap cap_sys_admin+p` writes it
			binary.LittleEndian.PutUint32(permitted, 0x02000000)
			binary.LittleEndian.PutUint32(permitted[4:], 1<<unix.CAP_SYS_ADMIN)
			return unix.Setxattr(program, "security.capability", permitted, 0)
		}, "TIDEMARK_TEST_ALLOWED="+allowed, "TIDEMARK_TEST_PROJECT="+filepath.Join(dir, "project"))
		if left := disktest.Snapshots(t, dir); len(left) > 0 {
			t.Errorf("%v are promoted", left)
		}
	}
}

func asUserOnNILFS2(t *testing.T, home string) {
	dir, allowed := os.Getenv("TIDEMARK_TEST_PROJECT"), os.Getenv("TIDEMARK_TEST_ALLOWED") != ""
	w, end := open(t, home, dir)
	defer end()
	s, _, err := w.Take(t.Context(), "test", "", false)
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.EvalSymlinks(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	want, missing := workspace.NILFS2, ""
	if !allowed {
		want = workspace.Provider
		missing = "NILFS2 snapshots are not used: only a program with CAP_SYS_ADMIN may keep NILFS2 snapshots and mount them. Run `sudo setcap cap_sys_admin+p " + program + "` to allow it."
	}
	if got := w.Degraded(); got != missing || workspace.ProviderOf(s) != want {
		t.Errorf("%s takes the snapshot: %q", workspace.ProviderOf(s), got)
	}
	view, err := w.View(t.Context(), s.Number)
	if err != nil || nilfscp.Is(view) != allowed {
		t.Errorf("%s, %v", view, err)
	}
	if content, err := os.ReadFile(filepath.Join(view, "file")); string(content) != "one" {
		t.Errorf("%q, %v", content, err)
	}
	if err := unix.Mount("tmpfs", home, "tmpfs", 0, ""); !errors.Is(err, unix.EPERM) {
		t.Errorf("the right is in effect for other calls: %v", err)
	}
	if err := tracked.RemoveAll(view); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(view); err == nil {
		t.Errorf("%s is still there", view)
	}
}
