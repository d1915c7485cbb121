package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
)

// Client is one reader and its own checkpoint, which follows it from call to call. The named
// fields never change while it is connected; Lock guards the others, and is not held while anything is waited for.
// Turn serialises the client's answers, so that no event is told twice or missed between two of them.
type Client struct {
	// Name is what the client calls itself.
	Name string
	// Scope is what it hears of.
	Scope Scope
	// Workspace is the directory that it works in, absolute: only files in it are uploaded. "" for none.
	Workspace string
	// Sets are the tool sets that it asked for; nil: those of the settings.
	Sets []string

	sync.Mutex
	turn  chan struct{} // nil before the first answer
	auto  capture.Moment
	told  map[capture.Section]Told // nil before the first call
	looks uint64                   // the update that a wait for one counts from
	calls int
	heard *ClientState // what the client has certainly heard, nil when that is all
}

// Turn waits until no other answer to the client is made. The function that comes back ends the turn.
func (c *Client) Turn(ctx context.Context) (end func(), err error) {
	c.Lock()
	if c.turn == nil {
		c.turn = make(chan struct{}, 1)
	}
	turn := c.turn
	c.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Told is when a section was told last, in milliseconds, and up to which gap.
type Told struct {
	At   int64
	Gaps uint64
}

// ClientState is a client as it is kept from one process to the next.
type ClientState struct {
	// ID finds the client again; "" for one that will not come back, and is kept for its name.
	ID, Name string
	Scope    Scope
	Auto     capture.Moment
	Told     map[capture.Section]Told
	Calls    int
	// Seen is when it was last there.
	Seen time.Time
	// Held says that a person holds its access.
	Held bool
}

// StateLocked is what to keep of the client. While it may be that the newest answer never reaches it,
// that is the client as it was before: it will rather hear something twice than never.
func (c *Client) StateLocked() ClientState {
	if c.heard != nil {
		return *c.heard
	}
	return ClientState{Name: c.Name, Scope: c.Scope, Auto: c.auto, Told: maps.Clone(c.told), Calls: c.calls}
}

// RestoreLocked has the client go on from what was kept.
func (c *Client) RestoreLocked(st ClientState) {
	c.auto, c.told, c.calls, c.heard = st.Auto, maps.Clone(st.Told), st.Calls, nil
}

// HeardLocked says that the client has heard every answer so far.
func (c *Client) HeardLocked() { c.heard = nil }

// AutoName is the name of the client's own checkpoint, "" before its first call. The lock is held.
func (c *Client) AutoName() string {
	if c.calls == 0 {
		return ""
	}
	return fmt.Sprintf("auto_%d", c.calls)
}

// SinceLocked is the moment that the client was told up to, for those sections: where nothing was
// told yet, the start.
func (c *Client) SinceLocked(v *capture.View, include []capture.Section) capture.Moment {
	m, start := c.auto, v.Start()
	if c.told == nil {
		return start
	}
	if len(include) == 0 {
		include = capture.Sections
	}
	for i, s := range include {
		last, ok := c.told[s]
		if !ok {
			last = Told{start.At.UnixMilli(), start.Pos.Gaps}
			copySection(&m, start, s)
		}
		if at := time.UnixMilli(last.At).UTC(); i == 0 || at.Before(m.At) {
			m.At = at
		}
		if i == 0 || last.Gaps < m.Pos.Gaps {
			m.Pos.Gaps = last.Gaps
		}
	}
	return m
}

// AdvanceLocked says that the client was told those sections up to the view.
func (c *Client) AdvanceLocked(v *capture.View, include []capture.Section) {
	if c.heard == nil {
		before := c.StateLocked()
		c.heard = &before
	}
	if c.told == nil {
		c.told = map[capture.Section]Told{}
		c.auto = v.Start()
	}
	if len(include) == 0 {
		include = capture.Sections
	}
	now := v.Now()
	for _, s := range include {
		copySection(&c.auto, now, s)
		c.told[s] = Told{v.At.UnixMilli(), now.Pos.Gaps}
	}
	c.calls++
}

// LookedLocked says that the client has looked at what the view holds, whatever it compared it with:
// an update that it waits for from now on is a later one.
func (c *Client) LookedLocked(v *capture.View) { c.looks = v.Updates.Next() }

// LookLocked is the position of the first update that the client has not looked at.
func (c *Client) LookLocked() uint64 { return c.looks }

// copySection takes over what one section needs of a moment.
func copySection(to *capture.Moment, from capture.Moment, s capture.Section) {
	switch s {
	case capture.ConsoleSection:
		to.Pos.Console = from.Pos.Console
	case capture.NetworkSection:
		to.Pos.Network, to.Endpoints = from.Pos.Network, from.Endpoints
	case capture.WebSocketSection:
		to.Pos.WebSocket = from.Pos.WebSocket
	case capture.DOMSection:
		to.Pos.DOM, to.DOMState = from.Pos.DOM, from.DOMState
	case capture.ActionsSection:
		to.Pos.Actions = from.Pos.Actions
	}
}
