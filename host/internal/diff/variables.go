package diff

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/protocol"
)

// pauseKey is what makes two pauses one line.
type pauseKey struct {
	tab                       int
	reason, place, thread, by string
}

func (c *computation) variables() *report.VariablesDiff {
	d := &report.VariablesDiff{}
	pauses, hits := map[pauseKey]*report.Pause{}, map[string]*report.TraceHits{}
	var paused []*report.Pause
	var traced []*report.TraceHits
	for pos, e := range c.View.Variables().From(c.From.Pos[capture.Variables]) {
		if !c.Options.InScope(e.Subject) {
			continue
		}
		d.TotalNewEvents++
		at, tab := report.Time{Time: e.Time()}, c.Tab(e.Tab())
		switch e.Op {
		case event.Paused:
			k := pauseKey{e.Tab(), e.Reason, e.Location, e.Thread, e.By}
			p := pauses[k]
			if p == nil {
				p = &report.Pause{Reason: e.Reason, Place: report.Shorten(e.Location), Thread: e.Thread, By: report.Shorten(e.By), Tab: tab, Ref: c.Ref(pos, e)}
				pauses[k], paused = p, append(paused, p)
			} else {
				p.Ref.Add(pos)
			}
			p.At, p.Paused = at, c.pauses(e)
			p.Count++
		case event.Resumed:
			if p := pauses[pauseKey{e.Tab(), e.Reason, e.Location, e.Thread, e.By}]; p != nil {
				p.Paused = false
			}
		case event.Hit:
			t := hits[e.Name]
			if t == nil {
				t = &report.TraceHits{ID: e.Name, Place: report.Shorten(e.Location), By: report.Shorten(e.By), Tab: tab, Ref: c.Ref(pos, e)}
				hits[e.Name], traced = t, append(traced, t)
			} else {
				t.Ref.Add(pos)
			}
			t.Count++
			t.Last = map[string]string{}
			for i := 0; i+1 < len(e.Values); i += 2 {
				t.Last[report.Shorten(e.Values[i])] = report.Shorten(e.Values[i+1])
			}
		case event.Snapshot:
			d.Snapshots = append(d.Snapshots, report.SnapshotMade{ID: e.Name, Label: report.Shorten(e.Label), At: at, Place: report.Shorten(e.Location), By: report.Shorten(e.By), Tab: tab, Ref: c.Ref(pos, e)})
		}
	}
	r := newRoom()
	for _, p := range take(r, paused) {
		p.Count = several(p.Count)
		d.Pauses = append(d.Pauses, *p)
	}
	for _, t := range take(r, traced) {
		d.Hits = append(d.Hits, *t)
	}
	d.Snapshots = take(r, d.Snapshots)
	d.Omitted = r.omitted
	return d
}

// pauses says whether a pause lasts as far as is known: the tab still has it, or the window ended before now.
func (c *computation) pauses(e *event.Inspection) bool {
	same := func(p *protocol.TabPaused) bool { return p != nil && p.At == e.At }
	return c.Options.Ended || slices.ContainsFunc(c.View.Tabs, func(t capture.Tab) bool {
		return t.ID == e.Tab() && (same(t.Paused) || same(t.PausedPart))
	})
}
