package storms

import (
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Line is a line of code that logs.
type Line struct {
	tab   int
	level event.Level
	url   string
	line  int
}

// LineOf returns the line that logged a message.
func LineOf(e *event.Console) Line { return Line{e.Tab(), e.Level, e.URL, e.Line} }

// remembered looks values up by key. Entries that follow each other often have one key.
type remembered[K comparable, V any] struct {
	all  map[K]V
	key  K
	last V
	has  bool
}

// of returns the value of a key. The first time, it makes one.
func (m *remembered[K, V]) of(k K, value func() V) V {
	if m.has && k == m.key {
		return m.last
	}
	v, has := m.all[k]
	if !has {
		if m.all == nil {
			m.all = map[K]V{}
		}
		v = value()
		m.all[k] = v
	}
	m.key, m.last, m.has = k, v, true
	return v
}

// byLine has a value for each line of code that logs, byLabel for each label of one.
type (
	byLine[V any]  = remembered[Line, V]
	byLabel[V any] = remembered[uint64, V]
)

// Message is what makes messages of one line the same: their texts without numbers, as [alike.HashWithoutNumbers] has it.
type Message struct {
	Line
	Text uint64
}

// MessageOf returns what a message has in common with others of its line.
func MessageOf(e *event.Console) Message {
	return Message{LineOf(e), alike.HashWithoutNumbers(e.Text)}
}

// Messages finds the lines that flood the console, and the warnings and errors that are logged again and again, of which it
// returns which. The window has n warnings and errors.
func (f *Finder) Messages(n int) map[Message]bool {
	f.floods()
	if n < messageTempo.beats && (n <= 1 || !f.short()) {
		return nil
	}
	return f.logged()
}

// logged finds the warnings and errors that are logged again and again, and returns which.
func (f *Finder) logged() map[Message]bool {
	start := f.w.From.Pos[capture.Console]
	lines := byLine[*Run]{}
	long := false
	for _, e := range f.w.View.Console().Marked(start) {
		if e.Level < event.Warning {
			continue
		}
		line := lines.of(LineOf(e), func() *Run { return &Run{} })
		line.add(&messageTempo, e.At)
		long = long || f.May(line)
	}
	if !long {
		return nil
	}
	found := repetitions[Message]{w: f.w, tempo: &messageTempo}
	for pos, e := range f.w.View.Console().Marked(before(f.w.View.Console(), start, f.w.From.At.UnixMilli())) {
		if l := lines.all[LineOf(e)]; l == nil || !f.May(l) || !f.w.Tells(pos, e) || f.w.KeepsOut(e) || e.At <= f.updated[e.Tab()] {
			continue
		}
		found.add(MessageOf(e), pos, e, e.At, e.At, pos >= start)
	}
	stormy := map[Message]bool{}
	for k, r := range found.storms {
		stormy[k] = true
		f.storm(messageName(r.newest.(*event.Console)), &messageTempo, r)
	}
	return stormy
}

// maxStormText bounds the text of a message in the name of its storm, in bytes.
const maxStormText = 80

// messageName is a message in a few words: `console warning: "Maximum update depth exceeded"`.
func messageName(e *event.Console) string {
	text := event.OneLine(e.Text)
	if len(text) > maxStormText {
		text = strings.ToValidUTF8(text[:maxStormText], "") + "…"
	}
	return fmt.Sprintf("console %s: %q", e.Level, text)
}
