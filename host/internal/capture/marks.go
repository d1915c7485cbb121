package capture

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
)

// What a report reads of the console and of sockets is little of what there is: the buffers mark it, and label what it counts.

func notableMessage(e *event.Console) bool {
	return e.Level >= event.Warning || noise.TellsOfRefresh(e)
}

// labels makes the labels of lines. Nobody outside can choose addresses that get the same one.
var labels = maphash.MakeSeed()

// labelOfLine is the same for messages that one line of code logs at one level in one tab. Warnings and errors, which are
// read one by one, have 0.
func labelOfLine(e *event.Console) uint64 {
	if e.Level >= event.Warning {
		return 0
	}
	return max(1, maphash.Comparable(labels, struct {
		event.Subject
		event.Level
		url  string
		line int
	}{e.Subject, e.Level, e.URL, e.Line}))
}

func notableFrame(e *event.WebSocket) bool { return !e.IsFrame() || e.Bad || TellsOfModules(e) }

// TellsOfModules reports whether a frame is one in which Turbopack tells a page that it is connected, or of changed modules.
func TellsOfModules(e *event.WebSocket) bool {
	return e.Op == "received" && strings.HasPrefix(e.Text, `{"type":"turbopack-`)
}

// ChangesModules reports whether such a frame changes modules, as far as it was kept.
func ChangesModules(e *event.WebSocket) bool {
	return TellsOfModules(e) && strings.HasPrefix(e.Text, `{"type":"turbopack-message"`) &&
		(e.Size > len(e.Text) || strings.Contains(e.Text, `"type":"partial"`) || strings.Contains(e.Text, `"type":"restart"`))
}

// refresh is what Turbopack's connection told a tab of the build that goes on. Next.js logs the end of one that changed nothing
// in the page too, such as that of a route.
type refresh struct {
	socket string // "" while no connection is known
	gaps   uint64 // the position of the newest gap as the connection became known
	// changes is true if the page changes with that build, or if the build repairs one that had failed. It is true too for a build
	// of which the begin was not observed.
	changes, failed bool
}

// follow takes a frame, or the begin or end of a connection. How is what it shows of an update; see [noise.Rules.Update]. Gaps is the
// position of the newest gap.
func (r *refresh) follow(e *event.WebSocket, how string, gaps uint64) {
	switch {
	case e.ID == r.socket && !e.IsFrame():
		*r = refresh{}
	case e.ID != r.socket && TellsOfModules(e): // the first one, or that of the next document
		*r = refresh{socket: strings.Clone(e.ID), gaps: gaps, changes: true}
	case e.ID != r.socket || e.Op != "received":
	case how == "hot_update_failed":
		r.failed = true
	case strings.HasPrefix(e.Text, `{"type":"building"`):
		r.changes = r.failed
	case ChangesModules(e), slices.ContainsFunc(pageChanges, func(kind string) bool { return strings.HasPrefix(e.Text, `{"type":"`+kind+`"`) }):
		r.changes = true
	}
}

// pageChanges are the kinds of messages, other than of modules, after which Next.js changes a page.
var pageChanges = []string{"serverComponentChanges", "reloadPage", "addedPage", "removedPage"}

// ended reports whether the build whose end a tab logged may have changed the page. After a gap it may have.
func (r *refresh) ended(gaps uint64) bool {
	r.failed = false
	return r.socket == "" || r.gaps != gaps || r.changes
}

// shows reports whether what an event says of an update is right: what Next.js logs is not, for a build that changed nothing in the
// page. The refresh is that of the event's tab, nil for none.
func shows(how string, ev event.Event, r *refresh, gaps uint64) bool {
	e, ok := ev.(*event.Console)
	return !ok || r == nil || how == "" || !noise.TellsOfRefresh(e) || r.ended(gaps)
}

// addUpdate adds what an event shows of an update.
func addUpdate(s *Store, ev event.Event, how string) {
	files := noise.UpdatedFiles(ev)
	for _, file := range files {
		s.updates.Append(Update{Head: *ev.Header(), How: cmp.Or(how, "hot_update"), File: file})
	}
	if how != "" && len(files) == 0 {
		s.updates.Append(Update{Head: *ev.Header(), How: how, Build: noise.Build(ev)})
	}
}

// restoreUpdates adds the updates that the restored entries show, in the order of their time. When a document was requested is not
// known any more.
func restoreUpdates(s *Store) {
	var all []event.Event
	for _, t := range []Track{DOM, WebSocket, Console} {
		for _, ev := range s.buffers[t].view().events(0) {
			all = append(all, ev)
		}
	}
	slices.SortStableFunc(all, func(a, b event.Event) int { return cmp.Compare(a.Header().At, b.Header().At) })
	var missed []int64 // when each gap began
	for _, g := range s.gaps.list {
		missed = append(missed, g.From.UnixMilli())
	}
	slices.Sort(missed)
	builds := map[int]*refresh{}
	for _, ev := range all {
		head, how := ev.Header(), s.noise.Update(ev)
		if c, ok := ev.(*Change); ok && c.Op == "navigated" && (c.How == "load" || c.How == "reload") {
			how = c.How
		}
		if builds[head.Tab()] == nil {
			builds[head.Tab()] = &refresh{}
		}
		r := builds[head.Tab()]
		before, _ := slices.BinarySearch(missed, head.At+1)
		if !shows(how, ev, r, uint64(before)) {
			how = ""
		}
		addUpdate(s, ev, how)
		if e, ok := ev.(*event.WebSocket); ok {
			r.follow(e, how, uint64(before))
		}
	}
}
