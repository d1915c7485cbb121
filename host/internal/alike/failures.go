package alike

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Failures are the failed requests before a moment whose addresses have not succeeded since. Which of them a later failure
// is the same as is decided by its address, how it failed, and what its answer said.
type Failures struct {
	at    map[failing][]failure
	known map[capture.EndpointKey]bool // endpoints of which requests are known
}

// failing is an address of an endpoint, without what changes each time.
type failing struct {
	endpoint capture.EndpointKey
	address  string
}

// failure is how a request failed. The detail is "" where the answer said nothing that is known.
type failure struct {
	status        int
	error, detail string
}

// Address returns a request's path and query, without what changes each time that it is made.
func Address(e *event.Network) string {
	_, path := capture.SplitURL(e.URL)
	_, query, has := strings.Cut(e.URL, "?")
	if query, _, _ = strings.Cut(query, "#"); !has || query == "" {
		return path
	}
	return path + "?" + Query(query)
}

func failingAt(e *event.Network) failing { return failing{capture.KeyOf(e), Address(e)} }

func failureOf(e *event.Network) failure { return failure{e.Status, e.Error, Fingerprint(e.Detail)} }

// FailuresBefore returns the failures of some endpoints before a position, as far as the buffer has them.
func FailuresBefore(v *capture.View, before uint64, of func(capture.EndpointKey) bool) *Failures {
	f := &Failures{map[failing][]failure{}, map[capture.EndpointKey]bool{}}
	for pos, e := range v.Network().InRing().From(0) {
		switch {
		case pos >= before:
			return f
		case !capture.Counts(e):
		case !e.Failed():
			if len(f.at) > 0 {
				delete(f.at, failingAt(e))
			}
		case of(capture.KeyOf(e)):
			k, how := failingAt(e), failureOf(e)
			f.known[k.endpoint] = true
			if !slices.Contains(f.at[k], how) {
				f.at[k] = append(f.at[k], how)
			}
		}
	}
	return f
}

// Succeeded takes a request after the moment whose address fails no more.
func (f *Failures) Succeeded(e *event.Network) {
	k := failingAt(e)
	f.known[k.endpoint] = true
	delete(f.at, k)
}

// Same reports whether a failure is the same as one of them. Where no failed request of its endpoint is known, only the
// endpoint's state before the moment says so.
func (f *Failures) Same(e *event.Network, before capture.Endpoint) bool {
	k, how := failingAt(e), failureOf(e)
	if !f.known[k.endpoint] {
		return before.Status == how.status && before.Error == how.error
	}
	return slices.ContainsFunc(f.at[k], func(other failure) bool {
		return other.status == how.status && other.error == how.error && (other.detail == how.detail || other.detail == "" || how.detail == "")
	})
}
