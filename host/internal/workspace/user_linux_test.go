package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace"
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
		dir := disktest.Btrfs(t, disktest.Options{Mount: option})
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
		command := "Btrfs snapshots are not used: only root may remove Btrfs snapshots here. Run `sudo mount -o remount,user_subvol_rm_allowed " + dir + "` to allow it."
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
}
