package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/components"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/loads"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe/ahead"
	"tidemark.dev/tidemark/host/internal/observe/unplaced"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/stacks"
	"tidemark.dev/tidemark/host/internal/window"
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
	loads *loads.Index
	edits *Edits
	// coming are the scripts whose maps were needed and are being fetched.
	coming map[sourcemap.Script]bool
	// awaited are those of them that are worth waiting for.
	awaited []sourcemap.Script
	// late are entries that are shown at a generated line because of that.
	late []*event.Console
}

// OriginalsIn finds places by the code that was loaded up to the end of the view's buffers, at least.
func (o *Observer) OriginalsIn(v *capture.View) *Places {
	if o.Originals.Maps == nil {
		return nil
	}
	return &Places{Originals: o.Originals, v: v, loads: &o.loads, edits: &o.edits, coming: map[sourcemap.Script]bool{}}
}

// Evaluated is [loads.Index.Evaluated].
func (p *Places) Evaluated(s sourcemap.Script) bool { return p.loads.Evaluated(p.v, s) }

// Holds is [loads.Index.Holds].
func (p *Places) Holds(s sourcemap.Script, at int64) sourcemap.Holds {
	return p.loads.Holds(p.v, s, at)
}

// view is what the places are found in, nil where there are no source maps.
func (p *Places) view() *capture.View {
	if p == nil {
		return nil
	}
	return p.v
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
	if p != nil && sourcemap.IsEvaluated(f.URL) && !stacks.IsLibrary(f.URL) {
		return p.evaluatedMap(tab, at, f.URL)
	}
	if p == nil || !f.IsWeb() {
		return nil
	}
	s := sourcemap.Script{Tab: tab, URL: f.URL}
	if p.Evaluated(s) || p.evaluated(tab, f) {
		return nil
	}
	holds := p.Holds(s, at)
	m := p.Maps.Get(s, holds)
	if m == nil && !p.coming[s] {
		coming, soon := p.Maps.Want(s, holds)
		if !coming { // what is there now says whether the script is its own source; see [Places.Generated]
			coming, soon = p.Maps.Want(s, func(int64) bool { return true })
		}
		if p.coming[s] = coming; soon {
			p.awaited = append(p.awaited, s)
		}
	}
	return m
}

// evaluatedMap is [loads.Index.Evaluating]; nil if the map is not there (yet).
func (p *Places) evaluatedMap(tab int, at int64, name string) *sourcemap.Map {
	m, coming, soon := p.loads.Evaluating(p.v, p.Maps, sourcemap.Script{Tab: tab, URL: name}, at)
	if coming {
		p.coming[sourcemap.Script{Tab: tab, URL: name}] = true
	}
	p.awaited = append(p.awaited, soon...)
	return m
}

// Compiled returns the original place of a place in the code that a file was compiled to and that ran in a tab at a time. The
// code is the script whose path ends the file's, as development servers name it.
func (p *Places) Compiled(tab int, at int64, file string, line, column int) (sourcemap.Position, bool) {
	if p == nil {
		return sourcemap.Position{}, false
	}
	return p.findAt(tab, at, stacks.Frame{URL: loads.Address(p.v, tab, file), Line: line, Column: column})
}

// Unbundled reports whether a tab loaded the code of a file as a script of its own. Then plugins may have compiled it in several
// steps, the later ones of which do not know the file's lines.
func (p *Places) Unbundled(tab int, file string) bool {
	return p != nil && loads.Address(p.v, tab, file) != ""
}

// Overlaid returns the place of an error overlay that a tab showed since a time (0 if that is not known), by its message and the
// place that it names. A line of what the server made of a file is replaced by the one with the import that is missing, where
// that is known.
func (p *Places) Overlaid(tab int, since int64, message string, named alike.OverlayPlace) alike.OverlayPlace {
	missing := alike.MissingImport(message)
	if p == nil || !named.Generated || missing == "" || since == 0 {
		return named
	}
	line, soon := p.loads.Importing(p.v, p.Maps, tab, since, named.File, missing)
	if line == 0 {
		p.awaited = append(p.awaited, soon...)
		return named
	}
	return alike.OverlayPlace{File: named.File, Line: line}
}

// StyleLine returns the line of a component's file that declares a property, by the line in its style block of a number; 0
// if it is not known. See [sourcemap.Map.StyleLine].
func (p *Places) StyleLine(tab int, at int64, file string, number, line int, property string) int {
	if p == nil {
		return 0
	}
	found, _ := p.mapOf(tab, at, stacks.Frame{URL: loads.Address(p.v, tab, file), Line: 1}).StyleLine(file, number, line, property)
	return found
}

// Styled returns the original place of a place in a style sheet with a source map. It is marked as generated where that map is
// not there (yet).
func (p *Places) Styled(tab int, at int64, sheet string, line, column int) report.Place {
	if pos, ok := p.findAt(tab, at, stacks.Frame{URL: sheet, Line: line, Column: column}); ok {
		return report.Place{File: pos.Source, Line: pos.Line, Shared: pos.Shared}
	}
	return report.Place{File: sheet, Line: line, Generated: true}
}

// evaluated says whether a frame may be of code that the page evaluated under the name of a script that it has loaded.
func (p *Places) evaluated(tab int, f stacks.Frame) bool {
	return f.Evaluated && p.loads.Loaded(p.v, sourcemap.Script{Tab: tab, URL: f.URL})
}

// Generated says whether a frame without a known original place has one, or may have one. A script that is served as
// written is its own source. Code without a web address was made by other code.
func (p *Places) Generated(tab int, f stacks.Frame) bool {
	if p == nil || f.URL == "" || f.Line == 0 {
		return false
	}
	s := sourcemap.Script{Tab: tab, URL: f.URL}
	if !f.IsWeb() || p.evaluated(tab, f) || !p.Maps.Plain(s) {
		return true
	}
	s.Evaluated = true // webpack's, with the code of modules as text
	return p.Maps.Get(s, func(int64) bool { return true }) != nil
}

// ofLibrary reports whether a frame is not the project's own code. pos is its original place, if that is known.
func ofLibrary(f stacks.Frame, pos sourcemap.Position, known bool) bool {
	if !known {
		return stacks.OfLibrary(f.URL, "")
	}
	return pos.Ignored || stacks.OfLibrary(f.URL, pos.Source)
}

// Source returns the original place to show for an entry: that of its top frame. Where that is a library's, or its map
// marks it as not the developer's own, it is the first frame in the developer's code, or in that of the components that the
// message names. It returns false with the frame alone where that place is not known (yet).
func (p *Places) Source(c *event.Console) (stacks.Frame, sourcemap.Position, bool) {
	if file, forever := components.RendersForever(p.view(), c); forever {
		return stacks.Frame{}, sourcemap.Position{Source: event.Clean(file)}, file != ""
	}
	if by, ok := p.gaveUp(c); ok {
		return by.Frame, by.Original, by.Original.Source != ""
	}
	if at := alike.PlaceSaid(c.Text); at.File != "" {
		return stacks.Frame{}, sourcemap.Position{Source: event.Clean(at.File), Line: at.Line}, true
	}
	top := stacks.Top(c)
	first, ok := p.find(c, top)
	if !ofLibrary(top, first, ok) {
		return top, first, ok
	}
	for _, line := range c.Stack {
		f, is := stacks.Parse(line)
		if !is {
			continue
		}
		f = f.In(c.Stack)
		pos, found := p.find(c, f)
		if !found && p != nil && f.IsWeb() {
			if p.Generated(c.Tab(), f) {
				if !ofLibrary(f, pos, false) { // its place may not be known yet, but a frame below is other code
					return f, pos, false
				}
				continue
			}
			pos, found = sourcemap.Position{Source: p.Clean(f.URL), Line: f.Line, Column: f.Column}, true // it is its own source
		}
		if found && !ofLibrary(f, pos, true) {
			return f, pos, true
		}
	}
	if f, pos := p.component(c); pos.Source != "" {
		return f, pos, true
	}
	if alike.OfClient(top.URL) || alike.OfClient(first.Source) { // it only logs what happened elsewhere
		return stacks.Frame{}, sourcemap.Position{}, false
	}
	return top, first, ok
}

// gaveUp returns the code that made the request which a page gave up with an error; false where that may be one of several.
func (p *Places) gaveUp(c *event.Console) (by Caller, ok bool) {
	for i, n := range loads.GivenUp(p.view(), c) {
		of := p.CallerOf(n)
		if ok = i == 0 || of.place() == by.place(); !ok {
			return by, false
		}
		by = of
	}
	return by, ok && by.URL != ""
}

// component returns the first component of the project that a message names, or that React names in what it logs about an error.
// The frame has no address without one, and the position no source if it is not known.
func (p *Places) component(c *event.Console) (stacks.Frame, sourcemap.Position) {
	for _, f := range components.Frames(p.view(), c) {
		if pos, found := p.find(c, f); !ofLibrary(f, pos, found) {
			return f, pos
		}
	}
	return stacks.Frame{}, sourcemap.Position{}
}

// Place returns the source of an entry for package diff: its original place, or false with the best known place.
func (p *Places) Place(c *event.Console) (report.Place, bool) {
	source, pos, ok := p.Source(c)
	if ofLibrary(source, pos, ok) {
		if f, at := p.component(c); f.URL != "" && at.Source == "" {
			return report.Place{File: f.URL, Line: f.Line, Generated: p.Generated(c.Tab(), f)}, false
		}
	}
	if ok {
		return report.Place{File: pos.Source, Line: pos.Line, Shared: pos.Shared, Generated: alike.PlaceSaid(c.Text).Generated}, true
	}
	place := report.Place{File: source.URL, Line: source.Line, Generated: p.Generated(c.Tab(), source)}
	if place.Generated && p != nil && p.coming[sourcemap.Script{Tab: c.Tab(), URL: source.URL}] && len(p.late) < unplaced.Most {
		p.late = append(p.late, c)
	}
	return place, false
}

// Initiator returns the code that made a request or opened a connection, as file:line, and whether that is a line of
// generated code. See [Places.CallerOf].
func (p *Places) Initiator(ev event.Event) (source string, generated bool) {
	place := p.InitiatorPlace(ev)
	return report.PlaceName(place), place.Generated
}

// InitiatorPlace is [Places.CallerOf] for package diff.
func (p *Places) InitiatorPlace(ev event.Event) report.Place { return p.CallerOf(ev).place() }

// CalledAt returns the project's own code that called the code which made a request, from another file. It is none where code
// of a library is between them, or where its original place is not known (yet).
func (p *Places) CalledAt(e *event.Network) report.Place {
	c := p.CallerOf(e)
	for _, f := range stacks.Callers(e.Stack, c.Frame) {
		pos, ok := p.findAt(e.Tab(), e.Started, f)
		if c.library || c.Generated || ofLibrary(f, pos, ok) || !ok && p.Generated(e.Tab(), f) {
			break
		}
		if place := (Caller{Frame: f, Original: pos}).place(); place.File != c.place().File {
			return place
		}
	}
	return report.Place{}
}

// StackPlace is [Places.Caller] for package diff.
func (p *Places) StackPlace(tab int, at int64, stack []string) report.Place {
	return p.Caller(tab, at, stack).place()
}

func (c Caller) place() report.Place {
	if c.Original.Source != "" {
		return report.Place{File: c.Original.Source, Line: c.Original.Line, Shared: c.Original.Shared}
	}
	return report.Place{File: c.URL, Line: c.Line, Generated: c.Generated}
}

// Caller is the code that made a request or opened a connection.
type Caller struct {
	stacks.Frame
	// Original has no source where the frame is not known to come from one.
	Original sourcemap.Position
	// Generated is true for a line of generated code whose original place is not known.
	Generated bool
	// library is true where the stack has no other frames than those of libraries.
	library bool
}

// CallerOf returns the code that made a request or opened a connection. Where only libraries are in its stack, as in that of
// a timer that connects again, it is the code that first had the page connect to the address, as far as that is known.
func (p *Places) CallerOf(ev event.Event) Caller {
	var at int64
	var stack []string
	switch e := ev.(type) {
	case *event.Network:
		at, stack = e.Started, e.Stack
	case *event.WebSocket:
		at, stack = e.At, e.Stack
	}
	tab := ev.Header().Tab()
	c := p.caller(tab, at, stack)
	_, request := ev.(*event.Network)
	if p == nil || c.URL != "" && !c.library || c.URL == "" && request { // the browser made it
		return c
	}
	if began, creator := p.loads.Created(p.v, ev); len(creator) > 0 {
		if first := p.caller(tab, began, creator); first.URL != "" && !first.library {
			return first
		}
	}
	return p.placed(tab, at, c)
}

// Caller returns the first frame of a stack that is the project's own, of code that ran in a tab at a time. It is one whose
// original place is known and not ignored, or of a script that is its own source. A frame whose map is still being fetched
// counts as one, and so does code that was evaluated under the name of a module. Generated code is left out only where the
// original place of a frame below it is known, a wrapper of the project where its caller is known too. Without any it is the
// first frame of generated code, or of a library. It has no address if the stack has no frame.
func (p *Places) Caller(tab int, at int64, stack []string) Caller {
	return p.placed(tab, at, p.caller(tab, at, stack))
}

// placed adds the original place of a library's line, whose map is needed only where no other code is known.
func (p *Places) placed(tab int, at int64, c Caller) Caller {
	if !c.library || c.Original.Source != "" {
		return c
	}
	if pos, ok := p.findAt(tab, at, c.Frame); ok {
		c.Original = pos
	} else {
		c.Generated = p.Generated(tab, c.Frame)
	}
	return c
}

// caller is [Places.Caller] without the original place of a library's line.
func (p *Places) caller(tab int, at int64, stack []string) Caller {
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
		c := Caller{Frame: f.In(stack)}
		if f = c.Frame; f.Function == "(document)" { // its own markup
			return c
		}
		if stacks.IsLibrary(f.URL) {
			keep(&library, c)
			continue
		}
		if pos, ok := p.findAt(tab, at, f); ok {
			if c.Original = pos; ofLibrary(f, pos, true) {
				keep(&library, c)
				continue
			}
		} else if ofLibrary(f, pos, false) && (p == nil || !p.coming[sourcemap.Script{Tab: tab, URL: f.URL}]) {
			keep(&library, c)
			continue
		} else if c.Generated = p.Generated(tab, f); c.Generated {
			if stacks.Module(f.URL) == "" && (p == nil || !p.coming[sourcemap.Script{Tab: tab, URL: f.URL}]) {
				keep(&generated, c)
				continue
			}
			if generated.URL != "" {
				c = generated
			}
			if wrapper.URL != "" {
				c = wrapper
			}
			keep(&coming, c)
			continue // the maps of the frames below are needed as well if this is a library's
		}
		if p.isWrapper(line) {
			keep(&wrapper, c)
			continue
		}
		if c.Original.Source == "" && generated.URL != "" {
			return own(generated)
		}
		return own(c)
	}
	for _, c := range []Caller{wrapper, generated} {
		if c.URL != "" {
			return own(c)
		}
	}
	library.library = true
	return own(library)
}

// isWrapper reports whether a line of a stack is one of a function that others of the project make their requests through.
func (p *Places) isWrapper(line string) bool {
	return p != nil && p.loads.IsWrapper(p.v, line)
}

// Explain has a report name the places of its entries, and the changes after which they first appeared. The changes are
// those in the scope that the options have by then.
func (p *Places) Explain(o *window.Options) {
	p.ExplainIn(o, o.Workspace, o.Workspace != "")
}

// ExplainIn is [Places.Explain] with the changes of one workspace, whichever the options have, for a reader who is in it or not.
func (p *Places) ExplainIn(o *window.Options, workspace string, inWorkspace bool) {
	o.Original, o.Initiator, o.CalledAt, o.Logged = p.Place, p.InitiatorPlace, p.CalledAt, p.Logged
	o.Overlaid = p.Overlaid
	o.Introduced, o.Returned = p.introduced(*o, workspace, inWorkspace)
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
		f = f.In(c.Stack)
		if pos, ok := p.find(c, f); ok {
			lines[i] = fmt.Sprintf("%s (%s:%d:%d)", f.Function, pos.Source, pos.Line, pos.Column)
		} else if p.Generated(c.Tab(), f) {
			lines[i] = line + report.Mark(true)
		}
	}
	return lines
}

// How long an answer waits for the source maps that it needs.
const (
	// PlacesWait is for a caller that asks for what is there now.
	PlacesWait = 150 * time.Millisecond
	// servedWait is for the same caller and the line of a missing import, which is looked for in whole bundles.
	servedWait = 400 * time.Millisecond
	// SettledWait is for a caller that waits for the page anyway. After it, [sourcemap.Cache.Want] calls a map slow.
	SettledWait = time.Second
)

// WithPlaces makes an answer. While that needs source maps that are being fetched, it waits for them and makes the answer
// again. The wait ends with ctx and lasts at most most, and [PlacesWait]. Nothing may be locked while it waits, so answer must
// release its locks. A call without last set may return no answer while maps are coming. The call with last set must return one.
func WithPlaces[T any](ctx context.Context, most time.Duration, answer func(last bool) (T, *Places, error)) (T, error) {
	return WithPlacesWithin(ctx, most, PlacesWait, answer)
}

// WithPlacesWithin is [WithPlaces] with another limit, such as [SettledWait].
func WithPlacesWithin[T any](ctx context.Context, most, limit time.Duration, answer func(last bool) (T, *Places, error)) (T, error) {
	began, left := time.Now(), min(most, limit)
	for {
		last := left <= 0 || ctx.Err() != nil
		out, places, err := answer(last)
		if err != nil || last || !places.Waits() {
			return out, err
		}
		if slices.ContainsFunc(places.awaited, func(s sourcemap.Script) bool { return s.Served }) {
			limit = max(limit, servedWait)
		}
		places.rest(ctx, min(most, limit)-time.Since(began))
		if err := ctx.Err(); err != nil {
			return out, err
		}
		left = min(most, limit) - time.Since(began)
	}
}

// Waits says whether needed maps are being fetched that are worth waiting for.
func (p *Places) Waits() bool { return p != nil && len(p.awaited) > 0 }

// rest waits for those maps, at most for a time.
func (p *Places) rest(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	p.Maps.Rest(ctx, p.awaited)
}

// AskForMaps is [ahead.Ask]. It returns when ctx ends.
func (o *Observer) AskForMaps(ctx context.Context) {
	if o.Originals.Maps != nil {
		rules := func() *noise.Rules { return o.rules.In("", o.clock()).Rules }
		ahead.Ask(ctx, o.store, o.clock, rules, o.OriginalsIn)
	}
}

// Logged returns where an error was logged that came from another place, for package diff. It returns false unless that
// is the project's own code, as far as is known.
func (p *Places) Logged(c *event.Console) (report.Place, bool) {
	f, ok := stacks.Parse(c.Logged)
	if !ok || p == nil {
		return report.Place{File: f.URL, Line: f.Line}, ok && !ofLibrary(f, sourcemap.Position{}, false)
	}
	if pos, found := p.find(c, f); found {
		return report.Place{File: pos.Source, Line: pos.Line, Shared: pos.Shared}, !ofLibrary(f, pos, true)
	}
	return report.Place{File: f.URL, Line: f.Line}, !ofLibrary(f, sourcemap.Position{}, false) && !p.Generated(c.Tab(), f)
}
