// Package loads records when tabs loaded code, so that a source map is used only for the code that it belongs to, and which code
// first had a page connect to an address.
//
// It guarantees: each entry of the buffers is read once for all callers, and what is recorded is bounded.
package loads

import (
	"math"
	"slices"
	"strings"
	"sync"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/stacks"
	"tidemark.dev/tidemark/protocol"
)

// Index records when tabs loaded code, in milliseconds since the Unix epoch. Code that comes from the browser's cache again is
// the same as before, so it counts as no load. It is safe for concurrent use. Its lock is taken within that of the source
// maps, never around it.
type Index struct {
	mu sync.Mutex
	// network and console are the positions up to which the buffers have been read.
	network, console uint64
	// kept counts the loads.
	kept int
	of   map[sourcemap.Script][]int64
	// files groups the loads of scripts whose addresses differ only in a development server's time stamp.
	files map[sourcemap.Script][]sourcemap.Script
	// updates are hot updates of code that arrived in one file with other code, by tab.
	updates map[int][]update
	// scripts are the loads of scripts, the cached ones too, by tab.
	scripts map[int][]load
	// feeds are the connections over which Turbopack tells of its updates, by tab.
	feeds     map[int][]feed
	wrappers  stacks.Wrappers
	creations // by code of the pages' own
}

// maxLoads bounds the recorded loads. Beyond it, the index is rebuilt from the buffers.
const maxLoads = 20_000

// update is a hot update after which a server's files differ from those a tab loaded from it.
type update struct {
	at     int64
	prefix string // of the addresses of the files
	// logged is true where only a message says so. Next.js logs one for code that is compiled without an effect on the page too,
	// such as that of a route which a page requests first.
	logged bool
}

// load is that of a script.
type load struct {
	at  int64
	url string
}

// feed is a connection from when it first told of Turbopack until it closed.
type feed struct {
	id       string
	from, to int64
}

// readLocked brings the index up to the end of a view.
func (l *Index) readLocked(v *capture.View) {
	if l.of == nil || l.kept > maxLoads {
		l.network, l.console, l.socket, l.kept = 0, 0, 0, 0
		l.of, l.files, l.updates = map[sourcemap.Script][]int64{}, map[sourcemap.Script][]sourcemap.Script{}, map[int][]update{}
		l.feeds, l.scripts = map[int][]feed{}, map[int][]load{}
	}
	if l.network >= v.Network().Next() && l.socket >= v.WebSocket().Next() && l.console >= v.Console().Next() {
		return // it is asked several times for each entry of an answer
	}
	for _, n := range v.Network().InRing().From(l.network) {
		l.wrappers.Add(asked(n), n.Stack)
		l.take(v, n)
		s := sourcemap.Script{Tab: n.Tab(), URL: n.URL}
		if n.Resource == "script" && (n.Status == 200 || n.Status == 304) {
			l.scripts[n.Tab()] = append(l.scripts[n.Tab()], load{n.Started, n.URL})
			l.kept++
		}
		if n.Cached && l.of[s] != nil || n.Status != 200 || n.Resource == "fetch" || n.Resource == "xhr" {
			continue
		}
		if l.of[s] == nil {
			file := s.File()
			l.files[file] = append(l.files[file], s)
		}
		l.of[s] = append(l.of[s], n.Started)
		l.kept++
		if isHotUpdate(n.URL) {
			origin, _ := capture.SplitURL(n.URL)
			l.updates[n.Tab()] = append(l.updates[n.Tab()], update{at: n.Started, prefix: origin + "/"})
		}
	}
	l.network = max(l.network, v.Network().Next())
	if v.WebSocket().InRing().First() > l.socket {
		clear(l.feeds) // some of it was not read
	}
	for _, e := range v.WebSocket().InRing().Marked(l.socket) {
		if !e.IsFrame() {
			l.take(v, e)
		}
		l.follow(e)
	}
	l.socket = max(l.socket, v.WebSocket().Next())
	for _, c := range v.Console().InRing().Marked(l.console) {
		if noise.TellsOfRefresh(c) {
			l.updates[c.Tab()] = append(l.updates[c.Tab()], update{c.At, c.Origin() + "/_next/", true})
			l.kept++
		}
	}
	l.console = max(l.console, v.Console().Next())
}

// asked is the endpoint of a request with its query. Numbers in the query do not count, as in a path.
func asked(n *event.Network) capture.EndpointKey {
	k := capture.KeyOf(n)
	if _, query, ok := strings.Cut(n.URL, "?"); ok {
		k.Path += "?" + alike.WithoutNumbers(alike.Query(query))
	}
	return k
}

// follow reads what Turbopack tells of its updates.
func (l *Index) follow(e *event.WebSocket) {
	feeds := l.feeds[e.Tab()]
	i := slices.IndexFunc(feeds, func(f feed) bool { return f.id == e.ID })
	switch {
	case i >= 0 && !e.IsFrame(): // it closed, or a new one has its id
		feeds[i].id, feeds[i].to = "", e.At
	case i < 0 && capture.TellsOfModules(e):
		l.feeds[e.Tab()] = append(feeds, feed{strings.Clone(e.ID), e.At, math.MaxInt64})
		l.kept++
	}
	if capture.ChangesModules(e) {
		l.updates[e.Tab()] = append(l.updates[e.Tab()], update{at: e.At, prefix: e.Origin() + "/_next/"})
		l.kept++
	}
}

// told reports whether an update of a tab's code that was logged at a time would have come over a connection too, of which all
// was observed.
func (l *Index) told(v *capture.View, tab int, at int64) bool {
	return slices.ContainsFunc(l.feeds[tab], func(f feed) bool {
		return f.from <= at && at < f.to && !slices.ContainsFunc(v.Gaps, func(g capture.Gap) bool {
			return (g.Tab() == 0 || g.Tab() == tab) && slices.Contains(losses, g.Reason) &&
				g.From.UnixMilli() <= at && (g.To.IsZero() || f.from <= g.To.UnixMilli())
		})
	})
}

// losses are the reasons of gaps in which a connection that was observed goes on.
var losses = []string{
	protocol.GapDropped, protocol.GapDisconnected, protocol.GapWorkerRestart, protocol.GapDetached, protocol.GapMalformed, protocol.GapJournalDamaged,
	protocol.GapCaptureFailed, protocol.GapPaused,
}

// isHotUpdate says whether an address is that of a webpack hot update, whose name contains a hash of its content.
func isHotUpdate(url string) bool { return strings.Contains(url, ".hot-update.") }

// Evaluated says whether code has an address that was never loaded. Turbopack evaluates its hot updates, names them
// after a loaded file and appends the module's id.
func (l *Index) Evaluated(v *capture.View, s sourcemap.Script) bool {
	_, query, _ := strings.Cut(s.URL, "?")
	return strings.HasPrefix(query, "id=") && !l.Loaded(v, s)
}

// Loaded says whether a tab has loaded a script, other than to evaluate it.
func (l *Index) Loaded(v *capture.View, s sourcemap.Script) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readLocked(v)
	return l.of[s] != nil
}

// Holds returns the condition that a map belongs to the code that ran at a time. The tab must have loaded nothing
// from the code's address in between. Also, no hot update may have changed the server's file between that load and
// the map's. It knows the loads up to the end of the view, at least. A request in flight may be a load already: the browser can
// report what code does before it reports that the code has arrived.
func (l *Index) Holds(v *capture.View, s sourcemap.Script, at int64) sourcemap.Holds {
	ofWebpack := s.Evaluated // the page loads each of its updates
	s = s.Loaded()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readLocked(v)
	again, replaced := begun(v, s)
	return func(fetched int64) bool {
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
		if slices.ContainsFunc(again, func(t int64) bool { return t <= max(at, fetched) }) || slices.ContainsFunc(replaced, changed) {
			return false
		}
		for _, other := range l.files[s.File()] {
			if other != s && slices.ContainsFunc(l.of[other], changed) {
				return false
			}
		}
		return isHotUpdate(s.URL) || !slices.ContainsFunc(l.updates[s.Tab], func(u update) bool {
			return changed(u.at) && strings.HasPrefix(s.URL, u.prefix) && !(u.logged && (ofWebpack || l.told(v, s.Tab, u.at)))
		})
	}
}

// begun returns the starts of a tab's requests in flight: for a script, and for what replaces it on the server.
func begun(v *capture.View, s sourcemap.Script) (again, replaced []int64) {
	path, _, _ := strings.Cut(s.URL, "?")
	origin, _ := capture.SplitURL(s.URL)
	for i := range v.Flights {
		f := &v.Flights[i]
		if f.Tab != s.Tab || !strings.HasPrefix(f.URL, origin) {
			continue
		}
		switch {
		case f.URL == s.URL:
			again = append(again, f.At)
		case isHotUpdate(f.URL) && !isHotUpdate(s.URL), strings.HasPrefix(f.URL, path) && (sourcemap.Script{Tab: f.Tab, URL: f.URL}).File() == s.File():
			replaced = append(replaced, f.At)
		}
	}
	return again, replaced
}

// IsWrapper reports whether a line of a stack is one of a function that others of the project make their requests through.
func (l *Index) IsWrapper(v *capture.View, line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readLocked(v)
	return l.wrappers.Has(line)
}
