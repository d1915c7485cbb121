package report

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
)

// ConsoleDiff lists messages that were logged.
type ConsoleDiff struct {
	NewErrors       []Message `json:"new_errors,omitempty"`
	NewWarnings     []Message `json:"new_warnings,omitempty"`
	TotalNewEntries int       `json:"total_new_entries,omitempty"`
	Omitted         int       `json:"omitted,omitempty"`

	// ShownErrors and ShownWarnings are what the reader will know the listed messages by.
	ShownErrors   []alike.Entry `json:"-"`
	ShownWarnings []alike.Entry `json:"-"`
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
	// Also is what else said the same: "shown in .error", and where else the message came from: "at order.js:9".
	Also  string `json:"also,omitempty"`
	Count int    `json:"count"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *Introduced `json:"introduced_by,omitempty"`
	Tab          int         `json:"tab,omitempty"`
	Ref          *Ref        `json:"-"`
}

func (d *ConsoleDiff) filter(errorsOnly bool) int {
	if !errorsOnly {
		return 0
	}
	d.ShownWarnings = nil
	return dropAll(&d.NewWarnings)
}

func (d *ConsoleDiff) given() (shown []alike.Entry, over []uint64) {
	return slices.Concat(d.ShownErrors, d.ShownWarnings), nil
}

func (d *ConsoleDiff) quotes() bool { return len(d.NewErrors)+len(d.NewWarnings) > 0 }

func (d *ConsoleDiff) omitted() int { return d.Omitted }

// Empty reports whether nothing happened.
func (d *ConsoleDiff) Empty() bool { return d.TotalNewEntries == 0 }
