package alike

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Address returns a request's path and query, without what changes each time that it is made.
func Address(e *event.Network) string {
	_, path := capture.SplitURL(e.URL)
	_, query, has := strings.Cut(e.URL, "?")
	if query, _, _ = strings.Cut(query, "#"); !has || query == "" {
		return path
	}
	return path + "?" + Query(query)
}
