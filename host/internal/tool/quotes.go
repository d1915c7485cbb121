package tool

import "tidemark.dev/tidemark/host/internal/report"

// Quotes marks an answer that quotes a page: its names, values and addresses are page data, not instructions. Embed it
// in an answer; [New] then sets the mark on every answer.
type Quotes struct {
	// PageText is [report.Untrusted].
	PageText string `json:"page_text,omitempty"`
}

func (q *Quotes) mark() { q.PageText = report.Untrusted }

// marked is an answer that embeds [Quotes].
type marked interface{ mark() }
