// Package provider is what snapshot providers of a workspace have in common: their interface, which snapshots to delete,
// and where views and branches go. It imports no provider.
//
// Guarantees of every [Provider], which package providertest checks:
//   - A snapshot that was returned survives the end of the process, however it ends.
//   - A checkout of a snapshot is the workspace as it was, bit by bit, with modes, times, links and extended attributes. The
//     workspace's own .git is left out.
//   - What could not be read is named in the snapshot. An incomplete snapshot never passes for a complete one.
//   - Nothing writes to the workspace. What is written in a clone reaches neither the snapshot nor the workspace.
//   - Deleting a snapshot frees what only it needs, and changes no other one.
package provider

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Driver makes providers of one kind.
type Driver interface {
	// Name is the kind, such as "tracked".
	Name() string
	// Probe reports whether the kind works for a workspace, without changing anything.
	Probe(ctx context.Context, workspace string) (Support, error)
	// Open opens the snapshots of a workspace, and begins to keep them if there are none.
	Open(ctx context.Context, o Options) (Provider, error)
}

// Support is what a [Driver] found.
type Support struct {
	Supported bool
	// Why says why not, or what to know if it is.
	Why string
}

// Options open a [Provider].
type Options struct {
	// Workspace is the directory of which snapshots are taken, Store the directory for what the provider keeps. It is
	// created.
	Workspace, Store string
	// Skip reports whether a path of the workspace is left out. Nil leaves out nothing. A provider that takes whole
	// filesystems removes these paths from its clones.
	Skip  func(path string) bool
	Clock func() time.Time
	// Budget bounds the bytes on disk, 0 if nothing does. See [FullError].
	Budget int64
}

// Provider keeps the snapshots of one workspace. It is safe for concurrent use. Snapshots have numbers, which only grow and
// are never used again.
type Provider interface {
	// Snapshot takes a snapshot. Where nothing changed since the newest one, it returns that one, and true.
	Snapshot(ctx context.Context, label string) (s Snapshot, same bool, err error)
	// View makes a read-only view of a snapshot in a directory, which must not exist. After an error it does not exist.
	View(ctx context.Context, number uint64, dir string) error
	// Clone makes a writable copy of a snapshot in a directory, which must not exist. After an error it does not exist.
	Clone(ctx context.Context, number uint64, dir string) error
	// Release removes a view or a clone with everything in it.
	Release(ctx context.Context, dir string) error
	// Delete deletes snapshots and frees what only they need. It may be cancelled: the snapshots are deleted, and the next
	// call frees the rest. Without numbers it does only that.
	Delete(ctx context.Context, numbers ...uint64) error
	// List returns the snapshots in their order.
	List(ctx context.Context) ([]Snapshot, error)
	// Usage returns what the snapshots take on disk.
	Usage(ctx context.Context) (Usage, error)
	// Check reads everything that the snapshots need and returns the damages, one line each.
	Check(ctx context.Context) ([]string, error)
	Close() error
}

// Snapshot is a state of a workspace.
type Snapshot struct {
	Number uint64
	At     time.Time
	Label  string
	// Reference is the provider's own name of the snapshot.
	Reference string
	// Problems are the paths whose state is not certain, as "path: reason".
	Problems []string
	// Files counts the entries, Changed the files and links that changed since the snapshot before, or the directories where
	// nothing else did. A provider that does not know has -1.
	Files, Changed int
}

// Usage is what snapshots take on disk, in bytes.
type Usage struct {
	// Contents are the contents of files, History is what is known of the snapshots. Reclaimable is what no snapshot needs,
	// and the next deletion frees as far as that is worth it.
	Contents, History, Reclaimable int64
}

// Total returns the sum.
func (u Usage) Total() int64 { return u.Contents + u.History + u.Reclaimable }

// UnknownError is the answer to a request for a snapshot that does not exist.
type UnknownError struct {
	Number uint64
	// Nearest is the snapshot before it, or the first one; 0 where there is none.
	Nearest uint64
}

func (e *UnknownError) Error() string {
	if e.Nearest == 0 {
		return fmt.Sprintf("there is no snapshot s%d: this workspace has no snapshot yet", e.Number)
	}
	return fmt.Sprintf("there is no snapshot s%d; the nearest one is s%d", e.Number, e.Nearest)
}

// FullError means that a snapshot was not taken because it would have exceeded the budget, after everything was deleted
// that may be. What was there before is unchanged.
type FullError struct {
	// Budget and Used are in bytes.
	Budget, Used int64
	// Changing is a file that was read Times times, because it changed while it was read, "" if there was none. Its size is Size.
	Changing string
	Times    int
	Size     int64
}

func (e *FullError) Error() string {
	if e.Changing != "" {
		return fmt.Sprintf("there is no room for the snapshot: %q (%s) changed while it was read. It was read %d times, and each reading takes room until the snapshot is complete. The snapshots of this workspace take %s of %s. Exclude the file from snapshots, or raise the budget.",
			e.Changing, mib(e.Size), e.Times, mib(e.Used), mib(e.Budget))
	}
	return fmt.Sprintf("there is no room for the snapshot: the snapshots of this workspace take %s of %s. Delete some with `tidemark timeline prune --mib MIB`, exclude large paths from snapshots, or raise the budget.",
		mib(e.Used), mib(e.Budget))
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// ErrReadOnly means that a provider has no writable copies.
var ErrReadOnly = errors.New("this provider has no writable copies of snapshots")
