package branches

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/fork"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// CompareParams are the parameters of branch_compare. Each side is a branch; "" and "original" mean the session that the other
// one comes from, since the moment of the branch.
type CompareParams struct {
	moments.Where
	A string `json:"a"`
	B string `json:"b"`
}

// original names the session that a branch comes from.
const original = "original"

// Compare shows what became of two branches, or of a branch and its original.
func (b *Branches) Compare(ctx context.Context, client *checkpoint.Client, p CompareParams) (*Comparison, error) {
	if p.A == "" || p.A == original {
		p.A, p.B = p.B, original
	}
	one, of, err := b.Timeline.Operations.FindBranch(client, p.Where, p.A)
	if err != nil {
		return nil, err
	}
	client = &checkpoint.Client{Name: client.Name, User: client.User} // each side has pages of its own
	c := &Comparison{Same: []string{}, Different: []string{}}
	var oneDir, otherDir string
	if c.A, oneDir, err = b.side(ctx, client, one, "start", one.Started); err != nil {
		return nil, err
	}
	other, from, since := of, one.BranchOf.FsSnapshot, one.Started
	if p.B != "" && p.B != original {
		if other, _, err = b.Timeline.Operations.FindBranch(client, p.Where, p.B); err != nil {
			return nil, err
		}
		from, since = "start", other.Started
	} else if id := one.BranchOf.Moment; id != "" {
		if since, err = b.Timeline.Operations.TimeOf(of, id); err != nil {
			return nil, err
		}
	}
	if c.B, otherDir, err = b.side(ctx, client, other, from, since); err != nil {
		return nil, err
	}
	for _, path := range c.A.Files {
		if slices.Contains(c.B.Files, path) || c.B.FilesProblem != "" {
			c.Same = append(c.Same, path)
		}
	}
	c.Different, err = differing(oneDir, otherDir, c.Same)
	return c, err
}

// side describes a session since a moment. Root has its files.
func (b *Branches) side(ctx context.Context, client *checkpoint.Client, s *records.Session, from string, since time.Time) (_ Side, root string, err error) {
	a := Side{About: b.Timeline.Operations.About(s), Files: []string{}, Tests: []TestRun{}}
	changed, err := b.Timeline.Operations.ChangedSince(ctx, client, s, from)
	if usererr.CodeOf(err) == usererr.NotFound && from != "start" && b.Timeline.Operations.Present(s) == nil { // its snapshot was deleted
		changed, a.FilesProblem, err = &operations.Changed{Root: s.Workspace}, err.Error(), nil
	}
	if err != nil {
		return a, "", fmt.Errorf("cannot compare session %s with its start: %w", s.ID, err)
	}
	for _, path := range changed.Paths {
		a.Files = append(a.Files, event.OneLine(path))
	}
	a.Added, a.Removed = changed.Added, changed.Removed
	list, err := b.Timeline.List(ctx, client, timeline.ListParams{Where: moments.Where{Session: s.ID}, Limit: 1000})
	if err != nil {
		return a, "", err
	}
	for _, m := range list.Moments {
		if !m.At.After(since) {
			continue
		}
		a.Severity, a.WorkedSec = m.Severity, m.At.Sub(since).Seconds()
		switch {
		case m.Source == records.FromTestsPassed || m.Source == records.FromTestsFailed:
			run := TestRun{At: m.At, Label: m.Label, Passed: m.Source == records.FromTestsPassed, Exit: m.Exit}
			if m.Terminal != nil && m.Anchor == nil {
				run.Exit = m.Terminal.Status
			}
			a.Tests = append(a.Tests, run)
		case a.First == "" && (m.Source == records.FromEdit || m.Source == records.FromFiles || m.Source == records.FromCommand):
			a.First = m.Label
		}
	}
	if record := b.Timeline.Operations.RecordOf(s); record != "" {
		if a.Tokens, err = fork.Spent(record, since); err != nil {
			b.Log.Debug("cannot count the tokens of a session", "session", s.ID, "error", err)
		}
	}
	if b.Report != nil {
		a.Browser = b.Report(ctx, client, s.Workspace, since)
	}
	for _, o := range b.Conversations.Outlines(s.Workspace, since.UnixMilli(), b.Clock().UnixMilli()) {
		for _, t := range o.Turns {
			for _, c := range t.Calls {
				if c.Started.After(since) {
					a.Calls++
					if c.Outcome == conversation.Failed {
						a.Failed++
					}
				}
			}
		}
	}
	return a, changed.Root, nil
}
