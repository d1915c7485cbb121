package standing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/window"
)

// Spell is the time in which a page was broken in one way. Times are in milliseconds since the Unix epoch.
type Spell struct {
	Tab int
	// From is when it first appeared. To is when it ended, 0 if nothing known ended it.
	From, To int64
	// Seen is each time at which it appeared, From included.
	Seen []int64
	key  string
}

// between is how long after a problem ended the same is still that problem: an update or a load ran what fails again.
const between = 3000

// Originals returns the original files of the code that an error or a request comes from, as far as they are known.
type Originals func(event.Event) []string

// Spells returns when the pages in scope were broken, as far as the buffers have it: by errors, requests that fail, error overlays,
// crashes, and pages without content. An error is over with the next load of its page, and with a hot update that may have run its
// code. A hot update of other files says nothing of it. Where the update's files or the error's code are not known, it is taken for
// one that may have. The end of a tab is not among the ends. Originals are asked for code of a bundle; nil knows none.
func Spells(v *capture.View, o window.Options, originals Originals) []Spell {
	h := Of(v)
	o.Over = nil
	list := append(h.reported(o, originals), h.visible(o)...)
	slices.SortStableFunc(list, func(a, b Spell) int { return cmp.Compare(a.From, b.From) })
	var spells []Spell
	last := map[string]int{} // the index of the newest spell of each problem
	for _, s := range list {
		i, known := last[s.key]
		if !known || spells[i].To > 0 && s.From > spells[i].To+between {
			s.Seen = []int64{s.From}
			last[s.key] = len(spells)
			spells = append(spells, s)
			continue
		}
		spells[i].To = s.To
		spells[i].Seen = append(spells[i].Seen, s.From)
	}
	return spells
}

// reported returns a spell for each error of the console and each request that failed.
func (h *History) reported(o window.Options, originals Originals) (list []Spell) {
	answered := map[event.EndpointKey][]int64{}
	var failed []*event.Network
	window.Entries(h.v.Start(), h.v, o, func(entry window.Entry) {
		switch e := entry.Event.(type) {
		case *event.Console:
			if e.Level == event.Error && !entry.Hidden() {
				list = append(list, Spell{
					Tab: e.Tab(), From: e.At, To: h.ended(e.Tab(), e.At, codeOf(e, append(placesOf(e.Stack), e.URL, noise.FailedModule(e)), originals)),
					key: fmt.Sprint("console ", e.Tab(), alike.Text(e)),
				})
			}
		case *event.Network:
			switch {
			case e.Answered():
				answered[capture.KeyOf(e)] = append(answered[capture.KeyOf(e)], e.At)
			case e.Failed() && !entry.Hidden():
				failed = append(failed, e)
			}
		}
	})
	for _, e := range failed {
		s := Spell{Tab: e.Tab(), From: e.At, To: h.ended(e.Tab(), e.At, codeOf(e, placesOf(e.Stack), originals)), key: fmt.Sprint("network ", e.Tab(), capture.KeyOf(e))}
		for _, at := range answered[capture.KeyOf(e)] {
			if at > e.At && (s.To == 0 || at < s.To) {
				s.To = at
			}
		}
		list = append(list, s)
	}
	return list
}

// visible returns a spell for each error overlay, each crash, and each time without content.
func (h *History) visible(o window.Options) (list []Spell) {
	shown := map[capture.ElementKey]int{} // indexes in the list
	for _, e := range h.v.DOM().InRing().From(0) {
		switch {
		case !o.InScope(event.InTab(e.Tab(), cmp.Or(e.Element.Origin, capture.OriginOf(h.of(e.Tab()).address(e.At))))):
		case e.Op == "appeared" && alike.IsOverlay(e.Element.Selector):
			shown[e.Element] = len(list)
			message, _ := alike.CutOverlay(e.Element.Text) // it may get its place later
			list = append(list, Spell{Tab: e.Tab(), From: e.At, key: fmt.Sprint("overlay ", e.Tab(), alike.Fingerprint(message))})
		case e.Op == "gone":
			if i, ok := shown[e.Element]; ok {
				list[i].To = e.At
			}
		case e.Op == "crashed":
			list = append(list, Spell{Tab: e.Tab(), From: e.At, To: h.ended(e.Tab(), e.At, code{}), key: fmt.Sprint("crash ", e.Tab())})
		case e.Op == "emptied":
			if i := slices.IndexFunc(h.of(e.Tab()).empty, func(s span) bool { return s.from == e.At }); i >= 0 {
				list = append(list, Spell{Tab: e.Tab(), From: e.At, To: h.of(e.Tab()).empty[i].to, key: fmt.Sprint("empty ", e.Tab())})
			}
		}
	}
	return list
}

// ended returns when a page that went wrong at a time, in some code, was updated so that this may be over, 0 for not yet.
func (h *History) ended(tab int, at int64, in code) int64 {
	c := h.tabs[tab]
	if c == nil {
		return 0
	}
	i := c.during(at)
	if i >= 0 && at <= c.updates[i].last+thrownWithin {
		for _, name := range c.updates[i].files {
			in.files, in.modules = append(in.files, fileOf(name)), true
		}
	}
	for _, s := range c.empty {
		if at >= c.began(s.from) && (s.to == 0 || at <= s.to) {
			return s.to
		}
	}
	address := c.address(at)
	for _, u := range c.updates[i+1:] {
		switch {
		case u.began < at+apart, u.load != "" && address != "" && u.load != address:
		case u.load == "" && (u.failed || u.styles() || len(u.files) > 0 && !u.mayRun(&in)):
		default:
			return u.began
		}
	}
	return 0
}

// code is what something comes from.
type code struct {
	// files are the paths of its files, as the page names them. Modules is true if one of them is a module of the project in a
	// bundle, or replaced by an update that it came with.
	files   []string
	modules bool
	// originals returns the original files, nil where none are known. Asked has what it returned.
	originals func() []string
	asked     []string
}

// codeOf describes the code of an event, by the places in its stack.
func codeOf(e event.Event, places []string, originals Originals) (c code) {
	for _, place := range places {
		file := fileOf(place)
		c.files = append(c.files, file)
		c.modules = c.modules || strings.HasPrefix(place, "webpack-internal://") && !strings.Contains(file, "node_modules/")
	}
	if originals != nil {
		c.originals = func() []string { return originals(e) }
	}
	return c
}

// mayRun reports whether an update may have run some code. A bundler's update names modules: if the code is of a bundle whose map is
// not known, it may be any of them.
func (u *update) mayRun(in *code) bool {
	if u.has(in.files) {
		return true
	}
	bundled := !slices.ContainsFunc(u.files, func(name string) bool { return strings.HasPrefix(name, "/") })
	if !bundled || in.modules {
		return false
	}
	if in.originals != nil && in.asked == nil {
		in.asked = []string{}
		for _, name := range in.originals() {
			if file := fileOf(name); !slices.Contains(in.files, file) {
				in.asked = append(in.asked, file)
			}
		}
	}
	return len(in.asked) == 0 || slices.ContainsFunc(u.files, func(name string) bool {
		file := fileOf(name)
		return slices.ContainsFunc(in.asked, func(of string) bool { return strings.HasSuffix("/"+of, "/"+file) }) // it may be a whole path
	})
}

// has reports whether an update ran one of some files.
func (u *update) has(files []string) bool {
	return slices.ContainsFunc(u.files, func(name string) bool { return slices.Contains(files, fileOf(name)) })
}

// at is the line and column behind the name of a file.
var at = lazyregexp.New(`(?::\d+){1,2}$`)

// placesOf returns the places in frames of a stack, without lines.
func placesOf(stack []string) (places []string) {
	for _, frame := range stack {
		if _, place, ok := event.CutFrame(frame); ok {
			places = append(places, at().ReplaceAllString(strings.TrimSuffix(place, ")"), ""))
		}
	}
	return places
}

// fileOf returns the path of a file by the name that a page or its development server gives it.
func fileOf(name string) string {
	name, _, _ = strings.Cut(name, " via /") // Vite names who took the new code too
	name, _, _ = strings.Cut(name, "?")
	if _, rest, ok := strings.Cut(name, "://"); ok {
		_, name, _ = strings.Cut(rest, "/")
	}
	if strings.HasPrefix(name, "(") { // a layer of Next.js
		if _, rest, ok := strings.Cut(name, ")/"); ok {
			name = rest
		}
	}
	return strings.TrimPrefix(strings.TrimLeft(name, "./"), "[project]/") // of Turbopack
}
