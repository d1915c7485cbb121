package extents

import (
	"bytes"
	"os"
)

// Holes writes an empty file without the blocks that are all zero. It is not complete before it is closed, which leaves the file open.
type Holes struct {
	f    *os.File
	size int64
}

// NewHoles begins to write a file.
func NewHoles(f *os.File) *Holes { return &Holes{f: f} }

// page is the smallest hole.
const page = 4096

var zeros [page]byte

func (h *Holes) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part := b[:min(len(b), page-int(h.size%page))]
		if !bytes.Equal(part, zeros[:len(part)]) {
			if _, err := h.f.WriteAt(part, h.size); err != nil {
				return 0, err
			}
		}
		h.size += int64(len(part))
		b = b[len(part):]
	}
	return n, nil
}

// Close gives the file its size.
func (h *Holes) Close() error { return h.f.Truncate(h.size) }
