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

// drained is a connection whose end is heard of only when every request that was read has been
// answered, so that `printf … | tidemark mcp` prints the answers.
type drained struct {
	io.ReadWriteCloser
	answers  answers
	ctx      context.Context
	answered func() // called when every request that was read has been answered

	line []byte // of what is read, up to its end; only the reader's

	mu      sync.Mutex
	pending int
	// listening counts those among them that only the client's going answers.
	listening int
	idle      chan struct{} // closed when the last pending request is answered; nil when nobody waits
}

func (d *drained) Read(p []byte) (int, error) {
	n, err := d.ReadWriteCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			d.line = append(d.line, rest...)
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

// heard counts a request; notifications and answers have no "method" with an "id".
func (d *drained) heard(line []byte) {
	m := gjson.GetManyBytes(line, "id", "method")
	if id, method := m[0], m[1].String(); id.Type != gjson.Null && method != "" {
		d.mu.Lock()
		d.pending++
		if method == "subscriptions/listen" {
			d.listening++ // answered only when the listener goes
		}
		d.mu.Unlock()
	}
}

// wait returns when everything is answered, or nobody is there any more to be answered.
func (d *drained) wait() {
	d.mu.Lock()
	if d.pending <= d.listening {
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

// Write counts an answer: the server asks nothing of its clients, so that what carries an id is one.
func (d *drained) Write(p []byte) (n int, err error) {
	if _, err = d.ReadWriteCloser.Write(d.answers.fill(p)); err == nil {
		n = len(p)
	}
	answered := err != nil // whoever does not read waits for nothing
	if head := p[:min(len(p), 64)]; bytes.Contains(head, []byte(`"id":`)) {
		answered = true
	}
	if answered {
		d.mu.Lock()
		d.pending--
		done := d.pending <= d.listening
		if done && d.idle != nil {
			close(d.idle)
			d.idle = nil
		}
		d.mu.Unlock()
		if done && err == nil {
			d.answered()
		}
	}
	return n, err
}
