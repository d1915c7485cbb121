package daemon

import (
	"context"
	"sync"
	"time"

	"tidemark.dev/tidemark/protocol"
)

// agentsPause gathers changes of who acts where; agentsTimeout is how long a browser may take to hear of one.
const (
	agentsPause   = 50 * time.Millisecond
	agentsTimeout = 2 * time.Second
)

// tellOfAgents has every connected browser know when who acts where has changed, until ctx ends. An extension that
// is too old to be told asks by itself.
func (d *daemon) tellOfAgents(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.agents:
		}
		var told sync.WaitGroup
		for _, b := range d.engine.Store().View(time.Now()).Browsers {
			if b.Connected {
				told.Go(func() {
					_, err := d.hub.Ask(ctx, b.Instance, protocol.MethodAgents, nil, agentsTimeout)
					if err != nil {
						d.log.Debug("a browser was not told who acts", "error", err)
					}
				})
			}
		}
		told.Wait()
		select {
		case <-ctx.Done():
			return
		case <-time.After(agentsPause):
		}
	}
}
