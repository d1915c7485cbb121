package diff

import (
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// maxLate bounds how many late requests are listed, the newest.
const maxLate = 10

// late lists the requests that an action of the reader made, and that succeeded after its answer. It returns nil for a
// reader that does not act.
func late(c *computation, d *NetworkDiff) (list []Endpoint) {
	if c.o.Late == nil {
		return nil
	}
	var found []event.Event
	for pos, e := range c.v.Network().From(c.from.Pos[capture.Network]) {
		if !c.o.InScope(e.Subject) || !e.Answered() || request(e, &Options{}).Text == "" || c.keptOut(e) || inStorm(c.storms, c.tab(e.Tab()), e) || !c.o.Late(pos, e) || c.o.given(alike.Request(e)) {
			continue
		}
		if found = append(found, e); len(found) > maxLate {
			found = found[1:]
		}
	}
	places := locate(&c.o, found)
	for _, ev := range found {
		e := ev.(*event.Network)
		d.shown = append(d.shown, alike.Request(e))
		list = append(list, Endpoint{Method: e.Method, URL: shownPath(e), Status: e.Status, Tab: c.tab(e.Tab()), Request: Request{
			Operation: e.Operation, StartedAt: Time{time.UnixMilli(startOf(e)).UTC()}, DurationMs: int(e.Duration + 0.5),
			Initiator: places.source(e), Generated: places.of[e].Generated,
		}})
	}
	return list
}

// inStorm says whether a request of a tab is one of a storm.
func inStorm(storms []*foundStorm, tab int, e *event.Network) bool {
	return slices.ContainsFunc(storms, func(s *foundStorm) bool { return s.What == requestName(e) && s.Tab == tab })
}

// shownPath is the address of a request as it is shown, with its query.
func shownPath(e *event.Network) string {
	origin, path := capture.SplitURL(e.URL)
	return shownURL(e.Origin(), origin, path) + queryOf(e.URL)
}
