package checkpoint

import (
	"fmt"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
)

// Client is one reader and its own checkpoint, which follows it from call to call. The first two
// fields never change; Lock serialises the client's calls, so that no event is told twice or missed
// between two of them.
type Client struct {
	// Name is what the client calls itself.
	Name string
	// Scope is what it hears of.
	Scope Scope

	sync.Mutex
	auto  capture.Moment
	told  map[capture.Section]told // nil before the first call
	looks uint64                   // the update that a wait for one counts from
	calls int
}

// told is when a section was told last, and up to which gap.
type told struct {
	at   time.Time
	gaps uint64
}

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
			last = told{start.At, start.Pos.Gaps}
			copySection(&m, start, s)
		}
		if i == 0 || last.at.Before(m.At) {
			m.At = last.at
		}
		if i == 0 || last.gaps < m.Pos.Gaps {
			m.Pos.Gaps = last.gaps
		}
	}
	return m
}

// AdvanceLocked says that the client was told those sections up to the view.
func (c *Client) AdvanceLocked(v *capture.View, include []capture.Section) {
	if c.told == nil {
		c.told = map[capture.Section]told{}
		c.auto = v.Start()
	}
	if len(include) == 0 {
		include = capture.Sections
	}
	now := v.Now()
	for _, s := range include {
		copySection(&c.auto, now, s)
		c.told[s] = told{v.At, now.Pos.Gaps}
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
		to.Pos.DOM, to.Page = from.Pos.DOM, from.Page
	case capture.ActionsSection:
		to.Pos.Actions = from.Pos.Actions
	}
}
