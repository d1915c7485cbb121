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
// daemon and of the engine are here.
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
	Journal store.Settings `toml:"journal"`
	// Snapshot is after how many seconds a changed page is shown to an agent as a whole again: 30 when it
	// is 0.
	Snapshot struct {
		FullAfterSeconds float64 `toml:"full_after_seconds"`
	} `toml:"snapshot"`
	// Tools are the sets of tools that an agent gets that asks for none: observe and act when it is not said.
	Tools struct {
		Sets []string `toml:"sets"`
	} `toml:"tools"`
	// Debugger is after how many seconds a pause of a page that nobody ends is ended (300 when it is 0), and
	// whether agents may run code of theirs in pages.
	Debugger struct {
		ReleaseSeconds float64 `toml:"release_seconds"`
		Evaluate       bool    `toml:"evaluate"`
	} `toml:"debugger"`
	// Browser is for how many minutes a browser without a window stays when the agent that opened it has gone: 1
	// when it is 0.
	Browser struct {
		KeepMinutes float64 `toml:"keep_minutes"`
	} `toml:"browser"`
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

// check checks the sections of the daemon and of the engine.
func (c *Config) check() error {
	if m := c.Daemon.IdleMinutes; m < 0 || m > 1<<20 {
		return errors.New("daemon: idle_minutes must be more than 0")
	}
	if s := c.Snapshot.FullAfterSeconds; s < 0 || s > 1<<20 {
		return errors.New("snapshot: full_after_seconds must be more than 0")
	}
	if s := c.Debugger.ReleaseSeconds; s < 0 || s > 1<<20 {
		return errors.New("debugger: release_seconds must be more than 0")
	}
	if m := c.Browser.KeepMinutes; m < 0 || m > 1<<20 {
		return errors.New("browser: keep_minutes must be more than 0")
	}
	if c.HTTP.Port < 0 || c.HTTP.Port > 65535 {
		return errors.New("http: port must be from 1 to 65535")
	}
	if c.Tools.Sets != nil {
		var err error
		if c.Tools.Sets, err = tool.CheckSets(c.Tools.Sets); err != nil {
			return fmt.Errorf("tools: %w", err)
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

// fullAfter is after how long a changed page is shown as a whole again, 0 for the engine's own.
func (c *Config) fullAfter() time.Duration {
	return time.Duration(c.Snapshot.FullAfterSeconds * float64(time.Second))
}

// debugging is what the settings say of it.
func (c *Config) debugging() debugger.Settings {
	return debugger.Settings{Release: time.Duration(c.Debugger.ReleaseSeconds * float64(time.Second)), Evaluate: c.Debugger.Evaluate}
}

// keepOpen is how long an agent's browser stays without it, 0 for the engine's own.
func (c *Config) keepOpen() time.Duration {
	return time.Duration(c.Browser.KeepMinutes * float64(time.Minute))
}

func (c *Config) idle() time.Duration {
	if c.Daemon.IdleMinutes > 0 {
		return time.Duration(c.Daemon.IdleMinutes * float64(time.Minute))
	}
	return defaultIdle
}
