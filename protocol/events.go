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

// EventHead holds the fields common to all events.
type EventHead struct {
	Kind string `json:"kind"`
	// At is the time of the event in milliseconds since the Unix epoch.
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
	// Via is the origin of the message.
	Via string `json:"via" tstype:"'console' | 'exception' | 'rejection' | 'browser'"`
	// Category is the browser's source of a "browser" entry: network, security, deprecation,
	// worker, javascript, intervention, other …
	Category string `json:"category,omitempty"`
	// Text is the message, at most 8 KiB. Length is the full length in UTF-16 units when it was cut.
	Text   string `json:"text"`
	Length int    `json:"length,omitempty"`
	// URL, Line and Column are those of the top stack frame. Line and Column start at 1; 0 means unknown.
	URL    string `json:"url,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Stack has at most 10 lines "function (url:line:column)".
	Stack []string `json:"stack,omitempty"`
	// Request is the id of the network request that a browser entry is about.
	Request string `json:"request,omitempty"`
	// Target is where the code ran, if not in the tab's main document.
	Target string `json:"target,omitempty" tstype:"'iframe' | 'worker' | 'service_worker'"`
}

// RequestEvent reports the start of a request. A NetworkEvent with the same id follows, unless
// the tab is closed first.
type RequestEvent struct {
	EventHead `tstype:",extends"`
	ID        string `json:"id"`
	Method    string `json:"method"`
	URL       string `json:"url"`
	// Resource is the browser's resource type in lower case: document, script, fetch, xhr, image …
	Resource string `json:"resource"`
}

// NetworkEvent is a finished request, or one whose streamed response has started.
type NetworkEvent struct {
	EventHead `tstype:",extends"`
	ID        string `json:"id"`
	Method    string `json:"method"`
	URL       string `json:"url"`
	Resource  string `json:"resource"`
	// Status is the HTTP status, 0 when there was no response at all.
	Status int `json:"status"`
	// Error is why there was no response, or why it broke off: net::ERR_CONNECTION_REFUSED,
	// "CORS: …", "blocked: …".
	Error string `json:"error,omitempty"`
	// Canceled is true when the page or the browser aborted the request.
	Canceled bool `json:"canceled,omitempty"`
	// Started is the start in milliseconds since the epoch. Duration is in milliseconds.
	Started  int64   `json:"started"`
	Duration float64 `json:"duration"`
	Mime     string  `json:"mime,omitempty"`
	// Size is the number of bytes received over the network.
	Size int64 `json:"size,omitempty"`
	// Cached is true when nothing was received over the network.
	Cached bool `json:"cached,omitempty"`
	// Stream is true for an open-ended response (text/event-stream).
	Stream          bool              `json:"stream,omitempty"`
	RequestHeaders  map[string]string `json:"request_headers,omitempty"`
	ResponseHeaders map[string]string `json:"response_headers,omitempty"`
	RequestBody     string            `json:"request_body,omitempty"`
	// ResponseBody is the text of the response, at most 64 KiB.
	ResponseBody string `json:"response_body,omitempty"`
	// BodyNote is why a body is missing or cut: "cut at 65536 of 91231 bytes".
	BodyNote string `json:"body_note,omitempty"`
	// Target is the source of the request, if not the tab's main document.
	Target string `json:"target,omitempty" tstype:"'iframe' | 'worker' | 'service_worker'"`
	// Backfilled is true for entries recovered from the browser's records because capture started late.
	Backfilled bool `json:"backfilled,omitempty"`
}

// WebSocketEvent is one event of a WebSocket connection.
type WebSocketEvent struct {
	EventHead `tstype:",extends"`
	// ID identifies the connection.
	ID  string `json:"id"`
	URL string `json:"url"`
	Op  string `json:"op" tstype:"'open' | 'sent' | 'received' | 'close' | 'error'"`
	// Text is the text of the frame, at most 4 KiB, or the error message. Size is the full length of a
	// text or binary frame in bytes.
	Text   string `json:"text,omitempty"`
	Size   int    `json:"size,omitempty"`
	Binary bool   `json:"binary,omitempty"`
	// Code and Reason are those of the close frame, if the browser reports them.
	Code   int    `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Leaving is true when leaving or reloading the page closed the connection.
	Leaving bool `json:"leaving,omitempty"`
}

// ActionEvent is one user action. Drivers that send trusted input count as users.
type ActionEvent struct {
	EventHead `tstype:",extends"`
	Action    string `json:"action" tstype:"'click' | 'type' | 'select' | 'submit' | 'key'"`
	// Target describes the element: `button "Add to cart"`, `textbox "Email"`. An unnamed element has
	// its test id or a short CSS path.
	Target   string `json:"target"`
	Selector string `json:"selector,omitempty"`
	// Value is the typed or selected text. The mask replaces text that must not leave the page.
	Value string `json:"value,omitempty"`
	Frame int    `json:"frame,omitempty"`
}

// ElementEvent is one change of an error element on the page.
type ElementEvent struct {
	EventHead `tstype:",extends"`
	// Op reports that an element appeared, changed its text or disappeared. After "reset" the frame has
	// another document, or none, and its error elements no longer exist.
	Op string `json:"op" tstype:"'appeared' | 'changed' | 'gone' | 'reset'"`
	// Frame and Document identify the document; ID is unique within it.
	Frame    int    `json:"frame"`
	Document string `json:"document"`
	ID       int    `json:"id"`
	Selector string `json:"selector,omitempty"`
	Text     string `json:"text,omitempty"`
}

// NavigationEvent reports that the tab's top document was replaced or changed its address.
type NavigationEvent struct {
	EventHead `tstype:",extends"`
	How       string `json:"how" tstype:"'load' | 'reload' | 'history' | 'hash' | 'crash'"`
	URL       string `json:"url"`
	Title     string `json:"title,omitempty"`
}

// GapEvent is a gap in coverage.
type GapEvent struct {
	EventHead `tstype:",extends"`
	// From and To limit the time, in milliseconds since the epoch. To is 0 while the gap lasts.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Reason is one of the Gap constants.
	Reason string `json:"reason" tstype:"GapReason"`
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
