package debugger

import (
	"errors"
	"time"
)

// Settings is the section "debugger" of the settings file.
type Settings struct {
	// ReleaseSeconds is after how many seconds a pause that nobody ends is ended, up to 1,048,576; 0 is
	// [DefaultRelease].
	ReleaseSeconds float64 `toml:"release_seconds"`
	// Evaluate allows agents to run code of theirs in pages.
	Evaluate bool `toml:"evaluate"`
}

// Check says what is out of range.
func (s Settings) Check() error {
	if s.ReleaseSeconds < 0 || s.ReleaseSeconds > 1<<20 {
		return errors.New("release_seconds must be more than 0")
	}
	return nil
}

// release is after how long a pause that nobody ends is ended.
func (s Settings) release() time.Duration {
	if s.ReleaseSeconds == 0 {
		return DefaultRelease
	}
	return time.Duration(s.ReleaseSeconds * float64(time.Second))
}
