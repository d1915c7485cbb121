// Package render turns reports into what is read: JSON for agents, text for terminals. It gathers
// nothing itself.
package render

import (
	"encoding/json"

	"tidemark.dev/tidemark/host/internal/diff"
)

// bytesPerToken is the specification's estimate.
const bytesPerToken = 4

// CountTokens sets a report's token count: its JSON's length in bytes / 4.
func CountTokens(r *diff.Report) {
	r.TokenCount = 0
	data, err := json.Marshal(r)
	if err != nil {
		return // a report of plain values always marshals
	}
	r.TokenCount = (len(data) + len("000")) / bytesPerToken
}
