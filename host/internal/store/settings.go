package store

import (
	"errors"
	"time"
)

// Settings is the section "journal" of the settings file, which limits the data on disk. A field of 0 means the default.
type Settings struct {
	MiB  float64 `toml:"mib"`  // at most 1,048,576
	Days float64 `toml:"days"` // at most 3650
}

// Limits returns the limits that the settings set, or an error if they are out of range.
func (s *Settings) Limits() (Limits, error) {
	l := DefaultLimits()
	if s.MiB < 0 || s.MiB > 1<<20 || s.Days < 0 || s.Days > 3650 {
		return l, errors.New("mib must be from 1 to 1,048,576 and days up to 3650")
	}
	if s.MiB > 0 {
		l.Bytes = int64(s.MiB * (1 << 20))
	}
	if s.Days > 0 {
		l.Age = time.Duration(s.Days * 24 * float64(time.Hour))
	}
	return l, nil
}
