package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/sourcemap"
)

// Originals is what tells original places.
type Originals struct {
	// Maps holds source maps, and has those fetched that it is asked for.
	Maps *sourcemap.Cache
	// Clean makes a file's name fit to be shown: it is a page's text.
	Clean func(name string) string
}

// Places tells the original places of what one view shows. A map that is not there yet is asked for, and
// [Observer.placed] waits for it.
type Places struct {
	Originals
	v     *capture.View
	loads *loads
	// coming are the scripts whose maps were needed and are on their way.
	coming map[sourcemap.Script]bool
}

// OriginalsIn tells places by the code that was loaded up to a view of the buffers, at least.
func (e *Observer) OriginalsIn(v *capture.View) *Places {
	if e.Originals.Maps == nil {
		return nil
	}
	return &Places{Originals: e.Originals, v: v, loads: &e.loads, coming: map[sourcemap.Script]bool{}}
}

// loads is when tabs loaded code, in milliseconds since the epoch. What came out of a cache is the same code as
// before, and is no load. An entry of the buffers is read once, whoever asks. It is safe for concurrent use; its lock is
// held within that of the source maps, never around it.
type loads struct {
	mu sync.Mutex
	// network and console are the positions up to which the buffers have been read.
	network, console uint64
	// kept counts the loads.
	kept int
	of   map[sourcemap.Script][]int64
	// files are the loads of scripts whose addresses differ in a development server's time stamp alone.
	files map[sourcemap.Script][]sourcemap.Script
	// updates are hot updates of code that came in one file with other code, by tab.
	updates map[int][]update
}

// maxLoads bounds the loads that are kept. Beyond it, what the buffers hold is read anew.
const maxLoads = 20_000

// update is a hot update after which a server's files are no longer what a tab loaded from it.
type update struct {
	at     int64
	prefix string // of the addresses of the files
}

// loaded is the index with everything that the view holds, and a function that lets go of it.
func (o *Places) loaded() (l *loads, done func()) {
	l = o.loads
	l.mu.Lock()
	if l.of == nil || l.kept > maxLoads {
		l.network, l.console, l.kept = 0, 0, 0
		l.of, l.files, l.updates = map[sourcemap.Script][]int64{}, map[sourcemap.Script][]sourcemap.Script{}, map[int][]update{}
	}
	for pos, n := range o.v.Network.InRing().From(l.network) {
		l.network = pos + 1
		if n.Cached || n.Status != 200 || n.Resource == "fetch" || n.Resource == "xhr" {
			continue
		}
		s := sourcemap.Script{Tab: n.Tab, URL: n.URL}
		if l.of[s] == nil {
			file := s.File()
			l.files[file] = append(l.files[file], s)
		}
		l.of[s] = append(l.of[s], n.Started)
		l.kept++
		if isHotUpdate(n.URL) {
			origin, _ := capture.SplitURL(n.URL)
			l.updates[n.Tab] = append(l.updates[n.Tab], update{n.Started, origin + "/"})
		}
	}
	for _, c := range o.v.Console.InRing().Marked(l.console) {
		if capture.TellsOfRefresh(c) {
			l.updates[c.Tab] = append(l.updates[c.Tab], update{c.At, c.Origin + "/_next/"})
			l.kept++
		}
	}
	l.console = max(l.console, o.v.Console.Next())
	return l, l.mu.Unlock
}

// isHotUpdate says whether an address is that of webpack's hot update, whose name has the hash of what is in it.
func isHotUpdate(url string) bool { return strings.Contains(url, ".hot-update.") }

// Evaluated says whether code has an address that nobody loaded it from: Turbopack evaluates its hot updates, names
// them after a file that was loaded, and adds the id of the module.
func (o *Places) Evaluated(s sourcemap.Script) bool {
	_, query, _ := strings.Cut(s.URL, "?")
	if !strings.HasPrefix(query, "id=") {
		return false
	}
	l, done := o.loaded()
	defer done()
	return l.of[s] == nil
}

// Holds is the condition that a map is that of the code which ran at a time. The tab loaded nothing from the code's
// address in between, and between that load and the map's no hot update changed what the server has there.
func (o *Places) Holds(s sourcemap.Script, at int64) sourcemap.Holds {
	_, done := o.loaded() // so that it is read up to the view
	done()
	return func(fetched int64) bool {
		l := o.loads
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

// Frame is one line of a stack.
type Frame struct {
	function, URL string
	Line, Column  int
}

// parseFrame reads "function (url:line:column)".
func parseFrame(s string) (f Frame, ok bool) {
	function, place, ok := strings.Cut(s, " (")
	if !ok || !strings.HasSuffix(place, ")") {
		return Frame{}, false
	}
	rest, column, ok1 := cutLast(place[:len(place)-1])
	url, line, ok2 := cutLast(rest)
	return Frame{function, url, line, column}, ok1 && ok2
}

// cutLast cuts a number off that stands behind the last colon.
func cutLast(s string) (string, int, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

// TopFrame is the frame of an entry's source.
func TopFrame(c *event.Console) Frame { return Frame{URL: c.URL, Line: c.Line, Column: c.Column} }

// isWeb says whether a frame is a line of a script that can be fetched.
func (f Frame) isWeb() bool {
	return f.Line > 0 && (strings.HasPrefix(f.URL, "http://") || strings.HasPrefix(f.URL, "https://"))
}

// find is the original place of a frame.
func (o *Places) find(c *event.Console, f Frame) (sourcemap.Position, bool) {
	if o == nil || !f.isWeb() {
		return sourcemap.Position{}, false
	}
	s := sourcemap.Script{Tab: c.Tab, URL: f.URL}
	if o.Evaluated(s) {
		return sourcemap.Position{}, false
	}
	holds := o.Holds(s, c.At)
	m := o.Maps.Get(s, holds)
	if m == nil {
		if o.Maps.Want(s, holds) {
			o.coming[s] = true
		}
		return sourcemap.Position{}, false
	}
	p, ok := m.Find(f.Line, f.Column)
	p.Source = o.Clean(p.Source)
	return p, ok && p.Source != ""
}

// Generated says whether a frame whose original place is not known has one, or may have: a script that is served as
// it was written is its own source. Code without an address of the web was made by other code.
func (o *Places) Generated(tab int, f Frame) bool {
	if o == nil || f.URL == "" || f.Line == 0 {
		return false
	}
	return !f.isWeb() || !o.Maps.Plain(sourcemap.Script{Tab: tab, URL: f.URL})
}

// Source is the original place that an entry is told with: that of its top frame, or where that lies in code
// which its map says is not the developer's own, of the first frame of theirs.
func (o *Places) Source(c *event.Console) (sourcemap.Position, bool) {
	first, ok := o.find(c, TopFrame(c))
	if !ok || !first.Ignored {
		return first, ok
	}
	for _, line := range c.Stack {
		if f, ok := parseFrame(line); ok {
			if p, ok := o.find(c, f); ok && !p.Ignored {
				return p, true
			}
		}
	}
	return first, true
}

// Place is where an entry came from, for package diff: its original place, or false with what is known instead.
func (o *Places) Place(c *event.Console) (diff.Place, bool) {
	if p, ok := o.Source(c); ok {
		return diff.Place{File: p.Source, Line: p.Line, Shared: p.Shared}, true
	}
	return diff.Place{File: c.URL, Line: c.Line, Generated: o.Generated(c.Tab, TopFrame(c))}, false
}

// Stack is an entry's stack with the original places where they are known; others are marked.
func (o *Places) Stack(c *event.Console) []string {
	if o == nil || len(c.Stack) == 0 {
		return c.Stack
	}
	lines := append([]string{}, c.Stack...) // the entry's own is shared
	for i, line := range lines {
		f, ok := parseFrame(line)
		if !ok {
			continue
		}
		if p, ok := o.find(c, f); ok {
			lines[i] = fmt.Sprintf("%s (%s:%d:%d)", f.function, p.Source, p.Line, p.Column)
		} else if o.Generated(c.Tab, f) {
			lines[i] = diff.Marked(line, true)
		}
	}
	return lines
}

// PlacesWait bounds how long an answer waits for source maps that it needs and that are on their way.
const PlacesWait = 150 * time.Millisecond

// WithPlaces makes an answer, and where that needed maps which are on their way makes it once more when they have come,
// or the wait is over. While it waits nothing is locked, so answer is to hold no lock when it returns. The first time
// it may leave the answer out when maps are coming; last says that its answer is taken in any case. The wait ends with
// ctx, and is no longer than most.
func WithPlaces[T any](ctx context.Context, most time.Duration, answer func(last bool) (T, *Places, error)) (T, error) {
	last := most <= 0 || ctx.Err() != nil
	out, o, err := answer(last)
	if err != nil || last || !o.waits() {
		return out, err
	}
	o.rest(ctx, most)
	if err := ctx.Err(); err != nil {
		return out, err
	}
	out, _, err = answer(true)
	return out, err
}

// waits says whether maps that were needed are on their way.
func (o *Places) waits() bool { return o != nil && len(o.coming) > 0 }

// rest waits for them.
func (o *Places) rest(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, min(most, PlacesWait))
	defer cancel()
	o.Maps.Rest(ctx, slices.Collect(maps.Keys(o.coming)))
}

// A burst of errors is gathered for askEvery before its maps are asked for, and for the newest askFor of its
// entries only: more of them come from the same few scripts, or are asked for when they are shown.
const (
	askEvery = 50 * time.Millisecond
	askFor   = 256
)

// AskForMaps asks for the maps of errors and warnings as they come in, so that they are there when somebody
// asks what happened. It returns when ctx ends.
func (e *Observer) AskForMaps(ctx context.Context) {
	if e.Originals.Maps == nil {
		return
	}
	next := e.store.View(e.clock()).Console.Next()
	for {
		changed := e.store.Changed()
		if v := e.store.View(e.clock()); v.Console.Next() > next {
			o, rules := e.OriginalsIn(v), e.rules.In("", e.clock()).Rules
			for _, c := range v.Console.Marked(max(next, v.Console.Next()-min(v.Console.Next(), askFor))) {
				if c.Level >= event.Warning && !c.Joined && rules.Console(c) == nil {
					o.Source(c)
					o.Stack(c)
				}
			}
			next = v.Console.Next()
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
