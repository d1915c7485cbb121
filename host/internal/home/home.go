// Package home defines where one user's files and sockets are, and reaches the daemon that owns them.
//
// Guarantees: [Find] creates nothing; directories and files that Tidemark creates in a home are accessible to their user
// alone; at most one process holds the daemon's lock and at most one the installation's lock, and the system releases
// both when the process ends, however it ends; [Home.Dial] never returns a connection to another user's process, and
// starts the daemon when none runs or an older one does.
package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tidemark.dev/tidemark/host/internal/safesocket"
)

// maxOwnFile bounds the files that a daemon writes for itself and the next one, in bytes.
const maxOwnFile = 64 << 10

// Env names the environment variable under whose directory everything lies when it is set.
const Env = "TIDEMARK_HOME"

// Home is where state, settings and sockets of one user lie.
type Home struct {
	// State holds what is kept; Config is the settings file; Run holds sockets and the lock.
	State, Config, Run string
	// Version is that of the program that asks: an older daemon makes way for it. "" asks for none.
	Version string
}

// Find reads the environment. It creates nothing. A relative home is made absolute in the environment too: the
// programs that this one starts have other working directories.
func Find(version string) (Home, error) {
	if dir := os.Getenv(Env); dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return Home{}, fmt.Errorf("%s is relative, and the working directory is not known: %w; set it to an absolute path", Env, err)
		}
		if err := os.Setenv(Env, dir); err != nil {
			return Home{}, err
		}
		return Home{State: dir, Config: filepath.Join(dir, "config.toml"), Run: filepath.Join(dir, "run"), Version: version}, nil
	}
	config, err := userConfigDir()
	if err != nil {
		return Home{}, fmt.Errorf("no place for settings: %w; set %s to a directory", err, Env)
	}
	h := Home{Config: filepath.Join(config, "tidemark", "config.toml"), Version: version}
	switch runtime.GOOS {
	case "darwin":
		h.State = filepath.Join(config, "Tidemark")
		h.Config = filepath.Join(h.State, "config.toml")
	case "windows":
		local, err := os.UserCacheDir() // %LocalAppData%: sockets and journals do not roam
		if err != nil {
			return Home{}, err
		}
		h.State = filepath.Join(local, "Tidemark")
	default:
		state := os.Getenv("XDG_STATE_HOME")
		if !filepath.IsAbs(state) { // the specification has relative ones be ignored
			user, err := os.UserHomeDir()
			if err != nil {
				return Home{}, fmt.Errorf("no home directory: %w; set %s to a directory", err, Env)
			}
			state = filepath.Join(user, ".local", "state")
		}
		h.State = filepath.Join(state, "tidemark")
	}
	h.Run = filepath.Join(h.State, "run")
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && runtime.GOOS == "linux" {
		h.Run = filepath.Join(dir, "tidemark")
	}
	return h, nil
}

// userConfigDir is [os.UserConfigDir], but for a relative XDG_CONFIG_HOME, which is ignored.
func userConfigDir() (string, error) {
	if dir := os.Getenv("XDG_CONFIG_HOME"); runtime.GOOS == "linux" && dir != "" && !filepath.IsAbs(dir) {
		user, err := os.UserHomeDir()
		return filepath.Join(user, ".config"), err
	}
	return os.UserConfigDir()
}

// Create makes the home's directories, for their owner alone.
func (h Home) Create() error {
	for _, dir := range []string{h.State, h.Run, filepath.Dir(h.Socket(MCPSocket))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("Tidemark's home cannot be made: %w; check its permissions, or set %s to another directory", err, Env)
		}
	}
	for _, dir := range []string{h.Run, filepath.Dir(h.Socket(MCPSocket))} {
		if err := safesocket.CheckDir(dir, Env); err != nil {
			return fmt.Errorf("the directory of Tidemark's sockets must be its user's alone: %w", err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("the directory of Tidemark's sockets must be its user's alone: %w", err)
		}
	}
	return nil
}

// Sockets of the daemon.
const (
	RelaySocket   = "relay.sock"   // frames of the extension
	MCPSocket     = "mcp.sock"     // newline-delimited JSON-RPC of agents
	ControlSocket = "control.sock" // HTTP of the command line
)

// maxSocketPath is the shortest limit among the systems (macOS: 104 bytes with the terminator).
const maxSocketPath = 103

// Socket is the path of a socket: below the home, or, where that is too long for the system, below
// the directory for temporary files, in one that is named after the home.
func (h Home) Socket(name string) string {
	path := filepath.Join(h.Run, name)
	if len(path) <= maxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(h.Run))
	dir := fmt.Sprintf("tidemark-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6]))
	return filepath.Join(os.TempDir(), dir, name)
}

// Extensions is where the embedded extension is unpacked.
func (h Home) Extensions() string { return filepath.Join(h.State, "extension") }

// Profile is that of the browser that `tidemark browser` opens.
func (h Home) Profile() string { return filepath.Join(h.State, "browser") }

// Journal is the file of what survives the daemon.
func (h Home) Journal() string { return filepath.Join(h.State, "journal.db") }

// Noise is the file of the user's noise rules.
func (h Home) Noise() string { return filepath.Join(h.State, "noise.json") }

// Token is the file of the secret that HTTP clients show.
func (h Home) Token() string { return filepath.Join(h.State, "token") }

// Log is the daemon's log file.
func (h Home) Log() string { return filepath.Join(h.State, "daemon.log") }

func (h Home) infoFile() string { return filepath.Join(h.Run, "daemon.json") }

func (h Home) installLock() string { return filepath.Join(h.State, "install.lock") }

func (h Home) lockFile() string { return filepath.Join(h.Run, "daemon.lock") }

// Kept lists what Tidemark keeps and is there: captures, settings, the log, its own browser's profile.
// Whatever else may lie in the same directories is not in it.
func (h Home) Kept() []string {
	var all []string
	for _, path := range []string{h.Token(), h.Log(), h.Extensions(), h.Profile(), h.Config} {
		if _, err := os.Lstat(path); err == nil {
			all = append(all, path)
		}
	}
	entries, _ := os.ReadDir(h.State) // one that cannot be read keeps nothing that can be removed
	for _, e := range entries {
		for _, file := range []string{h.Journal(), h.Noise()} {
			if strings.HasPrefix(e.Name(), filepath.Base(file)) {
				all = append(all, filepath.Join(h.State, e.Name())) // damaged ones that were set aside too
			}
		}
	}
	return all
}

// Leave removes what only a running daemon needs, and directories in which nothing is left. Call it when
// none runs.
func (h Home) Leave() error {
	sockets := filepath.Dir(h.Socket(MCPSocket))
	for _, path := range []string{h.infoFile(), h.lockFile(), h.dashboardFile(), h.Socket(RelaySocket), h.Socket(MCPSocket), h.Socket(ControlSocket)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(h.installLock()) // on Windows it goes when it is given back
	for _, dir := range []string{sockets, h.Run, h.Extensions(), filepath.Dir(h.Config)} {
		_ = os.Remove(dir) // refuses what holds something of somebody else's
	}
	if err := os.Remove(h.State); err != nil || os.Getenv(Env) != "" {
		return nil
	}
	// A home in ~/.local/state may have been the first thing there.
	if user, err := os.UserHomeDir(); err == nil && filepath.Dir(h.State) == filepath.Join(user, ".local", "state") {
		for dir := filepath.Dir(h.State); dir != user; dir = filepath.Dir(dir) {
			_ = os.Remove(dir)
		}
	}
	return nil
}

// CheckSockets makes sure that the sockets of the daemon that runs, and their directory, are their user's
// alone.
func (h Home) CheckSockets() error {
	dir := filepath.Dir(h.Socket(MCPSocket))
	if err := safesocket.CheckDir(dir, Env); err != nil {
		return err
	}
	for path, want := range map[string]fs.FileMode{
		dir: 0o700, h.Socket(MCPSocket): 0o600, h.Socket(RelaySocket): 0o600, h.Socket(ControlSocket): 0o600,
	} {
		if err := safesocket.Check(path, want); err != nil {
			return err
		}
	}
	return nil
}
