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

// Limits of the texts of one event, in bytes. The host cuts longer text between characters.
const (
	MaxText   = 8 << 10  // the message of a console event
	MaxFrame  = 4 << 10  // a frame of a WebSocket
	MaxBody   = 64 << 10 // a body
	MaxURL    = 4 << 10  // an address
	MaxHeader = 4 << 10  // the value of a header
	MaxShort  = 1 << 10  // any other text
)

// MaxStack is the number of lines of a stack that the host keeps.
const MaxStack = 10

// EventHead holds the fields common to all events.
type EventHead struct {
	// Kind is one of the kinds above.
	Kind string `json:"kind"`
	// At is the time of the event in milliseconds since the Unix epoch.
	At int64 `json:"at" rule:"min=1"`
	// Tab is the browser's id of the tab.
	Tab int `json:"tab"`
	// Masked counts the secrets that were masked in this event.
	Masked int `json:"masked,omitempty"`
}

// ConsoleEvent is one console call, uncaught exception, unhandled rejection or browser log entry.
type ConsoleEvent struct {
	EventHead `tstype:",extends"`
	// Level is the severity. The values are listed in its order.
	Level string `json:"level" tstype:"'debug' | 'log' | 'info' | 'warning' | 'error'" rule:"ordered"`
	// Via is the origin of the message.
	Via string `json:"via" tstype:"'console' | 'exception' | 'rejection' | 'browser'"`
	// Category is the browser's source of a "browser" entry: network, security, deprecation,
	// worker, javascript, intervention, other …
	Category string `json:"category,omitempty"`
	// Text is the message.
	Text string `json:"text" rule:"text,cap=MaxText"`
	// Length is the full length of the message in UTF-16 units, if it was cut.
	Length int `json:"length,omitempty"`
	// URL is the address of the script in the top stack frame.
	URL string `json:"url,omitempty" rule:"url"`
	// Line is the line in the top stack frame, from 1; 0 means unknown.
	Line int `json:"line,omitempty"`
	// Column is the column in the top stack frame, from 1; 0 means unknown.
	Column int `json:"column,omitempty"`
	// Stack has lines "function (url:line:column)".
	Stack []string `json:"stack,omitempty" rule:"cap=MaxStack"`
	// Request is the id of the network request that a browser entry is about.
	Request string `json:"request,omitempty"`
	// Logged is the place of the console call, "function (url:line:column)", if the stack is that of an error
	// that the call logged.
	Logged string `json:"logged,omitempty" rule:"line"`
	// Target is where the code ran, if not in the tab's main document.
	Target string `json:"target,omitempty" tstype:"'iframe' | 'worker' | 'service_worker'" rule:"open"`
	// Left is true if the document was being left, or had been replaced when the entry arrived. The entry may come
	// after the navigation to the next document, to which it does not belong.
	Left bool `json:"left,omitempty"`
}

// RequestEvent reports the start of a request. A [NetworkEvent] with the same id follows, unless
// the tab is closed first.
type RequestEvent struct {
	EventHead `tstype:",extends"`
	// ID identifies the request.
	ID string `json:"id" rule:"filled"`
	// Method is the HTTP method.
	Method string `json:"method" rule:"filled"`
	// URL is the requested address.
	URL string `json:"url" rule:"url,filled"`
	// Resource is the browser's resource type in lower case: document, script, fetch, xhr, image …
	Resource string `json:"resource" rule:"optional"`
	// Operation is the name of the GraphQL operation that the body asks for. The host reads those of addresses itself.
	Operation string `json:"operation,omitempty"`
}

// NetworkEvent is a finished request, or one whose streamed response has started.
type NetworkEvent struct {
	EventHead `tstype:",extends"`
	// ID identifies the request.
	ID string `json:"id" rule:"filled"`
	// Method is the HTTP method.
	Method string `json:"method" rule:"filled"`
	// URL is the requested address.
	URL string `json:"url" rule:"url,filled"`
	// Resource is the browser's resource type in lower case: document, script, fetch, xhr, image …
	Resource string `json:"resource" rule:"optional"`
	// Status is the HTTP status, 0 when there was no response at all.
	Status int `json:"status" rule:"max=999"`
	// Error is why there was no response, or why it broke off: net::ERR_CONNECTION_REFUSED,
	// "CORS: …", "blocked: …".
	Error string `json:"error,omitempty" rule:"line"`
	// Canceled is true when the page or the browser aborted the request.
	Canceled bool `json:"canceled,omitempty"`
	// Started is the start in milliseconds since the epoch.
	Started int64 `json:"started"`
	// Order counts the requests of the tab that were sent before it in the same millisecond.
	Order int `json:"order,omitempty"`
	// Duration is in milliseconds.
	Duration float64 `json:"duration"`
	// Mime is the media type of the response.
	Mime string `json:"mime,omitempty"`
	// Size is the number of bytes received over the network.
	Size int64 `json:"size,omitempty"`
	// Cached is true when nothing was received over the network.
	Cached bool `json:"cached,omitempty"`
	// Stream is true for an open-ended response (text/event-stream).
	Stream bool `json:"stream,omitempty"`
	// RequestHeaders are the headers of the request.
	RequestHeaders map[string]string `json:"request_headers,omitempty"`
	// ResponseHeaders are the headers of the response.
	ResponseHeaders map[string]string `json:"response_headers,omitempty"`
	// RequestBody is the text of the request.
	RequestBody string `json:"request_body,omitempty" rule:"body"`
	// ResponseBody is the text of the response.
	ResponseBody string `json:"response_body,omitempty" rule:"body"`
	// BodyNote is why a body is missing or cut: "cut at 65536 of 91231 bytes".
	BodyNote string `json:"body_note,omitempty"`
	// Target is the source of the request, if not the tab's main document.
	Target string `json:"target,omitempty" tstype:"'iframe' | 'worker' | 'service_worker'" rule:"open"`
	// Backfilled is true for entries recovered from the browser's records because capture started late.
	Backfilled bool `json:"backfilled,omitempty"`
	// Stack has lines "function (url:line:column)": the code that made the request, the innermost frame first, and
	// then the code that scheduled it. A request of the document itself has one line, with the document's address.
	// "async function" is at the place where the function waits.
	Stack []string `json:"stack,omitempty" rule:"cap=MaxStack"`
}

// WebSocketEvent is one event of a WebSocket connection.
type WebSocketEvent struct {
	EventHead `tstype:",extends"`
	// ID identifies the connection.
	ID string `json:"id" rule:"filled"`
	// URL is the address of the connection.
	URL string `json:"url" rule:"url,filled"`
	// Op is what happened.
	Op string `json:"op" tstype:"'open' | 'sent' | 'received' | 'close' | 'error'"`
	// Text is the text of the frame, or the error message.
	Text string `json:"text,omitempty" rule:"text,cap=MaxFrame"`
	// Size is the full length of a text or binary frame in bytes.
	Size int `json:"size,omitempty"`
	// Binary is true for a binary frame.
	Binary bool `json:"binary,omitempty"`
	// Code is that of the close frame, if the browser reports it.
	Code int `json:"code,omitempty"`
	// Reason is that of the close frame, if the browser reports it.
	Reason string `json:"reason,omitempty" rule:"line"`
	// Leaving is true when leaving or reloading the page closed the connection.
	Leaving bool `json:"leaving,omitempty"`
	// Status is the HTTP status of a refused handshake, if the browser reports it.
	Status int `json:"status,omitempty" rule:"max=999"`
	// Stack has lines "function (url:line:column)": the code that opened the connection. Frames do not have it.
	Stack []string `json:"stack,omitempty" rule:"cap=MaxStack"`
}

// ActionEvent is one user action. Drivers that send trusted input count as users.
type ActionEvent struct {
	EventHead `tstype:",extends"`
	// Type is what the user did.
	Type string `json:"action" tstype:"'click' | 'type' | 'select' | 'submit' | 'key'"`
	// Target describes the element: `button "Add to cart"`, `textbox "Email"`. An unnamed element has
	// its test id or a short CSS path.
	Target string `json:"target" rule:"line"`
	// Selector is a CSS path to the element.
	Selector string `json:"selector,omitempty" rule:"line"`
	// Value is the typed or selected text. The mask replaces text that must not leave the page.
	Value string `json:"value,omitempty" rule:"text,cap=MaxShort"`
	// Frame is the browser's id of the frame; 0 for the top.
	Frame int `json:"frame,omitempty"`
	// Began is the time of the first input of a burst of typing, if it is earlier than At.
	Began int64 `json:"began,omitempty"`
}

// ElementEvent is one change of an error element on the page, or of the page's content as a whole.
type ElementEvent struct {
	EventHead `tstype:",extends"`
	// Op reports that an element appeared, changed its text or disappeared. After "reset" the frame has
	// another document, or none, and its error elements no longer exist. "emptied" and "filled" are about the
	// document of the top frame: it has no visible content since At, or has some again.
	Op string `json:"op" tstype:"'appeared' | 'changed' | 'gone' | 'reset' | 'emptied' | 'filled'"`
	// Frame is the browser's id of the frame; 0 for the top.
	Frame int `json:"frame"`
	// Document identifies the document in the frame.
	Document string `json:"document"`
	// ID identifies the element in its document.
	ID int `json:"id"`
	// Selector is a CSS path to the element.
	Selector string `json:"selector,omitempty" rule:"line"`
	// Text is the text of the element.
	Text string `json:"text,omitempty" rule:"text,cap=MaxShort"`
	// Alert is true for an element that calls for attention: one with an alert role, an overlay, or a toast.
	Alert bool `json:"alert,omitempty"`
}

// NavigationEvent reports that the tab's top document was replaced or changed its address.
type NavigationEvent struct {
	EventHead `tstype:",extends"`
	// How is what changed the document or its address.
	How string `json:"how" tstype:"'load' | 'reload' | 'history' | 'hash' | 'crash'"`
	// URL is the new address.
	URL string `json:"url" rule:"url,filled"`
	// Title is the title of the document.
	Title string `json:"title,omitempty" rule:"line"`
}

// GapEvent is a gap in coverage.
type GapEvent struct {
	EventHead `tstype:",extends"`
	// From is when the gap began, in milliseconds since the epoch.
	From int64 `json:"from" rule:"min=1"`
	// To is when the gap ended; 0 while it lasts.
	To int64 `json:"to" rule:"since=from"`
	// Reason is why the time is not covered.
	Reason string `json:"reason" tstype:"GapReason" rule:"open,filled"`
	// Dropped counts lost events; 0 when the number is unknown.
	Dropped int `json:"dropped,omitempty"`
}

// Reasons of gaps; append-only. Tab 0 in a gap means every tab of the browser.
const (
	GapPaused         = "paused"          // the user paused watching
	GapLateAttach     = "late_attach"     // the tab started loading before capture started
	GapWorkerRestart  = "worker_restart"  // the extension's worker was stopped and restarted
	GapDetached       = "detached"        // the user or DevTools ended the debugger session
	GapDropped        = "dropped"         // the extension's queue overflowed while the host was unreachable
	GapCaptureFailed  = "capture_failed"  // a capture source failed or could not start
	GapDisconnected   = "disconnected"    // the connection to the host was interrupted, and events are missing
	GapMalformed      = "malformed"       // the host could not read events that the extension sent
	GapBrowserEnded   = "browser_ended"   // the browser exited or the extension was reloaded; events not yet sent are lost
	GapNoBrowser      = "no_browser"      // no browser was connected
	GapRecorderFailed = "recorder_failed" // a recorder of the host failed and was started again
	GapJournalDamaged = "journal_damaged" // a part of the journal on disk could not be read
	// Quiet capture only: it cannot observe these parts of a page.
	GapWorkerUnseen        = "worker_unseen"         // a worker's console and WebSockets; its requests and uncaught errors are captured
	GapSharedWorkerUnseen  = "shared_worker_unseen"  // a shared worker to which the debugger cannot attach
	GapServiceWorkerUnseen = "service_worker_unseen" // the logs and requests of the page's service worker
	GapNotReplayed         = "not_replayed"          // an event stream started before the host knew of it
)
