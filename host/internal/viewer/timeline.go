package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/protocol"
)

// Limits on one read of the timeline.
const (
	defaultTimeline = 20_000
	maxTimeline     = 50_000
	maxTimelineWait = 25 * time.Second
)

// Timeline returns the timeline from positions on. Without new entries it waits for some, as long as requested.
func (v *Viewer) Timeline(ctx context.Context, p protocol.ViewTimelineParams) (*protocol.ViewTimeline, error) {
	if p.Limit == 0 {
		p.Limit = defaultTimeline
	}
	if p.Limit < 1 || p.Limit > maxTimeline {
		return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", p.Limit, maxTimeline)
	}
	if p.Tab != 0 {
		if _, err := v.Scope(p.Tab); err != nil {
			return nil, err
		}
	}
	wait := min(time.Duration(max(0, p.WaitMs))*time.Millisecond, maxTimelineWait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		captured, changed, moments := v.store.Changed(), v.Changed(), timeline.Changes(v.moments).Changed()
		t := v.timeline(p)
		if wait == 0 || len(t.Lanes) > 0 || t.Marks != p.Marks {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-captured:
		case <-changed:
		case <-moments:
		case <-timer.C:
			wait = 0
		}
	}
}

func (v *Viewer) timeline(p protocol.ViewTimelineParams) *protocol.ViewTimeline {
	view, calls := v.store.View(v.clock()), v.Agents.callsView()
	t := &protocol.ViewTimeline{
		Now: view.At.UnixMilli(), Start: view.Start().At.UnixMilli(), Store: v.storeID(view), Lanes: []protocol.ViewLane{},
		First: protocol.ViewPositions{protocol.LaneCalls: calls.First()}, Next: protocol.ViewPositions{},
	}
	t.Marks = v.marks(view)
	if t.Marks != p.Marks {
		for _, g := range view.Gaps {
			if p.Tab == 0 || g.Number == 0 || g.Tab() == p.Tab {
				shown := protocol.ViewGap{From: g.From.UnixMilli(), Reason: g.Reason, Tab: g.Tab(), Dropped: g.Dropped}
				if !g.To.IsZero() {
					shown.To = g.To.UnixMilli()
				}
				t.Gaps = append(t.Gaps, shown)
			}
		}
	}
	rules := v.rules.In("", v.clock()).Rules
	r := &laneReader{tab: p.Tab, left: p.Limit, out: t}
	t.Next[protocol.LaneCalls] = lane(r, protocol.LaneCalls, &calls, p.After[protocol.LaneCalls], callHead, markOfCall)
	for _, section := range sections {
		name := string(section.Section)
		t.Next[name], t.First[name] = section.lane(r, view, p.After[name], rules), section.first(view)
	}
	return t
}

// storeID identifies what positions refer to. A new daemon may have an empty store, and always has an empty list of
// calls.
func (v *Viewer) storeID(view *capture.View) string {
	id := ""
	if v.disk != nil {
		id = v.disk.ID()
	}
	return fmt.Sprintf("%s/%d/%d", id, view.Started.UnixMilli(), v.began.UnixMilli())
}

// marks identifies the state of everything but entries.
func (v *Viewer) marks(view *capture.View) string {
	_, named := v.named.All()
	agents, _ := v.Agents.all()
	h := fnv.New64a()
	state, err := json.Marshal(struct {
		Named    uint64
		Noise    any
		Tabs     []protocol.ViewTab
		Browsers []capture.Browser
		Agents   []protocol.ViewAgent
		Gaps     []capture.Gap
		Moments  uint64
	}{named, v.rules.Version(), tabsOf(view), view.Browsers, agents, view.Gaps, timeline.Changes(v.moments).Count()})
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

// laneReader adds lanes to an answer until the limit is reached.
type laneReader struct {
	tab, left int
	out       *protocol.ViewTimeline
}

// lane adds one lane to the answer and returns the position to continue from.
func lane[E any](r *laneReader, name string, view entries[E], after uint64, head func(E) *event.Head, mark func(E) byte) uint64 {
	out := protocol.ViewLane{Lane: name, Times: []int64{}}
	var marks strings.Builder
	last, lastTime, contiguous := uint64(0), int64(0), true
	next := max(after, view.First())
	if view.First() > 1 { // positions begin at 1
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
		if r.tab != 0 && h.Tab() != 0 && h.Tab() != r.tab {
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

// hides says whether a noise rule matches an event, whether or not a report shows it as new.
func hides(rules *noise.Rules, ev event.Event) bool {
	return rules.BuiltIn(ev) != nil || rules.User(ev, window.Fold) != nil
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

func markOfAction(*event.Action, *noise.Rules) byte { return protocol.MarkClean }

func markOfFile(*event.FileChange, *noise.Rules) byte { return protocol.MarkClean }

func markOfInspection(*event.Inspection, *noise.Rules) byte { return protocol.MarkClean }

func markOfChange(c *capture.Change, _ *noise.Rules) byte {
	switch {
	case c.Op == "crashed", c.Op == "emptied", c.Op == "appeared" && alike.IsOverlay(c.Element.Selector):
		return protocol.MarkError
	case c.Op == "appeared":
		return protocol.MarkWarning
	}
	return protocol.MarkClean
}
