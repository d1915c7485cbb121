package store

import (
	"errors"
	"time"
)

// Settings is the section "journal" of the settings file: it bounds what is kept on disk. What is 0 keeps its default.
type Settings struct {
	MiB  float64 `toml:"mib"`  // at most 1,048,576
	Days float64 `toml:"days"` // at most 3650
}

// Limits are the bounds that the settings ask for, or an error when they are out of range.
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
