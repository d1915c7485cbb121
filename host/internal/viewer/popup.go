package viewer

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/protocol"
)

// Popup returns the state of all watched tabs, and on request of each tab of the asking browser.
func (v *Viewer) Popup(ctx context.Context, instance string, p protocol.OverviewParams) (*protocol.Overview, error) {
	view := v.store.View(v.clock())
	s := v.standing(ctx, checkpoint.Scope{}, 0, view)
	out := &protocol.Overview{
		Host: v.version, Since: v.sinceName(s), Checkpoints: []protocol.CheckpointLine{},
		Severity: string(s.now.Severity), Summary: s.now.Summary, Errors: s.now.Errors, Warnings: s.now.Warnings, Hidden: s.now.NoiseHidden,
		Agents: v.leases.AgentsSeenFrom(instance),
	}
	for i, c := range s.list {
		out.Checkpoints = append(out.Checkpoints, protocol.CheckpointLine{
			Name: v.named.Address("", c), At: report.Time{Time: c.At}.String(), Note: c.Note,
			Severity: string(s.spans[i].Severity), Errors: s.spans[i].Errors, Warnings: s.spans[i].Warnings, NotObserved: s.spans[i].NotObserved,
		})
	}
	if s.now.Coverage != nil {
		out.NotObserved = s.now.Coverage.Note
	}
	v.rules.Findings(out, s.now, s.from, view, s.o)
	if !p.Tabs {
		return out, nil
	}
	for _, t := range view.Tabs {
		of, id, ok := v.store.BrowserTab(t.ID)
		if !ok || of != instance || !t.Watched {
			continue
		}
		in := v.inTab(ctx, s, t.ID, view)
		out.Tabs = append(out.Tabs, protocol.TabStanding{Tab: id, Severity: string(in.Severity), Errors: in.Errors, Warnings: in.Warnings, NotObserved: in.NotObserved})
	}
	return out, nil
}

// popupScope returns the scope of a tab, by the id that its browser gave it. 0 means everything.
func (v *Viewer) popupScope(instance string, tab int) checkpoint.Scope {
	return v.clients.ScopeOfTab(v.store.HostTab(instance, tab))
}

// PopupCheckpoint makes a named checkpoint in the scope of one of the browser's tabs.
func (v *Viewer) PopupCheckpoint(ctx context.Context, instance string, p protocol.CheckpointParams) (*protocol.CheckpointResult, error) {
	return v.createCheckpoint(ctx, v.popupScope(instance, p.Tab), p)
}

// PopupIgnore adds a permanent noise rule for a finding.
func (v *Viewer) PopupIgnore(_ context.Context, instance string, p protocol.IgnoreParams) (*protocol.IgnoreResult, error) {
	result, err := v.rules.Ignore(&checkpoint.Client{Name: "popup", Scope: v.popupScope(instance, p.Tab)}, p)
	if err == nil {
		v.signal.Notify()
	}
	return result, err
}

// PopupUnignore removes a noise rule.
func (v *Viewer) PopupUnignore(_ context.Context, p protocol.UnignoreParams) (tool.Nothing, error) {
	return tool.Nothing{}, v.rules.Unignore(&checkpoint.Client{Name: "popup"}, p)
}
