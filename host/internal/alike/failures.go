package alike

import "tidemark.dev/tidemark/host/internal/event"

// FailAlike reports whether two requests to an endpoint failed in the same way, as far as is known: a detail may not have arrived.
func FailAlike(a, b *event.Network) bool {
	return a.Status == b.Status && a.Error == b.Error && (a.Detail == "" || b.Detail == "" || Fingerprint(a.Detail) == Fingerprint(b.Detail))
}
