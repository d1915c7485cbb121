package debugger

import (
	"cmp"
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// books are the variable snapshots of several targets.
type books []book

type book struct {
	target    Target
	began     int64
	snapshots []*variables.Snapshot
	warning   string
}

// book returns the book of a run of the target's debugger. It discards the book of an earlier run.
func (s *session) book(began int64) *variables.Book {
	if s.snapshots == nil || s.began != began {
		s.snapshots, s.began = &variables.Book{}, began
	}
	return s.snapshots
}

// books returns the snapshots of the targets that a client debugs. It discards snapshots of ended sessions.
func (i *Inspector) books(ctx context.Context, client *checkpoint.Client) books {
	return i.booksOf(ctx, client, func(s *session) bool {
		_, joined := s.seen[client]
		return joined
	})
}

// booksOf returns the snapshots of the wanted sessions.
func (i *Inspector) booksOf(ctx context.Context, client *checkpoint.Client, wanted func(*session) bool) books {
	var all books
	i.sessions.mu.Lock()
	for _, s := range i.sessions.all {
		if wanted(s) && s.snapshots != nil && len(s.snapshots.All()) > 0 {
			all = append(all, book{target: s.target, began: s.began})
		}
	}
	i.sessions.mu.Unlock()
	slices.SortFunc(all, func(a, b book) int {
		return cmp.Or(a.target.Tab()-b.target.Tab(), cmp.Compare(a.target.ID(), b.target.ID()))
	})
	var open books
	for _, b := range all {
		if i.openBook(ctx, client, &b) {
			open = append(open, b)
		}
	}
	return open
}

// openBook reads a book and reports whether its session is still open.
func (i *Inspector) openBook(ctx context.Context, client *checkpoint.Client, b *book) bool {
	open := b.target.Open()
	if open {
		caller := protocol.DebugCaller{By: i.clientName(client), ReleaseMs: int(i.release.Milliseconds())}
		s, err := b.target.State(ctx, protocol.DebugStateParams{DebugCaller: caller})
		// A target that does not answer, or whose debugger just restarted, may still resume the session.
		open = err != nil || s.Active && s.Session == b.began || !s.Active && s.Ended == ""
	}
	i.sessions.with(b.target, func(s *session) {
		switch {
		case s.snapshots == nil || s.began != b.began:
			open = false
		case !open:
			s.snapshots = nil
		default:
			b.snapshots, b.warning = slices.Clone(s.snapshots.All()), s.snapshots.Warning()
		}
	})
	return open
}

// find returns the snapshot with an id or a label.
func (b books) find(id string) (*variables.Snapshot, error) {
	var all variables.Book
	for _, of := range b {
		for _, s := range of.snapshots {
			all.Add(s)
		}
	}
	return all.Find(id)
}
