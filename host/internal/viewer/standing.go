package viewer

import (
	"cmp"
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/protocol"
)

// standing is how it stands for a person, in one tab or in all (0): the one answer that the popup, the icon and the
// viewer show.
type standing struct {
	scope checkpoint.Scope
	rules *noiserules.InUse
	// list are the checkpoints that are seen, the oldest first, and spans the time before each.
	list  []checkpoint.Checkpoint
	spans []observe.Span
	// newest is the one since which it is told how it stands; nil for the beginning.
	newest *checkpoint.Checkpoint
	from   capture.Moment
	o      diff.Options
	now    *diff.Report
}

// standing computes how it stands in a tab of a scope, or in all.
func (e *Viewer) standing(ctx context.Context, scope checkpoint.Scope, tab int, v *capture.View) *standing {
	s := &standing{scope: scope, rules: e.rules.Of(&checkpoint.Client{Scope: scope}), list: e.named.List(scope.Key())}
	for i := range s.list {
		s.spans = append(s.spans, e.observer.Since(scope, tab, s.rules, s.list, i, v))
	}
	s.newest = e.newestOf(scope, s.list, v)
	s.from, s.o = v.Start(), s.rules.Options(scope)
	s.o.Tab, s.o.Beginning = tab, s.newest == nil
	if s.newest != nil {
		s.from = s.newest.Moment
	}
	s.now = e.observer.Compute(ctx, s.from, v, nil, s.o)
	return s
}

// inTab is how it stands in one tab, since the same moment.
func (e *Viewer) inTab(ctx context.Context, s *standing, tab int, v *capture.View) observe.Span {
	o := s.o
	o.Tab = tab
	return observe.SpanOf(e.observer.Compute(ctx, s.from, v, nil, o))
}

// newestOf is the newest checkpoint of a list that whoever looks at a part of the scope sees as well: of everything,
// one that was set for some of the watched pages does not put the others' errors behind. Nil when there is none.
func (e *Viewer) newestOf(scope checkpoint.Scope, list []checkpoint.Checkpoint, v *capture.View) *checkpoint.Checkpoint {
	parts := map[string]bool{}
	if len(scope.Origins) == 0 {
		for _, t := range v.Tabs {
			if t.Watched {
				parts[e.clients.ScopeOf(t.Origin).Key()] = true
			}
		}
	}
	for _, c := range slices.Backward(list) {
		if c.Scope == "" || c.Scope == scope.Key() || len(parts) == 0 || len(parts) == 1 && parts[c.Scope] {
			return &c
		}
	}
	return nil
}

// sinceName is what the moment is found by since which it is told how it stands; empty for the beginning.
func (e *Viewer) sinceName(s *standing) string {
	if s.newest == nil {
		return ""
	}
	return e.named.Address(s.scope.Key(), *s.newest)
}

// Popup answers the popup: how it stands in all watched tabs, and on request in each tab of the browser that asks.
func (e *Viewer) Popup(ctx context.Context, instance, version string, p protocol.OverviewParams) *protocol.Overview {
	v := e.store.View(e.clock())
	s := e.standing(ctx, checkpoint.Scope{}, 0, v)
	out := &protocol.Overview{
		Host: version, Since: e.sinceName(s), Checkpoints: []protocol.CheckpointLine{},
		Severity: string(s.now.Severity), Summary: s.now.Summary, Errors: s.now.Errors, Warnings: s.now.Warnings, Hidden: s.now.NoiseHidden,
		Agents: e.leases.AgentsSeenFrom(instance),
	}
	for i, c := range s.list {
		out.Checkpoints = append(out.Checkpoints, protocol.CheckpointLine{
			Name: e.named.Address("", c), At: diff.Time{Time: c.At}.String(), Note: c.Note,
			Severity: string(s.spans[i].Severity), Errors: s.spans[i].Errors, Warnings: s.spans[i].Warnings, NotObserved: s.spans[i].NotObserved,
		})
	}
	if s.now.Coverage != nil {
		out.NotObserved = s.now.Coverage.Note
	}
	e.rules.Findings(out, s.now, s.from, v, s.o)
	if !p.Tabs {
		return out
	}
	for _, t := range v.Tabs {
		of, id, ok := e.store.BrowserTab(t.ID)
		if !ok || of != instance || !t.Watched {
			continue
		}
		in := e.inTab(ctx, s, t.ID, v)
		out.Tabs = append(out.Tabs, protocol.TabStanding{Tab: id, Severity: string(in.Severity), Errors: in.Errors, Warnings: in.Warnings, NotObserved: in.NotObserved})
	}
	return out
}

// Checkpoints lists the checkpoints of a scope, each with the time since the one before.
func (e *Viewer) Checkpoints(ctx context.Context, p protocol.ViewParams) (*protocol.ViewCheckpoints, error) {
	scope, err := e.Scope(p.Tab)
	if err != nil {
		return nil, err
	}
	s := e.standing(ctx, scope, p.Tab, e.store.View(e.clock()))
	out := &protocol.ViewCheckpoints{
		Checkpoints: []protocol.ViewCheckpoint{}, Most: checkpoint.MaxNamed,
		Now: viewSpan(observe.SpanOf(s.now)), Since: cmp.Or(e.sinceName(s), checkpoint.Start),
	}
	for i, c := range s.list {
		line := protocol.ViewCheckpoint{Name: c.Name, Moment: e.named.Address(scope.Key(), c), At: c.At.UnixMilli(), Note: c.Note, Since: viewSpan(s.spans[i])}
		if c.Scope != scope.Key() {
			line.Scope = cmp.Or(c.Scope, "all")
		}
		out.Checkpoints = append(out.Checkpoints, line)
	}
	return out, nil
}

func viewSpan(s observe.Span) protocol.ViewSpan {
	return protocol.ViewSpan{Severity: string(s.Severity), Summary: s.Summary, Errors: s.Errors, Warnings: s.Warnings, NotObserved: s.NotObserved}
}
