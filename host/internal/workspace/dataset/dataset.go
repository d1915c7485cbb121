// Package dataset takes snapshots of ZFS and makes clones of them, by the command zfs of OpenZFS or of zfs-fuse.
//
// A clone is a dataset below the one that it was made of. It is mounted in a directory with nosuid and nodev, and its name says
// that it is Tidemark's. Nothing else is ever unmounted or destroyed, and no command of this package has an option that
// destroys what depends on it.
package dataset

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// Dataset is a filesystem of ZFS that is mounted.
type Dataset struct {
	// Name is such as "pool/home". At is where it is mounted.
	Name, At string
}

// Of returns the dataset that a directory is on. It is false where the directory is on another filesystem, or on a part of a
// dataset that is mounted by itself.
func Of(dir string) (Dataset, bool) {
	m, err := mounts.Of(dir)
	if err != nil || !Mounted(m) || m.Root != "/" || ofSnapshot(m) {
		return Dataset{}, false
	}
	return Dataset{m.Source, m.At}, true
}

// Mounted reports whether what is mounted is of ZFS.
func Mounted(m mounts.Mount) bool { return m.Type == "zfs" || m.Type == "fuse.zfs" }

// cloneName is what clones are called in the dataset above.
var cloneName = lazyregexp.New(`^tidemark-[a-z2-7]{26}$`)

// SnapshotPrefix begins the names of Tidemark's snapshots.
const SnapshotPrefix = "tidemark-"

func clone(m mounts.Mount) bool {
	return Mounted(m) && m.Root == "/" && cloneName().MatchString(path.Base(m.Source))
}

// Ours reports whether what is mounted is a clone, or what ZFS itself mounts to show a snapshot.
func Ours(m mounts.Mount) bool { return clone(m) || ofSnapshot(m) }

// Is reports whether a clone is mounted on a directory.
func Is(dir string) bool {
	_, ok := at(dir)
	return ok
}

// at returns the clone that is mounted on a directory.
func at(dir string) (Dataset, bool) {
	m, ok := mounts.On(dir)
	return Dataset{m.Source, m.At}, ok && clone(m)
}

// Foreign returns where something is mounted below a directory that is not part of a snapshot of it, "" if nothing is. ZFS
// mounts snapshots in .zfs when they are read.
func Foreign(dir string) (string, error) {
	list, err := mounts.Below(dir)
	for _, m := range list {
		if !ofSnapshot(m) {
			return m.At, err
		}
	}
	return "", err
}

func ofSnapshot(m mounts.Mount) bool { return Mounted(m) && strings.Contains(m.Source, "@") }

// Snapshot takes a snapshot of a dataset.
func Snapshot(ctx context.Context, dataset, name string) error {
	_, err := run(ctx, "snapshot", dataset+"@"+name)
	return err
}

// Frozen returns the directory in which ZFS shows a snapshot, "" where it does not, as by zfs-fuse or in a container.
func (d Dataset) Frozen(snapshot string) string {
	dir := filepath.Join(d.At, ".zfs", "snapshot", snapshot)
	if _, err := os.ReadDir(dir); err != nil { // that mounts it
		return ""
	}
	if m, ok := mounts.On(dir); !ok || !ofSnapshot(m) { // an empty directory, say
		return ""
	}
	return dir
}

// Drop destroys a snapshot, as soon as no clone of it exists. One that does not exist is no error.
func Drop(ctx context.Context, dataset, name string) error {
	_, err := run(ctx, "destroy", "-d", dataset+"@"+name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Snapshots returns the names of a dataset's snapshots that begin so, without those that are destroyed with their last clone.
func Snapshots(ctx context.Context, dataset, prefix string) (names []string, err error) {
	out, err := run(ctx, "list", "-H", "-t", "snapshot", "-o", "name,defer_destroy", "-r", "-d", "1", dataset)
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		name, ok := strings.CutPrefix(fields[0], dataset+"@"+prefix)
		if ok && len(fields) == 2 && fields[1] != "on" && fields[1] != "yes" {
			names = append(names, prefix+name)
		}
	}
	return names, err
}

// above returns the dataset that clones of another one are in. Those of a clone are beside it, so that they can outlive it.
func above(dataset string) string {
	if cloneName().MatchString(path.Base(dataset)) {
		return path.Dir(dataset)
	}
	return dataset
}

// Clone makes a clone of a snapshot and mounts it on a directory, which must not exist. After an error neither exists.
func Clone(ctx context.Context, dataset, snapshot, dir string, readOnly bool) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	name := above(dataset) + "/tidemark-" + strings.ToLower(rand.Text())
	args := []string{"clone", "-o", "mountpoint=" + dir, "-o", "setuid=off", "-o", "devices=off", "-o", "snapdir=hidden", "-o", "com.sun:auto-snapshot=false"}
	if readOnly {
		args = append(args, "-o", "readonly=on")
	}
	_, err := run(ctx, append(args, dataset+"@"+snapshot, name)...)
	if err == nil {
		if err = confine(dir, readOnly); err == nil {
			return nil
		}
	}
	// It may have been made and not mounted.
	ctx = context.WithoutCancel(ctx)
	if _, failed := run(ctx, "destroy", name); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
		err = errors.Join(err, failed)
	}
	return errors.Join(err, remove(dir))
}

// Seal makes the clone that is mounted on a directory one that cannot be written to, by root either.
func Seal(ctx context.Context, dir string) error {
	d, ok := at(dir)
	if !ok {
		return fmt.Errorf("no clone is mounted on %s", dir)
	}
	if _, err := run(ctx, "set", "readonly=on", d.Name); err != nil {
		return err
	}
	return confine(dir, true)
}

// Rename renames a directory. A clone that is mounted on it is mounted on the new one.
func Rename(from, to string) error {
	d, ok := at(from)
	if !ok {
		return os.Rename(from, to)
	}
	readOnly, err := sealed(from)
	if err == nil {
		err = os.Mkdir(to, 0o700)
	}
	if err != nil {
		return err
	}
	ctx := context.Background()
	_, err = run(ctx, "set", "mountpoint="+to, d.Name)
	if errors.Is(err, syscall.EBUSY) && !Is(from) {
		err = ended(ctx, func() bool { return Is(to) }, "mount", d.Name)
	}
	if err != nil {
		return errors.Join(err, remove(to))
	}
	return errors.Join(confine(to, readOnly), remove(from))
}

// How often, and how long after each other, a command is tried that fails because zfs-fuse has not ended a mount whose directory
// it has left already.
const (
	endingTries = 500
	endingEvery = 10 * time.Millisecond
)

// ended runs a command that needs a mount to have ended, which is no longer in a directory when mounted returns false.
func ended(ctx context.Context, mounted func() bool, args ...string) error {
	for i := 0; ; i++ {
		_, err := run(ctx, args...)
		if !errors.Is(err, syscall.EBUSY) || mounted() || i == endingTries {
			return err
		}
		select {
		case <-time.After(endingEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Exists reports whether there is a dataset, or a pool of that name that is imported.
func Exists(ctx context.Context, name string) bool {
	_, err := run(ctx, "list", "-H", "-o", "name", name)
	return err == nil
}

// Mount mounts a clone that is not mounted, where it was. Any other dataset is an error.
func Mount(ctx context.Context, name, dir string) error {
	if !cloneName().MatchString(path.Base(name)) {
		return fmt.Errorf("%s is not mounted", name)
	}
	if err := ended(ctx, func() bool { return Is(dir) }, "mount", name); err != nil {
		return err
	}
	return confine(dir, false)
}

// Release destroys the clones that are mounted on a directory and below it. Where anything else is mounted there, it destroys
// nothing and returns an error.
func Release(dir string) error {
	list, err := mounts.Within(dir)
	if err != nil {
		return err
	}
	for _, m := range list {
		if !Ours(m) {
			return fmt.Errorf("%s was not removed, because something is mounted on %s. Unmount it first.", dir, m.At)
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if clone(list[i]) {
			if err := destroy(context.Background(), list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// destroy destroys a clone with Tidemark's snapshots of it, and removes the directory that it was mounted on. Clones that were
// made of these snapshots stay.
func destroy(ctx context.Context, m mounts.Mount) error {
	try := func() error { return ended(ctx, func() bool { return Is(m.At) }, "destroy", m.Source) }
	err := try()
	if err != nil && !errors.Is(err, syscall.EBUSY) { // it has snapshots
		err = drop(ctx, m.Source)
		if err == nil {
			err = setFree(ctx, m.Source)
		}
		if err == nil {
			err = try()
		}
	}
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("%s was not removed, because a program uses it. Close the programs that work in it and try again: %w", m.At, err)
	}
	if err != nil {
		return fmt.Errorf("cannot remove the ZFS clone on %s: %w", m.At, err)
	}
	return remove(m.At)
}

// drop destroys Tidemark's snapshots of a dataset.
func drop(ctx context.Context, name string) error {
	names, err := Snapshots(ctx, name, SnapshotPrefix)
	for _, snapshot := range names {
		err = errors.Join(err, Drop(ctx, name, snapshot))
	}
	return err
}

// setFree lets the clones that were made of a clone outlive it: its snapshots become theirs, up to the one that they were made of.
// These are destroyed with it.
func setFree(ctx context.Context, name string) error {
	for {
		out, err := run(ctx, "list", "-H", "-t", "filesystem", "-o", "name,origin", "-r", path.Dir(name))
		if err != nil {
			return err
		}
		dependent := ""
		for line := range strings.Lines(out) {
			of, origin, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if strings.HasPrefix(origin, name+"@") && cloneName().MatchString(path.Base(of)) {
				dependent = of
			}
		}
		if dependent == "" {
			return nil
		}
		if _, err := run(ctx, "promote", dependent); err != nil {
			return err
		}
	}
}

// Abandoned destroys clones of a dataset that are not mounted though they have a place, if nothing needs what is there. Unneeded is
// called with the place and with the name of the snapshot that the clone was made of, "" for none.
func Abandoned(ctx context.Context, dataset string, unneeded func(dir, snapshot string) bool) error {
	out, err := run(ctx, "list", "-H", "-t", "filesystem", "-o", "name,mounted,origin,mountpoint", "-r", "-d", "1", above(dataset))
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		if len(fields) < 4 || !cloneName().MatchString(path.Base(fields[0])) || fields[1] != "no" {
			continue
		}
		if _, snapshot, _ := strings.Cut(fields[2], "@"); unneeded(fields[3], snapshot) {
			_, failed := run(ctx, "destroy", fields[0])
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Room returns how many bytes a dataset and what shares its room can have at most: those of its pool, or of its quota.
func Room(ctx context.Context, dataset string) (int64, error) {
	pool, _, _ := strings.Cut(dataset, "/")
	out, err := run(ctx, "get", "-H", "-p", "-o", "value", "used,available", pool, dataset)
	if err != nil {
		return 0, err
	}
	var n [4]int64 // used and available, of both
	if _, err := fmt.Sscan(out, &n[0], &n[1], &n[2], &n[3]); err != nil {
		if _, err := fmt.Sscan(out, &n[0], &n[1]); err != nil { // they are the same
			return 0, fmt.Errorf("zfs get: %q is not understood: %w", out, err)
		}
		return n[0] + n[1], nil
	}
	if n[3] < n[1] {
		return n[2] + n[3], nil
	}
	return n[0] + n[1], nil
}

// remove removes an empty directory that ZFS may have removed already.
func remove(dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
