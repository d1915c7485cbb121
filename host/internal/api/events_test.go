package api_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// pipes is a listener whose connections have no buffers: a write blocks until the other end reads.
type pipes struct {
	conns  chan net.Conn
	done   chan struct{}
	closed sync.Once
	// ended receives the path of every finished request.
	ended chan string
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.closed.Do(func() { close(p.done) })
	return nil
}
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// live serves the live API of a test world. The client's connections have no buffers.
func live(t *testing.T, w *enginetest.World, stall time.Duration) *http.Client {
	t.Helper()
	c, _ := watched(t, w, stall)
	return c
}

// watched does the same and returns the paths of finished requests.
func watched(t *testing.T, w *enginetest.World, stall time.Duration) (c *http.Client, ended <-chan string) {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{}), ended: make(chan string, 100)}
	rest := api.REST(api.RESTOptions{Engine: w.Engine, Version: "1", StallTimeout: stall})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest.ServeHTTP(w, r)
		p.ended <- r.URL.Path
	}))
	_ = s.Listener.Close()
	s.Listener = p
	s.Start()
	transport := &http.Transport{DisableKeepAlives: true, ReadBufferSize: 1, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case p.conns <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return &http.Client{Transport: transport}, p.ended
}

// streamed is an event of a stream.
type streamed struct {
	id, name, data string
}

// stream reads events.
type stream struct {
	*bufio.Reader
	body io.Closer
}

func listen(t *testing.T, c *http.Client, query, last string) *stream {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://tidemark/api/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s", resp.Status, resp.Header)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &stream{bufio.NewReaderSize(resp.Body, 16), resp.Body}
}

// next reads the next event. It fails when the stream has ended.
func (s *stream) next() (e streamed, err error) {
	for {
		line, err := s.ReadString('\n')
		if err != nil {
			return e, err
		}
		switch field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); field {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name != "" {
				return e, nil
			}
		}
	}
}

// timeline reads the next event, a timeline, and returns the positions of its console entries.
func (s *stream) timeline(t *testing.T) (e streamed, console string) {
	t.Helper()
	e, err := s.next()
	if err != nil || e.name != "timeline" {
		t.Fatalf("%+v %v", e, err)
	}
	return e, positions(t, e.data)
}

func positions(t *testing.T, data string) string {
	t.Helper()
	var line protocol.ViewTimeline
	if err := json.Unmarshal([]byte(data), &line); err != nil {
		t.Fatal(err)
	}
	for _, l := range line.Lanes {
		if l.Lane == protocol.LaneConsole {
			return fmt.Sprintf("%d to %d", l.Position, l.Position+uint64(len(l.Times))-1)
		}
	}
	return ""
}

func TestAStreamGoesOnWhereItsReaderWas(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := live(t, w, 0)
	w.Log("error", "one")
	s := listen(t, c, "", "")
	if _, got := s.timeline(t); got != "1 to 1" {
		t.Error(got)
	}
	w.Log("error", "two")
	last, got := s.timeline(t)
	if got != "2 to 2" {
		t.Error(got)
	}
	_ = s.body.Close()
	w.Log("error", "three")
	w.Log("error", "four")
	for _, way := range []struct{ query, header string }{{"", last.id}, {"?after=" + last.id, ""}} {
		if _, got := listen(t, c, way.query, way.header).timeline(t); got != "3 to 4" {
			t.Errorf("%+v: %s", way, got)
		}
	}
}

func TestWhatHasLeftTheBuffersMeanwhileIsCounted(t *testing.T) {
	w := enginetest.New(t, capture.Limits{capture.Console: {Count: 5, Bytes: 1 << 20}})
	c := live(t, w, 0)
	w.Log("log", "first")
	s := listen(t, c, "", "")
	last, _ := s.timeline(t)
	_ = s.body.Close()
	for range 20 {
		w.Log("log", "more")
	}
	s = listen(t, c, "", last.id)
	if e, err := s.next(); err != nil || e.name != "skipped" || e.data != `{"console":15}` {
		t.Errorf("%+v %v", e, err)
	}
	if _, got := s.timeline(t); got != "17 to 21" {
		t.Error(got)
	}
}

// TestASlowClientIsDisconnected: its unread entries are not queued, delay no one, and are counted when it reconnects.
func TestASlowClientIsDisconnected(t *testing.T) {
	w := enginetest.New(t, capture.Limits{capture.Console: {Count: 5, Bytes: 1 << 20}})
	c := live(t, w, time.Minute)
	w.Log("log", "first")
	s := listen(t, c, "", "")
	s.timeline(t)
	for range 1000 { // the client reads nothing, and no one waits for it
		w.Log("log", "more")
	}
	var events []streamed
	for {
		e, err := s.next()
		if err != nil {
			break
		}
		events = append(events, e)
	}
	last := events[len(events)-1]
	if last.name != "behind" || !strings.Contains(last.data, `{"console":`) {
		t.Fatalf("it ends with %+v", last)
	}
	read := 1 // the last entry that it read
	for _, e := range events[:len(events)-1] {
		if _, err := fmt.Sscanf(positions(t, e.data), "%d to %d", new(int), &read); err != nil {
			t.Fatal(e, err)
		}
	}
	s = listen(t, c, "", last.id)
	if e, err := s.next(); err != nil || e.name != "skipped" || e.data != fmt.Sprintf(`{"console":%d}`, 996-read) {
		t.Errorf("%+v %v after %d entries", e, err, read)
	}
	if _, got := s.timeline(t); got != "997 to 1001" {
		t.Error(got)
	}
}

func TestAClientThatReadsNothingIsDisconnected(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c, ended := watched(t, w, 2*time.Second)
	s := listen(t, c, "", "")
	s.timeline(t)
	w.Log("error", "unread")
	if got := <-ended; got != "/api/events" {
		t.Error(got)
	}
	if e, err := s.next(); err == nil {
		t.Errorf("%+v", e)
	}
}

func TestAnotherStoreResetsPositions(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := live(t, w, 0)
	w.Log("log", "one")
	s := listen(t, c, "", "")
	last, _ := s.timeline(t)
	raw, err := base64.RawURLEncoding.DecodeString(last.id)
	if err != nil || !strings.Contains(string(raw), `"s":"`) {
		t.Fatal(string(raw), err)
	}
	other := strings.Replace(string(raw), `"s":"`, `"s":"of another daemon `, 1)
	s = listen(t, c, "", base64.RawURLEncoding.EncodeToString([]byte(other)))
	if e, err := s.next(); err != nil || e.name != "reset" {
		t.Errorf("%+v %v", e, err)
	}
	if _, got := s.timeline(t); got != "1 to 1" {
		t.Error(got)
	}
}

func TestAStreamThatCannotBeginIsAProblem(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	c := live(t, w, 0)
	for query, want := range map[string]string{
		"?after=nonsense": "omit it to start over", "?tab=99": "there is no tab 99", "?tab=x": "invalid integer", "?since=1": "since",
	} {
		resp, err := c.Get("http://tidemark/api/events" + query)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode < 400 || resp.StatusCode > 422 || resp.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(data), want) {
			t.Errorf("%s: %s %s %v", query, resp.Status, data, err)
		}
		_ = resp.Body.Close()
	}
}
