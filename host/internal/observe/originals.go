package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/stacks"
)

// Originals finds original places with source maps.
type Originals struct {
	// Maps caches source maps and fetches those that are requested.
	Maps *sourcemap.Cache
	// Clean makes a file name from a page safe to show.
	Clean func(name string) string
}

// Places finds the original places of entries in one view. It requests missing maps, and [WithPlaces] waits for them.
type Places struct {
	Originals
	v     *capture.View
	loads *loads
	edits *Edits
	// coming are the scripts whose maps were needed and are being fetched.
	coming map[sourcemap.Script]bool
}

// OriginalsIn finds places by the code that was loaded up to the end of the view's buffers, at least.
func (o *Observer) OriginalsIn(v *capture.View) *Places {
	if o.Originals.Maps == nil {
		return nil
	}
	return &Places{Originals: o.Originals, v: v, loads: &o.loads, edits: &o.edits, coming: map[sourcemap.Script]bool{}}
}

// loads records when tabs loaded code, in milliseconds since the Unix epoch. Cached code is the same code as before,
// so it counts as no load. Each entry of the buffers is read once for all callers. It is safe for concurrent use. Its
// lock is taken within that of the source maps, never around it.
type loads struct {
	mu sync.Mutex
	// network and console are the positions up to which the buffers have been read.
	network, console uint64
	// kept counts the loads.
	kept int
	of   map[sourcemap.Script][]int64
	// files groups the loads of scripts whose addresses differ only in a development server's time stamp.
	files map[sourcemap.Script][]sourcemap.Script
	// updates are hot updates of code that arrived in one file with other code, by tab.
	updates  map[int][]update
	wrappers stacks.Wrappers
}

// maxLoads bounds the recorded loads. Beyond it, the index is rebuilt from the buffers.
const maxLoads = 20_000

// update is a hot update after which a server's files differ from those a tab loaded from it.
type update struct {
	at     int64
	prefix string // of the addresses of the files
}

// loaded returns the index, locked and current up to the end of the view, and a function that unlocks it.
func (p *Places) loaded() (l *loads, done func()) {
	l = p.loads
	l.mu.Lock()
	if l.of == nil || l.kept > maxLoads {
		l.network, l.console, l.kept = 0, 0, 0
		l.of, l.files, l.updates = map[sourcemap.Script][]int64{}, map[sourcemap.Script][]sourcemap.Script{}, map[int][]update{}
	}
	for pos, n := range p.v.Network().InRing().From(l.network) {
		l.network = pos + 1
		l.wrappers.Add(capture.KeyOf(n), n.Stack)
		if n.Cached || n.Status != 200 || n.Resource == "fetch" || n.Resource == "xhr" {
			continue
		}
		s := sourcemap.Script{Tab: n.Tab(), URL: n.URL}
		if l.of[s] == nil {
			file := s.File()
			l.files[file] = append(l.files[file], s)
		}
		l.of[s] = append(l.of[s], n.Started)
		l.kept++
		if isHotUpdate(n.URL) {
			origin, _ := capture.SplitURL(n.URL)
			l.updates[n.Tab()] = append(l.updates[n.Tab()], update{n.Started, origin + "/"})
		}
	}
	for _, c := range p.v.Console().InRing().Marked(l.console) {
		if capture.TellsOfRefresh(c) {
			l.updates[c.Tab()] = append(l.updates[c.Tab()], update{c.At, c.Origin() + "/_next/"})
			l.kept++
		}
	}
	l.console = max(l.console, p.v.Console().Next())
	return l, l.mu.Unlock
}

// isHotUpdate says whether an address is that of a webpack hot update, whose name contains a hash of its content.
func isHotUpdate(url string) bool { return strings.Contains(url, ".hot-update.") }

// Evaluated says whether code has an address that was never loaded. Turbopack evaluates its hot updates, names them
// after a loaded file and appends the module's id.
func (p *Places) Evaluated(s sourcemap.Script) bool {
	_, query, _ := strings.Cut(s.URL, "?")
	if !strings.HasPrefix(query, "id=") {
		return false
	}
	l, done := p.loaded()
	defer done()
	return l.of[s] == nil
}

// Holds returns the condition that a map belongs to the code that ran at a time. The tab must have loaded nothing
// from the code's address in between. Also, no hot update may have changed the server's file between that load and
// the map's.
func (p *Places) Holds(s sourcemap.Script, at int64) sourcemap.Holds {
	_, done := p.loaded() // brings the index up to the view
	done()
	return func(fetched int64) bool {
		l := p.loads
		l.mu.Lock()
		defer l.mu.Unlock()
		ran := int64(0) // when the tab loaded the code
		for _, t := range l.of[s] {
			if min(at, fetched) < t && t <= max(at, fetched) {
				return false
			}
			if t <= at {
				ran = max(ran, t)
			}
		}
		changed := func(t int64) bool { return ran < t && t <= fetched }
		for _, other := range l.files[s.File()] {
			if other != s && slices.ContainsFunc(l.of[other], changed) {
				return false
			}
		}
		return isHotUpdate(s.URL) || !slices.ContainsFunc(l.updates[s.Tab], func(u update) bool {
			return changed(u.at) && strings.HasPrefix(s.URL, u.prefix)
		})
	}
}

// TopFrame returns the frame of an entry's source.
func TopFrame(c *event.Console) stacks.Frame {
	return stacks.Frame{URL: c.URL, Line: c.Line, Column: c.Column}
}

// find returns the original place of a frame of an entry.
func (p *Places) find(c *event.Console, f stacks.Frame) (sourcemap.Position, bool) {
	return p.findAt(c.Tab(), c.At, f)
}

// findAt returns the original place of a frame of code that ran in a tab at a time.
func (p *Places) findAt(tab int, at int64, f stacks.Frame) (sourcemap.Position, bool) {
	m := p.mapOf(tab, at, f)
	if m == nil {
		return sourcemap.Position{}, false
	}
	pos, ok := m.Find(f.Line, f.Column)
	pos.Source = p.Clean(pos.Source)
	return pos, ok && pos.Source != ""
}

// mapOf returns the map of a frame's script as it ran in a tab at a time; nil if it is not there (yet).
func (p *Places) mapOf(tab int, at int64, f stacks.Frame) *sourcemap.Map {
	if p == nil || !f.IsWeb() {
		return nil
	}
	s := sourcemap.Script{Tab: tab, URL: f.URL}
	if p.Evaluated(s) {
		return nil
	}
	holds := p.Holds(s, at)
	m := p.Maps.Get(s, holds)
	if m == nil && p.Maps.Want(s, holds) {
		p.coming[s] = true
	}
	return m
}

// Compiled returns the original place of a place in the code that a file was compiled to and that ran in a tab at a time. The
// code is the script whose path ends the file's, as development servers name it.
func (p *Places) Compiled(tab int, at int64, file string, line, column int) (sourcemap.Position, bool) {
	if p == nil {
		return sourcemap.Position{}, false
	}
	return p.findAt(tab, at, stacks.Frame{URL: p.script(tab, file), Line: line, Column: column})
}

// StyleLine returns the line of a component's file that declares a property, by the line in its style block of a number; 0
// if it is not known. See [sourcemap.Map.StyleLine].
func (p *Places) StyleLine(tab int, at int64, file string, number, line int, property string) int {
	if p == nil {
		return 0
	}
	found, _ := p.mapOf(tab, at, stacks.Frame{URL: p.script(tab, file), Line: 1}).StyleLine(file, number, line, property)
	return found
}

// script returns the address from which a tab last loaded the code of a file, "" if none is known.
func (p *Places) script(tab int, file string) string {
	var found string
	longest := 0
	for _, n := range p.v.Network().InRing().From(0) {
		if n.Tab() != tab {
			continue
		}
		_, path := capture.SplitURL(n.URL)
		_, query, _ := strings.Cut(n.URL, "?")
		part := strings.Contains(query, "type=") // the style of a component, say
		if len(path) >= max(longest, 2) && strings.HasSuffix("/"+file, path) && !part {
			found, longest = n.URL, len(path)
		}
	}
	return found
}

// Generated says whether a frame without a known original place has one, or may have one. A script that is served as
// written is its own source. Code without a web address was made by other code.
func (p *Places) Generated(tab int, f stacks.Frame) bool {
	if p == nil || f.URL == "" || f.Line == 0 {
		return false
	}
	return !f.IsWeb() || !p.Maps.Plain(sourcemap.Script{Tab: tab, URL: f.URL})
}

// Source returns the original place to show for an entry: that of its top frame. Where that is a library's, or its map
// marks it as not the developer's own, it is the first frame in the developer's code, or in that of the components that the
// message names.
func (p *Places) Source(c *event.Console) (sourcemap.Position, bool) {
	top := TopFrame(c)
	first, ok := p.find(c, top)
	if ok && !first.Ignored && !stacks.IsLibrary(first.Source) || !ok && !stacks.IsLibrary(top.URL) {
		return first, ok
	}
	for _, line := range c.Stack {
		if f, found := stacks.Parse(line); found {
			if pos, found := p.find(c, f); found && !pos.Ignored && !stacks.IsLibrary(pos.Source) {
				return pos, true
			}
		}
	}
	if _, pos := p.component(c); pos.Source != "" {
		return pos, true
	}
	return first, ok
}

// component returns the first component of the project that a message names, such as a warning of React. The frame has no
// address without one, and the position no source if it is not known.
func (p *Places) component(c *event.Console) (stacks.Frame, sourcemap.Position) {
	for _, line := range alike.Frames(c.Text) {
		f, ok := stacks.Parse(line)
		if !ok || !f.IsWeb() || stacks.IsLibrary(f.URL) {
			continue
		}
		if pos, found := p.find(c, f); !found || !pos.Ignored && !stacks.IsLibrary(pos.Source) {
			return f, pos
		}
	}
	return stacks.Frame{}, sourcemap.Position{}
}

// Place returns the source of an entry for package diff: its original place, or false with the best known place.
func (p *Places) Place(c *event.Console) (diff.Place, bool) {
	pos, ok := p.Source(c)
	if ok && stacks.IsLibrary(pos.Source) || !ok && stacks.IsLibrary(c.URL) {
		if f, at := p.component(c); f.URL != "" && at.Source == "" {
			return diff.Place{File: f.URL, Line: f.Line, Generated: p.Generated(c.Tab(), f)}, false
		}
	}
	if ok {
		return diff.Place{File: pos.Source, Line: pos.Line, Shared: pos.Shared}, true
	}
	return diff.Place{File: c.URL, Line: c.Line, Generated: p.Generated(c.Tab(), TopFrame(c))}, false
}

// Initiator returns the code that made a request or opened a connection, as file:line, and whether that is a line of
// generated code. See [Places.Caller].
func (p *Places) Initiator(tab int, at int64, stack []string) (source string, generated bool) {
	place := p.InitiatorPlace(tab, at, stack)
	return diff.PlaceName(place), place.Generated
}

// InitiatorPlace is [Places.Caller] for package diff.
func (p *Places) InitiatorPlace(tab int, at int64, stack []string) diff.Place {
	c := p.Caller(tab, at, stack)
	if c.Original.Source != "" {
		return diff.Place{File: c.Original.Source, Line: c.Original.Line, Shared: c.Original.Shared}
	}
	return diff.Place{File: c.URL, Line: c.Line, Generated: c.Generated}
}

// Caller is the code that made a request or opened a connection.
type Caller struct {
	stacks.Frame
	// Original has no source where the frame is not known to come from one.
	Original sourcemap.Position
	// Generated is true for a line of generated code whose original place is not known.
	Generated bool
}

// Caller returns the first frame of a stack that is the project's own, of code that ran in a tab at a time. It is one whose
// original place is known and not ignored, or of a script that is its own source. A frame whose map is still being fetched
// counts as one. A wrapper of the project is left out where its caller is known too. Without any it is the first frame of
// generated code, or of a library. It has no address if the stack has no frame.
func (p *Places) Caller(tab int, at int64, stack []string) Caller {
	var wrapper, coming, generated, library Caller
	own := func(c Caller) Caller {
		if coming.URL != "" {
			return coming
		}
		return c
	}
	keep := func(into *Caller, c Caller) {
		if into.URL == "" {
			*into = c
		}
	}
	for _, line := range stack {
		f, ok := stacks.Parse(line)
		if !ok || f.URL == "" {
			continue
		}
		c := Caller{Frame: f}
		if f.Function == "(document)" { // its own markup
			return c
		}
		if stacks.IsLibrary(f.URL) {
			keep(&library, c)
			continue
		}
		if pos, ok := p.findAt(tab, at, f); ok {
			if c.Original = pos; pos.Ignored || stacks.IsLibrary(pos.Source) {
				keep(&library, c)
				continue
			}
		} else if c.Generated = p.Generated(tab, f); c.Generated {
			if p == nil || !p.coming[sourcemap.Script{Tab: tab, URL: f.URL}] {
				keep(&generated, c)
				continue
			}
			if wrapper.URL != "" {
				c = wrapper
			}
			keep(&coming, c)
			continue // the maps of the frames below are needed as well if this is a library's
		}
		if !p.isWrapper(line) {
			return own(c)
		}
		keep(&wrapper, c)
	}
	for _, c := range []Caller{wrapper, generated} {
		if c.URL != "" {
			return own(c)
		}
	}
	return own(library)
}

// isWrapper reports whether a line of a stack is one of a function that others of the project make their requests through.
func (p *Places) isWrapper(line string) bool {
	if p == nil {
		return false
	}
	l, done := p.loaded()
	defer done()
	return l.wrappers.Has(line)
}

// Explain has a report name the places of its entries, and the changes after which they first appeared. The changes are
// those in the scope that the options have by then.
func (p *Places) Explain(o *diff.Options) {
	o.Original, o.Initiator, o.Logged = p.Place, p.InitiatorPlace, p.Logged
	o.Introduced = p.introduced(*o)
	if p != nil && p.edits.Made != nil {
		o.Made = p.edits.Made()
	}
}

// Stack returns an entry's stack with original places where they are known. Other generated lines are marked.
func (p *Places) Stack(c *event.Console) []string {
	if p == nil || len(c.Stack) == 0 {
		return c.Stack
	}
	lines := append([]string{}, c.Stack...) // the entry's slice is shared
	for i, line := range lines {
		f, ok := stacks.Parse(line)
		if !ok {
			continue
		}
		if pos, ok := p.find(c, f); ok {
			lines[i] = fmt.Sprintf("%s (%s:%d:%d)", f.Function, pos.Source, pos.Line, pos.Column)
		} else if p.Generated(c.Tab(), f) {
			lines[i] = diff.Marked(line, true)
		}
	}
	return lines
}

// PlacesWait bounds how long an answer waits for the source maps that it needs.
const PlacesWait = 150 * time.Millisecond

// WithPlaces makes an answer. If that needed source maps that are being fetched, it waits for them and makes the
// answer again. The wait ends with ctx and lasts at most most and [PlacesWait]. Nothing may be locked while it waits,
// so answer must release its locks. The first call may return no answer while maps are coming. The call with last set
// must return one.
func WithPlaces[T any](ctx context.Context, most time.Duration, answer func(last bool) (T, *Places, error)) (T, error) {
	last := most <= 0 || ctx.Err() != nil
	out, places, err := answer(last)
	if err != nil || last || !places.Waits() {
		return out, err
	}
	places.rest(ctx, most)
	if err := ctx.Err(); err != nil {
		return out, err
	}
	out, _, err = answer(true)
	return out, err
}

// Waits says whether needed maps are being fetched.
func (p *Places) Waits() bool { return p != nil && len(p.coming) > 0 }

// rest waits for those maps.
func (p *Places) rest(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, min(most, PlacesWait))
	defer cancel()
	p.Maps.Rest(ctx, slices.Collect(maps.Keys(p.coming)))
}

// Maps for a burst of errors are requested once per askEvery, for at most the newest askFor entries. Older entries
// come from the same few scripts, or their maps are requested when they are shown.
const (
	askEvery = 50 * time.Millisecond
	askFor   = 256
)

// AskForMaps requests the maps of errors, warnings and failed requests as they arrive, so that a later answer need not
// wait. It returns when ctx ends.
func (o *Observer) AskForMaps(ctx context.Context) {
	if o.Originals.Maps == nil {
		return
	}
	begin := o.store.View(o.clock())
	next, request := begin.Console().Next(), begin.Network().Next()
	for {
		changed := o.store.Changed()
		if v := o.store.View(o.clock()); v.Console().Next() > next || v.Network().Next() > request {
			places, rules := o.OriginalsIn(v), o.rules.In("", o.clock()).Rules
			for _, n := range v.Network().InRing().From(max(request, v.Network().Next()-min(v.Network().Next(), askFor))) {
				if n.Failed() && rules.Network(n) == nil {
					places.InitiatorPlace(n.Tab(), n.Started, n.Stack)
				}
			}
			request = v.Network().Next()
			for _, c := range v.Console().Marked(max(next, v.Console().Next()-min(v.Console().Next(), askFor))) {
				if c.Level >= event.Warning && !c.Joined && rules.Console(c) == nil {
					places.Source(c)
					places.Stack(c)
				}
			}
			next = v.Console().Next()
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		pause := time.NewTimer(askEvery)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}
