// Package btrfs takes snapshots of a workspace that is a subvolume of Btrfs. Nothing is ever mounted.
package btrfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/removal"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
)

// Names in the directory of a store, beside those of kept snapshots.
const (
	takingName = "taking"
	trialName  = "trial"
	goneSuffix = ".gone" // it is being removed
)

// ours reports whether a store gives this name to subvolumes.
func ours(name string) bool {
	return native.Named(strings.TrimSuffix(name, goneSuffix)) || name == takingName || name == trialName
}

// filesystem is Btrfs with a workspace. Its snapshots are subvolumes in a directory.
type filesystem struct{ workspace, dir string }

// Open opens the snapshots of a workspace in a directory on the same filesystem, whose parent exists. To try the user's rights
// it creates and removes a subvolume. The error is an [*native.Unfit] where the filesystem cannot take any.
func Open(_ context.Context, workspace, dir string, clock func() time.Time) (*native.Store, error) {
	if err := Fit(workspace); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	f := &filesystem{workspace, dir}
	if err := f.try(); err != nil {
		return nil, err
	}
	return native.New(f, dir, clock), nil
}

// Fit returns an [*native.Unfit] for a workspace of which no snapshot can be taken. It changes nothing.
func Fit(workspace string) error {
	switch {
	case !subvolume.On(workspace):
		return &native.Unfit{Why: "the project is not on Btrfs"}
	case !subvolume.Is(workspace):
		return &native.Unfit{Why: "the project is a directory and not a Btrfs subvolume, so that it has no snapshots of its own. Unchanged files are shared all the same"}
	}
	return nil
}

// try creates and removes a subvolume.
func (f *filesystem) try() error {
	trial := f.path(trialName)
	if err := os.Remove(trial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := subvolume.Create(trial); err != nil {
		return &native.Unfit{Why: fmt.Sprintf("no subvolume can be created in %s: %v", f.dir, err)}
	}
	err := subvolume.Delete(trial)
	if err == nil {
		return nil
	}
	if err := os.Remove(trial); err != nil { // an empty one needs no right
		return err
	}
	if !errors.Is(err, fs.ErrPermission) {
		return &native.Unfit{Why: fmt.Sprintf("no subvolume can be removed in %s: %v", f.dir, err)}
	}
	return &native.Unfit{Why: "only root may remove Btrfs snapshots here", Command: Allow(f.dir)}
}

// Allow returns the command that lets users remove snapshots on the filesystem of a directory, "" where this user may already.
func Allow(dir string) string {
	m, err := mounts.Of(dir)
	if err != nil || m.Type != "btrfs" || os.Geteuid() == 0 || slices.Contains(strings.Split(m.Options, ","), allowed) {
		return ""
	}
	return "sudo mount -o remount," + allowed + " " + native.Argument(m.At)
}

// allowed is the mount option that lets users remove subvolumes.
const allowed = "user_subvol_rm_allowed"

func (f *filesystem) path(name string) string { return filepath.Join(f.dir, name) }

func (*filesystem) Name() string { return "btrfs" }

func (*filesystem) Title() string { return "Btrfs" }

func (f *filesystem) Whole() error {
	nested, err := subvolume.Nested(f.workspace)
	if err != nil {
		return err
	}
	if nested != "" {
		return &native.Unfit{Why: fmt.Sprintf("the project has the subvolume %s in it, which is not part of its Btrfs snapshots", nested)}
	}
	mounted, err := mounts.Below(f.workspace)
	if err == nil && len(mounted) > 0 {
		err = &native.Unfit{Why: fmt.Sprintf("something is mounted on %s, which is not part of Btrfs snapshots", mounted[0].At)}
	}
	return err
}

func (*filesystem) Serves() error { return nil }

func (f *filesystem) Free() (float64, error) { return subvolume.Free(f.dir) }

func (f *filesystem) Take(context.Context) (string, error) {
	taking := f.path(takingName)
	return taking, subvolume.Snapshot(f.workspace, taking, true)
}

func (f *filesystem) Keep(name string) error { return os.Rename(f.path(takingName), f.path(name)) }

func (f *filesystem) Drop() error {
	if taking := f.path(takingName); subvolume.Is(taking) {
		return subvolume.Delete(taking)
	}
	return nil
}

func (f *filesystem) Names(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(f.dir)
	for _, e := range entries {
		if native.Named(e.Name()) && subvolume.ReadOnly(f.path(e.Name())) {
			names = append(names, e.Name())
		} else if ours(e.Name()) && subvolume.Is(f.path(e.Name())) {
			err = errors.Join(err, subvolume.Delete(f.path(e.Name())))
		}
	}
	return names, err
}

func (f *filesystem) Remove(name string) error {
	gone := f.path(name) + goneSuffix
	if os.Rename(f.path(name), gone) != nil {
		return nil // it was removed
	}
	return subvolume.Delete(gone)
}

func (f *filesystem) Shown(name string) string { return f.path(name) }

func (f *filesystem) Clone(_ context.Context, name, dir string) error {
	from := f.path(name)
	if !subvolume.ReadOnly(from) { // it was removed, or made writable
		return fs.ErrNotExist
	}
	return subvolume.Snapshot(from, dir, false)
}

func (*filesystem) Seal(_ context.Context, dir string) error { return subvolume.SetReadOnly(dir, true) }

// Abandon removes a snapshot that a killed process was taking, in the directory of a store that is not open and may not exist.
func Abandon(dir string) error {
	if taking := filepath.Join(dir, takingName); subvolume.Is(taking) {
		return removal.All(taking)
	}
	return nil
}

// Discard removes what is in the directory of a store whose workspace no longer exists, also where only root may remove subvolumes. The directory may not exist either.
func Discard(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); ours(e.Name()) && subvolume.Is(path) {
			failed := subvolume.Delete(path)
			if errors.Is(failed, fs.ErrPermission) { // file by file needs no right
				failed = removal.All(path)
			}
			err = errors.Join(err, failed)
		}
	}
	return errors.Join(err, native.DiscardLists(dir))
}
