package capture

import "fmt"

// Settings is the section "buffers" of the settings file, which limits the data in memory.
type Settings struct {
	Console   BufferSettings `toml:"console"`
	Network   BufferSettings `toml:"network"`
	WebSocket BufferSettings `toml:"websocket"`
	Actions   BufferSettings `toml:"actions"`
	DOM       BufferSettings `toml:"dom"`
}

// BufferSettings bounds one buffer, by entries up to 10,000,000 and MiB up to 4096. What is 0 keeps its default.
type BufferSettings struct {
	Entries int     `toml:"entries"`
	MiB     float64 `toml:"mib"`
}

// Limits are the bounds that the settings ask for. The error begins with the name of the buffer whose settings are out
// of range.
func (s *Settings) Limits() (Limits, error) {
	l := DefaultLimits()
	for _, b := range []struct {
		name  string
		set   BufferSettings
		limit *Limit
	}{
		{"console", s.Console, &l.Console},
		{"network", s.Network, &l.Network},
		{"websocket", s.WebSocket, &l.WebSocket},
		{"actions", s.Actions, &l.Actions},
		{"dom", s.DOM, &l.DOM},
	} {
		if b.set.Entries < 0 || b.set.Entries > 10_000_000 || b.set.MiB < 0 || b.set.MiB > 4096 {
			return l, fmt.Errorf("%s: entries must be from 1 to 10,000,000 and mib from 0.1 to 4096", b.name)
		}
		if b.set.Entries > 0 {
			b.limit.Count = b.set.Entries
		}
		if b.set.MiB > 0 {
			b.limit.Bytes = int(b.set.MiB * (1 << 20))
		}
	}
	return l, nil
}
