package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// maxChecked bounds how many bytes are checked to find the end of damage, so that a file made for it does not take long.
const maxChecked = 256 << 20

// follows reports whether the head of a frame fits to the frames before it.
func (r *Reader) follows(f frame) bool {
	switch f.kind {
	case frameHeader:
		return r.summary.ID == "" && f.length <= maxHeader
	case frameSegment, frameContinue, frameEnd:
		return f.length <= maxBody && f.at >= r.summary.Duration && f.offset == r.summary.Output
	default:
		return false
	}
}

// resume finds the next compressed stream behind a place where no frame is, or the end of the recording, and notes what is missing
// up to there. Zero means that there is none, and that the file is torn.
//
// The output of a program may have the bytes of a frame. A frame that is half written must not lead to these, so that a recording
// that is being written has no damage.
func (r *Reader) resume(at, size int64) (found int64, err error) {
	if name := filepath.Base(r.file.Name()); r.summary.ID == "" || (Store{Dir: filepath.Dir(r.file.Name())}).Live(strings.TrimSuffix(name, Suffix)) {
		return 0, nil
	}
	frames, streams, summary := r.frames, r.streams, r.summary
	defer func() {
		if found == 0 { // nothing follows what is in doubt
			r.frames, r.streams, r.summary = frames, streams, summary
		}
	}()
	if at, err = r.doubt(at); err != nil {
		return 0, err
	}
	part := make([]byte, 1<<20)
	checked := int64(0)
	for at++; at+headSize <= size; at += int64(len(part)) - headSize {
		n := min(int64(len(part)), size-at)
		if _, err := r.file.ReadAt(part[:n], at); err != nil {
			return 0, err
		}
		for i := 0; i+headSize <= int(n); i++ {
			next := bytes.IndexAny(part[i:int(n)-headSize+1], "SE")
			if next < 0 {
				break
			}
			i += next
			f := frameOf(part[i:], at+int64(i))
			end := f.body + int64(f.length)
			if f.length > maxBody || end > size || f.kind == frameEnd && end != size || f.at < r.summary.Duration || f.offset < r.summary.Output {
				continue
			}
			if checked += int64(f.length); checked > maxChecked {
				return 0, nil
			}
			body, err := r.body(part[i:i+headSize], f)
			if errors.Is(err, errDamaged) {
				continue
			}
			if err != nil {
				return 0, err
			}
			lost := frame{kind: frameLost, at: f.at, offset: r.summary.Output}
			if f.kind == frameSegment {
				lost.at = max(r.summary.Duration, f.at-lasts(body))
			}
			lost.output = uint32(min(f.offset-lost.offset, math.MaxUint32))
			r.streams, r.frames = append(r.streams, len(r.frames)), append(r.frames, lost)
			r.summary.Output, r.summary.Duration = f.offset, lost.at
			return at + int64(i), nil
		}
	}
	return 0, nil
}

// doubt takes the last frame back if it is damaged, and returns where it begins, else the place: a damaged length leads to any place.
func (r *Reader) doubt(at int64) (int64, error) {
	n := len(r.frames) - 1
	if n < 0 || r.frames[n].kind == frameLost {
		return at, nil
	}
	last := r.frames[n]
	if _, err := r.body(nil, last); !errors.Is(err, errDamaged) {
		return at, err
	}
	r.frames, r.summary.Output, r.summary.Duration = r.frames[:n], last.offset, 0
	if n > 0 {
		r.summary.Duration = r.frames[n-1].at
	}
	if k := len(r.streams) - 1; k >= 0 && r.streams[k] == n {
		r.streams = r.streams[:k]
	}
	return last.body - headSize, nil
}

// begins is [Reader.startOf], also where the head of the frame before is damaged.
func (r *Reader) begins(stream int) (time.Duration, error) {
	start, at := r.startOf(stream), r.streams[stream]
	if at == 0 || r.frames[at-1].kind == frameLost || r.frames[at].kind == frameLost {
		return start, nil
	}
	if _, err := r.body(nil, r.frames[at-1]); !errors.Is(err, errDamaged) {
		return start, err
	}
	body, err := r.body(nil, r.frames[at])
	if errors.Is(err, errDamaged) {
		return start, nil // its events are not read
	}
	if err != nil {
		return 0, err
	}
	return r.frames[at].at - lasts(body), nil
}

// damagedHere is why output is missing in a damaged file.
const damagedHere = "the file is damaged here"

// Missing reports whether the file is damaged before a time, and how many bytes of output it lacks there. It reads the file up to that
// time.
func (r *Reader) Missing(until time.Duration) (missing uint64, damaged bool, err error) {
	for i := range r.streams {
		last := r.startOf(i)
		if last > until {
			break
		}
		whole, err := r.whole(i)
		if err != nil {
			return 0, false, err
		}
		if whole {
			continue
		}
		r.segment(i, func(e Event, failed error) bool {
			var g Gap
			if err = failed; err == nil && e.Code == Dropped && last <= until && json.Unmarshal(e.Data, &g) == nil && g.Why == damagedHere {
				missing, damaged = missing+g.Bytes, true
			}
			last = e.At
			return err == nil
		})
		if err != nil {
			return 0, false, err
		}
	}
	return missing, damaged, nil
}

// whole reports whether no frame of a stream is damaged.
func (r *Reader) whole(stream int) (bool, error) {
	for _, f := range r.framesOf(stream) {
		if f.kind == frameLost {
			return false, nil
		}
		if _, err := r.body(nil, f); err != nil {
			if errors.Is(err, errDamaged) {
				return false, nil
			}
			return false, fmt.Errorf("cannot read the recording %s: %w", r.file.Name(), err)
		}
	}
	return true, nil
}

// lasts is the time from the beginning of a stream to the end of its first frame.
func lasts(body []byte) (passed time.Duration) {
	z, err := unpack(body)
	if err != nil {
		return 0
	}
	defer z.Close()
	b := bufio.NewReader(z)
	for {
		e, err := readEvent(b, passed, 0)
		if err != nil {
			return passed
		}
		passed = e.At
	}
}

// unpack decompresses the bodies of frames.
func unpack(packed []byte) (*zstd.Decoder, error) {
	return zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
}
