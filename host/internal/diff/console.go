package diff

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// messageKey is what makes two messages one entry.
type messageKey struct {
	level       event.Level
	fingerprint string
	tab         int
}

func (c *computation) console() *ConsoleDiff {
	d := &ConsoleDiff{}
	c.duplicates.findOverlays(c)
	found := map[messageKey]*tally[*event.Console]{}
	same := map[*tally[*event.Console]][]*event.Console{}
	var errors, warnings []*tally[*event.Console]
	repeated := 0
	d.TotalNewEntries, _ = inScope(&c.o, c.section, c.v.Console(), c.from.Pos[capture.Console], func(pos uint64, e *event.Console) {
		if !c.tells(pos, e) || c.hides(e) || c.duplicates.has(c, e) {
			return
		}
		e = c.own(pos, e)
		level := levelOf(e, c.o.Noise)
		k := messageKey{level: level, tab: c.tab(e.Tab())}
		var entry alike.Entry
		if c.o.Given == nil {
			k.fingerprint = alike.Text(e) + loadOf(e)
		} else {
			entry, k.fingerprint = alike.Message(e, level)
			k.fingerprint += loadOf(e)
			severity := Warning
			if level == event.Error {
				severity = Error
			}
			known, same := entry, k.fingerprint
			if !c.o.given(entry) {
				if storm := stormEntry(e); c.o.given(storm) {
					known, same = storm, withoutNumbers(e.Text)
				}
			}
			if r := c.repeated.take(&c.o, known, severity, c.section, k.tab, level.String()+same, textOf(e)); r != nil {
				repeated++
				if r.message == nil {
					r.message = e
				}
				r.mixed = r.mixed || lineOf(r.message) != lineOf(e)
				return
			}
		}
		t := found[k]
		if t == nil {
			t = &tally[*event.Console]{entry: e, ref: c.ref(pos, e)}
			found[k] = t
			if level == event.Error {
				errors = append(errors, t)
			} else {
				warnings = append(warnings, t)
			}
		} else {
			t.ref.add(pos)
			if t.entry.Via == "console" && e.Via != "console" {
				t.entry = e // the error itself, not the line that logs it
			}
		}
		t.count++
		t.last = pos
		if c.o.Original != nil {
			if len(same[t]) == 2*maxPlaced {
				same[t] = append(same[t][:0], same[t][maxPlaced:]...)
			}
			same[t] = append(same[t], e)
		}
		if c.o.Given != nil {
			t.keys = addEntry(t.keys, entry)
		}
	})
	errors, warnings = stormFinder{c}.foldStorms(errors, warnings, repeated)
	c.count(len(errors), "new console error", Error)
	c.count(len(warnings), "new console warning", Warning)

	r := newRoom()
	names := sourceNames{}
	errors, warnings = take(r, byFrequency(errors)), take(r, byFrequency(warnings))
	places := map[*event.Console][2]Place{}
	for _, list := range [][]*tally[*event.Console]{errors, warnings} {
		for _, t := range list {
			p := [2]Place{c.place(t.entry, same[t])}
			p[1] = loggedAt(&c.o, t.entry, p[0])
			places[t.entry] = p
			names.add(p[0].File)
			if p[1].File != "" {
				names.add(p[1].File)
			}
		}
	}
	messages := func(list []*tally[*event.Console]) (out []Message) {
		for i, t := range list {
			p, e := places[t.entry], t.entry
			out = append(out, Message{
				Message: Shorten(textOf(e)), Source: names.source(p[0]), Generated: p[0].Generated, LoggedAt: names.source(p[1]), Count: t.count, Tab: c.tab(e.Tab()), Ref: t.ref,
			})
			if c.o.Introduced != nil && i < maxIntroduced {
				out[i].IntroducedBy = c.o.Introduced(e)
			}
		}
		return out
	}
	d.NewErrors, d.NewWarnings, d.Omitted = messages(errors), messages(warnings), r.omitted
	d.errors, d.warnings = keysOf(errors), keysOf(warnings)
	return d
}

// loadOf returns the address of a log entry of the browser about a failed load, as it is shown; "" for any other entry. The
// report has such an entry only if it has no request to show, because capture began later.
func loadOf(e *event.Console) string {
	if e.Via != "browser" || e.Category != "network" || e.URL == "" || !strings.HasPrefix(e.Text, "Failed to load resource") {
		return ""
	}
	origin, path := capture.SplitURL(e.URL)
	return shownURL(e.Origin(), origin, path)
}

// textOf returns what a message says.
func textOf(e *event.Console) string {
	if address := loadOf(e); address != "" {
		return strings.TrimSpace(e.Text) + " " + address
	}
	return e.Text
}

// own returns an entry of the console for the report to keep. One that was read from disk is a copy, which does not keep
// the block in memory that it was in.
func (c *computation) own(pos uint64, e *event.Console) *event.Console {
	if pos >= c.v.FirstInRing(capture.ConsoleSection) {
		return e
	}
	owned := *e
	owned.Text, owned.Request = strings.Clone(e.Text), strings.Clone(e.Request)
	return &owned
}

// loggedAt is where the project's code logged an error that came from another place; the zero Place where it did not.
func loggedAt(o *Options, e *event.Console, source Place) Place {
	if o.Logged == nil || e.Logged == "" {
		return Place{}
	}
	p, own := o.Logged(e)
	if !own || p.File == source.File && p.Line == source.Line {
		return Place{}
	}
	return p
}

// toldByBackfill recognises the browser's log entry about a failed request that was found in the
// browser's records afterwards, under another id: where capture began late, entries are replayed
// before those records are read, so that the requests lie in the span too.
func (c *computation) toldByBackfill(e *event.Console) bool {
	url, ok := failedAddress(e)
	if !ok {
		return false
	}
	if c.backfilled == nil {
		c.backfilled = map[tabURL]bool{}
		for _, n := range c.v.Network().From(c.from.Pos[capture.Network]) {
			if n.Backfilled && n.Failed() {
				c.backfilled[tabURL{n.Tab(), n.URL}] = true
			}
		}
	}
	return c.backfilled[tabURL{e.Tab(), url}]
}

// failedAddress is the address that a log entry of the browser tells of as failed: one of a request, or of an element
// that could not load what it shows.
func failedAddress(e *event.Console) (url string, ok bool) {
	if e.Via != "browser" || e.Level != event.Error {
		return "", false
	}
	if e.Category == "network" {
		return e.URL, true
	}
	rest, ok := strings.CutPrefix(e.Text, "Failed to load <")
	if !ok {
		return "", false
	}
	_, url, ok = strings.Cut(rest, "> ")
	return url, ok
}

type tabURL struct {
	tab int
	url string
}

// maxPlaced bounds of how many entries of one group the original place is looked for.
const maxPlaced = 16

// place is where the entries of a group came from: the original place of the newest for which one is known (the
// map of older code may be gone), else the generated one of the first.
func (c *computation) place(first *event.Console, group []*event.Console) Place {
	if loadOf(first) != "" {
		return Place{} // it says the address
	}
	for i := len(group) - 1; i >= max(0, len(group)-maxPlaced); i-- {
		if p, ok := c.o.Original(group[i]); ok {
			return p
		}
	}
	return place(first, c.o)
}

// Marked is a source as text, marked where it is no original place.
func Marked(source string, generated bool) string {
	if generated {
		return source + " (generated)"
	}
	return source
}

// maxSource bounds the name of a source, in bytes; its end is kept.
const maxSource = 80

// sourceNames shortens addresses of scripts: to the base name, to the path where base names clash, and
// not at all where paths do (of two origins).
type sourceNames map[string]string // base name, or / and path → the address that has it, "" when several do

func (s sourceNames) add(url string) {
	address, path, base := sourcePath(url)
	for _, name := range []string{base, "/" + path} {
		if other, known := s[name]; known && other != address {
			s[name] = ""
		} else {
			s[name] = address
		}
	}
}

func (s sourceNames) source(p Place) string {
	if p.File == "" {
		return ""
	}
	address, path, name := sourcePath(p.File)
	if s[name] == "" || p.Shared {
		if name = path; s["/"+path] == "" {
			name = address
		}
	}
	// Here once more for what an older program kept.
	name = event.Tail(event.OneLine(name), maxSource)
	if p.Line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, p.Line)
}

// sourcePath is a script's address without query and fragment, the same without origin, and its last
// segment.
func sourcePath(url string) (address, path, base string) {
	address = url
	if i := strings.IndexAny(address, "?#"); i >= 0 {
		address = address[:i]
	}
	path = address
	if i := strings.Index(path, "://"); i >= 0 {
		path = path[i+3:]
		if slash := strings.IndexByte(path, '/'); slash >= 0 {
			path = path[slash+1:]
		}
	}
	base = path
	if i := strings.LastIndexByte(strings.TrimRight(path, "/"), '/'); i >= 0 {
		base = path[i+1:]
	}
	if base == "" {
		base, path = "(page)", "(page)"
	}
	return address, path, base
}

func (d *ConsoleDiff) filter(errorsOnly bool) int {
	if !errorsOnly {
		return 0
	}
	d.warnings = nil
	return dropAll(&d.NewWarnings)
}

func (d *ConsoleDiff) given() (shown []alike.Entry, over []uint64) {
	return slices.Concat(d.errors, d.warnings), nil
}

func (d *ConsoleDiff) quotes() bool { return len(d.NewErrors)+len(d.NewWarnings) > 0 }

func (d *ConsoleDiff) omitted() int { return d.Omitted }

func (d *ConsoleDiff) empty() bool { return d.TotalNewEntries == 0 }
