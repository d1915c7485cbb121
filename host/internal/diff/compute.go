package diff

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/ring"
)

// Options say what a report covers.
type Options struct {
	// Include are the sections; empty means all.
	Include []Section
	// Filter empties the lists below a severity; it changes neither severity nor summary.
	Filter Filter
	// Origins narrow it to pages of these origins; empty means all.
	Origins []string
	// Workspace narrows what happened outside of tabs to a directory; "" means everywhere, or nowhere if there are origins.
	Workspace string
	// Allowed reports whether the user still allows what was recorded in a workspace. Nil allows all.
	Allowed func(root string) bool
	// Now returns where a workspace is now that was at a directory when something was recorded. Nil is for none that was moved.
	Now func(root string) string
	// Tab narrows it to one tab; 0 means all tabs, and what happened outside of tabs.
	Tab   int
	Noise *noise.Rules
	// Beginning says that it is compared with no checkpoint: a user's noise rules hide what is new, too.
	Beginning bool
	// Ended says that the window ended before now: which tabs are watched at this moment says nothing of it.
	Ended bool
	// NoiseProblems are the noise rules that are not used, and why.
	NoiseProblems []string
	// Own says of an action that the reader did it itself: that is no news to it. Nil: none is.
	Own func(tab int, at int64) bool
	// Original tells where an entry came from, and whether that is its original place; nil where all are told as
	// they were logged. It is called for entries that are shown, and decides nothing but how their source reads.
	Original func(*event.Console) (Place, bool)
	// Initiator tells which code of the project made a request, or opened a connection. It may be nil, and is called for
	// entries that are shown.
	Initiator func(event.Event) Place
	// Logged tells where the project's own code logged an error that came from elsewhere; false where it did not. It may
	// be nil.
	Logged func(*event.Console) (Place, bool)
	// Introduced returns the change of a file after which an entry first appeared, nil if it is not known: of a
	// *event.Console, of the first *event.Network of a failure, of a *event.WebSocket or of a *capture.Change. It may be nil,
	// and is called for entries that are shown.
	Introduced func(event.Event) *Introduced
	// Made names the agent's call that made a change of a file, or those of which one did, and the beginning of the prompt
	// behind it, "" where that is not known. It may be nil, and is called for entries that are shown.
	Made func(*event.FileChange) (call, prompt string)
	// Given are the entries that the reader was already shown, by what [Report.Given] returned. Such an entry is counted,
	// not listed. Nil lists everything.
	Given Given
	// Late says of a request that it belongs to an action of the reader whose answer did not have it yet. It may be nil.
	Late func(pos uint64, e *event.Network) bool
	// First leaves out what happened before the newest load of each tab; nil leaves out nothing.
	First *FirstLook
	// Refs has everything in the report say which entries it was made of.
	Refs bool
}

// Given are entries that a reader was shown.
type Given interface {
	// Has reports whether an entry is among them.
	Has(as uint64) bool
}

// FirstLook is where sections begin that the reader has not read yet.
type FirstLook struct {
	Sections []Section
	Loads    map[int]capture.Load
}

// before reports whether an entry of a tab that began at a time belongs to a page that the tab no longer shows.
func (f *FirstLook) before(s Section, pos uint64, tab int, began int64) bool {
	load, loaded := f.Loads[tab]
	return loaded && pos < load.Pos[s.Track()] && began < load.At && slices.Contains(f.Sections, s)
}

// covers reports whether the report speaks of an entry that began at a time, in milliseconds since the Unix epoch.
func (o *Options) covers(s Section, pos uint64, subject event.Subject, began int64) bool {
	return o.InScope(subject) && (o.First == nil || !o.First.before(s, pos, subject.Tab(), began))
}

// Place is a place in a file.
type Place struct {
	// File is an address or a path.
	File string
	Line int
	// Shared is true where the base name alone would not say which file it is.
	Shared bool
	// Generated is true for a place in generated code whose original is not known.
	Generated bool
}

// InScope says whether events of a subject are covered.
func (o *Options) InScope(s event.Subject) bool {
	if root := s.Workspace(); root != "" && o.Now != nil {
		s.Place = o.Now(root)
	}
	return (o.Tab == 0 || o.Tab == s.Tab()) && s.InScope(o.Origins, o.Workspace) && (o.Allowed == nil || s.Workspace() == "" || o.Allowed(s.Workspace()))
}

// EveryTab says whether all tabs are covered, whatever page they show.
func (o *Options) EveryTab() bool { return o.Tab == 0 && len(o.Origins) == 0 }

func (o *Options) includes(s Section) bool {
	return len(o.Include) == 0 || slices.Contains(o.Include, s)
}

// Compute reports what is new in a view since a moment.
func Compute(from capture.Moment, v *capture.View, o Options) *Report {
	c := computation{from: from, v: v, o: o, severity: Clean}
	c.nameTabs()
	r := &Report{From: Time{from.At}, To: Time{v.At}, DurationMs: max(0, v.At.Sub(from.At).Milliseconds())}
	var sections []section
	for _, s := range inOrder {
		if o.includes(s) {
			c.section = s
			c.overflow = c.overflow || v.Evicted(s, from.Pos[s.Track()], o.InScope)
			sections = append(sections, computers[s](&c, r))
		}
	}
	c.repeated.takeStale(&c)
	c.repeated.takeStanding(&c)
	c.repeated.list(&c, r)
	omitted := stormFinder{&c}.listStorms(r)
	r.Severity, r.Errors, r.Warnings = c.severity, c.errors, c.warnings
	r.BufferOverflow = c.overflow
	r.NoiseHidden, r.NoiseProblems = c.noiseHidden, o.NoiseProblems
	r.Coverage = c.coverage()
	r.DOMUnavailable = r.DOM != nil && c.domUnavailable()
	r.Summary = c.summary(r.Coverage)
	if o.Filter == ErrorsOnly {
		r.SeverityHidden += dropAll(&r.Storms)
	}
	if len(r.Storms) > 0 {
		r.PageText = Untrusted
	}
	for _, s := range sections {
		if o.Filter != "" && o.Filter != All {
			r.SeverityHidden += s.filter(o.Filter == ErrorsOnly)
		}
		if s.quotes() {
			r.PageText = Untrusted
		}
		if s, keeps := s.(interface {
			given() (shown []alike.Entry, over []uint64)
		}); keeps && o.Given != nil {
			shown, over := s.given()
			r.shown, r.over = append(r.shown, shown...), append(r.over, over...)
		}
		omitted += s.omitted()
	}
	if len(r.Repeated) > 0 {
		r.PageText = Untrusted
	}
	if omitted > 0 {
		r.Note = fmt.Sprintf("%d more not shown. Read them with the raw tools or a narrower include.", omitted)
	}
	return r
}

// inOrder are all sections in the order in which they are computed: the console leaves out what another section says.
var inOrder = slices.SortedStableFunc(slices.Values(capture.Sections), func(a, b Section) int {
	late := func(s Section) int {
		switch s {
		case capture.NetworkSection:
			return 0
		case capture.ConsoleSection:
			return 1
		}
		return 2
	}
	return late(a) - late(b)
})

// section is one section of a report.
type section interface {
	// filter removes the entries below a warning, or below an error, and returns how many it removed.
	filter(errorsOnly bool) int
	// quotes reports whether the section has text of the page.
	quotes() bool
	// omitted returns how many entries had no room.
	omitted() int
	// empty reports whether nothing happened.
	empty() bool
}

// Lined is a section that is shown as a list of lines, where nothing else says how it reads.
type Lined interface {
	// Lines returns its title, the number of new entries, and a line for each entry that it lists.
	Lines() (title string, total int, lines []string)
}

// computation is the state of one Compute.
type computation struct {
	from     capture.Moment
	v        *capture.View
	o        Options
	severity Severity
	section  Section // the one under way
	parts    []part  // of the summary
	errors   int
	warnings int
	files    int // that changed
	stillBad int // endpoints with the same failures as before
	wasBad   int // endpoints that had them again, and recovered

	overflow    bool
	noiseHidden int
	seen        map[seenKey]bool // before the window, as far as noise rules match it; nil until needed
	manyTabs    bool
	loads       map[int]int64   // when each tab last loaded a page; nil until needed
	backfilled  map[tabURL]bool // failed requests that were found afterwards; nil until needed
	storms      []*foundStorm
	stormy      map[sameMessage]bool // messages that are part of a storm
	updated     map[int]int64        // when a tab was loaded or updated last, where that ends storms

	repeated   repeatList
	duplicates duplicates
}

// part is a part of a summary.
type part struct {
	section Section
	text    string
}

func (c *computation) raise(s Severity) { c.severity = worse(c.severity, s) }

// count adds a part to the summary: "2 new console error(s)".
func (c *computation) count(n int, what string, s Severity) {
	if n == 0 {
		return
	}
	c.parts = append(c.parts, part{c.section, fmt.Sprintf("%d %s(s)", n, what)})
	if s == Error {
		c.errors += n
	} else {
		c.warnings += n
	}
	c.raise(s)
}

// nameTabs decides whether entries name their tab: they do where several are covered, be it that they are watched,
// that they were not observed for a while, or that entries of the window are from them. What has left the buffers is
// not read for this alone.
func (c *computation) nameTabs() {
	if c.o.Tab != 0 {
		return
	}
	covered := map[int]bool{}
	for _, t := range c.v.Tabs {
		if t.Watched && c.o.InScope(t.Subject()) {
			covered[t.ID] = true
		}
	}
	for _, g := range c.v.Gaps {
		if tab := g.Tab(); tab != 0 && c.covers(g) && c.o.InScope(g.Subject) {
			covered[tab] = true
		}
	}
	known := c.v.SubjectsSince(c.from.Pos, func(s event.Subject) {
		if tab := s.Tab(); tab != 0 && c.o.InScope(s) {
			covered[tab] = true
		}
	})
	if known {
		c.manyTabs = len(covered) > 1
		return
	}
	for _, section := range capture.Sections {
		from := max(c.from.Pos[section.Track()], c.v.FirstInRing(section))
		for _, e := range c.v.Events(section, from) {
			if h := e.Header(); h.Tab() != 0 && c.o.InScope(h.Subject) {
				if covered[h.Tab()] = true; len(covered) > 1 {
					c.manyTabs = true
					return
				}
			}
		}
	}
	c.manyTabs = len(covered) > 1
}

// inScope calls each with the entries of a buffer that are in scope, and returns how many there are. Where everything
// is, entries that the buffer does not mark are left out of the calls, and counted in left.
func inScope[T any, P event.Pointer[T]](o *Options, s Section, v *ring.View[T], from uint64, each func(pos uint64, e *T)) (total, left int) {
	if !o.EveryTab() || o.First != nil {
		for pos, e := range v.From(from) {
			if h := P(e).Header(); o.covers(s, pos, h.Subject, h.At) {
				total++
				each(pos, e)
			}
		}
		return total, 0
	}
	held := v.InRing()
	left = int(held.Next() - min(max(from, held.First()), held.Next()))
	total = left
	for pos, e := range v.Marked(from) {
		if pos < held.First() {
			total++
		} else {
			left--
		}
		each(pos, e)
	}
	return total, left
}

func (c *computation) tab(id int) int {
	if c.manyTabs {
		return id
	}
	return 0
}

func (c *computation) summary(coverage *Coverage) string {
	slices.SortStableFunc(c.parts, func(a, b part) int { return int(a.section.Track()) - int(b.section.Track()) })
	var parts []string
	for _, p := range c.parts {
		parts = append(parts, p.text)
	}
	s := strings.Join(parts, ", ")
	known := strings.Join(slices.DeleteFunc([]string{
		CountRepeated(c.repeated.errors, c.repeated.warnings), CountStillFailing(c.stillBad), countFailedAgain(c.wasBad),
	}, func(s string) bool { return s == "" }), ", ")
	switch {
	case s == "" && known == "":
		s = "No significant changes"
		if c.files == 1 {
			s += "; 1 file changed"
		} else if c.files > 1 {
			s += fmt.Sprintf("; %d files changed", c.files)
		}
	case s == "":
		s = "no new problems; " + known
	case known != "":
		s += "; " + known
	}
	if coverage != nil {
		s += notObserved + coverage.Note
	}
	return s
}

// notObserved parts a summary from what was not observed.
const notObserved = "; not fully observed: "

// SplitSummary parts a [Report.Summary] into what was found and why it was not observed in full, "" when it was.
func SplitSummary(summary string) (found, unseen string) {
	found, unseen, _ = strings.Cut(summary, notObserved)
	return found, unseen
}

func (c *computation) actions() *ActionsDiff {
	d := &ActionsDiff{}
	var shown []Action
	for pos, a := range c.v.Actions().From(c.from.Pos[capture.Actions]) {
		if c.o.covers(c.section, pos, a.Subject, a.At) && (c.o.Own == nil || !c.o.Own(a.Tab(), a.At)) {
			d.TotalNewActions++
			shown = append(shown, Action{Type: a.Type, Target: Shorten(a.Target), Value: Shorten(a.Value), At: Time{a.Time()}, Tab: c.tab(a.Tab()), Ref: c.ref(pos, a)})
		}
	}
	// The newest are kept: what led to the present state.
	d.Omitted = max(0, len(shown)-MaxEntries)
	if len(shown) > 0 {
		d.NewActions = shown[d.Omitted:]
	}
	return d
}

func (d *ActionsDiff) filter(bool) int { return dropAll(&d.NewActions) }

func (d *ActionsDiff) quotes() bool { return len(d.NewActions) > 0 }

func (d *ActionsDiff) omitted() int { return d.Omitted }

func (d *ActionsDiff) empty() bool { return d.TotalNewActions == 0 }

// dropAll empties a list and returns how many entries it had.
func dropAll[T any](list *[]T) int {
	n := len(*list)
	*list = nil
	return n
}

// room shares MaxEntries among the lists of one section, the first list first.
type room struct{ left, omitted int }

func newRoom() *room { return &room{left: MaxEntries} }

// take cuts a list to what there is room for.
func take[T any](r *room, list []T) []T {
	n := min(len(list), r.left)
	r.left -= n
	r.omitted += len(list) - n
	if n == 0 {
		return nil
	}
	return list[:n]
}

// tally is one distinct entry, how often and when it was seen last; lists are ordered by frequency,
// then by recency.
type tally[T any] struct {
	entry T
	count int
	last  uint64
	ref   *Ref
	// shown is the event that stands for all, where they are shown by it.
	shown event.Event
	began event.Event   // the first of all, where something may have introduced it
	keys  []alike.Entry // what the reader will know it by
}

// keysOf returns the entries that a list stands for.
func keysOf[T any](list []*tally[T]) (keys []alike.Entry) {
	for _, t := range list {
		keys = append(keys, t.keys...)
	}
	return keys
}

func byFrequency[T any](list []*tally[T]) []*tally[T] {
	slices.SortFunc(list, func(a, b *tally[T]) int { // one that sees at once that a list is in the opposite order
		if a.count != b.count {
			return b.count - a.count
		}
		return int(int64(b.last) - int64(a.last))
	})
	return list
}

// introduce finds the changes of files after which entries first appeared.
func introduce[T any](o *Options, list []*tally[T], at func(*T) **Introduced) {
	for i, t := range list {
		if o.Introduced == nil || i == maxIntroduced {
			return
		}
		*at(&t.entry) = o.Introduced(t.began)
	}
}

// several is a count as it is shown where one goes without saying.
func several(n int) int {
	if n > 1 {
		return n
	}
	return 0
}
