package diff

import (
	"cmp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/storms"
	"tidemark.dev/tidemark/host/internal/window"
)

// messageKey is what makes two messages one entry.
type messageKey struct {
	level       event.Level
	fingerprint string
	tab         int
}

func (c *computation) console() *report.ConsoleDiff {
	d := &report.ConsoleDiff{}
	c.duplicates.FindOverlays()
	found := map[messageKey]*tally[*event.Console]{}
	same := map[*tally[*event.Console]][]*event.Console{}
	elsewhere := map[*tally[*event.Console]][]*event.Console{}
	var errors, warnings []*tally[*event.Console]
	repeated := 0
	d.TotalNewEntries, _ = window.InScope(&c.Options, c.section, c.View.Console(), c.From.Pos[capture.Console], func(pos uint64, e *event.Console) {
		if !c.Tells(pos, e) || c.Hides(e) || c.duplicates.Has(e) {
			return
		}
		e = c.own(pos, e)
		level := c.Level(e)
		k := messageKey{level: level, tab: c.Tab(e.Tab())}
		var entry alike.Entry
		if c.Options.Given == nil {
			k.fingerprint = alike.Text(e) + report.FailedLoad(e)
		} else {
			entry, k.fingerprint = alike.Message(e, level)
			k.fingerprint += report.FailedLoad(e)
			severity := report.Warning
			if level == event.Error {
				severity = report.Error
			}
			known, same := entry, k.fingerprint
			if !c.Options.WasGiven(entry) {
				if storm := alike.Storm(e); c.Options.WasGiven(storm) {
					known, same = storm, alike.WithoutNumbers(e.Text)
				}
			}
			if r := c.repeated.take(&c.Options, known, severity, c.section, k.tab, level.String()+same, report.MessageText(e)); r != nil {
				repeated++
				r.logged(e)
				return
			}
		}
		t := found[k]
		if t == nil {
			t = &tally[*event.Console]{entry: e, ref: c.Ref(pos, e)}
			found[k] = t
			if level == event.Error {
				errors = append(errors, t)
			} else {
				warnings = append(warnings, t)
			}
		} else {
			t.ref.Add(pos)
			if t.entry.Via == "console" && e.Via != "console" {
				t.entry = e // the error itself, not the line that logs it
			}
		}
		t.count++
		t.last = pos
		elsewhere[t] = addElsewhere(elsewhere[t], t.entry, e)
		if c.Options.Original != nil {
			if len(same[t]) == 2*maxPlaced {
				same[t] = append(same[t][:0], same[t][maxPlaced:]...)
			}
			same[t] = append(same[t], e)
		}
		if c.Options.Given != nil {
			t.keys = addEntry(t.keys, entry)
			if storms.LineOf(e) != storms.LineOf(t.entry) {
				t.also = addEntry(t.also, alike.Storm(e))
			}
		}
	})
	errors = c.foldLogs(errors)
	errors, warnings = c.foldStorms(errors, warnings, repeated)
	c.count(len(errors), "new console error", report.Error)
	c.count(len(warnings), "new console warning", report.Warning)

	r := newRoom()
	names := report.Sources{}
	byFrequency(errors)
	if len(errors) > report.MaxEntries { // others may have hidden the cause
		slices.SortStableFunc(errors, func(a, b *tally[*event.Console]) int { return uncaughtFirst(a.entry, b.entry) })
	}
	errors, warnings = take(r, errors), take(r, byFrequency(warnings))
	places, others := map[*event.Console][2]report.Place{}, map[*event.Console][]report.Place{}
	for _, list := range [][]*tally[*event.Console]{errors, warnings} {
		for _, t := range list {
			p := [2]report.Place{c.place(t.entry, same[t])}
			p[1] = loggedAt(&c.Options, t.entry, p[0])
			places[t.entry] = p
			names.Add(p[0].File)
			if p[1].File != "" {
				names.Add(p[1].File)
			}
			others[t.entry] = c.otherPlaces(t.entry, elsewhere[t], p)
			for _, other := range others[t.entry] {
				names.Add(other.File)
			}
		}
	}
	messages := func(list []*tally[*event.Console]) (out []report.Message) {
		for i, t := range list {
			p, e := places[t.entry], t.entry
			out = append(out, report.Message{
				Message: report.Shorten(cmp.Or(t.text.String(), report.MessageText(e))), Source: names.Name(p[0]), Generated: p[0].Generated, LoggedAt: names.Name(p[1]), Count: t.count, Tab: c.Tab(e.Tab()), Ref: t.ref,
				Also: alsoAt(names, others[e]),
			})
			if c.Options.Introduced != nil && i < maxIntroduced {
				out[i].IntroducedBy = c.Options.Introduced(e)
			}
		}
		return out
	}
	d.NewErrors, d.NewWarnings, d.Omitted = messages(errors), messages(warnings), r.omitted
	d.ShownErrors, d.ShownWarnings = keysOf(errors), keysOf(warnings)
	for i, t := range errors {
		c.mentions.add(t.entry, &d.NewErrors[i].Also, &d.ShownErrors)
	}
	return d
}

// maxElsewhere bounds the other places that an entry of several messages names.
const maxElsewhere = 3

// addElsewhere adds a message to those of a group that come from another line than its first, and than each other.
func addElsewhere(list []*event.Console, first, e *event.Console) []*event.Console {
	same := func(other *event.Console) bool {
		return other.URL == e.URL && other.Line == e.Line && other.Column == e.Column
	}
	if len(list) == maxElsewhere || e.URL == "" || same(first) || slices.ContainsFunc(list, same) {
		return list
	}
	return append(list, e)
}

// otherPlaces returns from where else the messages of a group came. Lines of the same code are compared alone: an edit moves them.
func (c *computation) otherPlaces(first *event.Console, group []*event.Console, known [2]report.Place) (places []report.Place) {
	if len(group) == 0 || report.FailedLoad(first) != "" || c.LoadedSince(first) {
		return nil
	}
	for _, e := range group {
		p := c.Options.PlaceOf(e)
		same := func(other report.Place) bool {
			return alike.WithoutBusters(other.File) == alike.WithoutBusters(p.File) && (other.Line == p.Line || e.URL != first.URL)
		}
		if p.File != "" && !c.LoadedSince(e) && !slices.ContainsFunc(slices.Concat(places, known[:]), same) {
			places = append(places, p)
		}
	}
	return places
}

// alsoAt says from where else a message came.
func alsoAt(names report.Sources, places []report.Place) (text string) {
	for _, p := range places {
		text = joined(text, "at "+report.Marked(names.Name(p), p.Generated))
	}
	return text
}

// foldLogs removes errors that only log the message of another one.
func (c *computation) foldLogs(list []*tally[*event.Console]) []*tally[*event.Console] {
	errors := make([]*event.Console, len(list))
	for i, t := range list {
		errors[i] = t.entry
	}
	logs := c.duplicates.ListsErrors(errors)
	return slices.DeleteFunc(list, func(t *tally[*event.Console]) bool { return logs[t.entry] })
}

// uncaughtFirst orders errors that nothing caught before others.
func uncaughtFirst(a, b *event.Console) int {
	switch {
	case a.IsUncaught() == b.IsUncaught():
		return 0
	case a.IsUncaught():
		return -1
	}
	return 1
}

// own returns an entry of the console for the report to keep. One that was read from disk is a copy, which does not keep
// the block in memory that it was in.
func (c *computation) own(pos uint64, e *event.Console) *event.Console {
	if pos >= c.View.FirstInRing(capture.ConsoleSection) {
		return e
	}
	owned := *e
	owned.Text, owned.Request = strings.Clone(e.Text), strings.Clone(e.Request)
	return &owned
}

// loggedAt is where the project's code logged an error that came from another place; the zero Place where it did not.
func loggedAt(o *window.Options, e *event.Console, source report.Place) report.Place {
	if o.Logged == nil || e.Logged == "" {
		return report.Place{}
	}
	p, own := o.Logged(e)
	if !own || p.File == source.File && p.Line == source.Line {
		return report.Place{}
	}
	return p
}

// maxPlaced bounds of how many entries of one group the original place is looked for.
const maxPlaced = 16

// place is where the entries of a group came from: the original place of the newest for which one is known (the
// map of older code may be gone), else the generated one of the first.
func (c *computation) place(first *event.Console, group []*event.Console) report.Place {
	if report.FailedLoad(first) != "" {
		return report.Place{} // it says the address
	}
	for i := len(group) - 1; i >= max(0, len(group)-maxPlaced); i-- {
		if p, ok := c.Options.Original(group[i]); ok {
			return p
		}
	}
	return c.Options.PlaceOf(first)
}
