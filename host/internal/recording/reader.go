package recording

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sort"
	"sync"
	"time"
)

// frame is the place of a frame in a file.
type frame struct {
	kind   byte
	body   int64 // where the body begins
	length uint32
	// at is the time after the frame, offset the output before it, output what it has of it.
	at     time.Duration
	offset uint64
	output uint32
}

// Reader reads a recording, also one that is being written: as far as it was when the reader was opened, or [Reader.Refresh]
// was called. Apart from that call, it is safe for concurrent use.
type Reader struct {
	file *os.File
	// indexed is the place in the file up to which its frames are known.
	indexed int64
	frames  []frame // segments and what continues them
	streams []int   // those of frames that begin a segment
	summary Summary
	// known are the saved screens that were read.
	knownMu sync.Mutex
	known   screens
}

// errDamaged is the error of a file that no recorder wrote.
var errDamaged = errors.New("it is not a recording, or it is damaged")

// Open opens a recording.
func Open(path string) (*Reader, error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	r := &Reader{file: f}
	err = r.begin()
	if err == nil {
		err = r.index()
	}
	if err == nil && r.summary.ID == "" {
		err = errDamaged
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read the recording %s: %w", path, err), f.Close())
	}
	return r, nil
}

// openFile opens a file that is there, and nothing else: opening a pipe would block.
func openFile(path string, flag int) (*os.File, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file. Remove it.", path)
	}
	return os.OpenFile(path, flag, 0)
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Summary describes the recording.
func (r *Reader) Summary() Summary { return r.summary }

// Refresh reads what was written since.
func (r *Reader) Refresh() error {
	if err := r.index(); err != nil {
		return fmt.Errorf("cannot read the recording %s: %w", r.file.Name(), err)
	}
	return nil
}

// begin reads the beginning of the file.
func (r *Reader) begin() error {
	start := make([]byte, len(magic))
	if _, err := r.file.ReadAt(start, 0); err != nil || string(start) != magic {
		return errDamaged
	}
	r.indexed = int64(len(magic))
	return nil
}

// index reads the heads of further frames, and the bodies of those that have no events.
func (r *Reader) index() error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	size, at := info.Size(), r.indexed
	head := make([]byte, headSize)
	for at+headSize <= size && !r.summary.Finished {
		if _, err := r.file.ReadAt(head, at); err != nil {
			return err
		}
		f := frameOf(head, at)
		next := f.body + int64(f.length)
		if !r.follows(f) || next > size {
			found, err := r.resume(at, size)
			if err != nil {
				return err
			}
			if found == 0 {
				break // torn
			}
			at = found
			continue
		}
		// Only the last frame can be torn; the others are checked when they are read.
		if next+headSize > size || f.kind == frameHeader || f.kind == frameEnd {
			body, err := r.body(head, f)
			if errors.Is(err, errDamaged) && f.kind != frameHeader {
				break
			}
			if err != nil {
				return err
			}
			if err := r.meta(f, body); err != nil {
				return err
			}
		}
		if f.kind == frameSegment || f.kind == frameContinue {
			if f.kind == frameSegment || len(r.frames) == 0 {
				r.streams = append(r.streams, len(r.frames))
			}
			r.frames = append(r.frames, f)
			r.summary.Output = f.offset + uint64(f.output)
		}
		r.summary.Duration = max(r.summary.Duration, f.at)
		at = next
	}
	r.indexed = at
	r.summary.Size, r.summary.Torn = size, size-at
	return nil
}

// frameOf reads the head of the frame at a place in the file.
func frameOf(head []byte, at int64) frame {
	return frame{
		kind: head[0], body: at + headSize, length: binary.LittleEndian.Uint32(head[1:]),
		at:     time.Duration(binary.LittleEndian.Uint64(head[9:])) * time.Microsecond,
		offset: binary.LittleEndian.Uint64(head[17:]), output: binary.LittleEndian.Uint32(head[25:]),
	}
}

// meta reads a frame that has no events.
func (r *Reader) meta(f frame, body []byte) error {
	switch f.kind {
	case frameHeader:
		return json.Unmarshal(body, &r.summary.Header)
	case frameEnd:
		var e end
		if err := json.Unmarshal(body, &e); err != nil {
			return err
		}
		r.summary.Finished, r.summary.Status = true, e.Status
	}
	return nil
}

// body reads the body of a frame, and checks it. Head is its head, nil to read that too.
func (r *Reader) body(head []byte, f frame) ([]byte, error) {
	whole := make([]byte, headSize+int(f.length))
	if _, err := r.file.ReadAt(whole, f.body-headSize); err != nil {
		return nil, err
	}
	if head != nil && !bytes.Equal(head, whole[:headSize]) || checksum(whole) != binary.LittleEndian.Uint32(whole[5:]) {
		return nil, errDamaged
	}
	return whole[headSize:], nil
}

// Events returns the events from the segment in which a time is. Zero returns all. An error ends them.
func (r *Reader) Events(from time.Duration) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		first := max(0, sort.Search(len(r.streams), func(i int) bool { return i > 0 && r.startOf(i) >= from })-1)
		for i := first; i < len(r.streams); i++ {
			if !r.segment(i, yield) {
				return
			}
		}
	}
}

// segment yields the events of a compressed stream. What is damaged in it is a [Gap] at its end. It returns false to stop.
func (r *Reader) segment(stream int, yield func(Event, error) bool) bool {
	fail := func(err error) bool {
		yield(Event{}, fmt.Errorf("cannot read the recording %s: %w", r.file.Name(), err))
		return false
	}
	frames := r.framesOf(stream)
	at, err := r.begins(stream)
	if err != nil {
		return fail(err)
	}
	var packed []byte
	var left uint64
	damaged := frames[0].kind == frameLost
	for _, f := range frames {
		if damaged {
			break
		}
		body, err := r.body(nil, f)
		if damaged = errors.Is(err, errDamaged); damaged {
			break
		}
		if err != nil {
			return fail(err)
		}
		packed = append(packed, body...)
		left += uint64(f.output)
	}
	z, err := unpack(packed)
	if err != nil {
		return fail(err)
	}
	defer z.Close()
	b := bufio.NewReader(z)
	offset := frames[0].offset
	for {
		e, err := readEvent(b, at, offset)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			damaged = damaged || left > 0 // an open stream ends without its last block, but with all of its output
			break
		}
		if err != nil || e.Code == Output && uint64(len(e.Data)) > left {
			damaged = true
			break
		}
		if e.Code == Output {
			left -= uint64(len(e.Data))
			offset += uint64(len(e.Data))
		}
		at = e.At
		if !yield(e, nil) {
			return false
		}
	}
	if !damaged {
		return true
	}
	last := frames[len(frames)-1]
	ends := last.at
	if stream+1 < len(r.streams) {
		if ends, err = r.begins(stream + 1); err != nil {
			return fail(err)
		}
	}
	gap := Gap{Bytes: last.offset + uint64(last.output) - offset, Why: damagedHere}
	return yield(Event{At: max(at, ends), Offset: offset, Code: Dropped, Data: Encode(gap)}, nil)
}

// readEvent reads one event that follows a time and an offset.
func readEvent(b *bufio.Reader, at time.Duration, offset uint64) (Event, error) {
	passed, err := binary.ReadUvarint(b)
	if err != nil {
		return Event{}, err
	}
	code, err := b.ReadByte()
	if err != nil {
		return Event{}, err
	}
	n, err := binary.ReadUvarint(b)
	if err != nil {
		return Event{}, err
	}
	if n > maxEvent || passed > 1<<52 {
		return Event{}, errDamaged
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(b, data); err != nil {
		return Event{}, err
	}
	return Event{At: at + time.Duration(passed)*time.Microsecond, Offset: offset, Code: Code(code), Data: data}, nil
}
