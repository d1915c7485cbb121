package api

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestALongAnswerEndsForAClientThatReadsNothing: a recording may have a gigabyte.
func TestALongAnswerEndsForAClientThatReadsNothing(t *testing.T) {
	ended := make(chan error, 1)
	s := httptest.NewServer(patience(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.Copy(w, neverEnding{})
		ended <- err
	}), 50*time.Millisecond))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Error(err)
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }

// TestASlowAnswerBeforeDoesNotEndTheNext: the connection has the deadline of the answer before.
func TestASlowAnswerBeforeDoesNotEndTheNext(t *testing.T) {
	next := make(chan struct{})
	s := httptest.NewServer(patience(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-next
		}
		if _, err := io.WriteString(w, strings.Repeat("x", 100_000)); err != nil {
			t.Error(err)
		}
		w.(http.Flusher).Flush()
	}), time.Second))
	defer s.Close()
	for _, path := range []string{"/", "/slow", "/"} {
		if path == "/slow" {
			time.AfterFunc(1100*time.Millisecond, func() { close(next) })
		}
		resp, err := s.Client().Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || len(text) != 100_000 {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
}
