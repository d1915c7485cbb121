package capture

import (
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

// A page became empty because its code failed if an error was logged at most failedBefore milliseconds before, or
// failedAfter milliseconds after.
const (
	failedBefore = 5000
	failedAfter  = 2000
)

// failure is what is known of a page whose code may have failed.
type failure struct {
	// at is when the page last logged an error, in milliseconds since the Unix epoch.
	at int64
	// thrown is when its code last threw an error that it did not handle, or logged one that it had caught.
	thrown int64
	// emptied says that the page has no content, while it is not known to have failed.
	emptied *event.Element
}

// take takes a console entry of the page.
func (f *failure) take(s *Store, e *event.Console) {
	if e.Level == event.Error && e.Via != "browser" && e.Target == "" && s.noise.Console(e) == nil {
		f.at = max(f.at, e.At)
		if e.Via == "exception" || e.Via == "rejection" || e.Logged != "" {
			f.thrown = f.at
		}
		f.record(s)
	}
}

// record records that the page is empty if it is known to have failed.
func (f *failure) record(s *Store) {
	if e := f.emptied; e != nil && e.At-failedBefore <= f.at && f.at <= e.At+failedAfter {
		f.emptied = nil
		s.change(Change{Head: e.Head, Op: "emptied"})
	}
}

// A page whose code threw an error may be empty. It reports that emptyAfter after its last change, or emptyAfterLoad after its
// last file, both with time for the report. An error at most thrownWithin ago counts.
const (
	emptyAfter     = 500 * time.Millisecond
	emptyAfterLoad = 1300 * time.Millisecond
	thrownWithin   = 5 * time.Second
)

// EmptyKnownAt returns when it is known whether a tab's page is empty because its code failed; the zero time if it is known now.
// What a page does all the time, such as logging, delays that by at most emptyAfterLoad after the error.
func (v *View) EmptyKnownAt(t *Tab, now time.Time) time.Time {
	thrown, loaded := time.UnixMilli(t.Thrown), time.UnixMilli(t.Loaded.At)
	switch {
	case !t.Watched || !t.DOM || thrown.Before(loaded) || now.Sub(thrown) > thrownWithin || v.DOMState.Empty()[t.ID] != 0:
		return time.Time{}
	case thrown.Sub(loaded) < thrownWithin && t.LastFile.After(thrown):
		return t.LastFile.Add(emptyAfterLoad)
	case thrown.Sub(loaded) < thrownWithin || t.LastEvent.Add(emptyAfter).After(thrown.Add(emptyAfterLoad)):
		return thrown.Add(emptyAfterLoad)
	}
	return t.LastEvent.Add(emptyAfter)
}

// loadOf is the load of a page whose entries begin now. Only its document, of the same address, may have been requested before,
// after the load of the page before.
func loadOf(s *Store, e *event.Navigation, before int64) Load {
	l := Load{At: e.At}
	for t, b := range s.buffers {
		l.Pos[t] = b.Next()
	}
	requests := s.network.View()
	isOf := func(n *event.Network) bool {
		origin, path := SplitURL(n.URL)
		pageOrigin, pagePath := SplitURL(e.URL)
		return n.Tab() == e.Tab() && n.Resource == "document" && n.Target == "" && origin == pageOrigin && path == pagePath
	}
	for pos := l.Pos[Network]; pos > max(requests.First(), l.Pos[Network]-min(l.Pos[Network], maxBeforeLoad)); {
		pos--
		if n := requests.At(pos); isOf(n) && n.Began() >= before && n.At >= e.At-loadWithin {
			l.Pos[Network] = pos
			break
		}
	}
	return l
}

// askedAt returns when the document of a page was requested that is shown now, 0 if that is not known.
func askedAt(s *Store, e *event.Navigation, l Load) int64 {
	address, _, _ := strings.Cut(e.URL, "#")
	for _, f := range s.flights {
		if f.Tab == e.Tab() && f.Document && f.URL == address {
			return f.At
		}
	}
	if l.Pos[Network] < s.network.Next() {
		return s.network.View().At(l.Pos[Network]).Started
	}
	return 0
}

// The document of a page ended at most maxBeforeLoad requests and loadWithin milliseconds before the page was shown.
const (
	maxBeforeLoad = 100
	loadWithin    = 10_000
)
