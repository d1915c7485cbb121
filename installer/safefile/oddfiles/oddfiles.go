//go:build !windows

// Package oddfiles is for tests. It puts unexpected kinds of files at a path that a program reads.
package oddfiles

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Limits for reading an odd file.
const (
	within = time.Second
	memory = 64 << 20 // bytes
)

// Each calls read with paths ending in name that do not hold a usable settings file. Each read must end within a
// second and take at most 64 MiB of memory. Its error must name the file.
func Each(t *testing.T, name string, read func(path string) error) {
	kinds := map[string]func(path string) error{
		"a link to an endless device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a link to a terminal":        func(path string) error { return os.Symlink("/dev/tty", path) },
		"a named pipe":                func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory":                 func(path string) error { return os.Mkdir(path, 0o700) },
		"a dangling link":             func(path string) error { return os.Symlink(path+".missing", path) },
		"a link to itself":            func(path string) error { return os.Symlink(path, path) },
		"a huge sparse file": func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		},
		"a socket": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { _ = l.Close() })
			}
			return err
		},
		"a file that cannot be read": func(path string) error { return os.WriteFile(path, nil, 0) },
		"nested lists": func(path string) error {
			return os.WriteFile(path, []byte(`{"a": `+strings.Repeat("[", 8<<20)), 0o600)
		},
		"very many keys": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("[a]\n", 2<<20)), 0o600)
		},
	}
	for kind, put := range kinds {
		t.Run(kind, func(t *testing.T) {
			if kind == "a file that cannot be read" && os.Geteuid() == 0 {
				t.Skip("root reads every file")
			}
			dir, err := os.MkdirTemp("", "odd") // short, for the path of a socket
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			path := filepath.Join(dir, name)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			done := make(chan error, 1)
			go func() { done <- read(path) }()
			select {
			case err = <-done:
			case <-time.After(within):
				t.Fatalf("%s at %s: it was not read within %s", kind, path, within)
			}
			if err == nil {
				t.Fatalf("%s at %s: no error", kind, path)
			}
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s: the error does not name the file: %v", kind, err)
			}
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > memory {
				t.Errorf("%s: %d bytes of memory were taken", kind, took)
			}
		})
	}
}
