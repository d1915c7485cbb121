// Package enginetest drives an engine as a browser and its clients would, for tests. Events go in as the extension's
// JSON, and answers come out of the tools.
package enginetest

import (
	"context"
	"regexp"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/testing/capturetest"
	"tidemark.dev/tidemark/protocol"
)

// Page is the origin of a world's first tab.
const Page = capturetest.Page

// World is an engine with one browser and one watched tab: 7 to the browser, 1 to the host.
type World struct {
	*capturetest.Browser
	t      testing.TB
	Engine *engine.Engine
	// Maps are the engine's source maps, nil in a world without any.
	Maps *sourcemap.Cache
	disk observe.Disk
	// Look handles a request for a tab's page. Without it no page can be read.
	Look func(context.Context, protocol.AriaParams) (*protocol.AriaResult, error)
	// Do handles actions in a tab, Debugged handles debugging. Without them neither works.
	Do       func(context.Context, protocol.ActParams) (*protocol.ActResult, error)
	Debugged func(ctx context.Context, method string, params, answer any) error
	// Recorded handles a request to record the changes of a workspace's files. Without it there is nothing to record.
	Recorded func(ctx context.Context, root string) error
}

// Sync implements observe.Workspaces.
func (w *World) Sync(ctx context.Context, root string) (bool, error) {
	if w.Recorded == nil {
		return true, nil
	}
	return true, w.Recorded(ctx, root)
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
	w := &World{Browser: capturetest.New(t, limits), t: t}
	w.begin(nil)
	return w
}

// NewWithMaps creates a world whose engine fetches source maps with fetch. It remembers a failure for a minute.
func NewWithMaps(t testing.TB, fetch sourcemap.Fetch) *World {
	t.Helper()
	w := &World{Browser: capturetest.New(t, capture.Limits{}), t: t}
	w.Maps = sourcemap.NewCache(sourcemap.CacheOptions{Fetch: fetch, Bytes: 1 << 20, Retry: time.Minute, Clock: w.Clock})
	t.Cleanup(w.Maps.Close)
	w.begin(nil)
	return w
}

// NewKept creates a world with a disk, on which the test stores what the capture store collects.
func NewKept(t testing.TB, limits capture.Limits, disk observe.Disk) *World {
	t.Helper()
	w := &World{Browser: capturetest.New(t, limits), t: t, disk: disk}
	w.begin(nil)
	w.Store.Keep()
	return w
}

// NewLive creates a world in real time, for tests in a bubble of package synctest. browsers may be nil.
func NewLive(t testing.TB, browsers observe.Browsers) *World {
	t.Helper()
	w := &World{Browser: capturetest.NewLive(t), t: t}
	w.begin(browsers)
	return w
}

func (w *World) begin(browsers observe.Browsers) {
	w.Engine = engine.New(engine.Options{Store: w.Store, Noise: w.Noise, Browsers: browsers, Workspaces: w, Pages: w, Hands: w, Debugger: w, Disk: w.disk, Clock: w.Clock, Location: time.UTC, Version: "1.2.3", Originals: observe.Originals{Maps: w.Maps, Clean: w.Decoder.Source}})
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
