package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"golang.org/x/mod/semver"

	"tidemark.dev/tidemark/host/internal/filelock"
	"tidemark.dev/tidemark/installer/safefile"
)

// ErrRunning reports that another daemon serves this home.
var ErrRunning = errors.New("another Tidemark daemon is already running")

// info is the record that a daemon writes about itself while it runs.
type info struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
}

// WriteInfo records this process as the daemon of the home, with its version. It is ready to be asked and to be replaced.
func (h Home) WriteInfo() error { return writeInfo(h, info{h.Version, os.Getpid()}) }

func writeInfo(h Home, i info) error {
	data, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return safefile.Overwrite(h.infoFile(), data)
}

// readInfo returns the record of the last daemon, empty without one.
func (h Home) readInfo() (i info) {
	data, err := safefile.Read(h.infoFile(), maxOwnFile)
	if err != nil || json.Unmarshal(data, &i) != nil {
		return info{}
	}
	i.PID = max(i.PID, 0) // a signal to a negative number reaches every process of a group
	return i
}

// Answers reports whether a daemon responds before ctx ends, even while it is busy.
func (h Home) Answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://tidemark/", nil)
	if err != nil {
		return false
	}
	client := h.client()
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // any status is a response
	return true
}

// client returns an HTTP client for a running daemon.
func (h Home) client() http.Client {
	return http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return h.DialRunning(ctx, ControlSocket) },
	}}
}

// running returns the record of the running daemon, empty when none runs.
func (h Home) running() info {
	i := h.readInfo()
	if running, err := h.Running(); err != nil || !running {
		return info{}
	}
	return i
}

// PID returns the process ID of the running daemon, 0 when none runs or its record cannot be read.
func (h Home) PID() int { return h.running().PID }

// takeOver stops a daemon that is older than this program, so that the next one has this program's version. It
// returns when the old daemon has exited and its data is on disk. It never stops a newer daemon.
func (h Home) takeOver(ctx context.Context) error {
	if h.Version == "" {
		return nil
	}
	old := h.running().Version
	if old == "" || semver.Compare("v"+old, "v"+h.Version) >= 0 {
		return nil
	}
	if err := h.Stop(ctx); err != nil {
		return fmt.Errorf("cannot replace the daemon of version %s with version %s: %w", old, h.Version, err)
	}
	return nil
}

// stopTimeout is how long a daemon may take to exit.
const stopTimeout = 10 * time.Second

// Stop stops the daemon and returns when it has exited. It succeeds when no daemon runs.
func (h Home) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	client := h.client()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://tidemark/v1/stop", nil)
	if err != nil {
		return err
	}
	pid := h.PID()
	resp, asked := client.Do(req)
	if asked == nil {
		_ = resp.Body.Close()
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		running, err := h.Running()
		if err != nil || !running {
			return err
		}
		if next := h.PID(); pid != 0 && next != 0 && next != pid {
			return nil // another daemon has already started
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s did not exit within %s. %s.", Named(pid), stopTimeout, EndByHand(pid)), asked)
		case <-look.C:
		}
	}
}

// StopForUser is [Home.Stop] on a user's request: the relays that are connected do not start another daemon ([Stopped]).
func StopForUser(ctx context.Context, h Home) error {
	if err := safefile.Overwrite(stoppedFile(h), nil); err != nil {
		return err
	}
	if err := h.Stop(ctx); err != nil {
		return errors.Join(err, Started(h))
	}
	return nil
}

// Stopped reports whether the user stopped the daemon and none has started since.
func Stopped(h Home) bool {
	_, err := os.Lstat(stoppedFile(h))
	return err == nil
}

// Started ends what [StopForUser] began. A daemon calls it when it starts.
func Started(h Home) error {
	if err := os.Remove(stoppedFile(h)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// comeBack is how long a disconnected client may take to start another daemon, even on a busy machine.
const comeBack = 4 * time.Second

// StartedAgain reports whether a browser or an agent restarts the daemon after [Home.Stop]. It watches for as long
// as extensions need to reconnect.
func (h Home) StartedAgain(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, comeBack)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if running, err := h.Running(); err != nil || running {
			return running, err
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-look.C:
		}
	}
}

// Named names the daemon by its process ID, which is 0 if it is unknown.
func Named(pid int) string {
	if pid == 0 {
		return "the daemon"
	}
	return fmt.Sprintf("the daemon (process %d)", pid)
}

// EndByHand returns how a user ends a daemon that does not respond. The process ID is 0 if it is unknown.
func EndByHand(pid int) string {
	switch {
	case pid == 0:
		return "End the process `tidemark serve`"
	case runtime.GOOS == "windows":
		return fmt.Sprintf("Run `taskkill /F /PID %d`", pid)
	}
	return fmt.Sprintf("Run `kill -9 %d`", pid)
}

// Owns reports whether a daemon with this lock still owns the home: while it runs, its user may remove the home, or a system
// the directory of sockets at the end of a login. Nobody reaches it then, and another daemon may start.
func Owns(h Home, lock *os.File) bool {
	mine, err := lock.Stat()
	if err != nil {
		return true // nothing is known
	}
	now, err := os.Stat(lockFile(h))
	_, state := os.Stat(h.State)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(state, fs.ErrNotExist) && (err != nil || os.SameFile(mine, now))
}

// Lock takes the daemon's lock, which allows one daemon per home. It waits for a daemon that is just exiting. The record names this
// process from then on: the number of the daemon before may be that of any process now.
func (h Home) Lock(ctx context.Context) (*os.File, error) {
	f, err := safefile.Own(lockFile(h), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("cannot create the lock: %w. Make %s writable or set %s to another directory.", err, h.Run, Env)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		err := filelock.Try(f)
		if err == nil {
			if writeInfo(h, info{PID: os.Getpid()}) != nil {
				_ = os.Remove(h.infoFile()) // then it names none
			}
			return f, nil
		}
		if errors.Is(err, filelock.ErrTaken) {
			err = nil
			if conn, dialErr := h.DialRunning(ctx, ControlSocket); dialErr == nil {
				_ = conn.Close()
				err = fmt.Errorf("%w (home %s). Run `tidemark stop` to stop it.", ErrRunning, h.State)
			}
		} else {
			err = fmt.Errorf("cannot take the lock %s: %w", lockFile(h), err)
		}
		if err == nil {
			select {
			case <-ctx.Done():
				err = fmt.Errorf("%w, but does not respond (home %s). %s.", ErrRunning, h.State, EndByHand(h.PID()))
			case <-look.C:
				continue
			}
		}
		_ = f.Close()
		return nil, err
	}
}
