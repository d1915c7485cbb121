package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/home"
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
