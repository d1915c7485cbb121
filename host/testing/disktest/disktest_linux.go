package disktest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a filesystem")
	}
}

// mount mounts a filesystem of the kernel's own.
func mount(t *testing.T, dir, kind, options string) {
	t.Helper()
	root(t)
	if err := errors.Join(os.Mkdir(dir, 0o755), unix.Mount(kind, dir, kind, 0, options)); err != nil {
		t.Skipf("cannot mount a %s: %v", kind, err)
	}
	unmountLater(t, dir)
}

// exits is how long a process that has ended its work may take to exit. A daemon gives up its lock just before.
const exits = 20 * time.Second

// unmountLater unmounts a directory when the test ends. A process that stays in it fails the test, which names it.
func unmountLater(t *testing.T, dir string) {
	t.Cleanup(func() {
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		err := unix.Unmount(dir, 0)
		for began := time.Now(); errors.Is(err, unix.EBUSY) && time.Since(began) < exits; err = unix.Unmount(dir, 0) {
			<-look.C
		}
		if err != nil {
			t.Errorf("cannot unmount %s, which is used by %q: %v", dir, users(dir), errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH)))
		}
	})
}

// users returns the links in /proc by which processes use what is in a directory, with their targets.
func users(dir string) []string {
	var found []string
	for _, pattern := range []string{"/proc/[0-9]*/cwd", "/proc/[0-9]*/root", "/proc/[0-9]*/exe", "/proc/[0-9]*/fd/*", "/proc/[0-9]*/map_files/*"} {
		links, _ := filepath.Glob(pattern)
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target+"/", dir+"/") {
				found = append(found, link+" → "+target)
			}
		}
	}
	return found
}

// images are how a filesystem is made in a file.
var images = map[string]struct {
	size    int64
	program string
	options []string
}{
	"xfs":    {320 << 20, "mkfs.xfs", []string{"-q", "-m", "reflink=1"}},
	"btrfs":  {128 << 20, "mkfs.btrfs", []string{"-q"}},
	"ext4":   {128 << 20, "mkfs.ext4", []string{"-q", "-F", "-I", "128"}},
	"nilfs2": {512 << 20, "mkfs.nilfs2", []string{"-q", "-f", "-B", "256"}},
}

func made(t *testing.T, kind string, o Options) string {
	t.Helper()
	root(t)
	how := images[kind]
	if _, err := exec.LookPath(how.program); err != nil {
		t.Skipf("%s is missing; on Debian it is in the package %s", how.program, map[string]string{"xfs": "xfsprogs", "btrfs": "btrfs-progs", "ext4": "e2fsprogs", "nilfs2": "nilfs-tools"}[kind])
	}
	top := t.TempDir()
	image, dir := filepath.Join(top, "image"), filepath.Join(top, kind)
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, cmp.Or(o.Bytes, how.size)), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), how.program, append(how.options, image)...).CombinedOutput(); err != nil { //nolint:gosec // a test's file
		t.Fatalf("%s: %v\n%s", how.program, err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", strings.Trim("loop,"+o.Mount, ","), image, dir).CombinedOutput(); err != nil { //nolint:gosec // a test's file
		t.Skipf("cannot mount %s from a file here: %v\n%s", kind, err, out)
	}
	unmountLater(t, dir)
	return dir
}

// extentsOf asks the filesystem where a file is (FS_IOC_FIEMAP).
func extentsOf(t *testing.T, path string) []extent {
	t.Helper()
	const request, head, row, rows, sync = 0xc020660b, 32, 56, 256, 1
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, head+rows*row)
	le := binary.NativeEndian
	le.PutUint64(b[8:], ^uint64(0))
	le.PutUint32(b[16:], sync)
	le.PutUint32(b[24:], rows)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&b[0]))); errno != 0 {
		t.Fatalf("%s: where it is on disk is not known: %v", path, errno)
	}
	var all []extent
	for i := range int(le.Uint32(b[20:])) {
		e := b[head+i*row:]
		if physical := le.Uint64(e[8:]); physical != 0 { // else it is within the filesystem's own records
			all = append(all, extent{physical, le.Uint64(e[16:])})
		}
	}
	return all
}
