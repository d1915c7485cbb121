//go:build !windows

package conversation_test

import (
	"os"
	"path/filepath"
	"strings"
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

// TestAnOddRecordingIsNotMissing: it is listed with what stands in its place, which is not followed and not waited for.
func TestAnOddRecordingIsNotMissing(t *testing.T) {
	for kind, put := range map[string]func(path string) error{
		"a named pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a link":       func(path string) error { return os.Symlink(path+".moved", path) },
		"a directory":  func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			w.session()
			files, err := filepath.Glob(filepath.Join(w.o.Dir, "*.conversation"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			path := files[0]
			w.store.Close()
			if err := os.Rename(path, path+".moved"); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			w.open()
			if all := w.list(); len(all) != 1 || !strings.Contains(all[0].Problem, path+" is "+kind+", not a file") {
				t.Errorf("%+v", all)
			}
		})
	}
}
