package recording

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"time"

	"tidemark.dev/tidemark/host/internal/filelock"
)

// ProofOf returns what a recording has of a key, so that who reads the file cannot claim to run in its terminal.
func ProofOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// Holds returns the header of a recording that is being written now, if it has the proof of a key.
func (s Store) Holds(id, key string) (h Header, ok bool) {
	if key == "" || !validID().MatchString(id) {
		return h, false
	}
	h, err := headerOf(s.path(id))
	return h, err == nil && h.ID == id && subtle.ConstantTimeCompare([]byte(h.Proof), []byte(ProofOf(key))) == 1 && s.Live(id)
}

// Live reports whether a recording is being written now.
func (s Store) Live(id string) bool {
	if !validID().MatchString(id) {
		return false
	}
	f, err := openFile(s.path(id), os.O_RDWR)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return errors.Is(filelock.Try(f), filelock.ErrTaken)
}

// maxHeader bounds the header of a recording, in bytes.
const maxHeader = 1 << 20

// headerOf reads the header of a recording alone.
func headerOf(path string) (h Header, err error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return h, err
	}
	defer func() { _ = f.Close() }()
	r := &Reader{file: f}
	if err := r.begin(); err != nil {
		return h, err
	}
	head := make([]byte, headSize)
	if _, err := f.ReadAt(head, r.indexed); err != nil {
		return h, err
	}
	first := frameOf(head, r.indexed)
	if first.kind != frameHeader || first.length > maxHeader {
		return h, errDamaged
	}
	body, err := r.body(head, first)
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(body, &h)
}

// Elapsed is how long a recording had lasted at a time, by the machine's clock where both have it. That one is not set, and
// stands still like the recorder's while the machine is suspended.
func (h Header) Elapsed(at time.Time, clock time.Duration) time.Duration {
	if h.Clock != 0 && clock != 0 {
		return clock - h.Clock
	}
	return at.Sub(h.Started)
}

// OffsetAt counts the bytes of output that a recording has up to a time, those of that time included.
func (r *Reader) OffsetAt(at time.Duration) (offset uint64, err error) {
	for e, err := range r.Events(at) {
		if err != nil {
			return 0, err
		}
		if e.At > at {
			return e.Offset, nil
		}
		if offset = e.Offset; e.Code == Output {
			offset += uint64(len(e.Data))
		}
	}
	return offset, nil
}

// EndOf returns the offset at the end of a command by its own, which counts the output before it. Of a command that did not end, it
// is that of the recording's end.
func (r *Reader) EndOf(command uint64) (uint64, error) {
	first := max(0, sort.Search(len(r.streams), func(i int) bool { return r.frames[r.streams[i]].offset > command })-1)
	from := time.Duration(0)
	if len(r.streams) > 0 {
		from = r.startOf(first)
	}
	for e, err := range r.Events(from) {
		if err != nil {
			return 0, err
		}
		var c Command
		if e.Code == Ended && json.Unmarshal(e.Data, &c) == nil && c.Offset == command && !c.Unverified {
			return e.Offset, nil
		}
	}
	return r.summary.Output, nil
}

// Tail follows the end of a recording that is being written. It has no file open between calls. It is not safe for concurrent use.
type Tail struct {
	path string
	r    *Reader
}

// Follow begins to follow a recording.
func (s Store) Follow(id string) *Tail { return &Tail{s.path(id), &Reader{}} }

// Reaches reports whether a recording has all that was shown up to a time.
func (t *Tail) Reaches(at time.Duration) (yes bool, err error) {
	err = t.read(func() error { return nil })
	return t.r.summary.Finished || t.r.summary.Duration > at, err
}

// OffsetAt counts the output up to a time, as far as it is recorded. What is longer ago than keep before it is forgotten, because
// the places of a long recording take much memory.
func (t *Tail) OffsetAt(at, keep time.Duration) (offset uint64, err error) {
	err = t.read(func() (err error) {
		offset, err = t.r.OffsetAt(at)
		return err
	})
	t.forget(at - keep)
	return offset, err
}

// read reads what was written since, and calls a function.
func (t *Tail) read(do func() error) error {
	f, err := openFile(t.path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	t.r.file = f
	if t.r.indexed == 0 {
		err = t.r.begin()
	}
	if err == nil {
		err = t.r.index()
	}
	if err == nil {
		err = do()
	}
	if err != nil {
		return fmt.Errorf("cannot read the recording %s: %w", t.path, err)
	}
	return nil
}

// forget drops the streams that end before a time, but for the last.
func (t *Tail) forget(before time.Duration) {
	r, n := t.r, 0
	for n+1 < len(r.streams) && r.startOf(n+1) <= before {
		n++
	}
	if n == 0 {
		return
	}
	from := r.streams[n] - 1 // the frame before has the time at which the stream begins
	r.frames, r.streams = slices.Clone(r.frames[from:]), slices.Clone(r.streams[n:])
	for i := range r.streams {
		r.streams[i] -= from
	}
}
