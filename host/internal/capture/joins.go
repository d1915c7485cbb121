package capture

import (
	"tidemark.dev/tidemark/host/internal/event"
)

// joiner recognizes entries that only repeat what another event says, so that one failure is counted
// once: the browser's log entries about a failed request or connection, and the closing of a
// connection that never opened. extension/capture/OBSERVED.md lists what Chromium sends.
type joiner struct {
	requests map[requestKey]int64  // when a request or a failed connection was heard of last
	sockets  map[requestKey]string // the last step of each connection
}

type requestKey struct {
	instance string
	tab      int
	id       string
}

// Bounds of what a joiner remembers: entries, and milliseconds between two that belong together.
const (
	maxJoins   = 4096
	joinWithin = 2000
)

func (j *joiner) request(b *browser, tab int, id string, at int64) {
	if j.requests == nil {
		j.requests = map[requestKey]int64{}
	}
	if len(j.requests) >= maxJoins {
		for k, seen := range j.requests {
			if at-seen > 10*joinWithin {
				delete(j.requests, k)
			}
		}
		if len(j.requests) >= maxJoins {
			clear(j.requests)
		}
	}
	j.requests[requestKey{b.instance, tab, id}] = at
}

// repeats reports whether a console entry only repeats another event.
func (j *joiner) repeats(b *browser, e *event.Console) bool {
	if e.Level < event.Warning || e.Via != "browser" {
		return false
	}
	if url, ok := event.FailedSocket(e); ok {
		seen, known := j.requests[requestKey{b.instance, e.Tab(), failedSocket + url}]
		return known && e.At-seen < joinWithin && seen-e.At < joinWithin
	}
	if e.Request == "" || e.Level != event.Error {
		return false
	}
	_, known := j.requests[requestKey{b.instance, e.Tab(), e.Request}]
	return known
}

// failedSocket makes an id of a connection's address: the browser's log entry names no other.
const failedSocket = "socket "

// socket notes a connection's step, and says whether it only repeats the one before: a connection
// that could not be opened is an error, and no disconnection beside. One that the page closes too early may still open.
func (j *joiner) socket(b *browser, e *event.WebSocket) bool {
	if j.sockets == nil || len(j.sockets) > maxJoins {
		j.sockets = map[requestKey]string{}
	}
	k := requestKey{b.instance, e.Tab(), e.ID}
	switch before := j.sockets[k]; e.Op {
	case "open":
		if before == "failed" {
			return true
		}
		j.sockets[k] = "open"
	case "error":
		j.request(b, e.Tab(), failedSocket+e.URL, e.At)
		if before == "" {
			j.sockets[k] = "failed"
		}
	case "close":
		delete(j.sockets, k)
		return before == "failed"
	}
	return false
}
