package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/hangup"
)

// drained is a connection that reports its end only after every request that was read has been answered, so that
// `printf … | tidemark mcp` prints the answers. It sends no answer to a request that the client has cancelled. The
// protocol asks for that, and the SDK answers such a request.
type drained struct {
	io.ReadWriteCloser
	answers  answers
	ctx      context.Context
	answered func() // called when every request that was read has been answered

	line []byte // of what is read, up to its end; only the reader's

	mu      sync.Mutex
	pending map[any]*pending // by ID, a number or a string
	idle    chan struct{}    // closed when nothing is left to wait for; nil when nobody waits
}

// pending is a request that was read and not answered yet.
type pending struct {
	listens   bool // answered only when the listener leaves
	cancelled bool
}

// MaxLine bounds a message of a client in bytes. A longer one ends the connection.
const MaxLine = 16 << 20

// TooLong is what a client gets instead of an answer to a longer message. Whose it would be is in what was not read.
const TooLong = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message has more than 16 MiB, which is the limit. Send less at once."}}` + "\n"

var errTooLong = errors.New("a message has more than 16 MiB")

func (d *drained) Read(p []byte) (int, error) {
	if len(d.line) > MaxLine {
		return 0, errTooLong
	}
	n, err := d.ReadWriteCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			if d.line = append(d.line, rest...); len(d.line) > MaxLine {
				_, _ = io.WriteString(d.ReadWriteCloser, TooLong) // a client that does not read is cut off without it
				return 0, errTooLong
			}
			break
		}
		d.heard(append(d.line, rest[:i]...))
		d.line, rest = d.line[:0], rest[i+1:]
	}
	if errors.Is(err, io.EOF) {
		d.heard(d.line) // the last line may have no end
		d.line = nil
		d.wait()
	}
	return n, err
}

// heard records a request, or that one was cancelled. Notifications and answers have no "method" with an "id".
func (d *drained) heard(line []byte) {
	m := gjson.GetManyBytes(line, "id", "method", "params.requestId")
	id, method, cancels := m[0], m[1].String(), m[2]
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case method == "notifications/cancelled":
		if r := d.pending[key(cancels)]; r != nil {
			r.cancelled = true
		}
	case key(id) != nil && method != "":
		d.pending[key(id)] = &pending{listens: method == "subscriptions/listen"}
	}
}

// key returns a request's ID, or nil for what cannot be one.
func key(id gjson.Result) any {
	if id.Type != gjson.Number && id.Type != gjson.String {
		return nil
	}
	return id.Value()
}

// done reports whether nothing is left to wait for. It is called with the lock.
func (d *drained) done() bool {
	for _, r := range d.pending {
		if !r.listens {
			return false
		}
	}
	return true
}

// wait returns when everything is answered, or nobody is there any more to be answered.
func (d *drained) wait() {
	d.mu.Lock()
	if d.done() {
		d.mu.Unlock()
		return
	}
	d.idle = make(chan struct{})
	idle := d.idle
	d.mu.Unlock()
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	var gone <-chan struct{}
	if c, ok := d.ReadWriteCloser.(syscall.Conn); ok {
		gone = hangup.Watch(ctx, c)
	}
	select {
	case <-idle:
	case <-gone:
	case <-ctx.Done():
	}
}

// Write sends a message, and records an answer: the server asks nothing of its clients, so that a message with an ID is one.
func (d *drained) Write(p []byte) (int, error) {
	message := d.answers.fill(p)
	id := gjson.GetBytes(p, "id")
	if d.cancelled(id) {
		d.wrote(id, nil)
		return len(p), nil
	}
	_, err := d.ReadWriteCloser.Write(message)
	d.wrote(id, err)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (d *drained) cancelled(id gjson.Result) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.pending[key(id)]
	return r != nil && r.cancelled
}

// wrote records what became of a message.
func (d *drained) wrote(id gjson.Result, err error) {
	d.mu.Lock()
	switch {
	case err != nil:
		clear(d.pending) // a client that does not read waits for nothing
	case id.Exists():
		delete(d.pending, key(id))
	default:
		d.mu.Unlock()
		return
	}
	done := d.done()
	if done && d.idle != nil {
		close(d.idle)
		d.idle = nil
	}
	d.mu.Unlock()
	if done && err == nil {
		d.answered()
	}
}
