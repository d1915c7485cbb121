// Package memory limits the memory of the process to what its parts need together, so that garbage is collected before
// the process grows, and not all the time where a part needs much.
//
// The limit is a soft one: a process that needs more gets it, and collects garbage more often.
package memory

import (
	"runtime/debug"
	"sync"
)

var (
	mu sync.Mutex
	// base is what the process needs without parts, 0 while there is no limit. parts is what the parts need.
	base, parts int64
	// growing counts those who let the process grow, percent is how much garbage it has otherwise.
	growing, percent int
)

// Limit begins to limit the memory: to so many bytes, and to what the parts need beside them.
func Limit(bytes int64) {
	mu.Lock()
	defer mu.Unlock()
	base = bytes
	apply()
}

func apply() {
	if base > 0 {
		debug.SetMemoryLimit(base + parts)
	}
}

// Grow lets the process grow to its limit without collecting garbage, until done is called. It may be called again.
func Grow() (done func()) {
	mu.Lock()
	defer mu.Unlock()
	if growing++; growing == 1 {
		percent = debug.SetGCPercent(-1)
	}
	return sync.OnceFunc(func() {
		mu.Lock()
		defer mu.Unlock()
		if growing--; growing == 0 {
			debug.SetGCPercent(percent)
		}
	})
}

// Part is a part of the process with a need of its own. The zero value needs nothing. It is safe for concurrent use.
type Part struct{ bytes int64 }

// Need sets how many bytes the part needs.
func (p *Part) Need(bytes int64) {
	mu.Lock()
	defer mu.Unlock()
	parts += bytes - p.bytes
	p.bytes = bytes
	apply()
}
