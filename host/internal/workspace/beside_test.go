package workspace_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace"
)

// besideName is what the directory beside a workspace is called in which the views of a store are.
func besideName(t *testing.T, name, store string) string {
	t.Helper()
	above, err := filepath.EvalSymlinks(filepath.Dir(filepath.Dir(store)))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(filepath.Join(above, filepath.Base(filepath.Dir(store)), filepath.Base(store))))
	return fmt.Sprintf(".tidemark-views-%s-%x", name, sum[:4])
}

// TestViewsBesideAWorkspaceAreRemoved, and branches there are not.
func TestViewsBesideAWorkspaceAreRemoved(t *testing.T) {
	top := t.TempDir()
	stores, beside := filepath.Join(top, "stores"), filepath.Join(top, besideName(t, "shop", filepath.Join(top, "stores", "shop-1")))
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
	if err := errors.Join(os.Mkdir(filepath.Join(beside, "native"), 0o700), os.Mkdir(filepath.Join(beside, "branches"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if branches, err := workspace.RemoveViews(beside); err != nil || branches {
		t.Fatal(branches, err)
	}
	if _, err := os.Lstat(beside); !os.IsNotExist(err) {
		t.Error(err)
	}
}
