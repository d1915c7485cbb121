package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/zfs"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// onZFS measures snapshots and branches on ZFS, in a pool that it makes in a file. `.ci/zfs` starts what it needs.
func onZFS(r *run) (err error) {
	files := r.third(filesSmall)
	s := r.sheet(fmt.Sprintf("Snapshots on ZFS: %d files, %d edited, a record of the changes included", files, filesEdited))
	top, err := os.MkdirTemp("", "tidemark-zfs")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tracked.RemoveAll(top)) }()
	image, pool, dir := filepath.Join(top, "image"), "tidemark-bench-"+strings.ToLower(rand.Text()[:8]), filepath.Join(top, "zfs")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, nativeBytes)); err != nil {
		return err
	}
	if err := command("zpool", "create", "-o", "cachefile=none", "-O", "mountpoint="+dir, pool, image); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, command("zpool", "destroy", "-f", pool)) }()
	name := pool + "/workspace"
	if err := command("zfs", "create", name); err != nil {
		return err
	}
	n := native{dir: dir, home: top, files: files, open: zfs.Open, row: "ZFS snapshot / bare command"}
	_, err = os.Lstat(filepath.Join(dir, "workspace", ".zfs", "snapshot"))
	shows := err == nil
	if !shows {
		n.row = "ZFS snapshot / bare commands of zfs-fuse, which shows a snapshot only in a clone"
	}
	n.bare = func() (time.Duration, error) {
		one, err := timed(func() error {
			err := command("zfs", "snapshot", name+"@bare")
			if err == nil && !shows {
				err = errors.Join(command("zfs", "clone", "-o", "readonly=on", name+"@bare", pool+"/bare"), command("zfs", "destroy", pool+"/bare"))
			}
			return err
		})
		return one, errors.Join(err, command("zfs", "destroy", name+"@bare"))
	}
	if err := onFilesystem(r, s, n); err != nil {
		return err
	}
	return s.print()
}

func command(name string, args ...string) error {
	out, err := disktest.Patient(name, args...)
	if err != nil {
		return fmt.Errorf("%s %s: %w %s", name, args[0], err, strings.TrimSpace(out))
	}
	return nil
}
