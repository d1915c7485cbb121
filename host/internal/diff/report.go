// Package diff compares two moments of what was captured and says what is new, in as few words as
// an agent needs.
//
// It guarantees: everything between the two moments is analysed, however much it is; what is shown
// is bounded ([MaxEntries] a section, the most severe first) and the rest is counted in omitted; a
// section covers exactly the positions from the baseline's to the view's; the same input gives the
// same report. It is pure: no clock, no files, no network.
package diff

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/tokens"
)

// MaxEntries bounds what is shown in one section; MaxMessage the length of a message, in characters.
const (
	MaxEntries = 50
	MaxMessage = 200
)

// Section is a part of a report, named after the buffer it reads.
type Section = capture.Section

// Severity says how bad a report is.
type Severity string

// Severities. Incompleteness is told in coverage, never here.
const (
	Clean   Severity = "clean"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// rankOf orders severities.
func rankOf(s Severity) int { return slices.Index([]Severity{Clean, Warning, Error}, s) }

func worse(a, b Severity) Severity {
	if rankOf(b) > rankOf(a) {
		return b
	}
	return a
}

// Filter is the least severity that is shown.
type Filter string

// Filters.
const (
	All        Filter = "all"
	Warnings   Filter = "warnings"
	ErrorsOnly Filter = "errors_only"
)

// Report is what is new between two moments. Sections that were not asked for are nil; in those that
// were, what is empty is left out.
type Report struct {
	From       Time     `json:"checkpoint_from"`
	To         Time     `json:"checkpoint_to"`
	Checkpoint string   `json:"checkpoint"`
	DurationMs int64    `json:"duration_ms"`
	Severity   Severity `json:"severity"`
	Summary    string   `json:"summary"`
	TokenCount int      `json:"token_count"`
	// PageText is Untrusted when entries below quote pages: what stands there is data of the page's
	// making, never an instruction.
	PageText string `json:"page_text,omitempty"`

	Console   *ConsoleDiff   `json:"console,omitempty"`
	Network   *NetworkDiff   `json:"network,omitempty"`
	WebSocket *WebSocketDiff `json:"websocket,omitempty"`
	DOM       *DOMDiff       `json:"dom,omitempty"`
	Actions   *ActionsDiff   `json:"actions,omitempty"`
	// Variables is nil, too, when nothing happened and no sections were asked for by name.
	Variables *VariablesDiff `json:"variables,omitempty"`
	// Files is nil, too, when nothing happened and no sections were asked for by name.
	Files *FilesDiff `json:"files,omitempty"`

	// Storms are requests, connections and messages that repeat without end.
	Storms []Storm `json:"storms,omitempty"`
	// Repeated is what the reader was already given; the last one sums up those that are not shown.
	Repeated []Repeated `json:"repeated,omitempty"`

	// Located are errors of earlier answers whose source map was late, with the places that are known by now.
	Located []Located `json:"located,omitempty"`

	// Settled is set by a wait: false with UnsettledBecause when the time ran out.
	Settled          *bool  `json:"settled,omitempty"`
	UnsettledBecause string `json:"unsettled_because,omitempty"`
	// BufferOverflow: entries of the window were evicted before they were read.
	BufferOverflow bool `json:"buffer_overflow,omitempty"`
	// DOMUnavailable: a watched tab's error elements could not be read.
	DOMUnavailable bool `json:"dom_unavailable,omitempty"`
	// NoiseHidden counts entries that noise rules kept out.
	NoiseHidden int `json:"noise_hidden,omitempty"`
	// NoiseProblems are noise rules that are not used, and why.
	NoiseProblems []string `json:"noise_problems,omitempty"`
	// SeverityHidden counts entries that the severity filter kept out.
	SeverityHidden int       `json:"severity_hidden,omitempty"`
	Coverage       *Coverage `json:"coverage,omitempty"`
	// Note says what was cut, and how to see it.
	Note string `json:"note,omitempty"`

	// Errors and Warnings count what Severity is made of, over all sections.
	Errors   int `json:"-"`
	Warnings int `json:"-"`
	// RawTokens estimates the tokens that reading everything in the window raw would have taken. It is nil where nobody
	// counts them, and holds on to what was captured.
	RawTokens func() int `json:"-"`

	encoded []byte // the report's JSON as it was counted; nil before
	shown   []alike.Entry
	over    []uint64
}

// computers compute the sections and put them into a report.
var computers = map[Section]func(*computation, *Report) section{
	capture.ConsoleSection:   func(c *computation, r *Report) section { r.Console = c.console(); return r.Console },
	capture.NetworkSection:   func(c *computation, r *Report) section { r.Network = c.network(); return r.Network },
	capture.WebSocketSection: func(c *computation, r *Report) section { r.WebSocket = c.websocket(); return r.WebSocket },
	capture.DOMSection:       func(c *computation, r *Report) section { r.DOM = c.dom(); return r.DOM },
	capture.ActionsSection:   func(c *computation, r *Report) section { r.Actions = c.actions(); return r.Actions },
	capture.VariablesSection: func(c *computation, r *Report) section {
		d := c.variables()
		if !d.empty() || len(c.o.Include) > 0 {
			r.Variables = d
		}
		return d
	},
	capture.FilesSection: func(c *computation, r *Report) section {
		d := changedFiles(c)
		if !d.empty() || len(c.o.Include) > 0 {
			r.Files = d
		}
		return d
	},
}

// Sections yields the sections that the report has, in the order of its fields.
func (r *Report) Sections(yield func(section any) bool) {
	for _, section := range r.sections {
		if !yield(section) {
			return
		}
	}
}

// Untrusted marks answers that quote pages.
const Untrusted = "untrusted"

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
	Tab       int  `json:"tab,omitempty"`
	Ref       *Ref `json:"-"`

	over int64 // when its newest repetition began, in milliseconds since the Unix epoch; 0 while it goes on
}

// ConsoleDiff lists messages that were logged.
type ConsoleDiff struct {
	NewErrors       []Message `json:"new_errors,omitempty"`
	NewWarnings     []Message `json:"new_warnings,omitempty"`
	TotalNewEntries int       `json:"total_new_entries,omitempty"`
	Omitted         int       `json:"omitted,omitempty"`

	errors, warnings []alike.Entry // what is listed
}

// Message is one message, however often it was logged.
type Message struct {
	Message string `json:"message"`
	// Source is file:line of the top frame.
	Source string `json:"source,omitempty"`
	// Generated is true where Source is a line of generated code: its map is missing, or was not there in time.
	Generated bool `json:"generated,omitempty"`
	// LoggedAt is file:line of the console call, where Source is that of the error that it logged.
	LoggedAt string `json:"logged_at,omitempty"`
	Count    int    `json:"count"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *Introduced `json:"introduced_by,omitempty"`
	Tab          int         `json:"tab,omitempty"`
	Ref          *Ref        `json:"-"`
}

// Request is what every entry of the network section has: of the request that it shows.
type Request struct {
	// Operation is the name of the GraphQL operation.
	Operation string `json:"operation,omitempty"`
	// StartedAt is when the request was sent, and DurationMs how long it took.
	StartedAt  Time `json:"started_at,omitzero"`
	DurationMs int  `json:"duration_ms,omitempty"`
	// Initiator is file:line of the first frame in the project's own code that made the request. A wrapper, through which
	// requests of several callers to several endpoints go, is left out.
	Initiator string `json:"initiator,omitempty"`
	// Generated is true where Initiator is a line of generated code.
	Generated bool `json:"generated,omitempty"`
}

// NetworkDiff lists endpoints whose state changed.
type NetworkDiff struct {
	Failures []Failure `json:"failures,omitempty"`
	// KnownFailures are endpoints that failed before the window, and within it in the same way. They are a warning. A reader
	// that folds has them in [Report.Repeated] instead.
	KnownFailures []Failure  `json:"known_failures,omitempty"`
	Degraded      []Degraded `json:"degraded,omitempty"`
	Recovered     []Changed  `json:"recovered,omitempty"`
	NewEndpoints  []Endpoint `json:"new_endpoints,omitempty"`
	// Late are requests that an action of the reader made, and that succeeded after its answer.
	Late []Endpoint `json:"late,omitempty"`
	// StillFailing counts the endpoints that fail at the end of the window as they did before it.
	StillFailing     int `json:"still_failing,omitempty"`
	TotalNewRequests int `json:"total_new_requests,omitempty"`
	Omitted          int `json:"omitted,omitempty"`

	shown, over []alike.Entry // failures that are listed, endpoints that are listed as recovered
}

// Failure is an endpoint that failed.
type Failure struct {
	Method         string `json:"method"`
	URL            string `json:"url"`
	Status         int    `json:"status"`
	PreviousStatus int    `json:"previous_status,omitempty"`
	Error          string `json:"error,omitempty"`
	Count          int    `json:"count,omitempty"`
	// NowStatus is the status of a later request that did not fail any more.
	NowStatus int `json:"now_status,omitempty"`
	// Detail is the first meaningful line of the failed answer.
	Detail  string `json:"detail,omitempty"`
	Request `tstype:",extends"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *Introduced `json:"introduced_by,omitempty"`
	Tab          int         `json:"tab,omitempty"`
	Ref          *Ref        `json:"-"`
}

// Degraded is an endpoint that has become slow.
type Degraded struct {
	Method        string `json:"method"`
	URL           string `json:"url"`
	AvgMs         int    `json:"avg_ms"`
	PreviousAvgMs int    `json:"previous_avg_ms"`
	Request       `tstype:",extends"`
	Tab           int  `json:"tab,omitempty"`
	Ref           *Ref `json:"-"`
}

// Changed is an endpoint that fails no more.
type Changed struct {
	Method         string `json:"method"`
	URL            string `json:"url"`
	Status         int    `json:"status"`
	PreviousStatus int    `json:"previous_status"`
	Request        `tstype:",extends"`
	Tab            int  `json:"tab,omitempty"`
	Ref            *Ref `json:"-"`
}

// Endpoint is an endpoint that was never seen before.
type Endpoint struct {
	Method  string `json:"method"`
	URL     string `json:"url"`
	Status  int    `json:"status"`
	Request `tstype:",extends"`
	Tab     int  `json:"tab,omitempty"`
	Ref     *Ref `json:"-"`
}

// WebSocketDiff lists what happened to connections.
type WebSocketDiff struct {
	Disconnections   []Disconnection `json:"disconnections,omitempty"`
	ErrorMessages    []SocketError   `json:"error_messages,omitempty"`
	NewConnections   []Connection    `json:"new_connections,omitempty"`
	TotalNewMessages int             `json:"total_new_messages,omitempty"`
	TotalNewEvents   int             `json:"total_new_events,omitempty"`
	Omitted          int             `json:"omitted,omitempty"`

	shown []alike.Entry // what is listed
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

// DOMDiff lists error elements that came or went.
type DOMDiff struct {
	NewErrorElements    []NewElement  `json:"new_error_elements,omitempty"`
	DisappearedElements []GoneElement `json:"disappeared_elements,omitempty"`
	// Flashes are messages that came and went while one field was filled in; they do not count as errors.
	Flashes []NewElement `json:"flashes,omitempty"`
	// PageEmptySince is when the page became empty because its code failed, PageEmptyTab its tab if there are several.
	PageEmptySince *Time      `json:"page_empty_since,omitempty"`
	PageEmptyTab   int        `json:"page_empty_tab,omitempty"`
	URLChanged     *URLChange `json:"url_changed,omitempty"`
	Crashed        []Crash    `json:"crashed,omitempty"`
	Omitted        int        `json:"omitted,omitempty"`

	shown, over []alike.Entry // elements that are listed as new, and as gone
}

// NewElement is an error element that was not visible before.
type NewElement struct {
	Selector string `json:"selector"`
	Text     string `json:"text"`
	// AppearedAt is left out when that was evicted.
	AppearedAt Time `json:"appeared_at,omitzero"`
	// GoneAt is set when it vanished again.
	GoneAt *Time `json:"gone_at,omitempty"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *Introduced `json:"introduced_by,omitempty"`
	Tab          int         `json:"tab,omitempty"`
	Ref          *Ref        `json:"-"`
}

// GoneElement is an error element that was visible and is no more.
type GoneElement struct {
	Selector string `json:"selector"`
	Text     string `json:"text"`
	Tab      int    `json:"tab,omitempty"`
	Ref      *Ref   `json:"-"`
}

// URLChange is the address of the tab that changed it last.
type URLChange struct {
	From string `json:"from"`
	To   string `json:"to"`
	Tab  int    `json:"tab,omitempty"`
	Ref  *Ref   `json:"-"`
}

// Crash is a tab whose page crashed.
type Crash struct {
	URL string `json:"url"`
	At  Time   `json:"at"`
	Tab int    `json:"tab,omitempty"`
	Ref *Ref   `json:"-"`
}

// ActionsDiff lists what a person did.
type ActionsDiff struct {
	NewActions      []Action `json:"new_actions,omitempty"`
	TotalNewActions int      `json:"total_new_actions,omitempty"`
	Omitted         int      `json:"omitted,omitempty"`
}

// Action is one action.
type Action struct {
	Type   string `json:"type"`
	Target string `json:"target"`
	Value  string `json:"value,omitempty"`
	At     Time   `json:"at"`
	Tab    int    `json:"tab,omitempty"`
	Ref    *Ref   `json:"-"`
}

// VariablesDiff lists what debuggers saw.
type VariablesDiff struct {
	Pauses    []Pause        `json:"pauses,omitempty"`
	Hits      []TraceHits    `json:"hits,omitempty"`
	Snapshots []SnapshotMade `json:"snapshots,omitempty"`
	// TotalNewEvents counts pauses, ends of pauses, hits and snapshots.
	TotalNewEvents int `json:"total_new_events,omitempty"`
	Omitted        int `json:"omitted,omitempty"`
}

// Pause is a place where a thread paused.
type Pause struct {
	// At is when it paused there last.
	At     Time   `json:"at"`
	Reason string `json:"reason"`
	// Place is function and line: "total (cart.ts:13)".
	Place string `json:"place,omitempty"`
	// Thread is the kind of a thread that is not the page.
	Thread string `json:"thread,omitempty"`
	// By names the agents that caused it.
	By    string `json:"by,omitempty"`
	Count int    `json:"count,omitempty"`
	// Paused is true while it pauses.
	Paused bool `json:"paused,omitempty"`
	Tab    int  `json:"tab,omitempty"`
	Ref    *Ref `json:"-"`
}

// TraceHits are the hits of a tracepoint.
type TraceHits struct {
	ID    string `json:"id"`
	Place string `json:"place,omitempty"`
	Count int    `json:"count"`
	// Last are the values of the newest hit.
	Last map[string]string `json:"last,omitempty"`
	By   string            `json:"by,omitempty"`
	Tab  int               `json:"tab,omitempty"`
	Ref  *Ref              `json:"-"`
}

// SnapshotMade is a variable snapshot.
type SnapshotMade struct {
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
	At    Time   `json:"at"`
	Place string `json:"place,omitempty"`
	By    string `json:"by,omitempty"`
	Tab   int    `json:"tab,omitempty"`
	Ref   *Ref   `json:"-"`
}

// FilesDiff lists files of workspaces that differ at the two moments.
type FilesDiff struct {
	// Changed has at most [MaxFiles] entries. Directories stand for their files where more changed.
	Changed []ChangedFile `json:"changed,omitempty"`
	// TotalChanged counts the files, Omitted those that no entry stands for.
	TotalChanged int `json:"total_changed,omitempty"`
	Omitted      int `json:"omitted,omitempty"`
}

// ChangedFile is a file that changed, or a directory that stands for several.
type ChangedFile struct {
	// Path is relative to the workspace. A directory's ends in "/".
	Path string `json:"path"`
	// Change is added, modified, removed or renamed. A directory whose files changed in different ways is modified.
	Change string `json:"change"`
	// From is the path that a renamed file had before.
	From string `json:"from,omitempty"`
	// Added and Removed count lines. They are nil where the lines are not known.
	Added   *int `json:"added,omitempty"`
	Removed *int `json:"removed,omitempty"`
	// Count is the number of changes of the file that Added and Removed are the sum of, where there are several.
	Count int `json:"count,omitempty"`
	// Binary is true for a file without lines.
	Binary bool `json:"binary,omitempty"`
	// Files counts the files that a directory stands for.
	Files int `json:"files,omitempty"`
	// By names what made the change: the agent's call, "one of" several where that is not known, or what the snapshot was taken
	// after. Prompt is the beginning of the prompt behind the newest call, "" where the conversation is not recorded.
	By     string `json:"by,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	// Workspace is the workspace's path, where the report covers several.
	Workspace string `json:"workspace,omitempty"`
	Ref       *Ref   `json:"-"`
}

// Coverage says what was not observed. A report of a window that was fully observed has none.
type Coverage struct {
	Gaps    []GapSpan `json:"gaps,omitempty"`
	Dropped int       `json:"dropped,omitempty"`
	Note    string    `json:"note"`
	// Unwatched says that nothing in scope is observed at the window's end: no browser, or no watched tab.
	Unwatched bool `json:"unwatched,omitempty"`
}

// GapSpan is a span that was not observed, cut to the window. To is nil when it goes on.
type GapSpan struct {
	From   Time   `json:"from"`
	To     *Time  `json:"to,omitempty"`
	Reason string `json:"reason"`
	Tab    int    `json:"tab,omitempty"`
	// Tabs are those of a gap that several tabs have alike; Tab is 0 then.
	Tabs []int `json:"tabs,omitempty"`
}

// Shorten cuts a message to MaxMessage characters, on one line.
func Shorten(s string) string { return cutTo(s, MaxMessage) }

// cutTo cuts a text to a number of characters.
func cutTo(s string, most int) string {
	s = strings.TrimSpace(s)
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == most {
			if strings.TrimSpace(s[i:]) == s[i:] && len([]rune(s[i:])) == 1 {
				return s
			}
			return s[:i] + "…"
		}
	}
	return s
}

// tokenCount is how a report's JSON begins its count, before it is counted. No text within can look like it: the
// quotes of a text are escaped.
const tokenCount = `"token_count":0`

// CountTokens sets TokenCount, the estimate of package tokens for the report's JSON. It comes last: what [Encode] writes
// of the report from now on is what was counted.
func (r *Report) CountTokens() {
	r.TokenCount, r.encoded = 0, nil
	data, err := Encode(r)
	if err != nil {
		return // a report of plain values always marshals
	}
	r.TokenCount = tokens.Estimate(data) // a count of up to three digits is one token, as the zero is
	before, after, _ := bytes.Cut(data, []byte(tokenCount))
	counted := append(make([]byte, 0, len(data)+8), before...)
	counted = strconv.AppendInt(append(counted, tokenCount[:len(tokenCount)-1]...), int64(r.TokenCount), 10)
	r.encoded = append(counted, after...)
}

// Empty says whether nothing at all happened in the window.
func (r *Report) Empty() bool {
	for _, section := range r.sections {
		if !section.empty() {
			return false
		}
	}
	return true
}

// Encode is an answer's JSON as every surface writes it: without insignificant white space, and
// without the escapes that only HTML needs, which an agent would pay for.
func Encode(answer any) ([]byte, error) {
	if r, ok := answer.(*Report); ok && r != nil && r.encoded != nil {
		return r.encoded, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Located is an error that an earlier answer showed at a generated line, and its place in the project's files.
type Located struct {
	Message string `json:"message"`
	Source  string `json:"source"`
}

// Introduced is the change of a file after which something first appeared.
type Introduced struct {
	// Path is relative to the workspace. Line is 0 where the evidence is about no line.
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	// Moment is the moment of the change, or its file snapshot if it has no moment. A reader without a workspace gets it with
	// its session, as in m3@shop-1.
	Moment string `json:"moment"`
	// Evidence is stack, hot_update or order, the strongest first.
	Evidence []string `json:"evidence"`
	// Call is the agent's call that made the change, "one of" several where that is not known. Prompt is the beginning of the
	// prompt behind it. Both are "" where the conversation is not recorded.
	Call   string `json:"call,omitempty"`
	Prompt string `json:"prompt,omitempty"`
}
