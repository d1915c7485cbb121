package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// installPatience is how long an installation waits for another one of the same home.
const installPatience = 30 * time.Second

// LockInstall takes the lock under which the record of an installation is read and written: one program at a time. It
// makes the home. The function that comes back gives the lock back.
func (h Home) LockInstall(ctx context.Context) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, installPatience)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	_, missing := os.Stat(h.State)
	for {
		if err := os.MkdirAll(h.State, 0o700); err != nil {
			return nil, fmt.Errorf("Tidemark's home cannot be made: %w; check its permissions, or set %s to another directory", err, Env)
		}
		f, err := h.tryInstallLock()
		if err != nil {
			return nil, fmt.Errorf("the lock %s cannot be taken: %w; check its permissions", h.installLock(), err)
		}
		if f != nil {
			return func() {
				_ = os.Remove(h.installLock()) // before anybody else can take it; Windows refuses that
				_ = f.Close()
				if errors.Is(missing, os.ErrNotExist) {
					_ = os.Remove(h.State) // refuses what is not empty
				}
			}, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another `tidemark install` or `tidemark uninstall` is running (home %s); wait until it has ended, then run this again", h.State)
		case <-look.C:
		}
	}
}

// tryInstallLock takes the lock; nil when somebody has it.
func (h Home) tryInstallLock() (*os.File, error) {
	f, err := os.OpenFile(h.installLock(), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // whoever had it has just removed the home
	}
	if err != nil {
		return nil, err
	}
	got, err := tryLock(f)
	if got {
		// Whoever had it may have removed the file.
		held, err := f.Stat()
		if there, serr := os.Stat(h.installLock()); err == nil && serr == nil && os.SameFile(held, there) {
			return f, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}
