package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// home is a short home, as sockets need it.
func home(t *testing.T) Home {
	t.Helper()
	dir, err := os.MkdirTemp("", "tmh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv(HomeEnv, dir)
	h, err := FindHome()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// serve runs a daemon and returns once it answers.
func serve(t *testing.T, h Home) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	log := slog.New(readyHandler{slog.DiscardHandler, ready})
	go func() { ended <- Serve(ctx, h, "0.0.0", log) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return func() error {
		cancel()
		return <-ended
	}
}

// readyHandler closes a channel at the line that says that the daemon is ready.
type readyHandler struct {
	slog.Handler
	ready chan struct{}
}

func (h readyHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h readyHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "the daemon is ready" {
		close(h.ready)
	}
	return nil
}

func TestSocketsAreTheUsersAlone(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	h := home(t)
	stop := serve(t, h)
	for _, name := range []string{RelaySocket, MCPSocket, ControlSocket} {
		info, err := os.Stat(h.Socket(name))
		if err != nil || info.Mode().Perm() != 0o600 || info.Mode()&fs.ModeSocket == 0 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(h.Run); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if running, err := h.Running(); !running || err != nil {
		t.Errorf("running %v %v", running, err)
	}
	if err := Serve(context.Background(), h, "0.0.0", slog.New(slog.DiscardHandler)); !errors.Is(err, ErrRunning) {
		t.Errorf("a second daemon: %v", err)
	}
	conn, err := h.DialRunning(context.Background(), MCPSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // open connections do not keep it from ending
	if err := stop(); err != nil {
		t.Error(err)
	}
	if running, err := h.Running(); running || err != nil {
		t.Errorf("after the end: running %v %v", running, err)
	}
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	h := home(t)
	if err := h.Create(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Socket(MCPSocket), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := serve(t, h)(); err != nil {
		t.Error(err)
	}
}

func TestAHomeTooLongForASocketFallsBackToAShortOne(t *testing.T) {
	short := home(t)
	h := Home{State: short.State, Run: filepath.Join(short.State, strings.Repeat("long", 40), "run")}
	path := h.Socket(MCPSocket)
	if len(path) > 103 || !strings.HasPrefix(path, os.TempDir()) || path != h.Socket(MCPSocket) {
		t.Fatalf("%s", path)
	}
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(path)) })
	if err := serve(t, h)(); err != nil {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	for text, want := range map[string]string{
		"": "",
		"[buffers.console]\nentries = 500\nmib = 0.5": "",
		"[buffers.smell]\nentries = 1":                "smell",
		"[buffers.console]\nentries = \"many\"":       "config.toml:2:",
		"[buffers":                                    "config.toml:1:",
		"[buffers.dom]\nentries = -1":                 "buffers.dom",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadConfig(path)
		if err == nil {
			_, err = c.Limits()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	c, err := ReadConfig(filepath.Join(dir, "none.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if l, err := c.Limits(); err != nil || l.Console.Count != 10_000 {
		t.Errorf("%+v %v", l, err)
	}
}
