//go:build !windows

package installer

import (
	"testing"

	"tidemark.dev/tidemark/installer/safefile/oddfiles"
	"tidemark.dev/tidemark/installer/settings"
)

func TestOddFilesAreNeitherReadNorWritten(t *testing.T) {
	t.Run("record", func(t *testing.T) {
		oddfiles.Each(t, "install.json", func(path string) error {
			_, err := ReadRecord(path)
			return err
		})
	})
	t.Run("settings", func(t *testing.T) {
		for name, f := range map[string]settings.Format{"settings.json": settings.JSON{}, "config.toml": settings.TOML{}} {
			oddfiles.Each(t, name, func(path string) error {
				s := &System{OS: "linux", Home: "/home/me"}
				found, err := s.look(path)
				if err != nil {
					return err
				}
				st := Step{Path: path, Before: found.data}
				set := setting{path: []string{"mcpServers", settings.ServerName}, format: f}
				return st.planEntries([]wanted{{set, map[string]any{"command": "tidemark"}}}, nil, Options{Binary: "/bin/tidemark"})
			})
		}
	})
	t.Run("manifest", func(t *testing.T) {
		oddfiles.Each(t, ManifestFile, func(path string) error {
			s := &System{OS: "linux", Home: "/home/me"}
			_, _, err := s.checkLink(link{path: path})
			return err
		})
	})
}
