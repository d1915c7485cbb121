// Package wire reads and writes native-messaging frames: a length of four bytes in the machine's
// byte order and that many bytes of JSON. The relay and the daemon exchange the same frames.
//
// Guarantees:
//   - A frame is read whole, or the error says why not.
//   - A frame takes no more memory than has arrived of it, so that a false length costs nothing.
//   - Concurrent writers never mix frames.
//
// Source of the format and its limits:
// https://developer.chrome.com/docs/extensions/develop/concepts/native-messaging
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"tidemark.dev/tidemark/protocol"
)

// ErrTooLarge reports that a frame exceeds the limit of its direction.
var ErrTooLarge = errors.New("frame exceeds the limit")

// Reader reads frames. It is for one goroutine.
type Reader struct {
	r   *bufio.Reader
	buf bytes.Buffer
	max int
}

// NewReader reads frames of at most max bytes; 0 means [protocol.MaxToHost].
func NewReader(r io.Reader, max int) *Reader {
	if max == 0 {
		max = protocol.MaxToHost
	}
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// Read returns the next frame. Its bytes are valid until the next call. The error is io.EOF at the end of
// the stream between two frames, and io.ErrUnexpectedEOF inside a frame. After [ErrTooLarge] the stream
// cannot be read any further.
func (r *Reader) Read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, err
	}
	n := binary.NativeEndian.Uint32(head[:])
	if int64(n) > int64(r.max) {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, n, r.max)
	}
	if r.buf.Cap() > 1<<20 && n < 1<<20 {
		r.buf = bytes.Buffer{} // one large frame must not pin its memory
	}
	r.buf.Reset()
	if _, err := io.CopyN(&r.buf, r.r, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return r.buf.Bytes(), nil
}

// Writer writes frames. It is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	max int
}

// NewWriter writes frames of at most max bytes; 0 means [protocol.MaxToExtension].
func NewWriter(w io.Writer, max int) *Writer {
	if max == 0 {
		max = protocol.MaxToExtension
	}
	return &Writer{w: w, max: max}
}

// Write writes one frame in one call to the underlying writer.
func (w *Writer) Write(data []byte) error {
	if len(data) > w.max {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), w.max)
	}
	frame := make([]byte, 4, 4+len(data))
	binary.NativeEndian.PutUint32(frame, uint32(len(data)))
	frame = append(frame, data...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(frame)
	return err
}

// Buffered reports whether the next frame has begun to arrive.
func (r *Reader) Buffered() bool { return r.r.Buffered() > 0 }
