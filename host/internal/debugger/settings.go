package debugger

import (
	"errors"
	"time"
)

// Settings is the section "debugger" of the settings file.
type Settings struct {
	// ReleaseSeconds is the number of seconds after which a pause ends automatically, up to 1,048,576; 0 is
	// [DefaultRelease].
	ReleaseSeconds float64 `toml:"release_seconds"`
	// Evaluate lets agents run their own code in pages.
	Evaluate bool `toml:"evaluate"`
}

// Check returns an error for a value out of range.
func (s Settings) Check() error {
	if s.ReleaseSeconds < 0 || s.ReleaseSeconds > 1<<20 {
		return errors.New("release_seconds must be from 0 (the default, 300) to 1048576")
	}
	return nil
}

// release returns the time after which a pause ends automatically.
func (s Settings) release() time.Duration {
	if s.ReleaseSeconds == 0 {
		return DefaultRelease
	}
	return time.Duration(s.ReleaseSeconds * float64(time.Second))
}
