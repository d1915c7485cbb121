//go:build linux || darwin

package treecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/attrs"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Copy copies a directory into a new one. Like are directories that may have the same files at the same paths. Where the filesystem
// shares extents, a file of the copy shares those of such a file. After an error, the new one may have a part of the directory.
func Copy(ctx context.Context, from, to string, like ...string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &copier{ctx: ctx, stop: stop, busy: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), first: map[fileID]string{}}
	for _, path := range like {
		if r, err := os.OpenRoot(path); err == nil {
			defer func() { _ = r.Close() }()
			c.like = append(c.like, &alike{root: r})
		}
	}
	if err := c.dir(source, target, ""); err != nil {
		stop(err)
	}
	c.files.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, l := range c.links {
		if err := target.Link(c.first[l.file], l.path); err != nil {
			return err
		}
	}
	// The deepest first: a directory's time changes with what is in it, and some take nothing.
	for _, d := range slices.Backward(c.dirs) {
		if err := d.finish(target); err != nil {
			return err
		}
	}
	return nil
}

// fileID identifies a file.
type fileID struct{ device, inode uint64 }

// copier is a copy that is being made.
type copier struct {
	ctx  context.Context //nolint:containedctx // of one call
	stop context.CancelCauseFunc
	// files are being copied, as many at a time as busy has room for.
	files sync.WaitGroup
	busy  chan struct{}
	// first is the path of each file with several names that is copied. Links are its others.
	first map[fileID]string
	links []link
	dirs  []dir
	like  []*alike
}

type link struct {
	path string
	file fileID
}

// dir is a directory that was made, and what it has when all is in it.
type dir struct {
	path   string
	info   fs.FileInfo
	xattrs []xattr
}

// dir copies what is in a directory at a path.
func (c *copier) dir(from, to *os.Root, at string) error {
	d, err := from.Open(".")
	if err != nil {
		return named(at, err)
	}
	defer func() { _ = d.Close() }()
	info, err := d.Stat()
	if err != nil {
		return named(at, err)
	}
	xattrs, err := xattrsOf(d)
	if err != nil {
		return named(at, err)
	}
	c.dirs = append(c.dirs, dir{at, info, xattrs})
	entries, err := d.ReadDir(-1)
	if err != nil {
		return named(at, err)
	}
	var here sync.WaitGroup // files that are copied from and to these directories
	defer here.Wait()
	for _, e := range entries {
		if err := context.Cause(c.ctx); err != nil {
			return err
		}
		if err := c.entry(from, to, at, e.Name(), &here); err != nil {
			return named(path.Join(at, e.Name()), err)
		}
	}
	return nil
}

// pathError is an error that names what could not be copied.
type pathError struct{ error }

func (e pathError) Unwrap() error { return e.error }

// named adds the path in the directory that is copied to an error, once.
func named(at string, err error) error {
	if errors.As(err, &pathError{}) {
		return err
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) { // it names a part of the path
		err = fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return pathError{fmt.Errorf("%s: %w", path.Join(".", at), err)}
}

// entry copies what has a name in a directory at a path. Files are copied while it returns, and are counted here.
func (c *copier) entry(from, to *os.Root, at, name string, here *sync.WaitGroup) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // of this system
	full := path.Join(at, name)
	if st.Nlink > 1 && !info.IsDir() {
		id := fileID{uint64(st.Dev), st.Ino} //nolint:unconvert // on macOS it is not one
		if c.first[id] != "" {
			c.links = append(c.links, link{full, id})
			return nil
		}
		c.first[id] = full
	}
	switch {
	case info.IsDir():
		return c.subdir(from, to, name, full)
	case info.Mode().IsRegular():
		c.busy <- struct{}{}
		here.Add(1)
		c.files.Go(func() {
			defer func() { <-c.busy; here.Done() }()
			if err := c.file(from, to, name, full, info); err != nil {
				c.stop(named(full, err))
			}
		})
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		if err := attrs.MakeLink(to, name, target); err != nil {
			return err
		}
	default:
		if err := makeNode(to, name, st); err != nil {
			return err
		}
	}
	if err := own(to, name, st); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		if err := to.Chmod(name, info.Mode()); err != nil {
			return err
		}
	}
	return attrs.LinkTime(to, name, nanoseconds(info))
}

func (c *copier) subdir(from, to *os.Root, name, full string) error {
	if err := to.Mkdir(name, 0o700); err != nil {
		return err
	}
	source, err := from.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := to.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	return c.dir(source, target, full)
}

// own gives what was made its owner, which it usually has.
func own(to *os.Root, name string, st *syscall.Stat_t) error {
	made, err := to.Lstat(name)
	if err != nil {
		return err
	}
	if is := made.Sys().(*syscall.Stat_t); is.Uid == st.Uid && is.Gid == st.Gid { //nolint:forcetypeassert // of this system
		return nil
	}
	return to.Lchown(name, int(st.Uid), int(st.Gid))
}

// file copies a regular file, whose path in the directory is full.
func (c *copier) file(from, to *os.Root, name, full string, info fs.FileInfo) error {
	if err := context.Cause(c.ctx); err != nil {
		return err
	}
	source, err := from.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // what took its place may be a pipe
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	if now, err := source.Stat(); err != nil || !os.SameFile(now, info) || !now.Mode().IsRegular() {
		return errors.Join(err, errChanged)
	}
	target := c.share(to, name, full, source, info)
	if target == nil {
		if target, err = c.copied(to, name, source, info); err != nil {
			return err
		}
	}
	defer func() { _ = target.Close() }()
	st := info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // of this system
	xattrs, err := xattrsOf(source)
	if err != nil {
		return err
	}
	if err := errors.Join(own(to, name, st), setXattrs(target, xattrs), target.Chmod(info.Mode())); err != nil {
		return err
	}
	if err := target.Close(); err != nil {
		return err
	}
	return to.Chtimes(name, time.Time{}, time.Unix(0, nanoseconds(info)))
}

// nanoseconds returns when a file was changed. Go sets no time that 64 bits do not hold.
func nanoseconds(info fs.FileInfo) int64 {
	return tree.Nanoseconds(info.ModTime().Unix(), int64(info.ModTime().Nanosecond()))
}

// copied makes a file with the content of another one, and returns it.
func (c *copier) copied(to *os.Root, name string, source *os.File, info fs.FileInfo) (target *os.File, err error) {
	if target, err = to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if holes(info) {
		err = copyData(c.ctx, target, source, info.Size())
	} else {
		err = copyAll(c.ctx, target, source, info.Size())
	}
	if err != nil {
		return nil, errors.Join(err, target.Close())
	}
	return target, nil
}

// holes reports whether a file has room for less than its size.
func holes(info fs.FileInfo) bool {
	return info.Sys().(*syscall.Stat_t).Blocks*512 < info.Size() //nolint:forcetypeassert // of this system
}

// part is how much is copied between two looks at whether the copy is still wanted.
const part = 64 << 20

// copyAll copies a file that has so many bytes.
func copyAll(ctx context.Context, to, from *os.File, size int64) error {
	copied := int64(0)
	for {
		n, err := io.CopyN(to, from, part)
		if copied += n; errors.Is(err, io.EOF) {
			break
		}
		if err := errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
	}
	if copied != size {
		return errChanged
	}
	return nil
}

// copyData copies a file without its holes.
func copyData(ctx context.Context, to, from *os.File, size int64) error {
	for at := int64(0); at < size; {
		data, err := from.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		if err != nil {
			return err
		}
		hole, err := from.Seek(data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if hole = min(hole, data+part, size); hole <= data {
			return errChanged
		}
		n, err := io.Copy(io.NewOffsetWriter(to, data), io.NewSectionReader(from, data, hole-data))
		if err := errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		if n != hole-data {
			return errChanged
		}
		at = hole
	}
	return to.Truncate(size)
}

// finish gives a directory what it has besides its entries.
func (d *dir) finish(to *os.Root) error {
	name := path.Join(".", d.path)
	if err := own(to, name, d.info.Sys().(*syscall.Stat_t)); err != nil { //nolint:forcetypeassert // of this system
		return named(d.path, err)
	}
	f, err := to.Open(name)
	if err != nil {
		return named(d.path, err)
	}
	defer func() { _ = f.Close() }()
	if err := errors.Join(setXattrs(f, d.xattrs), to.Chtimes(name, time.Time{}, time.Unix(0, nanoseconds(d.info))), f.Chmod(d.info.Mode())); err != nil {
		return named(d.path, err)
	}
	return nil
}
