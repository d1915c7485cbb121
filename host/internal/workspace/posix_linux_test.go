package workspace_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/testing/mounttest"
)

// knownFailures are cases that a form of branches fails, with the reason. docs/MOUNTS.md lists them. A case that passes must not be here.
var knownFailures = map[string]map[string]string{
	"kernel": {
		"chmod/changes the mode and the ctime": copiesUp,
		"copy_file_range/copies":               "EXDEV between the snapshot and what was written",
		"link/is the same file":                copiesUp,
		"link/of one that the snapshot has":    linksBreak,
		"mkdir/counts in its parent":           countsNone,
		"mmap/is the file":                     "what was mapped before the first write stays as it was",
		"readdir/has dots, types and inodes":   "the inodes in a list are those of the layers",
		"rename/a directory":                   countsNone,
		"rename/a directory over an empty one": countsNone,
		"rename/exchanges":                     countsNone,
		"rename/over a file":                   linksBreak,
		"rename/two names of one file stay":    linksBreak,
		"rmdir/an open directory":              "a removed directory that is open has 2 links",
		"truncate/grows and shrinks":           copiesUp,
		"unlink/one of several names":          linksBreak,
		"utimensat/sets":                       copiesUp,
	},
	"paths": {
		"fallocate/holes":         notAsked,
		"open/without a name":     notAsked,
		"rename/over a file":      "libfuse gives an open file that is replaced another name",
		"rmdir/an open directory": "libfuse asks by a path, which a removed directory does not have",
	},
}

// Reasons of the kernel's overlay, and of libfuse.
const (
	copiesUp   = "the first change of a file sets the ctime of its directory"
	linksBreak = "the names of a hard link of the snapshot become files of their own when one is changed"
	countsNone = "a directory of both layers has 1 link"
	notAsked   = "cgofuse does not ask for it"
)

// posix is a case of what programs may expect of a filesystem, in a directory of its own:
//
//	f "0123456789"   d/x "x"   d/sub/y "y"   e/ empty   l -> f   dangling -> nothing   h1 = h2 "hard"   run a program
type posix struct {
	t    *testing.T
	dir  int
	path string
	errs []string
}

func (c *posix) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Sprintf(format, args...))
}

// is notes an error that is not the wanted one.
func (c *posix) is(what string, err error, want error) {
	if !errors.Is(err, want) || want == nil && err != nil {
		c.fail("%s: %v, want %v", what, err, want)
	}
}

// ok is is without an error.
func (c *posix) ok(what string, err error) { c.is(what, err, nil) }

func (c *posix) equal(what string, got, want any) {
	if got != want {
		c.fail("%s: %v, want %v", what, got, want)
	}
}

func (c *posix) stat(name string) (st unix.Stat_t) {
	c.ok("stat "+name, unix.Fstatat(c.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW))
	return st
}

func (c *posix) mode(name string, want uint32) {
	c.equal("mode of "+name, fmt.Sprintf("%o", c.stat(name).Mode&0o7777), fmt.Sprintf("%o", want))
}

func (c *posix) links(name string, want uint64) { c.equal("links of "+name, c.stat(name).Nlink, want) }

func (c *posix) missing(name string) {
	var st unix.Stat_t
	c.is("stat "+name, unix.Fstatat(c.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT)
}

func (c *posix) open(name string, flags int) int {
	fd, err := unix.Openat(c.dir, name, flags|unix.O_CLOEXEC, 0o644)
	c.ok("open "+name, err)
	c.t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func (c *posix) write(name, content string) {
	fd := c.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	_, err := unix.Write(fd, []byte(content))
	c.ok("write "+name, errors.Join(err, unix.Close(fd)))
}

func (c *posix) has(name, want string) {
	content, err := os.ReadFile(filepath.Join(c.path, name))
	if err != nil || string(content) != want {
		c.fail("%s has %.60q, %v; want %.60q", name, content, err, want)
	}
}

func (c *posix) names(name string, want ...string) {
	entries, err := os.ReadDir(filepath.Join(c.path, name))
	got := []string{}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if err != nil || !slices.Equal(got, want) {
		c.fail("%s has %v, %v; want %v", name, got, err, want)
	}
}

// later calls a function at a time that files can tell from now, and checks which of their times changed.
func (c *posix) later(what string, do func() error, changed map[string]string) {
	before := map[string]unix.Stat_t{}
	for name := range changed {
		before[name] = c.stat(name)
	}
	tick(c.t)
	c.ok(what, do())
	for name, times := range changed {
		old, st := before[name], c.stat(name)
		for _, one := range []struct {
			letter   string
			old, now unix.Timespec
		}{{"m", old.Mtim, st.Mtim}, {"c", old.Ctim, st.Ctim}} {
			if want := strings.Contains(times, one.letter); want != (one.now.Nano() > one.old.Nano()) {
				c.fail("%s: %stime of %s is %v after %v, want a change: %v", what, one.letter, name, one.now, one.old, want)
			}
		}
	}
}

// tick waits until the kernel's clock of files has moved.
func tick(t *testing.T) {
	var begin, now unix.Timespec
	for now = begin; now.Nano() <= begin.Nano()+int64(time.Millisecond); {
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			t.Fatal(err)
		}
		if begin.Nano() == 0 {
			begin = now
		}
		runtime.Gosched()
	}
}

// other is a user without rights.
const other = 65534

// as calls a function as a user without rights. It needs root.
func (c *posix) as(uid int, do func()) {
	if os.Geteuid() != 0 {
		c.t.Skip("only root can be another user")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	set := func(uid, gid int) {
		for call, id := range map[uintptr]int{unix.SYS_SETFSUID: uid, unix.SYS_SETFSGID: gid} {
			_, _, _ = unix.RawSyscall(call, uintptr(id), 0, 0) // of this thread alone
		}
	}
	set(uid, uid)
	defer set(0, 0)
	do()
}

func buildCase(t interface{ Fatal(...any) }, dir string) {
	program, err := os.ReadFile("/bin/true")
	err = errors.Join(err, os.MkdirAll(filepath.Join(dir, "d", "sub"), 0o755), os.Mkdir(filepath.Join(dir, "e"), 0o755),
		os.WriteFile(filepath.Join(dir, "f"), []byte("0123456789"), 0o644), os.WriteFile(filepath.Join(dir, "d", "x"), []byte("x"), 0o644), //nolint:gosec // a test's
		os.WriteFile(filepath.Join(dir, "d", "sub", "y"), []byte("y"), 0o644), os.WriteFile(filepath.Join(dir, "h1"), []byte("hard"), 0o644), //nolint:gosec // a test's
		os.Link(filepath.Join(dir, "h1"), filepath.Join(dir, "h2")), os.Symlink("f", filepath.Join(dir, "l")), os.Symlink("nothing", filepath.Join(dir, "dangling")),
		os.WriteFile(filepath.Join(dir, "run"), program, 0o755)) //nolint:gosec // a program
	if err != nil {
		t.Fatal(err)
	}
}

// posixCases are all cases by name. Each is what a call does, or how it fails.
func posixCases() map[string]func(*posix) {
	all := map[string]func(*posix){}
	for _, some := range []map[string]func(*posix){casesOfModes, casesOfNames, casesOfRename, casesOfContents, casesOfTimes, casesOfLists} {
		maps.Copy(all, some)
	}
	return all
}

// TestWhatProgramsExpectOfAFilesystem runs the cases on an ordinary filesystem, which shows that they are right, and on both forms of
// branches.
func TestWhatProgramsExpectOfAFilesystem(t *testing.T) {
	mounttest.Need(t)
	old := unix.Umask(0o022)
	defer unix.Umask(old)
	cases := posixCases()
	run := func(t *testing.T, form, top string) {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			t.Run(name, func(t *testing.T) {
				c := &posix{t: t, path: filepath.Join(top, name)}
				var err error
				if c.dir, err = unix.Open(c.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = unix.Close(c.dir) })
				cases[name](c)
				why, known := knownFailures[form][name]
				switch {
				case known && len(c.errs) == 0:
					t.Errorf("it passes now, and is listed as failing: %s", why)
				case !known && len(c.errs) > 0:
					t.Error(strings.Join(c.errs, "\n"))
				}
			})
		}
	}
	t.Run("native", func(t *testing.T) {
		top := t.TempDir()
		for name := range cases {
			buildCase(t, filepath.Join(top, name))
		}
		run(t, "native", top)
	})
	for _, form := range []string{"kernel", "alone", "paths"} {
		t.Run(form, func(t *testing.T) {
			server := mounttest.Server()
			if form == "paths" {
				server = needPaths(t)
			}
			if form == "kernel" && overlay.Best() != overlay.Kernel {
				t.Skip("only root mounts overlays of the kernel")
			}
			m := newMountWorldBy(t, mkdirTop(t), form != "kernel", server)
			defer m.end()
			for name := range cases {
				buildCase(t, filepath.Join(m.dir, name))
			}
			number := m.take()
			dir := m.branch(number)
			run(t, form, dir)
			fresh := m.branch(number) // nothing of that is in another one
			for name := range cases {
				c := &posix{t: t, path: filepath.Join(fresh, name)}
				c.names("", "d", "dangling", "e", "f", "h1", "h2", "l", "run")
				c.has("f", "0123456789")
				c.has("h2", "hard")
				if len(c.errs) > 0 {
					t.Fatal(name, c.errs)
				}
			}
		})
	}
}

// needPaths returns what serves snapshots as on Windows, or skips the test.
func needPaths(t *testing.T) []string {
	server := mounttest.ServerByPaths()
	if server == nil {
		t.Skip("what mounts on Windows is tested by make test-pathfs")
	}
	return server
}

// long is a name that is too long.
var long = strings.Repeat("n", 256)

var casesOfModes = map[string]func(*posix){
	"chmod/changes the mode and the ctime": func(c *posix) {
		c.later("chmod", func() error { return unix.Fchmodat(c.dir, "f", 0o600, 0) }, map[string]string{"f": "c", ".": ""})
		c.mode("f", 0o600)
		c.ok("chmod", unix.Fchmodat(c.dir, "d", 0o1777, 0))
		c.mode("d", 0o1777)
		c.has("f", "0123456789")
	},
	"chmod/follows a link": func(c *posix) { c.ok("chmod", unix.Fchmodat(c.dir, "l", 0o611, 0)); c.mode("f", 0o611) },
	"chmod/errors": func(c *posix) {
		c.is("missing", unix.Fchmodat(c.dir, "nothing", 0o600, 0), unix.ENOENT)
		c.is("below a file", unix.Fchmodat(c.dir, "f/x", 0o600, 0), unix.ENOTDIR)
		c.is("long", unix.Fchmodat(c.dir, long, 0o600, 0), unix.ENAMETOOLONG)
		c.ok("loop", unix.Symlinkat("loop", c.dir, "loop"))
		c.is("loop", unix.Fchmodat(c.dir, "loop", 0o600, 0), unix.ELOOP)
		c.as(other, func() { c.is("of another user", unix.Fchmodat(c.dir, "f", 0o600, 0), unix.EPERM) })
	},
	"chmod/set-group-ID goes where the user is not in the group": func(c *posix) {
		c.ok("chown", unix.Fchownat(c.dir, "f", other, 0, 0))
		c.as(other, func() { c.ok("chmod", unix.Fchmodat(c.dir, "f", 0o2755, 0)) })
		c.mode("f", 0o755)
	},
	"chown/by root": func(c *posix) {
		c.as(0, func() {})
		c.later("chown", func() error { return unix.Fchownat(c.dir, "f", 123, 456, 0) }, map[string]string{"f": "c"})
		st := c.stat("f")
		c.equal("owner", fmt.Sprint(st.Uid, st.Gid), "123 456")
		c.ok("of a link", unix.Fchownat(c.dir, "l", 7, 8, unix.AT_SYMLINK_NOFOLLOW))
		c.equal("owner of the link", c.stat("l").Uid, uint32(7))
		c.has("f", "0123456789")
	},
	"chown/takes privileges away": func(c *posix) {
		c.as(0, func() {})
		c.ok("chmod", unix.Fchmodat(c.dir, "run", 0o6755, 0))
		c.ok("chown", unix.Fchownat(c.dir, "run", 123, 456, 0))
		c.mode("run", 0o755)
		c.ok("chmod", unix.Fchmodat(c.dir, "d", 0o6755, 0))
		c.ok("chown", unix.Fchownat(c.dir, "d", 123, 456, 0))
		c.mode("d", 0o6755)
	},
	"chown/errors": func(c *posix) {
		c.is("missing", unix.Fchownat(c.dir, "nothing", 0, 0, 0), unix.ENOENT)
		c.as(other, func() { c.is("of another user", unix.Fchownat(c.dir, "f", other, other, 0), unix.EPERM) })
	},
	"write/of another user takes privileges away": func(c *posix) {
		c.ok("chmod", unix.Fchmodat(c.dir, "f", 0o6777, 0))
		c.as(other, func() {
			fd := c.open("f", unix.O_WRONLY)
			_, err := unix.Write(fd, []byte("x"))
			c.ok("write", err)
		})
		c.mode("f", 0o777)
		c.ok("chmod", unix.Fchmodat(c.dir, "d/x", 0o6777, 0))
		c.as(other, func() { c.ok("truncate", unix.Ftruncate(c.open("d/x", unix.O_WRONLY), 0)) })
		c.mode("d/x", 0o777)
	},
	"access/by the mode": func(c *posix) {
		c.ok("chmod", errors.Join(unix.Fchmodat(c.dir, "f", 0o600, 0), unix.Fchmodat(c.dir, "d", 0o700, 0)))
		c.as(other, func() {
			_, err := unix.Openat(c.dir, "f", unix.O_RDONLY, 0)
			c.is("read", err, unix.EACCES)
			_, err = unix.Openat(c.dir, "d/x", unix.O_RDONLY, 0)
			c.is("search", err, unix.EACCES)
			_, err = unix.Openat(c.dir, "new", unix.O_WRONLY|unix.O_CREAT, 0o600)
			c.is("create", err, unix.EACCES)
			c.is("mkdir", unix.Mkdirat(c.dir, "new", 0o755), unix.EACCES)
			c.is("unlink", unix.Unlinkat(c.dir, "h1", 0), unix.EACCES)
			c.is("rename", unix.Renameat(c.dir, "h1", c.dir, "h3"), unix.EACCES)
			c.is("link", unix.Linkat(c.dir, "e", c.dir, "new", 0), unix.EPERM)
			c.is("symlink", unix.Symlinkat("x", c.dir, "new"), unix.EACCES)
		})
	},
	"sticky/only owners remove and rename": func(c *posix) {
		c.ok("chmod", unix.Fchmodat(c.dir, "d", 0o1777, 0))
		c.as(other, func() {
			c.is("unlink", unix.Unlinkat(c.dir, "d/x", 0), unix.EPERM)
			c.is("rename", unix.Renameat(c.dir, "d/x", c.dir, "d/z"), unix.EPERM)
			c.write("d/mine", "mine")
			c.is("replace", unix.Renameat(c.dir, "d/mine", c.dir, "d/x"), unix.EPERM)
			c.ok("unlink", unix.Unlinkat(c.dir, "d/mine", 0))
		})
	},
	"owner/of what is made": func(c *posix) {
		c.ok("chmod", unix.Fchmodat(c.dir, "d", 0o777, 0))
		c.as(other, func() {
			c.write("d/new", "")
			c.ok("mkdir", unix.Mkdirat(c.dir, "d/dir", 0o755))
			c.ok("symlink", unix.Symlinkat("x", c.dir, "d/link"))
			c.ok("mkfifo", unix.Mknodat(c.dir, "d/fifo", unix.S_IFIFO|0o644, 0))
		})
		for _, name := range []string{"d/new", "d/dir", "d/link", "d/fifo"} {
			c.equal("owner of "+name, c.stat(name).Uid, uint32(other))
		}
	},
	"owner/of what is made in a set-group-ID directory": func(c *posix) {
		c.as(0, func() {})
		c.ok("chown", errors.Join(unix.Fchownat(c.dir, "e", 0, 123, 0), unix.Fchmodat(c.dir, "e", 0o2755, 0)))
		c.write("e/new", "")
		c.ok("mkdir", unix.Mkdirat(c.dir, "e/dir", 0o755))
		c.equal("group", c.stat("e/new").Gid, uint32(123))
		c.equal("group", c.stat("e/dir").Gid, uint32(123))
		c.mode("e/dir", 0o2755)
	},
	"xattr/set, list and remove": func(c *posix) {
		get := func(name, attr string) (string, error) {
			b := make([]byte, 100)
			n, err := unix.Lgetxattr(filepath.Join(c.path, name), attr, b)
			return string(b[:max(n, 0)]), err
		}
		for _, name := range []string{"f", "d"} {
			path := filepath.Join(c.path, name)
			_, err := get(name, "user.a")
			c.is("none", err, unix.ENODATA)
			c.later("set", func() error { return unix.Setxattr(path, "user.a", []byte("one"), 0) }, map[string]string{name: "c"})
			c.is("create", unix.Setxattr(path, "user.a", nil, unix.XATTR_CREATE), unix.EEXIST)
			c.is("replace", unix.Setxattr(path, "user.b", nil, unix.XATTR_REPLACE), unix.ENODATA)
			c.ok("replace", unix.Setxattr(path, "user.a", []byte("two"), unix.XATTR_REPLACE))
			c.ok("empty", unix.Setxattr(path, "user.b", nil, 0))
			value, err := get(name, "user.a")
			c.ok("get", err)
			c.equal("value", value, "two")
			_, err = unix.Getxattr(path, "user.a", make([]byte, 1))
			c.is("too small", err, unix.ERANGE)
			b := make([]byte, 100)
			n, err := unix.Listxattr(path, b)
			c.ok("list", err)
			list := strings.Split(string(b[:n]), "\x00")
			slices.Sort(list)
			c.equal("list", strings.Join(list, " "), " user.a user.b")
			c.is("too large", unix.Setxattr(path, "user.c", make([]byte, 1<<20), 0), unix.E2BIG)
			c.ok("remove", unix.Removexattr(path, "user.a"))
			c.is("remove", unix.Removexattr(path, "user.a"), unix.ENODATA)
		}
		c.is("of a link", unix.Lsetxattr(filepath.Join(c.path, "l"), "user.a", nil, 0), unix.EPERM)
	},
	"xattr/stay with a renamed file": func(c *posix) {
		c.ok("set", unix.Setxattr(filepath.Join(c.path, "d"), "user.a", []byte("d"), 0))
		c.ok("rename", unix.Renameat(c.dir, "d", c.dir, "moved"))
		b := make([]byte, 10)
		n, err := unix.Getxattr(filepath.Join(c.path, "moved"), "user.a", b)
		c.ok("get", err)
		c.equal("value", string(b[:n]), "d")
	},
	"statfs/of the mount": func(c *posix) {
		var st unix.Statfs_t
		c.ok("statfs", unix.Fstatfs(c.dir, &st))
		c.equal("longest name", st.Namelen, int64(255))
		if st.Bavail == 0 || st.Blocks < st.Bavail {
			c.fail("%+v", st)
		}
	},
	"locks/of files": func(c *posix) {
		a, b := c.open("f", unix.O_RDWR), c.open("f", unix.O_RDWR)
		c.ok("flock", unix.Flock(a, unix.LOCK_EX|unix.LOCK_NB))
		c.is("flock", unix.Flock(b, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
		c.ok("unlock", unix.Flock(a, unix.LOCK_UN))
		c.ok("flock", unix.Flock(b, unix.LOCK_SH|unix.LOCK_NB))
		lock := unix.Flock_t{Type: unix.F_WRLCK, Len: 5}
		c.ok("lock", unix.FcntlFlock(uintptr(a), unix.F_OFD_SETLK, &lock))
		lock = unix.Flock_t{Type: unix.F_RDLCK, Start: 4, Len: 1}
		c.is("lock", unix.FcntlFlock(uintptr(b), unix.F_OFD_SETLK, &lock), unix.EAGAIN)
		lock = unix.Flock_t{Type: unix.F_WRLCK, Start: 5}
		c.ok("lock", unix.FcntlFlock(uintptr(b), unix.F_OFD_SETLK, &lock))
	},
}
