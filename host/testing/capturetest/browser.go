// Package capturetest feeds a store as a browser would, for tests. Events go in as the extension's JSON.
package capturetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/protocol"
)

// Page is the origin of a world's first tab.
const Page = "http://localhost:5173"

// Browser is a browser with one watched tab: 7 to the browser, 1 to the host.
type Browser struct {
	t     testing.TB
	Store *capture.Store
	// Noise is the rules of the store.
	Noise *noise.Rules
	// Decoder reads what the browser sends.
	Decoder *event.Decoder
	// Now is the current time. It stands still unless a test moves it. A live browser does not use it.
	Now     time.Time
	passing sync.Mutex // guards Now: observers read it in their own goroutines
	clock   func() time.Time
	stream  string
	sending sync.Mutex // guards next: events also come from timers, between which nothing orders memory
	next    int64
	tabs    []protocol.Tab
}

// New creates a browser and its store. Zero limits mean the defaults.
func New(t testing.TB, limits capture.Limits) *Browser {
	b := &Browser{t: t, Now: time.Date(2026, 1, 23, 10, 30, 0, 0, time.UTC)}
	b.clock = b.standing
	b.begin(limits)
	return b
}

// NewLive creates a browser in real time, for tests in a bubble of package synctest.
func NewLive(t testing.TB) *Browser {
	b := &Browser{t: t, clock: time.Now}
	b.begin(capture.Limits{})
	return b
}

func (b *Browser) begin(limits capture.Limits) {
	if limits == (capture.Limits{}) {
		limits = capture.DefaultLimits()
	}
	b.Decoder, b.Noise = event.NewDecoder(redact.Default()), noise.Default()
	b.Store = capture.New(limits, b.Noise, b.clock())
	b.Restart("s")
	b.Open(7, Page+"/")
}

// Restart makes the browser's extension begin a new stream of events on a new connection.
func (b *Browser) Restart(stream string) {
	b.stream, b.next = stream, 1
	b.Store.Hello(&protocol.Hello{Protocol: 1, Extension: "1", Browser: "Chromium 156", Instance: "i", Session: "life", Stream: stream, First: 1}, b.clock())
}

// Open opens a watched tab.
func (b *Browser) Open(id int, url string) {
	b.SetTab(protocol.Tab{ID: id, URL: url, Title: "page", Watched: true, Capture: "debugger", DOM: true})
}

// SetTab adds or replaces a tab.
func (b *Browser) SetTab(tab protocol.Tab) {
	i := slices.IndexFunc(b.tabs, func(t protocol.Tab) bool { return t.ID == tab.ID })
	if i < 0 {
		i = len(b.tabs)
		b.tabs = append(b.tabs, tab)
	}
	b.tabs[i] = tab
	b.Store.SetTabs("i", b.tabs, b.clock())
}

// CloseTab closes a tab.
func (b *Browser) CloseTab(id int) {
	b.tabs = slices.DeleteFunc(b.tabs, func(t protocol.Tab) bool { return t.ID == id })
	b.Store.SetTabs("i", b.tabs, b.clock())
}

// Pass advances the time.
func (b *Browser) Pass(d time.Duration) {
	b.passing.Lock()
	defer b.passing.Unlock()
	b.Now = b.Now.Add(d)
}

// Clock returns the time of the browser. Any goroutine may call it, unlike reading Now.
func (b *Browser) Clock() time.Time { return b.clock() }

// standing returns the time of a browser in which time stands still.
func (b *Browser) standing() time.Time {
	b.passing.Lock()
	defer b.passing.Unlock()
	return b.Now
}

// Send sends an event, given as JSON fields. kind comes from the argument. at defaults to now, tab to 7.
func (b *Browser) Send(kind, fields string) {
	b.t.Helper()
	b.SendAll([]string{b.Event(kind, fields)})
}

// Event returns the JSON of one event of tab 7 at this moment. fields override these defaults.
func (b *Browser) Event(kind, fields string) string {
	m := map[string]any{"kind": kind, "at": b.clock().UnixMilli(), "tab": 7}
	if err := json.Unmarshal([]byte("{"+fields+"}"), &m); err != nil {
		b.t.Fatalf("%s: %v", fields, err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// SendAll sends raw events as one batch.
func (b *Browser) SendAll(raw []string) {
	b.t.Helper()
	events := make([]event.Event, len(raw))
	for i, r := range raw {
		ev, bad := b.Decoder.Decode(gjson.Parse(r))
		if bad != nil {
			b.t.Fatalf("%s: %s", r, bad.Message)
		}
		events[i] = ev
	}
	b.sending.Lock()
	defer b.sending.Unlock()
	next, bad := b.Store.Apply("i", b.stream, b.next, events, b.clock())
	if bad != nil {
		b.t.Fatal(bad.Message)
	}
	b.next = next
}

// Log sends a console entry.
func (b *Browser) Log(level, text string) {
	b.t.Helper()
	b.Send("console", fmt.Sprintf(`"level":%q,"via":"console","text":%q,"url":%q,"line":42`, level, text, Page+"/src/app.js"))
}

// Request sends a request that has ended. A status of 0 is a refused connection.
func (b *Browser) Request(method, path string, status int, ms float64) {
	b.t.Helper()
	url := path
	if path[0] == '/' {
		url = Page + path
	}
	reason := ""
	if status == 0 {
		reason = "net::ERR_CONNECTION_REFUSED"
	}
	b.Send("network", fmt.Sprintf(`"id":"r%d","method":%q,"url":%q,"resource":"fetch","status":%d,"error":%q,"started":%d,"duration":%g`,
		b.next, method, url, status, reason, b.clock().UnixMilli(), ms))
}

// Socket sends an event of a connection to /live.
func (b *Browser) Socket(op, text string) {
	b.t.Helper()
	b.Send("websocket", fmt.Sprintf(`"id":"w1","url":"ws://localhost:5173/live","op":%q,"text":%q`, op, text))
}

// Element sends a change of an error element.
func (b *Browser) Element(op string, id int, selector, text string) {
	b.t.Helper()
	b.Send("element", fmt.Sprintf(`"op":%q,"frame":0,"document":"d1","id":%d,"selector":%q,"text":%q`, op, id, selector, text))
}

// Inspect records what a debugger saw now, in the tab of [Page] unless it is about something else.
func (b *Browser) Inspect(e event.Inspection) {
	b.t.Helper()
	if e.At = b.clock().UnixMilli(); e.Subject == (event.Subject{}) {
		e.Subject = event.InTab(1, "")
	}
	if err := capture.NewSink(b.Store, "debugger", b.clock).Append(b.t.Context(), &e); err != nil {
		b.t.Fatal(err)
	}
}

// ChangeFile records a change of a file now, in the workspace with a root.
func (b *Browser) ChangeFile(root string, e event.FileChange) {
	b.t.Helper()
	e.At, e.Subject = b.clock().UnixMilli(), event.InWorkspace(root)
	if err := capture.NewSink(b.Store, capture.Workspaces, b.clock).Append(b.t.Context(), &e); err != nil {
		b.t.Fatal(err)
	}
}
