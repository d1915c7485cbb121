package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"tidemark.dev/tidemark/host/internal/boltfile"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Entries of tabs are read field by field, in the order in which encode.go writes them: reading them by reflection, or
// through the library's reader of streams, was most of a daemon's start. Words that many entries share are kept once for a
// block. Entries of other subjects, and what is rare, are read by the library.

// decodeEntries reads the entries of a block. Nothing of them is a part of data: a caller can use its memory again, and what
// keeps a text does not keep the block. The list is spare, if that is not nil.
func decodeEntries(section capture.Section, data []byte, n uint32, spare capture.List) (capture.List, error) {
	if int(n) > len(data) {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", boltfile.ErrDamaged, n, len(data))
	}
	left := bytes.NewReader(data)
	r := entryReader{d: msgpack.NewDecoder(left), left: left, data: data, words: map[string]string{}}
	list := spare
	if list == nil {
		list = capture.NewList(section, int(n))
	} else {
		list = list.Emptied(int(n))
	}
	for i := range list.Len() {
		switch e := list.At(i).(type) {
		case *event.Console:
			r.console(e)
		case *event.Network:
			r.network(e)
		case *event.WebSocket:
			r.websocket(e)
		case *event.Action:
			r.action(e)
		case *capture.Change:
			r.change(e)
		default:
			r.whole(e)
		}
		if r.err != nil {
			return nil, fmt.Errorf("%w: %w", boltfile.ErrDamaged, r.err)
		}
	}
	return list, nil
}

// entryReader reads fields; the first error wins, after which nothing more is read.
type entryReader struct {
	data []byte // all of it
	at   int    // how much of it was read
	// d reads from left, which library sets to the place.
	d    *msgpack.Decoder
	left *bytes.Reader
	// piece has copies of texts: one that is kept must not keep the whole block in memory.
	piece []byte
	words map[string]string
	// recent has the word that each field of a struct had last, which is often that of the next entry too.
	recent [headFields + networkFields]string
	field  int
	err    error
}

// each calls field for every field of a struct, by its place. Fields that this program does not know are skipped,
// those that an older one did not write are not called for, nor are those that are zero: most are.
func (r *entryReader) each(known int, field func(i int)) {
	n := r.length(msgpcode.FixedArrayLow, msgpcode.FixedArrayHigh, msgpcode.Array16)
	for i := 0; i < n && r.err == nil; i++ {
		if r.at < len(r.data) && isZero(r.data[r.at]) {
			r.at++
		} else if i < known {
			r.field = i
			field(i)
		} else {
			r.library(r.d.Skip)
		}
	}
}

// isZero says whether a code is the whole of a number, a text, a flag, or a list or map that is nil, and zero.
func isZero(code byte) bool {
	return code == 0 || code == msgpcode.FixedStrLow || code == msgpcode.False || code == msgpcode.Nil
}

// library has the library read at the place.
func (r *entryReader) library(read func() error) {
	if r.err != nil {
		return
	}
	_, _ = r.left.Seek(int64(r.at), io.SeekStart)
	r.err = read()
	r.at = len(r.data) - r.left.Len()
}

// code reads the byte that a value begins with; that of nil after an error.
func (r *entryReader) code() byte {
	if r.err == nil && r.at == len(r.data) {
		r.err = io.ErrUnexpectedEOF
	}
	if r.err != nil {
		return msgpcode.Nil
	}
	r.at++
	return r.data[r.at-1]
}

// number reads a number of 1, 2, 4 or 8 bytes.
func (r *entryReader) number(width int) uint64 {
	if width > len(r.data)-r.at {
		r.err = io.ErrUnexpectedEOF
		return 0
	}
	b := r.data[r.at : r.at+width]
	r.at += width
	switch width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	default:
		return binary.BigEndian.Uint64(b)
	}
}

// length reads how many elements a value has whose code has a small length in it, or is the first of those that 2 and 4 bytes
// with the length follow; -1 for nil.
func (r *entryReader) length(low, high, long byte) int {
	switch c := r.code(); {
	case c >= low && c <= high:
		return int(c - low)
	case c == long:
		return int(r.number(2))
	case c == long+1:
		return int(r.number(4))
	case c != msgpcode.Nil:
		r.unexpected(c)
	}
	return -1
}

func (r *entryReader) unexpected(code byte) { r.err = fmt.Errorf("unexpected code %#x", code) }

func (r *entryReader) int64(into *int64) {
	switch c := r.code(); {
	case msgpcode.IsFixedNum(c):
		*into = int64(int8(c))
	case c >= msgpcode.Uint8 && c <= msgpcode.Uint64:
		*into = int64(r.number(1 << (c - msgpcode.Uint8)))
	case c >= msgpcode.Int8 && c <= msgpcode.Int64:
		width := 1 << (c - msgpcode.Int8)
		unused := 64 - 8*width
		*into = int64(r.number(width)<<unused) >> unused
	case c != msgpcode.Nil:
		r.unexpected(c)
	}
}

func (r *entryReader) int(into *int) {
	n := int64(0)
	r.int64(&n)
	*into = int(n)
}

func (r *entryReader) float(into *float64) {
	if r.err == nil && r.at < len(r.data) && r.data[r.at] == msgpcode.Double {
		r.at++
		*into = math.Float64frombits(r.number(8))
		return
	}
	r.library(func() (err error) {
		*into, err = r.d.DecodeFloat64()
		return err
	})
}

func (r *entryReader) bool(into *bool) {
	switch c := r.code(); c {
	case msgpcode.True:
		*into = true
	case msgpcode.False, msgpcode.Nil:
		*into = false
	default:
		r.unexpected(c)
	}
}

// bytes reads a text as a part of the data.
func (r *entryReader) bytes() []byte {
	n := uint64(0)
	switch c := r.code(); {
	case msgpcode.IsFixedString(c):
		n = uint64(c & msgpcode.FixedStrMask)
	case c >= msgpcode.Str8 && c <= msgpcode.Str32:
		n = r.number(1 << (c - msgpcode.Str8))
	case c >= msgpcode.Bin8 && c <= msgpcode.Bin32:
		n = r.number(1 << (c - msgpcode.Bin8))
	case c != msgpcode.Nil:
		r.unexpected(c)
	}
	if r.err == nil && n > uint64(len(r.data)-r.at) {
		r.err = io.ErrUnexpectedEOF
	}
	if r.err != nil {
		return nil
	}
	r.at += int(n)
	return r.data[r.at-int(n) : r.at]
}

// Texts of at most shortText bytes are together in copies of pieceBytes.
const (
	pieceBytes = 8 << 10
	shortText  = 2 << 10
)

// text reads a text.
func (r *entryReader) text(into *string) {
	b := r.bytes()
	switch {
	case len(b) == 0:
	case len(b) > shortText:
		*into = string(b)
	default:
		if len(r.piece)+len(b) > cap(r.piece) {
			r.piece = make([]byte, 0, pieceBytes)
		}
		at := len(r.piece)
		r.piece = append(r.piece, b...)
		*into = unsafe.String(&r.piece[at], len(b))
	}
}

// word reads a text that other entries are likely to have too.
func (r *entryReader) word(into *string) {
	b := r.bytes()
	if len(b) == 0 {
		return
	}
	recent := &r.recent[r.field]
	if string(b) != *recent {
		w, known := r.words[string(b)]
		if !known {
			w = string(b)
			r.words[w] = w
		}
		*recent = w
	}
	*into = *recent
}

func (r *entryReader) texts(into *[]string) {
	n := r.length(msgpcode.FixedArrayLow, msgpcode.FixedArrayHigh, msgpcode.Array16)
	if r.err != nil || n < 0 {
		return
	}
	*into = []string{}
	for range n {
		s := ""
		if r.word(&s); r.err != nil { // a line of a stack: others have it too
			return
		}
		*into = append(*into, s)
	}
}

func (r *entryReader) headers(into *map[string]string) {
	n := r.length(msgpcode.FixedMapLow, msgpcode.FixedMapHigh, msgpcode.Map16)
	if r.err != nil || n < 0 {
		return
	}
	*into = map[string]string{}
	for range n {
		name, value := "", ""
		r.word(&name)
		r.text(&value)
		if r.err != nil {
			return
		}
		(*into)[name] = value
	}
}

// headFields is how many fields of an entry its head has; the others are the fields after it.
const (
	headFields      = 4
	consoleFields   = 14
	networkFields   = 25
	websocketFields = 13
	actionFields    = 6
	changeFields    = 7
)

func (r *entryReader) head(h *event.Head, i int) {
	switch i {
	case 0:
		r.int64(&h.At)
	case 1:
		r.int(&h.Number)
	case 2:
		r.word(&h.Place)
	case 3:
		r.int(&h.Masked)
	}
}

func (r *entryReader) console(e *event.Console) {
	r.each(headFields+consoleFields, func(i int) {
		switch i - headFields {
		case 0:
			level := 0
			r.int(&level)
			e.Level = event.Level(level)
		case 1:
			r.word(&e.Via)
		case 2:
			r.word(&e.Category)
		case 3:
			r.text(&e.Text)
		case 4:
			r.int(&e.Length)
		case 5:
			r.word(&e.URL)
		case 6:
			r.int(&e.Line)
		case 7:
			r.int(&e.Column)
		case 8:
			r.texts(&e.Stack)
		case 9:
			r.text(&e.Request)
		case 10:
			r.word(&e.Target)
		case 11:
			r.bool(&e.Joined)
		case 12:
			r.word(&e.Logged)
		case 13:
			r.bool(&e.Left)
		default:
			r.head(&e.Head, i)
		}
	})
}

func (r *entryReader) network(e *event.Network) {
	r.each(headFields+networkFields, func(i int) {
		switch i - headFields {
		case 0:
			r.text(&e.ID)
		case 1:
			r.word(&e.Method)
		case 2:
			r.text(&e.URL)
		case 3:
			r.word(&e.Resource)
		case 4:
			r.int(&e.Status)
		case 5:
			r.word(&e.Error)
		case 6:
			r.bool(&e.Canceled)
		case 7:
			r.bool(&e.Cached)
		case 8:
			r.bool(&e.Stream)
		case 9:
			r.bool(&e.Backfilled)
		case 10:
			r.int64(&e.Started)
		case 11:
			r.float(&e.Duration)
		case 12:
			r.word(&e.Mime)
		case 13:
			r.int64(&e.Size)
		case 14:
			r.headers(&e.RequestHeaders)
		case 15:
			r.headers(&e.ResponseHeaders)
		case 16:
			r.text(&e.RequestBody)
		case 17:
			r.text(&e.ResponseBody)
		case 18:
			r.word(&e.BodyNote)
		case 19:
			r.word(&e.Target)
		case 20:
			r.texts(&e.Stack)
		case 21:
			r.word(&e.Operation)
		case 22:
			r.bool(&e.Refused)
		case 23:
			r.word(&e.Detail)
		case 24:
			r.int(&e.Order)
		default:
			r.head(&e.Head, i)
		}
	})
}

func (r *entryReader) websocket(e *event.WebSocket) {
	r.each(headFields+websocketFields, func(i int) {
		switch i - headFields {
		case 0:
			r.word(&e.ID)
		case 1:
			r.word(&e.URL)
		case 2:
			r.word(&e.Op)
		case 3:
			r.text(&e.Text)
		case 4:
			r.int(&e.Size)
		case 5:
			r.bool(&e.Binary)
		case 6:
			r.int(&e.Code)
		case 7:
			r.text(&e.Reason)
		case 8:
			r.bool(&e.Leaving)
		case 9:
			r.bool(&e.Joined)
		case 10:
			r.bool(&e.Bad)
		case 11:
			r.int(&e.Status)
		case 12:
			r.texts(&e.Stack)
		default:
			r.head(&e.Head, i)
		}
	})
}

func (r *entryReader) action(e *event.Action) {
	r.each(headFields+actionFields, func(i int) {
		switch i - headFields {
		case 0:
			r.word(&e.Type)
		case 1:
			r.text(&e.Target)
		case 2:
			r.word(&e.Selector)
		case 3:
			r.text(&e.Value)
		case 4:
			r.int(&e.Frame)
		case 5:
			r.int64(&e.Began)
		default:
			r.head(&e.Head, i)
		}
	})
}

func (r *entryReader) change(e *capture.Change) {
	r.each(headFields+changeFields, func(i int) {
		switch i - headFields {
		case 0:
			r.word(&e.Op)
		case 1:
			r.library(func() error { return r.d.Decode(&e.Element) })
		case 2:
			r.word(&e.How)
		case 3:
			r.text(&e.From)
		case 4:
			r.text(&e.URL)
		case 5:
			r.bool(&e.Alert)
		case 6:
			r.int64(&e.Since)
		default:
			r.head(&e.Head, i)
		}
	})
}
