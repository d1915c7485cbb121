package e2etest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// World is a daemon's home with a browser that is connected to it.
type World struct{ *testbed.World }

// shared is the world of all tests of a package that need no separate one.
var shared sharedWorld

type sharedWorld struct {
	once sync.Once
	w    *testbed.World
	err  error
}

func (s *sharedWorld) close() {
	if s.w != nil {
		if err := s.w.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// SharedWorld returns the world that the tests of a package share.
func SharedWorld(t *testing.T) *World {
	t.Helper()
	NeedBrowser(t)
	shared.once.Do(func() { shared.w, shared.err = testbed.Start(binary) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return &World{shared.w}
}

// SeparateWorld returns a world with a browser for one test.
func SeparateWorld(t *testing.T) *World {
	t.Helper()
	NeedBrowser(t)
	return closed(t)(testbed.Start(binary))
}

// EmptyWorld returns a world without a browser for one test.
func EmptyWorld(t *testing.T) *World {
	t.Helper()
	return closed(t)(testbed.New(binary))
}

// ConfiguredWorld is [SeparateWorld] with a config.toml.
func ConfiguredWorld(t *testing.T, config string) *World {
	t.Helper()
	NeedBrowser(t)
	w := EmptyWorld(t)
	if err := os.WriteFile(filepath.Join(w.Home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Launch(); err != nil {
		t.Fatal(err)
	}
	return w
}

// OwnWorld is [SeparateWorld] for a test that ends the browser itself: closing the world may fail.
func OwnWorld(t *testing.T) *World {
	t.Helper()
	return WorldIn(t, os.Getenv(testbed.WayEnv))
}

// WorldIn is [OwnWorld] with a way of capture.
func WorldIn(t *testing.T, way string) *World {
	t.Helper()
	NeedBrowser(t)
	w, err := testbed.StartIn(binary, way)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &World{w}
}

// TappedWorld is [OwnWorld] that keeps what the extension sends. The function returns all of it.
func TappedWorld(t *testing.T) (*World, func() string) {
	t.Helper()
	NeedBrowser(t)
	w, err := testbed.New(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	w.Binary = filepath.Join(t.TempDir(), "tidemark")
	sent := w.Binary + ".sent"
	tap := fmt.Sprintf("#!/bin/sh\ncase \"$1\" in\nchrome-extension:*) tee -a %q | %q \"$@\" ;;\n*) exec %q \"$@\" ;;\nesac\n", sent, binary, binary)
	if err := os.WriteFile(w.Binary, []byte(tap), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.Launch(); err != nil {
		t.Fatal(err)
	}
	return &World{w}, func() string {
		data, err := os.ReadFile(sent)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

// closed closes a world at the end of the test.
func closed(t *testing.T) func(*testbed.World, error) *World {
	t.Helper()
	return func(w *testbed.World, err error) *World {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		closeAtEnd(t, w)
		return &World{w}
	}
}

// closeAtEnd closes a world at the end of the test. A test that fails logs what its daemon wrote.
func closeAtEnd(t *testing.T, w *testbed.World) {
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(w.Home, "daemon.log"))
			t.Logf("%s", log[max(0, len(log)-20_000):])
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// NeedBrowser skips a test under -short and where no browser is found.
func NeedBrowser(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("launches a browser")
	}
	if _, err := installer.FindBrowser(); err != nil {
		t.Skip(err)
	}
}

// LoggedWorld returns a world without a browser.
func LoggedWorld(t *testing.T) *testbed.World {
	t.Helper()
	w, err := testbed.New(binary)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, w)
	return w
}
