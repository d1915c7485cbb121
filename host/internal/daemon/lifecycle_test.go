//go:build !windows

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark.dev/tidemark/host/internal/home"
)

func TestADaemonLeavesWhenNobodyHasBeenThereForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresence()
		began := time.Now()
		p.add(1)
		go func() {
			time.Sleep(time.Hour)
			p.add(1)
			p.add(-1)
			time.Sleep(time.Hour)
			p.add(-1)
			time.Sleep(5 * time.Minute)
			p.add(1) // in time
			time.Sleep(time.Minute)
			p.add(-1)
		}()
		if !p.waitUntilAlone(t.Context(), 10*time.Minute) {
			t.Error("it did not leave")
		}
		if took := time.Since(began); took != 2*time.Hour+16*time.Minute {
			t.Errorf("it left after %s", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if p.waitUntilAlone(ctx, time.Minute) {
			t.Error("it was told to stop")
		}
	})
}

// TestADaemonEndsWithItsHome: connections do not keep it, and it leaves nothing in a home that has taken the place.
func TestADaemonEndsWithItsHome(t *testing.T) {
	for name, remove := range map[string]func(home.Home) error{
		"removed":             func(h home.Home) error { return os.RemoveAll(h.State) },
		"without its sockets": func(h home.Home) error { return os.RemoveAll(h.Run) },
		"replaced": func(h home.Home) error {
			return errors.Join(os.RemoveAll(h.State), os.MkdirAll(h.Run, 0o700), os.WriteFile(filepath.Join(h.Run, "daemon.lock"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			if err := h.Create(); err != nil {
				t.Fatal(err)
			}
			lock, err := h.Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = lock.Close() }()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				d := &daemon{home: h, log: slog.New(slog.DiscardHandler), stop: stop}
				go d.watchHome(ctx, lock)
				time.Sleep(10 * homePause)
				if ctx.Err() != nil {
					t.Fatal("it stopped before")
				}
				if err := remove(h); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * homePause)
				if ctx.Err() == nil {
					t.Error("it goes on")
				}
			})
		})
	}
}

func TestAnIdleDaemonEndsAndTheNextGoesOn(t *testing.T) {
	h := newHome(t)
	if err := os.MkdirAll(h.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Config, []byte("[daemon]\nidle_minutes = 0.001\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, h)
	if err := s.wait(); err != nil {
		t.Fatal(err)
	}
	if running, err := h.Running(); running || err != nil {
		t.Errorf("running %v, %v", running, err)
	}
	s = start(t, h)
	if err := s.wait(); err != nil {
		t.Fatal(err)
	}
}

func TestTheLockOfADaemonThatIsEndingIsWaitedFor(t *testing.T) {
	h := newHome(t)
	if err := h.Create(); err != nil {
		t.Fatal(err)
	}
	held, err := h.Lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		f, err := h.Lock(context.Background())
		if err == nil {
			err = f.Close()
		}
		got <- err
	}()
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("%v", err)
	}
}

func TestWhatIsInTheWayOfASocket(t *testing.T) {
	h := newHome(t)
	if err := h.Create(); err != nil {
		t.Fatal(err)
	}
	path := h.Socket(home.RelaySocket)
	serve := func() error { return Serve(context.Background(), h, slog.New(slog.DiscardHandler)) }

	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := serve(); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a file: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("it was touched: %q %v", data, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}

	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := serve(); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "is listening") {
		t.Errorf("a socket that answers: %v", err)
	}
	other.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, h) // a dead socket is replaced
	dial(t, h, home.RelaySocket)
}

func TestADirectoryThatSomebodyElseMadeIsRefused(t *testing.T) {
	h := newHome(t)
	if err := os.MkdirAll(h.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), h.Run); err != nil {
		t.Fatal(err)
	}
	if err := h.Create(); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a link: %v", err)
	}
	if err := os.Remove(h.Run); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory to somebody else")
	}
	if err := os.Mkdir(h.Run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(h.Run, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if err := h.Create(); err == nil || !strings.Contains(err.Error(), "another user") || !errors.Is(err, os.ErrPermission) {
		t.Errorf("another user's: %v", err)
	}
}
