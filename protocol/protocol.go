// Package protocol is the wire between the browser extension and the host: JSON messages in
// native-messaging frames.
//
// Guarantees: the types here are the only definition of the wire format. The host's decoder, the extension's check and
// types, and the tables of PROTOCOL.md are generated from them; package table explains the tag "rule". Fields and codes
// are only ever added. A receiver ignores unknown fields. It refuses unknown kinds with a counted error and keeps the
// connection open. PROTOCOL.md describes the order of messages.
package protocol

// Version is the wire's version. A host and an extension of different versions refuse each other
// with [CodeVersion].
const Version = 1

// HostName is the name under which browsers know the native messaging host.
const HostName = "dev.tidemark.host"

// ExtensionID is the id that Chromium derives from the fixed key in the extension's manifest.
const ExtensionID = "paeppkelgladifoolajbebmkldcilaad"

// Limits of the wire, in bytes. The browser refuses larger messages.
const (
	// MaxToHost is the largest message that a browser passes to a native host.
	MaxToHost = 64 << 20
	// MaxToExtension is the largest message that a browser accepts from a native host.
	MaxToExtension = 1 << 20
)

// Message types. Every message has a "type".
const (
	TypeHello    = "hello"
	TypeWelcome  = "welcome"
	TypeEvents   = "events"
	TypeAck      = "ack"
	TypeTabs     = "tabs"
	TypeRequest  = "request"
	TypeResponse = "response"
	TypeError    = "error"
)

// Hello is the extension's first message on every connection.
type Hello struct {
	Type string `json:"type" rule:"from=extension"`
	// Protocol is the wire's version.
	Protocol int `json:"protocol" rule:"min=1"`
	// Extension is the extension's version.
	Extension string `json:"extension" rule:"filled"`
	// Browser is the browser's name and version, as in "Chromium 156.0.8078.79".
	Browser string `json:"browser" rule:"filled"`
	// Instance identifies the browser profile. It stays the same while the extension is installed.
	Instance string `json:"instance" rule:"filled"`
	// Session identifies one run of the browser; the next run has other tab ids. "" when unknown.
	Session string `json:"session,omitempty"`
	// Stream identifies one unbroken numbering of events. A worker that cannot continue an earlier
	// numbering, because its memory was lost, starts a new stream.
	Stream string `json:"stream" rule:"filled"`
	// First is the number of the oldest event that the extension still keeps, or its next number when
	// it keeps none. Numbers start at 1.
	First int64 `json:"first" rule:"min=1"`
	// Probe only checks whether the host answers. The host keeps nothing of it, and no message may follow.
	Probe bool `json:"probe,omitempty"`
}

// Welcome answers [Hello].
type Welcome struct {
	Type string `json:"type" rule:"from=host"`
	// Protocol is the wire's version.
	Protocol int `json:"protocol" rule:"min=1"`
	// Host is the host's version.
	Host string `json:"host"`
	// Next is the number of the next event that the host expects in this stream. All events below it are
	// acknowledged. It is 1 for a stream that is new to the host.
	Next int64 `json:"next" rule:"min=1"`
	// Run identifies one run of the host. It knows nothing of the debug sessions of an earlier run.
	Run string `json:"run,omitempty"`
}

// Events carries consecutive events of one stream. The host ignores those that it already has.
type Events struct {
	Type string `json:"type" rule:"from=extension"`
	// Stream identifies the numbering, as in [Hello].
	Stream string `json:"stream" rule:"filled"`
	// First is the number of the first event in the list. The others follow consecutively.
	First int64 `json:"first" rule:"min=1"`
	// Events are the list.
	Events []Event `json:"events" tstype:"AnyEvent[]"`
}

// Event stands for any of the event types below; the host decodes it in package event.
type Event = any

// Ack acknowledges every event of the stream below "next". Those events survive any exit of the host.
type Ack struct {
	Type string `json:"type" rule:"from=host"`
	// Stream identifies the numbering, as in [Hello].
	Stream string `json:"stream" rule:"filled"`
	// Next is the number of the first event that is not acknowledged.
	Next int64 `json:"next" rule:"min=1"`
}

// Tabs replaces the host's list of this browser's tabs. It follows each [Welcome] and each change of a tab.
type Tabs struct {
	Type string `json:"type" rule:"from=extension"`
	// Tabs are the browser's tabs.
	Tabs []Tab `json:"tabs"`
}

// Tab is one tab of the browser.
type Tab struct {
	// ID is the browser's id of the tab.
	ID int `json:"id"`
	// URL is the tab's address.
	URL string `json:"url" rule:"optional"`
	// Title is the tab's title.
	Title string `json:"title" rule:"optional"`
	// Watched is true while the tab is captured.
	Watched bool `json:"watched" rule:"optional"`
	// Capture is the capture mode: "quiet", "debugger", or "" when nothing is captured.
	Capture string `json:"capture,omitempty"`
	// DOM is true while the content script of the tab's current document answers.
	DOM bool `json:"dom,omitempty"`
	// Active is true for the tab in front of the window that was focused last.
	Active bool `json:"active,omitempty"`
	// Note explains why a tab that should be watched is not.
	Note string `json:"note,omitempty"`
	// Paused is set while the tab's page is paused in the debugger.
	Paused *TabPaused `json:"paused,omitempty"`
	// PausedPart is set while the page runs but one of its workers, or a frame in its own process, is paused.
	PausedPart *TabPaused `json:"paused_part,omitempty"`
}

// Request asks the other side for something. Both sides may send requests; the sender chooses the ids.
type Request struct {
	Type string `json:"type" rule:"from=either"`
	// ID identifies the request among those of its sender.
	ID int64 `json:"id" rule:"min=1"`
	// Method is what is asked for.
	Method string `json:"method" rule:"filled"`
	// Params are the arguments of the method.
	Params any `json:"params,omitempty"`
}

// Response answers the [Request] of the same id, with a result or an error.
type Response struct {
	Type string `json:"type" rule:"from=either"`
	// ID is that of the request.
	ID int64 `json:"id" rule:"min=1"`
	// Result is what the method returns.
	Result any `json:"result,omitempty"`
	// Error is the reason if there is no result.
	Error *Error `json:"error,omitempty"`
}

// Methods that the host calls on the extension.
const (
	// MethodSync delivers everything that the browser has reported so far. Params: [SyncParams],
	// result: [SyncResult]. The response follows the events that it covers.
	MethodSync = "sync"
	// MethodSourceMap fetches the source map of a script that a tab has loaded, with the rights of the tab's page.
	// Params: [SourceMapParams], result: [SourceMapResult].
	MethodSourceMap = "source_map"
)

// SyncParams lists the tabs that must answer; empty means all watched tabs.
type SyncParams struct {
	Tabs []int `json:"tabs,omitempty"`
	// TimeoutMs bounds the wait for content scripts and debugger sessions, in milliseconds.
	TimeoutMs int `json:"timeout_ms"`
}

// SyncResult lists the tabs that did not answer in time.
type SyncResult struct {
	// NoDOM lists the tabs whose content script did not answer.
	NoDOM []int `json:"no_dom,omitempty"`
	// NoCapture lists the tabs whose capture source did not answer.
	NoCapture []int `json:"no_capture,omitempty"`
}

// SourceMapParams names a script and limits what is fetched for it.
type SourceMapParams struct {
	Tab int    `json:"tab"`
	URL string `json:"url"`
	// TimeoutMs limits the time in milliseconds. MaxBytes limits the script and the map, each separately.
	TimeoutMs int `json:"timeout_ms"`
	MaxBytes  int `json:"max_bytes"`
	// Evaluated asks for the maps in the code that the script has as text and evaluates, in place of its own map. Data is
	// then an object of them, by the names of that code.
	Evaluated bool `json:"evaluated,omitempty"`
	// Served asks for the map of the code that a development server has now, whatever the tab has loaded.
	Served bool `json:"served,omitempty"`
}

// SourceMapResult is a source map.
type SourceMapResult struct {
	// URL is the base address of the map's file names: its own, or the script's for an inline map.
	URL string `json:"url"`
	// Data is the map, compressed with gzip and encoded as base64.
	Data string `json:"data"`
}

// OverviewParams select what the overview includes.
type OverviewParams struct {
	// Tabs adds the status of each watched tab.
	Tabs bool `json:"tabs,omitempty"`
}

// Overview is the content of the popup.
type Overview struct {
	Host string `json:"host"`
	// Severity and Summary cover all watched tabs since the newest checkpoint that belongs to all of them,
	// or everything in memory when there is none.
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Since    string `json:"since,omitempty"`
	// Errors and Warnings count the entries behind Severity.
	Errors   int `json:"errors,omitempty"`
	Warnings int `json:"warnings,omitempty"`
	// NotObserved describes the coverage gaps of that time; empty when there are none.
	NotObserved string           `json:"not_observed,omitempty"`
	Checkpoints []CheckpointLine `json:"checkpoints"`
	// Findings are the entries behind Severity, the worst first and then the most frequent, at most
	// [MaxFindings]. MoreFindings counts the rest.
	Findings     []Finding `json:"findings,omitempty"`
	MoreFindings int       `json:"more_findings,omitempty"`
	// Hidden counts the entries hidden by noise rules.
	Hidden int `json:"hidden,omitempty"`
	// Agents are those that have acted, in the order of their first action.
	Agents []Agent `json:"agents,omitempty"`
	// Tabs are the watched tabs of the requesting browser, if requested.
	Tabs []TabStanding `json:"tabs,omitempty"`
}

// TabStanding is the status of one tab, since the same moment as [Overview].
type TabStanding struct {
	// Tab is the browser's id of the tab.
	Tab      int    `json:"tab"`
	Severity string `json:"severity"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// NotObserved is true when there were coverage gaps.
	NotObserved bool `json:"not_observed,omitempty"`
}

// MaxFindings is how many findings the popup lists.
const MaxFindings = 5

// Finding is one distinct message, failed request, connection event, error element or slow endpoint.
type Finding struct {
	// Kind, Level, Origin and Fingerprint identify it for a noise rule. Fingerprint is empty when no rule can match it.
	Kind        string `json:"kind"`
	Level       string `json:"level"`
	Origin      string `json:"origin,omitempty"`
	Fingerprint string `json:"fingerprint"`
	// Text is the finding as shown to the user.
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// IgnoreParams identify a [Finding].
type IgnoreParams struct {
	Tab         int    `json:"tab,omitempty"`
	Kind        string `json:"kind"`
	Level       string `json:"level"`
	Origin      string `json:"origin,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// IgnoreResult is the noise rule that was added.
type IgnoreResult struct {
	// ID identifies the rule.
	ID string `json:"id"`
	// Hides counts the entries in memory that it hides.
	Hides int `json:"hides"`
	// Unsaved is why the rule could not be saved: it lasts until the host exits.
	Unsaved string `json:"unsaved,omitempty"`
}

// UnignoreParams identify a rule.
type UnignoreParams struct {
	ID string `json:"id" path:"rule"`
}

// CheckpointLine is one named checkpoint in the popup's list.
type CheckpointLine struct {
	// Name ends in "@" and the scope where the name alone would be ambiguous.
	Name string `json:"name"`
	// At is the creation time, RFC 3339 in UTC with milliseconds.
	At string `json:"at"`
	// Severity covers the time since the previous checkpoint; Errors and Warnings count the entries behind it.
	Severity string `json:"severity"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// NotObserved is true when that time had coverage gaps.
	NotObserved bool   `json:"not_observed,omitempty"`
	Note        string `json:"note,omitempty"`
}

// CheckpointParams asks for a named checkpoint in the scope of a tab.
type CheckpointParams struct {
	_    struct{} `additionalProperties:"false"`
	Name string   `json:"name" maxLength:"50"`
	Note string   `json:"note,omitempty" maxLength:"200"`
	Tab  int      `json:"tab,omitempty"`
}

// CheckpointResult is the checkpoint that was created.
type CheckpointResult struct {
	Name string `json:"name"`
	At   string `json:"at"`
	// Replaced is the time of the checkpoint of the same name that this one replaced.
	Replaced string `json:"replaced,omitempty"`
}

// Error is a failure: a message for people and a code for programs.
type Error struct {
	// Code is one of the error codes.
	Code string `json:"code"`
	// Message is what failed and what to do.
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// ErrorMessage reports that a message was rejected, or that the host was stopped. The connection stays open unless the code is "version".
type ErrorMessage struct {
	Type string `json:"type" rule:"from=host"`
	// Error is why it was rejected.
	Error Error `json:"error"`
}

// Error codes; append-only.
const (
	CodeVersion     = "version"      // the two sides use different versions of the protocol; update the older one
	CodeMalformed   = "malformed"    // a message is not a JSON object, or a required field is missing or has the wrong type
	CodeUnknown     = "unknown_type" // unknown message type, event kind or method
	CodeTooLarge    = "too_large"    // a message exceeds the size limit
	CodeOutOfOrder  = "out_of_order" // events before hello, or for another stream than hello named
	CodeInvalid     = "invalid"      // request arguments break a rule; the message names it
	CodeUnavailable = "unavailable"  // temporarily not available
	CodeNone        = "none"         // does not exist, for example a source map of a script that names none
	CodePaused      = "paused"       // the page is paused in the debugger and cannot answer
	CodeUnwatched   = "not_watched"  // the user has not turned on the tab or the origin
	CodeStopped     = "stopped"      // the user stopped the host, which starts with the next command; the relay waits for that
	CodeRunning     = "running"      // the request needs a paused thread, and none is paused
)
