package provider_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// TestViewsGoIntoTheHome where nothing is shared, and never into the workspace.
func TestViewsGoIntoTheHome(t *testing.T) {
	top := t.TempDir()
	workspace := filepath.Join(top, "workspace")
	if err := errors.Join(os.Mkdir(workspace, 0o755), os.WriteFile(filepath.Join(workspace, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(top, "link")
	err := os.Symlink(workspace, link)
	if err == nil {
		_, err = os.Lstat(link) // Wine 8 says that it made one
	}
	if err != nil && runtime.GOOS == "windows" {
		t.Logf("the directory stands for a symbolic link, which cannot be made here: %v", err)
		link, err = workspace, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	usual := filepath.Join(top, "home", "state", "views")
	p, err := provider.Place(link, top, usual)
	if err != nil || p.Dir != usual || p.Beside || p.Why == "" {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := errors.Join(p.Create(), p.Create()); err != nil {
		t.Fatal(err)
	}
	for _, inside := range []string{filepath.Join(workspace, "views"), filepath.Join(link, "a", "b"), workspace} {
		if p, err := provider.Place(workspace, top, inside); err == nil || !strings.Contains(err.Error(), "inside") {
			t.Errorf("%s: %+v, %v", inside, p, err)
		}
	}
	if _, err := provider.Place(filepath.Join(top, "missing"), top, usual); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (provider.Placement{Dir: filepath.Join(top, "file")}).Create(); err == nil {
		t.Error("a file is taken for the directory")
	}
}

// TestAHomeElsewhereIsUsual where the workspace's filesystem shares nothing.
func TestAHomeElsewhereIsUsual(t *testing.T) {
	top, home := disktest.Small(t, "1m"), t.TempDir()
	workspace := filepath.Join(top, "workspace")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := provider.Place(workspace, home, filepath.Join(home, "views"))
	if err != nil || p.Beside || p.Shares || !strings.Contains(p.Why, "copied") {
		t.Fatalf("%+v, %v", p, err)
	}
	left, err := os.ReadDir(top)
	if err != nil || len(left) != 1 {
		t.Errorf("%v was left beside the workspace, %v", left, err)
	}
}
