// Package zfs takes snapshots of the dataset of ZFS that a workspace is on.
//
// A workspace that is a dataset has views and branches that are clones of its snapshots. Only root can mount clones on Linux. Of
// a directory in a dataset, and without root, the snapshot only serves the record, and is destroyed when that was read: a clone
// would show what is beside the workspace, and a kept snapshot would pin what is deleted there.
package zfs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/installer/safefile"
)

// Names in the directory of a store. The file of a kept snapshot has its name in ZFS.
const (
	takingName  = "taking"       // the file of a snapshot that is being taken or read
	readingName = native.Reading // where it can be read, if ZFS does not show it
	trialName   = "trial"
	datasetName = "dataset" // the file with the dataset that the workspace is
	// makingSuffix is at the end of the place of a clone that is being made.
	makingSuffix = ".making"
	// maxName bounds a file in bytes. Names in ZFS have 255 at most.
	maxName = 512
)

// filesystem is a dataset with a workspace. Files in a directory name its snapshots.
type filesystem struct {
	dataset dataset.Dataset
	// within is where the workspace is in the dataset, "." if it is all of it.
	within, dir string
	// prefix begins the names in ZFS of the snapshots of this store.
	prefix string
	// room is how many bytes the dataset can have.
	room int64
}

// Open opens the snapshots of a workspace, with their files in a directory whose parent exists. To try the user's rights it takes
// and destroys a snapshot. The error is an [*native.Unfit] where ZFS takes none.
func Open(ctx context.Context, workspace, dir string, clock func() time.Time) (*native.Store, error) {
	d, err := fit(workspace)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	within, err := filepath.Rel(d.At, workspace)
	if err != nil {
		return nil, err
	}
	f := &filesystem{dataset: d, within: within, dir: dir, prefix: prefixOf(dir)}
	if err := f.try(ctx); err != nil {
		return nil, err
	}
	if f.room, err = dataset.Room(ctx, d.Name); err != nil {
		return nil, err
	}
	if within == "." {
		if err := safefile.Overwrite(f.path(datasetName), []byte(d.Name)); err != nil {
			return nil, err
		}
	}
	return native.New(f, dir, clock), nil
}

// Present returns an error for a workspace that is only the empty directory on which its dataset is not mounted: a snapshot of
// it would have all files removed. A branch is mounted again. Dir is the directory of its store, which may not exist.
func Present(ctx context.Context, workspace, dir string) error {
	data, err := safefile.Read(filepath.Join(dir, datasetName), maxName)
	if err != nil {
		return nil //nolint:nilerr // it was no dataset
	}
	if entries, err := os.ReadDir(workspace); err != nil || len(entries) > 0 {
		return nil //nolint:nilerr // it is used without its dataset
	}
	if d, ok := dataset.Of(workspace); ok && d.At == workspace {
		return nil
	}
	name := string(data)
	err = dataset.Mount(ctx, name, workspace)
	if errors.Is(err, fs.ErrNotExist) && dataset.Exists(ctx, pool(name)) {
		return nil // it was destroyed, as a branch is that was removed and comes back
	}
	if err != nil {
		return fmt.Errorf("%s is empty, because its ZFS dataset %s is not mounted. Run `zfs mount %s` and try again, or remove the directory: %w", workspace, name, name, err)
	}
	return nil
}

// pool returns the pool of a dataset.
func pool(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// prefixOf returns how the names of the snapshots of a store begin, whose directory exists. Stores of other homes have other
// prefixes, and so has a copy of the directory.
func prefixOf(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir))
	return dataset.SnapshotPrefix + hex.EncodeToString(sum[:4]) + "-"
}

// Fit returns an [*native.Unfit] for a workspace of which no snapshot can be taken. It changes nothing.
func Fit(workspace string) error {
	_, err := fit(workspace)
	return err
}

func fit(workspace string) (dataset.Dataset, error) {
	d, ok := dataset.Of(workspace)
	if ok {
		return d, nil
	}
	if m, err := mounts.Of(workspace); err == nil && dataset.Mounted(m) {
		return d, &native.Unfit{Why: fmt.Sprintf("only a part of the ZFS dataset %s is mounted here, or a snapshot", m.Source)}
	}
	return d, &native.Unfit{Why: "the project is not on ZFS"}
}

// try takes and destroys a snapshot. One that an earlier try could not destroy is used again.
func (f *filesystem) try(ctx context.Context) error {
	trial := f.prefix + trialName
	err := dataset.Snapshot(ctx, f.dataset.Name, trial)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = dataset.Drop(ctx, f.dataset.Name, trial)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return &native.Unfit{
			Why:     fmt.Sprintf("the user may not take and destroy snapshots of the ZFS dataset %s", f.dataset.Name),
			Command: fmt.Sprintf("sudo zfs allow -u %s snapshot,destroy,mount %s", userName(), native.Argument(f.dataset.Name)),
		}
	default:
		return &native.Unfit{Why: fmt.Sprintf("ZFS takes no snapshot of %s: %v", f.dataset.Name, err)}
	}
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint(os.Geteuid())
}

func (f *filesystem) path(name string) string { return filepath.Join(f.dir, name) }

func (*filesystem) Name() string { return "zfs" }

func (*filesystem) Title() string { return "ZFS" }

func (f *filesystem) Whole() error {
	workspace := filepath.Join(f.dataset.At, f.within)
	at, err := dataset.Foreign(workspace)
	if err != nil || at == "" {
		return err
	}
	if d, ok := dataset.Of(at); ok {
		return &native.Unfit{Why: fmt.Sprintf("the project has the ZFS dataset %s in it, on %s, which is not part of its snapshots", d.Name, at)}
	}
	return &native.Unfit{Why: fmt.Sprintf("something is mounted on %s, which is not part of ZFS snapshots", at)}
}

func (f *filesystem) Serves() error {
	switch {
	case f.within != ".":
		return fmt.Errorf("the project is a directory in the ZFS dataset %s: a clone would show what is beside it", f.dataset.Name)
	case runtime.GOOS == "linux" && os.Geteuid() != 0:
		return errors.New("only root can mount a ZFS clone on Linux")
	}
	return nil
}

func (f *filesystem) Free() (float64, error) {
	free, err := dataset.Free(f.dataset.At)
	return float64(free) / float64(max(1, f.room)), err
}

func (f *filesystem) Take(ctx context.Context) (string, error) {
	name := f.prefix + strings.ToLower(rand.Text())
	if err := safefile.Overwrite(f.path(takingName), []byte(f.dataset.Name+"@"+name)); err != nil {
		return "", err
	}
	if err := dataset.Snapshot(ctx, f.dataset.Name, name); err != nil {
		return "", errors.Join(err, os.Remove(f.path(takingName)))
	}
	dir := f.dataset.Frozen(name)
	if dir == "" {
		dir = f.path(readingName)
		if err := dataset.Clone(ctx, f.dataset.Name, name, dir, true); err != nil {
			return "", errors.Join(err, f.Drop())
		}
	}
	return filepath.Join(dir, f.within), nil
}

func (f *filesystem) Keep(name string) error {
	return errors.Join(os.Rename(f.path(takingName), f.path(name)), tracked.RemoveAll(f.path(readingName)))
}

func (f *filesystem) Drop() error {
	err := tracked.RemoveAll(f.path(readingName))
	if name, failed := f.of(takingName); failed == nil {
		err = errors.Join(err, f.drop(name), os.Remove(f.path(takingName)))
	}
	return err
}

// of returns the name in ZFS of a snapshot of this store, without that of the dataset, which may have been renamed.
func (f *filesystem) of(name string) (string, error) {
	_, of, err := read(f.path(name))
	if err == nil && !strings.HasPrefix(of, f.prefix) {
		err = fmt.Errorf("%s names no snapshot of this workspace", f.path(name))
	}
	return of, err
}

// read reads the file of a snapshot.
func read(path string) (of, name string, err error) {
	data, err := safefile.Read(path, maxName)
	if err != nil {
		return "", "", err
	}
	of, name, ok := strings.Cut(string(data), "@")
	if !ok || !strings.HasPrefix(name, dataset.SnapshotPrefix) {
		return "", "", fmt.Errorf("%s names no snapshot", path)
	}
	return of, name, nil
}

func (f *filesystem) drop(name string) error {
	return dataset.Drop(context.Background(), f.dataset.Name, name)
}

func (f *filesystem) Names(ctx context.Context) (names []string, err error) {
	there, err := dataset.Snapshots(ctx, f.dataset.Name, f.prefix)
	if err != nil {
		return nil, err
	}
	err = tracked.RemoveAll(f.path(readingName))
	views := filepath.Dir(f.dir)
	err = errors.Join(err, dataset.Abandoned(ctx, f.dataset.Name, func(dir, snapshot string) bool {
		return filepath.Dir(dir) == views || filepath.Dir(dir) == f.dir || strings.HasSuffix(dir, makingSuffix) && strings.HasPrefix(snapshot, f.prefix)
	}))
	entries, failed := os.ReadDir(f.dir)
	err = errors.Join(err, failed)
	for _, e := range entries {
		name := e.Name()
		if !native.Named(name) && name != takingName {
			continue
		}
		of, failed := f.of(name)
		at := slices.Index(there, of)
		if failed != nil || at < 0 || name == takingName {
			err = errors.Join(err, os.Remove(f.path(name)))
			continue
		}
		names, there = append(names, name), slices.Delete(there, at, at+1)
	}
	for _, name := range there { // no file names them
		err = errors.Join(err, f.drop(name))
	}
	return names, err
}

func (f *filesystem) Remove(name string) error {
	of, err := f.of(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = f.drop(of)
	}
	return errors.Join(err, os.Remove(f.path(name)))
}

// Shown is a directory that ZFS mounts itself, and unmounts once it is unused. Zfs-fuse has none.
func (f *filesystem) Shown(name string) string {
	of, err := f.of(name)
	if err != nil {
		return ""
	}
	if dir := f.dataset.Frozen(of); dir != "" {
		return filepath.Join(dir, f.within)
	}
	return ""
}

func (f *filesystem) Clone(ctx context.Context, name, dir string) error {
	of, err := f.of(name)
	if err != nil {
		return err
	}
	return dataset.Clone(ctx, f.dataset.Name, of, dir, false)
}

func (*filesystem) Seal(ctx context.Context, dir string) error { return dataset.Seal(ctx, dir) }

// Abandon destroys a snapshot that a killed process was taking, in the directory of a store that is not open and may not exist.
func Abandon(dir string) error {
	path := filepath.Join(dir, takingName)
	of, name, err := read(path)
	if err != nil || !strings.HasPrefix(name, prefixOf(dir)) {
		return nil //nolint:nilerr // there is none, or it is not of ZFS, or of another store
	}
	if err := tracked.RemoveAll(filepath.Join(dir, readingName)); err != nil {
		return err
	}
	if err := dataset.Drop(context.Background(), of, name); err != nil {
		return err
	}
	return os.Remove(path)
}

// Discard destroys the snapshots of a store whose workspace no longer exists or has another provider, as far as their dataset
// does. The directory may not exist either.
func Discard(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	prefix := prefixOf(dir)
	if data, failed := safefile.Read(filepath.Join(dir, datasetName), maxName); failed == nil { // a killed process may have left it
		_ = dataset.Drop(context.Background(), string(data), prefix+trialName)
	}
	err = errors.Join(err, tracked.RemoveAll(filepath.Join(dir, readingName)), tracked.RemoveAll(filepath.Join(dir, datasetName)))
	for _, e := range entries {
		if !native.Named(e.Name()) && e.Name() != takingName || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		of, name, failed := read(path)
		if failed == nil && strings.HasPrefix(name, prefix) { // else it is a copy of another store's file
			failed = dataset.Drop(context.Background(), of, name)
		}
		if failed == nil {
			failed = os.Remove(path)
		}
		err = errors.Join(err, failed)
	}
	return errors.Join(err, native.DiscardLists(dir))
}
