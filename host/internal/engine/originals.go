package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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

// originals tells the original places of what one view shows. What is not known yet is asked for, and never
// waited for. A nil one knows none.
type originals struct {
	Originals
	v     *capture.View
	loads map[sourcemap.Script][]int64
}

// originalsIn reads which code was loaded when from a view of the buffers.
func (e *Engine) originalsIn(v *capture.View) *originals {
	if e.originals.Maps == nil {
		return nil
	}
	return &originals{Originals: e.originals, v: v, loads: map[sourcemap.Script][]int64{}}
}

// holds is the condition that a map is that of the code which ran at a time: the tab loaded nothing from its
// address in between.
func (o *originals) holds(s sourcemap.Script, at int64) sourcemap.Holds {
	return func(fetched int64) bool {
		for _, loaded := range o.loadsOf(s) {
			if min(at, fetched) < loaded && loaded <= max(at, fetched) {
				return false
			}
		}
		return true
	}
}

// loadsOf is when a tab loaded code from an address, in milliseconds since the epoch; what came out of its cache
// is the same code as before.
func (o *originals) loadsOf(s sourcemap.Script) []int64 {
	loads, known := o.loads[s]
	if !known {
		for _, n := range o.v.Network.From(o.v.Network.First()) {
			if n.Tab == s.Tab && n.URL == s.URL && !n.Cached && n.Status == 200 && n.Resource != "fetch" && n.Resource != "xhr" {
				loads = append(loads, n.Started)
			}
		}
		o.loads[s] = loads
	}
	return loads
}

// frame is one line of a stack.
type frame struct {
	function, url string
	line, column  int
}

// parseFrame reads "function (url:line:column)".
func parseFrame(s string) (f frame, ok bool) {
	function, place, ok := strings.Cut(s, " (")
	if !ok || !strings.HasSuffix(place, ")") {
		return frame{}, false
	}
	rest, column, ok1 := cutLast(place[:len(place)-1])
	url, line, ok2 := cutLast(rest)
	return frame{function, url, line, column}, ok1 && ok2
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

// top is the frame of an entry's source.
func top(c *event.Console) frame { return frame{url: c.URL, line: c.Line, column: c.Column} }

// mappable says whether a frame is a place in a script that can be fetched.
func (f frame) mappable() bool {
	return f.line > 0 && f.column > 0 && (strings.HasPrefix(f.url, "http://") || strings.HasPrefix(f.url, "https://"))
}

// find is the original place of a frame.
func (o *originals) find(c *event.Console, f frame) (sourcemap.Position, bool) {
	if o == nil || !f.mappable() {
		return sourcemap.Position{}, false
	}
	s := sourcemap.Script{Tab: c.Tab, URL: f.url}
	holds := o.holds(s, c.At)
	m := o.Maps.Get(s, holds)
	if m == nil {
		o.Maps.Want(s, holds)
		return sourcemap.Position{}, false
	}
	p, ok := m.Find(f.line, f.column)
	p.Source = o.Clean(p.Source)
	return p, ok && p.Source != ""
}

// source is the original place that an entry is told with: that of its top frame, or where that lies in code
// which its map says is not the developer's own, of the first frame of theirs.
func (o *originals) source(c *event.Console) (sourcemap.Position, bool) {
	first, ok := o.find(c, top(c))
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

// place is [originals.source] for package diff.
func (o *originals) place(c *event.Console) (diff.Place, bool) {
	p, ok := o.source(c)
	return diff.Place{File: p.Source, Line: p.Line, Shared: p.Shared}, ok
}

// stack is an entry's stack with the original places where they are known.
func (o *originals) stack(c *event.Console) []string {
	if o == nil {
		return c.Stack
	}
	var lines []string
	for i, line := range c.Stack {
		f, ok := parseFrame(line)
		if !ok {
			continue
		}
		p, ok := o.find(c, f)
		if !ok {
			continue
		}
		if lines == nil {
			lines = append([]string{}, c.Stack...) // the entry's own is shared
		}
		lines[i] = fmt.Sprintf("%s (%s:%d:%d)", f.function, p.Source, p.Line, p.Column)
	}
	if lines == nil {
		return c.Stack
	}
	return lines
}

// A burst of errors is gathered for askEvery before its maps are asked for, and for the newest askFor of its
// entries only: more of them come from the same few scripts, or are asked for when they are shown.
const (
	askEvery = 50 * time.Millisecond
	askFor   = 256
)

// AskForMaps asks for the maps of errors and warnings as they come in, so that they are there when somebody
// asks what happened. It returns when ctx ends.
func (e *Engine) AskForMaps(ctx context.Context) {
	if e.originals.Maps == nil {
		return
	}
	next := e.store.View(e.clock()).Console.Next()
	for {
		changed := e.store.Changed()
		if v := e.store.View(e.clock()); v.Console.Next() > next {
			o, rules := e.originalsIn(v), e.noise.in("", e.clock()).rules
			for _, c := range v.Console.From(max(next, v.Console.Next()-min(v.Console.Next(), askFor))) {
				if c.Level >= event.Warning && !c.Joined && rules.Console(c) == nil {
					o.source(c)
					o.stack(c)
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
