package alike

import (
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// identity is a hash of what identifies an entry.
type identity uint64

// identify returns the identity of what some texts say, whatever the program.
func identify(parts ...string) identity { return identity(14695981039346656037).with(parts...) }

// with adds texts, eight bytes at a time. The length of each is part of it: "a", "bc" are not "ab", "c".
func (h identity) with(parts ...string) identity {
	for _, p := range parts {
		n := len(p)
		for ; len(p) >= 8; p = p[8:] {
			h = h.mix(uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 | uint64(p[4])<<32 | uint64(p[5])<<40 | uint64(p[6])<<48 | uint64(p[7])<<56)
		}
		rest := uint64(0)
		for i := range len(p) {
			rest |= uint64(p[i]) << (8 * i)
		}
		h = h.mix(rest).mix(uint64(n))
	}
	return h
}

// mix adds a word: a multiplication carries each of its bits upwards, a shift carries them back.
func (h identity) mix(word uint64) identity {
	h = (h ^ identity(word)) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// Console identifies a message: what it says, and the code that logged it. The line of named code does not count,
// because an edit above moves it. A warning about a component is the same whatever made React look at the component.
func Console(e *event.Console, level event.Level) Entry {
	s := saidBy(e)
	return consoleEntry(e, level, Fingerprint(s.whole), s.component)
}

// Message is [Console] and [Text] of a message.
func Message(e *event.Console, level event.Level) (Entry, string) {
	s := saidBy(e)
	text := Fingerprint(s.common)
	if len(s.common) == len(s.whole) {
		return consoleEntry(e, level, text, s.component), text
	}
	return consoleEntry(e, level, Fingerprint(s.whole), s.component), text
}

func consoleEntry(e *event.Console, level event.Level, says string, component bool) Entry {
	if component {
		h := identify("warning", level.String(), e.Origin(), says)
		return Entry{Of: uint64(h), As: uint64(h)}
	}
	function := ""
	if len(e.Stack) > 0 {
		function, _, _ = event.CutFrame(e.Stack[0])
	}
	line := ""
	if function == "" || function == "(anonymous)" {
		line = strconv.Itoa(e.Line)
	}
	file, _, _ := strings.Cut(e.URL, "?")
	h := identify("console", level.String(), e.Origin(), says, file, function, line, strconv.Itoa(e.Column))
	return Entry{Of: uint64(h), As: uint64(h)}
}

// Storm identifies the messages of one line of code that differ in numbers alone.
func Storm(e *event.Console) Entry {
	file, _, _ := strings.Cut(e.URL, "?")
	h := identify("storm", e.Level.String(), e.Origin(), file, strconv.Itoa(e.Line), WithoutNumbers(e.Text))
	return Entry{Of: uint64(h), As: uint64(h)}
}

// Endpoint identifies what the failures of an endpoint are about.
func Endpoint(k capture.EndpointKey) uint64 { return uint64(endpoint(k)) }

func endpoint(k capture.EndpointKey) identity {
	return identify("endpoint", k.Page, k.Origin, k.Method, k.Path, k.Operation)
}

// Failure identifies a failed request: its endpoint, its address, and how it failed.
func Failure(e *event.Network) Entry {
	of := endpoint(capture.KeyOf(e))
	return Entry{Of: uint64(of), As: uint64(of.with(Address(e), strconv.Itoa(e.Status), e.Error, Fingerprint(said(e))))}
}

// Family identifies what the failures of endpoints are about whose paths differ in numbers alone.
func Family(k capture.EndpointKey) uint64 {
	return uint64(identify("endpoints", k.Page, k.Origin, k.Method, WithoutNumbers(k.Path), k.Operation))
}

// Failures identifies the failed requests to the endpoints of a [Family] that failed as this one, but for numbers.
func Failures(e *event.Network) Entry {
	of := Family(capture.KeyOf(e))
	return Entry{Of: of, As: uint64(identity(of).with(strconv.Itoa(e.Status), e.Error, WithoutNumbers(Fingerprint(said(e)))))}
}

// Socket identifies what happened to a connection.
func Socket(e *event.WebSocket) Entry {
	origin, path := capture.SplitURL(e.URL)
	of := identify("socket", e.Origin(), origin, capture.TemplatePath(path))
	return Entry{Of: uint64(of), As: uint64(of.with(e.Op, Fingerprint(e.Text), strconv.Itoa(e.Code), e.Reason, strconv.Itoa(e.Status)))}
}

// Element identifies an error element beside which others like it were visible before.
func Element(k capture.ElementKey, others int) Entry {
	of := identify("element", k.Origin, k.Selector, Fingerprint(k.Text))
	return Entry{Of: uint64(of), As: uint64(of.with(strconv.Itoa(others)))}
}

// Life identifies one time during which an error element was visible, by when it began, in milliseconds since the Unix epoch. It
// identifies nothing if that is not known.
func Life(k capture.ElementKey, from int64) Entry {
	if from == 0 {
		return Entry{}
	}
	of := identify("element", k.Origin, k.Selector, Fingerprint(k.Text))
	return Entry{Of: uint64(of), As: uint64(of.with("life", strconv.Itoa(k.Tab), strconv.FormatInt(from, 10)))}
}

// Empty identifies a page that became empty in a tab at a time, in milliseconds since the Unix epoch.
func Empty(tab int, at int64) Entry {
	h := identify("empty", strconv.Itoa(tab), strconv.FormatInt(at, 10))
	return Entry{Of: uint64(h), As: uint64(h)}
}

// Request identifies one request.
func Request(e *event.Network) Entry {
	h := identify("request", strconv.Itoa(e.Tab()), e.ID, strconv.FormatInt(e.Started, 10))
	return Entry{Of: uint64(h), As: uint64(h)}
}
