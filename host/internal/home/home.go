// Package home defines where one user's files and sockets are, and reaches the daemon that owns them.
//
// Guarantees:
//   - [Find] creates nothing, and refuses a home that other users may write to.
//   - Directories and files that Tidemark creates in a home are accessible only to their user.
//   - At most one process holds the daemon's lock, the installation's lock and that of the grants. The system releases
//     them when the process ends, however it ends.
//   - [Home.Dial] never returns a connection to another user's process. It starts the daemon when none runs, and
//     replaces an older one.
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

// maxOwnFile bounds, in bytes, the files that a daemon writes for itself and its successor.
const maxOwnFile = 64 << 10

// Env is the environment variable that names the home. When it is set, all files are below it.
const Env = "TIDEMARK_HOME"

// Home locates the state, settings and sockets of one user.
type Home struct {
	// State is the directory of persistent data, Config the settings file, and Run the directory of sockets and lock.
	State, Config, Run string
	// Version is the version of this program, which replaces an older daemon. "" replaces none.
	Version string
}

// Find reads the environment and creates nothing. It makes a relative home absolute in the environment too, because
// programs that this one starts have other working directories.
func Find(version string) (Home, error) {
	if dir := os.Getenv(Env); dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return Home{}, fmt.Errorf("%s is relative and the working directory is unknown: %w. Set it to an absolute path.", Env, err)
		}
		if err := os.Setenv(Env, dir); err != nil {
			return Home{}, err
		}
		h := Home{State: dir, Config: filepath.Join(dir, "config.toml"), Run: filepath.Join(dir, "run"), Version: version}
		return h, trusted(h)
	}
	config, err := userConfigDir()
	if err != nil {
		return Home{}, fmt.Errorf("cannot find the settings directory: %w. Set %s to a directory.", err, Env)
	}
	h := Home{Config: filepath.Join(config, "tidemark", "config.toml"), Version: version}
	switch runtime.GOOS {
	case "darwin":
		h.State = filepath.Join(config, "Tidemark")
		h.Config = filepath.Join(h.State, "config.toml")
	case "windows":
		local, err := os.UserCacheDir() // %LocalAppData%, because sockets and journals must not roam
		if err != nil {
			return Home{}, err
		}
		h.State = filepath.Join(local, "Tidemark")
	default:
		state := os.Getenv("XDG_STATE_HOME")
		if !filepath.IsAbs(state) { // the XDG specification ignores relative paths
			user, err := os.UserHomeDir()
			if err != nil {
				return Home{}, fmt.Errorf("cannot find the home directory: %w. Set %s to a directory.", err, Env)
			}
			state = filepath.Join(user, ".local", "state")
		}
		h.State = filepath.Join(state, "tidemark")
	}
	h.Run = filepath.Join(h.State, "run")
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && runtime.GOOS == "linux" {
		h.Run = filepath.Join(dir, "tidemark")
	}
	return h, trusted(h)
}

// trusted returns an error if another user may write to the directories of data and settings. A missing one is fine.
func trusted(h Home) error {
	for _, dir := range []string{h.State, filepath.Dir(h.Config)} {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() {
			continue // whatever uses it reports that
		}
		if err := safesocket.CheckWriters(dir, info); err != nil {
			return fmt.Errorf("Tidemark's home is not safe: %w", err)
		}
	}
	return nil
}

// userConfigDir is [os.UserConfigDir], but ignores a relative XDG_CONFIG_HOME.
func userConfigDir() (string, error) {
	if dir := os.Getenv("XDG_CONFIG_HOME"); runtime.GOOS == "linux" && dir != "" && !filepath.IsAbs(dir) {
		user, err := os.UserHomeDir()
		return filepath.Join(user, ".config"), err
	}
	return os.UserConfigDir()
}

// Create makes the home's directories, accessible only to their owner.
func (h Home) Create() error {
	for _, dir := range []string{h.State, h.Run, filepath.Dir(h.Socket(MCPSocket))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("cannot create Tidemark's home: %w. Check its permissions or set %s to another directory.", err, Env)
		}
	}
	for _, dir := range []string{h.Run, filepath.Dir(h.Socket(MCPSocket))} {
		if err := safesocket.CheckDir(dir, Env); err != nil {
			return fmt.Errorf("the directory of Tidemark's sockets must belong only to you: %w", err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("the directory of Tidemark's sockets must belong only to you: %w", err)
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

// Socket returns the path of a socket below the home. If that path is too long for the system, the socket is
// in a directory for this home below the temporary directory.
func (h Home) Socket(name string) string {
	path := filepath.Join(h.Run, name)
	if len(path) <= maxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(h.Run))
	dir := fmt.Sprintf("tidemark-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6]))
	return filepath.Join(os.TempDir(), dir, name)
}

// Extensions is the directory of unpacked copies of the embedded extension.
func (h Home) Extensions() string { return filepath.Join(h.State, "extension") }

// Profile is the browser profile of `tidemark browser`.
func (h Home) Profile() string { return filepath.Join(h.State, "browser") }

// Journal is the file of captured data, which survives the daemon.
func (h Home) Journal() string { return filepath.Join(h.State, "journal.db") }

// Noise is the file of the user's noise rules.
func (h Home) Noise() string { return filepath.Join(h.State, "noise.json") }

// Grants is the file of what the user allowed in projects. It is beside the settings.
func (h Home) Grants() string { return filepath.Join(filepath.Dir(h.Config), "grants.json") }

func (h Home) grantsLock() string { return filepath.Join(filepath.Dir(h.Config), "grants.lock") }

// Timeline is the file of sessions and moments.
func (h Home) Timeline() string { return filepath.Join(h.State, "timeline.db") }

// Workspaces is the directory of file snapshots.
func (h Home) Workspaces() string { return filepath.Join(h.State, "workspaces") }

// Terminals is the directory of recordings of terminals.
func (h Home) Terminals() string { return filepath.Join(h.State, "terminals") }

// Branches is the directory of branches.
func (h Home) Branches() string { return filepath.Join(h.State, "branches") }

// Recordings is the directory of recorded conversations, and of what hooks reported while no daemon ran.
func (h Home) Recordings() string { return filepath.Join(h.State, "recordings") }

// Token is the file of the secret that HTTP clients send.
func (h Home) Token() string { return filepath.Join(h.State, "token") }

// Log is the daemon's log file.
func (h Home) Log() string { return filepath.Join(h.State, "daemon.log") }

func (h Home) infoFile() string { return filepath.Join(h.Run, "daemon.json") }

func (h Home) installLock() string { return filepath.Join(h.State, "install.lock") }

func stoppedFile(h Home) string { return filepath.Join(h.Run, "stopped") }

func lockFile(h Home) string { return filepath.Join(h.Run, "daemon.lock") }

// Kept lists Tidemark's existing data: captures, file snapshots, recorded conversations and terminals, settings, grants, the
// log and its own browser profile. It omits branches, which have the user's work, and all other files in the same
// directories.
func (h Home) Kept() []string {
	var all []string
	for _, path := range []string{h.Token(), h.Log(), clockFile(h), h.Extensions(), h.Profile(), h.Config, h.Grants(), h.Workspaces(), h.Recordings(), h.Terminals()} {
		if _, err := os.Lstat(path); err == nil {
			all = append(all, path)
		}
	}
	entries, _ := os.ReadDir(h.State) // an unreadable directory has nothing to remove
	for _, e := range entries {
		for _, file := range []string{h.Journal(), h.Noise(), h.Timeline()} {
			if strings.HasPrefix(e.Name(), filepath.Base(file)) {
				all = append(all, filepath.Join(h.State, e.Name())) // includes damaged files that were set aside
			}
		}
	}
	return all
}

// Leave removes files that only a running daemon needs, and then empty directories. Call it when no daemon
// runs.
func (h Home) Leave() error {
	sockets := filepath.Dir(h.Socket(MCPSocket))
	for _, path := range []string{h.infoFile(), lockFile(h), stoppedFile(h), h.dashboardFile(), h.Socket(RelaySocket), h.Socket(MCPSocket), h.Socket(ControlSocket)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(h.installLock()) // on Windows it is removed on release
	_ = os.Remove(h.grantsLock())  // on Windows it stays after release
	for _, dir := range []string{sockets, h.Run, h.Extensions(), filepath.Dir(h.Config)} {
		_ = os.Remove(dir) // fails if the directory still contains other files
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

// CheckSockets checks that the sockets of the running daemon and their directory belong only to their user.
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
