// Package nilfscp makes checkpoints of NILFS2, promotes them to snapshots, and mounts these, by the system's calls and without a
// program. Elsewhere than on Linux no directory is on NILFS2.
//
// Promoting and mounting need CAP_SYS_ADMIN. A process that is not root's may have it as a permitted capability, which
// is in effect for these calls alone, on their thread.
//
// Guarantees:
//   - Snapshots are mounted read-only, with nosuid and nodev, and show one directory of the filesystem.
//   - They are mounted on directories of the process's user that only this user can write to, whatever others rename meanwhile.
//   - Nothing but such a mount is unmounted, and none that a program uses.
package nilfscp

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// ErrBusy means that a program uses a mount, or that a snapshot is mounted.
var ErrBusy = errors.New("it is in use")

// Filesystem is a NILFS2 that is mounted.
type Filesystem struct {
	// Device is what is mounted, At a directory on it.
	Device, At string
}

// Checkpoint is a state of a filesystem. Its numbers are never used again, except by a new filesystem on the device, which
// has other values.
type Checkpoint struct {
	Number uint64
	// Created is in seconds since 1970.
	Created, Inodes, Blocks uint64
}

// String is a line that [Parse] reads.
func (c Checkpoint) String() string {
	return fmt.Sprintf("%d %d %d %d", c.Number, c.Created, c.Inodes, c.Blocks)
}

// Parse reads a line of [Checkpoint.String].
func Parse(line string) (c Checkpoint, err error) {
	_, err = fmt.Sscanf(line, "%d %d %d %d", &c.Number, &c.Created, &c.Inodes, &c.Blocks)
	return c, err
}

// Of returns the filesystem that a directory is on, and where the directory is in it. It is false where the directory is not on
// NILFS2, or in a snapshot of it.
func Of(dir string) (f Filesystem, within string, ok bool) {
	m, err := mounts.Of(dir)
	if err != nil || m.Type != "nilfs2" || snapshot(m) {
		return f, "", false
	}
	rel, err := filepath.Rel(m.At, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return f, "", false
	}
	return Filesystem{Device: m.Source, At: dir}, filepath.Join(m.Root, rel), true
}

// At returns the filesystem of a device, false where it is not mounted.
func At(device string) (f Filesystem, ok bool) {
	list, err := mounts.Within("/")
	if err != nil {
		return f, false
	}
	for _, m := range list {
		if m.Type == "nilfs2" && m.Source == device && !snapshot(m) {
			f, ok = Filesystem{Device: device, At: m.At}, true
		}
	}
	return f, ok
}

// snapshot reports whether a mount is one of a snapshot.
func snapshot(m mounts.Mount) bool {
	return m.Type == "nilfs2" && slices.ContainsFunc(strings.Split(m.Options, ","), func(o string) bool { return strings.HasPrefix(o, "cp=") })
}

// ours reports whether a mount is one of a snapshot as this package makes them.
func ours(m mounts.Mount) bool {
	flags := strings.Split(m.Flags, ",")
	return snapshot(m) && slices.Contains(flags, "ro") && slices.Contains(flags, "nosuid") && slices.Contains(flags, "nodev")
}

// hiding is what the source of an empty filesystem is called that hides a directory of a snapshot.
const hiding = "tidemark"

func hides(m mounts.Mount) bool { return m.Type == "tmpfs" && m.Source == hiding }

// Mounted reports whether this package mounted something: a snapshot, or what hides a directory of one.
func Mounted(m mounts.Mount) bool { return ours(m) || hides(m) }

// Is reports whether a snapshot is mounted on a directory.
func Is(dir string) bool {
	m, ok := mounts.On(dir)
	return ok && ours(m)
}

// Release unmounts the snapshots that are mounted on a directory and below it. Where anything else is mounted in one, it unmounts
// nothing and returns an error.
func Release(dir string) error {
	list, err := mounts.Within(dir)
	if err != nil {
		return err
	}
	var all []mounts.Mount
	for _, m := range list {
		in := slices.ContainsFunc(all, func(of mounts.Mount) bool { return strings.HasPrefix(m.At, of.At+"/") })
		if ours(m) || in && hides(m) {
			all = append(all, m)
		} else if in {
			return fmt.Errorf("%s was not removed, because something is mounted on %s. Unmount it first.", dir, m.At)
		}
	}
	for _, m := range slices.Backward(all) {
		if err := unmount(m.At); errors.Is(err, ErrBusy) {
			return fmt.Errorf("%s was not removed, because a program uses it. Close the programs that work in it and try again: %w", m.At, err)
		} else if err != nil {
			return fmt.Errorf("cannot unmount the NILFS2 snapshot on %s: %w", m.At, err)
		}
	}
	return nil
}
