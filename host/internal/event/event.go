// Package event is what happened in the browser, as the host keeps it, and the only place that
// decodes what the extension sends.
//
// Guarantees: a decoded event has every needed field in range, its text is free of control, ANSI,
// bidi and zero-width characters, and its secrets are masked by the host's own rules, whatever the
// extension did; what cannot be decoded is an error with a code from package protocol.
package event

import "time"

// Head is what every event begins with.
type Head struct {
	// At is milliseconds since the Unix epoch.
	At int64
	// Tab is the browser's id when decoded; package capture replaces it by the host's own.
	Tab int
	// Origin is the origin of the tab's top document at that moment; package capture fills it in.
	Origin string
	// Masked counts masked secrets.
	Masked int
}

// Time is At as a time in UTC.
func (h Head) Time() time.Time { return time.UnixMilli(h.At).UTC() }

// Event is any of the kinds below.
type Event interface{ Header() *Head }

// Header returns the event's head.
func (h *Head) Header() *Head { return h }

// Level orders console messages.
type Level uint8

// Levels, mildest first.
const (
	Debug Level = iota
	Log
	Info
	Warning
	Error
)

var levelNames = [...]string{"debug", "log", "info", "warning", "error"}

func (l Level) String() string { return levelNames[l] }

// ParseLevel reads a level's name.
func ParseLevel(s string) (Level, bool) {
	for i, name := range levelNames {
		if name == s {
			return Level(i), true
		}
	}
	return 0, false
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
}

// Request is the beginning of a request.
type Request struct {
	Head
	ID, Method, URL, Resource string
}

// EndpointKey names what counts as one endpoint: the page that asks, and origin, method and
// templated path of what it asks for. The query never counts.
type EndpointKey struct {
	// Page is the origin of the page, so that two projects that use the same API stay apart.
	Page string
	// Origin is the endpoint's own.
	Origin string
	Method string
	// Path has {id} in place of ids and {hash} in place of the hashes in the names of built files.
	Path string
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
}

// Failed says whether the request failed: a status of 400 or more, none at all, or an answer that
// broke off. One that was given up is no failure; it was answered when it had a status by then.
func (n *Network) Failed() bool {
	return n.Status >= 400 || n.Error != "" && n.Error != "net::ERR_ABORTED" && !n.Canceled
}

// Answered says whether the request had an answer that was no failure.
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
	// Bad is true for a frame whose JSON says that something failed, and for a connection's error.
	Bad bool
}

// IsFrame says whether it is a frame that was sent or received, no step of the connection.
func (e *WebSocket) IsFrame() bool { return e.Op == "sent" || e.Op == "received" }

// Action is something a person did.
type Action struct {
	Head
	Type, Target, Selector, Value string
	Frame                         int
}

// Element is a change of an error element.
type Element struct {
	Head
	Op             string
	Frame          int
	Document       string
	ID             int
	Selector, Text string
}

// Navigation is a change of the tab's top document or its address.
type Navigation struct {
	Head
	How, URL, Title string
}

// Gap is a span that was not observed.
type Gap struct {
	Head
	// From and To are milliseconds since the epoch; To 0 means that it goes on.
	From, To int64
	Reason   string
	Dropped  int
}
