// Package event defines the browser events that the host keeps. It is the only place that decodes the extension's
// messages.
//
// Guarantees, whatever the extension sends:
//   - A decoded event has every required field in range.
//   - Its text has no control, ANSI, bidi or zero-width characters.
//   - Its secrets are masked by the host's own rules.
//   - An event that cannot be decoded is an error with a code from package protocol.
package event

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Head is the common beginning of every event.
type Head struct {
	// At is milliseconds since the Unix epoch.
	At int64
	Subject
	// Masked counts masked secrets.
	Masked int
}

// Time is At as a time in UTC.
func (h Head) Time() time.Time { return time.UnixMilli(h.At).UTC() }

// Event is any of the kinds below.
type Event interface{ Header() *Head }

// Header returns the event's head.
func (h *Head) Header() *Head { return h }

// Lined is an event that says how it reads on a timeline: its kind in a word, and a line of text.
type Lined interface {
	Event
	Line() (kind, text string)
}

// Level orders console messages.
type Level uint8

// Levels, lowest first.
const (
	Debug Level = iota
	Log
	Info
	Warning
	Error
)

func (l Level) String() string { return consoleEventLevels[l] }

// ParseLevel reads a level's name.
func ParseLevel(s string) (Level, bool) {
	i := slices.Index(consoleEventLevels, s)
	return Level(max(i, 0)), i >= 0
}

// Pointer is a pointer to an event of type T. Generic code keeps entries by value and passes them as pointers.
type Pointer[T any] interface {
	*T
	Event
}

// Console is a console call, an uncaught exception, an unhandled rejection or a browser's log entry.
type Console struct {
	Head
	Level    Level
	Via      string
	Category string
	Text     string
	Length   int
	URL      string
	Line     int
	Column   int
	Stack    []string
	Request  string
	Target   string
	// Joined is true for an entry that only repeats what another event says; package capture sets it.
	Joined bool
	// Logged is the place of the console call, where Stack is that of an error that the call logged.
	Logged string
	// Left is true for an entry of a document that the tab was leaving or had left: it may come after the navigation.
	Left bool
}

// FailedSocket returns the address of the socket of which an entry of the browser says that it failed.
func FailedSocket(e *Console) (url string, ok bool) {
	rest, ok := strings.CutPrefix(e.Text, "WebSocket connection to '")
	if !ok || e.Via != "browser" || e.Category != "network" {
		return "", false
	}
	url, _, ok = strings.Cut(rest, "' failed")
	return url, ok
}

// IsUncaught reports whether it is an error that nothing caught.
func (e *Console) IsUncaught() bool { return e.Via == "exception" || e.Via == "rejection" }

// Request is the beginning of a request.
type Request struct {
	Head
	ID, Method, URL, Resource string
	// Operation is the name of its GraphQL operation; "" for other requests, and where an older extension does not know it.
	Operation string
}

// EndpointKey identifies an endpoint: the requesting page, and the origin, method and templated path of the request. The
// query never counts.
type EndpointKey struct {
	// Page is the origin of the page, so that two projects that use the same API stay apart.
	Page string
	// Origin is the endpoint's own.
	Origin string
	Method string
	// Path has {id} in place of ids and {hash} in place of the hashes in the names of built files.
	Path string
	// Operation is the name of the GraphQL operation; "" for other requests.
	Operation string
}

// Network is a request that has ended, or whose streamed answer has begun.
type Network struct {
	Head
	ID, Method, URL, Resource                   string
	Status                                      int
	Error                                       string
	Canceled, Cached, Stream, Backfilled        bool
	Started                                     int64
	Duration                                    float64
	Mime                                        string
	Size                                        int64
	RequestHeaders, ResponseHeaders             map[string]string
	RequestBody, ResponseBody, BodyNote, Target string
	// Endpoint is what capture.KeyOf found, kept because every report asks for it; nil until a buffer has the request.
	Endpoint *EndpointKey `msgpack:"-"`
	// Stack has the frames that made the request, the innermost first.
	Stack []string
	// Operation is the name of its GraphQL operation; "" for other requests.
	Operation string
	// Refused is true for a GraphQL answer that lists errors, and for a poll of Socket.IO that refuses the connection,
	// whatever its status.
	Refused bool
	// Detail is the first meaningful line of an answer that reports a failure, of at most [MaxDetail] characters.
	Detail string
	// Order counts the requests of the tab that were sent before it in the same millisecond.
	Order int
}

// Failed reports whether the request failed: a status of 400 or more, no status, an interrupted answer, or an answer with
// GraphQL errors or a refused connection. An aborted request did not fail. It counts as answered if it had a status by then.
func (n *Network) Failed() bool {
	return n.Status >= 400 || n.Refused || n.Error != "" && n.Error != "net::ERR_ABORTED" && !n.Canceled
}

// Sent is when the request was sent, as far as that is known, to milliseconds. The rest orders those of the same one.
func (n *Network) Sent() time.Time {
	return time.UnixMilli(n.Began()).Add(time.Duration(min(n.Order, maxOrder)) * time.Microsecond).UTC()
}

// Began is when the request was sent, as far as that is known, in milliseconds since the Unix epoch.
func (n *Network) Began() int64 { return cmp.Or(n.Started, n.At) }

// maxOrder bounds the order of a request, so that it does not reach into the next millisecond.
const maxOrder = 999

// Reason is why the request failed, where no status says it.
func (n *Network) Reason() string {
	switch {
	case n.Error != "" || !n.Refused:
		return n.Error
	case n.EngineIO():
		return "connection refused by Socket.IO"
	}
	return "GraphQL error"
}

// SaysMore reports whether a failed request says more than a later one to the same endpoint: that one failed in the same way, and
// has no detail, or it is a poll of a connection that Socket.IO refused.
func (n *Network) SaysMore(later *Network) bool {
	return n.Refused && n.EngineIO() && !later.Refused || n.Detail != "" && later.Detail == "" && n.Status == later.Status && n.Error == later.Error
}

// Answered reports whether the request had an answer that was not a failure.
func (n *Network) Answered() bool { return n.Status > 0 && !n.Failed() }

// WebSocket is a step in the life of a connection.
type WebSocket struct {
	Head
	ID, URL string
	Op      string
	Text    string
	Size    int
	Binary  bool
	Code    int
	Reason  string
	Leaving bool
	// Joined is true for a step that only repeats what another event says; package capture sets it.
	Joined bool
	// Bad is true for a frame whose JSON says that something failed, one that refuses a connection of Socket.IO, and for a
	// connection's error.
	Bad bool
	// Status is the HTTP status of a refused handshake; 0 when there was none or it is not known.
	Status int
	// Stack has the frames that opened the connection, the innermost first; frames have none.
	Stack []string
}

// IsFrame reports whether it is a sent or received frame, not a step of the connection.
func (e *WebSocket) IsFrame() bool { return e.Op == "sent" || e.Op == "received" }

// StackOf returns the code that made a request or opened a connection, the innermost frame first.
func StackOf(ev Event) []string {
	switch e := ev.(type) {
	case *Network:
		return e.Stack
	case *WebSocket:
		return e.Stack
	}
	return nil
}

// Action is an action of the user.
type Action struct {
	Head
	Type, Target, Selector, Value string
	Frame                         int
	// Began is when a burst of typing began, in milliseconds since the Unix epoch; 0 if that was At.
	Began int64
}

// Element is a change of an error element, or of the page's content as a whole.
type Element struct {
	Head
	Op             string
	Frame          int
	Document       string
	ID             int
	Selector, Text string
	// Alert is true for an element that calls for attention.
	Alert bool
}

// Navigation is a change of the tab's top document or its address.
type Navigation struct {
	Head
	How, URL, Title string
}

// Gap is a span that was not observed.
type Gap struct {
	Head
	// From and To are milliseconds since the epoch; To 0 means that it continues.
	From, To int64
	Reason   string
	Dropped  int
}
