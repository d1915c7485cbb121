// Package enginetest drives an engine as a browser and its clients would, for tests. Events go in as the extension's
// JSON, and answers come out of the tools.
package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/protocol"
)

// Page is the origin of a world's first tab.
const Page = "http://localhost:5173"

// World is an engine with one browser and one watched tab: 7 to the browser, 1 to the host.
type World struct {
	t      testing.TB
	Store  *capture.Store
	Engine *engine.Engine
	// Maps are the engine's source maps, nil in a world without any.
	Maps *sourcemap.Cache
	// Now is the current time. It stands still unless a test moves it. A live world does not use it.
	Now     time.Time
	passing sync.Mutex // guards Now: observers read it in their own goroutines
	clock   func() time.Time
	disk    observe.Disk
	decoder *event.Decoder
	stream  string
	sending sync.Mutex // guards next: events also come from timers, between which nothing orders memory
	next    int64
	tabs    []protocol.Tab
	// Look handles a request for a tab's page. Without it no page can be read.
	Look func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error)
	// Do handles actions in a tab, Debugged handles debugging. Without them neither works.
	Do       func(context.Context, protocol.ActParams) (*protocol.ActResult, error)
	Debugged func(ctx context.Context, method string, params, answer any) error
	// Recorded handles a request to record the changes of a workspace's files. Without it there is nothing to record.
	Recorded func(ctx context.Context, root string) error
}

// Sync implements observe.Workspaces.
func (w *World) Sync(ctx context.Context, root string) error {
	if w.Recorded == nil {
		return nil
	}
	return w.Recorded(ctx, root)
}

// Act implements engine.Hands.
func (w *World) Act(ctx context.Context, _ string, params protocol.ActParams, _ time.Duration) (*protocol.ActResult, error) {
	if w.Do == nil {
		return nil, &protocol.Error{Code: protocol.CodeInvalid, Message: "this page cannot be acted on"}
	}
	return w.Do(ctx, params)
}

// Debug implements engine.Debugger.
func (w *World) Debug(ctx context.Context, _, method string, params, answer any, _ time.Duration) error {
	if w.Debugged == nil {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "this page cannot be debugged"}
	}
	return w.Debugged(ctx, method, params, answer)
}

// Aria implements engine.Pages.
func (w *World) Aria(ctx context.Context, _ string, params protocol.AriaParams) (*protocol.AriaResult, error) {
	if w.Look == nil {
		return nil, &protocol.Error{Code: protocol.CodeInvalid, Message: "this page cannot be read"}
	}
	return w.Look(ctx, params)
}

// New creates a world. Zero limits mean the defaults.
func New(t testing.TB, limits capture.Limits) *World {
	t.Helper()
	w := newStanding(t)
	w.begin(limits, nil, nil)
	return w
}

// NewWithMaps creates a world whose engine fetches source maps with fetch. It remembers a failure for a minute.
func NewWithMaps(t testing.TB, fetch sourcemap.Fetch) *World {
	t.Helper()
	w := newStanding(t)
	w.Maps = sourcemap.NewCache(sourcemap.CacheOptions{Fetch: fetch, Bytes: 1 << 20, Retry: time.Minute, Clock: w.clock})
	t.Cleanup(w.Maps.Close)
	w.begin(capture.Limits{}, nil, w.Maps)
	return w
}

// NewKept creates a world with a disk, on which the test stores what the capture store collects.
func NewKept(t testing.TB, limits capture.Limits, disk observe.Disk) *World {
	t.Helper()
	w := newStanding(t)
	w.disk = disk
	w.begin(limits, nil, nil)
	w.Store.Keep()
	return w
}

// NewLive creates a world in real time, for tests in a bubble of package synctest. browsers may be nil.
func NewLive(t testing.TB, browsers observe.Browsers) *World {
	t.Helper()
	w := &World{t: t, clock: time.Now}
	w.begin(capture.Limits{}, browsers, nil)
	return w
}

func (w *World) begin(limits capture.Limits, browsers observe.Browsers, maps *sourcemap.Cache) {
	if limits == (capture.Limits{}) {
		limits = capture.DefaultLimits()
	}
	w.decoder = event.NewDecoder(redact.Default())
	rules := noise.Default()
	w.Store = capture.New(limits, rules, w.clock())
	w.Engine = engine.New(engine.Options{Store: w.Store, Noise: rules, Browsers: browsers, Workspaces: w, Pages: w, Hands: w, Debugger: w, Disk: w.disk, Clock: w.clock, Location: time.UTC, Version: "1.2.3", Originals: observe.Originals{Maps: maps, Clean: w.decoder.Source}})
	w.Restart("s")
	w.Open(7, Page+"/")
}

// Restart makes the browser's extension begin a new stream of events on a new connection.
func (w *World) Restart(stream string) {
	w.stream, w.next = stream, 1
	w.Store.Hello(&protocol.Hello{Protocol: 1, Extension: "1", Browser: "Chromium 156", Instance: "i", Session: "life", Stream: stream, First: 1}, w.clock())
}

// Open opens a watched tab.
func (w *World) Open(id int, url string) {
	w.SetTab(protocol.Tab{ID: id, URL: url, Title: "page", Watched: true, Capture: "debugger", DOM: true})
}

// SetTab adds or replaces a tab.
func (w *World) SetTab(tab protocol.Tab) {
	i := slices.IndexFunc(w.tabs, func(t protocol.Tab) bool { return t.ID == tab.ID })
	if i < 0 {
		i = len(w.tabs)
		w.tabs = append(w.tabs, tab)
	}
	w.tabs[i] = tab
	w.Store.SetTabs("i", w.tabs, w.clock())
}

// CloseTab closes a tab.
func (w *World) CloseTab(id int) {
	w.tabs = slices.DeleteFunc(w.tabs, func(t protocol.Tab) bool { return t.ID == id })
	w.Store.SetTabs("i", w.tabs, w.clock())
}

// Pass advances the time.
func (w *World) Pass(d time.Duration) {
	w.passing.Lock()
	defer w.passing.Unlock()
	w.Now = w.Now.Add(d)
}

// Clock returns the time of the world. Any goroutine may call it, unlike reading Now.
func (w *World) Clock() time.Time { return w.clock() }

// newStanding returns a world in which time stands still, before it has begun.
func newStanding(t testing.TB) *World {
	w := &World{t: t, Now: time.Date(2026, 1, 23, 10, 30, 0, 0, time.UTC)}
	w.clock = w.standing
	return w
}

// standing returns the time of such a world.
func (w *World) standing() time.Time {
	w.passing.Lock()
	defer w.passing.Unlock()
	return w.Now
}

// Send sends an event, given as JSON fields. kind comes from the argument. at defaults to now, tab to 7.
func (w *World) Send(kind, fields string) {
	w.t.Helper()
	w.SendAll([]string{w.Event(kind, fields)})
}

// Event returns the JSON of one event of tab 7 at this moment. fields override these defaults.
func (w *World) Event(kind, fields string) string {
	m := map[string]any{"kind": kind, "at": w.clock().UnixMilli(), "tab": 7}
	if err := json.Unmarshal([]byte("{"+fields+"}"), &m); err != nil {
		w.t.Fatalf("%s: %v", fields, err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// SendAll sends raw events as one batch.
func (w *World) SendAll(raw []string) {
	w.t.Helper()
	events := make([]event.Event, len(raw))
	for i, r := range raw {
		ev, bad := w.decoder.Decode(gjson.Parse(r))
		if bad != nil {
			w.t.Fatalf("%s: %s", r, bad.Message)
		}
		events[i] = ev
	}
	w.sending.Lock()
	defer w.sending.Unlock()
	next, bad := w.Store.Apply("i", w.stream, w.next, events, w.clock())
	if bad != nil {
		w.t.Fatal(bad.Message)
	}
	w.next = next
}

// Log sends a console entry.
func (w *World) Log(level, text string) {
	w.t.Helper()
	w.Send("console", fmt.Sprintf(`"level":%q,"via":"console","text":%q,"url":%q,"line":42`, level, text, Page+"/src/app.js"))
}

// Request sends a request that has ended. A status of 0 is a refused connection.
func (w *World) Request(method, path string, status int, ms float64) {
	w.t.Helper()
	url := path
	if path[0] == '/' {
		url = Page + path
	}
	reason := ""
	if status == 0 {
		reason = "net::ERR_CONNECTION_REFUSED"
	}
	w.Send("network", fmt.Sprintf(`"id":"r%d","method":%q,"url":%q,"resource":"fetch","status":%d,"error":%q,"started":%d,"duration":%g`,
		w.next, method, url, status, reason, w.clock().UnixMilli(), ms))
}

// Socket sends an event of a connection to /live.
func (w *World) Socket(op, text string) {
	w.t.Helper()
	w.Send("websocket", fmt.Sprintf(`"id":"w1","url":"ws://localhost:5173/live","op":%q,"text":%q`, op, text))
}

// Element sends a change of an error element.
func (w *World) Element(op string, id int, selector, text string) {
	w.t.Helper()
	w.Send("element", fmt.Sprintf(`"op":%q,"frame":0,"document":"d1","id":%d,"selector":%q,"text":%q`, op, id, selector, text))
}

// Inspect records what a debugger saw now, in the tab of [Page] unless it is about something else.
func (w *World) Inspect(e event.Inspection) {
	w.t.Helper()
	if e.At = w.clock().UnixMilli(); e.Subject == (event.Subject{}) {
		e.Subject = event.InTab(1, "")
	}
	if err := capture.NewSink(w.Store, "debugger", w.clock).Append(w.t.Context(), &e); err != nil {
		w.t.Fatal(err)
	}
}

// ChangeFile records a change of a file now, in the workspace with a root.
func (w *World) ChangeFile(root string, e event.FileChange) {
	w.t.Helper()
	e.At, e.Subject = w.clock().UnixMilli(), event.InWorkspace(root)
	if err := capture.NewSink(w.Store, capture.Workspaces, w.clock).Append(w.t.Context(), &e); err != nil {
		w.t.Fatal(err)
	}
}

// Agent returns a client that observes everything.
func (w *World) Agent() *checkpoint.Client {
	c, leave := w.Engine.Clients.Join("", "agent", checkpoint.Scope{})
	w.t.Cleanup(leave)
	return c
}

// Scoped returns a client that observes some origins.
func (w *World) Scoped(origins ...string) *checkpoint.Client {
	scope, err := checkpoint.NewScope(origins)
	if err != nil {
		w.t.Fatal(err)
	}
	c, leave := w.Engine.Clients.Join("", "agent", scope)
	w.t.Cleanup(leave)
	return c
}

// Changes calls get_changes_since.
func (w *World) Changes(c *checkpoint.Client, p observe.ChangesParams) *report.Report {
	w.t.Helper()
	r, err := w.Engine.Observer.Changes(context.Background(), c, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// timed is when a request of a report began and how long it took.
var timed = regexp.MustCompile(`,\s*"started_at":\s*"[^"]*"(,\s*"duration_ms":\s*\d+)?`)

// Untimed returns a report's JSON without the times of its requests.
func Untimed(data []byte) string { return string(timed.ReplaceAll(data, nil)) }

// Call calls a tool with JSON arguments and returns its answer as JSON.
func (w *World) Call(c *checkpoint.Client, tool, args string) (string, error) {
	w.t.Helper()
	answer, err := engine.FindTool(tool).Call(context.Background(), w.Engine, c, []byte(args))
	if err != nil {
		return "", err
	}
	data, err := report.Encode(answer)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data), nil
}
