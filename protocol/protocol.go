// Package protocol is the wire between the browser extension and the host: JSON messages in
// native-messaging frames.
//
// Guarantees: the types here are the only source of the wire's shape (extension/protocol.ts is
// generated from them); fields and codes are only ever added; a receiver ignores fields that it
// does not know and refuses kinds that it does not know with a counted error, never by ending the
// connection. PROTOCOL.md describes the order of messages.
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
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`
	// Extension is the extension's version.
	Extension string `json:"extension"`
	// Browser is the browser's name and version, as in "Chromium 156.0.8078.79".
	Browser string `json:"browser"`
	// Instance names the browser profile; it is kept for as long as the extension is installed.
	Instance string `json:"instance"`
	// Session names one life of the browser: with another, tabs have other ids. "" when not told.
	Session string `json:"session,omitempty"`
	// Stream names one unbroken numbering of events. A worker that cannot continue the numbering of
	// an earlier one (its memory is gone) begins a new stream.
	Stream string `json:"stream"`
	// First is the number of the oldest event that the extension still holds (its next number when
	// it holds none). Numbers begin at 1.
	First int64 `json:"first"`
	// Probe asks only whether the host answers: nothing is kept of it, and nothing can follow it.
	Probe bool `json:"probe,omitempty"`
}

// Welcome answers [Hello].
type Welcome struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`
	// Host is the host's version.
	Host string `json:"host"`
	// Next is the number of the event of this stream that the host expects next: all below it are
	// acknowledged. 1 for a stream that is new to the host.
	Next int64 `json:"next"`
	// Run names one life of the host; what an earlier one debugged, this one knows nothing of.
	Run string `json:"run,omitempty"`
}

// Events carries consecutive events of one stream. The host ignores those it has had already.
type Events struct {
	Type   string `json:"type"`
	Stream string `json:"stream"`
	// First is the number of the first event of Events; each one after it counts one more.
	First  int64   `json:"first"`
	Events []Event `json:"events" tstype:"AnyEvent[]"`
}

// Event stands for any of the event types below; the host decodes it in package event.
type Event = any

// Ack says that the host has taken every event of the stream below Next.
type Ack struct {
	Type   string `json:"type"`
	Stream string `json:"stream"`
	Next   int64  `json:"next"`
}

// Tabs replaces what the host knows of this browser's tabs.
type Tabs struct {
	Type string `json:"type"`
	Tabs []Tab  `json:"tabs"`
}

// Tab is one tab of the browser.
type Tab struct {
	// ID is the browser's own id of the tab.
	ID    int    `json:"id"`
	URL   string `json:"url"`
	Title string `json:"title"`
	// Watched says whether the tab is captured now.
	Watched bool `json:"watched"`
	// Capture is how: "debugger", or "" when nothing is captured.
	Capture string `json:"capture,omitempty"`
	// DOM says whether the content script of the tab's present document answers.
	DOM bool `json:"dom,omitempty"`
	// Active is true for the tab in front of the window that was focused last.
	Active bool `json:"active,omitempty"`
	// Note says in words why a tab that one would expect to be watched is not.
	Note string `json:"note,omitempty"`
	// Paused is set while the debugger holds the tab's page.
	Paused *TabPaused `json:"paused,omitempty"`
	// PausedPart is set while the page itself runs and the debugger holds a worker of it, or a frame in a process of its own.
	PausedPart *TabPaused `json:"paused_part,omitempty"`
}

// Request asks the other side for something. Both sides may ask; ids are the asker's own.
type Request struct {
	Type   string `json:"type"`
	ID     int64  `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// Response answers the [Request] of the same id, with exactly one of Result and Error.
type Response struct {
	Type   string `json:"type"`
	ID     int64  `json:"id"`
	Result any    `json:"result,omitempty"`
	Error  *Error `json:"error,omitempty"`
}

// Methods that the host asks of the extension.
const (
	// MethodSync: deliver everything that the browser has reported so far, then answer with
	// [SyncResult]. Params: [SyncParams]. The answer is posted after the events it speaks of.
	MethodSync = "sync"
	// MethodSourceMap: fetch the source map of a script that a tab has loaded, as the tab's page could.
	// Params: [SourceMapParams], result: [SourceMapResult].
	MethodSourceMap = "source_map"
)

// Methods that the extension's pages ask of the host.
const (
	// MethodOverview takes [OverviewParams] and answers with [Overview]: what the popup shows.
	MethodOverview = "overview"
	// MethodCheckpoint takes [CheckpointParams] and answers with [CheckpointResult].
	MethodCheckpoint = "checkpoint"
	// MethodIgnore takes [IgnoreParams] and answers with [IgnoreResult]: from now on an entry is noise.
	MethodIgnore = "ignore"
	// MethodUnignore takes [UnignoreParams]: the rule that [MethodIgnore] made is gone. It answers with {}.
	MethodUnignore = "unignore"
)

// SyncParams names the tabs that must answer; empty means all watched ones.
type SyncParams struct {
	Tabs []int `json:"tabs,omitempty"`
	// TimeoutMs bounds the wait for content scripts and debugger sessions, in milliseconds.
	TimeoutMs int `json:"timeout_ms"`
}

// SyncResult says which tabs did not answer in time.
type SyncResult struct {
	// NoDOM are the tabs whose content script did not answer.
	NoDOM []int `json:"no_dom,omitempty"`
	// NoCapture are the tabs whose capture source did not answer.
	NoCapture []int `json:"no_capture,omitempty"`
}

// SourceMapParams names a script, and bounds what is fetched for it.
type SourceMapParams struct {
	Tab int    `json:"tab"`
	URL string `json:"url"`
	// TimeoutMs bounds the time in milliseconds; MaxBytes the size of script and map, each for itself.
	TimeoutMs int `json:"timeout_ms"`
	MaxBytes  int `json:"max_bytes"`
}

// SourceMapResult is a source map.
type SourceMapResult struct {
	// URL is the address by which the map names its files: its own, or the script's for an inline map.
	URL string `json:"url"`
	// Data is the map's bytes, compressed by gzip, in base 64.
	Data string `json:"data"`
}

// OverviewParams say what the popup shows.
type OverviewParams struct {
	// Tabs asks how each watched tab stands, too.
	Tabs bool `json:"tabs,omitempty"`
}

// Overview is what the popup shows of the host.
type Overview struct {
	Host string `json:"host"`
	// Severity and Summary speak of all watched tabs, and of the time since the newest checkpoint that
	// belongs to all of them, or of everything held when there is none.
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Since    string `json:"since,omitempty"`
	// Errors and Warnings count what Severity is made of.
	Errors   int `json:"errors,omitempty"`
	Warnings int `json:"warnings,omitempty"`
	// NotObserved says what of that time was not observed, in words; empty when all was.
	NotObserved string           `json:"not_observed,omitempty"`
	Checkpoints []CheckpointLine `json:"checkpoints"`
	// Findings are what Severity is made of, the worst first and then the most frequent; at most
	// [MaxFindings]. MoreFindings counts the others.
	Findings     []Finding `json:"findings,omitempty"`
	MoreFindings int       `json:"more_findings,omitempty"`
	// Hidden counts the entries that noise rules keep out.
	Hidden int `json:"hidden,omitempty"`
	// Agents are those that have acted, in the order in which they first did.
	Agents []Agent `json:"agents,omitempty"`
	// Tabs are the watched tabs of the browser that asks, where it asks for them.
	Tabs []TabStanding `json:"tabs,omitempty"`
}

// TabStanding is how one tab stands, since the same moment as all together.
type TabStanding struct {
	// Tab is the browser's own id of it.
	Tab      int    `json:"tab"`
	Severity string `json:"severity"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// NotObserved says that something of it was not.
	NotObserved bool `json:"not_observed,omitempty"`
}

// MaxFindings bounds what the popup lists.
const MaxFindings = 5

// Finding is one distinct message, failed request, step of a connection, error element or slow endpoint.
type Finding struct {
	// Kind, Level, Origin and Fingerprint are what a noise rule knows it by; Fingerprint is empty where no rule can.
	Kind        string `json:"kind"`
	Level       string `json:"level"`
	Origin      string `json:"origin,omitempty"`
	Fingerprint string `json:"fingerprint"`
	// Text is how a person reads it.
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// IgnoreParams name a [Finding].
type IgnoreParams struct {
	Tab         int    `json:"tab,omitempty"`
	Kind        string `json:"kind"`
	Level       string `json:"level"`
	Origin      string `json:"origin,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// IgnoreResult says what was made of it.
type IgnoreResult struct {
	// ID names the rule.
	ID string `json:"id"`
	// Hides counts the entries held that it hides.
	Hides int `json:"hides"`
	// Unsaved says why the rule will be forgotten.
	Unsaved string `json:"unsaved,omitempty"`
}

// UnignoreParams name a rule.
type UnignoreParams struct {
	ID string `json:"id"`
}

// CheckpointLine is one named checkpoint as the popup lists it.
type CheckpointLine struct {
	// Name has "@" and its scope behind it where the name alone would be another's or several's.
	Name string `json:"name"`
	// At is the time it was made, RFC 3339 in UTC with milliseconds.
	At string `json:"at"`
	// Severity, and Errors and Warnings, which count what it is made of, speak of the time since the checkpoint before.
	Severity string `json:"severity"`
	Errors   int    `json:"errors,omitempty"`
	Warnings int    `json:"warnings,omitempty"`
	// NotObserved says that the time before it was not observed in full.
	NotObserved bool   `json:"not_observed,omitempty"`
	Note        string `json:"note,omitempty"`
}

// CheckpointParams asks for a named checkpoint in the scope of a tab.
type CheckpointParams struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
	Tab  int    `json:"tab,omitempty"`
}

// CheckpointResult says what was made.
type CheckpointResult struct {
	Name string `json:"name"`
	At   string `json:"at"`
	// Replaced is the time of the checkpoint of the same name that this one replaced.
	Replaced string `json:"replaced,omitempty"`
}

// Error is what went wrong, in words for a person, with a code for programs.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// ErrorMessage tells the other side that a message of its was not taken.
type ErrorMessage struct {
	Type  string `json:"type"`
	Error Error  `json:"error"`
}

// Error codes; append-only.
const (
	CodeVersion     = "version"      // the two sides speak different versions of the protocol
	CodeMalformed   = "malformed"    // a message is no JSON object, or a needed field is missing or of a wrong type
	CodeUnknown     = "unknown_type" // a message type, event kind or method is not known
	CodeTooLarge    = "too_large"    // a message exceeds the limit of the wire
	CodeOutOfOrder  = "out_of_order" // events arrived before hello, or of another stream than hello named
	CodeInvalid     = "invalid"      // arguments of a request break a rule; the message names it
	CodeUnavailable = "unavailable"  // what was asked for cannot be had now
	CodeNone        = "none"         // there is nothing of what was asked for: a script without a source map
	CodePaused      = "paused"       // the debugger holds the page; it cannot answer
	CodeUnwatched   = "not_watched"  // no person has switched the tab or the origin on
)
