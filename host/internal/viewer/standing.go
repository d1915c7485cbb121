package viewer

import (
	"cmp"
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/protocol"
)

// standing is the current state of one tab or of all (0). Popup, icon and viewer all show it.
type standing struct {
	scope checkpoint.Scope
	rules *noiserules.InUse
	// list are the visible checkpoints, oldest first. spans covers the time before each.
	list  []checkpoint.Checkpoint
	spans []observe.Span
	// newest is the checkpoint since which the state is reported, nil for the start.
	newest *checkpoint.Checkpoint
	from   capture.Moment
	o      window.Options
	now    *report.Report
}

// standing computes the current state of one tab of a scope, or of all (0).
func (v *Viewer) standing(ctx context.Context, scope checkpoint.Scope, tab int, view *capture.View) *standing {
	s := &standing{scope: scope, rules: v.rules.Of(&checkpoint.Client{Scope: scope}), list: v.named.List(scope.Key())}
	for i := range s.list {
		s.spans = append(s.spans, v.observer.Since(scope, tab, s.rules, s.list, i, view))
	}
	s.newest = v.newestOf(scope, s.list, view)
	s.from, s.o = view.Start(), s.rules.Options(scope)
	s.o.Tab, s.o.Beginning, s.o.Standing = tab, s.newest == nil, true
	if s.newest != nil {
		s.from = s.newest.Moment
	}
	s.now = v.observer.Compute(ctx, s.from, view, nil, s.o)
	return s
}

// inTab returns the state of one tab since the same moment.
func (v *Viewer) inTab(ctx context.Context, s *standing, tab int, view *capture.View) observe.Span {
	o := s.o
	o.Tab = tab
	return observe.SpanOf(v.observer.Compute(ctx, s.from, view, nil, o))
}

// newestOf returns the newest checkpoint of a list that is visible in every part of the scope, nil for none. A
// checkpoint set for only some of the watched pages must not hide the errors of the others.
func (v *Viewer) newestOf(scope checkpoint.Scope, list []checkpoint.Checkpoint, view *capture.View) *checkpoint.Checkpoint {
	parts := map[string]bool{}
	if len(scope.Origins) == 0 {
		for _, t := range view.Tabs {
			if t.Watched {
				parts[v.clients.ScopeOf(t.Origin).Key()] = true
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

// sinceName returns the name of the moment since which the state is reported, "" for the start.
func (v *Viewer) sinceName(s *standing) string {
	if s.newest == nil {
		return ""
	}
	return v.named.Address(s.scope.Key(), *s.newest)
}

// Checkpoints lists the checkpoints of a scope, each with a summary of the time before it.
func (v *Viewer) Checkpoints(ctx context.Context, p protocol.ViewParams) (*protocol.ViewCheckpoints, error) {
	scope, err := v.Scope(p.Tab)
	if err != nil {
		return nil, err
	}
	s := v.standing(ctx, scope, p.Tab, v.store.View(v.clock()))
	out := &protocol.ViewCheckpoints{
		Checkpoints: []protocol.ViewCheckpoint{}, Most: checkpoint.MaxNamed,
		Now: viewSpan(observe.SpanOf(s.now)), Since: cmp.Or(v.sinceName(s), checkpoint.Start),
	}
	for i, c := range s.list {
		line := protocol.ViewCheckpoint{Name: c.Name, Moment: v.named.Address(scope.Key(), c), At: c.At.UnixMilli(), Note: c.Note, Since: viewSpan(s.spans[i])}
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
