package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/capture"
)

// Config is config.toml.
type Config struct {
	// Buffers bounds what is held in memory.
	Buffers struct {
		Console   Buffer `toml:"console"`
		Network   Buffer `toml:"network"`
		WebSocket Buffer `toml:"websocket"`
		Actions   Buffer `toml:"actions"`
		DOM       Buffer `toml:"dom"`
	} `toml:"buffers"`
}

// Buffer bounds one buffer; what is 0 keeps its default.
type Buffer struct {
	Entries int     `toml:"entries"`
	MiB     float64 `toml:"mib"`
}

// ReadConfig reads the settings file; one that is not there sets nothing. The error names the line.
func ReadConfig(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return &Config{}, nil
	}
	if err != nil {
		return nil, err
	}
	var c Config
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) {
			return nil, fmt.Errorf("%s: unknown settings:\n%s", path, strict.String())
		}
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			line, column := bad.Position()
			return nil, fmt.Errorf("%s:%d:%d: %w", path, line, column, err)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &c, nil
}

// Limits are the bounds of the buffers that the settings ask for.
func (c *Config) Limits() (capture.Limits, error) {
	l := capture.DefaultLimits()
	for _, b := range []struct {
		name  string
		set   Buffer
		limit *capture.Limit
	}{
		{"console", c.Buffers.Console, &l.Console},
		{"network", c.Buffers.Network, &l.Network},
		{"websocket", c.Buffers.WebSocket, &l.WebSocket},
		{"actions", c.Buffers.Actions, &l.Actions},
		{"dom", c.Buffers.DOM, &l.DOM},
	} {
		if b.set.Entries < 0 || b.set.Entries > 10_000_000 || b.set.MiB < 0 || b.set.MiB > 4096 {
			return l, fmt.Errorf("buffers.%s: entries must be from 1 to 10,000,000 and mib from 0.1 to 4096", b.name)
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
