package window

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
)

// Entry is something that a report tells of, or that noise rules keep out of it.
type Entry struct {
	Event event.Event
	// BuiltIn or User is the rule that keeps it out; both are nil when none does.
	BuiltIn *noise.Rule
	User    *noise.UserRule
	// New says that the user's rule would keep it out, had it not first appeared after the checkpoint.
	New bool
}

// Hidden says whether it is kept out of the report.
func (e *Entry) Hidden() bool { return e.BuiltIn != nil || e.User != nil && !e.New }

// Entries calls each with everything that a report since a moment would tell of: warnings and errors of
// the console, requests, and what happened to connections; each kind in its order.
func Entries(from capture.Moment, v *capture.View, o Options, each func(Entry)) {
	w := New(from, v, o)
	tell := func(ev event.Event) {
		e := Entry{Event: ev}
		if o.Noise != nil {
			if e.BuiltIn = w.BuiltIn(ev); e.BuiltIn == nil {
				if e.User = o.Noise.User(ev, Fold); e.User != nil {
					e.New = !w.mayHide(e.User, ev)
				}
			}
		}
		each(e)
	}
	for pos, e := range v.Console().Marked(from.Pos[capture.Console]) {
		if w.Tells(pos, e) {
			tell(e)
		}
	}
	for _, e := range v.Network().From(from.Pos[capture.Network]) {
		if o.InScope(e.Subject) && capture.Counts(e) {
			tell(e)
		}
	}
	for _, e := range v.WebSocket().Marked(from.Pos[capture.WebSocket]) {
		if o.InScope(e.Subject) && Reportable(e) {
			tell(e)
		}
	}
}

// Tells says whether a report tells of a console entry.
func (w *Window) Tells(pos uint64, e *event.Console) bool {
	return w.Options.Covers(capture.ConsoleSection, pos, e.Subject, e.At) && e.Level >= event.Warning && !e.Joined && !w.toldByBackfill(e) &&
		(w.Options.Over == nil || !w.Options.Over(e)) &&
		(!e.Left || w.Options.First == nil || !slices.Contains(w.Options.First.Sections, capture.ConsoleSection))
}

// Reportable says whether a step of a connection is told of by itself.
func Reportable(e *event.WebSocket) bool {
	return (!e.IsFrame() || e.Bad) && (e.Op != "close" || !e.Leaving) && !e.Joined
}

// toldByBackfill recognises the browser's log entry about a failed request that was found in the
// browser's records afterwards, under another id: where capture began late, entries are replayed
// before those records are read, so that the requests lie in the span too.
func (w *Window) toldByBackfill(e *event.Console) bool {
	url, ok := alike.FailedAddress(e)
	if !ok {
		return false
	}
	if w.backfilled == nil {
		w.backfilled = map[tabURL]bool{}
		for _, n := range w.View.Network().From(w.From.Pos[capture.Network]) {
			if n.Backfilled && n.Failed() {
				w.backfilled[tabURL{n.Tab(), n.URL}] = true
			}
		}
	}
	return w.backfilled[tabURL{e.Tab(), url}]
}

type tabURL struct {
	tab int
	url string
}
