// Package native keeps snapshots of a filesystem beside the snapshots of package tracked.
//
// Package tracked keeps the record: what changed, by whom, and every content. The filesystem's snapshot serves four things.
// The record is read from it, so that programs can change large files while they are read. A view and a clone are copies that
// the filesystem makes of it, which takes the same time for any number of files. A restore clones its files from it.
//
// A filesystem may copy names, times and modes at one instant, but contents that were written before the call (Btrfs). The
// record reads files that changed later than shortly before the call itself, as it does without a snapshot. A view and a clone
// get these files from the record.
//
// Guarantees:
//   - No snapshot of the filesystem is the only copy of anything. Where one is missing, the record makes the view or the clone.
//   - A snapshot of the filesystem is used only for the record that was read from it: its name has the number and the time.
//   - What a killed process left is removed when the workspace is opened next.
//   - The workspace itself is only read.
package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/installer/safefile"
)

// Filesystem takes snapshots of one workspace. At any time one is being taken or read at most. Kept ones have names, which
// [Named] recognizes.
type Filesystem interface {
	// Name is that of the provider, Title what users call the filesystem.
	Name() string
	Title() string
	// Whole returns an [*Unfit] if a snapshot would not have everything that is in the workspace.
	Whole() error
	// Serves returns why views and clones are not made of snapshots, nil if they are. None is kept then.
	Serves() error
	// Free returns which part of the filesystem is free for its users, from 0 to 1.
	Free() (float64, error)
	// Take takes a snapshot, and returns the directory in which it can be read.
	Take(ctx context.Context) (dir string, err error)
	// Keep keeps what was taken, by a name. Drop removes it instead, if there is one.
	Keep(name string) error
	Drop() error
	// Names returns the names of what is kept. It removes what a killed process left.
	Names(ctx context.Context) ([]string, error)
	// Remove removes what is kept by a name. Nothing else has that name from then on, whether or not it succeeds.
	Remove(name string) error
	// Shown returns a directory in which what is kept by a name can be read and cloned from, file by file, "" for none.
	Shown(name string) string
	// Clone makes a writable copy in a directory. After an error it does not exist. The error is [fs.ErrNotExist] if the snapshot
	// no longer exists. Seal makes the copy one that cannot be written to, by root either.
	Clone(ctx context.Context, name, dir string) error
	Seal(ctx context.Context, dir string) error
}

// Viewer is a [Filesystem] that makes no copies. A view shows the snapshot itself, and a clone is made by the record. Clone and Seal
// are not called.
type Viewer interface {
	Filesystem
	// View shows a snapshot in a directory, without the workspace's repository. Skip returns what else must not be seen there. Nil
	// is nothing. Where that cannot be hidden, and after any error, the directory does not exist. The error is [fs.ErrNotExist] if
	// the snapshot no longer exists.
	View(ctx context.Context, name, dir string, skip func(path string) bool) error
}

const (
	// MaxKept is how many snapshots of the filesystem are kept, the newest ones: each pins what the workspace has deleted since,
	// files that the record leaves out included.
	MaxKept = 50
	// minFree is the part of the filesystem that must be free for more than the newest one to be kept.
	minFree = .1
)

// differsSuffix names the file that lists the files of which the record has another state than the snapshot of that name, because
// they changed while it was taken. A zero byte is between them.
const differsSuffix = ".differs"

// Store are the snapshots of one workspace. It is safe for concurrent use.
type Store struct {
	of    Filesystem
	dir   string
	clock func() time.Time

	mu sync.Mutex
	// kept are in the order of their numbers.
	kept []kept
	// took is how long the filesystem took for the last snapshot.
	took time.Duration
	// failed is why the filesystem took no snapshot the last time, nil if it did.
	failed error
}

// kept is a snapshot of the filesystem.
type kept struct {
	number uint64
	at     int64 // in nanoseconds since 1970
}

// name is such as "s12-1767225600000000000".
func (k kept) name() string { return fmt.Sprintf("s%d-%d", k.number, k.at) }

// parse returns the snapshot of a name.
func parse(name string) (k kept, ok bool) {
	number, at, ok := strings.Cut(strings.TrimPrefix(name, "s"), "-")
	if !ok {
		return k, false
	}
	var errs [2]error
	k.number, errs[0] = strconv.ParseUint(number, 10, 64)
	k.at, errs[1] = strconv.ParseInt(at, 10, 64)
	return k, errors.Join(errs[:]...) == nil && k.name() == name
}

// Named reports whether a kept snapshot has such a name.
func Named(name string) bool {
	_, ok := parse(name)
	return ok
}

// Reading is where a filesystem mounts a snapshot while it is taken, in the directory of a store, if it has to. Opening begins the
// names of places where it mounts one of which a view is made.
const (
	Reading = "reading"
	Opening = "opening-"
)

// Transient reports whether a name in the directory of a store is that of such a place.
func Transient(name string) bool { return name == Reading || strings.HasPrefix(name, Opening) }

// Unfit is why there are no snapshots of a filesystem of a workspace.
type Unfit struct {
	Why string
	// Command is the one command that would allow them, "" if none does.
	Command string
	// Advice is a sentence that says what else would, "" for nothing.
	Advice string
}

func (u *Unfit) Error() string {
	if u.Advice != "" {
		return fmt.Sprintf("%s. %s", u.Why, u.Advice)
	}
	if u.Command == "" {
		return u.Why
	}
	return fmt.Sprintf("%s. Run `%s` to allow it.", u.Why, u.Command)
}

// Argument returns a name as an argument of a [Unfit] Command. For one that cannot be printed, the shell must be bash, ksh or zsh.
func Argument(name string) string {
	if quoted, ok := grants.Quoted(name); ok {
		return quoted
	}
	quoted := strconv.QuoteToASCII(name)
	return "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
}

// New returns the snapshots that a filesystem takes of a workspace, with their lists of files in a directory. Call [Store.Settle]
// before anything else.
func New(f Filesystem, dir string, clock func() time.Time) *Store {
	return &Store{of: f, dir: dir, clock: clock}
}

// Name is that of the provider.
func (s *Store) Name() string { return s.of.Name() }

// Title is what users call the filesystem.
func (s *Store) Title() string { return s.of.Title() }

// Serves returns why views and clones are not made of snapshots, nil if they are.
func (s *Store) Serves() error { return s.of.Serves() }

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// Settle removes what no record names, such as what a killed process left.
func (s *Store) Settle(ctx context.Context, records []tracked.Snapshot) error {
	known := map[kept]bool{}
	for _, r := range records {
		known[kept{r.Number, r.At.UnixNano()}] = true
	}
	names, err := s.of.Names(ctx)
	var all []kept
	for _, name := range names {
		if k, ok := parse(name); ok && known[k] {
			all = append(all, k)
		} else {
			err = errors.Join(err, s.of.Remove(name))
		}
	}
	entries, failed := os.ReadDir(s.dir)
	err = errors.Join(err, failed)
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), differsSuffix); is {
			if k, ok := parse(name); ok && !slices.Contains(all, k) {
				err = errors.Join(err, os.Remove(s.path(e.Name())))
			}
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Compare(a.number, b.number) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = all
	return err
}

// Freeze implements [tracked.Freezer].
func (s *Store) Freeze(ctx context.Context) *tracked.Frozen {
	f, err := s.freeze(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	return f
}

// Failed returns why the record of the last snapshot was not read from a snapshot of the filesystem, nil if it was.
func (s *Store) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *Store) freeze(ctx context.Context) (*tracked.Frozen, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.of.Whole(); err != nil {
		return nil, err
	}
	if free, err := s.of.Free(); err == nil && free < minFree {
		s.trim(1)
	}
	if err := s.of.Drop(); err != nil { // its removal failed
		return nil, err
	}
	at := s.clock()
	dir, err := s.of.Take(ctx)
	if full(err) && s.trim(0) {
		dir, err = s.of.Take(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take a %s snapshot: %w", s.of.Title(), err)
	}
	s.mu.Lock()
	s.took = s.clock().Sub(at)
	s.mu.Unlock()
	drop := func() { s.note(s.of.Drop()) }
	f := &tracked.Frozen{Dir: dir, At: at, Drop: drop}
	f.Keep = func(r *tracked.Snapshot, differs []string) { s.keep(kept{r.Number, r.At.UnixNano()}, differs) }
	if s.of.Serves() != nil {
		f.Keep = func(*tracked.Snapshot, []string) { drop() }
	}
	return f, nil
}

// full reports whether an error is about a filesystem or a quota without room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Took returns how long the filesystem took for its last snapshot.
func (s *Store) Took() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took
}

// note keeps an error for [Store.Failed].
func (s *Store) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed = err
	}
}

// keep gives the snapshot that was read the name of its record. The files that differ from it are in a file beside it.
func (s *Store) keep(k kept, differs []string) {
	var err error
	if len(differs) > 0 {
		err = safefile.Overwrite(s.path(k.name()+differsSuffix), []byte(strings.Join(differs, "\x00")))
	}
	if err == nil {
		err = s.of.Keep(k.name())
	}
	if err != nil { // such as on a full filesystem, which gets its room back
		_ = os.Remove(s.path(k.name() + differsSuffix))
		s.note(errors.Join(err, s.of.Drop()))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, k)
}

// Has reports whether there is a snapshot of the filesystem for a record. S may be nil.
func (s *Store) Has(number uint64) bool {
	_, ok := s.find(number)
	return ok
}

// Clones reports whether the filesystem makes the clone of a record. S may be nil.
func (s *Store) Clones(number uint64) bool { return s.Has(number) && !s.Views() }

// Views reports whether the filesystem makes views and no clones.
func (s *Store) Views() bool {
	_, is := s.of.(Viewer)
	return is
}

func (s *Store) find(number uint64) (k kept, ok bool) {
	if s == nil {
		return k, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := slices.BinarySearchFunc(s.kept, number, func(k kept, n uint64) int { return cmp.Compare(k.number, n) })
	if ok {
		k = s.kept[i]
	}
	return k, ok
}

// Kept returns a directory with the snapshot of a record, of which files can perhaps be cloned, "" where there is none. S may be
// nil.
func (s *Store) Kept(number uint64) string {
	k, ok := s.find(number)
	if !ok {
		return ""
	}
	dir := s.of.Shown(k.name())
	if dir == "" {
		return ""
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) { // it was removed behind Tidemark's back
		s.remove(k)
		return ""
	}
	return dir
}

// Forget removes the snapshots of records that will be deleted. S may be nil.
func (s *Store) Forget(numbers ...uint64) {
	for _, n := range numbers {
		if k, ok := s.find(n); ok {
			s.remove(k)
		}
	}
}

// Trim removes the oldest snapshots that are too many, and all but the newest one where the filesystem is nearly full. S may
// be nil.
func (s *Store) Trim() {
	if s == nil {
		return
	}
	most := MaxKept
	if free, err := s.of.Free(); err == nil && free < minFree {
		most = 1
	}
	s.trim(most)
}

// Clear removes all snapshots of the filesystem. Their records make views and copies instead. S may be nil.
func (s *Store) Clear() {
	if s != nil {
		s.trim(0)
	}
}

// trim removes all but the newest ones, and reports whether there were more.
func (s *Store) trim(most int) bool {
	s.mu.Lock()
	old := slices.Clone(s.kept[:max(0, len(s.kept)-most)])
	s.mu.Unlock()
	for _, k := range old {
		s.remove(k)
	}
	return len(old) > 0
}

// remove removes a snapshot. What cannot be removed now is removed by the next [Store.Settle].
func (s *Store) remove(k kept) {
	s.mu.Lock()
	s.kept = slices.DeleteFunc(s.kept, func(other kept) bool { return other == k })
	s.mu.Unlock()
	s.note(s.of.Remove(k.name()))
	_ = os.Remove(s.path(k.name() + differsSuffix)) // most have none
}

// DiscardLists removes the lists of files in the directory of a store whose snapshots were removed.
func DiscardLists(dir string) error {
	lists, err := filepath.Glob(filepath.Join(dir, "*"+differsSuffix))
	for _, path := range lists {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
