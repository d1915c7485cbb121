package timeline

import (
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// ShowParams are the parameters of moment_show.
type ShowParams struct {
	Where
	Moment string `json:"moment"`
}

// Shown is a moment with what changed in the files up to it.
type Shown struct {
	SessionID  string `json:"sessionId"`
	ListMoment `tstype:",extends"`
	// Diff is nil for the first moment of a session.
	Diff *Difference `json:"diff,omitempty"`
}

// Show describes a moment, and compares its files with those of the moment before it.
func Show(ctx context.Context, t *Timeline, client *checkpoint.Client, p ShowParams) (*Shown, error) {
	if p.Moment == "now" {
		return nil, usererr.Invalid("now is not a recorded moment. `tidemark timeline diff` shows what changed up to now.")
	}
	s, l, err := t.sessionBy(client, p.Where, false, []*string{&p.Moment})
	if err != nil {
		return nil, err
	}
	place, err := t.locate(ctx, client, s, l, p.Moment)
	if err != nil {
		return nil, err
	}
	m := place.Moment
	if n, ok := number(p.Moment, 'm'); ok { // the moment itself, where its place is that of an earlier one
		m = l.all()[slices.IndexFunc(l.all(), func(m *Moment) bool { return m.Number == n })]
	} else if m == nil {
		m = firstOf(l.all())[place.Snapshot.Number]
	}
	if m == nil {
		return nil, usererr.New(usererr.NotFound, "%s has no moment. `tidemark timeline diff` compares its files with others.", p.Moment)
	}
	if s, err = t.sessions.Find(m.Session); err != nil {
		return nil, err
	}
	known, err := t.snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	moments := l.of(s)
	a := &Shown{SessionID: s.ID, ListMoment: listed(m, s, known)}
	a.Severity = courseOf(ctx, t, client, s, moments, []*Moment{m}, firstOf(moments))[0]
	at := slices.IndexFunc(moments, func(one *Moment) bool { return one.Number == m.Number })
	if at > 0 && a.Reason == "" {
		a.Diff, err = t.Diff(ctx, client, DiffParams{Where: Where{Session: s.ID}, From: moments[at-1].ID(), To: m.ID()})
	}
	return a, err
}
