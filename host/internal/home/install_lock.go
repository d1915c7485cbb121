package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// installPatience is how long an installation waits for another one in the same home.
const installPatience = 30 * time.Second

// LockInstall creates the home and takes the lock of the install record, so that one program at a time reads and
// writes it. The returned function releases the lock.
func (h Home) LockInstall(ctx context.Context) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, installPatience)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	_, missing := os.Stat(h.State)
	for {
		if err := os.MkdirAll(h.State, 0o700); err != nil {
			return nil, fmt.Errorf("cannot create Tidemark's home: %w. Check its permissions or set %s to another directory.", err, Env)
		}
		f, err := h.tryInstallLock()
		if err != nil {
			return nil, fmt.Errorf("cannot take the lock %s: %w. Check its permissions.", h.installLock(), err)
		}
		if f != nil {
			return func() {
				_ = os.Remove(h.installLock()) // before another process can take it; fails on Windows
				_ = f.Close()
				if errors.Is(missing, os.ErrNotExist) {
					_ = os.Remove(h.State) // fails unless it is empty
				}
			}, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another `tidemark install` or `tidemark uninstall` is running (home %s). Wait until it exits, then run this again.", h.State)
		case <-look.C:
		}
	}
}

// tryInstallLock takes the lock. It returns nil when another process has it.
func (h Home) tryInstallLock() (*os.File, error) {
	f, err := os.OpenFile(h.installLock(), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the previous owner has just removed the home
	}
	if err != nil {
		return nil, err
	}
	got, err := tryLock(f)
	if got {
		// The previous owner may have removed the file.
		held, err := f.Stat()
		if there, serr := os.Stat(h.installLock()); err == nil && serr == nil && os.SameFile(held, there) {
			return f, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}
