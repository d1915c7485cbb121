package event

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/jsondepth"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/protocol"
)

// MaxSource bounds the name of a source file, in bytes.
const MaxSource = 200

// Batch is an events message whose events are still raw.
type Batch struct {
	Stream string
	First  int64
	Events []gjson.Result
}

// Errorf returns a wire error.
func Errorf(code, format string, args ...any) *protocol.Error {
	return &protocol.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// deep is the size of messages, in bytes, that could be nested so deep that reading them exhausts the stack.
const deep = 1 << 20

// DecodeMessage reads one message of the extension: *[protocol.Hello], *[Batch], *[protocol.Tabs],
// *[protocol.Request] (Params as []byte) or *[protocol.Response] (Result likewise).
func DecodeMessage(data []byte) (any, *protocol.Error) {
	if len(data) > protocol.MaxToHost {
		return nil, Errorf(protocol.CodeTooLarge, "a message of %d bytes exceeds the limit of %d", len(data), protocol.MaxToHost)
	}
	if len(data) > deep && jsondepth.Exceeds(data, jsondepth.Most) {
		return nil, Errorf(protocol.CodeMalformed, "the message is nested too deep")
	}
	if !gjson.ValidBytes(data) {
		return nil, Errorf(protocol.CodeMalformed, "the message is not JSON")
	}
	obj := gjson.ParseBytes(data)
	if !obj.IsObject() {
		return nil, Errorf(protocol.CodeMalformed, "the message is not a JSON object")
	}
	kind := obj.Get("type")
	if kind.Type != gjson.String || kind.Str == "" {
		return nil, Errorf(protocol.CodeMalformed, "type must be a string")
	}
	r := reader{}
	msg := r.message(kind.Str, obj)
	switch {
	case msg == nil:
		return nil, Errorf(protocol.CodeUnknown, "unknown message type %q", cut(kind.Str, 60))
	case r.err != nil:
		return nil, r.err
	}
	if m, ok := msg.(*protocol.Hello); ok {
		if m.Protocol != protocol.Version {
			return nil, Errorf(protocol.CodeVersion, "the extension uses protocol %d and this program %d; update the older one (extension %s)", m.Protocol, protocol.Version, m.Extension)
		}
		m.Browser, m.Extension = cut(OneLine(m.Browser), protocol.MaxShort), cut(OneLine(m.Extension), protocol.MaxShort)
	}
	return msg, nil
}

// Decoder turns raw events into events. It is safe for concurrent use.
type Decoder struct {
	redact *redact.Redactor
}

// NewDecoder returns a decoder that masks by the rules of r.
func NewDecoder(r *redact.Redactor) *Decoder { return &Decoder{redact: r} }

// Mask cleans and masks the texts of tabs like those of events.
func (d *Decoder) Mask(tabs *protocol.Tabs) {
	for i := range tabs.Tabs {
		t := &tabs.Tabs[i]
		url, _ := d.redact.URL(cut(OneLine(t.URL), 2*protocol.MaxURL))
		title, _ := d.redact.Text(cut(OneLine(t.Title), 2*protocol.MaxShort))
		t.URL, t.Title, t.Note = cut(url, protocol.MaxURL), cut(title, protocol.MaxShort), cut(OneLine(t.Note), protocol.MaxShort)
		for _, p := range []*protocol.TabPaused{t.Paused, t.PausedPart} {
			if p == nil {
				continue
			}
			place, _ := d.redact.Text(cut(OneLine(endFunction(p.Place)), protocol.MaxShort))
			if place != "" {
				place = FrameLine(place)
			}
			p.Place, p.By, p.Reason, p.Kind = place, cut(OneLine(p.By), protocol.MaxShort), cut(OneLine(p.Reason), protocol.MaxShort), cut(OneLine(p.Kind), protocol.MaxShort)
		}
	}
}

// Error cleans and masks an error of the extension, which may quote the page. Its message is one line.
func (d *Decoder) Error(e *protocol.Error) *protocol.Error {
	message, _ := d.redact.Text(OneLine(e.Message))
	return &protocol.Error{Code: e.Code, Message: message}
}

// Source cleans and masks the name of a source file, which is as untrusted as any page text. The result is one line. A
// long name keeps its end, which identifies the file.
func (d *Decoder) Source(name string) string {
	s, _ := d.redact.URL(Tail(OneLine(name), 2*protocol.MaxURL)) // masked before it is cut: half a secret is not recognized
	return Tail(s, MaxSource)
}

// Decode reads one event of a [Batch]. The event is one of the pointer types of this package.
func (d *Decoder) Decode(raw gjson.Result) (Event, *protocol.Error) {
	return d.decode(raw, addresses{})
}

// minShare is how many events are worth a goroutine of their own.
const minShare = 32

// Events reads all events of a batch, on several processors if possible. An event that cannot be read is nil, and the
// error is the first such error.
func (d *Decoder) Events(b *Batch) ([]Event, *protocol.Error) {
	events := make([]Event, len(b.Events))
	size := max(minShare, (len(events)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	errs := make([]*protocol.Error, (len(events)+size-1)/size)
	var all sync.WaitGroup
	for share := range errs {
		read := func() {
			known := addresses{}
			for i := share * size; i < min(len(events), (share+1)*size); i++ {
				ev, err := d.decode(b.Events[i], known)
				if err == nil {
					events[i] = ev
				} else if errs[share] == nil {
					errs[share] = err
				}
			}
		}
		if share == len(errs)-1 {
			read()
		} else {
			all.Go(read)
		}
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return events, err
		}
	}
	return events, nil
}

// addresses are those that were read before, as they came: neighbouring events come from the same scripts and
// go to the same sockets.
type addresses map[string]address

type address struct {
	url    string
	masked int
}

func (d *Decoder) decode(raw gjson.Result, known addresses) (Event, *protocol.Error) {
	if !raw.IsObject() {
		return nil, Errorf(protocol.CodeMalformed, "an event is not a JSON object")
	}
	r := reader{redact: d.redact, known: known}
	kind := kindOf(raw)
	if kind == "" {
		return nil, Errorf(protocol.CodeMalformed, "kind must be a string")
	}
	ev := r.event(kind, raw)
	if ev == nil {
		return nil, Errorf(protocol.CodeUnknown, "unknown event kind %q", cut(kind, 60))
	}
	if r.err != nil {
		r.err.Message = kind + " event: " + r.err.Message
		return nil, r.err
	}
	switch e := ev.(type) {
	case *Console:
		if e.Length == 0 {
			e.Length = r.uncut
		}
		if _, ok := FailedSocket(e); ok { // Chromium ends it in a colon where it gives no reason
			e.Text = strings.TrimRight(e.Text, ": ")
		}
	case *Request:
		e.interpret(d.redact)
	case *Network:
		e.interpret(d.redact)
	case *WebSocket:
		e.Bad = e.Op == "error" || e.IsFrame() && (saysError(e.Text) || refusesConnection(e))
	}
	r.head.Masked += r.masked
	*ev.Header() = r.head
	return ev, nil
}

// kindOf is an event's kind, "" for none. Extensions write it first.
func kindOf(raw gjson.Result) string {
	if rest, first := strings.CutPrefix(raw.Raw, `{"kind":"`); first {
		if kind, _, ok := strings.Cut(rest, `"`); ok && strings.IndexByte(kind, '\\') < 0 {
			return kind
		}
	}
	if kind := raw.Get("kind"); kind.Type == gjson.String {
		return kind.Str
	}
	return ""
}

// saysError reports whether a frame is JSON with a truthy "error" or a "type" of "error".
func saysError(s string) bool {
	if !strings.HasPrefix(s, "{") || !strings.Contains(s, `error`) {
		return false
	}
	if gjson.Get(s, "type").Str == "error" {
		return true
	}
	switch v := gjson.Get(s, "error"); v.Type {
	case gjson.True, gjson.JSON:
		return true
	case gjson.String:
		return v.Str != ""
	case gjson.Number:
		return v.Num != 0
	default:
		return false
	}
}
