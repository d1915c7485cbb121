package observe

import (
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
)

// rawTokens estimates the tokens of the raw entries in a report's window, as the tools for logs, bodies, sockets and
// actions would return them.
func rawTokens(from capture.Moment, v *capture.View, o *diff.Options) int {
	inScope := o.InScope
	if o.EveryTab() {
		inScope = nil
	}
	bytes := 0
	for _, s := range capture.Sections {
		bytes += v.RawBytes(s, from.Pos[s.Track()], inScope)
	}
	return TokensOf(bytes)
}

// TokensOf estimates the tokens of so many bytes, as the specification does.
func TokensOf(bytes int) int { return bytes / 4 }
