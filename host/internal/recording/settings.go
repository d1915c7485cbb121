package recording

import (
	"cmp"
	"errors"
	"time"

	"tidemark.dev/tidemark/host/internal/retention"
)

// MaxIdleLimit is the longest limit of pauses, in seconds.
const MaxIdleLimit = 1_000_000

// Settings are the section [terminals] of config.toml.
type Settings struct {
	// Days is after how many days without output a recording is deleted. 0 means 7.
	Days float64 `toml:"days"`
	// MiB is what all recordings may take on disk. 0 means 1024.
	MiB int64 `toml:"mib"`
	// IdleLimit is the longest pause of an export in seconds. 0 keeps all pauses.
	IdleLimit float64 `toml:"idle_limit"`
}

// Check returns an error for a setting that is out of range.
func (s Settings) Check() error {
	if s.Days < 0 || s.Days > 3650 || s.MiB < 0 || s.MiB > 1<<20 || s.IdleLimit < 0 || s.IdleLimit > MaxIdleLimit {
		return errors.New("days must be from 0 to 3650, mib from 0 to 1048576, and idle_limit from 0 to 1000000")
	}
	return nil
}

// Policy is which recordings are kept.
func (s Settings) Policy() retention.Policy {
	return retention.Policy{Age: time.Duration(cmp.Or(s.Days, 7) * 24 * float64(time.Hour)), Bytes: cmp.Or(s.MiB, 1024) << 20}
}
