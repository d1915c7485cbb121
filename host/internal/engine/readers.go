package engine

import (
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/viewer"
)

// leaving has every use case let go of a client that has left, in this order.
func (e *Engine) leaving(signal *viewer.Signal) {
	e.Clients.OnBack(e.Opener.Back)
	e.Clients.OnLeave(e.Rules.Leave)
	e.Clients.OnLeave(e.Pages.Forget)
	e.Clients.OnLeave(e.Inspector.Forget)
	e.Clients.OnLeave(e.Opener.Left)
	e.Clients.OnLeave(e.Actor.Forget)
	e.Clients.OnNamed(func(*checkpoint.Client) { signal.Tell() })
}

// Heard says that a client has got every answer that it was given.
func (e *Engine) Heard(client *checkpoint.Client) {
	client.Lock()
	client.HeardLocked()
	client.Unlock()
	if e.disk != nil {
		e.disk.ReadersChanged()
	}
}

// Readers is what to keep of those who may come back.
func (e *Engine) Readers() []checkpoint.ClientState {
	now := e.clock()
	list := e.Clients.Sessions()
	held := e.Viewer.Agents.Suspended()
	var states []checkpoint.ClientState
	for _, s := range list {
		if s.ID == "" {
			continue
		}
		s.Lock()
		st := s.StateLocked()
		s.Unlock()
		st.ID, st.Name, st.Seen = s.ID, s.Name, s.Seen
		if s.Here {
			st.Seen = now
		}
		st.Held = held[s.Client] != ""
		if st.Calls > 0 || st.Held {
			states = append(states, st)
		}
		delete(held, s.Client)
	}
	for client, name := range held { // they will not come back, but others by their names
		states = append(states, checkpoint.ClientState{Name: name, Scope: client.Scope, Seen: now, Held: true})
	}
	return states
}

// Restore puts in place the checkpoints and readers that were kept.
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
