// Package watch reports which paths of a directory may have changed.
//
// Guarantees:
//   - [Watcher.Take] includes every change that was complete before the call. A change is never reported only as
//     something else: what the system lost or could not watch is reported as "anything may have changed". So is a change
//     by a name that is gone again (a hard link), unless its directory was created, and the name removed, before the
//     directory could be watched.
//   - Watching changes nothing in the directory, and needs no file in it.
//
// Only Linux has a watcher. Elsewhere every snapshot compares everything, because nothing proves that a change is already
// reported: Windows reports some when it flushes its caches, FSEvents some time later. FSEvents also needs cgo, which
// release builds do not have.
package watch

import (
	"context"
	"errors"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Options start a watcher.
type Options struct {
	// Dir is the directory to watch.
	Dir string
	// Skip reports whether a path is not watched, with everything below it.
	Skip func(path string) bool
	// Cookies is a directory outside Dir, in which files mark positions among the changes. It is created.
	Cookies string
}

// Watcher watches a directory. It is safe for concurrent use.
type Watcher interface {
	// Take returns what may have changed since the last call. Whole means that anything may have changed.
	Take(ctx context.Context) (dirty tree.Dirty, whole bool, err error)
	// Since returns what may have changed since the last call of Take or Since. The next Take includes it.
	Since(ctx context.Context) (dirty tree.Dirty, whole bool, err error)
	// Return takes back what could not be used.
	Return(dirty tree.Dirty, whole bool)
	// Limited returns why the whole directory has to be compared each time, "" where it need not.
	Limited() string
	// Close ends the watcher.
	Close() error
}

// ErrUnsupported means that this system has no watcher.
var ErrUnsupported = errors.New("watching a workspace is not supported on this system")
