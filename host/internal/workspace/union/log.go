package union

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
)

// logMagic begins a log. Its last byte is the number of the format.
const logMagic = "tidemark written\x01"

// reserve is how much of the disk a log has before it needs it, so that names can be removed when the disk is full. All times its
// half is used, it is extended.
const reserve = 1 << 20

// maxRecord bounds a record in bytes.
const maxRecord = 256 << 20

// A log is rewritten when it has grown by so many times what it was then, and by so many bytes.
const (
	growTimes = 4
	growBytes = 8 << 20
)

// change is a record of a log: what the operation made of nodes, and of names.
type change struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Nodes []changedNode
	Names []changedName
}

type changedNode struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Number uint64
	State  *state
}

// changedName is a name in a directory. Node 0 means that there is none.
type changedName struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Dir  uint64
	Name []byte
	Node uint64
}

// log is an open log. Each record is its size, its checksum, and a change.
type log struct {
	path string
	file *os.File
	size int64
	// reserved is until where the disk has room for it, first the size when it was opened or rewritten.
	reserved, first int64
	synced          bool
}

const recordHead = 8

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// openLog opens a log, or makes one, and applies its records. A record at the end that was not written wholly is removed.
func openLog(path string, apply func(*change)) (*log, error) {
	f, err := objects.OpenFile(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	l := &log{path: path, file: f}
	if err := l.read(apply); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	l.first = l.size
	l.extend()
	return l, nil
}

func (l *log) read(apply func(*change)) error {
	data, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	if len(data) < len(logMagic) && bytes.HasPrefix([]byte(logMagic), data) { // a new one
		l.size = int64(len(logMagic))
		_, err := l.file.WriteAt([]byte(logMagic), 0)
		return err
	}
	last := len(logMagic) - 1
	switch {
	case string(data[:last]) != logMagic[:last]:
		return fmt.Errorf("%s is not a log of Tidemark", l.path)
	case data[last] != logMagic[last]:
		return fmt.Errorf("%s has format %d, this program reads format %d", l.path, data[last], logMagic[last])
	}
	at := len(logMagic)
	for at < len(data) {
		c, size, err := record(data[at:])
		if errors.Is(err, errTorn) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s is damaged at %d: %w", l.path, at, err)
		}
		apply(c)
		at += size
	}
	l.size = int64(at)
	return l.file.Truncate(l.size)
}

// errTorn means that a record was not written wholly.
var errTorn = errors.New("a record is not whole")

// record reads a record at the begin of data. What follows the last write before a loss of power can be zeros.
func record(data []byte) (c *change, size int, err error) {
	if len(bytes.TrimLeft(data, "\x00")) == 0 || len(data) < recordHead {
		return nil, 0, errTorn
	}
	n := int(le.Uint32(data))
	if size = recordHead + n; len(data) < size {
		return nil, 0, errTorn
	}
	if crc32.Checksum(data[recordHead:size], castagnoli) != le.Uint32(data[4:]) {
		if len(data) == size || n == 0 {
			return nil, 0, errTorn
		}
		return nil, 0, errors.New("its checksum differs")
	}
	c = &change{}
	return c, size, msgpack.Unmarshal(data[recordHead:size], c)
}

func encode(c *change) ([]byte, error) {
	body, err := msgpack.Marshal(c)
	if err != nil {
		return nil, err
	}
	if len(body) > maxRecord {
		return nil, fmt.Errorf("a record of %d bytes is too large", len(body))
	}
	b := make([]byte, recordHead, recordHead+len(body))
	le.PutUint32(b, uint32(len(body))) //nolint:gosec // see above
	le.PutUint32(b[4:], crc32.Checksum(body, castagnoli))
	return append(b, body...), nil
}

// add writes a change. Removes is true for one that may use what is reserved. After an error the log is as it was.
func (l *log) add(c *change, removes bool) error {
	b, err := encode(c)
	if err != nil {
		return err
	}
	if l.size+int64(len(b))+reserve/2 > l.reserved && !l.extend() && !removes {
		return noRoom
	}
	l.synced = false
	if _, err := l.file.WriteAt(b, l.size); err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size += int64(len(b))
	return nil
}

// extend reserves room, and reports whether there is some. Where the system cannot reserve any, there is.
func (l *log) extend() bool {
	err := allocate(l.file, keepSize, l.size, reserve)
	if err != nil && objects.NoRoom(err) {
		return false
	}
	l.reserved = l.size + reserve
	return true
}

func (l *log) sync() error {
	if l.synced {
		return nil
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.synced = true
	return nil
}

func (l *log) close() error { return l.file.Close() }

// grown reports whether most of a log is likely to be obsolete.
func (l *log) grown() bool { return l.size-l.first > growBytes && l.size > growTimes*l.first }

// replace renames a rewritten log over the open one, and closes that. Windows replaces no open file: there it is closed before, and
// opened again after an error.
func (l *log) replace() error {
	if runtime.GOOS != "windows" {
		err := os.Rename(l.path+".new", l.path)
		if err == nil {
			_ = l.file.Close()
		}
		return err
	}
	_ = l.file.Close()
	err := os.Rename(l.path+".new", l.path)
	if err != nil {
		old, failed := objects.OpenFile(l.path, os.O_RDWR)
		if failed == nil {
			l.file = old
		}
		err = errors.Join(err, failed)
	}
	return err
}

// rewrite replaces the log by one with the given changes.
func (l *log) rewrite(all func(yield func(*change) error) error) error {
	f, err := objects.OpenFile(l.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	b := []byte(logMagic)
	err = all(func(c *change) error {
		one, err := encode(c)
		b = append(b, one...)
		return err
	})
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.replace()
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(l.path+".new"))
	}
	l.file, l.size, l.first, l.synced = f, int64(len(b)), int64(len(b)), true
	l.extend()
	return objects.SyncDir(filepath.Dir(l.path))
}
