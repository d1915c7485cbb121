package report

import (
	"fmt"

	"tidemark.dev/tidemark/host/internal/event"
)

// Storm is one thing that repeats fast and without end.
type Storm struct {
	// What is a request, a connection or a message: "GET /notifications".
	What   string `json:"what"`
	Count  int    `json:"count"`
	SpanMs int64  `json:"span_ms"`
	// Initiator is file:line of the code that causes it.
	Initiator string `json:"initiator,omitempty"`
	// Generated is true where Initiator is a line of generated code.
	Generated bool `json:"generated,omitempty"`
	// CalledAt is file:line of the project's own code that called Initiator, where that is in another file.
	CalledAt string `json:"called_at,omitempty"`
	// Error is why a connection fails, Status the HTTP status of its refused handshake.
	Error  string `json:"error,omitempty"`
	Status int    `json:"status,omitempty"`
	// Also is what else said the same: "logged at live.js:12".
	Also string `json:"also,omitempty"`
	Tab  int    `json:"tab,omitempty"`
	Ref  *Ref   `json:"-"`
}

// Line returns a storm in a line: "GET /notifications ×503 in 95.0 s from api.ts:12, called at Notifications.tsx:50".
func (s *Storm) Line() string {
	line := fmt.Sprintf("%s ×%d in %.1f s", s.What, s.Count, float64(s.SpanMs)/1000) + From(s.Initiator, s.Generated, s.CalledAt)
	if s.Error != "" {
		line += ": " + event.OneLine(s.Error)
	}
	if s.Also != "" {
		line += ", also " + s.Also
	}
	return line
}
