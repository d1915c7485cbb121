package daemon

import (
	"context"
	"sync"
	"time"

	"tidemark.dev/tidemark/protocol"
)

// agentsPause collects changes of acting agents. agentsTimeout bounds the notification of a browser.
const (
	agentsPause   = 50 * time.Millisecond
	agentsTimeout = 2 * time.Second
)

// notifyAgents notifies every connected browser when acting agents change, until ctx ends. Older extensions, which do
// not support the notification, poll instead.
func (d *daemon) notifyAgents(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.agents:
		}
		var notified sync.WaitGroup
		for _, b := range d.engine.Store().View(time.Now()).Browsers {
			if b.Connected {
				notified.Go(func() {
					_, err := d.hub.Ask(ctx, b.Instance, protocol.MethodAgents, nil, agentsTimeout)
					if err != nil {
						d.log.Debug("cannot notify a browser of acting agents", "error", err)
					}
				})
			}
		}
		notified.Wait()
		select {
		case <-ctx.Done():
			return
		case <-time.After(agentsPause):
		}
	}
}
