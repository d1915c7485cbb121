package terminal

import "time"

// Limits of what is recorded of one command, or of one run of output without a shell.
const (
	// More than floodBytes in floodTime is a flood.
	floodBytes = 1 << 20
	floodTime  = 200 * time.Millisecond
	// budget is how much output a command may have that is recorded as a whole, tailBytes what is kept of the end.
	budget    = 16 << 20
	tailBytes = 256 << 10
)

// flood decides which output is recorded. In a flood, and over the budget, only its beginning and its end are.
type flood struct {
	// since is when the window began, window what came in it, spent what came of the command.
	since  time.Duration
	window uint64
	spent  uint64
	// dropping means that output goes to the tail. Fast means that it does because of its speed.
	dropping, fast bool
	dropped        uint64
	tail           []byte
	tailAt         time.Duration
}

// take takes output, and returns what of it is recorded now. A gap of more than 0 bytes is followed by what is returned.
func (f *flood) take(at time.Duration, data []byte) (gap uint64, rest []byte) {
	calm := false
	if at-f.since >= floodTime {
		calm = f.window < floodBytes
		f.since, f.window = at, 0
	}
	f.window += uint64(len(data))
	f.spent += uint64(len(data))
	if f.dropping && f.fast && calm && f.spent <= budget {
		gap, rest = f.end()
		return gap, append(rest, data...)
	}
	if !f.dropping {
		if f.fast = f.window > floodBytes; !f.fast && f.spent <= budget {
			return 0, data
		}
		f.dropping = true
	}
	f.tailAt = at
	f.tail = append(f.tail, data...)
	if over := len(f.tail) - tailBytes; over > tailBytes { // not at each call
		f.dropped += uint64(over)
		f.tail = append(f.tail[:0], f.tail[over:]...)
	}
	return 0, nil
}

// end ends a flood, and returns how much is lost and the end of the output.
func (f *flood) end() (gap uint64, rest []byte) {
	if over := len(f.tail) - tailBytes; over > 0 {
		f.dropped += uint64(over)
		f.tail = f.tail[over:]
	}
	gap, rest = f.dropped, f.tail
	*f = flood{since: f.since, window: f.window, spent: f.spent}
	return gap, rest
}
