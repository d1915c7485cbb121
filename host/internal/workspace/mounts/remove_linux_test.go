package mounts_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// TestWhatIsMountedMeanwhileIsNotEntered: nothing looks before it. A filesystem of its own stays, and a directory of the same one.
func TestWhatIsMountedMeanwhileIsNotEntered(t *testing.T) {
	for name, mount := range map[string]func(from, at string) error{
		"another filesystem": func(_, at string) error { return unix.Mount("somebody", at, "tmpfs", 0, "size=1m") },
		"the same":           func(from, at string) error { return unix.Mount(from, at, "", unix.MS_BIND, "") },
	} {
		t.Run(name, func(t *testing.T) {
			top, from := filepath.Join(t.TempDir(), "top"), t.TempDir()
			at := filepath.Join(top, "dir", "mounted")
			if err := errors.Join(os.MkdirAll(at, 0o700), os.MkdirAll(filepath.Join(top, "z", "z"), 0o700)); err != nil {
				t.Fatal(err)
			}
			for i := range 3000 { // more than are read at a time
				if err := os.WriteFile(filepath.Join(top, "dir", fmt.Sprint(i)), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := mount(from, at); err != nil {
				t.Skipf("cannot mount: %v", err)
			}
			file := filepath.Join(at, "mine")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{top, at} {
				if err := mounts.RemoveAll(dir); err == nil || !strings.Contains(err.Error(), "something is mounted on "+at) {
					t.Error(err)
				}
			}
			if _, err := os.Lstat(file); err != nil {
				t.Error(err)
			}
			if left, err := filepath.Glob(filepath.Join(top, "*", "*")); err != nil || len(left) != 1 {
				t.Errorf("%d paths are left beside it, %v", len(left), err)
			}
			if err := errors.Join(unix.Unmount(at, 0), mounts.RemoveAll(top)); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(top); err == nil {
				t.Error("it is still there")
			}
		})
	}
}
