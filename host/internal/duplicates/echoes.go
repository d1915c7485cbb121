package duplicates

import (
	"cmp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/window"
)

// Echo is a message or an element that only says what the entry says that it belongs to. It is mentioned there.
type Echo struct {
	Message *event.Console // nil for an element
	// Says is what the message says besides, "" for nothing.
	Says    string
	Element capture.ElementKey
	// Entry is what a reader will know it by.
	Entry alike.Entry
}

// failure is what failed requests have in common whose echoes are mentioned together.
type failure struct {
	endpoint    capture.EndpointKey
	tab, status int
	error       string
}

// failureOf returns what a failed request has in common with others.
func failureOf(n *event.Network) failure {
	return failure{capture.KeyOf(n), n.Tab(), n.Status, n.Error}
}

// maxEchoes bounds the echoes that an entry mentions, maxEchoed the entries that have some.
const (
	maxEchoes = 3
	maxEchoed = 64
)

// echo records an echo of what a key stands for: a failure, a connection, or a message.
func (f *Finder) echo(of any, e Echo) {
	list, known := f.echoes[of]
	if len(list) == maxEchoes || !known && len(f.echoes) == maxEchoed || slices.ContainsFunc(list, e.is) {
		return
	}
	if f.echoes == nil {
		f.echoes = map[any][]Echo{}
	}
	if e.Message != nil {
		own := *e.Message // one that was read from disk would keep its block in memory
		own.Text, own.Request = strings.Clone(own.Text), strings.Clone(own.Request)
		e.Message, e.Says = &own, strings.Clone(e.Says)
	}
	f.echoes[of] = append(list, e)
}

// is reports whether two echoes are mentioned in the same words.
func (e Echo) is(other Echo) bool {
	if e.Message == nil || other.Message == nil {
		return e.Message == other.Message && e.Element.Selector == other.Element.Selector
	}
	return e.Says == other.Says && e.Message.Via == other.Message.Via && e.Message.URL == other.Message.URL && e.Message.Line == other.Message.Line &&
		e.Message.Logged == other.Message.Logged
}

// Take returns the echoes of a failed request, a connection or a message, to be mentioned once.
func (f *Finder) Take(ev event.Event) []Echo {
	if len(f.echoes) == 0 {
		return nil
	}
	var of any = ev
	switch e := ev.(type) {
	case *event.Network:
		of = failureOf(e)
	case *event.WebSocket:
		of = connectionOf(e)
	}
	list := f.echoes[of]
	delete(f.echoes, of)
	return list
}

// request returns which failed request that the report lists a text of an entry says the same as, -1 for none.
func (f *Finder) request(tab int, at int64, origin, text string) int {
	unnamed := alike.Unnamed(text)
	url := alike.NamedRequest(unnamed)
	if status, says := alike.SaysRequestFailed(text); says && url == "" {
		if n := f.failing[failed{tab, status}].news(at, f.answers.of); n >= 0 {
			return n
		}
	}
	return f.answers.said(tab, at, origin, text, unnamed, url)
}

// isOfRequest has an entry mentioned with the failed request that it says the same as. One of a request that the reader was
// already given is left out if the reader was given it too, or if it says no more: then it returns true too.
func (f *Finder) isOfRequest(n int, e Echo) bool {
	if a := &f.answers.of[n]; !a.given {
		f.echo(failure{*a.endpoint, a.failed.tab, a.failed.status, a.error}, e)
		return true
	}
	return e.Message != nil && e.Says == "" || f.w.Options.WasGiven(e.Entry)
}

// quotes reports whether a message of the page's code quotes a failed request that the report lists, after words of its own:
// console.error('Cannot load:', err).
func (f *Finder) quotes(e *event.Console) bool {
	if e.Via != "console" {
		return false
	}
	first, _, _ := strings.Cut(e.Text, "\n")
	start := len(first) - len(f.answers.endOf(first))
	if start == len(first) {
		start = alike.QuotedFailure(first)
	}
	if start == 0 || start == len(first) {
		return false
	}
	n := f.request(e.Tab(), e.At, e.Origin(), e.Text[start:])
	if n < 0 {
		return false
	}
	return f.isOfRequest(n, Echo{Message: e, Says: alike.BeforeError(first[:start]), Entry: f.entry(e)})
}

// entry is what a reader knows a message by; none for a reader that does not fold.
func (f *Finder) entry(e *event.Console) alike.Entry {
	if f.w.Options.Given == nil {
		return alike.Entry{}
	}
	return alike.Console(e, f.w.Level(e))
}

// Shows reports whether an element that appeared at a time only shows what the report says of a failed request or of an error,
// and has it mentioned there.
func (f *Finder) Shows(k capture.ElementKey, at int64, entry alike.Entry) bool {
	if at == 0 || alike.IsOverlay(k.Selector) || len(f.failing)+len(f.messages) == 0 {
		return false
	}
	text := trimmed(k.Text)
	e := Echo{Element: k, Entry: entry}
	if n := f.request(k.Tab, at, k.Origin, text); n >= 0 {
		return f.isOfRequest(n, e)
	}
	for _, m := range f.messages[said{k.Tab, alike.Said(text)}] {
		if alike.Near(m.At, at) {
			f.echo(m, e)
			return true
		}
	}
	return false
}

// maxFringe bounds what an element shows around a message without saying more, such as an icon, in bytes.
const maxFringe = 8

// trimmed returns the text of an element without what is around its message.
func trimmed(text string) string {
	inner := strings.TrimSpace(strings.TrimFunc(text, func(r rune) bool { return r > 0x2000 || r == '×' || r == ' ' || r == '\n' }))
	if len(text)-len(inner) > maxFringe {
		return text
	}
	return inner
}

// ListsErrors records the errors that a report lists, if they are few, and returns those that only log the message of one that
// nothing caught: console.error(err.message).
func (f *Finder) ListsErrors(list []*event.Console) (logs map[*event.Console]bool) {
	if len(list) > maxEchoed {
		return nil
	}
	f.messages = map[said][]*event.Console{}
	for _, e := range list {
		k := said{e.Tab(), alike.Said(e.Text)}
		f.messages[k] = append(f.messages[k], e)
	}
	logs = map[*event.Console]bool{}
	for k, same := range f.messages {
		i := slices.IndexFunc(same, (*event.Console).IsUncaught)
		if i < 0 {
			continue
		}
		thrown := same[i]
		f.messages[k] = slices.DeleteFunc(same, func(e *event.Console) bool {
			logs[e] = e.Via == "console" && alike.Near(e.At, thrown.At)
			if logs[e] {
				f.echo(thrown, Echo{Message: e, Entry: f.entry(e)})
			}
			return logs[e]
		})
	}
	return logs
}

// connection is what connections have in common whose echoes are mentioned together. The query may have a token.
type connection struct {
	tab int
	url string
}

// connectionOf returns what a connection has in common with others.
func connectionOf(e *event.WebSocket) connection {
	origin, path := capture.SplitURL(e.URL)
	return connection{e.Tab(), origin + path}
}

// socket is a connection that failed.
type socket struct {
	connection
	at    int64
	given bool // the reader was given it
}

// failedSockets returns the connections that failed in the window. It finds them the first time.
func (f *Finder) failedSockets() []socket {
	if f.sockets == nil && f.w.Options.Includes(capture.WebSocketSection) {
		f.sockets = []socket{}
		for pos, e := range f.w.View.WebSocket().Marked(f.w.From.Pos[capture.WebSocket]) {
			if e.Bad && !e.IsFrame() && window.Reportable(e) && f.w.Options.Covers(capture.WebSocketSection, pos, e.Subject, e.At) && !f.w.KeepsOut(e) {
				f.sockets = append(f.sockets, socket{connectionOf(e), e.At, f.w.Options.WasGiven(alike.Socket(e))})
			}
		}
	}
	return f.sockets
}

// maxSockets bounds how many connections are looked at for a message.
const maxSockets = 32

// logsSocket reports whether a message only logs the event of a connection that failed, and has it mentioned there.
func (f *Finder) logsSocket(e *event.Console) bool {
	if e.Via != "console" {
		return false
	}
	says, logs := alike.LogsSocketError(e.Text)
	if !logs {
		return false
	}
	all := f.failedSockets()
	near, _ := slices.BinarySearchFunc(all, e.At, func(s socket, at int64) int { return cmp.Compare(s.at, at) })
	for _, s := range all[max(0, near-maxSockets):min(len(all), near+maxSockets)] {
		if s.tab != e.Tab() || !alike.Near(s.at, e.At) {
			continue
		}
		echo := Echo{Message: e, Says: says, Entry: f.entry(e)}
		if s.given {
			return f.w.Options.WasGiven(echo.Entry)
		}
		f.echo(s.connection, echo)
		return true
	}
	return false
}
