// Package report is what an answer says that reports: its sections with their entries, and how entries, addresses and places
// are written.
//
// It guarantees: what is shown of a page is bounded; a filter hides entries, and never the severity; the names of places
// forge nothing that stands beside them. It is pure: no clock, no files, no network.
package report

import (
	"cmp"
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
)

// MaxEntries bounds what is shown in one section; MaxMessage the length of a message, in characters.
const (
	MaxEntries = 50
	MaxMessage = 200
)

// Severity says how bad a report is.
type Severity string

// Severities. Incompleteness is told in coverage, never here.
const (
	Clean   Severity = "clean"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// severities are all of them, the mildest first.
var severities = []Severity{Clean, Warning, Error}

// Compare is positive where the severity is worse than another one, and negative where it is milder.
func (s Severity) Compare(other Severity) int {
	return cmp.Compare(slices.Index(severities, s), slices.Index(severities, other))
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

// Untrusted marks answers that quote pages.
const Untrusted = "untrusted"

// Give adds entries that the report shows outside of its sections to those that [Report.Given] returns.
func (r *Report) Give(shown ...alike.Entry) { r.shown = append(r.shown, shown...) }

// Given returns the entries that the report shows, by which a reader's next report knows them again, and what it
// reports as over. What had no room or was hidden by the filter is not among them.
func (r *Report) Given() (shown []alike.Entry, over []uint64) { return r.shown, r.over }
