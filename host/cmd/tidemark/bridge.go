package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"tidemark.dev/tidemark/host/internal/hangup"
)

// bridge carries JSON-RPC lines between an agent and the daemon. An agent outlives daemons: when one
// ends, the next is introduced to the agent's session as the first was, and asked again what the old one
// did not answer.
type bridge struct {
	// dial connects to the daemon; the preamble is sent.
	dial func(context.Context) (net.Conn, error)
	// look is asked before each call of a tool: an error is the answer to it, and what is mended wants another
	// connection. Nil: nothing can be wrong.
	look func() (mended bool, err error)
	in   io.Reader
	out  io.Writer

	conn    net.Conn // nil between two daemons
	fromIt  <-chan []byte
	hello   []byte          // the agent's initialize request, and its id
	helloID json.RawMessage // (nil while it is to be passed on)
	ready   []byte          // the agent's initialized notification
	pending []request       // what has not been answered, oldest first
	follows []subscription  // what the agent is told of when it changes
}

// request is a line that wants an answer.
type request struct {
	id, line []byte
	lost     int // how many daemons ended before they answered it
}

// maxLost is how many daemons may end over one request before it is given up: it may be what ends them.
const maxLost = 3

// run returns when the agent has said its last and everything it asked is answered, or nobody reads the answers.
func (b *bridge) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := b.connect(ctx); err != nil {
		return err
	}
	defer func() { b.hangUp() }()
	fromAgent := lines(ctx, b.in)
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

// lines reads lines until the end. Its goroutine may outlive ctx, in a read that nothing can end but the
// process's end or the connection's.
func lines(ctx context.Context, r io.Reader) <-chan []byte {
	ch := make(chan []byte)
	go func() {
		defer close(ch)
		buffered := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := buffered.ReadBytes('\n')
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

func (b *bridge) connect(ctx context.Context) error {
	conn, err := b.dial(ctx)
	if err != nil {
		return err
	}
	b.conn, b.fromIt = conn, lines(ctx, conn)
	return nil
}

func (b *bridge) hangUp() {
	if b.conn != nil {
		_ = b.conn.Close()
		b.conn, b.fromIt = nil, nil
	}
}

// message is what the bridge reads of a line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Error  json.RawMessage `json:"error"`
}

func (b *bridge) fromAgent(ctx context.Context, line []byte) error {
	var m message
	_ = json.Unmarshal(line, &m) // the daemon answers what is no JSON
	isRequest := m.ID != nil && m.Method != ""
	switch {
	case m.Method == "initialize" && isRequest:
		b.hello = line
	case m.Method == "notifications/initialized":
		b.ready = line
	}
	if m.Method == "tools/call" && isRequest && b.look != nil {
		mended, err := b.look()
		if err != nil {
			return b.answer(m.ID, "result", map[string]any{
				"content": []any{map[string]string{"type": "text", "text": untilMended(err)}}, "isError": true,
			})
		}
		if mended {
			b.hangUp()
		}
	}
	lasts := b.follow(m, line)
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

func (b *bridge) send(line []byte) error {
	_, err := b.conn.Write(append(line[:len(line):len(line)], '\n'))
	return err
}

// lost counts a daemon that ended, and gives up what has ended too many.
func (b *bridge) lost() error {
	for i := range b.pending {
		if b.pending[i].lost++; b.pending[i].lost >= maxLost {
			return b.refuse(fmt.Errorf("%d daemons ended before they answered", maxLost))
		}
	}
	return nil
}

// again asks the next daemon what is not answered, when there is any of that. An agent that waits for
// nothing starts no daemon.
func (b *bridge) again(ctx context.Context) error {
	if len(b.pending) == 0 {
		return nil
	}
	return b.introduce(ctx)
}

// introduce makes the agent known to the next daemon, and asks it what is not answered.
func (b *bridge) introduce(ctx context.Context) error {
	if err := b.connect(ctx); err != nil {
		return b.refuse(err)
	}
	introduced := len(b.pending) > 0 && bytes.Equal(b.pending[0].line, b.hello)
	var err error
	if b.hello != nil && !introduced {
		var m message
		if err = json.Unmarshal(b.hello, &m); err == nil {
			b.helloID = m.ID // its answer the agent has had
			err = b.send(b.hello)
		}
		if b.ready != nil {
			err = errors.Join(err, b.send(b.ready))
			// The next daemon may be of another version, or of settings that turn on other tools.
			_, told := io.WriteString(b.out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n")
			err = errors.Join(err, told)
		}
	}
	err = errors.Join(err, b.followAgain())
	for _, r := range b.pending {
		err = errors.Join(err, b.send(r.line))
	}
	if err != nil {
		b.hangUp()
		return b.refuse(err)
	}
	return nil
}

// refuse answers everything that is asked with an error.
func (b *bridge) refuse(cause error) error {
	for _, r := range b.pending {
		err := b.answer(r.id, "error", map[string]any{"code": -32000, "message": fmt.Sprintf("%v; it is tried again with your next call", cause)})
		if err != nil {
			return err
		}
	}
	b.pending = nil
	return nil
}

// answer answers a request in the daemon's place, with a result or an error.
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
		b.forget(string(m.ID)) // a request that lasted has ended
		for i, r := range b.pending {
			if bytes.Equal(r.id, m.ID) {
				b.pending = append(b.pending[:i:i], b.pending[i+1:]...)
				break
			}
		}
	}
	_, err := b.out.Write(append(line, '\n'))
	return err
}
