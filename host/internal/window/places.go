package window

import (
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
)

// PlaceOf is the code that made a request, opened a connection or logged.
func (o *Options) PlaceOf(ev event.Event) report.Place {
	e, logged := ev.(*event.Console)
	switch {
	case logged && o.Original == nil:
		return report.Place{File: e.URL, Line: e.Line}
	case logged:
		p, _ := o.Original(e)
		return p
	case o.Initiator == nil:
		return report.Place{}
	}
	return o.Initiator(ev)
}

// CallOf is the code in another file that called the code of a request.
func (o *Options) CallOf(ev event.Event) report.Place {
	if e, ok := ev.(*event.Network); ok && o.CalledAt != nil {
		return o.CalledAt(e)
	}
	return report.Place{}
}

// Initiators are the places of the code that entries came from, and how they read beside each other.
type Initiators struct {
	of     map[event.Event]report.Place
	called map[event.Event]report.Place // by what calls that code
	names  report.Sources
}

// Locate finds the code that entries came from.
func (o *Options) Locate(lists ...[]event.Event) Initiators {
	found := Initiators{map[event.Event]report.Place{}, map[event.Event]report.Place{}, report.Sources{}}
	for _, list := range lists {
		for _, e := range list {
			if p := o.PlaceOf(e); p.File != "" {
				found.of[e] = p
				found.names.Add(p.File)
			}
			if n, ok := e.(*event.Network); ok && (n.Failed() || n.Writes()) {
				found.Call(o, e)
			}
		}
	}
	return found
}

// Call finds the code in another file that called the code of a request.
func (i *Initiators) Call(o *Options, e event.Event) {
	if p := o.CallOf(e); p.File != "" {
		i.called[e] = p
		i.names.Add(p.File)
	}
}

// Source returns where an entry came from as file:line, "" when it is not known, and whether that is in generated code.
func (i *Initiators) Source(e event.Event) (source string, generated bool) {
	p := i.of[e]
	return i.names.Name(p), p.Generated
}

// CalledAt returns where the code of a request was called in another file, as file:line; "" when that was not looked for, or
// is not known.
func (i *Initiators) CalledAt(e event.Event) string { return i.names.Name(i.called[e]) }
