// Package filelock marks files as in use by a process. The system releases a lock when the process ends, however it ends.
package filelock

import (
	"errors"
	"os"

	"tidemark.dev/tidemark/installer/safefile"
)

// ErrTaken reports that another process has the lock.
var ErrTaken = errors.New("another process has the lock")

// Open opens a file, creates it if it is missing, and takes its lock. It returns [ErrTaken] if another process has the lock,
// or had it and has just removed the file. A link or another special file in its place is an error.
func Open(path string) (*os.File, error) {
	f, err := safefile.Own(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := Try(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	locked, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(locked, there) {
		return nil, errors.Join(ErrTaken, f.Close())
	}
	return f, nil
}
