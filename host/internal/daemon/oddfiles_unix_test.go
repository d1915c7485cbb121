//go:build !windows

package daemon

import (
	"path/filepath"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/installer/safefile/oddfiles"
)

// What stands in the place of a file of the home neither stops the daemon nor takes its memory.
func TestOddFilesOfAHomeAreRefused(t *testing.T) {
	homeOf := func(path string) home.Home {
		dir := filepath.Dir(path)
		return home.Home{State: dir, Run: dir, Config: path}
	}
	t.Run("settings", func(t *testing.T) {
		oddfiles.Each(t, "config.toml", func(path string) error {
			_, err := ReadConfig(path)
			return err
		})
	})
	t.Run("noise rules", func(t *testing.T) {
		oddfiles.Each(t, "noise.json", func(path string) error {
			var said notice
			u := userNoise(homeOf(path), time.Now(), func(text string) { said = notice(text) })
			if len(u.Settings.Rules) > 0 {
				t.Error("there are rules")
			}
			return said
		})
	})
}

// notice is a text as an error.
type notice string

func (n notice) Error() string { return string(n) }
