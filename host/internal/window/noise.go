package window

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
)

// Fold is the fingerprint by which noise rules know an event: of a console entry its message, of a
// request method, templated address, GraphQL operation and how it went, of a connection what happened to it and where. It is cut to what a rule can have.
func Fold(ev event.Event) string {
	s := ""
	switch e := ev.(type) {
	case *event.Console:
		s = alike.Fingerprint(e.Text)
	case *event.Network:
		origin, path := capture.SplitURL(e.URL)
		outcome := strconv.Itoa(e.Status)
		if e.Status < 400 && e.Failed() {
			outcome = e.Reason()
		}
		s = e.Method + " " + origin + capture.TemplatePath(path)
		if e.Operation != "" {
			s += " " + e.Operation
		}
		s += " " + outcome
	case *event.WebSocket:
		origin, path := capture.SplitURL(e.URL)
		s = e.Op + " " + origin + capture.TemplatePath(path)
		switch {
		case e.Bad:
			s += " " + alike.Fingerprint(e.Text)
		case e.Op == "close":
			s += " " + strconv.Itoa(e.Code)
		}
	}
	if len(s) > noise.MaxRuleText {
		cut := noise.MaxRuleText
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	return strings.TrimSpace(s)
}

// seenKey is an entry as it is known again.
type seenKey struct {
	origin, fold string
	level        event.Level
}

// Hides says whether noise rules keep an entry out of the report. A user's rule does so only when the
// same was there before the checkpoint, unless it says otherwise.
func (w *Window) Hides(ev event.Event) bool {
	hidden := w.KeepsOut(ev)
	if hidden {
		w.NoiseHidden++
	}
	return hidden
}

// KeepsOut is [Window.Hides] without counting.
func (w *Window) KeepsOut(ev event.Event) bool {
	if w.Options.Noise == nil {
		return false
	}
	if w.BuiltIn(ev) != nil {
		return true
	}
	rule := w.Options.Noise.User(ev, Fold)
	return rule != nil && w.mayHide(rule, ev)
}

// BuiltIn is the rule of the table that keeps an entry out, nil when none does. What tells of a page that is not up to
// date is over once the page was loaded anew within the window, or the module was updated again.
func (w *Window) BuiltIn(ev event.Event) *noise.Rule {
	if rule := w.Options.Noise.BuiltIn(ev); rule != nil {
		return rule
	}
	switch e := ev.(type) {
	case *event.Network:
		if rule := w.Options.Noise.LostUpdate(e); rule != nil && w.LoadedSince(e) {
			return rule
		}
	case *event.Console:
		if _, rule, _ := w.Options.Noise.Stale(e); rule != nil && (w.LoadedSince(e) || w.mendedSince(e)) {
			return rule
		}
		return w.Options.Noise.SocketOf(e, func(script string) iter.Seq[string] { return w.logged(e.Tab(), script) })
	}
	return nil
}

// logged are the texts that a script of a tab has logged, before the window too.
func (w *Window) logged(tab int, script string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range w.View.Console().From(0) {
			if e.Tab() == tab && e.URL == script && e.Via == "console" && !yield(e.Text) {
				return
			}
		}
	}
}

// LoadedSince reports whether the page of an entry was loaded anew after it, and before the window's end. It is also when the page
// is being loaded again: what announces that is over with the page.
func (w *Window) LoadedSince(ev event.Event) bool {
	if w.loads == nil {
		w.loads = map[int]int64{}
		for _, u := range w.View.Updates.From(0) {
			if (u.How == "load" || u.How == "reload") && u.At <= w.View.At.UnixMilli() {
				w.loads[u.Tab()] = max(w.loads[u.Tab()], u.At)
			}
		}
		for i := range w.View.Flights {
			if f := &w.View.Flights[i]; w.View.Reloads(f) {
				w.loads[f.Tab] = max(w.loads[f.Tab], f.At)
			}
		}
	}
	e := ev.Header()
	return w.loads[e.Tab()] >= e.At
}

// Reloading reports whether a tab is loading its page again at the window's end.
func (w *Window) Reloading(tab int) bool {
	return slices.ContainsFunc(w.View.Flights, func(f capture.Flight) bool { return f.Tab == tab && w.View.Reloads(&f) })
}

// failedUpdate is the update of a module that failed in a tab.
type failedUpdate struct {
	tab int
	at  int64
}

// thrownWithin is how long after an update an error that its code throws may come, in milliseconds.
const thrownWithin = 1000

// mendedSince reports whether the update of a module that an entry says failed was followed by one of the same module that did
// not, and that threw no error. Vite's client logs the module after each, so the next one that it logs is that of the entry.
func (w *Window) mendedSince(e *event.Console) bool {
	if !w.Options.Noise.Mendable(e) {
		return false
	}
	if w.mended == nil {
		w.mended = map[failedUpdate]bool{}
		type module struct {
			tab  int
			name string
		}
		type mending struct {
			module
			of []failedUpdate
			at int64
		}
		failed, of, last := map[int][]failedUpdate{}, map[module][]failedUpdate{}, map[int]mending{}
		for _, e := range w.View.Console().From(0) {
			tab := e.Tab()
			if l := last[tab]; e.IsUncaught() && len(l.of) > 0 && e.At-l.at <= thrownWithin {
				for _, f := range l.of {
					w.mended[f] = false
				}
				of[l.module] = append(of[l.module], l.of...)
				delete(last, tab)
			}
			if w.Options.Noise.Mendable(e) {
				f := failedUpdate{tab, e.At}
				failed[tab], w.mended[f] = append(failed[tab], f), false
				continue
			}
			name := noise.UpdatedModule(e)
			if name == "" {
				continue
			}
			m := module{tab, name}
			if len(failed[tab]) == 0 {
				for _, f := range of[m] {
					w.mended[f] = true
				}
				last[tab] = mending{m, of[m], e.At}
				delete(of, m)
			}
			of[m] = append(of[m], failed[tab]...)
			delete(failed, tab)
		}
	}
	return w.mended[failedUpdate{e.Tab(), e.At}]
}

// Level is the level as which an entry is told.
func (w *Window) Level(e *event.Console) event.Level {
	if w.Options.Noise == nil {
		return e.Level
	}
	as, _, _ := w.Options.Noise.Stale(e)
	return as
}

// HidesFailure says whether a user's rule hides how an endpoint was failing before the window.
func (w *Window) HidesFailure(k capture.EndpointKey, e capture.Endpoint) bool {
	if w.Options.Noise == nil {
		return false
	}
	before := &event.Network{
		Head: event.Head{Subject: event.InTab(0, k.Page)}, Method: k.Method, URL: k.Origin + k.Path, Operation: k.Operation,
		Status: e.Status, Error: e.Error, Refused: e.Status > 0 && e.Status < 400 && e.Error == "",
	}
	return w.Options.Noise.User(before, Fold) != nil
}

func (w *Window) mayHide(rule *noise.UserRule, ev event.Event) bool {
	if w.Options.Beginning || rule.HideNew || rule.Fingerprint != "" && !rule.Made.After(w.From.At) {
		return true // (whoever made a rule of a fingerprint had seen it)
	}
	if w.seen == nil {
		w.seen = map[seenKey]bool{}
		before := w.View.Until(w.From)
		see := func(ev event.Event) {
			// What no rule matches is looked at no further: most of it.
			if w.Options.Noise.User(ev, Fold) != nil {
				w.seen[keyOf(ev)] = true
			}
		}
		for _, e := range before.Console().InRing().Marked(0) {
			if e.Level >= event.Warning {
				see(e)
			}
		}
		for _, e := range before.Network().InRing().From(0) {
			if capture.Counts(e) {
				see(e)
			}
		}
		for _, e := range before.WebSocket().InRing().Marked(0) {
			if Reportable(e) {
				see(e)
			}
		}
	}
	return w.seen[keyOf(ev)]
}

func keyOf(ev event.Event) seenKey {
	return seenKey{ev.Header().Origin(), Fold(ev), noise.LevelOf(ev)}
}
