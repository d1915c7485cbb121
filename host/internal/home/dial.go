package home

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/filelock"
	"tidemark.dev/tidemark/host/internal/safesocket"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
	"tidemark.dev/tidemark/installer/safefile"
)

// ErrUnreachable reports that no daemon can be reached or started.
var ErrUnreachable = errors.New("cannot reach the Tidemark daemon")

// startTimeout is how long a daemon may take from its start to its first connection.
const startTimeout = 10 * time.Second

// Dying is how long a killed daemon may still accept connections. They break at once.
const Dying = 300 * time.Millisecond

// Dial connects to a socket of the daemon. It starts the daemon when none runs, and replaces an older one.
func (h Home) Dial(ctx context.Context, socket string) (net.Conn, error) {
	apart := len(ownpath.Here()) > 0 // a daemon that this process starts would take the branch for its original
	if !apart {
		if err := h.takeOver(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
	}
	conn, err := h.DialRunning(ctx, socket)
	if err == nil || errors.Is(err, safesocket.ErrStranger) {
		return conn, err
	}
	if apart {
		return nil, fmt.Errorf("%w: none runs, and it cannot be started by what sees a branch at the path of its original. Run `tidemark status` in another terminal.", ErrUnreachable)
	}
	if err := h.Create(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	ended, from, err := h.spawn()
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be started: %w", ErrUnreachable, err)
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
			return nil, fmt.Errorf("%w: it did not respond within %s. See %s.", ErrUnreachable, startTimeout, h.Log())
		case <-ended:
			// It failed, or found another daemon, which will respond. Try once more.
			ended = nil
			if running, _ := h.Running(); !running {
				if conn, err = h.DialRunning(ctx, socket); err == nil {
					return conn, nil
				}
				return nil, fmt.Errorf("%w: it exited immediately%s. See %s.", ErrUnreachable, lastWords(h, from), h.Log())
			}
		case <-retry.C:
		}
	}
}

// DialRunning connects to a socket of a running daemon.
func (h Home) DialRunning(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", h.Socket(socket))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if err := safesocket.CheckPeer(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w. Set %s to a directory that you own.", h.Socket(socket), err, Env)
	}
	return conn, nil
}

// Running reports whether a daemon holds the lock.
func (h Home) Running() (bool, error) {
	f, err := safefile.Own(lockFile(h), os.O_RDWR)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	if err = filelock.Try(f); errors.Is(err, filelock.ErrTaken) {
		return true, nil
	}
	return false, err
}

// lastWords returns the last line of the log after a byte, as the end of a sentence: an error that ended the daemon.
func lastWords(h Home, from int64) string {
	f, _, err := safefile.Open(h.Log())
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(f, from, maxLastWords))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	line := strings.TrimRight(strings.TrimPrefix(lines[len(lines)-1], "tidemark: "), ".\r")
	if line == "" {
		return ""
	}
	return ": " + line
}

// maxLastWords is the size in bytes in which the last line of the log is looked for.
const maxLastWords = 16 << 10

// spawn starts this program as a daemon that outlives this process. The channel is closed when the daemon
// exits. Its log begins after a byte.
func (h Home) spawn() (ended <-chan struct{}, from int64, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	log, err := openLog(h.Log())
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = log.Close() }()
	info, err := log.Stat()
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.Command(self, "serve")
	cmd.Dir = h.State
	cmd.Stdout, cmd.Stderr = log, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	exited := make(chan struct{})
	go func() { // ends with the daemon or with this process, whichever is first
		_ = cmd.Wait()
		close(exited)
	}()
	return exited, info.Size(), nil
}

// maxLog is the size in bytes above which the log is truncated.
const maxLog = 4 << 20

func openLog(path string) (*os.File, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() { // opening a pipe would block, and a link leads elsewhere
			return nil, fmt.Errorf("%s is not a file. Remove it.", path)
		}
		if info.Size() > maxLog {
			flags |= os.O_TRUNC
		}
	}
	return os.OpenFile(path, flags, 0o600)
}
