package report

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Shorten cuts a message to MaxMessage characters, on one line.
func Shorten(s string) string { return Cut(s, MaxMessage) }

// Cut cuts a text to a number of characters.
func Cut(s string, most int) string {
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

// Address is the address of an endpoint as it is shown: the path when the origin is that of the page. It is cut as messages
// are; the tools that read entries have it whole.
func Address(page, origin, path string) string {
	if origin == page || origin == "" {
		return Shorten(path)
	}
	return Shorten(origin + path)
}

// SocketAddress is the address of a connection as those of requests are shown: the path when the host is the page's own.
func SocketAddress(page, raw string) string {
	origin, path := capture.SplitURL(raw)
	if "http"+strings.TrimPrefix(origin, "ws") == page {
		origin = page
	}
	return Address(page, origin, path)
}

// RequestName is a request in a few words: "POST /graphql AddToCart".
func RequestName(e *event.Network) string {
	origin, path := capture.SplitURL(e.URL)
	return nameOf(e, origin, path)
}

// EndpointName is a request's endpoint in a few words: "GET /api/items/{id}".
func EndpointName(e *event.Network) string {
	k := capture.KeyOf(e)
	return nameOf(e, k.Origin, k.Path)
}

func nameOf(e *event.Network, origin, path string) string {
	return strings.TrimSpace(event.Method(e.Method) + " " + event.Unbroken(Address(e.Origin(), origin, path)) + " " + event.Unbroken(e.Operation))
}

// FailedLoad returns the address of a log entry of the browser about a failed load, as it is shown; "" for any other entry. A
// report has such an entry only if it has no request to show, because capture began later.
func FailedLoad(e *event.Console) string {
	if e.Via != "browser" || e.Category != "network" || e.URL == "" || !strings.HasPrefix(e.Text, "Failed to load resource") {
		return ""
	}
	origin, path := capture.SplitURL(e.URL)
	return Address(e.Origin(), origin, path)
}

// MessageText returns what a message says.
func MessageText(e *event.Console) string {
	if address := FailedLoad(e); address != "" {
		return strings.TrimSpace(e.Text) + " " + address
	}
	return e.Text
}
