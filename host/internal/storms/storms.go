// Package storms finds what repeats fast and without end: requests, connections, and lines that log.
//
// It guarantees: polling, a burst and attempts that back off are no storm; what is one in a window is also one for a reader
// that looks while it lasts; it keeps little of the past in memory. It is pure: no clock, no files, no network.
package storms

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/window"
)

// Most bounds the storms of a report.
const Most = 10

// A storm may have begun before the window of a report: by lookBack, in milliseconds, and as many entries, at most.
const (
	lookBack        = 10_000
	lookBackEntries = 2048
)

// Storm is one of a report.
type Storm struct {
	report.Storm
	// Over is when its newest repetition began, in milliseconds since the Unix epoch; 0 while it continues.
	Over int64

	family capture.EndpointKey // of requests: their endpoints, without numbers
	socket Socket              // of a connection
}

// IsOfSocket reports whether a storm is one of a connection.
func (s *Storm) IsOfSocket(k Socket) bool { return s.socket == k }

// IsOf reports whether a storm is one of a request's endpoint or address, or of addresses that differ from it in numbers alone.
func (s *Storm) IsOf(e *event.Network) bool {
	return s.What == report.RequestName(e) || s.What == report.EndpointName(e) || s.family == alike.OutcomeOf(e).Endpoint && strings.Contains(s.What, "{id}")
}

// Finder finds the storms of a window, each kind when it is asked for.
type Finder struct {
	w       *window.Window
	found   []*foundStorm
	updated map[int]int64 // when a tab was loaded or updated last, where that ends storms
}

// In returns what finds the storms of a window.
func In(w *window.Window) *Finder { return &Finder{w: w} }

// foundStorm is a storm before its initiator has a name.
type foundStorm struct {
	Storm
	place    report.Place
	call     report.Place // of its code, from another file
	from, to int64
	ended    int64       // the latest end
	on       bool        // it goes on at the end of the view
	inTab    int         // the host's number of its tab
	entry    alike.Entry // of messages: what the reader will know them by
}

// storm adds a storm to those of the report, and returns it. One of the same thing in the same tab is part of it.
func (f *Finder) storm(what string, t *tempo, r *repetition) *foundStorm {
	p := &r.pace
	if p.total == 0 {
		return nil // all of it was before the window
	}
	s := foundStorm{from: max(p.from, r.first), to: p.to, ended: p.ended, on: p.goesOn(t, f.w.View.At.UnixMilli())}
	s.Storm.Storm = report.Storm{What: what, Count: p.total, Tab: f.w.Tab(r.newest.Header().Tab()), Ref: r.ref}
	s.place, s.call, s.inTab = f.w.Options.PlaceOf(r.newest), f.w.Options.CallOf(r.newest), r.newest.Header().Tab()
	if e, ok := r.newest.(*event.Console); ok {
		s.entry = alike.Storm(e)
	}
	for _, other := range f.found {
		if other.What == what && other.Tab == s.Tab {
			other.from, other.to, other.ended = min(other.from, s.from), max(other.to, s.to), max(other.ended, s.ended)
			other.Count += s.Count
			// Together, they are faster than each.
			other.on = (other.on || s.on) && f.w.View.At.UnixMilli()-max(other.to, other.ended) <= 2*other.usual()+patience
			other.Ref.Join(s.Ref)
			return other
		}
	}
	f.found = append(f.found, &s)
	return &s
}

// usual is the mean time from one repetition to the next, in milliseconds.
func (s *foundStorm) usual() int64 { return (s.to - s.from) / int64(max(1, s.Count-1)) }

// List returns the storms that were found, those with the most repetitions first, what a reader will know their messages by,
// and how many had no room.
func (f *Finder) List() (list []Storm, known []alike.Entry, omitted int) {
	slices.SortStableFunc(f.found, func(a, b *foundStorm) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.from, b.from), strings.Compare(a.What, b.What), a.Tab-b.Tab)
	})
	shown := f.found[:min(len(f.found), Most)]
	names := report.Sources{}
	for _, s := range shown {
		names.Add(s.place.File)
		names.Add(s.call.File)
	}
	for _, s := range shown {
		s.SpanMs, s.Initiator, s.Generated, s.CalledAt = s.to-s.from, names.Name(s.place), s.place.Generated, names.Name(s.call)
		if !s.on {
			s.Over = s.to
		}
		list = append(list, s.Storm)
		if s.entry.As != 0 {
			known = append(known, s.entry)
		}
	}
	return list, known, len(f.found) - len(shown)
}

// Has reports whether a request of a tab, as the window names it, is one of a storm that was found.
func (f *Finder) Has(tab int, e *event.Network) bool {
	return slices.ContainsFunc(f.found, func(s *foundStorm) bool { return s.Tab == tab && s.IsOf(e) })
}

// loads is when tabs loaded their pages, in milliseconds since the Unix epoch.
func loads(v *capture.View) map[int]int64 {
	at := map[int]int64{}
	for _, t := range v.Tabs {
		at[t.ID] = t.Loaded.At
	}
	return at
}

// Since returns the storms that went on since a moment, each with what is known of it from before that, and the messages that
// are part of one. A storm has ended before the moment if it did not repeat in twice its usual gap since then. Storms of a page
// that its tab no longer shows are left out.
func Since(from capture.Moment, v *capture.View, o window.Options) (list []Storm, messages map[Message]bool) {
	loaded, at := loads(v), from.At.UnixMilli()
	f, messages := around(from, v, o, nil)
	f.found = slices.DeleteFunc(f.found, func(s *foundStorm) bool {
		return s.to < at && (!s.on || v.At.UnixMilli()-at > 2*s.usual()) || s.to < loaded[s.inTab]
	})
	list, _, _ = f.List()
	return list, messages
}

// Ongoing returns the storm that goes on at the end of a view, and when its newest repetition began. ok is false if there
// is none. What a tab did before it was loaded or updated the last time does not count.
func Ongoing(v *capture.View, o window.Options) (s Storm, newest time.Time, ok bool) {
	o.Beginning, o.Original, o.Initiator, o.CalledAt, o.Refs = true, nil, nil, nil, false
	updated := map[int]int64{}
	for _, u := range v.Updates.From(0) {
		updated[u.Tab()] = max(updated[u.Tab()], u.At)
	}
	f, _ := around(v.Now(), v, o, updated)
	f.found = slices.DeleteFunc(f.found, func(s *foundStorm) bool { return !s.on })
	for _, s := range f.found {
		s.place = report.Place{} // the original place is not looked up, and another one would contradict the report
	}
	list, _, _ := f.List()
	if len(list) == 0 {
		return Storm{}, time.Time{}, false
	}
	return list[0], time.UnixMilli(f.found[0].to), true
}

// around finds the storms since some time before a moment, without what tabs did before they were updated, and the messages
// that are part of one.
func around(m capture.Moment, v *capture.View, o window.Options, updated map[int]int64) (f *Finder, messages map[Message]bool) {
	from, at := m, m.At.UnixMilli()
	from.Pos[capture.Network] = before(v.Network(), m.Pos[capture.Network], at)
	from.Pos[capture.WebSocket] = before(v.WebSocket(), m.Pos[capture.WebSocket], at)
	from.Pos[capture.Console] = before(v.Console(), m.Pos[capture.Console], at)
	f = &Finder{w: window.New(from, v, o), updated: updated}
	f.Requests(func(capture.EndpointKey) bool { return true })
	f.Sockets()
	messages = f.logged()
	f.floods()
	return f, messages
}

// before returns the position from which entries before a position are looked at.
func before[T any, P event.Pointer[T]](v *ring.View[T], pos uint64, at int64) uint64 {
	near := v.InRing()
	first := max(near.First(), pos-min(pos, lookBackEntries))
	for pos > first && P(near.At(pos-1)).Header().At >= at-lookBack {
		pos--
	}
	return pos
}

// short says that a window may have too little of a storm to recognize it alone.
func (f *Finder) short() bool { return f.w.View.At.Sub(f.w.From.At).Milliseconds() < lookBack }
