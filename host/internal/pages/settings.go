package pages

import (
	"errors"
	"time"
)

// Settings is the section "snapshot" of the settings file.
type Settings struct {
	// FullAfterSeconds is after how many seconds a changed page is shown to an agent as a whole again, up to 1,048,576;
	// 0 is [DefaultFullAfter].
	FullAfterSeconds float64 `toml:"full_after_seconds"`
}

// Check says what is out of range.
func (s Settings) Check() error {
	if s.FullAfterSeconds < 0 || s.FullAfterSeconds > 1<<20 {
		return errors.New("full_after_seconds must be more than 0")
	}
	return nil
}

func (s Settings) fullAfter() time.Duration {
	if s.FullAfterSeconds == 0 {
		return DefaultFullAfter
	}
	return time.Duration(s.FullAfterSeconds * float64(time.Second))
}
