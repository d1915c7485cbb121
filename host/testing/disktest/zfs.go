package disktest

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Pool is a pool of ZFS in a file.
type Pool struct {
	// Name is that of its dataset, which is mounted on Dir.
	Name, Dir string
}

// ZFS makes a pool of a size in bytes. It needs a ZFS that is for tests: `make test-zfs` starts one.
func ZFS(t *testing.T, bytes int64) Pool {
	t.Helper()
	if os.Getenv("TIDEMARK_TEST_ZFS") == "" {
		t.Skip("ZFS is tested by make test-zfs")
	}
	top := t.TempDir()
	p := Pool{Name: "tidemark-test-" + strings.ToLower(rand.Text()[:8]), Dir: filepath.Join(top, "zfs")}
	image := filepath.Join(top, "image")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, bytes)); err != nil {
		t.Fatal(err)
	}
	if out, err := Patient("zpool", "create", "-o", "cachefile=none", "-O", "mountpoint="+p.Dir, "-O", "atime=off", p.Name, image); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := Patient("zpool", "destroy", "-f", p.Name); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return p
}

// failer is what tests of package testing and of package rapid have.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Create makes a dataset of a directory of the pool.
func (p Pool) Create(t failer, dir string) (name string) {
	t.Helper()
	rel, err := filepath.Rel(p.Dir, dir)
	if err != nil {
		t.Fatalf("%v", err)
	}
	name = p.Name + "/" + rel
	if out, err := exec.Command("zfs", "create", "-p", name).CombinedOutput(); err != nil { //nolint:gosec,noctx // a test's dataset
		t.Fatalf("zfs create: %v\n%s", err, out)
	}
	return name
}

// Zfs runs the command of ZFS, and returns its output.
func Zfs(t *testing.T, args ...string) string {
	t.Helper()
	out, err := Patient("zfs", args...)
	if err != nil {
		t.Fatalf("zfs %v: %v: %s", args, err, out)
	}
	return out
}

// Patient runs a command, and returns what it wrote. It runs it again as long as something is busy: zfs-fuse ends a mount after
// the command that unmounts it.
func Patient(name string, args ...string) (out string, err error) {
	for range 200 {
		b, failed := exec.Command(name, args...).CombinedOutput() //nolint:gosec,noctx // a test's pool, which outlives its context
		if out, err = string(b), failed; err == nil || !strings.Contains(out, "busy") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return out, err
}
