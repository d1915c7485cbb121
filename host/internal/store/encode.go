package store

import (
	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Entries of tabs are written field by field: the number and the origin of the tab instead of the subject, and the
// list of a struct's fields, in their order. Entries of other subjects are written by reflection.

// entryWriter writes fields; the first error wins, after which nothing more is written.
type entryWriter struct {
	e   *msgpack.Encoder
	err error
}

// encodeEntry writes an entry as [decodeEntries] reads it.
func encodeEntry(e *msgpack.Encoder, value event.Event) error {
	w := entryWriter{e: e}
	switch v := value.(type) {
	case *event.Console:
		w.console(v)
	case *event.Network:
		w.network(v)
	case *event.WebSocket:
		w.websocket(v)
	case *event.Action:
		w.begin(&v.Head, actionFields)
		w.texts(v.Type, v.Target, v.Selector, v.Value)
		w.ints(int64(v.Frame), v.Began)
	case *capture.Change:
		w.begin(&v.Head, changeFields)
		w.texts(v.Op)
		w.put(e.Encode(v.Element))
		w.texts(v.How, v.From, v.URL)
		w.flags(v.Alert)
		w.ints(v.Since)
	default:
		return e.Encode(value)
	}
	return w.err
}

func (w *entryWriter) put(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *entryWriter) ints(list ...int64) {
	for _, n := range list {
		w.put(w.e.EncodeInt(n))
	}
}

func (w *entryWriter) texts(list ...string) {
	for _, s := range list {
		w.put(w.e.EncodeString(s))
	}
}

func (w *entryWriter) flags(list ...bool) {
	for _, b := range list {
		w.put(w.e.EncodeBool(b))
	}
}

// list writes a list of texts, which may be nil.
func (w *entryWriter) list(texts []string) {
	if texts == nil {
		w.put(w.e.EncodeNil())
		return
	}
	w.put(w.e.EncodeArrayLen(len(texts)))
	w.texts(texts...)
}

// headers writes a map, which may be nil.
func (w *entryWriter) headers(h map[string]string) {
	if h == nil {
		w.put(w.e.EncodeNil())
		return
	}
	w.put(w.e.EncodeMapLen(len(h)))
	for name, value := range h {
		w.texts(name, value)
	}
}

// begin writes how many fields there are, and those of the head.
func (w *entryWriter) begin(h *event.Head, fields int) {
	w.put(w.e.EncodeArrayLen(headFields + fields))
	w.ints(h.At, int64(h.Tab()))
	w.texts(h.Origin())
	w.ints(int64(h.Masked))
}

func (w *entryWriter) console(e *event.Console) {
	w.begin(&e.Head, consoleFields)
	w.put(w.e.EncodeUint(uint64(e.Level)))
	w.texts(e.Via, e.Category, e.Text)
	w.ints(int64(e.Length))
	w.texts(e.URL)
	w.ints(int64(e.Line), int64(e.Column))
	w.list(e.Stack)
	w.texts(e.Request, e.Target)
	w.flags(e.Joined)
	w.texts(e.Logged)
	w.flags(e.Left)
}

func (w *entryWriter) network(e *event.Network) {
	w.begin(&e.Head, networkFields)
	w.texts(e.ID, e.Method, e.URL, e.Resource)
	w.ints(int64(e.Status))
	w.texts(e.Error)
	w.flags(e.Canceled, e.Cached, e.Stream, e.Backfilled)
	w.ints(e.Started)
	w.put(w.e.EncodeFloat64(e.Duration))
	w.texts(e.Mime)
	w.ints(e.Size)
	w.headers(e.RequestHeaders)
	w.headers(e.ResponseHeaders)
	w.texts(e.RequestBody, e.ResponseBody, e.BodyNote, e.Target)
	w.list(e.Stack)
	w.texts(e.Operation)
	w.flags(e.Refused)
	w.texts(e.Detail)
	w.ints(int64(e.Order))
}

func (w *entryWriter) websocket(e *event.WebSocket) {
	w.begin(&e.Head, websocketFields)
	w.texts(e.ID, e.URL, e.Op, e.Text)
	w.ints(int64(e.Size))
	w.flags(e.Binary)
	w.ints(int64(e.Code))
	w.texts(e.Reason)
	w.flags(e.Leaving, e.Joined, e.Bad)
	w.ints(int64(e.Status))
	w.list(e.Stack)
}
