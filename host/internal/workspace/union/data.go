package union

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
)

// maxOpen is how many contents are kept open.
const maxOpen = 256

// contents are the files of the contents that are written. They are safe for concurrent use.
type contents struct {
	dir  string
	mu   sync.Mutex
	open map[uint64]*content
}

// content is an open file. It is closed when nobody uses it and it is no longer in the table.
type content struct {
	file  *os.File
	users int
	out   bool
}

func (c *contents) path(number uint64) string {
	return filepath.Join(c.dir, strconv.FormatUint(number, 16))
}

// errLost is the error of a file whose contents are missing: after a loss of power, of one that was not synced.
var errLost = errors.New("the contents of a written file are missing")

func lost(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errLost
	}
	return err
}

// use calls a function with the open file of a node.
func (c *contents) use(number uint64, do func(*os.File) error) error {
	c.mu.Lock()
	one := c.open[number]
	if one == nil {
		f, err := objects.OpenFile(c.path(number), os.O_RDWR)
		if err != nil {
			c.mu.Unlock()
			return lost(err)
		}
		if len(c.open) >= maxOpen {
			for other := range c.open { // any one
				c.take(other)
				break
			}
		}
		one = &content{file: f}
		c.open[number] = one
	}
	one.users++
	c.mu.Unlock()
	err := do(one.file)
	c.mu.Lock()
	defer c.mu.Unlock()
	one.users--
	one.end()
	return err
}

// take takes an open file out of the table.
func (c *contents) take(number uint64) {
	if one := c.open[number]; one != nil {
		delete(c.open, number)
		one.out = true
		one.end()
	}
}

func (o *content) end() {
	if o.out && o.users == 0 {
		_ = o.file.Close() // nothing is buffered
	}
}

func (c *contents) create(number uint64) error {
	f, err := objects.OpenFile(c.path(number), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	return f.Close()
}

func (c *contents) stat(number uint64) (fs.FileInfo, error) {
	info, err := os.Lstat(c.path(number))
	return info, lost(err)
}

func (c *contents) touch(number uint64, mtime int64) error {
	return lost(os.Chtimes(c.path(number), time.Time{}, time.Unix(0, mtime)))
}

// remove removes the contents of a node. What cannot be removed is when the union is opened again.
func (c *contents) remove(number uint64) {
	c.mu.Lock()
	c.take(number)
	c.mu.Unlock()
	_ = os.Remove(c.path(number))
}

// keep removes the contents of which wanted is false.
func (c *contents) keep(wanted func(number uint64) bool) error {
	d, err := os.OpenFile(c.dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if number, failed := strconv.ParseUint(name, 16, 64); failed != nil || !wanted(number) {
			err = errors.Join(err, os.Remove(filepath.Join(c.dir, name)))
		}
	}
	return errors.Join(err, d.Close())
}

func (c *contents) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number := range c.open {
		c.take(number)
	}
	return nil
}

// full reports whether an error is that of a full disk.
func full(err error) bool {
	return err != nil && (objects.NoRoom(err) || errors.Is(err, syscall.ENOSPC))
}

// file returns the state of a file.
func (u *Union) file(number uint64) (state, error) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	s, err := u.state(number)
	if err != nil {
		return state{}, err
	}
	if s.kind() != File {
		return state{}, syscall.EINVAL
	}
	return *s, nil
}

// Part returns a part of a file, as [image.Image.Part] does.
func (u *Union) Part(number uint64, buffer []byte, from int64) ([]byte, error) {
	s, err := u.file(number)
	if err != nil {
		return nil, err
	}
	if !s.Own {
		return u.o.Lower.Part(number, buffer, from)
	}
	n := 0
	err = u.data.use(number, func(f *os.File) error {
		n, err = f.ReadAt(buffer, from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
	return buffer[:n], err
}

// Write writes to a file. The first write copies what is below. Unprivileged is that of [Set]. On a disk that becomes full it
// writes less, without an error.
func (u *Union) Write(number uint64, data []byte, at int64, unprivileged bool) (n int, err error) {
	err = u.written(number, unprivileged, func(f *os.File) (err error) {
		n, err = f.WriteAt(data, at)
		return err
	})
	if full(err) && n > 0 {
		return n, nil
	}
	return n, err
}

// written changes the contents of a file.
func (u *Union) written(number uint64, unprivileged bool, do func(*os.File) error) error {
	if err := u.copyUp(number, -1); err != nil {
		return err
	}
	if err := u.roomy(func() error { return u.data.use(number, do) }); err != nil {
		return err
	}
	if s, err := u.file(number); err != nil || !unprivileged || s.Mode&(setUID|setGID) == 0 {
		return err
	}
	return u.Set(number, Set{Unprivileged: true})
}

// truncate sets the size of a file.
func (u *Union) truncate(number uint64, size int64) error {
	if size < 0 {
		return syscall.EINVAL
	}
	if err := u.copyUp(number, size); err != nil {
		return err
	}
	return u.data.use(number, func(f *os.File) error { return f.Truncate(size) })
}

// copyUp copies the contents of a file below, at most so many bytes, or all with less than 0.
func (u *Union) copyUp(number uint64, most int64) error {
	lock := &u.copying[number%uint64(len(u.copying))]
	lock.Lock()
	defer lock.Unlock()
	s, err := u.file(number)
	if err != nil || s.Own {
		return err
	}
	size := s.Size
	if most >= 0 {
		size = min(size, most)
	}
	return u.roomy(func() error {
		err := u.copyLower(number, size)
		if err == nil {
			err = u.data.touch(number, s.Mtime)
		}
		if err == nil {
			u.mu.Lock()
			defer u.mu.Unlock()
			e := u.edit()
			var own *state
			if own, err = e.node(number); err == nil {
				own.Own, own.Ctime = true, s.Ctime
				err = e.commit()
			}
		}
		if err != nil {
			u.data.remove(number)
		}
		return err
	})
}

// copyLower copies the first bytes of a file below, without its holes. The copy is on disk before it replaces the file.
func (u *Union) copyLower(number uint64, size int64) error {
	if err := u.data.create(number); err != nil || size == 0 {
		return err
	}
	return u.data.use(number, func(f *os.File) error {
		if err := f.Truncate(size); err != nil {
			return err
		}
		buffer := make([]byte, 1<<20)
		for at := int64(0); at < size; {
			data, ok, err := u.o.Lower.Seek(number, at, false)
			if err != nil {
				return err
			}
			if !ok || data >= size {
				break
			}
			end, _, err := u.o.Lower.Seek(number, data, true)
			if err != nil {
				return err
			}
			for at = data; at < min(end, size); {
				part, err := u.o.Lower.Part(number, buffer[:min(int64(len(buffer)), min(end, size)-at)], at)
				if err == nil && len(part) == 0 {
					err = io.ErrUnexpectedEOF
				}
				if err == nil {
					_, err = f.WriteAt(part, at)
				}
				if err != nil {
					return err
				}
				at += int64(len(part))
			}
		}
		return f.Sync()
	})
}

// Allocate changes what a file has on disk, with the mode of fallocate(2).
func (u *Union) Allocate(number uint64, mode uint32, from, bytes int64, unprivileged bool) error {
	return u.written(number, unprivileged, func(f *os.File) error { return allocate(f, mode, from, bytes) })
}

// Seek returns where the next data of a file begins at or after a place, or with hole the next hole, of which one is at the end.
// It is [syscall.ENXIO] behind the end, and for data where no more follow.
func (u *Union) Seek(number uint64, from int64, hole bool) (int64, error) {
	s, err := u.file(number)
	if err != nil {
		return 0, err
	}
	if !s.Own {
		to, ok, err := u.o.Lower.Seek(number, from, hole)
		if err == nil && !ok {
			err = syscall.ENXIO
		}
		return to, err
	}
	to := int64(0)
	err = u.data.use(number, func(f *os.File) error { to, err = seek(f, from, hole); return err })
	return to, err
}

// Sync writes a file to disk, and the log.
func (u *Union) Sync(number uint64) error {
	s, err := u.file(number)
	if err == nil && s.Own {
		err = u.data.use(number, (*os.File).Sync)
	} else if errors.Is(err, syscall.EINVAL) {
		err = nil // a directory has no contents
	}
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.log.sync()
}
