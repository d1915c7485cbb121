// Package watch reports which paths of a directory may have changed.
//
// Guarantees:
//   - [Watcher.Take] includes every change that was complete before the call. A change is never reported only as
//     something else: what the system lost or could not watch is reported as "anything may have changed". So is a change
//     by a name that is gone again (a hard link), unless its directory was created, and the name removed, before the
//     directory could be watched.
//   - Watching changes nothing in the directory, and needs no file in it.
//
// Only Linux has a watcher. On macOS and Windows each snapshot compares all files. A watcher has to prove that it has reported
// every change that was complete before the snapshot, and neither system lets it. Silence proves nothing there, so that an idle
// workspace is compared too.
//
// On Windows (ReadDirectoryChangesW):
//   - A write may be reported only when the program closes the file, or when the system flushes its caches. A write by a hard link
//     from elsewhere is not reported. A comparison that opens the file sees both.
//   - The changes of two directories are two streams without a common order. A mark outside the workspace says nothing about
//     changes in it. Marks in the port that delivers the changes need no file, but a watcher that used them missed changes too.
//   - An open directory keeps the user from renaming those above it, and may keep the name of a removed workspace in use.
//
// On macOS:
//   - FSEvents delivers from another process, some time later, and promises no order between directories. It needs cgo, which
//     release builds do not have.
//   - Without cgo there is kqueue. It takes a descriptor for each file: a workspace of 100,000 files exceeds the limit.
//
// The library github.com/rjeczalik/notify, with which the user's decisions are watched, does not help. In version 0.9.3:
//   - Each event is delivered by its own goroutine, so that a mark overtakes changes that were made before it, even a mark in the
//     workspace. Of 2,000 files that were created one after the other, 37 came out of order on Linux, and 540 under Wine.
//   - On Windows it reads into 4 KiB. If that overflows, the read returns nothing, and notify continues without an error. So it
//     does when the next read cannot begin. Nothing is reported from then on.
//   - On Windows it closes a directory only at the first event after notify.Stop. Until then, a removed one keeps its name.
//   - An event for which the channel has no room is dropped.
//
// Decisions need less: an event only has them read earlier than the next sweep does.
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

// ErrUnsupported means that this system has no watcher. [Unsupported] returns it with the name of the system.
var ErrUnsupported = errors.New("may report a change too late, or not at all")
