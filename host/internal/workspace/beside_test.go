package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace"
)

// TestViewsBesideAWorkspaceAreRemoved, and branches there are not.
func TestViewsBesideAWorkspaceAreRemoved(t *testing.T) {
	top := t.TempDir()
	stores, beside := filepath.Join(top, "stores"), filepath.Join(top, ".tidemark-views-shop")
	for _, dir := range []string{filepath.Join(stores, "shop-1"), filepath.Join(top, "shop"), filepath.Join(beside, "s1", "sub"), filepath.Join(beside, "s2.making"), filepath.Join(beside, "s3")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range map[string]string{
		filepath.Join(stores, "shop-1", "directory"): filepath.Join(top, "shop") + "\n", filepath.Join(beside, "s1.used"): "", filepath.Join(beside, "s2.used"): "",
		filepath.Join(beside, "s1", "sub", ".env"): "SECRET=1", filepath.Join(beside, "s3", "work"): "of the user",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(beside, "s1", "sub"), 0o500); err != nil {
		t.Fatal(err)
	}
	if dirs := workspace.Beside(stores); !slices.Equal(dirs, []string{beside}) {
		t.Fatal(dirs)
	}
	if branches, err := workspace.RemoveViews(beside); err != nil || !branches {
		t.Fatal(branches, err)
	}
	if left, err := os.ReadDir(beside); err != nil || len(left) != 1 || left[0].Name() != "s3" {
		t.Fatal(left, err)
	}
	if err := os.RemoveAll(filepath.Join(beside, "s3")); err != nil {
		t.Fatal(err)
	}
	if branches, err := workspace.RemoveViews(beside); err != nil || branches {
		t.Fatal(branches, err)
	}
	if _, err := os.Lstat(beside); !os.IsNotExist(err) {
		t.Error(err)
	}
}
