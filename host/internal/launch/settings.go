package launch

import (
	"errors"
	"time"
)

// Settings is the section "browser" of the settings file.
type Settings struct {
	// KeepMinutes is how long a headless browser stays after its agent has left, in minutes up to 1,048,576. 0 means
	// [DefaultKeepOpen].
	KeepMinutes float64 `toml:"keep_minutes"`
}

// Check reports a setting that is out of range.
func (s Settings) Check() error {
	if s.KeepMinutes < 0 || s.KeepMinutes > 1<<20 {
		return errors.New("keep_minutes must be more than 0")
	}
	return nil
}

func (s Settings) keepOpen() time.Duration {
	if s.KeepMinutes == 0 {
		return DefaultKeepOpen
	}
	return time.Duration(s.KeepMinutes * float64(time.Minute))
}
