//go:build !windows

package home

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark.dev/tidemark/installer/safefile/oddfiles"
)

// What stands in the place of a file that the program keeps in a home stops nothing and takes no memory.
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
				return said(name + " says nothing") // it is rewritten by the next daemon
			})
		}
	})
	t.Run("log", func(t *testing.T) {
		oddfiles.Each(t, "daemon.log", func(path string) error {
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() {
				return said(path) // one that is too long is begun anew
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

// said is something said, as an error.
type said string

func (s said) Error() string { return string(s) }
