package diff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

func (c *computation) websocket() *WebSocketDiff {
	d := &WebSocketDiff{}
	var closed tallies[Disconnection]
	var failed tallies[SocketError]
	var opened tallies[Connection]
	known := map[*repeat]socketKey{}
	var ends run
	var last *event.WebSocket // connections are often to one server
	url := ""
	total, frames := inScope(&c.o, c.section, c.v.WebSocket(), c.from.Pos[capture.WebSocket], func(pos uint64, e *event.WebSocket) {
		if e.IsFrame() {
			d.TotalNewMessages++
		}
		if !reportable(e) || c.hides(e) {
			return
		}
		if e.Op == "close" || e.Op == "error" {
			ends.add(&socketTempo, e.At)
		}
		if last == nil || last.URL != e.URL || last.Origin() != e.Origin() {
			last, url = e, shownSocketURL(e.Origin(), e.URL)
		}
		tab := c.tab(e.Tab())
		var entry alike.Entry
		if c.o.Given != nil && e.Op != "open" {
			entry = alike.Socket(e)
			if r := repeatedSocket(c, e, entry, tab); r != nil {
				known[r] = socketKeyOf(e)
				return
			}
		}
		switch {
		case e.Bad:
			message := socketError(e)
			k := SocketError{URL: url, Message: alike.Fingerprint(message), Status: e.Status, Tab: tab}
			failed.add(k, pos, SocketError{URL: url, Message: Shorten(message), Status: e.Status, Tab: tab}, c, e, entry)
		case e.Op == "close":
			k := Disconnection{URL: url, Code: e.Code, Reason: alike.Fingerprint(Shorten(e.Reason)), Tab: tab}
			closed.add(k, pos, Disconnection{URL: url, Code: e.Code, Reason: Shorten(e.Reason), Tab: tab}, c, e, entry)
		case e.Op == "open":
			k := Connection{URL: url, Tab: tab}
			opened.add(k, pos, k, c, e, entry)
		}
	})
	d.TotalNewEvents = total
	d.TotalNewMessages += frames // no other is left out
	c.count(len(closed.list), "disconnection", Warning)
	c.count(len(failed.list), "WebSocket error", Warning)
	if find := (stormFinder{c}); ends.long || ends.near && find.short() {
		stormy := find.socketStorms()
		opened.list = slices.DeleteFunc(opened.list, func(t *tally[Connection]) bool {
			return stormy[socketKeyOf(t.shown.(*event.WebSocket))]
		})
		for r, k := range known {
			r.storm = stormy[k]
		}
	}

	r := newRoom()
	closures, failures := take(r, byFrequency(closed.list)), take(r, byFrequency(failed.list))
	d.shown = slices.Concat(keysOf(closures), keysOf(failures))
	places := locate(&c.o, shownBy(closures), shownBy(failures))
	for _, t := range closures {
		t.entry.Count, t.entry.Ref, t.entry.Initiator, t.entry.Generated = several(t.count), t.ref, places.source(t.shown), places.of[t.shown].Generated
	}
	introduce(&c.o, failures, func(e *SocketError) **Introduced { return &e.IntroducedBy })
	for _, t := range failures {
		t.entry.Count, t.entry.Ref, t.entry.Initiator, t.entry.Generated = several(t.count), t.ref, places.source(t.shown), places.of[t.shown].Generated
	}
	d.Disconnections, d.ErrorMessages = entries(closures), entries(failures)
	for _, t := range take(r, byFrequency(opened.list)) {
		t.entry.Count, t.entry.Ref = several(t.count), t.ref
		d.NewConnections = append(d.NewConnections, t.entry)
	}
	d.Omitted = r.omitted
	return d
}

// repeatedSocket counts what happened to a connection that the reader was already given. It returns nil for anything else.
func repeatedSocket(c *computation, e *event.WebSocket, entry alike.Entry, tab int) *repeat {
	if !c.o.given(entry) {
		return nil
	}
	return c.repeated.take(&c.o, entry, Warning, c.section, tab, strconv.FormatUint(entry.As, 16), socketText(e, &c.o))
}

// socketError is what a connection or a frame says that failed.
func socketError(e *event.WebSocket) string {
	return cmp.Or(e.Text, "the connection failed") // Chromium does not tell a page why
}

// socketText says what happened to a connection.
func socketText(e *event.WebSocket, o *Options) string {
	url := shownSocketURL(e.Origin(), e.URL)
	if e.Bad {
		return "WebSocket " + url + ": " + Shorten(event.OneLine(socketError(e))) + from(e, o)
	}
	return strings.TrimSpace("WebSocket " + url + " closed " + Shorten(event.OneLine(e.Reason)))
}

// tallies counts equal entries, in the order in which they came first.
type tallies[T comparable] struct {
	found map[T]*tally[T]
	list  []*tally[T]
}

func (t *tallies[T]) add(key T, pos uint64, entry T, c *computation, ev event.Event, known alike.Entry) {
	if t.found == nil {
		t.found = map[T]*tally[T]{}
	}
	e := t.found[key]
	if e == nil {
		e = &tally[T]{entry: entry, ref: c.ref(pos, ev), shown: ev, began: ev}
		t.found[key] = e
		t.list = append(t.list, e)
	} else {
		e.ref.add(pos)
	}
	if stackOf(ev) != nil || stackOf(e.shown) == nil {
		e.shown = ev
	}
	e.count++
	e.last = pos
	if c.o.Given != nil {
		e.keys = addEntry(e.keys, known)
	}
}

func (d *WebSocketDiff) filter(errorsOnly bool) int {
	n := dropAll(&d.NewConnections)
	if errorsOnly {
		n += dropAll(&d.Disconnections) + dropAll(&d.ErrorMessages)
		d.shown = nil
	}
	return n
}

func (d *WebSocketDiff) given() (shown []alike.Entry, over []uint64) { return d.shown, nil }

func (d *WebSocketDiff) quotes() bool {
	return len(d.Disconnections)+len(d.NewConnections)+len(d.ErrorMessages) > 0
}

func (d *WebSocketDiff) omitted() int { return d.Omitted }

func (d *WebSocketDiff) empty() bool { return d.TotalNewEvents == 0 }
