package conversation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// A file has one conversation. Its first line is a [head]. Each further line is an event:
//
//	CRC KIND TIME ID JSON
//
// CRC is CRC-32C in hexadecimal of what follows the space, TIME milliseconds since 1970. The first words are what a list
// needs, so that it decodes no JSON.

// format is the layout of the file. It changes only with one that older programs cannot read.
const format = 1

// suffix ends the names of the files.
const suffix = ".conversation"

// maxLine bounds a line in bytes. An event has at most two JSON values and two texts.
const maxLine = 4 << 20

// head is the first line of a file.
type head struct {
	Format    int    `json:"format"`
	Agent     string `json:"agent"`
	Session   string `json:"session"`
	Workspace string `json:"workspace"`
	Started   int64  `json:"started"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line returns an event as a line of a file.
func (e *Event) line() ([]byte, error) {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, "%c %d %s ", e.Kind, e.At, e.ID)
	body = append(body, bytes.TrimSpace(data.Bytes())...)
	if len(body) > maxLine-16 {
		return nil, fmt.Errorf("an event has %d bytes (limit %d)", len(body), maxLine)
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(body, castagnoli), body), nil
}

// entry is a line that was read.
type entry struct {
	kind Kind
	at   int64
	id   string
	data []byte
}

// parseLine reads a line without its end. ok is false for a damaged one.
func parseLine(line []byte) (n entry, ok bool) {
	sum, body, ok := bytes.Cut(line, []byte(" "))
	if want, err := strconv.ParseUint(string(sum), 16, 32); !ok || err != nil || len(sum) != 8 || crc32.Checksum(body, castagnoli) != uint32(want) {
		return n, false
	}
	kind, body, _ := bytes.Cut(body, []byte(" "))
	when, body, _ := bytes.Cut(body, []byte(" "))
	id, data, ok := bytes.Cut(body, []byte(" "))
	if !ok || len(kind) != 1 {
		return n, false
	}
	at, err := strconv.ParseInt(string(when), 10, 64)
	return entry{Kind(kind[0]), at, string(id), data}, err == nil
}

// event decodes the event of a line.
func (n entry) event() (*Event, error) {
	e := &Event{}
	err := json.Unmarshal(n.data, e)
	e.ID = n.id
	return e, err
}

var errFormat = errors.New("it has a format that this program does not know. Use the program that wrote it")

// readFile reads a file from its beginning and calls f for each whole line. The data of an entry is valid during the call.
// It returns the head, the end of the last whole line, and how many lines are damaged.
func readFile(path string, f func(entry)) (h head, end int64, damaged int, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return h, 0, 0, err
	}
	defer func() { _ = file.Close() }()
	end, damaged, err = readLines(file, func(first bool, line []byte) bool {
		if first {
			if json.Unmarshal(line, &h) != nil || h.Format != format {
				err = fmt.Errorf("%s cannot be read: %w", path, errFormat)
			}
			return err == nil
		}
		n, ok := parseLine(line)
		if ok {
			f(n)
		}
		return ok
	})
	if err == nil && h.Format != format {
		err = fmt.Errorf("%s cannot be read: %w", path, errFormat)
	}
	return h, end, damaged, err
}

// readers are those of readLines that are free.
var readers sync.Pool

// readLines calls f for each whole line, and counts those for which it returns false, and those that are too long. End is
// that of the last whole line.
func readLines(r io.Reader, f func(first bool, line []byte) bool) (end int64, damaged int, err error) {
	b, ok := readers.Get().(*bufio.Reader)
	if !ok {
		b = bufio.NewReaderSize(nil, maxLine)
	}
	b.Reset(r)
	defer func() {
		b.Reset(nil)
		readers.Put(b)
	}()
	for first := true; ; first = false {
		line, err := b.ReadSlice('\n')
		size, long := int64(len(line)), false
		for errors.Is(err, bufio.ErrBufferFull) {
			long = true
			line, err = b.ReadSlice('\n')
			size += int64(len(line))
		}
		if errors.Is(err, io.EOF) {
			return end, damaged, nil // what follows is not a whole line
		}
		if err != nil {
			return end, damaged, err
		}
		end += size
		if long || !f(first, line[:len(line)-1]) {
			damaged++
		}
	}
}

// create creates the file of a conversation.
func create(path string, h head) (*os.File, error) {
	data, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil { // a user may have removed it
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(append(data, '\n')); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return f, nil
}

// extend opens a file to append to it after its last whole line.
func extend(path string, end int64) (*os.File, error) {
	if err := os.Truncate(path, end); err != nil { // a line that a crash cut off
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
}

func syncDir(dir string) error {
	d, err := os.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !strings.Contains(err.Error(), "Access is denied") { // Windows has no such thing
		return err
	}
	return nil
}
