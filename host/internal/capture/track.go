package capture

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/ring"
)

// Track numbers a kind of recorded entry. Journals contain the numbers: new ones are added at the end.
type Track int

// Tracks.
const (
	Console Track = iota
	Network
	WebSocket
	Actions
	DOM
	Gaps // the list of gaps, which is no section
	trackCount
)

// Section names a track in reports, in journals and to agents.
type Section string

// Sections.
const (
	ConsoleSection   Section = "console"
	NetworkSection   Section = "network"
	WebSocketSection Section = "websocket"
	DOMSection       Section = "dom"
	ActionsSection   Section = "actions"
)

// Sections are all of them, in the order in which they are shown.
var Sections = []Section{ConsoleSection, NetworkSection, WebSocketSection, DOMSection, ActionsSection}

// SectionNames lists [Sections] for a message.
func SectionNames() string {
	var names []string
	for _, s := range Sections {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// sections are the tracks that are sections.
var sections = [...]Section{Console: ConsoleSection, Network: NetworkSection, WebSocket: WebSocketSection, Actions: ActionsSection, DOM: DOMSection}

// Track returns the track of one of [Sections].
func (s Section) Track() Track {
	for t, section := range sections {
		if section == s {
			return Track(t)
		}
	}
	panic("no section is called " + string(s))
}

// Positions are the next position to read in each track.
type Positions [trackCount]uint64

// begin returns the positions before everything.
func begin() (p Positions) {
	for t := range p {
		p[t] = 1
	}
	return p
}

// BySection returns the positions that a function gives for each section.
func BySection(of func(Section) uint64) (p Positions) {
	for t, s := range sections {
		p[t] = of(s)
	}
	return p
}

// positionNames are the names of positions in exported checkpoints.
var positionNames = [trackCount]string{Console: "Console", Network: "Network", WebSocket: "WebSocket", Actions: "Actions", DOM: "DOM", Gaps: "Gaps"}

// MarshalJSON implements [json.Marshaler].
func (p Positions) MarshalJSON() ([]byte, error) {
	out := []byte("{")
	for t, name := range positionNames {
		if t > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%d", name, p[t])
	}
	return append(out, '}'), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. It ignores unknown tracks.
func (p *Positions) UnmarshalJSON(data []byte) error {
	var named map[string]uint64
	if err := json.Unmarshal(data, &named); err != nil {
		return err
	}
	for t, name := range positionNames {
		p[t] = named[name]
	}
	return nil
}

// buffer is the buffer of a track, for code that treats all tracks alike.
type buffer interface {
	// First is the position of the oldest entry in the buffer, Next the one of the next entry.
	First() uint64
	Next() uint64
	// SkipTo gives the next entry a position and returns whether it skipped any.
	SkipTo(pos uint64) bool
	// all yields the entries in the buffer.
	all() iter.Seq2[uint64, event.Event]
	// restore appends an entry that was read from a journal.
	restore(e event.Event)
}

// trackBuffer is the buffer of a track of T.
type trackBuffer[T any, P event.Pointer[T]] struct {
	*ring.Ring[T]
	store *Store
	track Track
	size  func(*T) int
	apply func(T) // appends an entry that was read from a journal
}

// newTrack makes the empty buffer of a track, whose next entry gets a position. Options have all but limits and position.
// Evict, which may be nil, is called after the eviction was noted.
func newTrack[T any, P event.Pointer[T]](s *Store, t Track, l Limit, start uint64, o ring.Options[T]) *trackBuffer[T, P] {
	b := &trackBuffer[T, P]{store: s, track: t, size: o.Size}
	b.apply = func(e T) { b.add(e) }
	evict := o.Evict
	o.Evict = func(pos uint64, e *T) {
		s.evicted.note(t, pos, P(e).Header())
		if evict != nil {
			evict(pos, e)
		}
	}
	b.Ring = newRing(l, start, o)
	return b
}

func (b *trackBuffer[T, P]) First() uint64 { return b.View().First() }

// add appends an entry. Nothing else appends to the buffer.
func (b *trackBuffer[T, P]) add(e T) *T {
	pos, stored := b.Append(e)
	b.store.keep.add(sections[b.track], pos, P(stored), b.size(stored))
	b.store.pages.note(b.track, pos, P(stored).Header(), b.store.firstLocked)
	return stored
}

func (b *trackBuffer[T, P]) restore(e event.Event) { b.apply(*e.(P)) }

func (b *trackBuffer[T, P]) all() iter.Seq2[uint64, event.Event] {
	v := b.View()
	return span[T, P]{&v}.events(0)
}

// bounds is a track in a view, for code that treats all tracks alike.
type bounds interface {
	// First is the oldest position that can be read, FirstInRing the oldest in the buffer, Next the one after the newest.
	First() uint64
	FirstInRing() uint64
	Next() uint64
	// events yields the entries from a position on.
	events(from uint64) iter.Seq2[uint64, event.Event]
	// raw is [View.RawBytes].
	raw(from uint64, inScope func(origin string, tab int) bool) int
}

// span is a track of T in a view.
type span[T any, P event.Pointer[T]] struct{ *ring.View[T] }

func (s span[T, P]) events(from uint64) iter.Seq2[uint64, event.Event] {
	return func(yield func(uint64, event.Event) bool) {
		for pos, e := range s.From(from) {
			if !yield(pos, P(e)) {
				return
			}
		}
	}
}

func (s span[T, P]) raw(from uint64, inScope func(origin string, tab int) bool) (bytes int) {
	v := *s.View
	if inScope == nil {
		bytes, v = v.Weight(from), v.Until(v.FirstInRing())
	}
	for _, e := range v.From(from) {
		if h := P(e).Header(); inScope == nil || inScope(h.Origin, h.Tab) {
			bytes += v.Weigh(e)
		}
	}
	return bytes
}

// spans returns the tracks of a view that are sections.
func (v *View) spans() [Gaps]bounds {
	return [...]bounds{
		Console: span[event.Console, *event.Console]{&v.Console}, Network: span[event.Network, *event.Network]{&v.Network},
		WebSocket: span[event.WebSocket, *event.WebSocket]{&v.WebSocket}, Actions: span[event.Action, *event.Action]{&v.Actions},
		DOM: span[Change, *Change]{&v.DOM},
	}
}

// Events yields the entries of a section from a position on, oldest first.
func (v *View) Events(s Section, from uint64) iter.Seq2[uint64, event.Event] {
	return v.spans()[s.Track()].events(from)
}

// RawBytes returns about how many bytes a tool that returns whole entries needs for the entries of a section from a
// position on. InScope selects pages; nil means all, which takes no time for entries in the buffer.
func (v *View) RawBytes(s Section, from uint64, inScope func(origin string, tab int) bool) int {
	return v.spans()[s.Track()].raw(from, inScope)
}

// FirstInRing returns the position of the oldest entry of a section that its buffer holds.
func (v *View) FirstInRing(s Section) uint64 { return v.spans()[s.Track()].FirstInRing() }
