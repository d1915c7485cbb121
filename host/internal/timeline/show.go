package timeline

import (
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// ShowParams are the parameters of moment_show.
type ShowParams struct {
	moments.Where
	Moment string `json:"moment"`
}

// Shown is a moment with what changed in the files up to it.
type Shown struct {
	SessionID          string `json:"sessionId"`
	answers.ListMoment `tstype:",extends"`
	// Problem says that the workspace no longer exists, "" where it does.
	Problem string `json:"problem,omitempty"`
	// Diff is nil for the first moment of a session, and where no snapshot before it is there.
	Diff *answers.Difference `json:"diff,omitempty"`
}

// Show describes a moment, and compares its files with those of the moment before it.
func Show(ctx context.Context, t *Timeline, client *checkpoint.Client, p ShowParams) (*Shown, error) {
	if p.Moment == "now" {
		return nil, usererr.Invalid("now is not a recorded moment. `tidemark timeline diff` shows what changed up to now.")
	}
	s, l, err := t.lines.RecordedBy(client, p.Where, false, []*string{&p.Moment})
	if err != nil {
		return nil, err
	}
	place, err := t.lines.Locate(ctx, client, s, l, p.Moment)
	if err != nil {
		return nil, err
	}
	m := place.Moment
	if n, ok := records.Number(p.Moment, 'm'); ok { // the moment itself, where its place is that of an earlier one
		m = l.All()[slices.IndexFunc(l.All(), func(m *records.Moment) bool { return m.Number == n })]
	} else if m == nil {
		m = moments.First(l.All())[place.Snapshot.Number]
	}
	if m == nil {
		return nil, usererr.New(usererr.NotFound, "%s has no moment. `tidemark timeline diff` compares its files with others.", p.Moment)
	}
	if s, err = t.sessions.Find(m.Session); err != nil {
		return nil, err
	}
	known, err := t.lines.Snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	w, err := t.lines.OpenRecorded(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	all := l.Of(s)
	a := &Shown{SessionID: s.ID, ListMoment: listed(m, s, known), Problem: moments.Former(w)}
	a.Severity = courseOf(ctx, t, client, s, all, []*records.Moment{m}, moments.First(all))[0]
	at := slices.IndexFunc(all, func(one *records.Moment) bool { return one.Number == m.Number })
	if at > 0 && a.Reason == "" {
		a.Diff, err = t.Diff(ctx, client, DiffParams{Where: moments.Where{Session: s.ID}, From: all[at-1].ID(), To: m.ID(), nearest: true})
		switch {
		case usererr.CodeOf(err) == usererr.NotFound: // no snapshot before it is there any more
			return a, nil
		case err == nil:
			a.Diff.Problem = "" // it is said once
		}
	}
	return a, err
}
