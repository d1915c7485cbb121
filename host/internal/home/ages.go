package home

import (
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/installer/safefile"
)

func (h Home) clockFile() string { return filepath.Join(h.State, "clock.json") }

// Ages returns what tells how old things are. It continues from what earlier processes saw of the system's clock.
func (h Home) Ages() retention.Age {
	saved, _ := safefile.Read(h.clockFile(), maxOwnFile) // without it, everything counts as young
	return retention.NewClock(retention.System, saved, func(data []byte) {
		_ = safefile.Write(h.clockFile(), data, 0o600) // what is not saved counts as less
	}).Age
}
