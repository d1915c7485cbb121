package capture

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/ring"
)

// Track numbers a kind of recorded entry. [tracks] has what code for all tracks needs to know of each. The numbers are
// valid while the program runs; journals and checkpoints contain names.
type Track int

// Tracks.
const (
	Console Track = iota
	Network
	WebSocket
	DOM
	Actions
	Variables
	Files
	Gaps // the list of gaps, which has a position and no buffer
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
	VariablesSection Section = "variables"
	FilesSection     Section = "files"
)

// Sections are all of them, in the order in which they are shown.
var Sections = sectionsInOrder()

func sectionsInOrder() (all []Section) {
	for _, t := range tracks {
		all = append(all, t.section())
	}
	return all
}

// SectionNames lists [Sections] for a message.
func SectionNames() string {
	var names []string
	for _, s := range Sections {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// EntryBytes is what an entry of a section takes in a buffer beside its texts.
func EntryBytes(s Section) int { return tracks[s.Track()].entryBytes() }

// Section names a track. Gaps has no section.
func (t Track) Section() Section { return Sections[t] }

// Recorder names the recorder of the section's entries.
func (s Section) Recorder() string { return tracks[s.Track()].recorder() }

// Track returns the track of one of [Sections].
func (s Section) Track() Track {
	for t, section := range Sections {
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
	for t, s := range Sections {
		p[t] = of(s)
	}
	return p
}

// names are the names of positions in exported checkpoints.
func (p *Positions) names() (names [trackCount]string) {
	for t, row := range tracks {
		names[t] = row.position()
	}
	names[Gaps] = "Gaps"
	return names
}

// set sets the positions that are named. The others are those before everything: the tracks are newer than the list.
func (p *Positions) set(named map[string]uint64) {
	for t, name := range p.names() {
		p[t] = max(1, named[name])
	}
}

// MarshalJSON implements [json.Marshaler].
func (p Positions) MarshalJSON() ([]byte, error) {
	out := []byte("{")
	for t, name := range p.names() {
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
	p.set(named)
	return nil
}

// EncodeMsgpack implements [msgpack.CustomEncoder].
func (p Positions) EncodeMsgpack(e *msgpack.Encoder) error {
	if err := e.EncodeMapLen(len(p)); err != nil {
		return err
	}
	for t, name := range p.names() {
		if err := e.EncodeString(name); err != nil {
			return err
		}
		if err := e.EncodeUint(p[t]); err != nil {
			return err
		}
	}
	return nil
}

// DecodeMsgpack implements [msgpack.CustomDecoder]. A journal of format 2 has an array of what were the tracks.
func (p *Positions) DecodeMsgpack(d *msgpack.Decoder) error {
	code, err := d.PeekCode()
	if err != nil {
		return err
	}
	named := map[string]uint64{}
	if msgpcode.IsFixedMap(code) || code == msgpcode.Map16 || code == msgpcode.Map32 {
		err = d.Decode(&named)
	} else {
		var list []uint64
		err = d.Decode(&list)
		for i, name := range [...]string{"Console", "Network", "WebSocket", "Actions", "DOM", "Gaps"} {
			if i < len(list) {
				named[name] = list[i]
			}
		}
	}
	p.set(named)
	return err
}

// row is a track in [tracks], for code that treats all tracks alike.
type row interface {
	section() Section
	// position names the track in exported checkpoints and in journals.
	position() string
	recorder() string
	// defaults is the limit of the buffer where the settings have none.
	defaults() Limit
	// entryBytes is the size of an entry without texts.
	entryBytes() int
	// open makes the buffer of a store, empty. The next entry gets a position.
	open(s *Store, l Limit, start uint64) buffer
	list(n int) List
}

// tracks are all of them.
var tracks = [Gaps]row{
	Console: newTrack(ConsoleSection, Browsers, "Console", Limit{10_000, 6 << 20}, ring.Options[event.Console]{
		Chunk: 64, Size: sizeOfConsole, Mark: notableMessage, Flag: noise.MayBeStale, Label: labelOfLine,
	}),
	Network: newTrack(NetworkSection, Browsers, "Network", Limit{5_000, 16 << 20}, ring.Options[event.Network]{
		Chunk: 8, Size: sizeOfNetwork,
	}).with((*Store).addNetwork, func(s *Store, e *event.Network) { s.oldTable = s.oldTable.apply(KeyOf(e), e) }),
	WebSocket: newTrack(WebSocketSection, Browsers, "WebSocket", Limit{20_000, 8 << 20}, ring.Options[event.WebSocket]{
		Chunk: 64, Size: sizeOfWebSocket, Mark: notableFrame,
	}),
	DOM: newTrack(DOMSection, Browsers, "DOM", Limit{2_000, 1 << 20}, ring.Options[Change]{
		Chunk: 64, Size: sizeOfChange,
	}).with((*Store).change, func(s *Store, c *Change) { s.oldDOM = s.oldDOM.apply(c) }),
	Actions: newTrack(ActionsSection, Browsers, "Actions", Limit{2_000, 1 << 20}, ring.Options[event.Action]{
		Chunk: 64, Size: sizeOfAction,
	}),
	Variables: newTrack(VariablesSection, Browsers, "Variables", Limit{2_000, 1 << 20}, ring.Options[event.Inspection]{
		Chunk: 64, Size: sizeOfInspection,
	}),
	Files: newTrack(FilesSection, Workspaces, "Files", Limit{5_000, 1 << 20}, ring.Options[event.FileChange]{
		Chunk: 64, Size: sizeOfFileChange,
	}),
}

// trackOf is a track whose entries are of T.
type trackOf[T any, P event.Pointer[T]] struct {
	name   Section
	pos    string
	limits Limit
	ring   ring.Options[T]
	from   string           // the recorder
	append func(*Store, T)  // appends an entry; nil: nothing but the buffer changes
	evict  func(*Store, *T) // takes what is evicted; may be nil
}

// newTrack makes a track that a recorder records. Options are those of its buffer, without limits, start and eviction.
func newTrack[T any, P event.Pointer[T]](name Section, recorder, position string, l Limit, o ring.Options[T]) *trackOf[T, P] {
	return &trackOf[T, P]{name: name, from: recorder, pos: position, limits: l, ring: o}
}

// with gives a track a state beside the buffer, which changes with every entry that is appended or evicted.
func (t *trackOf[T, P]) with(add func(*Store, T), evict func(*Store, *T)) *trackOf[T, P] {
	t.append, t.evict = add, evict
	return t
}

func (t *trackOf[T, P]) section() Section { return t.name }

func (t *trackOf[T, P]) position() string { return t.pos }

func (t *trackOf[T, P]) recorder() string { return t.from }

func (t *trackOf[T, P]) defaults() Limit { return t.limits }

func (t *trackOf[T, P]) entryBytes() int {
	var e T
	return t.ring.Size(&e)
}

func (t *trackOf[T, P]) list(n int) List { return make(listOf[T, P], n) }

func (t *trackOf[T, P]) open(s *Store, l Limit, start uint64) buffer {
	b := &bufferOf[T, P]{trackOf: t, store: s, track: t.name.Track()}
	o := t.ring
	o.MaxCount, o.MaxBytes, o.Start = l.Count, l.Bytes, start
	o.Evict = func(pos uint64, e *T) {
		s.evicted.note(b.track, pos, P(e).Header())
		if t.evict != nil {
			t.evict(s, e)
		}
	}
	b.Ring = ring.New(o)
	return b
}

// List is entries of one track in one piece of memory.
type List interface {
	Len() int
	// At returns a pointer to an entry.
	At(i int) event.Event
	// Emptied returns a list of n empty entries, in the memory of this one if that suffices.
	Emptied(n int) List
}

// NewList makes a list of n empty entries of a section, for a journal to read into.
func NewList(s Section, n int) List { return tracks[s.Track()].list(n) }

type listOf[T any, P event.Pointer[T]] []T

func (l listOf[T, P]) Len() int { return len(l) }

func (l listOf[T, P]) At(i int) event.Event { return P(&l[i]) }

func (l listOf[T, P]) Emptied(n int) List {
	if n > cap(l) {
		return make(listOf[T, P], n)
	}
	l = l[:n]
	clear(l)
	return l
}

// buffer is the buffer of a track, for code that treats all tracks alike.
type buffer interface {
	// First is the position of the oldest entry in the buffer, Next the one of the next entry.
	First() uint64
	Next() uint64
	// SkipTo gives the next entry a position and returns whether it skipped any.
	SkipTo(pos uint64) bool
	view() span
	// take appends an entry and returns true, if it is of the track's type.
	take(e event.Event) bool
}

// bufferOf is the buffer of a track of T.
type bufferOf[T any, P event.Pointer[T]] struct {
	*trackOf[T, P]
	*ring.Ring[T]
	store *Store
	track Track
}

// bufferIn returns the buffer of a track whose entries are of T.
func bufferIn[T any, P event.Pointer[T]](s *Store, t Track) *bufferOf[T, P] {
	return s.buffers[t].(*bufferOf[T, P])
}

func (b *bufferOf[T, P]) First() uint64 { return b.View().First() }

// add appends an entry. Nothing else appends to the buffer.
func (b *bufferOf[T, P]) add(e T) *T {
	pos, stored := b.Append(e)
	b.store.keep.add(b.name, pos, P(stored), b.ring.Size(stored))
	b.store.subjects.note(b.track, pos, P(stored).Header(), b.store.firstLocked)
	return stored
}

func (b *bufferOf[T, P]) take(e event.Event) bool {
	entry, ok := e.(P)
	switch {
	case !ok:
	case b.append != nil:
		b.append(b.store, *entry)
	default:
		b.add(*entry)
	}
	return ok
}

func (b *bufferOf[T, P]) view() span {
	v := b.View()
	return spanOf[T, P]{&v}
}

// span is a track in a view, for code that treats all tracks alike.
type span interface {
	// First is the oldest position that can be read, FirstInRing the oldest in the buffer, Next the one after the newest.
	First() uint64
	FirstInRing() uint64
	Next() uint64
	// events yields the entries from a position on.
	events(from uint64) iter.Seq2[uint64, event.Event]
	// after is the first position whose entry is later than a time. Entries that arrived a little out of order are read
	// rather than missed. It is before if an entry later than the time has left the buffer; gone is the time of the newest
	// of those.
	after(ms, gone int64, before uint64) uint64
	// until is the span up to a position.
	until(pos uint64) span
	// behind is the span with the entries of a track that a journal has from a position on.
	behind(first uint64, p Past, s Section) span
}

// spanOf is a track of T in a view.
type spanOf[T any, P event.Pointer[T]] struct{ *ring.View[T] }

// in returns a track of T in a view.
func in[T any, P event.Pointer[T]](v *View, t Track) *ring.View[T] {
	return v.tracks[t].(spanOf[T, P]).View
}

func (s spanOf[T, P]) events(from uint64) iter.Seq2[uint64, event.Event] {
	return func(yield func(uint64, event.Event) bool) {
		for pos, e := range s.From(from) {
			if !yield(pos, P(e)) {
				return
			}
		}
	}
}

func (s spanOf[T, P]) after(ms, gone int64, before uint64) uint64 {
	if gone > ms {
		return before
	}
	for pos, e := range s.InRing().From(0) {
		if P(e).Header().At > ms {
			return pos
		}
	}
	return s.Next()
}

func (s spanOf[T, P]) until(pos uint64) span {
	v := s.Until(pos)
	return spanOf[T, P]{&v}
}

func (s spanOf[T, P]) behind(first uint64, p Past, section Section) span {
	v := s.Behind(first, func(from, to uint64) iter.Seq2[uint64, *T] {
		return func(yield func(uint64, *T) bool) {
			for pos, e := range p.Entries(section, from, to) {
				if !yield(pos, e.(P)) {
					return
				}
			}
		}
	})
	return spanOf[T, P]{&v}
}

// Console is the track of console messages.
func (v *View) Console() *ring.View[event.Console] { return in[event.Console](v, Console) }

// Network is the track of requests.
func (v *View) Network() *ring.View[event.Network] { return in[event.Network](v, Network) }

// WebSocket is the track of connections.
func (v *View) WebSocket() *ring.View[event.WebSocket] { return in[event.WebSocket](v, WebSocket) }

// Actions is the track of the user's actions.
func (v *View) Actions() *ring.View[event.Action] { return in[event.Action](v, Actions) }

// DOM is the track of error elements and addresses.
func (v *View) DOM() *ring.View[Change] { return in[Change](v, DOM) }

// Variables is the track of what debuggers saw.
func (v *View) Variables() *ring.View[event.Inspection] { return in[event.Inspection](v, Variables) }

// Files is the track of changes in workspaces.
func (v *View) Files() *ring.View[event.FileChange] { return in[event.FileChange](v, Files) }

// Events yields the entries of a section from a position on, oldest first.
func (v *View) Events(s Section, from uint64) iter.Seq2[uint64, event.Event] {
	return v.tracks[s.Track()].events(from)
}

// First returns the position of the oldest entry of a section that can be read.
func (v *View) First(s Section) uint64 { return v.tracks[s.Track()].First() }

// FirstInRing returns the position of the oldest entry of a section that its buffer holds.
func (v *View) FirstInRing(s Section) uint64 { return v.tracks[s.Track()].FirstInRing() }
