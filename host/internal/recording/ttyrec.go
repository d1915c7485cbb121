package recording

import (
	"bufio"
	"encoding/binary"
	"io"
	"time"
)

// WriteTTYRec writes the output of a recording as ttyrec: unchanged bytes, each part after its time and its length as
// 32-bit numbers. The format has no sizes, input or markers.
func WriteTTYRec(out io.Writer, r *Reader) error {
	b := bufio.NewWriter(out)
	started := r.Summary().Started
	for e, err := range r.Events(0) {
		if err != nil {
			return err
		}
		if e.Code != Output {
			continue
		}
		at := started.Add(e.At)
		var head []byte
		for _, n := range []int64{at.Unix(), int64(at.Nanosecond()) / int64(time.Microsecond), int64(len(e.Data))} {
			head = binary.LittleEndian.AppendUint32(head, uint32(n))
		}
		if _, err := b.Write(append(head, e.Data...)); err != nil {
			return err
		}
	}
	return b.Flush()
}
