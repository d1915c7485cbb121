// Package boltfile opens files of bbolt that may be damaged.
//
// Guarantees:
//   - A damaged file ends no process: it is [ErrDamaged]. So is one whose pages refer to each other in circles.
//   - Where a file is readable, but not as it was last written, a notice says so.
//   - A file that cannot be opened is closed again, so that it can be renamed. On Windows that fails where bbolt panicked after
//     it had mapped the file.
package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"tidemark.dev/tidemark/installer/safefile"
)

// ErrDamaged says that a file's content is not as it was written.
var ErrDamaged = errors.New("the file is damaged")

// patience is how long another process that has the file open is waited for.
const patience = time.Second

// Open opens a file, and creates a missing one with mode 0600. A notice says that the file was empty, or that one of its two heads
// is damaged, so that bbolt may read the state before the last write.
func Open(path string) (db *bbolt.DB, notice string, err error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		notice = path + " was an empty file; what it held, if anything, is no longer available"
	}
	// A panic leaves the file open, and Windows does not rename an open file.
	var file *os.File
	open := func(name string, flag int, _ os.FileMode) (*os.File, error) {
		file, err = safefile.Own(name, flag)
		return file, err
	}
	err = Guard(func() error {
		if err := plausible(path); err != nil {
			return err
		}
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: patience, FreelistType: bbolt.FreelistMapType, OpenFile: open})
		if err == nil {
			err = whole(db)
		}
		heads := 0
		if err == nil {
			heads, err = sound(path) // now nobody else writes to it
		}
		if err == nil && heads < 2 {
			notice = "one of the two heads of " + path + " is damaged; what was written last may be missing"
		}
		return err
	})
	if err == nil {
		return db, notice, nil
	}
	if db != nil {
		_ = Guard(db.Close) // this may fail on a damaged file
	}
	_ = file.Close() // nil has nothing to close
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, "", fmt.Errorf("%s is in use by another program: %w", path, err)
	}
	return nil, "", err
}

// plausible returns an error for a file that is cut off: reading beyond its end would crash.
func plausible(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return nil // the open says what it is
	case info.Size() > 0 && info.Size() < 4*int64(os.Getpagesize()):
		return fmt.Errorf("%w: it has only %d bytes", ErrDamaged, info.Size())
	}
	return nil
}

// whole returns an error for a file that is shorter than it says.
func whole(db *bbolt.DB) error {
	return db.View(func(tx *bbolt.Tx) error {
		info, err := os.Stat(db.Path())
		if err == nil && info.Size() < tx.Size() {
			err = fmt.Errorf("%w: it is cut off at %d of %d bytes", ErrDamaged, info.Size(), tx.Size())
		}
		return err
	})
}

// Guard calls into a file. A damaged one makes bbolt refuse it or panic, or the system fault where the file is shorter than it
// says; all of these become [ErrDamaged].
func Guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	err = do()
	for _, sign := range []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch, bolterrors.ErrIncompatibleValue} {
		if errors.Is(err, sign) {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return err
}
