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
	first func(*capture.View) uint64
	// lane adds the lane to a timeline, from a position on, and returns the position to continue from.
	lane func(r *laneReader, v *capture.View, after uint64, rules *noise.Rules) uint64
	// search adds the entries since a moment that match.
	search func(s *entrySearch, v *capture.View, since capture.Moment)
	// at returns the entry at a position, without a lane if there is none.
	at func(s *entrySearch, v *capture.View, pos uint64) protocol.ViewEntry
}

// sections are all of them, in the order in which a timeline with a limit includes them.
var sections = []section{
	newSection(capture.ActionsSection, (*capture.View).Actions, markOfAction, (*entrySearch).action),
	newSection(capture.DOMSection, (*capture.View).DOM, markOfChange, (*entrySearch).change),
	newSection(capture.VariablesSection, (*capture.View).Variables, markOfInspection, (*entrySearch).inspection),
	newSection(capture.ConsoleSection, (*capture.View).Console, markOfConsole, (*entrySearch).console),
	newSection(capture.NetworkSection, (*capture.View).Network, markOfNetwork, (*entrySearch).network),
	newSection(capture.WebSocketSection, (*capture.View).WebSocket, markOfSocket, (*entrySearch).socket),
}

func newSection[T any, P event.Pointer[T]](name capture.Section, of func(*capture.View) *ring.View[T], mark func(*T, *noise.Rules) byte, show func(*entrySearch, *T) protocol.ViewEntry) section {
	return section{
		Section: name,
		first:   func(v *capture.View) uint64 { return of(v).First() },
		lane: func(r *laneReader, v *capture.View, after uint64, rules *noise.Rules) uint64 {
			head := func(e *T) *event.Head { return P(e).Header() }
			return lane(r, string(name), of(v), after, head, func(e *T) byte { return mark(e, rules) })
		},
		search: func(s *entrySearch, v *capture.View, since capture.Moment) {
			search[T, P](s, of(v), since.Pos[name.Track()], show)
		},
		at: func(s *entrySearch, v *capture.View, pos uint64) protocol.ViewEntry {
			return at[T, P](s, of(v), pos, show)
		},
	}
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
