package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/launch"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/installer/safefile"
)

// Bounds of the files of settings: in bytes, and how many keys config.toml may define.
const (
	maxSettings   = 4 << 20
	maxConfigKeys = 4096
)

// Config is config.toml: a section for each package that has settings. Packages define and check their own; those of the
// daemon are here.
type Config struct {
	// Buffers bounds what is held in memory.
	Buffers capture.Settings `toml:"buffers"`
	// Daemon is how long the daemon stays when nobody is connected: 10 minutes when it is 0.
	Daemon struct {
		IdleMinutes float64 `toml:"idle_minutes"`
	} `toml:"daemon"`
	// HTTP serves agents over streamable HTTP on a port of the loopback interface; 0: it does not.
	HTTP struct {
		Port int `toml:"port"`
	} `toml:"http"`
	// Journal bounds what is kept on disk.
	Journal  store.Settings    `toml:"journal"`
	Snapshot pages.Settings    `toml:"snapshot"`
	Tools    tool.Settings     `toml:"tools"`
	Debugger debugger.Settings `toml:"debugger"`
	Browser  launch.Settings   `toml:"browser"`
	// Redact is what a person adds to the rules of what is secret.
	Redact redact.User `toml:"redact"`
}

// ReadConfig reads the settings file; one that is not there sets nothing. The error names the line.
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

// Limits are the bounds of the buffers and of the journal that the settings ask for. The error names the section with
// a setting that is out of range, whichever section it is.
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

// check checks the sections that are used as they are.
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
	}{{"snapshot", c.Snapshot.Check()}, {"tools", c.Tools.Check()}, {"debugger", c.Debugger.Check()}, {"browser", c.Browser.Check()}} {
		if s.err != nil {
			return fmt.Errorf("%s: %w", s.name, s.err)
		}
	}
	return nil
}

// Redactor masks by the rules that Tidemark comes with and those of the settings.
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
