package debugger

import (
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// books are the variable snapshots of several tabs.
type books []tabBook

type tabBook struct {
	tab       int
	session   int64
	snapshots []*variables.Snapshot
	warning   string
}

// book returns the book of a session of the tab's debugger. It discards the book of an earlier session.
func (t *debugTab) book(session int64) *variables.Book {
	if t.snapshots == nil || t.session != session {
		t.snapshots, t.session = &variables.Book{}, session
	}
	return t.snapshots
}

// books returns the snapshots of the tabs that a client debugs. It discards snapshots of ended sessions.
func (i *Inspector) books(ctx context.Context, client *checkpoint.Client) books {
	return i.booksOf(ctx, client, func(_ int, t *debugTab) bool {
		_, joined := t.seen[client]
		return joined
	})
}

// booksOf returns the snapshots of the wanted tabs.
func (i *Inspector) booksOf(ctx context.Context, client *checkpoint.Client, wanted func(tab int, t *debugTab) bool) books {
	var all books
	i.tabs.mu.Lock()
	for id, t := range i.tabs.tabs {
		if wanted(id, t) && t.snapshots != nil && len(t.snapshots.All()) > 0 {
			all = append(all, tabBook{tab: id, session: t.session})
		}
	}
	i.tabs.mu.Unlock()
	slices.SortFunc(all, func(a, b tabBook) int { return a.tab - b.tab })
	var open books
	for _, b := range all {
		if i.openBook(ctx, client, &b) {
			open = append(open, b)
		}
	}
	return open
}

// openBook reads a book and reports whether its session is still open.
func (i *Inspector) openBook(ctx context.Context, client *checkpoint.Client, b *tabBook) bool {
	instance, browserTab, open := i.store.BrowserTab(b.tab)
	if open {
		caller := protocol.DebugCaller{Tab: browserTab, By: i.clientName(client), ReleaseMs: int(i.release.Milliseconds())}
		var s protocol.DebugState
		err := i.remote.Debug(ctx, instance, protocol.MethodDebugState, protocol.DebugStateParams{DebugCaller: caller}, &s, debugTimeout)
		// A browser that does not answer, or whose extension just restarted, may still resume the session.
		open = err != nil || s.Active && s.Session == b.session || !s.Active && s.Ended == ""
	}
	i.tabs.with(b.tab, func(t *debugTab) {
		switch {
		case t.snapshots == nil || t.session != b.session:
			open = false
		case !open:
			t.snapshots = nil
		default:
			b.snapshots, b.warning = slices.Clone(t.snapshots.All()), t.snapshots.Warning()
		}
	})
	return open
}

// find returns the snapshot with an id or a label.
func (b books) find(id string) (*variables.Snapshot, error) {
	var book variables.Book
	for _, tab := range b {
		for _, s := range tab.snapshots {
			book.Add(s)
		}
	}
	return book.Find(id)
}
