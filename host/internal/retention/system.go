package retention

import (
	"crypto/rand"
	"sync"
	"time"
)

// began and processID name the start of this process.
var began, processID = time.Now(), rand.Text()

// thisBoot is [bootID], which does not change.
var thisBoot = sync.OnceValue(bootID)

// System reads the clocks of this machine. Where no clock is known that counts from its start, it is that of this process.
func System() Reading {
	now := time.Now()
	if id := thisBoot(); id != "" {
		if ran, ok := sinceBoot(); ok {
			return Reading{At: now, Boot: id, Ran: ran}
		}
	}
	return Reading{At: now, Boot: processID, Ran: now.Sub(began)}
}
