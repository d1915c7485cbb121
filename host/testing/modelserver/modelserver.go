// Package modelserver plays a model from a script, so that agents run without a provider.
//
// It guarantees: it listens on 127.0.0.1 alone, answers the same requests with the same bytes, and never calls another
// server. It speaks the streams of Anthropic's Messages API, of OpenAI's Responses API and of Google's generateContent.
package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Turn is one answer of the model: a text, then calls of tools. An answer without calls ends the agent's turn.
type Turn struct {
	Text  string
	Calls []Call
	// For limits it to requests that have this text, such as a subagent's prompt. Other requests leave it for later.
	For string
}

// Call is a call of a tool.
type Call struct {
	ID, Name string
	// Input is the call's JSON object. A string is the input of a tool that takes plain text.
	Input any
}

// Server answers requests that offer tools with the turns of its script, each with the first one that is for it. After the
// last one it answers "done". Requests without tools, such as those for a title, get a text and use no turn.
type Server struct {
	// URL is the address of the server.
	URL string

	mu       sync.Mutex
	turns    []Turn
	served   int // turns
	number   int // of the last answer
	requests []string
	asked    []string
}

// Start starts a server that ends with the test.
func Start(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	s := &Server{turns: slices.Clone(turns)}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL
	return s
}

// Served returns how many turns were sent.
func (s *Server) Served() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// Requests returns the methods and paths that were requested.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// Asked returns the bodies of the requests that a turn answered, or "done" after the last one.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// maxRequest bounds a request in bytes.
const maxRequest = 64 << 20

// next returns the answer to a request, and its number.
func (s *Server) next(tools int, body []byte) (Turn, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tools == 0 {
		return Turn{Text: "ok"}, 0
	}
	s.number++
	s.asked = append(s.asked, string(body))
	for i, t := range s.turns {
		if strings.Contains(string(body), t.For) {
			s.turns = slices.Delete(s.turns, i, i+1)
			s.served++
			return t, s.number
		}
	}
	return Turn{Text: "done"}, s.number
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	var body struct {
		Model  string            `json:"model"`
		Stream bool              `json:"stream"`
		Tools  []json.RawMessage `json:"tools"`
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.Unmarshal(data, &body) // another body has none of this
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages"):
		turn, n := s.next(len(body.Tools), data)
		messages(w, body.Model, body.Stream, turn, n)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/responses"):
		turn, n := s.next(len(body.Tools), data)
		responses(w, body.Model, turn, n)
	case strings.HasSuffix(r.URL.Path, ":generateContent"), strings.HasSuffix(r.URL.Path, ":streamGenerateContent"):
		turn, _ := s.next(len(body.Tools), data)
		path, method, _ := strings.Cut(r.URL.Path, ":")
		generate(w, path[strings.LastIndexByte(path, '/')+1:], method == "streamGenerateContent", turn)
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		object(w, map[string]any{"totalTokens": 100})
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		object(w, map[string]any{"input_tokens": 100})
	default:
		object(w, map[string]any{"data": []any{}, "models": []any{}})
	}
}

func object(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// stream sends server-sent events.
type stream struct{ w http.ResponseWriter }

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w}
}

// send sends an event. Its name is also its type.
func (s stream) send(name string, fields map[string]any) {
	fields["type"] = name
	data, _ := json.Marshal(fields)
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, data)
}
