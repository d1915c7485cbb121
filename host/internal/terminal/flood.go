package terminal

import (
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

// Limits of what is recorded.
const (
	// More than floodBytes in floodTime is a flood. It ends when it is slower, or when there is no output for floodTime.
	floodBytes = 1 << 20
	floodTime  = 200 * time.Millisecond
	// budget is how much output is recorded as a whole, in bytes. Each second gives back refill of it, and each command
	// of a shell has all of it. tailBytes is what is kept of the end of what is not recorded as a whole.
	budget    = 16 << 20
	refill    = 256 << 10
	tailBytes = 256 << 10
)

// flood decides which output is recorded. In a flood, and over the budget, only its beginning and its end are.
type flood struct {
	// since is when the window began, window what came in it, last when output came. spent is what is used of the budget.
	since, last time.Duration
	window      uint64
	spent       float64
	// dropping means that output goes to the tail. Fast means that it does because of its speed.
	dropping, fast bool
	dropped        uint64
	tail           []byte
}

// take takes output, and returns what of it is recorded now. A gap of more than 0 bytes is before that.
func (f *flood) take(at time.Duration, data []byte) (gap uint64, rest []byte) {
	calm := false
	if at-f.since >= floodTime {
		calm = f.window < floodBytes
		f.since, f.window = at, 0
	}
	f.spent = max(0, f.spent-(at-f.last).Seconds()*refill)
	f.last = at
	f.window += uint64(len(data))
	f.spent += float64(len(data))
	if f.dropping && (f.fast && calm || !f.fast && f.spent < budget/2) {
		gap, rest = f.end()
	}
	if !f.dropping {
		if f.fast = f.window > floodBytes; !f.fast && f.spent <= budget {
			if rest == nil {
				return gap, data
			}
			return gap, append(rest, data...)
		}
		f.dropping = true
	}
	f.tail = append(f.tail, data...)
	if over := len(f.tail) - tailBytes; over > tailBytes { // not at each call
		f.dropped += uint64(over)
		f.tail = append(f.tail[:0], f.tail[over:]...)
	}
	return gap, rest
}

// quiet reports whether output is kept back though none comes any more.
func (f *flood) quiet(at time.Duration) bool { return f.dropping && at-f.last >= floodTime }

// end ends a flood, and returns how much is lost and the end of the output.
func (f *flood) end() (gap uint64, rest []byte) {
	if over := len(f.tail) - tailBytes; over > 0 {
		f.dropped += uint64(over)
		f.tail = f.tail[over:]
	}
	if f.dropped > 0 { // it begins anywhere, also within a secret
		from := event.AfterCut(string(f.tail), tailBytes/4)
		f.dropped += uint64(from)
		f.tail = f.tail[from:]
	}
	gap, rest = f.dropped, f.tail
	*f = flood{since: f.since, last: f.last, window: f.window, spent: f.spent}
	return gap, rest
}
