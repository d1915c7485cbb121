package alike

import "tidemark.dev/tidemark/host/internal/event"

// FailAlike reports whether two requests to an endpoint failed in the same way, as far as is known: a detail may not have arrived.
func FailAlike(a, b *event.Network) bool {
	return a.Status == b.Status && a.Error == b.Error && (a.Detail == "" || b.Detail == "" || Fingerprint(said(a)) == Fingerprint(said(b)))
}

// said is the detail of a request without what Tidemark added: the server's code moves with each edit.
func said(e *event.Network) string {
	text, _ := e.Said()
	return text
}
