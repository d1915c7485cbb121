package pages

import (
	"errors"
	"time"
)

// Settings is the section "snapshot" of the settings file.
type Settings struct {
	// FullAfterSeconds is the age of a snapshot, in seconds, after which an agent gets a full one of a changed page. It
	// is at most 1,048,576; 0 means [DefaultFullAfter].
	FullAfterSeconds float64 `toml:"full_after_seconds"`
}

// Check returns an error if a setting is out of range.
func (s Settings) Check() error {
	if s.FullAfterSeconds < 0 || s.FullAfterSeconds > 1<<20 {
		return errors.New("full_after_seconds must be from 0 to 1048576")
	}
	return nil
}

func (s Settings) fullAfter() time.Duration {
	if s.FullAfterSeconds == 0 {
		return DefaultFullAfter
	}
	return time.Duration(s.FullAfterSeconds * float64(time.Second))
}
