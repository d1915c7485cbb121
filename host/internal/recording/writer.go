package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"

	"tidemark.dev/tidemark/host/internal/filelock"
)

// Writer appends events to a file. It is not safe for concurrent use.
type Writer struct {
	file *os.File
	z    *zstd.Encoder
	// packed is what the compressor has written since the last frame.
	packed bytes.Buffer
	// at and offset are those after the last event. base and begun are those of the frame that is being made.
	at, base      time.Duration
	offset, begun uint64
	// segment is how much output the open stream has, or -1 if none is open. first means that the frame begins it.
	segment int
	first   bool
	dirty   bool
	scratch []byte
}

// Create begins a recording in a new file, which only its user can read. The file counts as in use until [Writer.Finish]
// or the end of the process.
func Create(path string, h Header) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot create the recording: %w", err)
	}
	w := &Writer{file: f, segment: -1}
	fail := func(err error) (*Writer, error) {
		return nil, errors.Join(fmt.Errorf("cannot write the recording %s: %w", path, err), f.Close(), os.Remove(path))
	}
	if err := filelock.Try(f); err != nil {
		return fail(err)
	}
	// Without entropy coding of literals, text that has no matches, such as base64, would not be compressed at all.
	if w.z, err = zstd.NewWriter(&w.packed, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(segmentBytes*2), zstd.WithAllLitEntropyCompression(true)); err != nil {
		return fail(err)
	}
	if _, err := f.WriteString(magic); err != nil {
		return fail(err)
	}
	if err := w.frame(frameHeader, Encode(h), 0); err != nil {
		return fail(err)
	}
	return w, nil
}

// Offset counts the bytes of output so far.
func (w *Writer) Offset() uint64 { return w.offset }

// Committed reports whether all that was appended is on disk, or was taken back.
func (w *Writer) Committed() bool { return !w.dirty }

// Path is the file's.
func (w *Writer) Path() string { return w.file.Name() }

// Append adds an event. At must not be before that of the event before; an earlier one counts as equal. The event is on
// disk after the next [Writer.Commit].
func (w *Writer) Append(at time.Duration, code Code, data []byte) error {
	for len(data) > maxEvent {
		if err := w.Append(at, code, data[:maxEvent]); err != nil {
			return err
		}
		data = data[maxEvent:]
	}
	at = max(at.Truncate(time.Microsecond), w.at)
	if w.segment < 0 {
		w.z.Reset(&w.packed)
		w.segment, w.first = 0, true
	}
	if !w.dirty {
		w.base, w.begun, w.dirty = w.at, w.offset, true
	}
	b := binary.AppendUvarint(w.scratch[:0], uint64((at-w.at)/time.Microsecond))
	b = binary.AppendUvarint(append(b, byte(code)), uint64(len(data)))
	w.scratch = append(b, data...)
	if _, err := w.z.Write(w.scratch); err != nil {
		return err
	}
	w.at = at
	w.segment += len(data)
	if code == Output {
		w.offset += uint64(len(data))
	}
	if w.segment >= segmentBytes || w.packed.Len() >= segmentBytes {
		return w.Commit(false)
	}
	return nil
}

// Commit writes what was appended to the file. With sync it survives a loss of power too. An error leaves the recording as
// it was after the commit before, as far as a reader sees.
func (w *Writer) Commit(sync bool) error {
	if w.dirty {
		end := w.z.Flush
		if w.segment >= segmentBytes {
			end = w.z.Close
		}
		err := end()
		kind := byte(frameContinue)
		if w.first {
			kind = frameSegment
		}
		if err == nil {
			err = w.frame(kind, w.packed.Bytes(), uint32(w.offset-w.begun))
		}
		if w.segment >= segmentBytes || err != nil {
			w.segment = -1
		}
		if err != nil { // a frame that is missing must not be continued
			w.offset, w.at = w.begun, w.base
		}
		w.packed.Reset()
		w.dirty, w.first = false, false
		if err != nil {
			return fmt.Errorf("cannot write the recording: %w", err)
		}
	}
	if sync {
		return w.file.Sync()
	}
	return nil
}

// frame appends a frame. If that fails, it removes what was written of it.
func (w *Writer) frame(kind byte, body []byte, output uint32) error {
	b := make([]byte, headSize, headSize+len(body))
	b[0] = kind
	binary.LittleEndian.PutUint32(b[1:], uint32(len(body)))
	binary.LittleEndian.PutUint64(b[9:], uint64(w.at/time.Microsecond))
	binary.LittleEndian.PutUint64(b[17:], w.begun)
	if kind == frameEnd {
		binary.LittleEndian.PutUint64(b[17:], w.offset)
	}
	binary.LittleEndian.PutUint32(b[25:], output)
	b = append(b, body...)
	binary.LittleEndian.PutUint32(b[5:], checksum(b))
	before, err := w.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if _, err := w.file.Write(b); err != nil {
		_, seekErr := w.file.Seek(before, io.SeekStart)
		return errors.Join(err, w.file.Truncate(before), seekErr)
	}
	return nil
}

// checksum is that of a frame, without its own place.
func checksum(frame []byte) uint32 {
	sum := crc32.Update(0, castagnoli, frame[:5])
	return crc32.Update(sum, castagnoli, frame[9:])
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Finish ends the recording with the exit status of its program, and closes the file.
func (w *Writer) Finish(status int) error {
	err := w.Append(w.at, Exit, fmt.Append(nil, status))
	return errors.Join(err, w.Commit(false), w.frame(frameEnd, Encode(end{status}), 0), w.file.Sync(), w.file.Close())
}

// Abandon closes the file without an end, as a kill does.
func (w *Writer) Abandon() error { return w.file.Close() }
