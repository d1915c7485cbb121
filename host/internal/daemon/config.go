package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
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
	"tidemark.dev/tidemark/host/internal/safesocket"
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

	file configFile
}

// ReadConfig reads the settings file. A missing file gives the defaults. The error names the line and what to do.
func ReadConfig(path string) (*Config, error) {
	data, info, err := safefile.ReadInfo(path, maxSettings)
	if errors.Is(err, os.ErrNotExist) {
		return &Config{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := safesocket.CheckWriters(path, info); err != nil {
		return nil, err
	}
	c := &Config{file: configFile{path, data}}
	if err := safefile.CheckTOML(data, maxConfigKeys); err != nil {
		return nil, c.file.mistake(0, err.Error())
	}
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, c.file.undecoded(err)
	}
	if section, key := notNumber(reflect.ValueOf(*c)); key != "" {
		return nil, c.file.outOfRange(section, fmt.Errorf("%s must be a number, and not nan", key))
	}
	if _, _, err := c.Limits(); err != nil {
		return nil, err
	}
	return c, nil
}

// notNumber returns the section and key of the first setting that is nan, which is within every range.
func notNumber(settings reflect.Value) (section, key string) {
	for field, value := range settings.Fields() {
		name := field.Tag.Get("toml")
		switch {
		case !field.IsExported():
		case value.Kind() == reflect.Pointer && !value.IsNil() && value.Elem().Kind() == reflect.Float64 && math.IsNaN(value.Elem().Float()),
			value.Kind() == reflect.Float64 && math.IsNaN(value.Float()):
			return "", name
		case value.Kind() == reflect.Struct:
			if within, key := notNumber(value); key != "" {
				return strings.TrimSuffix(name+"."+within, "."), key
			}
		}
	}
	return "", ""
}

// CheckConfig returns an error if a daemon cannot start with the settings file. It is that of [ReadConfig].
func CheckConfig(path string) error {
	c, err := ReadConfig(path)
	if err == nil && !reflect.ValueOf(c.Redact).IsZero() { // the built-in rules need no check
		_, err = c.Redactor()
	}
	return err
}

// Limits returns the configured limits of the buffers and the journal. It checks every section, and the error names the
// line, the section with a setting that is out of range, and what to do.
func (c *Config) Limits() (buffers capture.Limits, journal store.Limits, err error) {
	if journal, err = c.Journal.Limits(); err != nil {
		return buffers, journal, c.file.outOfRange("journal", err)
	}
	if buffers, err = c.Buffers.Limits(); err != nil {
		name, reason, _ := strings.Cut(err.Error(), ": ")
		return buffers, journal, c.file.outOfRange("buffers."+name, errors.New(reason))
	}
	return buffers, journal, c.check()
}

// check checks the sections that need no conversion.
func (c *Config) check() error {
	if m := c.Daemon.IdleMinutes; m < 0 || m > 1<<20 {
		return c.file.outOfRange("daemon", errors.New("idle_minutes must be more than 0"))
	}
	if c.HTTP.Port < 0 || c.HTTP.Port > 65535 {
		return c.file.outOfRange("http", errors.New("port must be from 1 to 65535"))
	}
	for _, s := range []struct {
		name string
		err  error
	}{{"snapshot", c.Snapshot.Check()}, {"tools", c.Tools.Check()}, {"debugger", c.Debugger.Check()}, {"browser", c.Browser.Check()}, {"snapshots", c.Snapshots.Check()}, {"timeline", c.Timeline.Check()}, {"branches", c.Branches.Check()}, {"recordings", c.Recordings.Check()}, {"terminals", c.Terminals.Check()}} {
		if s.err != nil {
			return c.file.outOfRange(s.name, s.err)
		}
	}
	return nil
}

// Redactor returns a redactor with the built-in rules and the rules of the settings. The error is as that of [Config.Limits].
func (c *Config) Redactor() (*redact.Redactor, error) {
	r, err := redact.Extend(redact.DefaultRules(), c.Redact)
	if err != nil {
		name, reason, _ := strings.Cut(err.Error(), ": ")
		return nil, c.file.outOfRange("redact."+name, errors.New(reason))
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
