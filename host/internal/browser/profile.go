package browser

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// tempPrefix begins the name of every temporary profile.
	tempPrefix = "tidemark-browser-"
	// lockName is the lock in a profile that is kept.
	lockName = "tidemark.lock"
	// lockSuffix names the file beside a temporary profile that its owner keeps locked.
	lockSuffix = ".lock"
	// removeTimeout bounds how long files may be held by processes that are just ending.
	removeTimeout = 5 * time.Second
	// noGroup stands for the process group of a browser of which only the profile is known.
	noGroup = 0
)

// profile is a user data directory, and what must be undone about it.
type profile struct {
	dir string
	// lock is held for as long as the profile is in use.
	lock *os.File
	// temporary profiles are removed at the end.
	temporary bool
}

// openProfile makes the profile's directory. An empty dir means a temporary one; those that dead
// processes left behind are removed then.
func openProfile(dir string) (*profile, error) {
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("cannot resolve the user data directory %s: %w", dir, err)
		}
		if err := os.MkdirAll(abs, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make the user data directory: %w", err)
		}
		lock, err := lockFile(filepath.Join(abs, lockName))
		if errors.Is(err, errLockTaken) {
			// Two browsers with one profile end each other.
			return nil, fmt.Errorf("a browser that Tidemark opened is using the profile %s already: open the page in a tab of it, or end it; `tidemark browser --temporary` opens another with a profile of its own", abs)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot lock the user data directory: %w", err)
		}
		return &profile{dir: abs, lock: lock}, nil
	}
	sweep(os.TempDir())
	tmp := os.TempDir()
	// What the browser resolves must equal what it is told.
	if real, err := filepath.EvalSymlinks(tmp); err == nil {
		tmp = real
	}
	for range 10 {
		dir := filepath.Join(tmp, tempPrefix+strings.ToLower(rand.Text()[:10]))
		// The lock comes first: a directory without one is nobody's.
		lock, err := lockFile(dir + lockSuffix)
		if err != nil {
			if errors.Is(err, errLockTaken) {
				continue // another launch swept it between its creation and its lock
			}
			return nil, fmt.Errorf("cannot make a temporary profile: %w", err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot make a temporary profile: %w", err), lock.Close(), os.Remove(dir+lockSuffix))
		}
		return &profile{dir: dir, lock: lock, temporary: true}, nil
	}
	return nil, fmt.Errorf("cannot make a temporary profile in %s: %w", tmp, errLockTaken)
}

// errLockTaken says that another process holds the lock.
var errLockTaken = errors.New("another process holds the lock of the profile")

// close gives the profile back, and removes a temporary one.
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

// removeProfile removes a profile that no browser uses, and the directory with the socket by which
// the browser found its earlier instances: a browser that was killed leaves it.
func removeProfile(dir string) error {
	if socket, err := os.Readlink(filepath.Join(dir, "SingletonSocket")); err == nil {
		if parent := filepath.Dir(socket); strings.Contains(filepath.Base(parent), "org.chromium.") ||
			strings.Contains(filepath.Base(parent), "com.google.") {
			_ = os.RemoveAll(parent) // the browser's own leftovers; not ours to fail on
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

// Sweep removes the temporary profiles that processes left behind which are gone, as [Launch] does.
func Sweep() { sweep(os.TempDir()) }

// sweep removes the temporary profiles whose owner is gone: the lock beside them can be taken. What
// cannot be removed now is left for the next time.
func sweep(tmp string) {
	locks, err := filepath.Glob(filepath.Join(tmp, tempPrefix+"*"+lockSuffix))
	if err != nil {
		return
	}
	for _, path := range locks {
		lock, err := lockFile(path)
		if err != nil {
			continue // in use, or another user's
		}
		dir := strings.TrimSuffix(path, lockSuffix)
		reap(noGroup, dir) // a browser that is just ending would write into it again
		if info, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() && removeProfile(dir) == nil {
			_ = os.Remove(path)
		}
		_ = lock.Close()
	}
}
