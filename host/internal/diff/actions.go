package diff

import (
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/report"
)

func (c *computation) actions() *report.ActionsDiff {
	d := &report.ActionsDiff{}
	shown := make([]report.Action, 0, min(report.MaxEntries, c.View.Actions().Next()-c.From.Pos[capture.Actions]))
	for pos, a := range c.View.Actions().From(c.From.Pos[capture.Actions]) {
		if c.Options.Covers(c.section, pos, a.Subject, a.At) && (c.Options.Own == nil || !c.Options.Own(a.Tab(), a.At)) {
			d.TotalNewActions++
			shown = append(shown, report.Action{Type: a.Type, Target: report.Shorten(a.Target), Value: report.Shorten(a.Value), At: report.Time{Time: a.Time()}, Tab: c.Tab(a.Tab()), Ref: c.Ref(pos, a)})
		}
	}
	// The newest are kept: what led to the present state.
	d.Omitted = max(0, len(shown)-report.MaxEntries)
	if len(shown) > 0 {
		d.NewActions = shown[d.Omitted:]
	}
	return d
}
