package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"golang.org/x/mod/semver"

	"tidemark.dev/tidemark/installer/safefile"
)

// ErrRunning says that another daemon serves this home.
var ErrRunning = errors.New("another Tidemark daemon runs already")

// info is what a daemon writes down of itself while it runs.
type info struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
}

// WriteInfo writes down what this process is, as the daemon of the home.
func (h Home) WriteInfo() error {
	data, err := json.Marshal(info{h.Version, os.Getpid()})
	if err != nil {
		return err
	}
	return os.WriteFile(h.infoFile(), data, 0o600)
}

// readInfo is what the last daemon wrote down of itself.
func (h Home) readInfo() (i info) {
	data, err := safefile.Read(h.infoFile(), maxOwnFile)
	if err != nil || json.Unmarshal(data, &i) != nil {
		return info{}
	}
	return i
}

// Answers says whether a daemon answers before ctx ends, whatever it is busy with.
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
	_ = resp.Body.Close() // that there is nothing is an answer
	return true
}

// client speaks with a daemon that runs already.
func (h Home) client() http.Client {
	return http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return h.DialRunning(ctx, ControlSocket) },
	}}
}

// running is what the daemon that runs wrote down of itself, nothing when none does.
func (h Home) running() info {
	i := h.readInfo()
	if running, err := h.Running(); err != nil || !running {
		return info{}
	}
	return i
}

// PID is the process of the daemon that runs, 0 when none does.
func (h Home) PID() int { return h.running().PID }

// takeOver ends a daemon that is older than this program, so that the next one is of this program's
// version. It returns when the old one has ended: all that it had is on disk then. What an older program
// meets is left as it is.
func (h Home) takeOver(ctx context.Context) error {
	if h.Version == "" {
		return nil
	}
	old := h.running().Version
	if old == "" || semver.Compare("v"+old, "v"+h.Version) >= 0 {
		return nil
	}
	if err := h.Stop(ctx); err != nil {
		return fmt.Errorf("the daemon of version %s could not be ended for this one, %s: %w", old, h.Version, err)
	}
	return nil
}

// stopTimeout is how long a daemon may take to end.
const stopTimeout = 10 * time.Second

// Stop ends the daemon and returns when it has ended; none is fine.
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
			return nil // somebody has started another already
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the daemon (process %d) has not ended within %s; %s", pid, stopTimeout, EndByHand(pid)), asked)
		case <-look.C:
		}
	}
}

// comeBack is how long it takes somebody who was cut off, on a busy machine too, to have started another daemon.
const comeBack = 4 * time.Second

// StartedAgain watches, for a time that browsers' extensions need to come back, whether somebody starts the
// daemon anew after [Home.Stop].
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

// EndByHand says how a person ends a daemon that does not answer.
func EndByHand(pid int) string {
	if runtime.GOOS == "windows" {
		return fmt.Sprintf("`taskkill /F /PID %d` ends it", pid)
	}
	return fmt.Sprintf("`kill -9 %d` ends it", pid)
}

// Lock takes the lock that makes the daemon of the home single. One that is held by a daemon that is just ending is waited for.
func (h Home) Lock(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(h.lockFile(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock cannot be made: %w; Tidemark must be able to write to %s, or set %s to another directory", err, h.Run, Env)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		got, err := tryLock(f)
		if got {
			return f, nil
		}
		if err == nil {
			if conn, dialErr := h.DialRunning(ctx, ControlSocket); dialErr == nil {
				_ = conn.Close()
				err = fmt.Errorf("%w (home %s); `tidemark stop` ends it", ErrRunning, h.State)
			}
		} else {
			err = fmt.Errorf("the lock %s cannot be taken: %w", h.lockFile(), err)
		}
		if err == nil {
			select {
			case <-ctx.Done():
				err = fmt.Errorf("%w, but it does not answer (home %s); end it by hand", ErrRunning, h.State)
			case <-look.C:
				continue
			}
		}
		_ = f.Close()
		return nil, err
	}
}
