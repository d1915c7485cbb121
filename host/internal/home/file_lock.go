package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/filelock"
)

// How long a process waits for another one that has a lock of the same home.
const (
	installPatience = 30 * time.Second // an installation may wait for the user
	grantsPatience  = 10 * time.Second
	spoolPatience   = 50 * time.Millisecond // an agent waits
)

// LockInstall creates the home and takes the lock of the install record, so that one program at a time reads and
// writes it. The returned function releases the lock.
func (h Home) LockInstall(ctx context.Context) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, installPatience)
	defer cancel()
	return lock(ctx, h.installLock(), fmt.Sprintf("another `tidemark install` or `tidemark uninstall` is running (home %s). Wait until it exits, then run this again.", h.State))
}

// LockGrants takes the lock of the file of grants, and creates its directory. The returned function releases the lock.
func (h Home) LockGrants(ctx context.Context) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, grantsPatience)
	defer cancel()
	return lock(ctx, h.grantsLock(), fmt.Sprintf("another process is changing %s and does not finish. Wait until it exits, then run this again.", h.Grants()))
}

// LockSpool takes the lock of what hooks report while no daemon runs. The returned function releases the lock.
func LockSpool(ctx context.Context, h Home) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, spoolPatience)
	defer cancel()
	return lock(ctx, filepath.Join(h.Recordings(), "spool.lock"), "another process is writing to the spool of hooks")
}

// lock takes the lock of a file, and creates its directory. Busy is the error when the context ends first. The returned
// function removes the file, and the directory if it was missing and is empty.
func lock(ctx context.Context, path, busy string) (func(), error) {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	dir := filepath.Dir(path)
	_, missing := os.Stat(dir)
	for {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot create Tidemark's home: %w. Check its permissions or set %s to another directory.", err, Env)
		}
		f, err := filelock.Open(path)
		switch {
		case errors.Is(err, filelock.ErrTaken), errors.Is(err, os.ErrNotExist): // the previous owner may have removed the directory
		case err != nil:
			return nil, fmt.Errorf("cannot take the lock %s: %w. Check its permissions.", path, err)
		default:
			return func() {
				_ = os.Remove(path) // before another process can take it; fails on Windows
				_ = f.Close()
				if errors.Is(missing, os.ErrNotExist) {
					_ = os.Remove(dir) // fails unless it is empty
				}
			}, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.New(busy)
		case <-look.C:
		}
	}
}
