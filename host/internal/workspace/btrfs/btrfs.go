// Package btrfs keeps snapshots of Btrfs beside the snapshots of package tracked, of a workspace that is a subvolume.
//
// Package tracked keeps the record: what changed, by whom, and every content. The filesystem's snapshot serves three things.
// The record is read from it, so that programs can change large files while they are read. A view and a clone are snapshots of
// it, which take the same time for any number of files.
//
// The filesystem copies names, times and modes at one instant, and the contents that were written before the call. The record
// reads files that changed later than shortly before the call itself, as it does without a snapshot. A view and a clone get
// these files from the record.
//
// Guarantees:
//   - No snapshot of the filesystem is the only copy of anything. Where one is missing, the record makes the view or the clone.
//   - A snapshot of the filesystem is used only for the record that was read from it: its name has the number and the time.
//   - What a killed process left is removed when the workspace is opened next. Nothing is ever mounted.
//   - The workspace itself is only read.
package btrfs

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

	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

const (
	// maxKept is how many snapshots of the filesystem are kept, the newest ones: each pins what the workspace has deleted since,
	// files that the record leaves out included.
	maxKept = 50
	// minFree is the part of the filesystem that must be free for more than the newest one to be kept.
	minFree = .1
)

// Names in the directory of a store. A kept snapshot has the number and the time of its record, as "s12-1767225600000000000".
const (
	takingName = "taking"
	trialName  = "trial"
	goneSuffix = ".gone" // it is being removed
	// differsSuffix names the file beside a snapshot that lists the files of which the record has another state, because they
	// changed while the snapshot was taken. A zero byte is between them.
	differsSuffix = ".differs"
)

// Store are the snapshots of one workspace. It is safe for concurrent use.
type Store struct {
	workspace, dir string
	clock          func() time.Time

	mu sync.Mutex
	// kept are in the order of their numbers.
	kept []kept
	// failed is why the filesystem took no snapshot the last time, nil if it did.
	failed error
}

// kept is a snapshot of the filesystem.
type kept struct {
	number uint64
	at     int64 // in nanoseconds since 1970
}

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

// ours reports whether a store gives this name to subvolumes.
func ours(name string) bool {
	_, kept := parse(strings.TrimSuffix(name, goneSuffix))
	return kept || name == takingName || name == trialName
}

// Unfit is why there are no snapshots of Btrfs of a workspace.
type Unfit struct {
	Why string
	// Command is the one command that would allow them, "" if none does.
	Command string
}

func (u *Unfit) Error() string {
	if u.Command == "" {
		return u.Why
	}
	return fmt.Sprintf("%s. Run `%s` to allow it.", u.Why, u.Command)
}

// Open opens the snapshots of a workspace in a directory on the same filesystem, whose parent exists. To try the user's rights
// it creates and removes a subvolume. The error is an [*Unfit] where the filesystem cannot take any. Call [Store.Settle] before
// anything else.
func Open(workspace, dir string, clock func() time.Time) (*Store, error) {
	if err := Fit(workspace); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	s := &Store{workspace: workspace, dir: dir, clock: clock}
	if err := s.try(); err != nil {
		return nil, err
	}
	return s, nil
}

// Fit returns an [*Unfit] for a workspace of which no snapshot can be taken. It changes nothing.
func Fit(workspace string) error {
	switch {
	case !subvolume.On(workspace):
		return &Unfit{Why: "the project is not on Btrfs"}
	case !subvolume.Is(workspace):
		return &Unfit{Why: "the project is a directory and not a Btrfs subvolume, so that it has no snapshots of its own. Unchanged files are shared all the same"}
	}
	return nil
}

// try creates and removes a subvolume.
func (s *Store) try() error {
	trial := s.path(trialName)
	if err := os.Remove(trial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := subvolume.Create(trial); err != nil {
		return &Unfit{Why: fmt.Sprintf("no subvolume can be created in %s: %v", s.dir, err)}
	}
	err := subvolume.Delete(trial)
	if err == nil {
		return nil
	}
	if err := os.Remove(trial); err != nil { // an empty one needs no right
		return err
	}
	if !errors.Is(err, fs.ErrPermission) {
		return &Unfit{Why: fmt.Sprintf("no subvolume can be removed in %s: %v", s.dir, err)}
	}
	mount, err := subvolume.MountOf(s.dir)
	if err != nil {
		return err
	}
	return &Unfit{Why: "only root may remove Btrfs snapshots here", Command: "sudo mount -o remount,user_subvol_rm_allowed " + mount}
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// Settle removes what no record names, such as what a killed process left.
func (s *Store) Settle(records []tracked.Snapshot) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	known := map[kept]bool{}
	for _, r := range records {
		known[kept{r.Number, r.At.UnixNano()}] = true
	}
	var all []kept
	for _, e := range entries {
		if k, ok := parse(e.Name()); ok && known[k] && subvolume.ReadOnly(s.path(e.Name())) {
			all = append(all, k)
		} else if ours(e.Name()) && subvolume.Is(s.path(e.Name())) {
			err = errors.Join(err, subvolume.Delete(s.path(e.Name())))
		}
	}
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
	if err := s.whole(); err != nil {
		return nil, err
	}
	if free, err := subvolume.Free(s.dir); err == nil && free < minFree {
		s.trim(1)
	}
	taking := s.path(takingName)
	if subvolume.Is(taking) { // its removal failed
		if err := subvolume.Delete(taking); err != nil {
			return nil, err
		}
	}
	at := s.clock()
	err := subvolume.Snapshot(s.workspace, taking, true)
	if full(err) && s.trim(0) {
		err = subvolume.Snapshot(s.workspace, taking, true)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take a Btrfs snapshot: %w", err)
	}
	return &tracked.Frozen{
		Dir: taking, At: at,
		Keep: func(r *tracked.Snapshot, differs []string) { s.keep(kept{r.Number, r.At.UnixNano()}, differs) },
		Drop: func() { s.note(subvolume.Delete(taking)) },
	}, nil
}

// full reports whether an error is about a filesystem or a quota without room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Measure takes a snapshot, removes it, and returns how long the first took.
func (s *Store) Measure(ctx context.Context) (time.Duration, error) {
	began := s.clock()
	f, err := s.freeze(ctx)
	if err != nil {
		return 0, err
	}
	took := s.clock().Sub(began)
	f.Drop()
	return took, nil
}

// whole returns an error if a snapshot would not have everything that is in the workspace.
func (s *Store) whole() error {
	nested, err := subvolume.Nested(s.workspace)
	if err != nil {
		return err
	}
	if nested != "" {
		return &Unfit{Why: fmt.Sprintf("the project has the subvolume %s in it, which is not part of its Btrfs snapshots", nested)}
	}
	mounted, err := subvolume.MountedIn(s.workspace)
	if err == nil && mounted != "" {
		err = &Unfit{Why: fmt.Sprintf("something is mounted on %s, which is not part of Btrfs snapshots", mounted)}
	}
	return err
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
		err = os.WriteFile(s.path(k.name()+differsSuffix), []byte(strings.Join(differs, "\x00")), 0o600)
	}
	if err == nil {
		err = os.Rename(s.path(takingName), s.path(k.name()))
	}
	s.note(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.kept = append(s.kept, k)
	}
}

// Has reports whether there is a snapshot of the filesystem for a record. S may be nil.
func (s *Store) Has(number uint64) bool {
	_, ok := s.find(number)
	return ok
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
	most := maxKept
	if free, err := subvolume.Free(s.dir); err == nil && free < minFree {
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

// Discard removes what is in the directory of a store whose workspace no longer exists. The directory may not exist either.
func Discard(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if ours(e.Name()) && subvolume.Is(path) {
			err = errors.Join(err, subvolume.Delete(path))
		} else if strings.HasSuffix(e.Name(), differsSuffix) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
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
	gone := s.path(k.name()) + goneSuffix
	if os.Rename(s.path(k.name()), gone) == nil {
		s.note(subvolume.Delete(gone))
	}
	_ = os.Remove(s.path(k.name() + differsSuffix)) // most have none
}
