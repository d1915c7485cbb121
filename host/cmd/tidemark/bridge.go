package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/hangup"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/jsondepth"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/mcpserver"
)

// bridge carries JSON-RPC lines between an agent and the daemon. An agent outlives daemons: when one
// exits, the bridge replays the agent's handshake to the next one and repeats unanswered requests.
type bridge struct {
	// dial connects to the daemon.
	dial func(context.Context) (net.Conn, error)
	// preamble returns the first line of a connection. Nil means that there is none.
	preamble func() ([]byte, error)
	// look runs before each tool call. Its error becomes the answer, and a fix needs a new connection. Nil
	// means no check.
	look func() (fixed bool, err error)
	in   io.Reader
	out  io.Writer

	conn    net.Conn // nil between two daemons
	fromIt  <-chan []byte
	hello   []byte          // the agent's initialize request, and its id
	helloID json.RawMessage // (nil while its answer goes to the agent)
	ready   []byte          // the agent's initialized notification
	pending []request       // unanswered requests, oldest first
	follows []subscription  // the agent's subscriptions
}

// request is a line that needs an answer.
type request struct {
	id, line []byte
	lost     int // number of daemons that exited before answering it
}

// JSON-RPC's codes of a line that is not valid JSON, and of one that is not a request.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// wholeNumber matches a number that keeps its form and value in every implementation of JSON.
var wholeNumber = lazyregexp.New(`^(?:0|-?[1-9]\d{0,14})$`)

// validID reports whether an ID of a request is one that MCP permits. Null is not.
func validID(id json.RawMessage) bool { return id[0] == '"' || wholeNumber().Match(id) }

// maxLost is the number of daemons that may exit before one request is given up, because the request itself may
// crash them. So many connections may break before anything was sent, too.
const maxLost = 3

// run returns when the agent has closed its input and every request is answered, or when nothing reads the answers.
func (b *bridge) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := b.connect(ctx, func() error { return nil }); err != nil {
		return err
	}
	defer func() { b.hangUp() }()
	fromAgent := lines(ctx, b.in, mcpserver.MaxLine)
	var gone <-chan struct{}
	for fromAgent != nil || len(b.pending) > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-gone:
			return nil
		case line, ok := <-fromAgent:
			if !ok {
				fromAgent = nil
				if out, ok := b.out.(syscall.Conn); ok {
					gone = hangup.Watch(ctx, out)
				}
				continue
			}
			if err := b.fromAgent(ctx, line); err != nil {
				return err
			}
		case line, ok := <-b.fromIt:
			if !ok {
				b.hangUp()
				if err := b.lost(); err != nil {
					return err
				}
				if err := b.again(ctx); err != nil {
					return err
				}
				continue
			}
			if err := b.fromDaemon(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// lines reads lines until the end of r. Its goroutine may outlive ctx: only the end of the process or of the
// connection can end its read. Of a line of more than most bytes, it returns the first most+1.
func lines(ctx context.Context, r io.Reader, most int) <-chan []byte {
	ch := make(chan []byte)
	go func() {
		defer close(ch)
		buffered := bufio.NewReaderSize(r, 64<<10)
		for {
			var line []byte
			part, err := buffered.ReadSlice('\n')
			for ; errors.Is(err, bufio.ErrBufferFull); part, err = buffered.ReadSlice('\n') {
				line = append(line, part[:min(len(part), max(0, most+1-len(line)))]...)
			}
			line = append(line, part[:min(len(part), max(0, most+1-len(line)))]...)
			if line = bytes.TrimSpace(line); len(line) > 0 {
				select {
				case ch <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return ch
}

// connect connects to the daemon, and sends the preamble and what say sends. Where the connection breaks before that is sent, it
// connects again, because a daemon that ends still accepts connections.
func (b *bridge) connect(ctx context.Context, say func() error) error {
	for tried := 1; ; tried++ {
		conn, err := b.dial(ctx)
		if err != nil {
			return err
		}
		b.conn, b.fromIt = conn, lines(ctx, conn, math.MaxInt32)
		if err = b.sendPreamble(); err == nil {
			err = say()
		}
		if err == nil {
			return nil
		}
		b.hangUp()
		if tried == maxLost {
			return fmt.Errorf("%w: %w", home.ErrUnreachable, err)
		}
		select {
		case <-time.After(home.Dying):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *bridge) sendPreamble() error {
	if b.preamble == nil {
		return nil
	}
	line, err := b.preamble()
	if err != nil {
		return err
	}
	return b.send(line)
}

func (b *bridge) hangUp() {
	if b.conn != nil {
		_ = b.conn.Close()
		b.conn, b.fromIt = nil, nil
	}
}

// message is the part of a line that the bridge reads.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Error   json.RawMessage `json:"error"`
}

// read reads a line of the agent. It returns what is wrong with one that would end the connection to the daemon, or that the daemon
// could not answer under its ID. The ID is nil then if nothing can be answered under it.
func (m *message) read(line []byte) (wrong string) {
	err := json.Unmarshal(line, m)
	switch {
	case m.ID != nil && m.Method != "" && !validID(m.ID):
		m.ID = nil
		return "id must be a string or a whole number of at most 15 digits"
	case err != nil:
		return "the line must be an object in which jsonrpc and method are texts"
	case m.Version != "2.0":
		return `jsonrpc must be "2.0"`
	case jsondepth.Exceeds(line, jsondepth.Most):
		return fmt.Sprintf("it is nested more than %d deep", jsondepth.Most)
	}
	return ""
}

func (b *bridge) fromAgent(ctx context.Context, line []byte) error {
	if len(line) > mcpserver.MaxLine {
		_, err := io.WriteString(b.out, mcpserver.TooLong)
		return err
	}
	if !json.Valid(line) { // it would end the connection to the daemon
		return b.answer(nil, "error", map[string]any{"code": parseError, "message": "Parse error: the line is not valid JSON"})
	}
	var m message
	if wrong := m.read(line); wrong != "" {
		return b.answer(m.ID, "error", map[string]any{"code": invalidRequest, "message": "Invalid request: " + wrong})
	}
	isRequest := m.ID != nil && m.Method != ""
	switch {
	case m.Method == "initialize" && isRequest:
		b.hello = line
	case m.Method == "notifications/initialized":
		b.ready = line
	}
	if m.Method == "tools/call" && isRequest && b.look != nil {
		fixed, err := b.look()
		if err != nil {
			return b.answer(m.ID, "result", map[string]any{
				"content": []any{map[string]string{"type": "text", "text": untilFixed(err)}}, "isError": true,
			})
		}
		if fixed {
			b.hangUp()
		}
	}
	lasts := b.follow(m, line)
	if m.Method == "tools/call" && isRequest {
		line = identified(line)
	}
	if isRequest && !lasts {
		b.pending = append(b.pending, request{id: m.ID, line: line})
	}
	if b.conn != nil {
		if b.send(line) == nil {
			return nil
		}
		b.hangUp()
	}
	if lasts {
		return b.introduce(ctx)
	}
	return b.again(ctx)
}

// identified adds an ID to a call of a tool, by which the next daemon knows a call that this one did.
func identified(line []byte) []byte {
	var m, params, meta map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil || json.Unmarshal(m["params"], &params) != nil || params == nil {
		return line // the daemon says what is wrong with it
	}
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[mcpserver.CallKey] = json.RawMessage(strconv.Quote(rand.Text()))
	var errs [3]error
	params["_meta"], errs[0] = json.Marshal(meta)
	m["params"], errs[1] = json.Marshal(params)
	with, err := json.Marshal(m)
	if errs[2] = err; errors.Join(errs[:]...) != nil || len(with) > mcpserver.MaxLine {
		return line
	}
	return with
}

func (b *bridge) send(line []byte) error {
	_, err := b.conn.Write(append(line[:len(line):len(line)], '\n'))
	return err
}

// lost counts an exited daemon for each pending request and gives up a request at maxLost.
func (b *bridge) lost() error {
	for i := range b.pending {
		if b.pending[i].lost++; b.pending[i].lost >= maxLost {
			return b.refuse(fmt.Errorf("%d daemons exited before answering", maxLost))
		}
	}
	return nil
}

// again repeats unanswered requests to the next daemon. An agent that waits for nothing starts no daemon.
func (b *bridge) again(ctx context.Context) error {
	if len(b.pending) == 0 {
		return nil
	}
	return b.introduce(ctx)
}

// introduce replays the agent's handshake to the next daemon and repeats unanswered requests.
func (b *bridge) introduce(ctx context.Context) error {
	introduced := len(b.pending) > 0 && bytes.Equal(b.pending[0].line, b.hello)
	err := b.connect(ctx, func() (err error) {
		if b.hello != nil && !introduced {
			var m message
			if err = json.Unmarshal(b.hello, &m); err == nil {
				b.helloID = m.ID // the agent already has its answer
				err = b.send(b.hello)
			}
			if b.ready != nil {
				err = errors.Join(err, b.send(b.ready))
			}
		}
		err = errors.Join(err, b.followAgain())
		for _, r := range b.pending {
			err = errors.Join(err, b.send(r.line))
		}
		return err
	})
	if err != nil {
		return b.refuse(err)
	}
	if b.ready != nil && !introduced { // the next daemon may have another version, or settings that turn on other tools
		_, err = io.WriteString(b.out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n")
	}
	return err
}

// refuse answers every pending request with an error.
func (b *bridge) refuse(cause error) error {
	for _, r := range b.pending {
		err := b.answer(r.id, "error", map[string]any{"code": -32000, "message": fmt.Sprintf("%v. Your next call tries again.", cause)})
		if err != nil {
			return err
		}
	}
	b.pending = nil
	return nil
}

// answer sends a result or an error in place of the daemon.
func (b *bridge) answer(id json.RawMessage, kind string, with map[string]any) error {
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, kind: with})
	if err != nil {
		return err
	}
	_, err = b.out.Write(append(answer, '\n'))
	return err
}

func (b *bridge) fromDaemon(line []byte) error {
	var m message
	if json.Unmarshal(line, &m) == nil && m.ID != nil && m.Method == "" {
		if m.Error != nil {
			b.refused(m.ID)
		}
		if b.helloID != nil && bytes.Equal(m.ID, b.helloID) {
			b.helloID = nil
			return nil
		}
		if ownAnswer(m.ID) {
			return nil
		}
		b.forget(string(m.ID)) // a long-lived request has ended
		b.settled(m.ID)
	}
	_, err := b.out.Write(append(line, '\n'))
	return err
}

// settled forgets a request that was answered or cancelled.
func (b *bridge) settled(id json.RawMessage) {
	if i := slices.IndexFunc(b.pending, func(r request) bool { return bytes.Equal(r.id, id) }); i >= 0 {
		b.pending = slices.Delete(b.pending, i, i+1)
	}
}
