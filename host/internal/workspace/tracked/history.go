package tracked

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
)

// historyMagic begins the history. Its last byte is the number of the format.
const historyMagic = "tidemark history \x00\x01"

// maxHistoryRecord bounds one record in bytes.
const maxHistoryRecord = 1 << 20

// record is one entry of the history. Encoded records are lists: only add to the end.
type record struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	// Number is the number of the snapshot. Deleted records that the snapshot of that number was deleted.
	Number  uint64
	Deleted bool
	// At is when the snapshot was complete, in nanoseconds since 1970.
	At    int64
	Label string
	// Problems are the paths whose state is not certain, as "path: reason".
	Problems []string
	// Files counts the entries, Changed those that changed since the snapshot before.
	Files, Changed int
	// Delta are the changes since the snapshot before: compressed, or DeltaAt as a content of the store.
	Delta   []byte
	DeltaAt stream
	// Tree is the whole tree, where this snapshot has it.
	Tree stream
	// Rules are by what [Options] left out files.
	Rules string
}

// stream is a content of any size in the store: a list of chunks.
type stream struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	List objects.ID
	Size int64
}

func (s stream) is() bool { return s.List != objects.ID{} }

// history is the file of records. Each has its length and its checksum (CRC-32C) before it.
type history struct {
	file *os.File
	size int64
	// cut is how many bytes followed the last whole record when the history was opened.
	cut int64
}

// cutSuffix names the copy of an end that was cut off: should more than one record have been in it, it is not lost. A full
// disk has no room for the copy of a single one.
const cutSuffix = ".cut"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openHistory opens a history, creates it if there is none, and reads its records. What follows the last whole record is
// cut off, with a copy: the process, or the machine, ended while it was written.
func openHistory(path string) (*history, []*record, error) {
	// A process that was killed while it rewrote the history leaves this.
	if err := os.Remove(path + newSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	h := &history{file: f}
	records, err := h.load()
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return h, records, nil
}

func (h *history) load() ([]*record, error) {
	head := make([]byte, len(historyMagic))
	n, err := io.ReadFull(h.file, head)
	switch {
	case (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && historyMagic[:n] == string(head[:n]):
		if _, err := h.file.WriteAt([]byte(historyMagic), 0); err != nil {
			return nil, err
		}
		h.size = int64(len(historyMagic))
		return nil, nil
	case err != nil:
		return nil, err
	case string(head[:len(head)-1]) != historyMagic[:len(head)-1]:
		return nil, fmt.Errorf("%s is not a history of Tidemark", h.file.Name())
	case head[len(head)-1] != historyMagic[len(head)-1]:
		return nil, fmt.Errorf("%s has format %d, this program reads format %d. Use the program that wrote it.", h.file.Name(), head[len(head)-1], historyMagic[len(head)-1])
	}
	h.size = int64(len(head))
	var records []*record
	r := bufio.NewReader(h.file)
	for {
		payload, err := readFrame(r)
		if err != nil {
			return records, h.cutOff()
		}
		rec := &record{}
		if err := msgpack.Unmarshal(payload, rec); err != nil {
			return nil, fmt.Errorf("%s is damaged at %d: %w", h.file.Name(), h.size, err)
		}
		records = append(records, rec)
		h.size += int64(frameHead + len(payload))
	}
}

// cutOff removes what follows the last whole record.
func (h *history) cutOff() error {
	info, err := h.file.Stat()
	if err != nil || info.Size() == h.size {
		return err
	}
	h.cut = info.Size() - h.size
	if err := h.copy(h.size, h.cut); err != nil && (!objects.NoRoom(err) || h.cut > frameHead+maxHistoryRecord) {
		return err
	}
	return h.file.Truncate(h.size)
}

// keep copies the whole history, before what cannot be read is taken from it.
func (h *history) keep() error { return h.copy(0, h.size) }

func (h *history) copy(from, bytes int64) error {
	data, err := io.ReadAll(io.NewSectionReader(h.file, from, bytes))
	if err != nil {
		return err
	}
	return os.WriteFile(h.file.Name()+cutSuffix, data, 0o600)
}

const frameHead = 8

func readFrame(r io.Reader) ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > maxHistoryRecord {
		return nil, errors.New("no record begins there")
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, err
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, errors.New("the checksum differs")
	}
	return payload, nil
}

func frame(rec *record) ([]byte, error) {
	payload, err := msgpack.Marshal(rec)
	if err != nil {
		return nil, err
	}
	if len(payload) > maxHistoryRecord {
		return nil, fmt.Errorf("a record of %d bytes exceeds the limit of %d", len(payload), maxHistoryRecord)
	}
	out := make([]byte, frameHead, frameHead+len(payload))
	binary.LittleEndian.PutUint32(out, uint32(len(payload)))
	binary.LittleEndian.PutUint32(out[4:], crc32.Checksum(payload, castagnoli))
	return append(out, payload...), nil
}

// append writes records, all or none, which then survive the end of the process. After an error the history ends where it
// ended before.
func (h *history) append(records ...*record) error {
	var all []byte
	for _, rec := range records {
		out, err := frame(rec)
		if err != nil {
			return err
		}
		all = append(all, out...)
	}
	if _, err := h.file.WriteAt(all, h.size); err != nil {
		return errors.Join(err, h.file.Truncate(h.size))
	}
	h.size += int64(len(all))
	return nil
}

// cutTo takes back the last records, if they are as many deletions.
func (h *history) cutTo(end int64, deletions int) error {
	r := io.NewSectionReader(h.file, end, h.size-end)
	for range deletions {
		rec := &record{}
		payload, err := readFrame(r)
		if err == nil {
			err = msgpack.Unmarshal(payload, rec)
		}
		if err != nil || !rec.Deleted {
			return errors.Join(err, errors.New("something else was recorded since"))
		}
	}
	if _, err := readFrame(r); !errors.Is(err, io.EOF) {
		return errors.New("more was recorded since")
	}
	if err := h.file.Truncate(end); err != nil {
		return err
	}
	h.size = end
	return nil
}

// newSuffix names a history that is being rewritten.
const newSuffix = ".new"

// rewrite replaces the records, wholly or not at all, and reports whether it did. The result is in use from then on, nil
// after an error means that h is.
func (h *history) rewrite(records []*record) (next *history, replaced bool, err error) {
	path := h.file.Name()
	f, err := os.OpenFile(path+newSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, false, err
	}
	next = &history{file: f, cut: h.cut}
	err = next.fill(records)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, false, errors.Join(err, os.Remove(path+newSuffix))
	}
	// Windows renames neither an open file nor over one.
	if err := h.file.Close(); err != nil {
		return nil, false, err
	}
	err = os.Rename(path+newSuffix, path)
	if replaced = err == nil; !replaced {
		next.size = h.size
	}
	var opened error
	next.file, opened = os.OpenFile(path, os.O_RDWR, 0o600)
	if replaced {
		err = objects.SyncDir(filepath.Dir(path))
	}
	return next, replaced, errors.Join(err, opened)
}

func (h *history) fill(records []*record) error {
	w := bufio.NewWriter(h.file)
	n, err := w.WriteString(historyMagic)
	h.size = int64(n)
	for _, rec := range records {
		var out []byte
		if err == nil {
			out, err = frame(rec)
		}
		if err == nil {
			n, err = w.Write(out)
			h.size += int64(n)
		}
	}
	return errors.Join(err, w.Flush(), h.file.Sync())
}
