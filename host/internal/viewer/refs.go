package viewer

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/protocol"
)

// referring collects references from a report to its entries.
type referring struct {
	w      *between
	o      window.Options
	places *observe.Places
	// wanted are the endpoints whose latencies are listed.
	wanted map[capture.EndpointKey][]*protocol.ViewRef
}

// timed are the lists of a report whose endpoints' latencies are listed.
var timed = []string{"network.failures", "network.known_failures", "network.degraded", "network.recovered"}

// list returns the references of a list of the report.
func (r *referring) list(name, lane string, refs []*report.Ref) []protocol.ViewRef {
	out := make([]protocol.ViewRef, len(refs))
	for i, ref := range refs {
		out[i] = protocol.ViewRef{Lane: lane, Positions: []uint64{}}
		if ref == nil {
			continue
		}
		out[i].Positions = ref.Positions[max(0, len(ref.Positions)-report.MaxRefs):]
		out[i].Tab, out[i].Selector, out[i].Overlay = ref.Tab, ref.Element.Selector, alike.IsOverlay(ref.Element.Selector)
		if lane == "" {
			out[i].Lane = laneOf(ref.Event)
		}
		r.describe(&out[i], ref.Event)
		if slices.Contains(timed, name) {
			r.wanted[ref.Endpoint] = append(r.wanted[ref.Endpoint], &out[i])
		}
	}
	return out
}

// laneOf returns the lane of an entry of a storm.
func laneOf(ev event.Event) string {
	switch ev.(type) {
	case *event.Console:
		return string(capture.ConsoleSection)
	case *event.WebSocket:
		return string(capture.WebSocketSection)
	}
	return string(capture.NetworkSection)
}

// describe fills in an entry's source, and the finding that a noise rule can match.
func (r *referring) describe(out *protocol.ViewRef, ev event.Event) {
	switch e := ev.(type) {
	case *event.Console:
		out.Source = placeOf(r.places, e)
	case *event.Network:
		out.Source = callerOf(r.places, e)
	case *event.WebSocket:
		out.Source = callerOf(r.places, e)
	}
	switch ev.(type) {
	case *event.Console, *event.Network, *event.WebSocket:
		if k := noiserules.EntryKeyOf(ev); k.Fold != "" && k.Level >= event.Warning && (r.o.Noise == nil || !r.o.Noise.FailedUpdate(ev)) {
			out.Finding = finding(k, ev)
		}
	}
}

// placeOf returns the source of an entry, nil when it is unknown.
func placeOf(places *observe.Places, c *event.Console) *protocol.Place {
	if c.URL == "" {
		return nil
	}
	f, o, ok := places.Source(c)
	p := &protocol.Place{URL: c.URL, Line: c.Line, Column: c.Column}
	if ok {
		p.File, p.FileLine, p.FileColumn = o.Source, o.Line, o.Column
	} else {
		p.URL, p.Line, p.Column, p.Generated = f.URL, f.Line, f.Column, places.Generated(c.Tab(), f)
	}
	return p
}

// callerOf returns the place of the code that made a request or opened a connection, nil when it is unknown.
func callerOf(places *observe.Places, ev event.Event) *protocol.Place {
	c := places.CallerOf(ev)
	if c.URL == "" {
		return nil
	}
	p := &protocol.Place{URL: c.URL, Line: c.Line, Column: c.Column, Generated: c.Generated}
	if o := c.Original; o.Source != "" {
		p.File, p.FileLine, p.FileColumn = o.Source, o.Line, o.Column
	}
	return p
}

func (r *referring) all(answer *report.Report) map[string][]protocol.ViewRef {
	out := map[string][]protocol.ViewRef{}
	r.wanted = map[capture.EndpointKey][]*protocol.ViewRef{}
	for section, lists := range answer.Lists {
		for list, refs := range lists {
			name := strings.TrimPrefix(section+"."+list, ".")
			out[name] = r.list(name, section, refs)
		}
	}
	r.latency()
	return out
}

// maxLatency bounds the latencies listed for one endpoint.
const maxLatency = 60

// latency adds the durations of the newest requests to each wanted endpoint, including those before the window.
func (r *referring) latency() {
	if len(r.wanted) == 0 {
		return
	}
	for pos, n := range r.w.v.Network().Until(r.w.to.Pos[capture.Network]).From(0) {
		if !capture.Counts(n) {
			continue
		}
		for _, ref := range r.wanted[capture.KeyOf(n)] {
			ref.Latency = append(ref.Latency, protocol.Latency{At: n.At, Ms: n.Duration, Status: n.Status, Failed: n.Failed(), Before: pos < r.w.from.Pos[capture.Network]})
			if len(ref.Latency) >= 2*maxLatency {
				ref.Latency = append(ref.Latency[:0], ref.Latency[maxLatency:]...)
			}
		}
	}
	for _, list := range r.wanted {
		for _, ref := range list {
			ref.Latency = ref.Latency[max(0, len(ref.Latency)-maxLatency):]
		}
	}
}
