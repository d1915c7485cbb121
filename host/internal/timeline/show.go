package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
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
	m := moments.Meant(s, l, p.Moment, t.o.Clock())
	if m == nil {
		if _, err := t.lines.Locate(ctx, client, s, l, p.Moment); err != nil {
			return nil, err
		}
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
	one := []answers.ListMoment{a.ListMoment}
	courseOf(ctx, t, client, s, l, moments.First(all), []*records.Moment{m}, one)
	a.ListMoment = one[0]
	at := slices.IndexFunc(all, func(one *records.Moment) bool { return one.Number == m.Number })
	if at > 0 && a.Reason == "" {
		since := func(from *records.Moment) error {
			a.Diff, err = t.Diff(ctx, client, DiffParams{Where: moments.Where{Session: s.ID}, From: from.ID(), To: m.ID(), nearest: true})
			return err
		}
		if err = since(all[at-1]); err == nil && all[at-1].Snapshot == m.Snapshot {
			err = shareDiff(a, m, all[:at], since)
		}
		switch {
		case usererr.CodeOf(err) == usererr.NotFound: // no snapshot before it is there any more
			return a, nil
		case err == nil:
			a.Diff.Problem = "" // it is said once
		}
	}
	return a, err
}

// shareDiff gives a moment the changes of the snapshot that it shares with those before, if its call made some of them.
func shareDiff(a *Shown, m *records.Moment, before []*records.Moment, since func(*records.Moment) error) error {
	files := FilesOf(m)
	if isLate(m) || len(files) == 0 {
		return nil
	}
	first := len(before) - 1
	for first > 0 && before[first-1].Snapshot == m.Snapshot {
		first--
	}
	if first == 0 {
		return nil // the session begins with it
	}
	own := a.Diff
	if err := since(before[first-1]); err != nil {
		return err
	}
	if !slices.ContainsFunc(a.Diff.Files, func(c answers.FileChanged) bool {
		return slices.ContainsFunc(files, func(file string) bool { return compare.Quote(file) == c.Path })
	}) {
		a.Diff = own
		return nil
	}
	a.Diff.To.Note = strings.TrimSpace(fmt.Sprintf("%s %s has the same snapshot, so these are the changes of both.", a.Diff.To.Note, before[first].ID()))
	return nil
}
