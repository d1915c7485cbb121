package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Consequence is something that happened on a page while it was acted on, in one line.
type Consequence struct {
	// At is when it began, in milliseconds since the Unix epoch: of a request, when that was made.
	At       int64    `json:"-"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	// Request is set for requests that did not fail; Count is how often the same happened.
	Request bool `json:"-"`
	Count   int  `json:"count"`
}

// Consequences are what happened since a moment: what broke, whether the same was broken before or not, and
// the requests that a page's scripts made. Noise rules hide what they hide elsewhere. Equal ones are one,
// where they came on the same side of since (milliseconds since the Unix epoch).
func Consequences(from capture.Moment, v *capture.View, since int64, o Options) []Consequence {
	var list []Consequence
	add := func(c Consequence) {
		i := slices.IndexFunc(list, func(e Consequence) bool {
			return e.Text == c.Text && e.Severity == c.Severity && (e.At >= since) == (c.At >= since)
		})
		if i >= 0 {
			list[i].Count++
			return
		}
		c.Count = 1
		list = append(list, c)
	}
	storms := Storms(from, v, o)
	for _, s := range storms {
		add(Consequence{At: v.At.UnixMilli(), Severity: Warning, Text: "repeated without end: " + s.Line()})
	}
	var told []event.Event
	names, places := sourceNames{}, map[*event.Console]Place{}
	Entries(from, v, o, func(e Entry) {
		if e.Hidden() {
			return
		}
		told = append(told, e.Event)
		if c, ok := e.Event.(*event.Console); ok {
			p := place(c, o)
			places[c] = p
			names.add(p.File)
		}
	})
	for _, e := range told {
		switch ev := e.(type) {
		case *event.Console:
			text := Shorten(event.OneLine(ev.Text))
			if source := names.source(places[ev]); source != "" {
				text += Marked(" ("+source+")", places[ev].Generated)
			}
			severity, word := Warning, "warning"
			if levelOf(ev, o.Noise) == event.Error {
				severity, word = Error, "error"
			}
			add(Consequence{At: ev.At, Severity: severity, Text: word + ": " + text})
		case *event.Network:
			if r := request(ev, &o); !r.Request || !slices.ContainsFunc(storms, func(s Storm) bool { return s.What == requestName(ev) }) {
				add(r)
			}
		case *event.WebSocket:
			url := shownSocketURL(ev.Origin(), ev.URL)
			switch {
			case ev.Bad:
				message := ev.Text
				if message == "" {
					message = "the connection failed"
				}
				add(Consequence{At: ev.At, Severity: Warning, Text: "WebSocket " + url + ": " + Shorten(event.OneLine(message))})
			case ev.Op == "close":
				add(Consequence{At: ev.At, Severity: Warning, Text: strings.TrimSpace("WebSocket " + url + " closed " + Shorten(event.OneLine(ev.Reason)))})
			}
		}
	}
	shown := map[capture.ElementKey]bool{}
	for _, e := range v.DOM().From(from.Pos[capture.DOM]) {
		origin := e.Origin()
		if e.Element != (capture.ElementKey{}) {
			origin = e.Element.Origin
		}
		if !o.InScope(event.InTab(e.Tab(), origin)) {
			continue
		}
		switch e.Op {
		case "appeared":
			// A page that is drawn anew shows what it showed before: that is no news.
			if !shown[e.Element] && from.DOMState.Elements()[e.Element] == 0 {
				add(Consequence{At: e.At, Severity: Warning, Text: fmt.Sprintf("error element %s: %q", e.Element.Selector, Shorten(event.OneLine(e.Element.Text)))})
			}
			shown[e.Element] = true
		case "crashed":
			add(Consequence{At: e.At, Severity: Error, Text: "the page crashed"})
		}
	}
	slices.SortStableFunc(list, func(a, b Consequence) int { return cmp.Compare(a.At, b.At) })
	return list
}

func place(e *event.Console, o Options) Place {
	if o.Original == nil {
		return Place{File: e.URL, Line: e.Line}
	}
	p, _ := o.Original(e)
	return p
}

func request(e *event.Network, o *Options) Consequence {
	c := Consequence{At: startOf(e), Severity: Clean, Request: true, Text: requestName(e)}
	switch {
	case e.Failed():
		c.Severity, c.Request = Error, false
		if e.Status >= 400 {
			c.Text += fmt.Sprintf(" %d", e.Status)
		} else {
			c.Text += " " + Shorten(event.OneLine(reason(e)))
		}
		if e.Detail != "" {
			c.Text += fmt.Sprintf(" %q", e.Detail)
		}
		if p := initiator(e, o); p.File != "" {
			c.Text += " from " + Marked(PlaceName(p), p.Generated)
		}
	case e.Status != 0:
		c.Text += fmt.Sprintf(" %d", e.Status)
	}
	if c.Request && !slices.Contains([]string{"fetch", "xhr", "document", "eventsource"}, e.Resource) {
		c.Text = "" // pictures, styles, scripts: they say nothing by themselves
	}
	return c
}
