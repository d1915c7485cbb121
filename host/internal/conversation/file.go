package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tidemark.dev/tidemark/installer/safefile"
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

// entry is a line that was read. ID and data are valid until the next line is read.
type entry struct {
	kind     Kind
	at       int64
	id, data []byte
}

// parseLine reads a line without its end. ok is false for a damaged one.
func parseLine(line []byte) (n entry, ok bool) {
	const sum = 8 // digits
	if len(line) <= sum || line[sum] != ' ' {
		return n, false
	}
	body := line[sum+1:]
	if want, ok := number(line[:sum], 16); !ok || uint64(crc32.Checksum(body, castagnoli)) != want {
		return n, false
	}
	kind, body, _ := bytes.Cut(body, []byte(" "))
	when, body, _ := bytes.Cut(body, []byte(" "))
	id, data, ok := bytes.Cut(body, []byte(" "))
	if !ok || len(kind) != 1 || len(id) < 3 || len(id) > maxID { // its kind, a colon, and more
		return n, false
	}
	at, ok := number(when, 10)
	return entry{Kind(kind[0]), int64(at), id, data}, ok && at <= math.MaxInt64
}

// number returns a number in digits, which [Event.line] writes in lower case.
func number(digits []byte, base uint64) (n uint64, ok bool) {
	const most = 19 // digits of 64 bits
	for _, c := range digits {
		d := uint64(c - '0')
		if c >= 'a' && c <= 'f' {
			d = uint64(c-'a') + 10
		}
		if d >= base {
			return 0, false
		}
		n = n*base + d
	}
	return n, len(digits) > 0 && len(digits) <= most
}

// event decodes the event of a line.
func (n entry) event() (*Event, error) {
	e := &Event{}
	err := json.Unmarshal(n.data, e)
	e.ID = string(n.id)
	return e, err
}

var errFormat = errors.New("it has a format that this program does not know. Use the program that wrote it")

// readFile reads a file from its beginning and calls f for each whole line. The data of an entry is valid during the call.
// It returns the head, the end of the last whole line, and how many lines are damaged.
func readFile(path string, f func(entry)) (h head, end int64, damaged int, err error) {
	file, err := safefile.Own(path, os.O_RDONLY)
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

// buffers are those of readLines that are free.
var buffers = sync.Pool{New: func() any { b := make([]byte, buffer); return &b }}

// buffer is the usual size of a buffer in bytes: it stays in a processor's cache. Longer lines make it grow up to maxLine.
const buffer = 128 << 10

// readLines calls f for each whole line, and counts those for which it returns false, and those that are too long. End is
// that of the last whole line.
func readLines(r io.Reader, f func(first bool, line []byte) bool) (end int64, damaged int, err error) {
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	buf := *pooled
	var from, to, looked int // the unread part, and what of it has no end of a line
	var dropped int64        // of a line that is too long
	for first := true; ; {
		if at := bytes.IndexByte(buf[from+looked:to], '\n'); at >= 0 {
			size := looked + at + 1
			if end += dropped + int64(size); dropped > 0 || !f(first, buf[from:from+size-1]) {
				damaged++
			}
			from, looked, dropped, first = from+size, 0, 0, false
			continue
		}
		looked = to - from
		switch {
		case from > 0:
			to, from = copy(buf, buf[from:to]), 0
		case to == len(buf) && len(buf) < maxLine:
			buf = append(buf, make([]byte, len(buf))...)
		case to == len(buf):
			dropped, to, looked = dropped+int64(to), 0, 0
		}
		n, err := r.Read(buf[to:])
		if to += n; n == 0 && errors.Is(err, io.EOF) {
			return end, damaged, nil // what is left is not a whole line
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return end, damaged, err
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
	f, err := safefile.Own(path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(end); err != nil { // a line that a crash cut off
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
