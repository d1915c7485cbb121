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
	at    map[capture.Section]time.Time // when each section was told last; nil before the first call
	calls int
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
	if c.at == nil {
		return start
	}
	m.At = time.Time{}
	if len(include) == 0 {
		include = capture.Sections
	}
	for _, s := range include {
		at, told := c.at[s]
		if !told {
			at = start.At
			copySection(&m, start, s)
		}
		if m.At.IsZero() || at.Before(m.At) {
			m.At = at
		}
	}
	return m
}

// AdvanceLocked says that the client was told those sections up to the view.
func (c *Client) AdvanceLocked(v *capture.View, include []capture.Section) {
	if c.at == nil {
		c.at = map[capture.Section]time.Time{}
		c.auto = v.Start()
	}
	if len(include) == 0 {
		include = capture.Sections
	}
	now := v.Now()
	for _, s := range include {
		copySection(&c.auto, now, s)
		c.at[s] = v.At
	}
	c.auto.Pos.Updates = now.Pos.Updates
	c.calls++
}

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
