package diff

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/protocol"
)

// pauseKey is what makes two pauses one line.
type pauseKey struct {
	tab                       int
	reason, place, thread, by string
}

func (c *computation) variables() *VariablesDiff {
	d := &VariablesDiff{}
	pauses, hits := map[pauseKey]*Pause{}, map[string]*TraceHits{}
	var paused []*Pause
	var traced []*TraceHits
	for pos, e := range c.v.Variables().From(c.from.Pos[capture.Variables]) {
		if !c.o.InScope(e.Subject) {
			continue
		}
		d.TotalNewEvents++
		at, tab := Time{e.Time()}, c.tab(e.Tab())
		switch e.Op {
		case event.Paused:
			k := pauseKey{e.Tab(), e.Reason, e.Location, e.Thread, e.By}
			p := pauses[k]
			if p == nil {
				p = &Pause{Reason: e.Reason, Place: Shorten(e.Location), Thread: e.Thread, By: Shorten(e.By), Tab: tab, Ref: c.ref(pos, e)}
				pauses[k], paused = p, append(paused, p)
			} else {
				p.Ref.add(pos)
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
				t = &TraceHits{ID: e.Name, Place: Shorten(e.Location), By: Shorten(e.By), Tab: tab, Ref: c.ref(pos, e)}
				hits[e.Name], traced = t, append(traced, t)
			} else {
				t.Ref.add(pos)
			}
			t.Count++
			t.Last = map[string]string{}
			for i := 0; i+1 < len(e.Values); i += 2 {
				t.Last[Shorten(e.Values[i])] = Shorten(e.Values[i+1])
			}
		case event.Snapshot:
			d.Snapshots = append(d.Snapshots, SnapshotMade{ID: e.Name, Label: Shorten(e.Label), At: at, Place: Shorten(e.Location), By: Shorten(e.By), Tab: tab, Ref: c.ref(pos, e)})
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
	return c.o.Ended || slices.ContainsFunc(c.v.Tabs, func(t capture.Tab) bool {
		return t.ID == e.Tab() && (same(t.Paused) || same(t.PausedPart))
	})
}

func (d *VariablesDiff) filter(bool) int {
	return dropAll(&d.Pauses) + dropAll(&d.Hits) + dropAll(&d.Snapshots)
}

func (d *VariablesDiff) quotes() bool { return len(d.Pauses)+len(d.Hits)+len(d.Snapshots) > 0 }

func (d *VariablesDiff) omitted() int { return d.Omitted }

func (d *VariablesDiff) empty() bool { return d.TotalNewEvents == 0 }
