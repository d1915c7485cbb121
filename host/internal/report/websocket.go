package report

import "tidemark.dev/tidemark/host/internal/alike"

// WebSocketDiff lists what happened to connections.
type WebSocketDiff struct {
	Disconnections   []Disconnection `json:"disconnections,omitempty"`
	ErrorMessages    []SocketError   `json:"error_messages,omitempty"`
	NewConnections   []Connection    `json:"new_connections,omitempty"`
	TotalNewMessages int             `json:"total_new_messages,omitempty"`
	TotalNewEvents   int             `json:"total_new_events,omitempty"`
	Omitted          int             `json:"omitted,omitempty"`

	// Shown is what the reader will know the listed entries by.
	Shown []alike.Entry `json:"-"`
}

// Disconnection is a connection that closed.
type Disconnection struct {
	URL    string `json:"url"`
	Code   int    `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	Count  int    `json:"count,omitempty"`
	// Initiator is file:line of the code that opened the connection.
	Initiator string `json:"initiator,omitempty"`
	// Generated is true where Initiator is a line of generated code.
	Generated bool `json:"generated,omitempty"`
	Tab       int  `json:"tab,omitempty"`
	Ref       *Ref `json:"-"`
}

// SocketError is a frame or a connection that said that something failed.
type SocketError struct {
	URL     string `json:"url"`
	Message string `json:"message"`
	// Status is the HTTP status of a refused handshake.
	Status int `json:"status,omitempty"`
	Count  int `json:"count,omitempty"`
	// Also is what else said the same: "logged at live.js:12".
	Also string `json:"also,omitempty"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *Introduced `json:"introduced_by,omitempty"`
	// Initiator is file:line of the code that opened the connection.
	Initiator string `json:"initiator,omitempty"`
	// Generated is true where Initiator is a line of generated code.
	Generated bool `json:"generated,omitempty"`
	Tab       int  `json:"tab,omitempty"`
	Ref       *Ref `json:"-"`
}

// Connection is a connection that was opened.
type Connection struct {
	URL   string `json:"url"`
	Count int    `json:"count,omitempty"`
	Tab   int    `json:"tab,omitempty"`
	Ref   *Ref   `json:"-"`
}

func (d *WebSocketDiff) filter(errorsOnly bool) int {
	n := dropAll(&d.NewConnections)
	if errorsOnly {
		n += dropAll(&d.Disconnections) + dropAll(&d.ErrorMessages)
		d.Shown = nil
	}
	return n
}

func (d *WebSocketDiff) given() (shown []alike.Entry, over []uint64) { return d.Shown, nil }

func (d *WebSocketDiff) quotes() bool {
	return len(d.Disconnections)+len(d.NewConnections)+len(d.ErrorMessages) > 0
}

func (d *WebSocketDiff) omitted() int { return d.Omitted }

// Empty reports whether nothing happened.
func (d *WebSocketDiff) Empty() bool { return d.TotalNewEvents == 0 }
