package safefile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tidemark.dev/tidemark/installer/safefile"
)

func TestReplaceKeepsPermissionsAndLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := symlink(file, link); err != nil {
		t.Skip(err) // Windows asks for a privilege
	}
	if err := safefile.Replace(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is replaced: %v, %v", info, err)
	}
	made := filepath.Join(dir, "made")
	if err := safefile.Replace(made, nil); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{file: 0o640, made: 0o600} {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := safefile.Replace(filepath.Join(dir, "missing", "file"), nil); err == nil {
		t.Error("a file in a missing directory is written")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
