package observe

import (
	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/checkpoint"
)

// Give records the entries that an answer shows to a client, and what it reports as over. The caller has the client's
// turn.
func Give(o *Observer, client *checkpoint.Client, shown []alike.Entry, over []uint64) {
	client.Lock()
	client.GiveLocked(shown, over)
	client.Unlock()
	if o.disk != nil {
		o.disk.ReadersChanged()
	}
}
