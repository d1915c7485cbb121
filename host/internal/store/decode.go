package store

import (
	"bytes"
	"fmt"
	"io"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Entries of tabs are read field by field, in the order in which encode.go writes them: reading them by reflection was
// most of a daemon's start. Words that many entries share are kept once for a block. Entries of other subjects are read
// by reflection.

// decodeEntries reads the entries of a block. Nothing of them is a part of data: a caller can use its memory again, and what
// keeps a text does not keep the block. The list is spare, if that is not nil.
func decodeEntries(section capture.Section, data []byte, n uint32, spare capture.List) (capture.List, error) {
	if int(n) > len(data) {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", errDamaged, n, len(data))
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
			r.err = r.d.Decode(e)
		}
		if r.err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, r.err)
		}
	}
	return list, nil
}

// entryReader reads fields; the first error wins, after which nothing more is read.
type entryReader struct {
	d    *msgpack.Decoder
	left *bytes.Reader // what d reads
	data []byte        // all of it
	// piece has copies of texts: one that is kept must not keep the whole block in memory.
	piece []byte
	words map[string]string
	err   error
}

// each calls field for every field of a struct, by its place. Fields that this program does not know are skipped,
// those that an older one did not write are not called for.
func (r *entryReader) each(known int, field func(i int)) {
	n, err := r.d.DecodeArrayLen()
	for i := range max(0, n) {
		if r.err = err; r.err != nil {
			return
		}
		if i < known {
			field(i)
			err = r.err
		} else {
			err = r.d.Skip()
		}
	}
	r.err = err
}

func take[T any](r *entryReader, into *T, decode func() (T, error)) {
	if r.err == nil {
		*into, r.err = decode()
	}
}

func (r *entryReader) int(into *int)     { take(r, into, r.d.DecodeInt) }
func (r *entryReader) int64(into *int64) { take(r, into, r.d.DecodeInt64) }
func (r *entryReader) bool(into *bool)   { take(r, into, r.d.DecodeBool) }

// bytes reads a text as a part of the data.
func (r *entryReader) bytes() []byte {
	n := 0
	take(r, &n, r.d.DecodeBytesLen)
	if r.err != nil || n <= 0 {
		return nil
	}
	if n > r.left.Len() {
		r.err = io.ErrUnexpectedEOF
		return nil
	}
	at := len(r.data) - r.left.Len()
	_, r.err = r.left.Seek(int64(n), io.SeekCurrent)
	return r.data[at : at+n]
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
	w, known := r.words[string(b)]
	if !known {
		w = string(b)
		r.words[w] = w
	}
	*into = w
}

func (r *entryReader) texts(into *[]string) {
	n := 0
	if take(r, &n, r.d.DecodeArrayLen); r.err != nil || n < 0 {
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
	n := 0
	if take(r, &n, r.d.DecodeMapLen); r.err != nil || n < 0 {
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
	networkFields   = 24
	websocketFields = 13
	actionFields    = 6
	changeFields    = 6
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
			take(r, &e.Duration, r.d.DecodeFloat64)
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
			r.err = r.d.Decode(&e.Element)
		case 2:
			r.word(&e.How)
		case 3:
			r.text(&e.From)
		case 4:
			r.text(&e.URL)
		case 5:
			r.bool(&e.Alert)
		default:
			r.head(&e.Head, i)
		}
	})
}
