package viewer

import (
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/protocol"
)

// referring collects references from a report to its entries.
type referring struct {
	w      *window
	o      diff.Options
	places *observe.Places
	// wanted are the endpoints whose latencies are listed.
	wanted map[capture.EndpointKey][]*protocol.ViewRef
}

func refs[T any](r *referring, into map[string][]protocol.ViewRef, list []T, name, lane string, timed bool, of func(*T) *diff.Ref) {
	if len(list) == 0 {
		return
	}
	out := make([]protocol.ViewRef, len(list))
	for i := range list {
		out[i] = protocol.ViewRef{Lane: lane, Positions: []uint64{}}
		ref := of(&list[i])
		if ref == nil {
			continue
		}
		out[i].Positions = ref.Positions[max(0, len(ref.Positions)-diff.MaxRefs):]
		out[i].Tab, out[i].Selector = ref.Tab, ref.Element.Selector
		r.describe(&out[i], ref.Event)
		if timed {
			r.wanted[ref.Endpoint] = append(r.wanted[ref.Endpoint], &out[i])
		}
	}
	into[name] = out
}

// describe fills in an entry's source, and the finding that a noise rule can match.
func (r *referring) describe(out *protocol.ViewRef, ev event.Event) {
	if c, ok := ev.(*event.Console); ok {
		out.Source = placeOf(r.places, c)
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
	p := &protocol.Place{URL: c.URL, Line: c.Line, Column: c.Column}
	if o, ok := places.Source(c); ok {
		p.File, p.FileLine, p.FileColumn = o.Source, o.Line, o.Column
	} else {
		p.Generated = places.Generated(c.Tab(), observe.TopFrame(c))
	}
	return p
}

func (r *referring) all(report *diff.Report) map[string][]protocol.ViewRef {
	out := map[string][]protocol.ViewRef{}
	r.wanted = map[capture.EndpointKey][]*protocol.ViewRef{}
	if d := report.Console; d != nil {
		of := func(m *diff.Message) *diff.Ref { return m.Ref }
		refs(r, out, d.NewErrors, "console.new_errors", protocol.LaneConsole, false, of)
		refs(r, out, d.NewWarnings, "console.new_warnings", protocol.LaneConsole, false, of)
	}
	if d := report.Network; d != nil {
		refs(r, out, d.Failures, "network.failures", protocol.LaneNetwork, true, func(f *diff.Failure) *diff.Ref { return f.Ref })
		refs(r, out, d.Degraded, "network.degraded", protocol.LaneNetwork, true, func(f *diff.Degraded) *diff.Ref { return f.Ref })
		refs(r, out, d.Recovered, "network.recovered", protocol.LaneNetwork, true, func(f *diff.Changed) *diff.Ref { return f.Ref })
		refs(r, out, d.NewEndpoints, "network.new_endpoints", protocol.LaneNetwork, false, func(f *diff.Endpoint) *diff.Ref { return f.Ref })
	}
	if d := report.WebSocket; d != nil {
		refs(r, out, d.Disconnections, "websocket.disconnections", protocol.LaneWebSocket, false, func(f *diff.Disconnection) *diff.Ref { return f.Ref })
		refs(r, out, d.ErrorMessages, "websocket.error_messages", protocol.LaneWebSocket, false, func(f *diff.SocketError) *diff.Ref { return f.Ref })
		refs(r, out, d.NewConnections, "websocket.new_connections", protocol.LaneWebSocket, false, func(f *diff.Connection) *diff.Ref { return f.Ref })
	}
	if d := report.DOM; d != nil {
		refs(r, out, d.Crashed, "dom.crashed", protocol.LaneDOM, false, func(f *diff.Crash) *diff.Ref { return f.Ref })
		refs(r, out, d.NewErrorElements, "dom.new_error_elements", protocol.LaneDOM, false, func(f *diff.NewElement) *diff.Ref { return f.Ref })
		refs(r, out, d.DisappearedElements, "dom.disappeared_elements", protocol.LaneDOM, false, func(f *diff.GoneElement) *diff.Ref { return f.Ref })
		if d.URLChanged != nil {
			refs(r, out, []diff.URLChange{*d.URLChanged}, "dom.url_changed", protocol.LaneDOM, false, func(f *diff.URLChange) *diff.Ref { return f.Ref })
		}
	}
	if d := report.Actions; d != nil {
		refs(r, out, d.NewActions, "actions.new_actions", protocol.LaneActions, false, func(f *diff.Action) *diff.Ref { return f.Ref })
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
