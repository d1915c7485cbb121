package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// streaming describes the endpoint of a stream.
func streaming(o huma.Operation, description string) huma.Operation {
	o.Description = description
	o.Responses = map[string]*huma.Response{"200": {
		Description: "The stream", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}}},
	}}
	return o
}

// sse writes server-sent events to one client. It buffers nothing, and cuts off a client that does not read.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

// sse begins a stream. The context ends with the request.
func (r *rest) sse(h huma.Context) (*sse, context.Context) {
	req, w := humago.Unwrap(h)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	s := &sse{w, http.NewResponseController(w), r.StallTimeout}
	if s.stall == 0 {
		s.stall = defaultStall
	}
	return s, req.Context()
}

// end lets the connection serve other requests.
func (s *sse) end() { _ = s.control.SetWriteDeadline(time.Time{}) }

// event writes one event and reports whether that succeeded. The id may be "".
func (s *sse) event(id, name string, v any) bool {
	data, err := json.Marshal(v)
	if err != nil {
		return false // plain values always marshal
	}
	var b strings.Builder
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
	return s.write(b.String())
}

func (s *sse) write(text string) bool {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.stall)); err != nil {
		return false
	}
	_, err := s.w.Write([]byte(text))
	return err == nil && s.control.Flush() == nil
}
