package overlay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// patience is how long a process may take to serve a snapshot.
const patience = 20 * time.Second

// mounting is held while something is mounted or unmounted.
var mounting sync.Mutex

// ours reports whether Tidemark mounted something.
func ours(m mounts.Mount) bool {
	return m.Source == Source && (m.Type == "fuse.tidemark" || m.Type == "overlay")
}

// Mount mounts a directory as its layers say, if it is not mounted or the process that served it has ended. Server is the
// command line of such a process, which gets the directory as its last argument. A directory without layers is no error.
func Mount(ctx context.Context, server []string, dir string) error {
	if !Is(dir) {
		return nil
	}
	mounting.Lock()
	defer mounting.Unlock()
	s := ServedFor(dir)
	if serving(s.Lock) && mountedOn(s.At) && (s.Sealed || mountedOn(dir)) {
		return nil
	}
	if len(server) == 0 {
		return errors.New("no program is known that serves snapshots")
	}
	if !serving(s.Lock) {
		if err := errors.Join(detach(dir), detach(s.At)); err != nil {
			return err
		}
		if err := serve(ctx, server, dir); err != nil {
			return err
		}
	}
	if s.Sealed || mountedOn(dir) {
		return nil
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return errors.Join(err, fmt.Errorf("the branch in %s is not mounted, and something was written into its empty directory. Move that away and try again.", dir))
	}
	options := "redirect_dir=on,lowerdir=" + escape(s.At) + ",upperdir=" + escape(layer(dir, upperName)) + ",workdir=" + escape(layer(dir, workName))
	if err := unix.Mount(Source, dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("the kernel does not mount an overlay: %w", err)
	}
	return nil
}

// escape writes a path into the options of an overlay.
var escape = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `:`, `\:`).Replace

// serve starts the process that serves a directory, and waits until it does.
func serve(ctx context.Context, server []string, dir string) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(server[0], append(server[1:len(server):len(server)], dir)...) //nolint:gosec // it is Tidemark itself
	cmd.Stdout, cmd.Stderr, cmd.Dir = in, in, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives the daemon
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	deadline := time.Now().Add(patience)
	if at, ok := ctx.Deadline(); ok && at.Before(deadline) {
		deadline = at
	}
	_ = out.SetReadDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if line == Ready+"\n" {
		return nil
	}
	_ = cmd.Process.Kill()
	if said := strings.TrimPrefix(strings.TrimSpace(line), "tidemark: "); said != "" {
		return errors.New(said)
	}
	return errors.Join(fmt.Errorf("the process that serves a snapshot did not begin: %w", err), ctx.Err())
}

// Lock locks the file of a process that serves a directory, until the process ends.
func Lock(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another process serves it: %w", err)
	}
	return nil // it stays open
}

// serving reports whether a process serves what a lock is of. It does not touch what is mounted: that could wait.
func serving(lock string) bool {
	fd, err := unix.Open(lock, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) != nil
}

// How often, and how long after each other, it is looked whether a process has ended that serves nothing any more.
const (
	endingTries = 400
	endingEvery = 5 * time.Millisecond
)

// ended waits until the process of a lock has ended, so that it has no file open. One that does not end keeps its files until it
// does.
func ended(lock string) {
	for i := 0; serving(lock) && i < endingTries; i++ {
		time.Sleep(endingEvery)
	}
}

// SetRoot sets what a branch has as its root, which is that of the upper layer.
func SetRoot(dir string, mode uint16, mtime int64, xattrs map[string][]byte) error {
	upper := layer(dir, upperName)
	var errs []error
	for name, value := range xattrs {
		errs = append(errs, unix.Setxattr(upper, name, value, 0))
	}
	errs = append(errs, unix.Chmod(upper, uint32(mode)), os.Chtimes(upper, time.Time{}, time.Unix(0, mtime)))
	return errors.Join(errs...)
}

// mountedOn reports whether Tidemark mounted something on a directory.
func mountedOn(dir string) bool {
	m, ok := mounts.On(dir)
	return ok && ours(m)
}

// unmount unmounts what Tidemark mounted on a directory.
func unmount(dir string, flags int) error {
	if !mountedOn(dir) {
		return nil
	}
	err := unix.Unmount(dir, flags)
	if errors.Is(err, unix.EPERM) { // a user's
		for _, program := range []string{"fusermount3", "fusermount"} {
			args := []string{"-u", dir}
			if flags != 0 {
				args = []string{"-u", "-z", dir}
			}
			out, failed := exec.Command(program, args...).CombinedOutput() //nolint:gosec // a path of ours
			if failed == nil {
				return nil
			}
			if !errors.Is(failed, exec.ErrNotFound) {
				if strings.Contains(string(out), "busy") {
					err = unix.EBUSY
					break
				}
				return fmt.Errorf("%s: %s", program, strings.TrimSpace(string(out)))
			}
		}
	}
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%s was not unmounted, because a program uses it. Close the programs that work in it and try again: %w", dir, err)
	}
	if err != nil {
		return &fs.PathError{Op: "unmount", Path: dir, Err: err}
	}
	return nil
}

// detach unmounts what can no longer be read, used or not.
func detach(dir string) error { return unmount(dir, unix.MNT_DETACH) }

// Release unmounts what Tidemark mounted on a directory and below it, and removes the layers of the directory and of those below
// it that are no longer mounted. The directories stay. Where anything else is mounted there, it changes nothing.
func Release(dir string) error {
	if !Is(dir) && !holds(dir) {
		return nil
	}
	mounting.Lock()
	defer mounting.Unlock()
	list, err := mounts.Within(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // what it is in does not exist
	}
	if err != nil {
		return err
	}
	for i := len(list) - 1; i >= 0; i-- { // the last one is the uppermost
		if !ours(list[i]) {
			continue
		}
		if err := end(list[i].At); err != nil {
			return err
		}
	}
	if !Is(dir) {
		return nil
	}
	s := ServedFor(dir)
	if err := end(s.At); err != nil {
		return err
	}
	ended(s.Lock)
	if left, err := mounts.Within(layers(dir)); err != nil || len(left) > 0 {
		return errors.Join(err, fmt.Errorf("%s was not removed, because something is mounted in it", layers(dir)))
	}
	return removeLayers(layers(dir))
}

// end unmounts what is mounted on a directory: at once if its process has ended.
func end(at string) error {
	flags := 0
	if !serving(layer(owner(at), lockName)) {
		flags = unix.MNT_DETACH
	}
	return unmount(at, flags)
}

// owner returns the directory of which something is mounted: the one above the layers, if it is one of them.
func owner(at string) string {
	above := filepath.Dir(at)
	if name := Of(filepath.Base(above)); name != "" && filepath.Base(at) == baseName {
		return filepath.Join(filepath.Dir(above), name)
	}
	return at
}

// holds reports whether Tidemark mounted something on a directory or below it.
func holds(dir string) bool {
	list, _ := mounts.Within(dir) // a directory that does not exist has none
	for _, m := range list {
		if ours(m) {
			return true
		}
	}
	return false
}

// removeLayers removes layers that are not mounted. The kernel makes a directory in work that nobody may read.
func removeLayers(path string) error {
	if err := os.RemoveAll(path); err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(at string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(at, 0o700) //nolint:gosec // a directory needs its x
		}
		return nil
	})
	return os.RemoveAll(path)
}

// Heal detaches what Tidemark mounted below a directory and whose process has ended: reading it would fail. [Mount] mounts it
// again.
func Heal(below string) error {
	mounting.Lock()
	defer mounting.Unlock()
	list, err := mounts.Below(below)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := len(list) - 1; i >= 0; i-- {
		if !ours(list[i]) {
			continue
		}
		if !serving(layer(owner(list[i].At), lockName)) {
			err = errors.Join(err, detach(list[i].At))
		}
	}
	return err
}

// Refused returns why nothing is mounted here, nil if it seems that it can be: for a branch, or for a view.
func Refused(branch bool) error {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return errors.New("the system has no /dev/fuse")
	}
	if os.Geteuid() == 0 {
		return nil
	}
	if branch {
		return errors.New("only root can mount an overlay of the kernel where other programs see it")
	}
	for _, program := range []string{"fusermount3", "fusermount"} {
		if _, err := exec.LookPath(program); err == nil {
			return nil
		}
	}
	return errors.New("without root, a mount needs the program fusermount3, which is not installed (on Debian, the package fuse3 has it)")
}
