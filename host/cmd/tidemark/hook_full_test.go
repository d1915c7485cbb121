//go:build !windows

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/home"
)

// A daemon that is so busy, or stopped for so long, that it takes no further connection costs an agent no more than one that is
// silent. The event is in the spool.
func TestADaemonThatTakesNoMoreConnectionsCostsNothing(t *testing.T) {
	dir, err := os.MkdirTemp("", "tmh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TIDEMARK_HOME", dir)
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := home.Find("")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	socket := h.Socket(home.ControlSocket)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	full := false
	for range 100 { // nobody accepts
		c, err := net.DialTimeout("unix", socket, 100*time.Millisecond)
		if full = err != nil; full {
			break
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	if !full {
		t.Skip("this system queues any number of connections")
	}
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	decisions := &grants.Store{File: h.Grants(), Lock: h.LockGrants, Clock: time.Now}
	if _, err := decisions.Allow(t.Context(), project, []string{grants.Conversation}, nil); err != nil {
		t.Fatal(err)
	}
	errOut := inTime(t, h, func() string { return recordable(project, "s") })
	if data, err := os.ReadFile(spoolOf(h)); err != nil || strings.Count(string(data), "\n") != 1 {
		t.Errorf("the spool has %q, %v: %s", data, err, errOut)
	}
}
