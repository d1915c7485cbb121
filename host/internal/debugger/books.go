package debugger

import (
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// books are the snapshots of tabs.
type books []tabBook

type tabBook struct {
	tab       int
	session   int64
	snapshots []*variables.Snapshot
	warning   string
}

// book is the book of a session of the tab's debugger; that of another one is gone.
func (t *debugTab) book(session int64) *variables.Book {
	if t.snapshots == nil || t.session != session {
		t.snapshots, t.session = &variables.Book{}, session
	}
	return t.snapshots
}

// books are what is held for a client. Snapshots of sessions that have ended meanwhile are forgotten.
func (e *Inspector) books(ctx context.Context, client *checkpoint.Client) books {
	return e.booksOf(ctx, client, func(_ int, t *debugTab) bool {
		_, joined := t.told[client]
		return joined
	})
}

// booksOf are the snapshots of some tabs, as a client reads them.
func (e *Inspector) booksOf(ctx context.Context, client *checkpoint.Client, wanted func(tab int, t *debugTab) bool) books {
	var all books
	e.tabs.mu.Lock()
	for id, t := range e.tabs.tabs {
		if wanted(id, t) && t.snapshots != nil && len(t.snapshots.All()) > 0 {
			all = append(all, tabBook{tab: id, session: t.session})
		}
	}
	e.tabs.mu.Unlock()
	slices.SortFunc(all, func(a, b tabBook) int { return a.tab - b.tab })
	var open books
	for _, b := range all {
		if e.openBook(ctx, client, &b) {
			open = append(open, b)
		}
	}
	return open
}

// openBook says whether the session of a book goes on, and reads the book.
func (e *Inspector) openBook(ctx context.Context, client *checkpoint.Client, b *tabBook) bool {
	instance, theirs, there := e.store.BrowserTab(b.tab)
	if there {
		caller := protocol.DebugCaller{Tab: theirs, By: e.clientName(client), ReleaseMs: int(e.release.Milliseconds())}
		var s protocol.DebugState
		err := e.remote.Debug(ctx, instance, protocol.MethodDebugState, protocol.DebugStateParams{DebugCaller: caller}, &s, debugTimeout)
		// A browser that does not answer, or whose extension has just been restarted, may still take it up again.
		there = err != nil || s.Active && s.Session == b.session || !s.Active && s.Ended == ""
	}
	e.tabs.with(b.tab, func(t *debugTab) {
		switch {
		case t.snapshots == nil || t.session != b.session:
			there = false
		case !there:
			t.snapshots = nil
		default:
			b.snapshots, b.warning = slices.Clone(t.snapshots.All()), t.snapshots.Warning()
		}
	})
	return there
}

// find is the snapshot of an id or a label.
func (all books) find(id string) (*variables.Snapshot, error) {
	var book variables.Book
	for _, b := range all {
		for _, s := range b.snapshots {
			book.Add(s)
		}
	}
	return book.Find(id)
}
