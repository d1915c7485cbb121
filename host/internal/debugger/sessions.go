package debugger

import (
	"context"
	"slices"
	"sync"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// sessions are the debug sessions of all targets.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session // by the id of the target
	// last is the number of the newest breakpoint or tracepoint.
	last int
	// numbers identify clients to targets as owners of pauses; lastClient is the newest.
	numbers    map[*checkpoint.Client]int
	lastClient int
}

// session is the debug session of a target, from the first call until its last agent disconnects.
type session struct {
	target      Target
	breakpoints []*breakpoint
	// seen has every agent of the session, and up to when (the target's clock, in milliseconds) it knows how pauses ended.
	seen map[*checkpoint.Client]int64
	// snapshots are variable snapshots of one run of the target's debugger, which began identifies; nil if there are none.
	snapshots *variables.Book
	began     int64
	traces    []trace
	pauses    pauses
	// reports are the last answers about tracepoints, for the viewer, the newest at the end.
	reports []traceReport
}

// with calls do with the session of a target, under the lock. It begins a session if there is none.
func (d *sessions) with(target Target, do func(*session)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.all[target.ID()]
	if s == nil {
		if d.all == nil {
			d.all = map[string]*session{}
		}
		s = &session{target: target, seen: map[*checkpoint.Client]int64{}}
		d.all[target.ID()] = s
	}
	do(s)
}

// next returns the number of a new breakpoint or tracepoint.
func (d *sessions) next() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	return d.last
}

// number returns a client's number, which is constant while it is connected.
func (d *sessions) number(client *checkpoint.Client) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.numbers == nil {
		d.numbers = map[*checkpoint.Client]int{}
	}
	n, known := d.numbers[client]
	if !known {
		d.lastClient++
		n = d.lastClient
		d.numbers[client] = n
	}
	return n
}

// join records that a client debugs a target.
func (d *sessions) join(target Target, client *checkpoint.Client) {
	d.with(target, func(s *session) {
		if _, known := s.seen[client]; !known {
			s.seen[client] = 0
		}
	})
}

// joined reports whether a client debugs a target.
func (d *sessions) joined(target Target, client *checkpoint.Client) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.all[target.ID()]
	if s == nil {
		return false
	}
	_, joined := s.seen[client]
	return joined
}

// shared reports whether any client debugs a target.
func (d *sessions) shared(target Target) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.all[target.ID()]
	return s != nil && len(s.seen) > 0
}

// departure is a target that a client left, with the client's breakpoints there.
type departure struct {
	target      Target
	breakpoints []string
}

// leave removes a client from all sessions and sets its number in caller.
func (d *sessions) leave(client *checkpoint.Client, caller *protocol.DebugCaller) (left []departure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	caller.Client = d.numbers[client]
	delete(d.numbers, client)
	for id, s := range d.all {
		if _, known := s.seen[client]; !known {
			continue
		}
		delete(s.seen, client)
		s.pauses.all = slices.DeleteFunc(s.pauses.all, func(p pausedFrame) bool { return p.client == client })
		one := departure{target: s.target}
		s.breakpoints = slices.DeleteFunc(s.breakpoints, func(b *breakpoint) bool {
			if b.client == client {
				one.breakpoints = append(one.breakpoints, b.ID)
			}
			return b.client == client
		})
		if len(s.seen) == 0 {
			delete(d.all, id)
		}
		left = append(left, one)
	}
	return left
}

// Forget ends debugging for a client that disconnected: the whole session if it was alone, else only its own breakpoints
// and pauses. It does not wait for the targets.
func (i *Inspector) Forget(client *checkpoint.Client) {
	caller := protocol.DebugCaller{By: client.Name, ReleaseMs: int(i.release.Milliseconds())}
	for _, left := range i.sessions.leave(client, &caller) {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
			defer cancel()
			// A target that cannot be reached needs no notification.
			_ = left.target.Leave(ctx, caller, !i.sessions.shared(left.target), left.breakpoints)
		}()
	}
}
