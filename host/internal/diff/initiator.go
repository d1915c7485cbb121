package diff

import "tidemark.dev/tidemark/host/internal/event"

// stackOf returns the code that made a request or opened a connection.
func stackOf(ev event.Event) []string {
	switch e := ev.(type) {
	case *event.Network:
		return e.Stack
	case *event.WebSocket:
		return e.Stack
	}
	return nil
}

// initiator is the code that made a request, opened a connection or logged.
func initiator(ev event.Event, o *Options) Place {
	if e, ok := ev.(*event.Console); ok {
		return place(e, *o)
	}
	if o.Initiator == nil {
		return Place{}
	}
	return o.Initiator(ev)
}

// initiators are the places of events' initiators, and how they read beside each other.
type initiators struct {
	of    map[event.Event]Place
	names sourceNames
}

// locate finds the initiators of events.
func locate(o *Options, lists ...[]event.Event) initiators {
	found := initiators{map[event.Event]Place{}, sourceNames{}}
	for _, list := range lists {
		for _, e := range list {
			if p := initiator(e, o); p.File != "" {
				found.of[e] = p
				found.names.add(p.File)
			}
		}
	}
	return found
}

// source returns the initiator of an event as file:line, "" when it is not known.
func (i *initiators) source(e event.Event) string { return i.names.source(i.of[e]) }

// PlaceName returns a place as file:line, where no other place is beside it.
func PlaceName(p Place) string {
	names := sourceNames{}
	names.add(p.File)
	return names.source(p)
}

// from names the code that made a request or opened a connection, as the end of a line: " from api.ts:5"; "" if it is not
// known.
func from(ev event.Event, o *Options) string {
	if p := initiator(ev, o); p.File != "" {
		return " from " + Marked(PlaceName(p), p.Generated)
	}
	return ""
}
