package checkpoint

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
)

// Client is a client and its own checkpoint, which advances with each call. The exported fields never change while it is
// connected. Lock guards the others and is never held while waiting. Turn serializes the client's answers, so that no
// event is reported twice or missed between two of them.
type Client struct {
	// Name is what the client calls itself.
	Name string
	// Scope limits what it receives.
	Scope Scope
	// User is true for the user's own programs, false for agents, which may do less.
	User bool
	// Sets are the tool sets that it requested; nil means those of the settings.
	Sets []string

	sync.Mutex
	turn chan struct{} // nil before the first answer
	cursor
	tabs  map[int]cursor // of tabs about which it was told more than about the others
	looks uint64         // the update that a wait for one counts from
	calls int
	given *alike.Given
	// covered is the moment up to which a report left nothing out that is in the client's scope.
	covered capture.Moment
	heard   *ClientState // what the client has certainly received, nil if that is everything
}

// cursor is up to where a client was told.
type cursor struct {
	auto capture.Moment
	told map[capture.Section]Told // nil before the first call
}

// maxTabs bounds the tabs with a cursor of their own. Beyond it, all have the client's.
const maxTabs = 64

// Turn waits until no other answer to the client is in progress. The returned function ends the turn.
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

// Told is when a section was last reported, in milliseconds, and up to which gap.
type Told struct {
	At   int64
	Gaps uint64
}

// ClientState is the saved state of a client, which survives the daemon.
type ClientState struct {
	// ID identifies a returning client. It is "" for one that will not return and is kept for its name.
	ID, Name string
	Scope    Scope
	Auto     capture.Moment
	Told     map[capture.Section]Told
	Calls    int
	// Seen is when it was last connected.
	Seen time.Time
	// Held says that the user suspended its access.
	Held bool
	// Given are the entries that it was shown.
	Given *alike.Given
}

// StateLocked returns the state to save. While the newest answer may not have reached the client, it returns the state
// before that answer: an entry may be reported twice, but never lost.
func (c *Client) StateLocked() ClientState {
	if c.heard != nil {
		return *c.heard
	}
	return ClientState{Name: c.Name, Scope: c.Scope, Auto: c.auto, Told: maps.Clone(c.told), Calls: c.calls, Given: c.given}
}

// RestoreLocked makes the client continue from its saved state.
func (c *Client) RestoreLocked(st ClientState) {
	c.cursor, c.tabs = cursor{st.Auto, maps.Clone(st.Told)}, nil
	c.calls, c.given, c.heard = st.Calls, st.Given, nil
}

// HeardLocked records that the client has received every answer so far.
func (c *Client) HeardLocked() { c.heard = nil }

// answeredLocked keeps the state before an answer until it is certain that the client received it.
func (c *Client) answeredLocked() {
	if c.heard == nil {
		before := c.StateLocked()
		c.heard = &before
	}
}

// Given returns the entries that answers showed to the client.
func (c *Client) Given() *alike.Given {
	c.Lock()
	defer c.Unlock()
	return c.given
}

// GiveLocked records the entries that an answer shows, and what it reports as over. An entry that is over is shown in
// full when it occurs again.
func (c *Client) GiveLocked(shown []alike.Entry, over []uint64) {
	if given := c.given.With(shown, over); given != c.given {
		c.answeredLocked()
		c.given = given
	}
}

// AutoName returns the name of the client's own checkpoint, "" before its first call. The caller holds the lock.
func (c *Client) AutoName() string {
	if c.calls == 0 {
		return ""
	}
	return automatic + strconv.Itoa(c.calls)
}

// at returns the client's cursor for reports of a tab; 0 is all tabs.
func (c *Client) at(tab int) cursor {
	if own, has := c.tabs[tab]; has {
		return own
	}
	return c.cursor
}

// UnreadLocked returns those of the sections that were never reported to the client, of a tab if it is not 0.
func (c *Client) UnreadLocked(tab int, include []capture.Section) (unread []capture.Section) {
	told := c.at(tab).told
	for _, s := range included(include) {
		if _, known := told[s]; !known {
			unread = append(unread, s)
		}
	}
	return unread
}

func included(include []capture.Section) []capture.Section {
	if len(include) == 0 {
		return capture.Sections
	}
	return include
}

// SinceLocked returns the client's cursor for those sections, of a tab if it is not 0. A section that was never reported begins
// at a start.
func (c *Client) SinceLocked(start capture.Moment, tab int, include []capture.Section) capture.Moment {
	at := c.at(tab)
	return at.since(start, include)
}

func (c *cursor) since(start capture.Moment, include []capture.Section) capture.Moment {
	m := c.auto
	if c.told == nil {
		return start
	}
	include = included(include)
	for i, s := range include {
		last, ok := c.told[s]
		if !ok {
			last = Told{start.At.UnixMilli(), start.Pos[capture.Gaps]}
			copySection(&m, start, s)
		}
		if at := time.UnixMilli(last.At).UTC(); i == 0 || at.Before(m.At) {
			m.At = at
		}
		if i == 0 || last.Gaps < m.Pos[capture.Gaps] {
			m.Pos[capture.Gaps] = last.Gaps
		}
	}
	return m
}

// AdvanceLocked moves the client's cursor for those sections to the view.
func (c *Client) AdvanceLocked(v *capture.View, include []capture.Section) {
	c.answeredLocked()
	c.advance(v, include)
	if len(include) == 0 {
		c.tabs = nil
	}
	for tab, own := range c.tabs {
		own.advance(v, include)
		c.tabs[tab] = own
	}
	c.calls++
}

// AdvanceTabLocked moves the client's cursor for those sections of a tab to the view. Reports of other tabs, and of all, begin where
// they did. The cursors of tabs end with the daemon: a tab may be reported twice, but never lost.
func (c *Client) AdvanceTabLocked(v *capture.View, tab int, include []capture.Section) {
	c.answeredLocked()
	own := c.at(tab)
	own.told = maps.Clone(own.told)
	own.advance(v, include)
	if c.tabs == nil || len(c.tabs) == maxTabs {
		c.tabs = map[int]cursor{}
	}
	c.tabs[tab] = own
	c.calls++
}

// ApartLocked reports whether the client was told more about a tab than about the others.
func (c *Client) ApartLocked(tab int) bool {
	_, has := c.tabs[tab]
	return has
}

func (c *cursor) advance(v *capture.View, include []capture.Section) {
	if c.told == nil {
		c.told = map[capture.Section]Told{}
		c.auto = v.Start()
	}
	now := v.Now()
	for _, s := range included(include) {
		copySection(&c.auto, now, s)
		c.told[s] = Told{v.At.UnixMilli(), now.Pos[capture.Gaps]}
	}
}

// CoverLocked records that a report up to a moment left nothing out that is in the client's scope.
func (c *Client) CoverLocked(m capture.Moment) { c.covered = m }

// CoveredLocked returns the moment up to which a report left nothing out that is in the client's scope; zero if none did.
func (c *Client) CoveredLocked() capture.Moment { return c.covered }

// LookedLocked records that the client has seen the view, whatever it compared it with. Its next wait for an update
// waits for a later one.
func (c *Client) LookedLocked(v *capture.View) { c.looks = v.Updates.Next() }

// LookLocked returns the position of the first update that the client has not seen.
func (c *Client) LookLocked() uint64 { return c.looks }

// copySection copies the parts of a moment that a section needs.
func copySection(to *capture.Moment, from capture.Moment, s capture.Section) {
	t := s.Track()
	to.Pos[t] = from.Pos[t]
	switch t {
	case capture.Network:
		to.Endpoints = from.Endpoints
	case capture.DOM:
		to.DOMState = from.DOMState
	}
}
