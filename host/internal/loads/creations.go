package loads

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/stacks"
)

// creations are the first stacks with code of the page's own by which tabs connected to an address. A library that connects
// again by its own timer has no other code in its stack.
type creations struct {
	created map[address]creation
	socket  uint64 // the position up to which the buffer of connections has been read
}

// address is what a page connects to. Requests and connections are apart, but those of a client of Socket.IO, which polls
// and opens connections at one address.
type address struct {
	socket                        bool
	tab                           int
	method, host, path, operation string
}

type creation struct {
	at    int64
	stack []string
}

// maxCreations bounds the recorded creations. Beyond it, all are forgotten.
const maxCreations = 500

func addressOf(ev event.Event) (a address, at int64, stack []string) {
	origin := ""
	switch e := ev.(type) {
	case *event.Network:
		k := capture.KeyOf(e)
		a, at, stack = address{method: k.Method, path: k.Path, operation: k.Operation}, e.Started, e.Stack
		if e.EngineIO() {
			a.socket, a.method = true, ""
		}
		origin = k.Origin
	case *event.WebSocket:
		var path string
		origin, path = capture.SplitURL(e.URL)
		a, at, stack = address{socket: true, path: capture.TemplatePath(path)}, e.At, e.Stack
	}
	_, a.host, _ = strings.Cut(origin, "://")
	a.tab = ev.Header().Tab()
	return a, at, stack
}

// take records a request or a step of a connection, unless its address is known since its tab was loaded.
func (c *creations) take(v *capture.View, ev event.Event) {
	a, at, stack := addressOf(ev)
	if old, known := c.created[a]; known && old.at >= loaded(v, a.tab) || !hasOwn(stack) {
		return
	}
	if c.created == nil || len(c.created) >= maxCreations {
		c.created = map[address]creation{}
	}
	kept := make([]string, len(stack))
	for i, line := range stack {
		kept[i] = strings.Clone(line) // without the message that it came in
	}
	a.method, a.host, a.path, a.operation = strings.Clone(a.method), strings.Clone(a.host), strings.Clone(a.path), strings.Clone(a.operation)
	c.created[a] = creation{at, kept}
}

// hasOwn reports whether a stack has a frame that is not known to be a library's.
func hasOwn(stack []string) bool {
	return slices.ContainsFunc(stack, func(line string) bool {
		f, ok := stacks.Parse(line)
		return ok && f.IsWeb() && f.Function != "(document)" && !stacks.IsLibrary(f.URL) && !stacks.IsVendored(f.URL)
	})
}

// loaded is when a tab loaded its page, 0 if that is not known.
func loaded(v *capture.View, tab int) int64 {
	for i := range v.Tabs {
		if v.Tabs[i].ID == tab {
			return v.Tabs[i].Loaded.At
		}
	}
	return 0
}

// Created returns when, and by which stack, the page of a request or a connection first connected to its address by code of
// its own. The stack is empty if that is not known.
func (l *Index) Created(v *capture.View, ev event.Event) (at int64, stack []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readLocked(v)
	a, when, _ := addressOf(ev)
	c := l.created[a]
	if since := loaded(v, a.tab); c.at > when || when >= since && c.at < since {
		return 0, nil
	}
	return c.at, c.stack
}
