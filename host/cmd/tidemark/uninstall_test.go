package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
)

func TestABrowserThatUsesTheProfileIsSeen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("browsers on Windows have no such socket")
	}
	dir, err := os.MkdirTemp("", "tmh") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	home := home.Home{State: dir}
	if err := os.MkdirAll(home.Profile(), 0o700); err != nil {
		t.Fatal(err)
	}
	if browser.InUse(t.Context(), home.Profile()) {
		t.Error("a profile that nobody has used")
	}
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(socket, filepath.Join(home.Profile(), "SingletonSocket")); err != nil {
		t.Fatal(err)
	}
	if !browser.InUse(t.Context(), home.Profile()) {
		t.Error("one that is in use")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if browser.InUse(t.Context(), home.Profile()) {
		t.Error("one whose browser has ended, or crashed")
	}
}

// TestAMountedBranchSaysWhatToDo before it is deleted. What is mounted on others is the user's.
func TestAMountedBranchSaysWhatToDo(t *testing.T) {
	top := t.TempDir()
	branch := filepath.Join(top, "my branch")
	if err := os.MkdirAll(filepath.Join(top, ".layers-my branch"), 0o700); err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]mounts.Mount{
		"run `sudo umount " + native.Argument(branch) + "` first": {At: branch, Type: "overlay"},
		"run `zfs destroy -r pool/tidemark-abc` first":            {At: filepath.Join(top, "clone"), Type: "zfs", Source: "pool/tidemark-abc"},
	} {
		if got := toDelete(m); !strings.HasSuffix(got, want) {
			t.Errorf("%q", got)
		}
	}
	if got := toDelete(mounts.Mount{At: filepath.Join(top, "mine"), Type: "tmpfs"}); got != "" {
		t.Errorf("%q", got)
	}
}
