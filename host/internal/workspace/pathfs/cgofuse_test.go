//go:build (windows && !cgo) || cgofuse

package pathfs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/winfsp/cgofuse/fuse"

	"tidemark.dev/tidemark/host/internal/workspace/union"
)

func newTestServed(t *testing.T, written bool) *served {
	t.Helper()
	dir := ""
	if written {
		dir = t.TempDir()
	}
	s := &served{files: newTest(t, dir, true)}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func is(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, fuse.Error(got), fuse.Error(want))
	}
}

// TestRequestsAreAnswered as those of WinFsp, without it.
func TestRequestsAreAnswered(t *testing.T) {
	s := newTestServed(t, true)
	var st fuse.Stat_t
	is(t, "getattr", s.Getattr("/src/MAIN.go", &st, noHandle), 0)
	if st.Size != int64(len(content)) || st.Mode != union.File|0o644 || st.Ino != 33 || st.Mtim.Sec != 3 {
		t.Errorf("%+v", st)
	}
	if errc, path := s.Getpath("/SRC/main.GO", noHandle); errc != 0 || path != "/Src/Main.go" {
		t.Error(errc, path)
	}
	errc, handle := s.Create("/src/New", fuse.O_RDWR, 0o644)
	is(t, "create", errc, 0)
	is(t, "write", s.Write("", []byte("0123456789"), 2, handle), 10)
	buffer := make([]byte, 100)
	if n := s.Read("", buffer, 1, handle); string(buffer[:max(n, 0)]) != "\x000123456789" {
		t.Errorf("%q", buffer[:max(n, 0)])
	}
	is(t, "truncate", s.Truncate("", 4, handle), 0)
	is(t, "rename", s.Rename("/src/NEW", "/new"), 0)
	is(t, "flush, sync", s.Flush("", handle)|s.Fsync("", false, handle), 0)
	is(t, "getattr", s.Getattr("", &st, handle), 0)
	if st.Size != 4 {
		t.Errorf("%+v", st)
	}
	is(t, "release", s.Release("", handle), 0)
	is(t, "mkdir", s.Mkdir("/Dir", 0o755), 0)
	is(t, "symlink", s.Symlink("../Dir", "/link"), 0)
	if errc, target := s.Readlink("/LINK"); errc != 0 || target != "../Dir" {
		t.Error(errc, target)
	}
	is(t, "utimens", s.Utimens("/new", []fuse.Timespec{{Sec: 5}, {Nsec: fuse.UTIME_OMIT}}), 0)
	is(t, "getattr", s.Getattr("/new", &st, noHandle), 0)
	if st.Atim.Sec != 5 || st.Mtim.Sec < 1e9 {
		t.Errorf("%+v", st)
	}
	var names []string
	errc, handle = s.Opendir("/")
	is(t, "opendir", errc, 0)
	for from, more := int64(0), true; more; { // one entry at a time
		more = false
		is(t, "readdir", s.Readdir("", func(name string, st *fuse.Stat_t, next int64) bool {
			if more {
				return false
			}
			if st == nil {
				t.Error(name, "has no attributes")
			}
			names, from, more = append(names, name), next, true
			return true
		}, from, handle), 0)
	}
	is(t, "releasedir", s.Releasedir("", handle), 0)
	if want := []string{".", "..", "Src", "new", "Dir", "link"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	var room fuse.Statfs_t
	if errc := s.Statfs("/", &room); errc != 0 || room.Namemax != 255 || room.Bavail == 0 {
		t.Error(errc, room)
	}
	is(t, "remove", s.Unlink("/NEW")|s.Unlink("/Link")|s.Rmdir("/dir"), 0)
}

// TestErrorsHaveCgofusesNumbers: on Windows they are not those of the system.
func TestErrorsHaveCgofusesNumbers(t *testing.T) {
	s := newTestServed(t, true)
	var st fuse.Stat_t
	is(t, "missing", s.Getattr("/none", &st, noHandle), -fuse.ENOENT)
	is(t, "below a file", s.Getattr("/Src/Main.go/x", &st, noHandle), -fuse.ENOTDIR)
	is(t, "mkdir", s.Mkdir("/SRC", 0o755), -fuse.EEXIST)
	is(t, "rmdir", s.Rmdir("/Src"), -fuse.ENOTEMPTY)
	is(t, "rmdir of a file", s.Rmdir("/Src/Main.go"), -fuse.ENOTDIR)
	is(t, "unlink of a directory", s.Unlink("/Src"), -fuse.EISDIR)
	is(t, "into itself", s.Rename("/Src", "/Src/x"), -fuse.EINVAL)
	is(t, "long", s.Mkdir("/"+strings.Repeat("n", 256), 0o755), -fuse.ENAMETOOLONG)
	errc, _ := s.Getxattr("/Src", "user.none")
	is(t, "attribute", errc, -fuse.ENOATTR)
	is(t, "attribute", s.Removexattr("/Src", "user.none"), -fuse.ENOATTR)
	is(t, "access control list", s.Setxattr("/Src", "system.posix_acl_access", nil, 0), -fuse.ENOTSUP)
	is(t, "setxattr", s.Setxattr("/Src", "user.a", []byte("b"), 0), 0)
	if errc, value := s.Getxattr("/src", "user.a"); errc != 0 || string(value) != "b" {
		t.Error(errc, value)
	}
	view := newTestServed(t, false)
	errc, handle := view.Open("/src/main.go", fuse.O_RDONLY)
	is(t, "open", errc, 0)
	is(t, "write to a view", view.Write("", []byte("x"), 0, handle), -fuse.EROFS)
	is(t, "mkdir in a view", view.Mkdir("/x", 0o755), -fuse.EROFS)
}

// TestTheAttributeOfWindowsThatAFileIsReadOnlyIsItsMode, and its user may change it.
func TestTheAttributeOfWindowsThatAFileIsReadOnlyIsItsMode(t *testing.T) {
	s := newTestServed(t, true)
	is(t, "chflags", s.Chflags("/src/main.go", fuse.UF_READONLY), 0)
	a, _, err := s.find("/Src/Main.go")
	if err != nil || a.Mode&0o777 != 0o444 {
		t.Errorf("%o, %v", a.Mode, err)
	}
	var st fuse.Stat_t
	is(t, "getattr", s.Getattr("/src/main.go", &st, noHandle), 0)
	if readOnly := st.Flags&fuse.UF_READONLY != 0; readOnly != windows || st.Mode&0o200 != 0 != windows {
		t.Errorf("%+v", st)
	}
	is(t, "chflags", s.Chflags("/src/main.go", 0), 0)
	if a, _, err = s.find("/Src/Main.go"); err != nil || a.Mode&0o777 != 0o644 {
		t.Errorf("%o, %v", a.Mode, err)
	}
}

// TestWithoutWinFspItIsAnError and no panic.
func TestWithoutWinFspItIsAnError(t *testing.T) {
	if !windows {
		t.Skip("on Windows only")
	}
	dir := filepath.Join(t.TempDir(), "mounted")
	err := mount(fuse.NewFileSystemHost(newTestServed(t, true)), Options{Dir: dir, Source: "tidemark", Name: "tidemark"})
	if err == nil || !strings.Contains(err.Error(), "cannot find winfsp") || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
}
