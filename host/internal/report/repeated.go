package report

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// MaxRepeated bounds how many repeated messages are listed, maxRepeatedText their length in characters.
const (
	MaxRepeated     = 5
	maxRepeatedText = 100
)

// Repeated is an entry that the reader was already given, and how often it occurred in the window.
type Repeated struct {
	Message string `json:"message"`
	Count   int    `json:"count"`
	// Initiator is file:line of the code that made a failed request or logged a message, of up to three places that logged it, or
	// what an error overlay names.
	Initiator string `json:"initiator,omitempty"`
	// Generated is true where Initiator is a line of generated code.
	Generated bool `json:"generated,omitempty"`
}

// RepeatedText is a text as the message of a repeated entry.
func RepeatedText(text string) string { return Cut(event.OneLine(text), maxRepeatedText) }

// SumRepeated cuts a list of repeated entries to those that are shown, and sums up the others.
func SumRepeated(list []Repeated) []Repeated {
	if len(list) <= MaxRepeated {
		return list
	}
	rest := Repeated{Message: fmt.Sprintf("%d more", len(list)-MaxRepeated)}
	for _, r := range list[MaxRepeated:] {
		rest.Count += r.Count
	}
	return append(slices.Clone(list[:MaxRepeated]), rest)
}

// CountRepeated says how many errors and warnings are repeated: "4 repeated errors"; "" for none.
func CountRepeated(errors, warnings int) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{errors, "error"}, {warnings, "warning"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 repeated "+p.what)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d repeated %ss", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// CountStillFailing says how many endpoints have the same failures as before: "2 endpoints still fail"; "" for none.
func CountStillFailing(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 endpoint still fails"
	}
	return fmt.Sprintf("%d endpoints still fail", n)
}
