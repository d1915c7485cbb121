package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/launch"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/installer/safefile"
)

// Limits of settings files: the size in bytes, and the number of keys in config.toml.
const (
	maxSettings   = 4 << 20
	maxConfigKeys = 4096
)

// Config is config.toml, with a section for each package that has settings. Packages define and check their own
// settings. The daemon's are here.
type Config struct {
	// Buffers limits captured data in memory.
	Buffers capture.Settings `toml:"buffers"`
	// Daemon sets how long the daemon runs without a connection. 0 means 10 minutes.
	Daemon struct {
		IdleMinutes float64 `toml:"idle_minutes"`
	} `toml:"daemon"`
	// HTTP serves agents over streamable HTTP on a loopback port. 0 means off.
	HTTP struct {
		Port int `toml:"port"`
	} `toml:"http"`
	// Journal limits captured data on disk.
	Journal  store.Settings    `toml:"journal"`
	Snapshot pages.Settings    `toml:"snapshot"`
	Tools    tool.Settings     `toml:"tools"`
	Debugger debugger.Settings `toml:"debugger"`
	Browser  launch.Settings   `toml:"browser"`
	// Snapshots limits the file snapshots of workspaces.
	Snapshots workspace.Settings `toml:"snapshots"`
	// Timeline sets what runs after a snapshot, and what opens one.
	Timeline timeline.Settings `toml:"timeline"`
	// Branches sets how agents of branches are started.
	Branches branches.Settings `toml:"branches"`
	// Recordings limits recorded conversations.
	Recordings conversation.Settings `toml:"recordings"`
	// Terminals limits recordings of terminals.
	Terminals recording.Settings `toml:"terminals"`
	// Redact adds the user's rules to the built-in redaction rules.
	Redact redact.User `toml:"redact"`
}

// ReadConfig reads the settings file. A missing file gives the defaults. The error names the line.
func ReadConfig(path string) (*Config, error) {
	data, err := safefile.Read(path, maxSettings)
	if errors.Is(err, os.ErrNotExist) {
		return &Config{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := safefile.CheckTOML(data, maxConfigKeys); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
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

// Limits returns the configured limits of the buffers and the journal. It checks every section, and the error names the
// section with a setting that is out of range.
func (c *Config) Limits() (buffers capture.Limits, journal store.Limits, err error) {
	if journal, err = c.Journal.Limits(); err != nil {
		return buffers, journal, fmt.Errorf("journal: %w", err)
	}
	if err = c.check(); err != nil {
		return buffers, journal, err
	}
	if buffers, err = c.Buffers.Limits(); err != nil {
		return buffers, journal, fmt.Errorf("buffers.%w", err)
	}
	return buffers, journal, nil
}

// check checks the sections that need no conversion.
func (c *Config) check() error {
	if m := c.Daemon.IdleMinutes; m < 0 || m > 1<<20 {
		return errors.New("daemon: idle_minutes must be more than 0")
	}
	if c.HTTP.Port < 0 || c.HTTP.Port > 65535 {
		return errors.New("http: port must be from 1 to 65535")
	}
	for _, s := range []struct {
		name string
		err  error
	}{{"snapshot", c.Snapshot.Check()}, {"tools", c.Tools.Check()}, {"debugger", c.Debugger.Check()}, {"browser", c.Browser.Check()}, {"snapshots", c.Snapshots.Check()}, {"timeline", c.Timeline.Check()}, {"branches", c.Branches.Check()}, {"recordings", c.Recordings.Check()}, {"terminals", c.Terminals.Check()}} {
		if s.err != nil {
			return fmt.Errorf("%s: %w", s.name, s.err)
		}
	}
	return nil
}

// Redactor returns a redactor with the built-in rules and the rules of the settings.
func (c *Config) Redactor() (*redact.Redactor, error) {
	r, err := redact.Extend(redact.DefaultRules(), c.Redact)
	if err != nil {
		return nil, fmt.Errorf("redact.%w", err)
	}
	return r, nil
}

const defaultIdle = 10 * time.Minute

func (c *Config) idle() time.Duration {
	if c.Daemon.IdleMinutes > 0 {
		return time.Duration(c.Daemon.IdleMinutes * float64(time.Minute))
	}
	return defaultIdle
}
