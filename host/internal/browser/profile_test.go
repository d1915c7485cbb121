//go:build !windows

package browser

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTemporaryProfileLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p, err := openProfile("")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "Local State"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	empty(t, tmp)
}

func TestNamedProfileIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profile")
	p, err := openProfile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestProfilesOfTheDeadAreSweptAndThoseOfTheLivingKept(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	living, err := openProfile("")
	if err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(tmp, tempPrefix+"dead")
	socket := filepath.Join(tmp, "org.chromium.Chromium.abc123")
	for _, dir := range []string{dead, socket} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(socket, "SingletonSocket"), filepath.Join(dead, "SingletonSocket")); err != nil {
		t.Fatal(err)
	}
	// A lock file without a lock: its owner is dead.
	if err := os.WriteFile(dead+lockSuffix, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A directory without a lock file has another owner.
	foreign := filepath.Join(tmp, tempPrefix+"foreign")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	sweep(tmp)
	for path, want := range map[string]bool{
		dead: false, dead + lockSuffix: false, socket: false,
		living.dir: true, living.dir + lockSuffix: true, foreign: true,
	} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(path), err == nil, want)
		}
	}
	if err := living.close(); err != nil {
		t.Fatal(err)
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left behind: %s", e.Name())
	}
}
