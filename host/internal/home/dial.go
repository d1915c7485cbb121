package home

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"tidemark.dev/tidemark/host/internal/safesocket"
)

// ErrUnreachable says that there is no daemon and none could be started.
var ErrUnreachable = errors.New("the Tidemark daemon cannot be reached")

// startTimeout is how long a daemon may take from its start to its first connection.
const startTimeout = 10 * time.Second

// Dial connects to a socket of the daemon, and starts the daemon when there is none, or an older one.
func (h Home) Dial(ctx context.Context, socket string) (net.Conn, error) {
	if err := h.takeOver(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	conn, err := h.DialRunning(ctx, socket)
	if err == nil || errors.Is(err, safesocket.ErrStranger) {
		return conn, err
	}
	if err := h.Create(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	ended, err := h.spawn()
	if err != nil {
		return nil, fmt.Errorf("%w: it could not be started: %w", ErrUnreachable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	for {
		if conn, err = h.DialRunning(ctx, socket); err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: it did not answer within %s; see %s", ErrUnreachable, startTimeout, h.Log())
		case <-ended:
			// It found another daemon, which will answer, or failed: one last look.
			ended = nil
			if running, _ := h.Running(); !running {
				if conn, err = h.DialRunning(ctx, socket); err == nil {
					return conn, nil
				}
				return nil, fmt.Errorf("%w: it ended at once; see %s", ErrUnreachable, h.Log())
			}
		case <-retry.C:
		}
	}
}

// DialRunning connects to a socket of a daemon that runs already.
func (h Home) DialRunning(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", h.Socket(socket))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if err := safesocket.CheckPeer(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w; set %s to a directory of your own", h.Socket(socket), err, Env)
	}
	return conn, nil
}

// Running says whether a daemon holds the lock.
func (h Home) Running() (bool, error) {
	f, err := os.OpenFile(h.lockFile(), os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	free, err := tryLock(f)
	return err == nil && !free, err
}

// spawn starts a daemon of this program that outlives this process. The channel is closed when it
// ends.
func (h Home) spawn() (<-chan struct{}, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := openLog(h.Log())
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(self, "serve")
	cmd.Dir = h.State
	cmd.Stdout, cmd.Stderr = log, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { // ends with the daemon or with this process, whichever is first
		_ = cmd.Wait()
		close(ended)
	}()
	return ended, nil
}

// maxLog is the size at which the log begins anew, in bytes.
const maxLog = 4 << 20

func openLog(path string) (*os.File, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() { // a pipe would be waited for
			return nil, fmt.Errorf("%s is not a file; remove it", path)
		}
		if info.Size() > maxLog {
			flags |= os.O_TRUNC
		}
	}
	return os.OpenFile(path, flags, 0o600)
}
