package tracked

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/installer/safefile"
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

	// behind is true where what was before this record in the file cannot be read.
	behind bool
}

// stream is a content of any size in the store: a list of chunks.
type stream struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	List objects.ID
	Size int64
}

func (s stream) is() bool { return s.List != objects.ID{} }

// history is the file of records. Each has its length and its checksum (CRC-32C) before it. A second file has the same bytes:
// a record that is damaged in one of them is read from the other.
type history struct {
	file *os.File
	size int64
	// second is nil while the second file has other bytes, for example because the disk is full.
	second *os.File
	// cut is how many bytes followed the last whole record when the history was opened.
	cut int64
	// damages are texts of what was damaged when the history was opened. torn is true if some of it could not be repaired and
	// is still in the file.
	damages []string
	torn    bool
}

// there returns an error if the file of the history is no longer in its place: what is written to it would be lost.
func (h *history) there() error {
	open, err := h.file.Stat()
	if now, gone := os.Lstat(h.file.Name()); err == nil && gone == nil && os.SameFile(open, now) {
		return nil
	}
	return fmt.Errorf("the snapshots in %s were removed or replaced while Tidemark ran. Run `tidemark stop`; the next command begins again.", filepath.Dir(h.file.Name()))
}

// cutSuffix names the copy of an end that was cut off: should more than one record have been in it, it is not lost. A full
// disk has no room for the copy of a single one. secondSuffix names the second file.
const (
	cutSuffix    = ".cut"
	secondSuffix = ".second"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openHistory opens a history, creates it if there is none, and reads its records. What follows the last whole record is
// cut off, with a copy: the process, or the machine, ended while it was written. Damaged records are skipped.
func openHistory(path string) (*history, []*record, error) {
	// A process that was killed while it rewrote the history leaves this.
	if err := os.Remove(path + newSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	f, err := safefile.Own(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, nil, err
	}
	h := &history{file: f}
	records, err := h.load()
	if err != nil {
		_ = h.close()
		return nil, nil, err
	}
	return h, records, nil
}

func (h *history) load() ([]*record, error) {
	data, err := io.ReadAll(h.file)
	if err != nil {
		return nil, err
	}
	var second []byte
	if h.second, err = safefile.Own(h.file.Name()+secondSuffix, os.O_RDWR); err == nil {
		second, err = io.ReadAll(h.second)
	}
	readable := err == nil // else it is written again
	if data, err = h.repair(data, second); err != nil {
		return nil, err
	}
	head := data[:min(len(data), len(historyMagic))]
	switch last := len(historyMagic) - 1; {
	case len(head) <= last && historyMagic[:len(head)] == string(head):
		data = []byte(historyMagic)
		if _, err := h.file.WriteAt(data, 0); err != nil {
			return nil, err
		}
	case len(head) <= last || string(head[:last]) != historyMagic[:last]:
		return nil, fmt.Errorf("%s is not a history of Tidemark", h.file.Name())
	case head[last] != historyMagic[last]:
		return nil, fmt.Errorf("%s has format %d, this program reads format %d. Use the program that wrote it.", h.file.Name(), head[last], historyMagic[last])
	}
	var records []*record
	at, behind := len(historyMagic), false
	for {
		payload := frameAt(data[at:])
		if payload == nil {
			next := nextFrame(data, at)
			if next < 0 {
				break
			}
			h.damages = append(h.damages, fmt.Sprintf("%s is damaged at %d: %d bytes there cannot be read. A copy is in %s", h.file.Name(), at, next-at, h.file.Name()+cutSuffix))
			at, behind, h.torn = next, true, true
			continue
		}
		rec := &record{behind: behind}
		if err := msgpack.Unmarshal(payload, rec); err != nil {
			return nil, fmt.Errorf("%s is damaged at %d: %w", h.file.Name(), at, err)
		}
		records, behind = append(records, rec), false
		at += frameHead + len(payload)
	}
	h.size = int64(at)
	if err := h.cutOff(data[at:]); err != nil {
		return nil, err
	}
	if !readable || !bytes.Equal(data[:at], second) {
		if differs := prefix(data[:at], second); differs < len(second) { // a write that was interrupted is only shorter
			h.damages = append(h.damages, fmt.Sprintf("%s was damaged at %d. It was repaired from %s, and nothing is lost", h.file.Name()+secondSuffix, differs, h.file.Name()))
		}
		h.copySecond(data[:at])
	}
	return records, nil
}

// prefix returns how many bytes two texts begin with in common.
func prefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// repair returns the bytes of the history with those of the second file where they are damaged, and writes these.
func (h *history) repair(data, second []byte) ([]byte, error) {
	var whole []byte
	from := -1
	for {
		at := len(whole)
		a, b := unitAt(data, at), unitAt(second, at)
		switch {
		case a == nil && b == nil:
			if from < 0 {
				return data, nil
			}
			whole = append(whole, data[min(at, len(data)):]...)
			if _, err := h.file.WriteAt(whole[from:], int64(from)); err != nil {
				return nil, err
			}
			return whole, h.file.Sync()
		case a != nil && b != nil && !bytes.Equal(a, b):
			h.damages = nil
			return data, nil // it is of another time
		case a == nil:
			if from < 0 {
				from = at
			}
			switch {
			case at == 0 && len(data) == 0:
				h.damages = append(h.damages, fmt.Sprintf("%s was missing. It was repaired from %s, and nothing is lost", h.file.Name(), h.file.Name()+secondSuffix))
			case at < len(data):
				h.damages = append(h.damages, fmt.Sprintf("%s was damaged at %d. It was repaired from %s, and nothing is lost", h.file.Name(), at, h.file.Name()+secondSuffix))
			}
			a = b
		}
		whole = append(whole, a...)
	}
}

// unitAt returns the head of a history, or the whole record that begins at a place, nil if there is none.
func unitAt(data []byte, at int) []byte {
	switch {
	case at >= len(data):
		return nil
	case at > 0:
		if payload := frameAt(data[at:]); payload != nil {
			return data[at : at+frameHead+len(payload)]
		}
	case bytes.HasPrefix(data, []byte(historyMagic)):
		return data[:len(historyMagic)]
	}
	return nil
}

// nextFrame returns where the next whole record after a damaged one begins, -1 if there is none.
func nextFrame(data []byte, damaged int) int {
	is := func(at int) bool {
		payload := frameAt(data[min(at, len(data)):])
		return payload != nil && msgpack.Unmarshal(payload, &record{}) == nil
	}
	if size, ok := sizeAt(data[damaged:]); ok && is(damaged+frameHead+size) {
		return damaged + frameHead + size
	}
	for at := damaged + 1; at < len(data); at++ {
		if is(at) {
			return at
		}
	}
	return -1
}

// cutOff removes an end, which follows the last whole record.
func (h *history) cutOff(end []byte) error {
	if len(end) == 0 {
		return nil
	}
	if err := safefile.Overwrite(h.file.Name()+cutSuffix, end); err != nil && (!objects.NoRoom(err) || len(end) > frameHead+maxHistoryRecord) {
		return err
	}
	if size, ok := sizeAt(end); ok && frameHead+size <= len(end) { // a write that was interrupted would be shorter
		h.damages = append(h.damages, fmt.Sprintf("%s is damaged at %d, in its last %d bytes. A copy is in %s", h.file.Name(), h.size, len(end), h.file.Name()+cutSuffix))
	} else {
		h.cut = int64(len(end))
	}
	return h.file.Truncate(h.size)
}

// copySecond writes the second file. Without it the history is read as well, but cannot be repaired.
func (h *history) copySecond(data []byte) {
	h.dropSecond()
	path := h.file.Name() + secondSuffix
	err := safefile.Overwrite(path, data)
	if err == nil {
		h.second, err = safefile.Own(path, os.O_RDWR)
	}
	if err != nil {
		h.dropSecond()
	}
}

// dropSecond removes the second file, until the next [history.copySecond].
func (h *history) dropSecond() {
	if h.second != nil {
		_ = h.second.Close()
		h.second = nil
	}
	_ = os.Remove(h.file.Name() + secondSuffix)
}

// bytes is what both files take.
func (h *history) bytes() int64 {
	if h.second == nil {
		return h.size
	}
	return 2 * h.size
}

// sync makes both files survive a loss of power.
func (h *history) sync() error {
	err := h.file.Sync()
	if h.second != nil {
		err = errors.Join(err, h.second.Sync())
	}
	return err
}

// close closes both files.
func (h *history) close() error {
	err := h.file.Close()
	if h.second != nil {
		err = errors.Join(err, h.second.Close())
	}
	return err
}

// keep copies the whole history, before what cannot be read is taken from it.
func (h *history) keep() error {
	data, err := io.ReadAll(io.NewSectionReader(h.file, 0, h.size))
	if err != nil {
		return err
	}
	return safefile.Overwrite(h.file.Name()+cutSuffix, data)
}

const frameHead = 8

// sizeAt returns the size that a record at the beginning of data has by its head. No record is empty.
func sizeAt(data []byte) (int, bool) {
	if len(data) < frameHead {
		return 0, false
	}
	size := binary.LittleEndian.Uint32(data)
	return int(size), size > 0 && size <= maxHistoryRecord
}

// frameAt returns the content of the record at the beginning of data, nil if none is there that is whole.
func frameAt(data []byte) []byte {
	size, ok := sizeAt(data)
	if !ok || frameHead+size > len(data) {
		return nil
	}
	payload := data[frameHead : frameHead+size]
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(data[4:]) {
		return nil
	}
	return payload
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
	if h.second != nil {
		if _, err := h.second.WriteAt(all, h.size); err != nil {
			h.dropSecond()
		}
	}
	h.size += int64(len(all))
	return nil
}

// cutTo takes back the last records, if they are as many deletions.
func (h *history) cutTo(end int64, deletions int) error {
	data, err := io.ReadAll(io.NewSectionReader(h.file, end, h.size-end))
	if err != nil {
		return err
	}
	for range deletions {
		rec := &record{}
		payload := frameAt(data)
		if payload == nil || msgpack.Unmarshal(payload, rec) != nil || !rec.Deleted {
			return errors.New("something else was recorded since")
		}
		data = data[frameHead+len(payload):]
	}
	if len(data) > 0 {
		return errors.New("more was recorded since")
	}
	if h.second != nil && h.second.Truncate(end) != nil { // before the other one: it must not have more
		h.dropSecond()
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
	f, err := safefile.Own(path+newSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, false, err
	}
	next = &history{file: f, cut: h.cut, damages: h.damages}
	err = next.fill(records)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, false, errors.Join(err, os.Remove(path+newSuffix))
	}
	// Windows renames neither an open file nor over one.
	h.dropSecond()
	if err := h.file.Close(); err != nil {
		return nil, false, err
	}
	err = os.Rename(path+newSuffix, path)
	if replaced = err == nil; !replaced {
		next.size = h.size
	}
	var opened error
	if next.file, opened = safefile.Own(path, os.O_RDWR); opened == nil {
		if data, err := io.ReadAll(next.file); err == nil {
			next.copySecond(data)
		}
	}
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
