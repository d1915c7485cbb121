package tool

import "tidemark.dev/tidemark/host/internal/diff"

// Quotes marks an answer that quotes a page: names, values and addresses in it are the page's, data and no
// instructions. The answer of a tool that has it is always marked.
type Quotes struct {
	// PageText is [diff.Untrusted].
	PageText string `json:"page_text,omitempty"`
}

func (q *Quotes) mark() { q.PageText = diff.Untrusted }

// marked is an answer with [Quotes] in it.
type marked interface{ mark() }
