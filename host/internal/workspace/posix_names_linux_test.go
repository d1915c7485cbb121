package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

var casesOfNames = map[string]func(*posix){
	"link/is the same file": func(c *posix) {
		c.later("link", func() error { return unix.Linkat(c.dir, "f", c.dir, "d/new", 0) }, map[string]string{"f": "c", "d": "mc", ".": ""})
		c.links("f", 2)
		c.equal("inode", c.stat("d/new").Ino, c.stat("f").Ino)
		c.write("d/new", "changed")
		c.has("f", "changed")
		c.later("unlink", func() error { return unix.Unlinkat(c.dir, "f", 0) }, map[string]string{"d/new": "c", ".": "mc"})
		c.links("d/new", 1)
		c.has("d/new", "changed")
	},
	"link/of one that the snapshot has": func(c *posix) {
		c.links("h1", 2)
		c.equal("inode", c.stat("h1").Ino, c.stat("h2").Ino)
		c.write("h1", "changed")
		c.has("h2", "changed")
		c.ok("chmod", unix.Fchmodat(c.dir, "h2", 0o611, 0))
		c.mode("h1", 0o611)
		c.ok("unlink", unix.Unlinkat(c.dir, "h1", 0))
		c.links("h2", 1)
		c.has("h2", "changed")
	},
	"link/errors": func(c *posix) {
		c.is("exists", unix.Linkat(c.dir, "f", c.dir, "l", 0), unix.EEXIST)
		c.is("exists", unix.Linkat(c.dir, "f", c.dir, "d", 0), unix.EEXIST)
		c.is("of a directory", unix.Linkat(c.dir, "d", c.dir, "new", 0), unix.EPERM)
		c.is("missing", unix.Linkat(c.dir, "nothing", c.dir, "new", 0), unix.ENOENT)
		c.is("into nothing", unix.Linkat(c.dir, "f", c.dir, "nothing/new", 0), unix.ENOENT)
		c.is("below a file", unix.Linkat(c.dir, "f", c.dir, "h1/new", 0), unix.ENOTDIR)
		c.is("long", unix.Linkat(c.dir, "f", c.dir, long, 0), unix.ENAMETOOLONG)
		c.is("elsewhere", unix.Linkat(c.dir, "f", unix.AT_FDCWD, "/dev/shm/tidemark-new", 0), unix.EXDEV)
		c.links("f", 1)
	},
	"link/of a symbolic link": func(c *posix) {
		c.ok("link", unix.Linkat(c.dir, "l", c.dir, "new", 0))
		c.equal("inode", c.stat("new").Ino, c.stat("l").Ino)
		c.links("l", 2)
		c.ok("link", unix.Linkat(c.dir, "l", c.dir, "followed", unix.AT_SYMLINK_FOLLOW))
		c.equal("inode", c.stat("followed").Ino, c.stat("f").Ino)
	},
	"mkdir/counts in its parent": func(c *posix) {
		before := c.stat(".").Nlink
		c.later("mkdir", func() error { return unix.Mkdirat(c.dir, "new", 0o777) }, map[string]string{".": "mc"})
		c.mode("new", 0o755)
		c.links("new", 2)
		c.links(".", before+1)
		c.later("mkdir", func() error { return unix.Mkdirat(c.dir, "d/new", 0o700) }, map[string]string{"d": "mc", ".": ""})
		c.links("d", 4)
		c.later("rmdir", func() error { return unix.Unlinkat(c.dir, "d/new", unix.AT_REMOVEDIR) }, map[string]string{"d": "mc"})
		c.links("d", 3)
	},
	"mkdir/errors": func(c *posix) {
		for _, name := range []string{"f", "d", "l", "dangling"} {
			c.is("exists "+name, unix.Mkdirat(c.dir, name, 0o755), unix.EEXIST)
		}
		c.is("in nothing", unix.Mkdirat(c.dir, "nothing/new", 0o755), unix.ENOENT)
		c.is("below a file", unix.Mkdirat(c.dir, "f/new", 0o755), unix.ENOTDIR)
		c.is("long", unix.Mkdirat(c.dir, long, 0o755), unix.ENAMETOOLONG)
		c.ok("longest", unix.Mkdirat(c.dir, long[1:], 0o755))
		c.ok("removed", unix.Unlinkat(c.dir, long[1:], unix.AT_REMOVEDIR))
		c.ok("made again", unix.Mkdirat(c.dir, long[1:], 0o755))
	},
	"mkdir/where a directory of the snapshot was": func(c *posix) {
		c.ok("remove", os.RemoveAll(filepath.Join(c.path, "d")))
		c.missing("d")
		c.ok("mkdir", unix.Mkdirat(c.dir, "d", 0o755))
		c.names("d")
		c.missing("d/x")
		c.write("d/x", "new")
		c.names("d", "x")
		c.has("d/x", "new")
	},
	"mkfifo/and sockets": func(c *posix) {
		c.later("mkfifo", func() error { return unix.Mknodat(c.dir, "new", unix.S_IFIFO|0o666, 0) }, map[string]string{".": "mc"})
		c.mode("new", 0o644)
		c.equal("type", c.stat("new").Mode&unix.S_IFMT, uint32(unix.S_IFIFO))
		c.is("exists", unix.Mknodat(c.dir, "f", unix.S_IFIFO|0o666, 0), unix.EEXIST)
		_, err := unix.Openat(c.dir, "new", unix.O_WRONLY|unix.O_NONBLOCK, 0)
		c.is("nobody reads", err, unix.ENXIO)
		r := c.open("new", unix.O_RDONLY|unix.O_NONBLOCK)
		_, err = unix.Write(c.open("new", unix.O_WRONLY|unix.O_NONBLOCK), []byte("hello"))
		c.ok("write", err)
		b := make([]byte, 10)
		n, err := unix.Read(r, b)
		c.ok("read", err)
		c.equal("read", string(b[:max(n, 0)]), "hello")
		c.ok("socket", unix.Mknodat(c.dir, "socket", unix.S_IFSOCK|0o600, 0))
		c.equal("type", c.stat("socket").Mode&unix.S_IFMT, uint32(unix.S_IFSOCK))
	},
	"symlink/is what it points at": func(c *posix) {
		target := strings.Repeat("t", 4095)
		c.later("symlink", func() error { return unix.Symlinkat(target, c.dir, "new") }, map[string]string{".": "mc"})
		got, err := os.Readlink(filepath.Join(c.path, "new"))
		c.ok("readlink", err)
		c.equal("target", got, target)
		c.equal("size", c.stat("new").Size, int64(4095))
		c.mode("new", 0o777)
		c.is("too long", unix.Symlinkat(target+"t", c.dir, "new2"), unix.ENAMETOOLONG)
		c.is("empty", unix.Symlinkat("", c.dir, "new2"), unix.ENOENT)
		for _, name := range []string{"f", "d", "l", "dangling"} {
			c.is("exists "+name, unix.Symlinkat("x", c.dir, name), unix.EEXIST)
		}
		_, err = unix.Readlinkat(c.dir, "f", make([]byte, 10))
		c.is("readlink of a file", err, unix.EINVAL)
		c.has("l", "0123456789")
	},
	"unlink/one of several names": func(c *posix) {
		c.later("unlink", func() error { return unix.Unlinkat(c.dir, "h1", 0) }, map[string]string{"h2": "c", ".": "mc", "f": ""})
		c.missing("h1")
		c.links("h2", 1)
		c.is("again", unix.Unlinkat(c.dir, "h1", 0), unix.ENOENT)
		c.ok("unlink", unix.Unlinkat(c.dir, "l", 0))
		c.has("f", "0123456789")
	},
	"unlink/an open file": func(c *posix) {
		for _, name := range []string{"f", "new"} {
			if name == "new" {
				c.write(name, "0123456789")
			}
			fd := c.open(name, unix.O_RDWR)
			c.ok("unlink", unix.Unlinkat(c.dir, name, 0))
			c.missing(name)
			b := make([]byte, 20)
			n, err := unix.Pread(fd, b, 0)
			c.ok("read", err)
			c.equal("read", string(b[:max(n, 0)]), "0123456789")
			_, err = unix.Pwrite(fd, []byte("more"), 10)
			c.ok("write", err)
			n, err = unix.Pread(fd, b, 0)
			c.ok("read", err)
			c.equal("read", string(b[:max(n, 0)]), "0123456789more")
			var st unix.Stat_t
			c.ok("stat", unix.Fstat(fd, &st))
			c.equal("links", st.Nlink, uint64(0))
			c.write(name, "another")
			n, err = unix.Pread(fd, b, 0)
			c.ok("read", err)
			c.equal("read", string(b[:max(n, 0)]), "0123456789more")
			c.has(name, "another")
		}
	},
	"unlink/errors": func(c *posix) {
		c.is("directory", unix.Unlinkat(c.dir, "d", 0), unix.EISDIR)
		c.is("missing", unix.Unlinkat(c.dir, "nothing", 0), unix.ENOENT)
		c.is("below a file", unix.Unlinkat(c.dir, "f/x", 0), unix.ENOTDIR)
		c.is("long", unix.Unlinkat(c.dir, long, 0), unix.ENAMETOOLONG)
	},
	"unlink/what was removed stays away": func(c *posix) {
		for range 3 {
			c.ok("unlink", unix.Unlinkat(c.dir, "d/x", 0))
			c.missing("d/x")
			c.names("d", "sub")
			c.write("d/x", "again")
			c.names("d", "sub", "x")
		}
		c.has("d/x", "again")
	},
	"rmdir/errors": func(c *posix) {
		c.is("not empty", unix.Unlinkat(c.dir, "d", unix.AT_REMOVEDIR), unix.ENOTEMPTY)
		c.is("a file", unix.Unlinkat(c.dir, "f", unix.AT_REMOVEDIR), unix.ENOTDIR)
		c.is("a link", unix.Unlinkat(c.dir, "l", unix.AT_REMOVEDIR), unix.ENOTDIR)
		c.is("missing", unix.Unlinkat(c.dir, "nothing", unix.AT_REMOVEDIR), unix.ENOENT)
		c.is(".", unix.Unlinkat(c.dir, "e/.", unix.AT_REMOVEDIR), unix.EINVAL)
		c.is("..", unix.Unlinkat(c.dir, "d/sub/..", unix.AT_REMOVEDIR), unix.ENOTEMPTY)
		c.is("long", unix.Unlinkat(c.dir, long, unix.AT_REMOVEDIR), unix.ENAMETOOLONG)
	},
	"rmdir/after all in it was removed or moved": func(c *posix) {
		c.ok("unlink", unix.Unlinkat(c.dir, "d/x", 0))
		c.is("not empty", unix.Unlinkat(c.dir, "d", unix.AT_REMOVEDIR), unix.ENOTEMPTY)
		c.ok("rename", unix.Renameat(c.dir, "d/sub", c.dir, "e/sub"))
		c.ok("rmdir", unix.Unlinkat(c.dir, "d", unix.AT_REMOVEDIR))
		c.missing("d")
		c.has("e/sub/y", "y")
	},
	"rmdir/an open directory": func(c *posix) {
		fd := c.open("e", unix.O_RDONLY|unix.O_DIRECTORY)
		c.ok("rmdir", unix.Unlinkat(c.dir, "e", unix.AT_REMOVEDIR))
		_, err := unix.Openat(fd, "new", unix.O_CREAT|unix.O_WRONLY, 0o600)
		c.is("create in it", err, unix.ENOENT)
		c.is("mkdir in it", unix.Mkdirat(fd, "new", 0o700), unix.ENOENT)
		var st unix.Stat_t
		c.ok("stat", unix.Fstat(fd, &st))
		c.equal("links", st.Nlink, uint64(0))
		_, err = unix.Getdents(fd, make([]byte, 1000))
		c.is("list", err, unix.ENOENT)
	},
	"open/creates": func(c *posix) {
		c.later("create", func() error {
			fd, err := unix.Openat(c.dir, "new", unix.O_CREAT|unix.O_RDWR, 0o666)
			return errors.Join(err, unix.Close(fd))
		}, map[string]string{".": "mc"})
		c.mode("new", 0o644)
		c.later("open", func() error {
			fd, err := unix.Openat(c.dir, "new", unix.O_CREAT|unix.O_RDWR, 0o600)
			return errors.Join(err, unix.Close(fd))
		}, map[string]string{".": "", "new": ""})
		fd, err := unix.Openat(c.dir, "readonly", unix.O_CREAT|unix.O_RDWR, 0o400)
		c.ok("create", err)
		_, err = unix.Write(fd, []byte("written"))
		c.ok("write", errors.Join(err, unix.Close(fd)))
		c.has("readonly", "written")
	},
	"open/errors": func(c *posix) {
		for _, one := range []struct {
			name  string
			flags int
			want  error
		}{
			{"f", unix.O_CREAT | unix.O_EXCL, unix.EEXIST},
			{"dangling", unix.O_CREAT | unix.O_EXCL, unix.EEXIST},
			{"d", unix.O_CREAT | unix.O_EXCL, unix.EEXIST},
			{"d", unix.O_WRONLY, unix.EISDIR},
			{"d", unix.O_RDWR | unix.O_CREAT, unix.EISDIR},
			{"f", unix.O_DIRECTORY, unix.ENOTDIR},
			{"l", unix.O_NOFOLLOW, unix.ELOOP},
			{"nothing", unix.O_RDONLY, unix.ENOENT},
			{"dangling", unix.O_RDONLY, unix.ENOENT},
			{"f/x", unix.O_RDONLY, unix.ENOTDIR},
			{"nothing/new", unix.O_CREAT | unix.O_WRONLY, unix.ENOENT},
			{long, unix.O_CREAT | unix.O_WRONLY, unix.ENAMETOOLONG},
		} {
			_, err := unix.Openat(c.dir, one.name, one.flags, 0o600)
			c.is(fmt.Sprintf("%.20s %#x", one.name, one.flags), err, one.want)
		}
		c.ok("mknod", unix.Mknodat(c.dir, "socket", unix.S_IFSOCK|0o600, 0))
		_, err := unix.Openat(c.dir, "socket", unix.O_RDONLY, 0)
		c.is("socket", err, unix.ENXIO)
	},
	"open/through a dangling link creates": func(c *posix) {
		c.write("dangling", "made")
		c.has("nothing", "made")
	},
	"open/without a name": func(c *posix) {
		fd, err := unix.Openat(c.dir, "e", unix.O_TMPFILE|unix.O_RDWR, 0o600)
		c.ok("tmpfile", err)
		if err == nil {
			_, err = unix.Write(fd, []byte("hello"))
			c.ok("link", errors.Join(err, unix.Linkat(unix.AT_FDCWD, fmt.Sprint("/proc/self/fd/", fd), c.dir, "e/new", unix.AT_SYMLINK_FOLLOW), unix.Close(fd)))
			c.has("e/new", "hello")
		}
	},
	"open/a program that runs cannot be written": func(c *posix) {
		c.ok("write", os.WriteFile(filepath.Join(c.path, "sleep"), must(os.ReadFile("/bin/sleep")), 0o755)) //nolint:gosec // a program
		p, err := os.StartProcess(filepath.Join(c.path, "sleep"), []string{"sleep", "1000"}, &os.ProcAttr{})
		c.ok("start", err)
		if err != nil {
			return
		}
		_, err = unix.Openat(c.dir, "sleep", unix.O_WRONLY, 0)
		c.is("open", err, unix.ETXTBSY)
		c.is("truncate", unix.Truncate(filepath.Join(c.path, "sleep"), 0), unix.ETXTBSY)
		c.ok("kill", p.Kill())
		_, err = p.Wait()
		c.ok("end", err)
	},
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var casesOfRename = map[string]func(*posix){
	"rename/a file": func(c *posix) {
		inode := c.stat("f").Ino
		c.later("rename", func() error { return unix.Renameat(c.dir, "f", c.dir, "d/new") }, map[string]string{".": "mc", "d": "mc", "e": ""})
		c.missing("f")
		c.has("d/new", "0123456789")
		c.equal("inode", c.stat("d/new").Ino, inode)
		c.write("f", "another")
		c.has("d/new", "0123456789")
	},
	"rename/over a file": func(c *posix) {
		fd := c.open("h1", unix.O_RDONLY)
		c.later("rename", func() error { return unix.Renameat(c.dir, "f", c.dir, "h1") }, map[string]string{"h2": "c"})
		c.missing("f")
		c.has("h1", "0123456789")
		c.has("h2", "hard")
		c.links("h2", 1)
		b := make([]byte, 10)
		n, err := unix.Pread(fd, b, 0)
		c.ok("read", err)
		c.equal("the open file", string(b[:max(n, 0)]), "hard")
	},
	"rename/two names of one file stay": func(c *posix) {
		c.ok("rename", unix.Renameat(c.dir, "h1", c.dir, "h2"))
		c.has("h1", "hard")
		c.has("h2", "hard")
		c.ok("rename", unix.Renameat(c.dir, "f", c.dir, "f"))
		c.has("f", "0123456789")
	},
	"rename/a directory": func(c *posix) {
		before, inode := c.stat(".").Nlink, c.stat("d").Ino
		fd := c.open("d", unix.O_RDONLY|unix.O_DIRECTORY)
		c.ok("rename", unix.Renameat(c.dir, "d", c.dir, "moved"))
		c.missing("d")
		c.names("moved", "sub", "x")
		c.has("moved/sub/y", "y")
		c.equal("inode", c.stat("moved").Ino, inode)
		c.links(".", before)
		c.ok("rename", unix.Renameat(c.dir, "moved", c.dir, "e/again"))
		c.links(".", before-1)
		c.links("e", 3)
		c.has("e/again/sub/y", "y")
		c.equal("..", c.stat("e/again/..").Ino, c.stat("e").Ino)
		c.write("e/again/x", "changed")
		c.ok("rename", unix.Renameat(c.dir, "e/again/sub", c.dir, "sub"))
		c.has("sub/y", "y")
		c.names("e/again", "x")
		c.ok("mkdir", unix.Mkdirat(c.dir, "d", 0o755))
		c.names("d")
		var st unix.Stat_t
		c.ok("open directory", unix.Fstatat(fd, "x", &st, 0))
		c.equal("size", st.Size, int64(len("changed")))
		c.ok("back", unix.Renameat(c.dir, "e/again", c.dir, "d"))
		c.has("d/x", "changed")
	},
	"rename/a directory over an empty one": func(c *posix) {
		before := c.stat(".").Nlink
		c.ok("rename", unix.Renameat(c.dir, "d", c.dir, "e"))
		c.links(".", before-1)
		c.has("e/x", "x")
		c.missing("d")
		c.ok("mkdir", unix.Mkdirat(c.dir, "d", 0o755))
		c.is("not empty", unix.Renameat(c.dir, "d", c.dir, "e"), unix.ENOTEMPTY)
		c.ok("empty", errors.Join(unix.Unlinkat(c.dir, "e/x", 0), os.RemoveAll(filepath.Join(c.path, "e/sub"))))
		c.ok("rename", unix.Renameat(c.dir, "d", c.dir, "e"))
		c.names("e")
	},
	"rename/errors": func(c *posix) {
		c.is("missing", unix.Renameat(c.dir, "nothing", c.dir, "new"), unix.ENOENT)
		c.is("into nothing", unix.Renameat(c.dir, "f", c.dir, "nothing/new"), unix.ENOENT)
		c.is("below a file", unix.Renameat(c.dir, "d", c.dir, "f/new"), unix.ENOTDIR)
		c.is("a directory over a file", unix.Renameat(c.dir, "d", c.dir, "f"), unix.ENOTDIR)
		c.is("a file over a directory", unix.Renameat(c.dir, "f", c.dir, "e"), unix.EISDIR)
		c.is("over one that is not empty", unix.Renameat(c.dir, "e", c.dir, "d"), unix.ENOTEMPTY)
		c.is("into itself", unix.Renameat(c.dir, "d", c.dir, "d/sub/d"), unix.EINVAL)
		c.is("over its parent", unix.Renameat(c.dir, "d/sub", c.dir, "d"), unix.ENOTEMPTY)
		c.is("of .", unix.Renameat(c.dir, "d/.", c.dir, "new"), unix.EBUSY)
		c.is("long", unix.Renameat(c.dir, "f", c.dir, long), unix.ENAMETOOLONG)
		c.is("elsewhere", unix.Renameat(c.dir, "f", unix.AT_FDCWD, "/dev/shm/tidemark-new"), unix.EXDEV)
		c.has("f", "0123456789")
		c.names("d", "sub", "x")
	},
	"rename/a link is not followed": func(c *posix) {
		c.ok("rename", unix.Renameat(c.dir, "l", c.dir, "new"))
		c.has("new", "0123456789")
		c.ok("rename", unix.Renameat(c.dir, "d/x", c.dir, "new"))
		c.has("f", "0123456789")
		c.has("new", "x")
	},
	"rename/without replacing": func(c *posix) {
		c.is("exists", unix.Renameat2(c.dir, "f", c.dir, "h1", unix.RENAME_NOREPLACE), unix.EEXIST)
		c.is("exists", unix.Renameat2(c.dir, "d", c.dir, "e", unix.RENAME_NOREPLACE), unix.EEXIST)
		c.ok("free", unix.Renameat2(c.dir, "f", c.dir, "new", unix.RENAME_NOREPLACE))
		c.has("new", "0123456789")
	},
	"rename/exchanges": func(c *posix) {
		before := c.stat(".").Nlink
		c.ok("files", unix.Renameat2(c.dir, "f", c.dir, "d/x", unix.RENAME_EXCHANGE))
		c.has("f", "x")
		c.has("d/x", "0123456789")
		c.ok("a file and a directory", unix.Renameat2(c.dir, "d/x", c.dir, "e", unix.RENAME_EXCHANGE))
		c.has("e", "0123456789")
		c.names("d/x")
		c.links(".", before-1)
		c.links("d", 4)
		c.is("missing", unix.Renameat2(c.dir, "f", c.dir, "nothing", unix.RENAME_EXCHANGE), unix.ENOENT)
	},
	"rename/what was there is not seen again": func(c *posix) {
		c.ok("rename", unix.Renameat(c.dir, "d", c.dir, "moved"))
		c.ok("rename", unix.Renameat(c.dir, "moved/x", c.dir, "x"))
		c.ok("rename", unix.Renameat(c.dir, "moved", c.dir, "d"))
		c.names("d", "sub")
		c.names("", "d", "dangling", "e", "f", "h1", "h2", "l", "run", "x")
	},
}
