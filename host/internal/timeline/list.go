package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Limits of one list.
const (
	defaultMoments = 100
	maxMoments     = 1000
)

// ListParams are the parameters of timeline_list.
type ListParams struct {
	moments.Where
	// Kinds are kinds and sources of moments; none means all.
	Kinds []string `json:"kinds"`
	// After is the ID of a moment, or a time: what follows it is listed. "" lists the newest.
	After string `json:"after"`
	// Before is one too: the newest of what precedes it is listed. After and Before exclude each other.
	Before string `json:"before"`
	Limit  int    `json:"limit"`
}

// List returns a session with its moments and snapshots.
func (t *Timeline) List(ctx context.Context, client *checkpoint.Client, p ListParams) (*answers.List, error) {
	if p.Limit < 0 || p.Limit > maxMoments {
		return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", p.Limit, maxMoments)
	}
	if p.After != "" && p.Before != "" {
		return nil, usererr.Invalid("pass after or before, not both")
	}
	if p.Limit == 0 {
		p.Limit = defaultMoments
	}
	s, l, err := t.lines.RecordedBy(client, p.Where, false, []*string{&p.After, &p.Before})
	if err != nil {
		return nil, err
	}
	all := l.Of(s)
	chosen := all
	list := &answers.List{About: t.lines.About(s), Moments: []answers.ListMoment{}, FsSnapshots: []answers.ListSnapshot{}}
	if len(p.Kinds) > 0 {
		chosen = nil
		for _, m := range all {
			if slices.Contains(p.Kinds, m.Kind) || slices.Contains(p.Kinds, m.Source) {
				chosen = append(chosen, m)
			}
		}
	}
	for _, id := range []string{p.After, p.Before} {
		if n, ok := records.Number(id, 'm'); ok && !slices.ContainsFunc(l.All(), func(m *records.Moment) bool { return m.Number >= n }) {
			return nil, usererr.New(usererr.NotFound, "there is no moment %s. List the moments for their IDs.", id)
		}
	}
	for _, kind := range p.Kinds {
		if !slices.Contains(records.Kinds(), kind) {
			return nil, usererr.Invalid("there is no kind %q of moments. Kinds are %s.", event.Clean(kind), strings.Join(records.Kinds(), ", "))
		}
	}
	if p.After != "" {
		if chosen, err = following(chosen, p.After, s, t.o.Clock()); err != nil {
			return nil, err
		}
		if len(chosen) > p.Limit {
			chosen = chosen[:p.Limit]
			list.Next = chosen[len(chosen)-1].ID()
		}
	} else {
		if p.Before != "" {
			if chosen, err = preceding(chosen, p.Before, s, t.o.Clock()); err != nil {
				return nil, err
			}
		}
		list.Omitted = max(0, len(chosen)-p.Limit)
		chosen = chosen[list.Omitted:]
	}
	known, err := t.lines.Snapshots(ctx, s.Workspace)
	if err != nil { // the moments are known all the same
		known, list.Problem = nil, "the snapshots cannot be read: "+err.Error()
	} else if _, gone := t.lines.RootAt(s.Workspace); gone != nil {
		list.Problem = gone.Error()
	} else if list.Problem, err = t.Operations.Unsettled(l.Space, known); err != nil {
		return nil, err
	}
	first := moments.First(all)
	var mounts map[uint64]string // the directories of views, by their snapshots
	if w, err := t.lines.OpenRecorded(ctx, s.Workspace); err == nil {
		mounts = w.Views()
		if p := workspace.Taking(w); p != nil {
			list.Taking = &answers.Taking{Since: report.Time{Time: p.Since}}
			list.Taking.Found, list.Taking.Read, list.Taking.To = p.Now()
		}
	}
	changed := moments.First(l.All(), chosen...)
	seen := map[uint64]bool{}
	for _, m := range chosen {
		one := listed(m, s, known)
		k, ok := known[m.Snapshot]
		ok = ok && k.At.UnixNano() == m.SnapshotAt
		if ok && changed[m.Snapshot].Number == m.Number {
			one.Changed = k.Changed
		}
		list.Moments = append(list.Moments, one)
		if ok {
			if !seen[m.Snapshot] {
				seen[m.Snapshot] = true
				list.FsSnapshots = append(list.FsSnapshots, listedSnapshot(s, k, first[m.Snapshot].Shift, mounts[m.Snapshot]))
			}
		}
	}
	courseOf(ctx, t, client, s, l, first, chosen, list.Moments)
	slices.SortStableFunc(list.FsSnapshots, func(a, b answers.ListSnapshot) int { return cmp.Compare(a.TS, b.TS) })
	return list, nil
}

// following returns the moments after one by its ID. After m0, or after one that is not among them, are those with a larger
// number and all that follow them. After a time are those that it does not reach.
func following(moments []*records.Moment, after string, s *records.Session, now time.Time) ([]*records.Moment, error) {
	at, found, err := positionOf(moments, "after", after, s, now)
	if found {
		at++
	}
	return moments[at:], err
}

// preceding returns the moments before one by its ID, or before a time.
func preceding(moments []*records.Moment, before string, s *records.Session, now time.Time) ([]*records.Moment, error) {
	at, _, err := positionOf(moments, "before", before, s, now)
	return moments[:at], err
}

// positionOf returns how many moments are before one by its ID, or reached by a time, and whether the moment is among them. Of
// one that is not, those are before it that precede the first one with a larger number.
func positionOf(moments []*records.Moment, name, id string, s *records.Session, now time.Time) (at int, found bool, err error) {
	switch id {
	case "start":
		return 0, len(moments) > 0 && moments[0].Source == records.FromStart, nil
	case "now":
		return len(moments), false, nil
	}
	n, isMoment := records.Number(id, 'm')
	later := func(m *records.Moment) bool { return m.Number > n && !m.Placed }
	if _, reaches, isTime := s.Time(id, now); isTime {
		later = func(m *records.Moment) bool { return !reaches(m) }
	} else if at = slices.IndexFunc(moments, func(m *records.Moment) bool {
		return m.Snapshot != 0 && records.SnapshotID(m.Snapshot) == id || m.Source == records.FromCheckpoint && m.Label == id
	}); at >= 0 {
		return at, true, nil
	} else if !isMoment && id != "m0" {
		return 0, false, usererr.Invalid("%s is %q; it must be the ID of a moment (m12) or of a file snapshot (s12), a checkpoint, or a time", name, event.Clean(id))
	} else if at = slices.IndexFunc(moments, func(m *records.Moment) bool { return m.Number == n }); at >= 0 {
		return at, true, nil
	}
	if at = slices.IndexFunc(moments, later); at < 0 {
		at = len(moments)
	}
	return at, false, nil
}

func listed(m *records.Moment, s *records.Session, known map[uint64]tracked.Snapshot) answers.ListMoment {
	e := answers.ListMoment{ID: m.ID(), TS: records.Seconds(m.Elapsed(s)), At: report.Time{Time: m.At}, Label: m.Label, Kind: m.Kind, Source: m.Source, Notes: m.Notes, Exit: m.Exit, Terminal: (*answers.Terminal)(m.Terminal), Event: m.Event}
	if m.Anchor != nil {
		anchor := answers.Anchor(*m.Anchor)
		anchor.Transcript = "" // agents pay for each word
		e.Anchor = &anchor
	}
	if e.Reason = moments.Lost(m, known); e.Reason != "" {
		e.FsSnapshot = false
	} else {
		e.FsSnapshot = records.SnapshotID(m.Snapshot)
		if !m.Placed && m.Source != records.FromFiles {
			e.LateSec = records.Seconds(moments.Late(m))
		}
	}
	return e
}

// secondsOf returns when a session has a snapshot, in seconds from its start. One that an earlier session took it has from its start.
func secondsOf(s *records.Session, k tracked.Snapshot, shift time.Duration) float64 {
	return max(0, records.Seconds(k.At.Sub(s.Started)+shift))
}

// listedSnapshot describes a snapshot. View is the directory of its view, "" if there is none.
func listedSnapshot(s *records.Session, k tracked.Snapshot, shift time.Duration, view string) answers.ListSnapshot {
	return answers.ListSnapshot{
		ID: records.SnapshotID(k.Number), TS: secondsOf(s, k, shift), At: report.Time{Time: k.At}, Label: k.Label, Provider: workspace.ProviderOf(k),
		Snapshot: answers.Reference{ID: fmt.Sprintf("%s@%d", s.Space, k.Number), Mount: view}, Files: k.Files, Changed: k.Changed, Notes: k.Problems,
	}
}
