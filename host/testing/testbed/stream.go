package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/wire"
	"tidemark.dev/tidemark/protocol"
)

// Stream is the extension's side of the wire, over the real relay. Like the real one, it numbers events, keeps them
// until they are acknowledged, and resends them after a reconnect. It is for tests that must know every number.
type Stream struct {
	w     *World
	hello protocol.Hello
	tabs  []protocol.Tab

	relay   *exec.Cmd
	out     *wire.Writer
	in      io.WriteCloser
	reading sync.WaitGroup

	mu      sync.Mutex
	held    []protocol.Event // not acknowledged; the first has number base
	base    int64
	sent    int // how many of held were sent on this connection
	broken  bool
	welcome chan struct{} // closed when the host has answered hello
	acked   chan struct{} // closed and replaced at every acknowledgement
	errs    []protocol.Error
}

// NewStream creates an unconnected stream for one profile in one run of its browser.
func (w *World) NewStream(instance, session, stream string) *Stream {
	return &Stream{
		w: w, base: 1, acked: make(chan struct{}), broken: true,
		hello: protocol.Hello{
			Type: protocol.TypeHello, Protocol: protocol.Version, Extension: "1", Browser: "Test 1", Instance: instance, Session: session, Stream: stream,
		},
		tabs: []protocol.Tab{{ID: 7, URL: "http://localhost:5173/", Title: "page", Watched: true, Capture: "debugger", DOM: true, Active: true}},
	}
}

// Connect starts a relay and sends hello. It returns when the host has responded.
func (s *Stream) Connect() error {
	cmd := s.w.Command("chrome-extension://" + protocol.ExtensionID + "/")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.mu.Lock()
	s.relay, s.in, s.out, s.broken, s.sent, s.welcome = cmd, in, wire.NewWriter(in, protocol.MaxToHost), false, 0, make(chan struct{})
	hello := s.hello
	hello.First = s.base
	welcome := s.welcome
	s.mu.Unlock()
	ended := make(chan struct{})
	s.reading.Go(func() {
		defer close(ended)
		s.read(wire.NewReader(out, protocol.MaxToExtension))
		_ = cmd.Wait()
	})
	if err := s.write(hello); err != nil {
		return err
	}
	select {
	case <-welcome:
	case <-ended:
		return io.ErrUnexpectedEOF
	case <-time.After(Patience):
		return fmt.Errorf("no welcome within %s", Patience)
	}
	if err := s.write(protocol.Tabs{Type: protocol.TypeTabs, Tabs: s.tabs}); err != nil {
		return err
	}
	return s.Send()
}

func (s *Stream) write(msg any) error {
	data, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	return s.out.Write(data)
}

// read handles the host's messages until the connection ends.
func (s *Stream) read(r *wire.Reader) {
	for {
		frame, err := r.Read()
		if err != nil {
			s.mu.Lock()
			s.broken = true
			close(s.acked)
			s.acked = make(chan struct{})
			s.mu.Unlock()
			return
		}
		var m struct {
			Type  string
			Next  int64
			ID    int64
			Error protocol.Error
		}
		if json.Unmarshal(frame, &m) != nil {
			continue
		}
		s.mu.Lock()
		switch m.Type {
		case protocol.TypeWelcome:
			s.ackLocked(m.Next)
			s.sent = 0
			close(s.welcome)
		case protocol.TypeAck:
			s.ackLocked(m.Next)
		case protocol.TypeError:
			s.errs = append(s.errs, m.Error)
		}
		s.mu.Unlock()
		if m.Type == protocol.TypeRequest {
			_ = s.write(protocol.Response{Type: protocol.TypeResponse, ID: m.ID, Result: protocol.SyncResult{}})
		}
	}
}

func (s *Stream) ackLocked(next int64) {
	if n := int(next - s.base); n > 0 {
		n = min(n, len(s.held))
		s.held = s.held[n:]
		s.base += int64(n)
		s.sent = max(0, s.sent-n)
	}
	close(s.acked)
	s.acked = make(chan struct{})
}

// Push queues events. [Stream.Send] sends them.
func (s *Stream) Push(events ...protocol.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, events...)
}

// Log returns a console event of the stream's tab.
func Log(level, text string) protocol.Event {
	return protocol.ConsoleEvent{
		EventHead: protocol.EventHead{Kind: protocol.KindConsole, At: time.Now().UnixMilli(), Tab: 7},
		Level:     level, Via: "console", Text: text, URL: "http://localhost:5173/src/app.js", Line: 42,
	}
}

// Send sends the events that were not yet sent on this connection.
func (s *Stream) Send() error {
	s.mu.Lock()
	if s.broken {
		s.mu.Unlock()
		return io.ErrClosedPipe
	}
	batch := protocol.Events{Type: protocol.TypeEvents, Stream: s.hello.Stream, First: s.base + int64(s.sent), Events: s.held[s.sent:]}
	s.sent = len(s.held)
	s.mu.Unlock()
	if len(batch.Events) == 0 {
		return nil
	}
	return s.write(batch)
}

// Acknowledged returns the number below which all events are acknowledged.
func (s *Stream) Acknowledged() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base
}

// Waiting counts the unacknowledged events.
func (s *Stream) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// WaitForAll waits until everything is acknowledged.
func (s *Stream) WaitForAll() error {
	patience := time.After(Patience)
	for {
		s.mu.Lock()
		n, acked, broken := len(s.held), s.acked, s.broken
		s.mu.Unlock()
		switch {
		case n == 0:
			return nil
		case broken:
			return io.ErrClosedPipe
		}
		select {
		case <-acked:
		case <-patience:
			return fmt.Errorf("%d events were not acknowledged within %s", n, Patience)
		}
	}
}

// WaitForEnd waits until the host ends the connection.
func (s *Stream) WaitForEnd(ctx context.Context) error {
	return Eventually(ctx, func() (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.broken, nil
	})
}

// Errors returns the host's errors.
func (s *Stream) Errors() []protocol.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errs
}

// KillRelay kills the relay, as a browser may at any moment.
func (s *Stream) KillRelay() {
	_ = s.relay.Process.Kill() // it may have exited already
	s.reading.Wait()
}

// Close ends the connection as a browser does.
func (s *Stream) Close() {
	if s.relay != nil {
		_ = s.in.Close()
		s.reading.Wait()
	}
}
