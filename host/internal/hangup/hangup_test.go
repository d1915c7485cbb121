//go:build unix

package hangup_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/hangup"
)

const patience = 10 * time.Second

// pair returns both ends of a connection over a Unix socket.
func pair(t *testing.T) (here, there *net.UnixConn) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	dialed, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = dialed.Close(), accepted.Close() })
	return accepted, dialed
}

func goes(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the hang-up was not noticed")
	}
}

func TestAPeerThatHasClosedHasHungUp(t *testing.T) {
	here, there := pair(t)
	gone := hangup.Watch(t.Context(), here)
	_ = there.Close()
	goes(t, gone)
}

func TestAPeerThatStillReadsHasNot(t *testing.T) {
	here, there := pair(t)
	if err := there.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*hangup.Every)
	defer cancel()
	select {
	case <-hangup.Watch(ctx, here):
		t.Error("a peer that still reads is taken for gone")
	case <-ctx.Done():
	}
	gone := hangup.Watch(t.Context(), here)
	_ = there.Close()
	goes(t, gone)
}

func TestAPipeThatNobodyReadsHasHungUp(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	gone := hangup.Watch(t.Context(), w)
	_ = r.Close()
	goes(t, gone)
}

func TestWhatIsClosedHereIsNotWatched(t *testing.T) {
	here, _ := pair(t)
	_ = here.Close()
	select {
	case <-hangup.Watch(t.Context(), here):
		t.Error("what was closed on this side is taken for a hang-up")
	case <-time.After(2 * hangup.Every):
	}
	var _ syscall.Conn = here
}
