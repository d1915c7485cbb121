package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/storms"
	"tidemark.dev/tidemark/host/internal/window"
)

func (c *computation) websocket() *report.WebSocketDiff {
	d := &report.WebSocketDiff{}
	c.duplicates.FindOverlays()
	var closed tallies[report.Disconnection]
	var failed tallies[report.SocketError]
	var opened tallies[report.Connection]
	known := map[*repeat]storms.Socket{}
	var ends storms.Run
	var last *event.WebSocket // connections are often to one server
	url := ""
	total, frames := window.InScope(&c.Options, c.section, c.View.WebSocket(), c.From.Pos[capture.WebSocket], func(pos uint64, e *event.WebSocket) {
		if e.IsFrame() {
			d.TotalNewMessages++
		}
		if !window.Reportable(e) || c.Hides(e) || c.duplicates.HasFrame(e) {
			return
		}
		if e.Op == "close" || e.Op == "error" {
			ends.End(e)
		}
		if last == nil || last.URL != e.URL || last.Origin() != e.Origin() {
			last, url = e, report.SocketAddress(e.Origin(), e.URL)
		}
		tab := c.Tab(e.Tab())
		var entry alike.Entry
		if c.Options.Given != nil && e.Op != "open" {
			entry = alike.Socket(e)
			if r := repeatedSocket(c, e, entry, tab); r != nil {
				known[r] = storms.SocketOf(e)
				return
			}
		}
		switch {
		case e.Bad:
			message := socketError(e)
			k := report.SocketError{URL: url, Message: alike.Fingerprint(message), Status: e.Status, Tab: tab}
			failed.add(k, pos, report.SocketError{URL: url, Message: report.Shorten(message), Status: e.Status, Tab: tab}, c, e, entry)
		case e.Op == "close":
			k := report.Disconnection{URL: url, Code: e.Code, Reason: alike.Fingerprint(report.Shorten(e.Reason)), Tab: tab}
			closed.add(k, pos, report.Disconnection{URL: url, Code: e.Code, Reason: report.Shorten(e.Reason), Tab: tab}, c, e, entry)
		case e.Op == "open":
			k := report.Connection{URL: url, Tab: tab}
			opened.add(k, pos, k, c, e, entry)
		}
	})
	d.TotalNewEvents = total
	d.TotalNewMessages += frames // no other is left out
	if c.storms.May(&ends) {
		stormy := c.storms.Sockets()
		failed.list = slices.DeleteFunc(failed.list, func(t *tally[report.SocketError]) bool {
			s := storms.SocketOf(t.shown.(*event.WebSocket))
			return stormy[s] && c.mentions.takeStorm(s, t, d)
		})
		opened.list = slices.DeleteFunc(opened.list, func(t *tally[report.Connection]) bool {
			return stormy[storms.SocketOf(t.shown.(*event.WebSocket))]
		})
		for r, k := range known {
			r.storm = stormy[k]
		}
	}
	c.count(len(closed.list), "disconnection", report.Warning)
	c.count(len(failed.list), "WebSocket error", report.Warning)

	r := newRoom()
	closures, failures := take(r, byFrequency(closed.list)), take(r, byFrequency(failed.list))
	d.Shown = append(d.Shown, slices.Concat(keysOf(closures), keysOf(failures))...)
	places := c.Options.Locate(shownBy(closures), shownBy(failures))
	for _, t := range closures {
		t.entry.Count, t.entry.Ref = several(t.count), t.ref
		t.entry.Initiator, t.entry.Generated = places.Source(t.shown)
	}
	introduce(&c.Options, failures, func(e *report.SocketError) **report.Introduced { return &e.IntroducedBy })
	for _, t := range failures {
		t.entry.Count, t.entry.Ref = several(t.count), t.ref
		t.entry.Initiator, t.entry.Generated = places.Source(t.shown)
	}
	d.Disconnections, d.ErrorMessages = entries(closures), entries(failures)
	for i, t := range failures {
		c.mentions.add(t.shown, &d.ErrorMessages[i].Also, &d.Shown)
	}
	for _, t := range take(r, byFrequency(opened.list)) {
		t.entry.Count, t.entry.Ref = several(t.count), t.ref
		d.NewConnections = append(d.NewConnections, t.entry)
	}
	d.Omitted = r.omitted
	return d
}

// repeatedSocket counts what happened to a connection that the reader was already given. It returns nil for anything else.
func repeatedSocket(c *computation, e *event.WebSocket, entry alike.Entry, tab int) *repeat {
	if !c.Options.WasGiven(entry) {
		return nil
	}
	return c.repeated.take(&c.Options, entry, report.Warning, c.section, tab, strconv.FormatUint(entry.As, 16), socketText(e, &c.Options))
}

// socketError is what a connection or a frame says that failed.
func socketError(e *event.WebSocket) string {
	return cmp.Or(e.Text, "the connection failed") // Chromium does not tell a page why
}

// refusal is the status of a refused handshake, as the end of a line that does not have it; "" if there is none.
func refusal(text string, status int) string {
	if status == 0 || strings.Contains(text, strconv.Itoa(status)) {
		return ""
	}
	return fmt.Sprintf(" (status %d)", status)
}

// socketText says what happened to a connection.
func socketText(e *event.WebSocket, o *window.Options) string {
	url := report.SocketAddress(e.Origin(), e.URL)
	if e.Bad {
		text := report.Shorten(event.OneLine(socketError(e)))
		return "WebSocket " + url + ": " + text + refusal(text, e.Status) + sentBy(e, o, false)
	}
	return strings.TrimSpace("WebSocket "+url+" closed "+report.Shorten(event.OneLine(e.Reason))) + sentBy(e, o, false)
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
		e = &tally[T]{entry: entry, ref: c.Ref(pos, ev), shown: ev, began: ev}
		t.found[key] = e
		t.list = append(t.list, e)
	} else {
		e.ref.Add(pos)
	}
	if event.StackOf(ev) != nil || event.StackOf(e.shown) == nil {
		e.shown = ev
	}
	e.count++
	e.last = pos
	if c.Options.Given != nil {
		e.keys = addEntry(e.keys, known)
	}
}
