package tree

import (
	"sync/atomic"
	"time"
)

// Progress counts what a scan has done. It is safe for concurrent use.
type Progress struct {
	// Since is when the scan began.
	Since           time.Time
	found, read, to atomic.Int64
}

// Now returns how many entries were compared so far, and how many were read of those that are to be read, which is 0 until all are
// compared.
func (p *Progress) Now() (found, read, to int) {
	return int(p.found.Load()), int(p.read.Load()), int(p.to.Load())
}
