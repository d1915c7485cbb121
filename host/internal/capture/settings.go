package capture

import (
	"fmt"
	"slices"
)

// Settings is the section "buffers" of the settings file, which limits the data in memory, by section.
type Settings map[Section]BufferSettings

// BufferSettings bounds one buffer, by entries up to 10,000,000 and MiB up to 4096. What is 0 keeps its default.
type BufferSettings struct {
	Entries int     `toml:"entries"`
	MiB     float64 `toml:"mib"`
}

// Limits are the bounds that the settings ask for. The error begins with the name of the buffer whose settings are
// wrong.
func (s Settings) Limits() (Limits, error) {
	l := DefaultLimits()
	for name := range s {
		if !slices.Contains(Sections, name) {
			return l, fmt.Errorf("%s: there is no such buffer; buffers are %s", name, SectionNames())
		}
	}
	for t, name := range Sections {
		set := s[name]
		if set.Entries < 0 || set.Entries > 10_000_000 || set.MiB < 0 || set.MiB > 4096 {
			return l, fmt.Errorf("%s: entries must be from 1 to 10,000,000 and mib from 0.1 to 4096", name)
		}
		if set.Entries > 0 {
			l[t].Count = set.Entries
		}
		if set.MiB > 0 {
			l[t].Bytes = int(set.MiB * (1 << 20))
		}
	}
	return l, nil
}
