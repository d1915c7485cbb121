package viewer

import (
	"iter"
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
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

// sections are all of them, in the order in which a timeline with a limit includes them. Those that are not listed here
// follow, as plain lanes.
var sections = withPlain(
	newSection(capture.ActionsSection, (*capture.View).Actions, markOfAction, (*entrySearch).action),
	newSection(capture.DOMSection, (*capture.View).DOM, markOfChange, (*entrySearch).change),
	newSection(capture.FilesSection, (*capture.View).Files, markOfFile, (*entrySearch).file),
	newSection(capture.VariablesSection, (*capture.View).Variables, markOfInspection, (*entrySearch).inspection),
	newSection(capture.ConsoleSection, (*capture.View).Console, markOfConsole, (*entrySearch).console),
	newSection(capture.NetworkSection, (*capture.View).Network, markOfNetwork, (*entrySearch).network),
	newSection(capture.WebSocketSection, (*capture.View).WebSocket, markOfSocket, (*entrySearch).socket),
)

// entries are the entries of a lane that a view has, as [ring.View] has them.
type entries[E any] interface {
	First() uint64
	From(pos uint64) iter.Seq2[uint64, E]
}

func newSection[E event.Event, V entries[E]](name capture.Section, of func(*capture.View) V, mark func(E, *noise.Rules) byte, show func(*entrySearch, E) protocol.ViewEntry) section {
	return section{
		Section: name,
		first:   func(v *capture.View) uint64 { return of(v).First() },
		lane: func(r *laneReader, v *capture.View, after uint64, rules *noise.Rules) uint64 {
			return lane(r, string(name), of(v), after, E.Header, func(e E) byte { return mark(e, rules) })
		},
		search: func(s *entrySearch, v *capture.View, since capture.Moment) {
			search(s, of(v), since.Pos[name.Track()], show)
		},
		at: func(s *entrySearch, v *capture.View, pos uint64) protocol.ViewEntry {
			return at(s, of(v), pos, show)
		},
	}
}

// withPlain adds the sections that are not in a list. Their entries are clean, and read as they say themselves.
func withPlain(list ...section) []section {
	for _, name := range capture.Sections {
		if slices.ContainsFunc(list, func(s section) bool { return s.Section == name }) {
			continue
		}
		of := func(v *capture.View) plain { return plain{v, name} }
		mark := func(event.Event, *noise.Rules) byte { return protocol.MarkClean }
		list = append(list, newSection(name, of, mark, func(s *entrySearch, e event.Event) protocol.ViewEntry {
			out := protocol.ViewEntry{Lane: string(name), Mark: string(mark(e, s.rules))}
			if e, ok := e.(event.Lined); ok {
				kind, text := e.Line()
				out.Kind, out.Text = kind, s.textOf(text)
			}
			return out
		}))
	}
	return list
}

// plain are the entries of a section, of whatever type.
type plain struct {
	view    *capture.View
	section capture.Section
}

func (p plain) First() uint64 { return p.view.First(p.section) }

func (p plain) From(pos uint64) iter.Seq2[uint64, event.Event] { return p.view.Events(p.section, pos) }

// sectionCalled returns the section with a name, nil if there is none.
func sectionCalled(name string) *section {
	for i := range sections {
		if string(sections[i].Section) == name {
			return &sections[i]
		}
	}
	return nil
}
