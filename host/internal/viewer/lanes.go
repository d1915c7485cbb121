package viewer

import (
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/protocol"
)

// section is a lane of the timeline that shows a section of the reports.
type section struct {
	capture.Section
	// position is the lane's field in a list of positions.
	position func(*protocol.ViewPositions) *uint64
	first    func(*capture.View) uint64
	// lane adds the lane to a timeline, from a position on, and returns the position to continue from.
	lane func(r *laneReader, v *capture.View, after uint64, rules *noise.Rules) uint64
	// search adds the entries since a moment that match.
	search func(s *entrySearch, v *capture.View, since capture.Moment)
	// at returns the entry at a position, without a lane if there is none.
	at func(s *entrySearch, v *capture.View, pos uint64) protocol.ViewEntry
}

func sectionOf[T any, P event.Pointer[T]](name capture.Section, position func(*protocol.ViewPositions) *uint64, of func(*capture.View) *ring.View[T], mark func(*T, *noise.Rules) byte, show func(*entrySearch, *T) protocol.ViewEntry) section {
	return section{
		Section: name, position: position,
		first: func(v *capture.View) uint64 { return of(v).First() },
		lane: func(r *laneReader, v *capture.View, after uint64, rules *noise.Rules) uint64 {
			head := func(e *T) *event.Head { return P(e).Header() }
			return lane(r, string(name), *of(v), after, head, func(e *T) byte { return mark(e, rules) })
		},
		search: func(s *entrySearch, v *capture.View, since capture.Moment) {
			search[T, P](s, *of(v), since.Pos[name.Track()], show)
		},
		at: func(s *entrySearch, v *capture.View, pos uint64) protocol.ViewEntry {
			return at[T, P](s, *of(v), pos, show)
		},
	}
}

// sections are all of them, in the order in which a timeline with a limit includes them.
var sections = []section{
	sectionOf(capture.ActionsSection, func(p *protocol.ViewPositions) *uint64 { return &p.Actions }, func(v *capture.View) *ring.View[event.Action] { return &v.Actions }, markOfAction, (*entrySearch).action),
	sectionOf(capture.DOMSection, func(p *protocol.ViewPositions) *uint64 { return &p.DOM }, func(v *capture.View) *ring.View[capture.Change] { return &v.DOM }, markOfChange, (*entrySearch).change),
	sectionOf(capture.ConsoleSection, func(p *protocol.ViewPositions) *uint64 { return &p.Console }, func(v *capture.View) *ring.View[event.Console] { return &v.Console }, markOfConsole, (*entrySearch).console),
	sectionOf(capture.NetworkSection, func(p *protocol.ViewPositions) *uint64 { return &p.Network }, func(v *capture.View) *ring.View[event.Network] { return &v.Network }, markOfNetwork, (*entrySearch).network),
	sectionOf(capture.WebSocketSection, func(p *protocol.ViewPositions) *uint64 { return &p.WebSocket }, func(v *capture.View) *ring.View[event.WebSocket] { return &v.WebSocket }, markOfSocket, (*entrySearch).socket),
}

// sectionCalled returns the section with a name, nil if there is none.
func sectionCalled(name string) *section {
	for i := range sections {
		if string(sections[i].Section) == name {
			return &sections[i]
		}
	}
	return nil
}
