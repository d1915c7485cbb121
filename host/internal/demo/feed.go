package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// stockInterval is the interval between automatic stock changes.
	stockInterval = 2 * time.Second
	// listenerBuffer is how many messages a connection may be behind before it is closed.
	listenerBuffer = 32
)

// feed sends messages to all listeners.
type feed struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // one for each connection

	mu        sync.Mutex // guards the fields below
	listeners map[*listener]bool
	closed    bool
}

// listener is one connection. A nil message closes it with status 1011.
type listener struct{ messages chan []byte }

func (f *feed) init() {
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.listeners = make(map[*listener]bool)
}

// close ends every connection and returns when their handlers have returned.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.wg.Wait()
}

// add registers a connection, or returns nil when the feed is closed.
func (f *feed) add() *listener {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	l := &listener{messages: make(chan []byte, listenerBuffer)}
	f.listeners[l] = true
	f.wg.Add(1)
	return l
}

func (f *feed) remove(l *listener) {
	f.mu.Lock()
	delete(f.listeners, l)
	f.mu.Unlock()
	f.wg.Done()
}

// send sends a message to all listeners. Nil closes their connections. A listener that is too far behind is
// closed.
func (f *feed) send(message []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.listeners {
		select {
		case l.messages <- message:
		default:
			delete(f.listeners, l)
			close(l.messages)
		}
	}
}

// message is one frame of the stock feed.
type message struct {
	Type    string `json:"type"` // hello, stock or error
	ID      int    `json:"id,omitempty"`
	Stock   int    `json:"stock,omitempty"`
	Message string `json:"message,omitempty"`
}

var (
	helloFrame   = frame(message{Type: "hello"})
	troubleFrame = frame(message{Type: "error", Message: "stock feed: warehouse 3 does not respond"})
)

func frame(m message) []byte {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return data
}

// PushStock sends every open page a product's new stock, which is at least 1.
func (s *Shop) PushStock(id, stock int) {
	s.feed.send(frame(message{Type: "stock", ID: id, Stock: max(stock, 1)}))
}

// stock is the live feed. It sends a greeting, and then one product's new stock every two seconds.
func (s *Shop) stock(w http.ResponseWriter, r *http.Request) {
	l := s.feed.add()
	if l == nil {
		http.Error(w, "the shop is closing", http.StatusServiceUnavailable)
		return
	}
	defer s.feed.remove(l)
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow() //nolint:errcheck // already closed or broken
	if s.is("socket_closed") {
		_ = conn.Close(websocket.StatusInternalError, "stock feed restarted") // the browser left
		return
	}
	// Ends when the browser leaves, or the shop closes.
	ctx := conn.CloseRead(s.feed.ctx)
	first := helloFrame
	if s.is("socket_error") {
		first = troubleFrame
	}
	if conn.Write(ctx, websocket.MessageText, first) != nil {
		return
	}
	ticker := time.NewTicker(stockInterval)
	defer ticker.Stop()
	for turn := 0; ; {
		var next []byte
		select {
		case <-ctx.Done():
			return
		case m, ok := <-l.messages:
			if !ok {
				_ = conn.Close(websocket.StatusPolicyViolation, "too slow") // the browser left
				return
			}
			if m == nil {
				_ = conn.Close(websocket.StatusInternalError, "stock feed restarted") // the browser left
				return
			}
			next = m
		case <-ticker.C:
			if s.is("socket_error") {
				continue
			}
			p := goods[turn%len(goods)]
			turn++
			next = frame(message{Type: "stock", ID: p.ID, Stock: max(1, p.Stock-turn%3)})
		}
		if conn.Write(ctx, websocket.MessageText, next) != nil {
			return
		}
	}
}
