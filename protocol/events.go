package protocol

// Event kinds.
const (
	KindConsole    = "console"
	KindRequest    = "request"
	KindNetwork    = "network"
	KindWebSocket  = "websocket"
	KindAction     = "action"
	KindElement    = "element"
	KindNavigation = "navigation"
	KindGap        = "gap"
)

// EventHead is what every event begins with.
type EventHead struct {
	Kind string `json:"kind"`
	// At is when it happened: milliseconds since the Unix epoch.
	At int64 `json:"at"`
	// Tab is the browser's id of the tab.
	Tab int `json:"tab"`
	// Masked counts the secrets that were masked in this event.
	Masked int `json:"masked,omitempty"`
}

// ConsoleEvent is one console call, uncaught exception, unhandled rejection or browser log entry.
type ConsoleEvent struct {
	EventHead `tstype:",extends"`
	Level     string `json:"level" tstype:"'error' | 'warning' | 'info' | 'log' | 'debug'"`
	// Via says where it came from.
	Via string `json:"via" tstype:"'console' | 'exception' | 'rejection' | 'browser'"`
	// Category is the browser's own source of a "browser" entry: network, security, deprecation,
	// worker, javascript, intervention, other …
	Category string `json:"category,omitempty"`
	// Text is the message, at most 8 KiB; Length is its full length in UTF-16 units when it was cut.
	Text   string `json:"text"`
	Length int    `json:"length,omitempty"`
	// URL, Line and Column name the top stack frame; Line and Column count from 1, 0 when unknown.
	URL    string `json:"url,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Stack is at most 10 lines "function (url:line:column)".
	Stack []string `json:"stack,omitempty"`
	// Request is the id of the network request that a browser entry speaks of.
	Request string `json:"request,omitempty"`
	// Target is where it ran when that was not the tab's main document.
	Target string `json:"target,omitempty" tstype:"'iframe' | 'worker' | 'service_worker'"`
}

// RequestEvent says that a request began. It is followed by a NetworkEvent of the same id, unless
// the tab goes away.
type RequestEvent struct {
	EventHead `tstype:",extends"`
	ID        string `json:"id"`
	Method    string `json:"method"`
	URL       string `json:"url"`
	// Resource is the browser's resource type in lower case: document, script, fetch, xhr, image …
	Resource string `json:"resource"`
}

// NetworkEvent is one request that has ended, or whose answer is a stream that has begun.
type NetworkEvent struct {
	EventHead `tstype:",extends"`
	ID        string `json:"id"`
	Method    string `json:"method"`
	URL       string `json:"url"`
	Resource  string `json:"resource"`
	// Status is the HTTP status, 0 when there was no response at all.
	Status int `json:"status"`
	// Error is why there was none, or why the response broke off: net::ERR_CONNECTION_REFUSED,
	// "CORS: …", "blocked: …".
	Error string `json:"error,omitempty"`
	// Canceled is true when the page or the browser gave the request up.
	Canceled bool `json:"canceled,omitempty"`
	// Started is when it began (milliseconds since the epoch); Duration in milliseconds.
	Started  int64   `json:"started"`
	Duration float64 `json:"duration"`
	Mime     string  `json:"mime,omitempty"`
	// Size is the number of bytes that came over the network.
	Size int64 `json:"size,omitempty"`
	// Cached is true when no byte came over the network.
	Cached bool `json:"cached,omitempty"`
	// Stream is true for an answer that does not end by itself (text/event-stream).
	Stream          bool              `json:"stream,omitempty"`
	RequestHeaders  map[string]string `json:"request_headers,omitempty"`
	ResponseHeaders map[string]string `json:"response_headers,omitempty"`
	RequestBody     string            `json:"request_body,omitempty"`
	// ResponseBody is text, at most 64 KiB of it.
	ResponseBody string `json:"response_body,omitempty"`
	// BodyNote says why a body is missing or cut: "cut at 65536 of 91231 bytes".
	BodyNote string `json:"body_note,omitempty"`
	// Target is where the request came from when that was not the tab's main document.
	Target string `json:"target,omitempty" tstype:"'iframe' | 'worker' | 'service_worker'"`
	// Backfilled is true when the browser's records were read afterwards, because capture began late.
	Backfilled bool `json:"backfilled,omitempty"`
}

// WebSocketEvent is one step in the life of a WebSocket connection.
type WebSocketEvent struct {
	EventHead `tstype:",extends"`
	// ID names the connection.
	ID  string `json:"id"`
	URL string `json:"url"`
	Op  string `json:"op" tstype:"'open' | 'sent' | 'received' | 'close' | 'error'"`
	// Text is the frame's text, at most 4 KiB, or the error's message; Size is the frame's full
	// length in bytes (of a binary frame too).
	Text   string `json:"text,omitempty"`
	Size   int    `json:"size,omitempty"`
	Binary bool   `json:"binary,omitempty"`
	// Code and Reason are those of a close frame, when the browser tells them.
	Code   int    `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Leaving is true for a close that the page caused by being left or reloaded.
	Leaving bool `json:"leaving,omitempty"`
}

// ActionEvent is one action of a person (or of a driver that sends trusted input).
type ActionEvent struct {
	EventHead `tstype:",extends"`
	Action    string `json:"action" tstype:"'click' | 'type' | 'select' | 'submit' | 'key'"`
	// Target names the element for a reader: `button "Add to cart"`, `textbox "Email"`; its test id
	// or short CSS path where it has no name.
	Target   string `json:"target"`
	Selector string `json:"selector,omitempty"`
	// Value is what was typed or chosen; the mask in place of what must not leave the page.
	Value string `json:"value,omitempty"`
	Frame int    `json:"frame,omitempty"`
}

// ElementEvent is one change of an error element on the page.
type ElementEvent struct {
	EventHead `tstype:",extends"`
	// Op: an element appeared, its text changed, it is gone; "reset": the frame shows another
	// document now (or none), whatever error elements it had are gone.
	Op string `json:"op" tstype:"'appeared' | 'changed' | 'gone' | 'reset'"`
	// Frame and Document name the document; ID is unique within it.
	Frame    int    `json:"frame"`
	Document string `json:"document"`
	ID       int    `json:"id"`
	Selector string `json:"selector,omitempty"`
	Text     string `json:"text,omitempty"`
}

// NavigationEvent says that the tab's top document changed its address or was replaced.
type NavigationEvent struct {
	EventHead `tstype:",extends"`
	How       string `json:"how" tstype:"'load' | 'reload' | 'history' | 'hash' | 'crash'"`
	URL       string `json:"url"`
	Title     string `json:"title,omitempty"`
}

// GapEvent says what was not seen.
type GapEvent struct {
	EventHead `tstype:",extends"`
	// From and To bound the time (milliseconds since the epoch); To 0 means "still".
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Reason is a word from the list in PROTOCOL.md.
	Reason string `json:"reason" tstype:"GapReason"`
	// Dropped counts events known to be lost; 0 when nobody can know.
	Dropped int `json:"dropped,omitempty"`
}

// Reasons of gaps; append-only. Tab 0 in a gap means every tab of the browser.
const (
	GapPaused         = "paused"          // a person paused watching
	GapLateAttach     = "late_attach"     // the tab was being loaded before capture began
	GapWorkerRestart  = "worker_restart"  // the extension's worker was ended and began anew
	GapDetached       = "detached"        // the person, or DevTools, ended the debugger's session
	GapDropped        = "dropped"         // events overflowed the extension's queue while the host was away
	GapCaptureFailed  = "capture_failed"  // a capture source could not be started or broke
	GapDisconnected   = "disconnected"    // the browser's connection to the host was interrupted and events are missing
	GapMalformed      = "malformed"       // the host could not read events that the extension sent
	GapBrowserEnded   = "browser_ended"   // the browser ended, or the extension was loaded anew; what it had not yet told is lost
	GapNoBrowser      = "no_browser"      // no browser was connected
	GapJournalDamaged = "journal_damaged" // a part of what was kept on disk could not be read
	// Quiet capture only: the page has something into which it cannot look.
	GapWorkerUnseen        = "worker_unseen"         // a worker's console and WebSockets; its requests and uncaught errors are seen
	GapSharedWorkerUnseen  = "shared_worker_unseen"  // a shared worker that the browser does not let the debugger attach to
	GapServiceWorkerUnseen = "service_worker_unseen" // what the page's service worker logs and asks for
	GapNotReplayed         = "not_replayed"          // an event stream began before the host knew of it
)
