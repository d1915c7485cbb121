//go:build !windows

package home

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark.dev/tidemark/installer/safefile/oddfiles"
)

// An odd file in a home blocks nothing and takes no memory.
func TestOddFilesAreRefused(t *testing.T) {
	homeOf := func(path string) Home {
		dir := filepath.Dir(path)
		return Home{State: dir, Run: dir, Config: path}
	}
	t.Run("token", func(t *testing.T) {
		oddfiles.Each(t, "token", func(path string) error {
			_, err := homeOf(path).Secret()
			return err
		})
	})
	t.Run("what a daemon wrote down", func(t *testing.T) {
		for _, name := range []string{"daemon.json", "dashboard.json"} {
			oddfiles.Each(t, name, func(path string) error {
				h := homeOf(path)
				if i := h.readInfo(); i != (info{}) {
					t.Errorf("read: %+v", i)
				}
				if port := h.DashboardPort(time.Now()); port != 0 {
					t.Errorf("port %d", port)
				}
				return said(name + " says nothing") // the next daemon rewrites it
			})
		}
	})
	t.Run("log", func(t *testing.T) {
		oddfiles.Each(t, "daemon.log", func(path string) error {
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() {
				return said(path) // a log that is too long is truncated
			}
			f, err := openLog(path)
			if err == nil {
				err = f.Close()
			}
			if err == nil {
				return said(path + " was made") // where a link leads
			}
			return err
		})
	})
}

// said is a text as an error.
type said string

func (s said) Error() string { return string(s) }
