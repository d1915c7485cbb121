package browser

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/filelock"
)

const (
	// tempPrefix is the prefix of the name of every temporary profile.
	tempPrefix = "tidemark-browser-"
	// lockName is the lock file in a kept profile.
	lockName = "tidemark.lock"
	// lockSuffix names the file beside a temporary profile that its owner keeps locked.
	lockSuffix = ".lock"
	// removeTimeout bounds how long exiting processes may keep files open.
	removeTimeout = 5 * time.Second
	// noGroup stands for an unknown process group, when only the profile is known.
	noGroup = 0
)

// profile is a locked user data directory.
type profile struct {
	dir string
	// lock is held for as long as the profile is in use.
	lock *os.File
	// temporary profiles are removed at the end.
	temporary bool
}

// openProfile creates the profile's directory. An empty dir means a temporary one, and also removes temporary
// profiles that dead processes left behind.
func openProfile(dir string) (*profile, error) {
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("cannot resolve the user data directory %s: %w", dir, err)
		}
		if err := os.MkdirAll(abs, 0o700); err != nil {
			return nil, fmt.Errorf("cannot create the user data directory: %w", err)
		}
		lock, err := filelock.Open(filepath.Join(abs, lockName))
		if errors.Is(err, filelock.ErrTaken) {
			// Two browsers with one profile would end each other.
			return nil, fmt.Errorf("another browser that Tidemark opened is using the profile %s. Open the page in that browser or close it, or run `tidemark browser --temporary`.", abs)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot lock the user data directory: %w", err)
		}
		return &profile{dir: abs, lock: lock}, nil
	}
	sweep(os.TempDir())
	tmp := os.TempDir()
	// The browser resolves links, so pass the resolved path.
	if real, err := filepath.EvalSymlinks(tmp); err == nil {
		tmp = real
	}
	for range 10 {
		dir := filepath.Join(tmp, tempPrefix+strings.ToLower(rand.Text()[:10]))
		// Lock first, because a directory without a lock has no owner.
		lock, err := filelock.Open(dir + lockSuffix)
		if err != nil {
			if errors.Is(err, filelock.ErrTaken) {
				continue // another launch swept it between its creation and its lock
			}
			return nil, fmt.Errorf("cannot create a temporary profile: %w", err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot create a temporary profile: %w", err), lock.Close(), os.Remove(dir+lockSuffix))
		}
		return &profile{dir: dir, lock: lock, temporary: true}, nil
	}
	return nil, fmt.Errorf("cannot create a temporary profile in %s: %w", tmp, filelock.ErrTaken)
}

// close releases the profile and removes a temporary one.
func (p *profile) close() error {
	if !p.temporary {
		return p.lock.Close()
	}
	err := removeProfile(p.dir)
	if err != nil {
		err = fmt.Errorf("cannot remove the temporary profile: %w", err)
	}
	return errors.Join(err, p.lock.Close(), os.Remove(p.dir+lockSuffix))
}

// removeProfile removes a profile that no browser uses. It also removes the directory of the browser's instance
// socket, which a killed browser leaves behind.
func removeProfile(dir string) error {
	if socket, err := os.Readlink(filepath.Join(dir, "SingletonSocket")); err == nil {
		if parent := filepath.Dir(socket); strings.Contains(filepath.Base(parent), "org.chromium.") ||
			strings.Contains(filepath.Base(parent), "com.google.") {
			_ = os.RemoveAll(parent) // the browser's leftovers, so ignore errors
		}
	}
	deadline := time.Now().Add(removeTimeout)
	for {
		err := os.RemoveAll(dir)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Sweep removes temporary profiles that dead processes left behind, as [Launch] does.
func Sweep() { sweep(os.TempDir()) }

// sweep removes the temporary profiles whose owner is dead, which means that their lock is free. The next sweep
// retries failed removals.
func sweep(tmp string) {
	locks, err := filepath.Glob(filepath.Join(tmp, tempPrefix+"*"+lockSuffix))
	if err != nil {
		return
	}
	for _, path := range locks {
		lock, err := filelock.Open(path)
		if err != nil {
			continue // in use, or owned by another user
		}
		dir := strings.TrimSuffix(path, lockSuffix)
		reap(noGroup, dir) // an exiting browser could write into it again
		if info, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() && removeProfile(dir) == nil {
			_ = os.Remove(path)
		}
		_ = lock.Close()
	}
}

// InUse reports whether a running browser uses a profile: it listens on a socket that the profile names. Windows has no
// such socket: there a second launch fails, and the profile's files cannot be removed while the browser runs.
func InUse(ctx context.Context, profile string) bool {
	socket, err := os.Readlink(filepath.Join(profile, "SingletonSocket"))
	if err != nil {
		return false
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
