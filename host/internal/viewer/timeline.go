package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Limits of a reading of the timeline.
const (
	defaultTimeline = 20_000
	maxTimeline     = 50_000
	maxTimelineWait = 25 * time.Second
)

// Timeline reads the timeline from positions on. Where nothing is new it waits for what is, as long as it
// is asked to.
func (e *Viewer) Timeline(ctx context.Context, p protocol.ViewTimelineParams) (*protocol.ViewTimeline, error) {
	if p.Limit == 0 {
		p.Limit = defaultTimeline
	}
	if p.Limit < 1 || p.Limit > maxTimeline {
		return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", p.Limit, maxTimeline)
	}
	if p.Tab != 0 {
		if _, err := e.Scope(p.Tab); err != nil {
			return nil, err
		}
	}
	wait := min(time.Duration(max(0, p.WaitMs))*time.Millisecond, maxTimelineWait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		captured, changed := e.store.Changed(), e.Changed()
		t := e.timeline(p)
		if wait == 0 || len(t.Lanes) > 0 || t.Marks != p.Marks {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-captured:
		case <-changed:
		case <-timer.C:
			wait = 0
		}
	}
}

func (e *Viewer) timeline(p protocol.ViewTimelineParams) *protocol.ViewTimeline {
	v, calls := e.store.View(e.clock()), e.Agents.callsView()
	t := &protocol.ViewTimeline{
		Now: v.At.UnixMilli(), Start: v.Start().At.UnixMilli(), Store: e.storeID(v), Lanes: []protocol.ViewLane{},
		First: protocol.ViewPositions{
			Console: v.Console.First(), Network: v.Network.First(), WebSocket: v.WebSocket.First(), DOM: v.DOM.First(), Actions: v.Actions.First(), Calls: calls.First(),
		},
	}
	t.Marks = e.marks(v)
	if t.Marks != p.Marks {
		for _, g := range v.Gaps {
			if p.Tab == 0 || g.Tab == 0 || g.Tab == p.Tab {
				shown := protocol.ViewGap{From: g.From.UnixMilli(), Reason: g.Reason, Tab: g.Tab, Dropped: g.Dropped}
				if !g.To.IsZero() {
					shown.To = g.To.UnixMilli()
				}
				t.Gaps = append(t.Gaps, shown)
			}
		}
	}
	rules := e.rules.In("", e.clock()).Rules
	r := &laneReader{tab: p.Tab, left: p.Limit, out: t}
	t.Next.Calls = lane(r, protocol.LaneCalls, calls, p.After.Calls, callHead, markOfCall)
	t.Next.Actions = lane(r, protocol.LaneActions, v.Actions, p.After.Actions, head[event.Action], func(*event.Action) byte { return protocol.MarkClean })
	t.Next.DOM = lane(r, protocol.LaneDOM, v.DOM, p.After.DOM, head[capture.Change], markOfChange)
	t.Next.Console = lane(r, protocol.LaneConsole, v.Console, p.After.Console, head[event.Console], func(c *event.Console) byte { return markOfConsole(c, rules) })
	t.Next.Network = lane(r, protocol.LaneNetwork, v.Network, p.After.Network, head[event.Network], func(n *event.Network) byte { return markOfNetwork(n, rules) })
	t.Next.WebSocket = lane(r, protocol.LaneWebSocket, v.WebSocket, p.After.WebSocket, head[event.WebSocket], func(w *event.WebSocket) byte { return markOfSocket(w, rules) })
	return t
}

// storeID names what positions belong to: another daemon may have begun anew, and calls begin with each.
func (e *Viewer) storeID(v *capture.View) string {
	id := ""
	if e.disk != nil {
		id = e.disk.ID()
	}
	return fmt.Sprintf("%s/%d/%d", id, v.Started.UnixMilli(), e.began.UnixMilli())
}

// marks names the state of everything but entries.
func (e *Viewer) marks(v *capture.View) string {
	_, named := e.named.All()
	agents, _ := e.Agents.all()
	h := fnv.New64a()
	state, err := json.Marshal(struct {
		Named    uint64
		Noise    any
		Tabs     []protocol.ViewTab
		Browsers []capture.Browser
		Agents   []protocol.ViewAgent
		Gaps     []capture.Gap
	}{named, e.rules.Version(), tabsOf(v), v.Browsers, agents, v.Gaps})
	if err != nil {
		return "" // plain values always marshal
	}
	_, _ = h.Write(state)
	return fmt.Sprintf("%x", h.Sum64())
}

func tabsOf(v *capture.View) []protocol.ViewTab {
	var tabs []protocol.ViewTab
	for _, t := range v.Tabs {
		tabs = append(tabs, protocol.ViewTab{ID: t.ID, URL: t.URL, Title: t.Title, Watched: t.Watched, Active: t.Active, Capture: t.Capture, Note: t.Note, Paused: t.Paused, PausedPart: t.PausedPart})
	}
	return tabs
}

// laneReader reads lanes into an answer until there is no room left.
type laneReader struct {
	tab, left int
	out       *protocol.ViewTimeline
}

func head[T any, P interface {
	*T
	event.Event
}](e *T) *event.Head {
	return P(e).Header()
}

// lane reads one lane and returns where to read on.
func lane[T any](r *laneReader, name string, view ring.View[T], after uint64, head func(*T) *event.Head, mark func(*T) byte) uint64 {
	out := protocol.ViewLane{Lane: name, Times: []int64{}}
	var marks strings.Builder
	last, lastTime, contiguous := uint64(0), int64(0), true
	next := max(after, view.First())
	if view.First() > 1 { // positions begin with 1
		for _, entry := range view.From(view.First()) {
			if r.out.Held == nil {
				r.out.Held = map[string]int64{}
			}
			r.out.Held[name] = head(entry).At
			break
		}
	}
	for pos, entry := range view.From(after) {
		if r.left == 0 {
			r.out.More = true
			break
		}
		next = pos + 1
		h := head(entry)
		if r.tab != 0 && h.Tab != 0 && h.Tab != r.tab {
			continue
		}
		if last == 0 {
			out.Position, out.Time = pos, h.At
		} else {
			contiguous = contiguous && pos == last+1
		}
		out.Positions = append(out.Positions, int64(pos-max(last, out.Position)))
		out.Times = append(out.Times, h.At-max(lastTime, 0))
		if last == 0 {
			out.Times[0] = 0
		}
		last, lastTime = pos, h.At
		marks.WriteByte(mark(entry))
		r.left--
	}
	if len(out.Times) == 0 {
		return next
	}
	if contiguous {
		out.Positions = nil
	}
	out.Marks = marks.String()
	r.out.Lanes = append(r.out.Lanes, out)
	return next
}

// hides says whether a rule knows an event, be it new in a report or not.
func hides(rules *noise.Rules, ev event.Event) bool {
	return rules.BuiltIn(ev) != nil || rules.User(ev, diff.Fold) != nil
}

func markOfConsole(c *event.Console, rules *noise.Rules) byte {
	switch {
	case c.Level < event.Warning || c.Joined:
		return protocol.MarkClean
	case hides(rules, c):
		return protocol.MarkHidden
	}
	if as, _, _ := rules.Stale(c); as == event.Error {
		return protocol.MarkError
	}
	return protocol.MarkWarning
}

func markOfNetwork(n *event.Network, rules *noise.Rules) byte {
	switch {
	case !n.Failed() || !capture.Counts(n):
		return protocol.MarkClean
	case hides(rules, n):
		return protocol.MarkHidden
	}
	return protocol.MarkError
}

func markOfSocket(w *event.WebSocket, rules *noise.Rules) byte {
	switch {
	case w.Joined || !w.Bad && (w.Op != "close" || w.Leaving):
		return protocol.MarkClean
	case hides(rules, w):
		return protocol.MarkHidden
	}
	return protocol.MarkWarning
}

func markOfChange(c *capture.Change) byte {
	switch c.Op {
	case "crashed":
		return protocol.MarkError
	case "appeared":
		return protocol.MarkWarning
	}
	return protocol.MarkClean
}
