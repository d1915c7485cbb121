package workspace_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var casesOfContents = map[string]func(*posix){
	"truncate/grows and shrinks": func(c *posix) {
		path := filepath.Join(c.path, "f")
		c.later("truncate", func() error { return unix.Truncate(path, 12) }, map[string]string{"f": "mc", ".": ""})
		c.has("f", "0123456789\x00\x00")
		c.ok("truncate", unix.Truncate(path, 4))
		c.has("f", "0123")
		c.ok("truncate", unix.Truncate(path, 6))
		c.has("f", "0123\x00\x00")
		c.ok("truncate", unix.Ftruncate(c.open("d/x", unix.O_RDWR), 3))
		c.has("d/x", "x\x00\x00")
		c.equal("size", c.stat("d/x").Size, int64(3))
	},
	"truncate/errors": func(c *posix) {
		at := func(name string, size int64) error { return unix.Truncate(filepath.Join(c.path, name), size) }
		c.is("directory", at("d", 0), unix.EISDIR)
		c.is("missing", at("nothing", 0), unix.ENOENT)
		c.is("below a file", at("f/x", 0), unix.ENOTDIR)
		c.is("negative", at("f", -1), unix.EINVAL)
		c.is("for reading", unix.Ftruncate(c.open("f", unix.O_RDONLY), 0), unix.EINVAL)
		c.has("f", "0123456789")
	},
	"open/truncates": func(c *posix) {
		c.later("open", func() error {
			fd, err := unix.Openat(c.dir, "f", unix.O_WRONLY|unix.O_TRUNC, 0)
			return errors.Join(err, unix.Close(fd))
		}, map[string]string{"f": "mc"})
		c.has("f", "")
	},
	"write/appends": func(c *posix) {
		a, b := c.open("f", unix.O_WRONLY|unix.O_APPEND), c.open("f", unix.O_WRONLY|unix.O_APPEND)
		for i := range 3 {
			_, err := unix.Write([]int{a, b}[i%2], fmt.Appendf(nil, "-%d", i))
			c.ok("append", err)
		}
		c.has("f", "0123456789-0-1-2")
	},
	"write/is seen by who reads": func(c *posix) {
		r := c.open("f", unix.O_RDONLY)
		b := make([]byte, 20)
		_, err := unix.Pread(r, b, 0)
		c.ok("read", err)
		c.later("write", func() error {
			_, err := unix.Pwrite(c.open("f", unix.O_WRONLY), []byte("AB"), 9)
			return err
		}, map[string]string{"f": "mc"})
		n, err := unix.Pread(r, b, 0)
		c.ok("read", err)
		c.equal("read", string(b[:max(n, 0)]), "012345678AB")
	},
	"write/behind the end": func(c *posix) {
		fd := c.open("f", unix.O_RDWR)
		_, err := unix.Pwrite(fd, []byte("end"), 100_000)
		c.ok("write", err)
		c.equal("size", c.stat("f").Size, int64(100_003))
		c.has("f", "0123456789"+strings.Repeat("\x00", 100_000-10)+"end")
	},
	"write/vectors and direct": func(c *posix) {
		fd := c.open("f", unix.O_RDWR)
		_, err := unix.Pwritev(fd, [][]byte{[]byte("ab"), []byte("cd")}, 8)
		c.ok("writev", err)
		c.has("f", "01234567abcd")
		direct, err := unix.Openat(c.dir, "d/x", unix.O_RDWR|unix.O_DIRECT, 0)
		if errors.Is(err, unix.EINVAL) { // not everywhere
			return
		}
		c.ok("open", err)
		page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		c.ok("mmap", err)
		copy(page, "direct")
		_, err = unix.Pwrite(direct, page, 0)
		c.ok("write", errors.Join(err, unix.Close(direct)))
		c.has("d/x", string(page))
		c.ok("munmap", unix.Munmap(page))
	},
	"copy_file_range/copies": func(c *posix) {
		from, to := c.open("f", unix.O_RDONLY), c.open("new", unix.O_RDWR|unix.O_CREAT)
		a, b := int64(2), int64(1)
		n, err := unix.CopyFileRange(from, &a, to, &b, 5, 0)
		c.ok("copy", err)
		c.equal("copied", n, 5)
		c.has("new", "\x0023456")
	},
	"fallocate/holes": func(c *posix) {
		fd := c.open("f", unix.O_RDWR)
		c.ok("grow", unix.Fallocate(fd, 0, 0, 1<<20))
		c.equal("size", c.stat("f").Size, int64(1<<20))
		c.ok("keep", unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 1<<20, 1<<20))
		c.equal("size", c.stat("f").Size, int64(1<<20))
		_, err := unix.Pwrite(fd, []byte(strings.Repeat("x", 128<<10)), 512<<10)
		c.ok("write", err)
		c.ok("punch", unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 512<<10, 64<<10))
		b := make([]byte, 4)
		_, err = unix.Pread(fd, b, 512<<10)
		c.ok("read", err)
		c.equal("read", string(b), "\x00\x00\x00\x00")
		_, err = unix.Pread(fd, b, 576<<10)
		c.ok("read", err)
		c.equal("read", string(b), "xxxx")
		sparse := c.open("new", unix.O_RDWR|unix.O_CREAT)
		_, err = unix.Pwrite(sparse, []byte("data"), 1<<20)
		c.ok("write", err)
		at, err := unix.Seek(sparse, 0, unix.SEEK_DATA)
		c.ok("seek", err)
		c.equal("data", at, int64(1<<20))
		at, err = unix.Seek(sparse, 0, unix.SEEK_HOLE)
		c.ok("seek", err)
		c.equal("hole", at, int64(0))
		_, err = unix.Seek(sparse, 2<<20, unix.SEEK_DATA)
		c.is("behind the end", err, unix.ENXIO)
		if blocks := c.stat("new").Blocks; blocks > 1024 {
			c.fail("a sparse file has %d blocks", blocks)
		}
	},
	"mmap/is the file": func(c *posix) {
		for _, name := range []string{"f", "new"} {
			if name == "new" {
				c.write(name, "0123456789")
			}
			r := c.open(name, unix.O_RDONLY)
			seen, err := unix.Mmap(r, 0, 10, unix.PROT_READ, unix.MAP_SHARED)
			c.ok("mmap", err)
			if err != nil {
				return
			}
			c.equal("mapped", string(seen), "0123456789")
			fd := c.open(name, unix.O_RDWR)
			mapped, err := unix.Mmap(fd, 0, 10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			c.ok("mmap", err)
			if err != nil {
				return
			}
			copy(mapped, "AB")
			b := make([]byte, 10)
			_, err = unix.Pread(fd, b, 0)
			c.ok("read", err)
			c.equal("read", string(b), "AB23456789")
			_, err = unix.Pwrite(fd, []byte("CD"), 8)
			c.ok("write", err)
			c.equal("mapped", string(mapped), "AB234567CD")
			c.ok("msync", unix.Msync(mapped, unix.MS_SYNC))
			c.ok("munmap", unix.Munmap(mapped))
			c.has(name, "AB234567CD")
			c.equal("mapped before", string(seen), "AB234567CD")
			c.ok("munmap", unix.Munmap(seen))
		}
	},
	"fsync/of files and directories": func(c *posix) {
		fd := c.open("f", unix.O_RDWR)
		_, err := unix.Write(fd, []byte("x"))
		c.ok("write", err)
		c.ok("fsync", unix.Fsync(fd))
		c.ok("fdatasync", unix.Fdatasync(fd))
		c.ok("fsync", unix.Fsync(c.dir))
		c.ok("fsync", unix.Fsync(c.open("d/x", unix.O_RDONLY)))
		c.ok("syncfs", unix.Syncfs(c.dir))
	},
}

var casesOfTimes = map[string]func(*posix){
	"utimensat/sets": func(c *posix) {
		for _, name := range []string{"f", "d", "l", "h1"} {
			times := []unix.Timespec{{Sec: 1_000_000_000, Nsec: 123456789}, {Sec: 1_100_000_000, Nsec: 987654321}}
			c.later("utimensat", func() error { return unix.UtimesNanoAt(c.dir, name, times, unix.AT_SYMLINK_NOFOLLOW) }, map[string]string{".": ""})
			st := c.stat(name)
			c.equal("atime of "+name, st.Atim, times[0])
			c.equal("mtime of "+name, st.Mtim, times[1])
			if time.Since(time.Unix(st.Ctim.Unix())) > time.Minute {
				c.fail("ctime of %s is %v", name, st.Ctim)
			}
		}
		c.equal("of the other name", c.stat("h2").Mtim.Sec, int64(1_100_000_000))
		c.has("f", "0123456789")
	},
	"utimensat/one of them, and now": func(c *posix) {
		old := c.stat("f")
		c.ok("omit", unix.UtimesNanoAt(c.dir, "f", []unix.Timespec{{Sec: 5}, {Nsec: unix.UTIME_OMIT}}, 0))
		c.equal("atime", c.stat("f").Atim.Sec, int64(5))
		c.equal("mtime", c.stat("f").Mtim, old.Mtim)
		c.ok("now", unix.UtimesNanoAt(c.dir, "f", []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_NOW}}, 0))
		c.equal("atime", c.stat("f").Atim.Sec, int64(5))
		if st := c.stat("f"); time.Since(time.Unix(st.Mtim.Unix())).Abs() > time.Minute {
			c.fail("mtime %v", st.Mtim)
		}
		both := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
		c.later("nothing", func() error { return unix.UtimesNanoAt(c.dir, "f", both, 0) }, map[string]string{"f": ""})
	},
	"utimensat/long ago and far": func(c *posix) {
		for _, sec := range []int64{-1000, 1 << 32, 1<<33 + 7} {
			c.ok("utimensat", unix.UtimesNanoAt(c.dir, "f", []unix.Timespec{{Sec: sec}, {Sec: sec, Nsec: 5}}, 0))
			c.equal("mtime", c.stat("f").Mtim, unix.Timespec{Sec: sec, Nsec: 5})
		}
	},
	"utimensat/errors": func(c *posix) {
		now, then := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, []unix.Timespec{{Sec: 1}, {Sec: 1}}
		c.is("missing", unix.UtimesNanoAt(c.dir, "nothing", now, 0), unix.ENOENT)
		c.as(other, func() {
			c.is("now", unix.UtimesNanoAt(c.dir, "f", now, 0), unix.EACCES)
			c.is("then", unix.UtimesNanoAt(c.dir, "f", then, 0), unix.EPERM)
		})
		c.ok("chmod", unix.Fchmodat(c.dir, "f", 0o666, 0))
		c.as(other, func() {
			c.ok("now", unix.UtimesNanoAt(c.dir, "f", now, 0))
			c.is("then", unix.UtimesNanoAt(c.dir, "f", then, 0), unix.EPERM)
		})
	},
	"utimensat/a failure changes nothing": func(c *posix) {
		c.later("errors", func() error {
			_ = unix.Unlinkat(c.dir, "d", unix.AT_REMOVEDIR)
			_ = unix.Renameat(c.dir, "e", c.dir, "d")
			_ = unix.Mkdirat(c.dir, "d", 0o700)
			_ = unix.Linkat(c.dir, "f", c.dir, "h1", 0)
			return nil
		}, map[string]string{"d": "", "e": "", "f": "", ".": ""})
	},
}

var casesOfLists = map[string]func(*posix){
	"readdir/has dots, types and inodes": func(c *posix) {
		want := map[string]uint8{".": unix.DT_DIR, "..": unix.DT_DIR, "d": unix.DT_DIR, "dangling": unix.DT_LNK, "e": unix.DT_DIR, "f": unix.DT_REG, "h1": unix.DT_REG, "h2": unix.DT_REG, "l": unix.DT_LNK, "run": unix.DT_REG}
		c.ok("mkfifo", unix.Mknodat(c.dir, "fifo", unix.S_IFIFO|0o600, 0))
		want["fifo"] = unix.DT_FIFO
		c.write("f", "written")
		for _, e := range dents(c, c.open(".", unix.O_RDONLY|unix.O_DIRECTORY), 1<<16) {
			kind, ok := want[e.name]
			if !ok || kind != e.kind || e.inode != c.stat(e.name).Ino {
				c.fail("%+v, want type %d, inode %d", e, kind, c.stat(e.name).Ino)
			}
			delete(want, e.name)
		}
		if len(want) > 0 {
			c.fail("%v are missing", want)
		}
	},
	"readdir/while names are removed and made": func(c *posix) {
		for i := range 500 {
			c.write(fmt.Sprint("e/stays", i), "")
			c.write(fmt.Sprint("e/goes", i), "")
		}
		fd := c.open("e", unix.O_RDONLY|unix.O_DIRECTORY)
		seen := map[string]int{}
		for step := 0; ; step++ {
			some := dents(c, fd, 512)
			if len(some) == 0 {
				break
			}
			for _, e := range some {
				seen[e.name]++
			}
			if step < 100 {
				c.ok("unlink", unix.Unlinkat(c.dir, fmt.Sprint("e/goes", 499-step), 0))
				c.write(fmt.Sprint("e/comes", step), "")
			}
		}
		for i := range 500 {
			if n := seen[fmt.Sprint("stays", i)]; n != 1 {
				c.fail("stays%d was listed %d times", i, n)
			}
		}
		for name, n := range seen {
			if n > 1 {
				c.fail("%s was listed %d times", name, n)
			}
		}
	},
	"readdir/continues at a place, and begins again": func(c *posix) {
		c.write("e/b", "")
		c.write("e/a", "")
		fd := c.open("e", unix.O_RDONLY|unix.O_DIRECTORY)
		all := dents(c, fd, 1<<16)
		_, err := unix.Seek(fd, all[2].next, unix.SEEK_SET)
		c.ok("seek", err)
		rest := dents(c, fd, 1<<16)
		if len(all) != 4 || len(rest) != 1 || rest[0].name != all[3].name {
			c.fail("%+v, then %+v", all, rest)
		}
		c.write("e/new", "")
		_, err = unix.Seek(fd, 0, unix.SEEK_SET)
		c.ok("rewind", err)
		if again := dents(c, fd, 1<<16); len(again) != 5 {
			c.fail("%+v", again)
		}
	},
	"readdir/a tree can be removed while it is listed": func(c *posix) {
		c.ok("remove", os.RemoveAll(filepath.Join(c.path, "d")))
		c.missing("d")
		c.names("", "dangling", "e", "f", "h1", "h2", "l", "run")
	},
	"inotify/reports what is done": func(c *posix) {
		in, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
		c.ok("inotify", err)
		defer func() { _ = unix.Close(in) }()
		_, err = unix.InotifyAddWatch(in, filepath.Join(c.path, "d"), unix.IN_ALL_EVENTS&^(unix.IN_OPEN|unix.IN_ACCESS|unix.IN_CLOSE_NOWRITE))
		c.ok("watch", err)
		c.write("d/x", "changed")
		c.write("d/new", "")
		c.ok("rename", unix.Renameat(c.dir, "d/new", c.dir, "d/moved"))
		c.ok("unlink", unix.Unlinkat(c.dir, "d/moved", 0))
		c.ok("chmod", unix.Fchmodat(c.dir, "d/x", 0o600, 0))
		var got []string
		b := make([]byte, 1<<16)
		n, err := unix.Read(in, b)
		c.ok("read", err)
		for at := 0; at < n; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&b[at])) //nolint:gosec // the kernel's
			name := strings.TrimRight(string(b[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+int(e.Len)]), "\x00")
			for bit, what := range map[uint32]string{unix.IN_MODIFY: "modify", unix.IN_CLOSE_WRITE: "close", unix.IN_CREATE: "create", unix.IN_MOVED_FROM: "from", unix.IN_MOVED_TO: "to", unix.IN_DELETE: "delete", unix.IN_ATTRIB: "attrib"} {
				if e.Mask&bit != 0 && (len(got) == 0 || got[len(got)-1] != what+" "+name) {
					got = append(got, what+" "+name)
				}
			}
			at += unix.SizeofInotifyEvent + int(e.Len)
		}
		c.equal("events", strings.Join(got, ", "), "modify x, close x, create new, close new, from new, to moved, delete moved, attrib x")
	},
}

// dirent is an entry as the kernel lists it.
type dirent struct {
	name  string
	inode uint64
	next  int64
	kind  uint8
}

// dents reads entries of an open directory with one call.
func dents(c *posix, fd, size int) (all []dirent) {
	b := make([]byte, size)
	n, err := unix.Getdents(fd, b)
	c.ok("getdents", err)
	for at := 0; at < n; { // struct linux_dirent64 of getdents64(2)
		e := b[at:]
		length := int(binary.NativeEndian.Uint16(e[16:]))
		name, _, _ := strings.Cut(string(e[19:length]), "\x00")
		all = append(all, dirent{name, binary.NativeEndian.Uint64(e), int64(binary.NativeEndian.Uint64(e[8:])), e[18]}) //nolint:gosec // an offset
		at += length
	}
	return all
}
