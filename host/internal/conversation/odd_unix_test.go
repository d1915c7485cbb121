//go:build !windows

package conversation_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAnOddTranscriptIsNotWaitedFor: it may be a pipe, or a link to a device, whose name ends as that of a transcript.
func TestAnOddTranscriptIsNotWaitedFor(t *testing.T) {
	for kind, put := range map[string]func(path string) error{
		"a named pipe":                func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a link to an endless device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a link to a terminal":        func(path string) error { return os.Symlink("/dev/tty", path) },
		"a link to itself":            func(path string) error { return os.Symlink(path, path) },
		"a link to a directory":       func(path string) error { return os.Symlink("/dev", path) },
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			path := filepath.Join(t.TempDir(), "odd.jsonl")
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			w.begin("claude", path)
			if a := w.bounded(); a.Calls != 0 || a.Prompts != 0 || a.Coverage.Lines != 0 {
				t.Errorf("%+v", a)
			}
		})
	}
}
