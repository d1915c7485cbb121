package event

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/protocol"
)

// Limits of the texts of one event, in bytes. Longer text is cut between characters.
const (
	MaxText   = 8 << 10
	MaxFrame  = 4 << 10
	MaxBody   = 64 << 10
	MaxURL    = 4 << 10
	MaxSource = 200
	MaxShort  = 1 << 10
	MaxStack  = 10
	MaxHeader = 4 << 10
)

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

// DecodeMessage reads one message of the extension: *[protocol.Hello], *[Batch], *[protocol.Tabs],
// *[protocol.Request] (Params as json.RawMessage) or *[protocol.Response] (Result likewise).
func DecodeMessage(data []byte) (any, *protocol.Error) {
	if len(data) > protocol.MaxToHost {
		return nil, Errorf(protocol.CodeTooLarge, "a message of %d bytes exceeds the limit of %d", len(data), protocol.MaxToHost)
	}
	if !gjson.ValidBytes(data) {
		return nil, Errorf(protocol.CodeMalformed, "the message is not JSON")
	}
	msg := gjson.ParseBytes(data)
	if !msg.IsObject() {
		return nil, Errorf(protocol.CodeMalformed, "the message is not a JSON object")
	}
	f := fields{obj: msg}
	switch kind := f.text("type", true); kind {
	case protocol.TypeHello:
		return f.hello()
	case protocol.TypeEvents:
		b := &Batch{Stream: f.text("stream", true), First: f.integer("first", 1, true)}
		list := f.array("events")
		if f.err != nil {
			return nil, f.err
		}
		b.Events = list
		return b, nil
	case protocol.TypeTabs:
		return f.tabs()
	case protocol.TypeRequest:
		r := &protocol.Request{Type: kind, ID: f.integer("id", 1, true), Method: f.text("method", true), Params: []byte(msg.Get("params").Raw)}
		return r, f.err
	case protocol.TypeResponse:
		r := &protocol.Response{Type: kind, ID: f.integer("id", 1, true), Result: []byte(msg.Get("result").Raw)}
		if e := msg.Get("error"); e.IsObject() {
			r.Error = &protocol.Error{Code: e.Get("code").String(), Message: OneLine(e.Get("message").String())}
		}
		return r, f.err
	case "":
		return nil, f.err
	default:
		return nil, Errorf(protocol.CodeUnknown, "unknown message type %q", cut(kind, 60))
	}
}

func (f *fields) hello() (any, *protocol.Error) {
	h := &protocol.Hello{
		Type: protocol.TypeHello, Protocol: int(f.integer("protocol", 1, true)), Extension: f.text("extension", true),
		Browser: f.text("browser", true), Instance: f.text("instance", true), Session: f.text("session", false), Stream: f.text("stream", true), First: f.integer("first", 1, true),
		Probe: f.flag("probe"),
	}
	if f.err != nil {
		return nil, f.err
	}
	if h.Protocol != protocol.Version {
		return nil, Errorf(protocol.CodeVersion, "the extension uses protocol %d and this program %d; update the older one (extension %s)", h.Protocol, protocol.Version, h.Extension)
	}
	h.Browser, h.Extension = cut(OneLine(h.Browser), MaxShort), cut(OneLine(h.Extension), MaxShort)
	return h, nil
}

func (f *fields) tabs() (any, *protocol.Error) {
	tabs := &protocol.Tabs{Type: protocol.TypeTabs}
	for _, t := range f.array("tabs") {
		tf := fields{obj: t}
		tabs.Tabs = append(tabs.Tabs, protocol.Tab{
			ID: int(tf.integer("id", 0, true)), URL: tf.text("url", false), Title: tf.text("title", false), Watched: tf.flag("watched"),
			Capture: tf.text("capture", false), DOM: tf.flag("dom"), Active: tf.flag("active"), Note: tf.text("note", false),
			Paused: tf.paused("paused"), PausedPart: tf.paused("paused_part"),
		})
		if tf.err != nil {
			return nil, tf.err
		}
	}
	return tabs, f.err
}

// paused reads what pauses a tab or a part of it, nil for nothing.
func (f *fields) paused(name string) *protocol.TabPaused {
	v := f.obj.Get(name)
	if !v.Exists() {
		return nil
	}
	if !v.IsObject() {
		f.fail(name, "an object")
		return nil
	}
	pf := fields{obj: v}
	p := &protocol.TabPaused{By: pf.text("by", false), Reason: pf.text("reason", true), At: pf.integer("at", 1, true), Place: pf.text("place", false), Kind: pf.text("kind", false)}
	if pf.err != nil {
		f.err = pf.err
	}
	return p
}

// fields reads typed fields of an object and keeps the first error.
type fields struct {
	obj gjson.Result
	err *protocol.Error
}

func (f *fields) fail(name, want string) {
	if f.err == nil {
		f.err = Errorf(protocol.CodeMalformed, "%s must be %s", name, want)
	}
}

func (f *fields) text(name string, needed bool) string {
	v := f.obj.Get(name)
	if v.Type == gjson.String && (v.Str != "" || !needed) {
		return v.Str
	}
	if needed || v.Exists() && v.Type != gjson.Null && v.Type != gjson.String {
		f.fail(name, "a string")
	}
	return ""
}

func (f *fields) integer(name string, least int64, needed bool) int64 {
	v := f.obj.Get(name)
	if !v.Exists() && !needed {
		return 0
	}
	n, ok := whole(v)
	if !ok || n < least {
		f.fail(name, fmt.Sprintf("a whole number from %d", least))
	}
	return n
}

func (f *fields) flag(name string) bool {
	v := f.obj.Get(name)
	if v.Exists() && !v.IsBool() {
		f.fail(name, "true or false")
	}
	return v.Type == gjson.True
}

func (f *fields) array(name string) []gjson.Result {
	v := f.obj.Get(name)
	if !v.IsArray() {
		f.fail(name, "a list")
		return nil
	}
	list := make([]gjson.Result, 0, len(v.Raw)/usualEvent)
	v.ForEach(func(_, value gjson.Result) bool {
		list = append(list, value)
		return true
	})
	return list
}

// usualEvent is about the least that an event takes, in bytes.
const usualEvent = 128

func whole(v gjson.Result) (int64, bool) {
	if v.Type != gjson.Number || v.Num != math.Trunc(v.Num) || math.Abs(v.Num) > 1<<53 {
		return 0, false
	}
	return int64(v.Num), true
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
		url, _ := d.redact.URL(cut(OneLine(t.URL), 2*MaxURL))
		title, _ := d.redact.Text(cut(OneLine(t.Title), 2*MaxShort))
		t.URL, t.Title, t.Note = cut(url, MaxURL), cut(title, MaxShort), cut(OneLine(t.Note), MaxShort)
		for _, p := range []*protocol.TabPaused{t.Paused, t.PausedPart} {
			if p == nil {
				continue
			}
			place, _ := d.redact.Text(cut(OneLine(p.Place), MaxShort))
			p.Place, p.By, p.Reason, p.Kind = place, cut(OneLine(p.By), MaxShort), cut(OneLine(p.Reason), MaxShort), cut(OneLine(p.Kind), MaxShort)
		}
	}
}

// Source cleans and masks the name of a source file, which is as untrusted as any page text. The result is one line. A
// long name keeps its end, which identifies the file.
func (d *Decoder) Source(name string) string {
	s, _ := d.redact.URL(Tail(OneLine(name), 2*MaxURL)) // masked before it is cut: half a secret is not recognized
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
	var ev Event
	switch kind {
	case protocol.KindConsole:
		ev = r.console(raw)
	case protocol.KindRequest:
		ev = r.request(raw)
	case protocol.KindNetwork:
		ev = r.network(raw)
	case protocol.KindWebSocket:
		ev = r.websocket(raw)
	case protocol.KindAction:
		ev = r.action(raw)
	case protocol.KindElement:
		ev = r.element(raw)
	case protocol.KindNavigation:
		ev = r.navigation(raw)
	case protocol.KindGap:
		ev = r.gap(raw)
	default:
		return nil, Errorf(protocol.CodeUnknown, "unknown event kind %q", cut(kind, 60))
	}
	if r.head.At <= 0 {
		r.fail("at", "milliseconds since 1970")
	}
	if r.head.Tab() < 0 {
		r.fail("tab", "a whole number from 0")
	}
	if r.err != nil {
		r.err.Message = kind + " event: " + r.err.Message
		return nil, r.err
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

// reader reads the fields of one event in one pass; the first error wins.
type reader struct {
	redact *redact.Redactor
	known  addresses
	head   Head
	masked int
	err    *protocol.Error
}

func (r *reader) fail(name, want string) {
	if r.err == nil {
		r.err = Errorf(protocol.CodeMalformed, "%s must be %s", name, want)
	}
}

// each walks the fields; the head's own are taken here.
func (r *reader) each(obj gjson.Result, field func(name string, v gjson.Result)) {
	obj.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "kind":
		case "at":
			r.head.At = r.int(k.Str, v)
		case "tab":
			if v.Type != gjson.Number {
				r.head.Number = -1
			} else {
				r.head.Number = int(r.int(k.Str, v))
			}
		case "masked":
			r.head.Masked = int(r.count(k.Str, v))
		default:
			field(k.Str, v)
		}
		return r.err == nil
	})
}

func (r *reader) int(name string, v gjson.Result) int64 {
	n, ok := whole(v)
	if !ok {
		r.fail(name, "a whole number")
	}
	return n
}

func (r *reader) count(name string, v gjson.Result) int64 {
	n := r.int(name, v)
	if n < 0 {
		r.fail(name, "a whole number from 0")
	}
	return n
}

func (r *reader) flag(name string, v gjson.Result) bool {
	if !v.IsBool() {
		r.fail(name, "true or false")
	}
	return v.Type == gjson.True
}

func (r *reader) number(name string, v gjson.Result) float64 {
	if v.Type != gjson.Number || math.IsNaN(v.Num) || math.IsInf(v.Num, 0) || v.Num < 0 {
		r.fail(name, "a number from 0")
	}
	return v.Num
}

// plain is a string that is no page text: ids, methods, types.
func (r *reader) plain(name string, v gjson.Result) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
		return ""
	}
	return own(v, cut(OneLine(v.Str), MaxShort))
}

// common are words that many events hold.
var common = func() map[string]string {
	words := map[string]string{}
	for _, w := range []string{
		"console", "exception", "rejection", "browser", "network", "security", "javascript", "deprecation", "intervention", "worker", "iframe", "service_worker", "other",
		"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "document", "stylesheet", "script", "image", "font", "media", "fetch", "xhr", "ping", "preflight", "eventsource", "manifest",
		"open", "sent", "received", "close", "error", "click", "type", "select", "submit", "key", "appeared", "changed", "gone", "reset",
		"application/json", "text/html", "text/css", "text/javascript", "text/plain", "image/png", "image/svg+xml",
		"content-type", "content-length", "cache-control", "date", "etag", "vary", "connection", "keep-alive", "accept", "user-agent", "referer", "Content-Type", "Content-Length", "Cache-Control", "Date", "Accept", "User-Agent", "Referer",
	} {
		words[w] = w
	}
	return words
}()

// own is a string of an event that holds on to nothing else: as a part of the whole message it would keep
// that in memory for as long as the longest-lived of its events. (gjson makes a string anew only where it
// has to take escapes out.)
func own(v gjson.Result, s string) string {
	if len(s) <= 20 {
		if w, ok := common[s]; ok {
			return w
		}
	}
	if len(s) == len(v.Str) && strings.IndexByte(v.Raw, '\\') >= 0 {
		return s
	}
	return strings.Clone(s)
}

func (r *reader) text(name string, v gjson.Result, limit int) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
		return ""
	}
	s, n := r.redact.Text(cut(Clean(v.Str), 2*limit)) // masked before it is cut: half a secret is not recognized
	r.masked += n
	return own(v, cut(s, limit))
}

// line is text of one line, whatever a page sends.
func (r *reader) line(name string, v gjson.Result, limit int) string {
	return OneLine(r.text(name, v, limit))
}

func (r *reader) url(name string, v gjson.Result) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
		return ""
	}
	a, ok := r.known[v.Str]
	if !ok {
		s, n := r.redact.URL(cut(OneLine(v.Str), 2*MaxURL)) // masked before it is cut: half a secret is not recognized
		a = address{own(v, cut(s, MaxURL)), n}
		r.known[v.Str] = a
	}
	r.masked += a.masked
	return a.url
}

func (r *reader) body(name string, v gjson.Result) string {
	if v.Type != gjson.String {
		r.fail(name, "a string")
		return ""
	}
	s, n := r.redact.Body(cut(Clean(v.Str), 2*MaxBody)) // masked before it is cut: half a secret is not recognized
	r.masked += n
	return own(v, cut(s, MaxBody))
}

func (r *reader) headers(name string, v gjson.Result) map[string]string {
	if !v.IsObject() {
		r.fail(name, "an object")
		return nil
	}
	h := make(map[string]string)
	size := 0
	v.ForEach(func(k, hv gjson.Result) bool {
		s := cut(Clean(hv.String()), MaxHeader)
		if size += len(k.Str) + len(s); size <= 4*MaxHeader {
			h[own(k, cut(OneLine(k.Str), MaxShort))] = own(hv, s)
		}
		return true
	})
	r.masked += r.redact.Headers(h)
	return h
}

func oneOf(r *reader, name, v string, allowed ...string) string {
	for _, a := range allowed {
		if v == a {
			return v
		}
	}
	r.fail(name, fmt.Sprintf("one of %q", allowed))
	return v
}
