package home

import (
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/installer/safefile"
)

func clockFile(h Home) string { return filepath.Join(h.State, "clock.json") }

// Ages returns what tells how old the things of a home are. It continues from what earlier processes saw of the system's clock.
func Ages(h Home) retention.Age {
	saved, _ := safefile.Read(clockFile(h), maxOwnFile) // without it, everything counts as young
	return retention.NewClock(retention.System, saved, func(data []byte) {
		_ = safefile.Write(clockFile(h), data, 0o600) // what is not saved counts as less
	}).Age
}
