package capture

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// joiner recognises console entries that only repeat what another event says, so that one failure is
// counted once: the browser's log entry about a failed request, its two about a CORS failure, and a
// worker's error in the page's own log.
type joiner struct {
	requests map[requestKey]int64   // when a request was heard of last
	errors   map[errorKey]errorSeen // uncaught errors by what they say
}

type requestKey struct {
	instance string
	tab      int
	id       string
}

type errorKey struct {
	tab  int
	text string
}

type errorSeen struct {
	at     int64
	target string
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

// repeats says whether a console entry only repeats another event.
func (j *joiner) repeats(b *browser, e *event.Console) bool {
	if e.Level != event.Error {
		return false
	}
	if e.Via == "browser" && e.Request != "" {
		if _, known := j.requests[requestKey{b.instance, e.Tab, e.Request}]; known {
			return true
		}
	}
	return j.sameError(e)
}

// sameError recognises an uncaught error of a worker that the page's log tells of as well: the same
// text, from another target, at almost the same time.
func (j *joiner) sameError(e *event.Console) bool {
	if e.Via != "exception" && e.Via != "browser" {
		return false
	}
	text := strings.TrimPrefix(strings.TrimPrefix(e.Text, "Uncaught "), "Error: ")
	k := errorKey{e.Tab, text}
	seen, known := j.errors[k]
	if known && seen.target != e.Target && e.At-seen.at < joinWithin && seen.at-e.At < joinWithin {
		return true
	}
	if j.errors == nil || len(j.errors) >= maxJoins {
		j.errors = map[errorKey]errorSeen{}
	}
	j.errors[k] = errorSeen{e.At, e.Target}
	return false
}
