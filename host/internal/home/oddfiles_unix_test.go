//go:build !windows

package home

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/installer/safefile/oddfiles"
)

// An odd file in a home blocks nothing and takes no memory.
func TestOddFilesAreRefused(t *testing.T) {
	homeOf := func(path string) Home {
		dir := filepath.Dir(path)
		return Home{State: dir, Run: dir, Config: path}
	}
	t.Run("token", func(t *testing.T) {
		oddfiles.Each(t, "token", func(path string) error {
			_, err := homeOf(path).Secret()
			return err
		})
	})
	t.Run("what a daemon wrote down", func(t *testing.T) {
		for _, name := range []string{"daemon.json", "dashboard.json"} {
			oddfiles.Each(t, name, func(path string) error {
				h := homeOf(path)
				if i := h.readInfo(); i != (info{}) {
					t.Errorf("read: %+v", i)
				}
				if port := h.DashboardPort(time.Now()); port != 0 {
					t.Errorf("port %d", port)
				}
				return said(name + " says nothing") // the next daemon rewrites it
			})
		}
	})
	t.Run("log", func(t *testing.T) {
		oddfiles.Each(t, "daemon.log", func(path string) error {
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() {
				return said(path) // a log that is too long is truncated
			}
			f, err := openLog(path)
			if err == nil {
				err = f.Close()
			}
			return err
		})
	})
}

// A linked log is not written to, nor truncated.
func TestALinkedLogIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	target, log := filepath.Join(dir, "target"), filepath.Join(dir, "daemon.log")
	if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(target, maxLog+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, log); err != nil {
		t.Fatal(err)
	}
	if f, err := openLog(log); err == nil || !strings.Contains(err.Error(), log+" is not a file. Remove it.") {
		t.Errorf("%v, %v", f, err)
	}
	if info, err := os.Stat(target); err != nil || info.Size() != maxLog+1 {
		t.Errorf("the target has %v, %v", info.Size(), err)
	}
}

// What stands in the place of a file that a daemon writes is replaced, not followed, and not waited for.
func TestWhatADaemonWritesDownIsNeverElsewhere(t *testing.T) {
	dir := t.TempDir()
	h, target := Home{State: dir, Run: dir}, filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, put := range map[string]func(path string) error{
		"a link":       func(path string) error { return os.Symlink(target, path) },
		"a named pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		for path, write := range map[string]func() error{
			h.infoFile():      h.WriteInfo,
			h.dashboardFile(): func() error { return h.KeepDashboard(1, time.Now()) },
			stoppedFile(h):    func() error { return StopForUser(t.Context(), h) },
		} {
			_ = os.Remove(path)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			if err := write(); err != nil {
				t.Errorf("%s at %s: %v", kind, path, err)
			}
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s at %s is %v, %v", kind, path, info, err)
			}
		}
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "theirs" {
		t.Errorf("the target of the link has %q, %v", data, err)
	}
}

// The error has the command after which the home is used.
func TestAHomeThatOthersMayWriteToIsRefused(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "set tings"))
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, dir := range map[string]string{
		"named": filepath.Join(t.TempDir(), "it's a home"), "state": filepath.Join(os.Getenv("XDG_STATE_HOME"), "tidemark"), "settings": filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "tidemark"),
	} {
		t.Setenv(Env, "")
		if name == "named" {
			t.Setenv(Env, dir)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []os.FileMode{0o770, 0o702} {
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
			_, err := Find("1")
			if err == nil || !strings.Contains(err.Error(), "other users can write to "+dir) {
				t.Fatalf("%s with mode %o: %v", name, mode, err)
			}
			_, command, _ := strings.Cut(err.Error(), "then run `")
			command, _, _ = strings.Cut(command, "`")
			if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", command, err, out)
			}
			if _, err := Find("1"); err != nil {
				t.Errorf("%s after %s: %v", name, command, err)
			}
		}
	}
}

// said is a text as an error.
type said string

func (s said) Error() string { return string(s) }
