package engine

import (
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/signal"
)

// leaving makes every use case release a client that leaves, in this order.
func (e *Engine) leaving(changed *signal.Signal) {
	e.Clients.OnConnect(e.Opener.Back)
	e.Clients.OnDisconnect(e.Rules.Leave)
	e.Clients.OnDisconnect(e.Pages.Forget)
	e.Clients.OnDisconnect(e.Inspector.Forget)
	e.Clients.OnDisconnect(e.Opener.Left)
	e.Clients.OnDisconnect(e.Actor.Forget)
	e.Clients.OnRename(func(*checkpoint.Client) { changed.Notify() })
}

// Heard records that a client received all its answers.
func (e *Engine) Heard(client *checkpoint.Client) {
	client.Lock()
	client.HeardLocked()
	client.Unlock()
	if e.disk != nil {
		e.disk.ReadersChanged()
	}
}

// Readers returns the state to keep of clients that may return.
func (e *Engine) Readers() []checkpoint.ClientState {
	now := e.clock()
	list := e.Clients.All()
	suspended := e.Viewer.Agents.Suspended()
	var states []checkpoint.ClientState
	for _, s := range list {
		if s.ID == "" {
			continue
		}
		s.Lock()
		st := s.StateLocked()
		s.Unlock()
		st.ID, st.Name, st.Seen = s.ID, s.Name, s.Seen
		if s.Connected {
			st.Seen = now
		}
		st.Held = suspended[s.Client] != ""
		if st.Calls > 0 || st.Held {
			states = append(states, st)
		}
		delete(suspended, s.Client)
	}
	for client, name := range suspended { // disconnected for good, but a client of the same name stays suspended
		states = append(states, checkpoint.ClientState{Name: name, Scope: client.Scope, Seen: now, Held: true})
	}
	return states
}

// Restore restores stored checkpoints and clients.
func (e *Engine) Restore(named []checkpoint.Checkpoint, readers []checkpoint.ClientState) {
	e.named.Restore(named)
	for _, st := range readers {
		client := &checkpoint.Client{Name: st.Name, Scope: st.Scope}
		if st.Held {
			e.Viewer.Agents.RestoreSuspended(client, st.Name)
		}
		if st.ID != "" {
			e.Clients.Restore(client, st)
		}
	}
}
