package diff

import (
	"fmt"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/duplicates"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/storms"
)

// maxSays bounds what a mention quotes of a message, in characters.
const maxSays = 60

// also says what else said what an entry says, and what a reader knows that by: "logged at api.js:12, shown in .error".
func (c *computation) also(of event.Event) (text string, known []alike.Entry) {
	var parts []string
	for _, e := range c.duplicates.Take(of) {
		if e.Entry.As != 0 {
			known = append(known, e.Entry)
		}
		parts = append(parts, c.mention(e))
	}
	return strings.Join(parts, ", "), known
}

// mention is an echo in a few words.
func (c *computation) mention(e duplicates.Echo) string {
	if e.Message == nil {
		return "shown in " + event.Selector(e.Element.Selector)
	}
	text := "logged"
	if e.Message.Via != "console" {
		text = "thrown"
	}
	p := c.Options.PlaceOf(e.Message)
	if logged := loggedAt(&c.Options, e.Message, p); logged.File != "" {
		p = logged
	}
	if source := report.PlaceName(p); source != "" {
		text += " at " + report.Marked(source, p.Generated)
	}
	if e.Says != "" {
		text += fmt.Sprintf(" (%s)", strconv.Quote(report.Cut(event.OneLine(e.Says), maxSays)))
	}
	return text
}

// mentions collects the entries of a report that may have echoes, which later sections find.
type mentions struct {
	list    []mentioned
	sockets map[storms.Socket]*tally[report.SocketError] // those of storms
}

// mentioned is an entry of a report, with the event that shows it.
type mentioned struct {
	of   event.Event
	also *string
	// known is where it is kept what a reader knows the entry by.
	known *[]alike.Entry
}

func (m *mentions) add(of event.Event, also *string, known *[]alike.Entry) {
	m.list = append(m.list, mentioned{of, also, known})
}

// complete has the entries mention their echoes.
func (m *mentions) complete(c *computation) {
	for _, e := range m.list {
		text, known := c.also(e.of)
		*e.also = joined(*e.also, text)
		if _, connection := e.of.(*event.WebSocket); connection && text != "" {
			c.raise(ofConnection(text))
		}
		*e.known = append(*e.known, known...)
	}
}

// joined joins two lists of echoes.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// takeStorm takes the error of a connection that has a storm, which then says it. It returns false for another one of the same
// connection, and for a frame.
func (m *mentions) takeStorm(k storms.Socket, t *tally[report.SocketError], d *report.WebSocketDiff) bool {
	if m.sockets[k] != nil || t.shown.(*event.WebSocket).IsFrame() {
		return false
	}
	if m.sockets == nil {
		m.sockets = map[storms.Socket]*tally[report.SocketError]{}
	}
	m.sockets[k] = t
	d.Shown = append(d.Shown, t.keys...)
	return true
}

// completeStorm has the storm of a connection say why that fails.
func (m *mentions) completeStorm(c *computation, s *storms.Storm, r *report.Report) {
	for k, t := range m.sockets {
		if s.IsOfSocket(k) {
			s.Error, s.Status = t.entry.Message, t.entry.Status
			text, known := c.also(t.shown)
			s.Also = text
			c.raise(ofConnection(text))
			r.Give(known...)
		}
	}
}
