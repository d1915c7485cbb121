// Package link is the daemon's end of a connection to a browser's extension.
//
// Guarantees:
//   - An invalid message is answered with an error and counted as a gap. The connection continues.
//   - An event is acknowledged only after the store has saved it permanently.
//   - Every request to the extension gets an answer, an error or a timeout.
//   - A browser that does not read is disconnected and blocks no other browser.
package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/protocol"
)

// A browser is disconnected when it takes longer than writeTimeout to read a frame, or when maxUnread
// frames wait for it. A browser that says hello waits up to diskTimeout for the disk.
const (
	writeTimeout = 10 * time.Second
	diskTimeout  = 2 * time.Second
	maxUnread    = 256
)

// maxEnvelope is the size of a response without its result, in bytes.
const maxEnvelope = 1 << 10

// RequestHandler answers requests of the extension's own pages. Instance names the browser. An error is shown
// to the user unchanged.
type RequestHandler func(ctx context.Context, instance, method string, params []byte) (any, error)

// Hub holds the connections of all browsers. It is the recorder of browsers. It is safe for concurrent use.
type Hub struct {
	store   *capture.Store
	decoder *event.Decoder
	handle  RequestHandler
	accept  Accept
	disk    func(context.Context) error
	version string
	life    string // names this life of the host
	clock   func() time.Time
	log     *slog.Logger

	mu    sync.Mutex
	conns map[string]*conn // by instance; a reconnected browser replaces its old connection
}

// Accept serves every connection of a browser in its own goroutine until ctx ends, and returns when all have ended.
type Accept func(ctx context.Context, serve func(context.Context, net.Conn) error)

// Options make a hub.
type Options struct {
	Store   *capture.Store
	Decoder *event.Decoder
	Handle  RequestHandler
	// Accept is what [Hub.Run] serves.
	Accept Accept
	// Disk returns when all data so far is on disk, or with an error. Nil for a store that is not saved.
	Disk    func(context.Context) error
	Version string
	Clock   func() time.Time
	Log     *slog.Logger
}

// NewHub makes a hub without connections.
func NewHub(o Options) *Hub {
	return &Hub{store: o.Store, decoder: o.Decoder, handle: o.Handle, accept: o.Accept, disk: o.Disk, version: o.Version, life: strconv.FormatInt(o.Clock().UnixNano(), 36), clock: o.Clock, log: o.Log, conns: map[string]*conn{}}
}

// Name implements [recorder.Recorder].
func (h *Hub) Name() string { return capture.Browsers }

// Run implements [recorder.Recorder]: it records every browser that connects.
func (h *Hub) Run(ctx context.Context, sink recorder.Sink) error {
	h.accept(ctx, func(ctx context.Context, nc net.Conn) error { return h.Serve(ctx, nc, sink) })
	return ctx.Err()
}

// conn is one connection. The first group never changes after hello. mu guards the second group.
type conn struct {
	hub              *Hub
	sink             recorder.Sink
	net              net.Conn
	instance, stream string
	// browser and extension come from hello.
	browser, extension string

	mu      sync.Mutex
	out     chan []byte // messages to write; nil when the connection has ended
	lastID  int64
	waiting map[int64]chan *protocol.Response // nil when the connection has ended
	acked   int64                             // the newest acknowledgement
}

var errEnded = errors.New("the browser's connection ended")

// Serve serves one extension until the connection or ctx ends. The sink takes its events.
func (h *Hub) Serve(ctx context.Context, nc net.Conn, sink recorder.Sink) error {
	out := make(chan []byte, maxUnread)
	c := &conn{hub: h, sink: sink, net: nc, out: out, waiting: map[int64]chan *protocol.Response{}}
	defer func() { _ = nc.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer stop()
	var writing sync.WaitGroup
	writing.Go(func() { c.write(out) })
	defer writing.Wait()
	defer c.hangUp()
	var requests sync.WaitGroup
	defer requests.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	r := wire.NewReader(nc, protocol.MaxToHost)
	defer c.end()
	for {
		frame, err := r.Read()
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if errors.Is(err, wire.ErrTooLarge) {
				c.refuse(event.Errorf(protocol.CodeTooLarge, "%v", err))
			}
			return fmt.Errorf("connection to a browser: %w", err)
		}
		msg, bad := event.DecodeMessage(frame)
		if bad == nil {
			bad = c.take(ctx, msg, &requests, !r.Buffered())
		}
		if bad != nil {
			h.log.Warn("refused a message of the extension", "code", bad.Code, "error", bad.Message)
			if c.instance != "" && bad.Code != protocol.CodeVersion {
				h.store.Miss(c.instance, protocol.GapMalformed, h.clock())
			}
			c.refuse(bad)
			if bad.Code == protocol.CodeVersion {
				return errors.New(bad.Message)
			}
		}
	}
}

type deadlineWriter struct{ net.Conn }

func (w deadlineWriter) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

// end notifies all waiting requests that the connection has ended.
func (c *conn) end() {
	h := c.hub
	h.mu.Lock()
	if h.conns[c.instance] == c {
		delete(h.conns, c.instance)
	}
	h.mu.Unlock()
	c.mu.Lock()
	for _, ch := range c.waiting {
		close(ch)
	}
	c.waiting = nil
	c.mu.Unlock()
	if c.instance != "" {
		h.store.Disconnected(c.instance, h.clock())
	}
}

// send queues a message. It never blocks: a browser that does not read is disconnected.
func (c *conn) send(msg any) error {
	data, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		return errEnded
	}
	select {
	case c.out <- data:
		return nil
	default:
		_ = c.net.Close()
		return fmt.Errorf("the browser left %d messages unread and was disconnected", maxUnread)
	}
}

// hangUp closes the queue. Queued messages are still written.
func (c *conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.out)
	c.out = nil
}

// write writes queued messages. An error closes the connection, which the reader then sees.
func (c *conn) write(out <-chan []byte) {
	w := wire.NewWriter(deadlineWriter{c.net}, 0)
	for data := range out {
		if err := w.Write(data); err != nil {
			c.hub.log.Debug("a browser does not read", "error", err)
			_ = c.net.Close()
		}
	}
}

// refuse reports to the extension that a message was refused.
func (c *conn) refuse(e *protocol.Error) {
	if err := c.send(protocol.ErrorMessage{Type: protocol.TypeError, Error: *e}); err != nil {
		c.hub.log.Debug("cannot send the refusal", "error", err)
	}
}

// take handles one message. ack reports that no further message is waiting, so that this is the time to
// acknowledge.
func (c *conn) take(ctx context.Context, msg any, requests *sync.WaitGroup, ack bool) *protocol.Error {
	h := c.hub
	now := h.clock()
	if _, isHello := msg.(*protocol.Hello); !isHello && c.instance == "" {
		return event.Errorf(protocol.CodeOutOfOrder, "the first message must be hello")
	}
	switch m := msg.(type) {
	case *protocol.Hello:
		if c.instance != "" {
			return event.Errorf(protocol.CodeOutOfOrder, "this connection already has a hello")
		}
		if m.Probe {
			c.post(protocol.Welcome{Type: protocol.TypeWelcome, Protocol: protocol.Version, Host: h.version, Next: 1})
			return nil
		}
		// A caller that learns of the browser from the store can send it requests immediately.
		h.mu.Lock()
		next := h.store.Hello(m, now)
		c.instance, c.stream, c.acked = m.Instance, m.Stream, next
		c.browser, c.extension = m.Browser, m.Extension
		h.conns[c.instance] = c
		h.mu.Unlock()
		h.remember(ctx)
		h.log.Info("a browser connected", "browser", m.Browser, "extension", m.Extension)
		c.post(protocol.Welcome{Type: protocol.TypeWelcome, Protocol: protocol.Version, Host: h.version, Next: next, Run: h.life})
	case *event.Batch:
		return c.events(ctx, m, ack)
	case *protocol.Tabs:
		h.decoder.Mask(m)
		h.store.SetTabs(c.instance, m.Tabs, now)
	case *protocol.Request:
		requests.Go(func() { c.answer(ctx, m) })
	case *protocol.Response:
		c.mu.Lock()
		ch := c.waiting[m.ID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- m // has room for one
		}
	}
	return nil
}

// remember saves a new browser to disk before it sends anything. Otherwise the next daemon would not know the
// browser and could not detect lost events. Disk errors are reported elsewhere.
func (h *Hub) remember(ctx context.Context) {
	if h.disk == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, diskTimeout)
	defer cancel()
	if err := h.disk(ctx); err != nil {
		h.log.Debug("cannot save a browser", "error", err)
	}
}

// post sends a message without a waiting caller. It closes the connection on an error, because the connection
// cannot continue without the message.
func (c *conn) post(msg any) {
	if err := c.send(msg); err != nil {
		c.hub.log.Debug("cannot send a message", "error", err)
		_ = c.net.Close()
	}
}

func (c *conn) events(ctx context.Context, b *event.Batch, ack bool) *protocol.Error {
	events, first := c.hub.decoder.Events(b) // nil events count as missing
	if err := c.sink.AppendStream(ctx, capture.Stream{Instance: c.instance, Name: b.Stream, First: b.First}, events); err != nil {
		var bad *protocol.Error
		errors.As(err, &bad) // else the connection is ending
		return bad
	}
	if first != nil {
		c.hub.log.Warn("cannot read an event", "code", first.Code, "error", first.Message)
		c.refuse(first)
	}
	if ack {
		c.acknowledge(b.First + int64(len(events)))
	}
	return nil
}

// acknowledge tells the extension which events it can discard. It sends an acknowledgement when that is new to
// the extension, or covers everything up to sent.
func (c *conn) acknowledge(sent int64) {
	next := c.hub.store.Acknowledged(c.instance, c.stream)
	c.mu.Lock()
	news := next > c.acked || next >= sent
	c.acked = max(c.acked, next)
	c.mu.Unlock()
	if news {
		c.post(protocol.Ack{Type: protocol.TypeAck, Stream: c.stream, Next: next})
	}
}

// Kept acknowledges events that have been saved to disk.
func (h *Hub) Kept() {
	h.mu.Lock()
	conns := slices.Collect(maps.Values(h.conns))
	h.mu.Unlock()
	for _, c := range conns {
		c.acknowledge(math.MaxInt64)
	}
}

// answer answers a request of the extension.
func (c *conn) answer(ctx context.Context, m *protocol.Request) {
	params, _ := m.Params.([]byte)
	out := protocol.Response{Type: protocol.TypeResponse, ID: m.ID}
	result, err := c.hub.handle(ctx, c.instance, m.Method, params)
	if err != nil {
		var coded *protocol.Error
		if errors.As(err, &coded) {
			out.Error = coded
		} else {
			out.Error = event.Errorf(protocol.CodeInvalid, "%v", err)
		}
	} else {
		data, err := json.Marshal(result)
		switch {
		case err != nil:
			out.Error = event.Errorf(protocol.CodeInvalid, "cannot encode the answer: %v", err)
		case len(data) > protocol.MaxToExtension-maxEnvelope:
			out.Error = event.Errorf(protocol.CodeTooLarge, "the answer has %d bytes, more than the browser accepts. Request less at once.", len(data))
		default:
			out.Result = json.RawMessage(data)
		}
	}
	c.post(out)
}

// ask sends a request to the extension and waits for its answer.
func (c *conn) ask(ctx context.Context, method string, params any) ([]byte, error) {
	ch := make(chan *protocol.Response, 1)
	c.mu.Lock()
	if c.waiting == nil {
		c.mu.Unlock()
		return nil, errEnded
	}
	c.lastID++
	id := c.lastID
	c.waiting[id] = ch
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	if err := c.send(protocol.Request{Type: protocol.TypeRequest, ID: id, Method: method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case m, ok := <-ch:
		switch {
		case !ok:
			return nil, errEnded
		case m.Error != nil:
			return nil, c.hub.decoder.Error(m.Error)
		}
		raw, _ := m.Result.([]byte)
		return raw, nil
	}
}

// Rounds asks every connected extension to deliver its events and respond, and returns the results.
func (h *Hub) Rounds(ctx context.Context, timeout time.Duration) []Round {
	h.mu.Lock()
	conns := slices.Collect(maps.Values(h.conns))
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	rounds := make([]Round, len(conns))
	var asked sync.WaitGroup
	for i, c := range conns {
		asked.Go(func() {
			r := Round{Browser: c.browser, Extension: c.extension}
			began := h.clock()
			raw, err := c.ask(ctx, protocol.MethodSync, protocol.SyncParams{TimeoutMs: int(timeout.Milliseconds() / 2)})
			r.Ms = h.clock().Sub(began).Milliseconds()
			var result protocol.SyncResult
			if err == nil {
				err = json.Unmarshal(raw, &result)
			}
			if err != nil {
				r.Problem = err.Error()
			}
			r.Silent = len(result.NoDOM) + len(result.NoCapture)
			rounds[i] = r
		})
	}
	asked.Wait()
	return rounds
}

// Round is a round trip from the daemon to an extension, its tabs and back.
type Round struct {
	Browser   string `json:"browser"`
	Extension string `json:"extension"`
	// Ms is the duration in milliseconds.
	Ms int64 `json:"ms"`
	// Silent is the number of content scripts and capture sources in its tabs that did not respond.
	Silent int `json:"silent,omitempty"`
	// Problem is the reason for a missing answer.
	Problem string `json:"problem,omitempty"`
}

// Sync implements engine.Browsers.
func (h *Hub) Sync(ctx context.Context, timeout time.Duration) (noDOM, noCapture []int) {
	h.mu.Lock()
	conns := slices.Collect(maps.Values(h.conns))
	h.mu.Unlock()
	// The extension answers at its own time limit. The extra time is for the transport.
	ctx, cancel := context.WithTimeout(ctx, timeout+timeout/4)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, c := range conns {
		asked.Go(func() {
			raw, err := c.ask(ctx, protocol.MethodSync, protocol.SyncParams{TimeoutMs: int(timeout.Milliseconds())})
			var result protocol.SyncResult
			if err == nil {
				err = json.Unmarshal(raw, &result)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				noCapture = append(noCapture, h.store.WatchedTabs(c.instance)...)
				return
			}
			for _, id := range result.NoDOM {
				noDOM = append(noDOM, h.store.HostTab(c.instance, id))
			}
			for _, id := range result.NoCapture {
				noCapture = append(noCapture, h.store.HostTab(c.instance, id))
			}
		})
	}
	asked.Wait()
	return noDOM, noCapture
}
