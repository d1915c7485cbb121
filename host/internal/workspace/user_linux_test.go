package workspace_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/btrfs"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// TestAUserNeedsOneRight: without it one command is named and nothing is left, with it everything works without root.
func TestAUserNeedsOneRight(t *testing.T) {
	if dir := disktest.User(); dir != "" {
		asUser(t, dir)
		return
	}
	for _, option := range []string{"", "user_subvol_rm_allowed"} {
		dir := filepath.Join(t.TempDir(), "my 'disk")
		if err := errors.Join(os.Mkdir(dir, 0o755), unix.Mount(disktest.Btrfs(t, disktest.Options{Mount: option}), dir, "", unix.MS_BIND, "")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		disktest.AsUser(t, dir, "TIDEMARK_TEST_MOUNT="+option)
	}
}

func asUser(t *testing.T, dir string) {
	top := filepath.Join(dir, "top")
	workspaceDir := filepath.Join(top, "workspace")
	if err := errors.Join(os.Mkdir(top, 0o700), subvolume.Create(workspaceDir)); err != nil {
		t.Fatal(err)
	}
	w, end := open(t, top, workspaceDir)
	defer end()
	native := filepath.Join(top, "home", workspace.ID(workspaceDir), "views", "native")
	empty := func() {
		t.Helper()
		if left, err := os.ReadDir(native); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
	ctx := context.Background()
	if err := errors.Join(os.WriteFile(filepath.Join(workspaceDir, "file"), []byte("one"), 0o600), os.Mkdir(filepath.Join(workspaceDir, ".git"), 0o500)); err != nil {
		t.Fatal(err)
	}
	s, _, err := w.Take(ctx, "test", "", false)
	if err != nil {
		t.Fatal(err)
	}
	allowed := os.Getenv("TIDEMARK_TEST_MOUNT") != ""
	want := workspace.Btrfs
	if !allowed {
		want = workspace.Provider
		command := "Btrfs snapshots are not used: only root may remove Btrfs snapshots here. Run `sudo mount -o remount,user_subvol_rm_allowed '" + strings.ReplaceAll(dir, "'", `'\''`) + "'` to allow it."
		if got := w.Degraded(); got != command {
			t.Errorf("%q", got)
		}
		empty()
	}
	if got := workspace.ProviderOf(s); got != want {
		t.Errorf("%s takes the snapshot: %s", got, w.Degraded())
	}
	view, err := w.View(ctx, s.Number)
	if err != nil || subvolume.ReadOnly(view) != allowed {
		t.Errorf("%s, %v", view, err)
	}
	clone := filepath.Join(top, "clone")
	if err := w.Clone(ctx, s.Number, clone); err != nil || subvolume.Is(clone) != allowed {
		t.Error(err)
	}
	for _, at := range []string{view, clone} {
		if content, err := os.ReadFile(filepath.Join(at, "file")); string(content) != "one" {
			t.Errorf("%q, %v", content, err)
		}
		if err := tracked.RemoveAll(at); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(at); err == nil {
			t.Errorf("%s is still there", at)
		}
	}
	if err := os.WriteFile(filepath.Join(workspaceDir, "file"), []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Take(ctx, "test", "", false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Prune(ctx, workspace.Settings{Count: 1}.Policy(), retention.Never); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(native); err != nil || allowed && len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
	lost := filepath.Join(native, "s9-9") // from before the right was lost
	if err := errors.Join(subvolume.Snapshot(workspaceDir, lost, true), btrfs.Discard(native)); err != nil {
		t.Error(err)
	}
	empty()
}

// TestAUserMayNotWriteBesideTheProject: one command makes the directory, and then nothing else is needed.
func TestAUserMayNotWriteBesideTheProject(t *testing.T) {
	if dir := disktest.User(); dir != "" {
		besideAsUser(t, dir)
		return
	}
	dir := disktest.Btrfs(t, disktest.Options{})
	home, shared := filepath.Join(dir, "home"), filepath.Join(dir, "shared")
	small, project := disktest.Small(t, "16m"), filepath.Join(shared, "project")
	if err := errors.Join(os.Mkdir(home, 0o755), os.Mkdir(shared, 0o755), subvolume.Create(project), os.Chown(project, 65534, 65534), unix.Mount(small, home, "", unix.MS_BIND, ""), os.Chown(home, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(home, 0); err != nil {
			t.Error(err)
		}
	}()
	disktest.AsUser(t, dir)
	command := strings.ReplaceAll(besideCommand(t, dir), "sudo ", "")
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil { //nolint:gosec // a test's directory
		t.Fatalf("%v: %s", err, out)
	}
	disktest.AsUser(t, dir, "TIDEMARK_TEST_BESIDE=1")
}

func besideOf(t *testing.T, dir string) string {
	t.Helper()
	store := filepath.Join(dir, "home", "home", workspace.ID(filepath.Join(dir, "shared", "project")))
	return filepath.Join(dir, "shared", besideName(t, "project", store))
}

// besideCommand makes the directory, and lets users remove snapshots.
func besideCommand(t *testing.T, dir string) string {
	t.Helper()
	return "sudo install -d -m 700 -o 65534 -g 65534 " + besideOf(t, dir) + " && sudo mount -o remount,user_subvol_rm_allowed " + dir
}

func besideAsUser(t *testing.T, dir string) {
	project := filepath.Join(dir, "shared", "project")
	w, end := open(t, filepath.Join(dir, "home"), project)
	defer end()
	if err := os.WriteFile(filepath.Join(project, "file"), []byte(t.TempDir()), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := w.Take(t.Context(), "test", "", false)
	if err != nil {
		t.Fatal(err)
	}
	got, used := w.Degraded(), workspace.ProviderOf(s)
	if os.Getenv("TIDEMARK_TEST_BESIDE") != "" {
		if got != "" || used != workspace.Btrfs {
			t.Errorf("%s, %q", used, got)
		}
		return
	}
	if command := "you may not create a directory in " + filepath.Join(dir, "shared") + ". Run `" + besideCommand(t, dir) + "` to allow it."; !strings.HasPrefix(got, "Btrfs snapshots are not used: ") || !strings.HasSuffix(got, command) {
		t.Errorf("%s, %q", used, got)
	}
}
