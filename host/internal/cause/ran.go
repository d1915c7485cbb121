package cause

import (
	"cmp"
	"math"
	"slices"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/stacks"
)

// ran reports whether a page had run a change without a symptom: since it had the change, the same had come that the symptom
// follows from (an input, a load, or the answer of a request), and the page had lasted for as long without the symptom.
func ran(e made, s *Symptom, h *History) bool {
	r := run{History: h, edit: e, frames: s.Frames, from: h.runs(e, s), first: s.At}
	for _, at := range s.Earlier {
		if r.from <= at {
			r.first = min(r.first, at)
		}
	}
	if r.from >= r.first {
		return false
	}
	r.load, r.input, r.last = latest(h.Loads, r.first), latest(h.Inputs, r.first), max(h.taken(e, s, r.first), h.fetched(e, s))
	for _, a := range h.Answers {
		if a.caused(r.first) {
			r.near = append(r.near, a)
		}
	}
	switch {
	case r.answered(), r.drawn():
		return true
	case r.input > r.load:
		return r.acted()
	}
	return r.loaded()
}

// run is how a page ran a change until a symptom.
type run struct {
	*History
	edit   made
	frames []Frame // of the symptom
	// from is since when the page had the change, first when it first had the symptom since then.
	from, first int64
	// load and input are the last ones before the symptom, last is the last update that took the change, and near are the
	// answers that the symptom may follow from.
	load, input, last int64
	near              []Answer
}

// answered reports whether an answer had come before since the last update, and no input followed.
func (r *run) answered() bool {
	return slices.ContainsFunc(r.near, func(a Answer) bool {
		return r.had(a, func(b Answer) bool {
			return r.last <= b.Began && b.Ended+quiet <= a.Began && !within(r.Inputs, max(b.Ended, r.first-prompt), r.first)
		})
	})
}

// acted reports whether the last input had come before on the same page.
func (r *run) acted() bool {
	caused := func(a Answer) bool { return r.input-slack <= a.Began && a.Began <= r.input+trigger }
	if r.input < r.first-prompt && !slices.ContainsFunc(r.near, caused) {
		return false
	}
	for at := latest(r.Inputs, r.input-1); at > r.from; at = latest(r.Inputs, at-1) {
		if r.Did[at].same(r.Did[r.input]) && r.page(at) == r.page(r.input) && r.lasted(at, min(r.input, after(r.Loads, at)), r.first-r.input) {
			return true
		}
	}
	return false
}

// loaded reports whether the last load had come before on the same page, or all answers that followed it.
func (r *run) loaded() bool {
	asked := false
	all := !slices.ContainsFunc(r.near, func(a Answer) bool {
		if a.Began < r.load-slack {
			return false
		}
		asked = true
		return !r.had(a, func(b Answer) bool {
			return r.from-slack <= b.Began && b.Ended+quiet <= r.load && r.page(b.Began) == r.page(r.load) && !within(r.Inputs, b.Began-trigger, b.Began)
		})
	})
	if asked && all {
		return true
	}
	for at := latest(r.Loads, r.load-1); at > 0 && at >= r.from; at = latest(r.Loads, at-1) {
		if r.page(at) == r.page(r.load) && min(after(r.Loads, at+1), after(r.Inputs, at))-at >= r.first-r.load+quiet {
			return true
		}
	}
	return false
}

// drawn reports whether a hot update had drawn a component with an answer that came again with the last load. What the component
// itself is not in may be of that answer, and so may what it only draws: code that waits for the answer is where the request
// was made, and had not run if the answer is as before.
func (r *run) drawn() bool {
	e := r.edit
	if !isComponent(e.Path) || len(r.frames) == 0 {
		return false
	}
	inside := slices.ContainsFunc(r.frames, func(f Frame) bool { return names(f.File, e.Edit) })
	update := latest(r.Updates, r.load-quiet)
	for update >= r.from && !r.replaced(update, e.Edit) {
		update = latest(r.Updates, update-1)
	}
	if update < r.from || within(r.Errors, update-slack, r.load-1) || inside && r.input >= r.load {
		return false
	}
	former := func(b Answer) bool { return b.Ended < e.at }
	return slices.ContainsFunc(r.near, func(a Answer) bool {
		if inside && (a.Ended > r.first || r.asked(a, e.Edit) && !r.differs(a, former)) {
			return false
		}
		return r.load-slack <= a.Began && r.had(a, former)
	})
}

// caused reports whether a symptom at a time may follow from an answer.
func (a *Answer) caused(at int64) bool {
	return a.Began <= at && at-trigger <= a.Ended && a.Ended <= at+slack
}

// Content is what is known of the content of an answer: its size with that of its headers, its type, and its text if that was
// recorded.
type Content struct {
	Size       int64
	Mime, Text string
}

// known reports whether answers with the same content can be told from others.
func (c Content) known() bool { return c.Size > 0 }

// asked reports whether code of a file made the request of an answer.
func (h *History) asked(a Answer, e *Edit) bool {
	var frames []Frame
	switch {
	case a.Request == nil:
	case h.Frames != nil:
		frames = h.Frames(a.Request)
	default:
		for _, f := range stacks.ParseAll(a.Request.Stack) {
			frames = append(frames, Frame{File: f.URL, Line: f.Line})
		}
	}
	return slices.ContainsFunc(frames, func(f Frame) bool { return names(f.File, e) })
}

// differs reports whether the content of an answer is another one than that of all of a kind.
func (h *History) differs(a Answer, from func(b Answer) bool) bool {
	return a.Content.known() && !h.had(a, func(b Answer) bool { return from(b) && (b.Content == a.Content || !b.Content.known()) })
}

// had reports whether the request of an answer had another one of a kind.
func (h *History) had(a Answer, is func(b Answer) bool) bool {
	return slices.ContainsFunc(h.Answers, func(b Answer) bool { return b.Endpoint == a.Endpoint && is(b) })
}

// runs returns since when a page had a change, a time that never comes if it had not before a symptom. It may have loaded the file later. A load that followed at
// once may have had the file as it was. If nothing took the change later, the page still has what it had then.
func (h *History) runs(e made, s *Symptom) int64 {
	last, started := h.taken(e, s, s.At), int64(0)
	if isSetup(e.Path) {
		started = latest(h.Lost, last-unload) // of the server, when it had ended
	}
	for _, update := range h.Updates {
		early := update < e.at+quiet && update != last && slices.Contains(h.Loads, update)
		if update >= max(e.at-slack, started) && !early && h.takes(update, e, s) {
			return update
		}
	}
	if at := h.fetched(e, s); at > 0 {
		return at
	}
	return math.MaxInt64
}

// taken returns the last update until a time with which a page takes a change, 0 if there is none.
func (h *History) taken(e made, s *Symptom, until int64) int64 {
	update := latest(h.Updates, until)
	for update > 0 && !h.takes(update, e, s) {
		update = latest(h.Updates, update-1)
	}
	return update
}

// takes reports whether a page takes a change with an update that follows it.
func (h *History) takes(update int64, e made, s *Symptom) bool {
	if isSetup(e.Path) {
		return slices.Contains(h.Loads, update)
	}
	return shows(update, e.Place, s, h) || h.replaced(update, e.Edit)
}

// lasted reports whether a page ran on after an input for some time, or until after the answers of its requests.
func (h *History) lasted(input, end, long int64) bool {
	if end-input < quiet {
		return false
	}
	asked := false
	for _, a := range h.Answers {
		if input-slack <= a.Began && a.Began < end {
			if a.Ended+quiet > end {
				return false
			}
			asked = true
		}
	}
	return asked || end-input >= long
}

// page returns the address of the page at a time, "" if it is not known.
func (h *History) page(at int64) string {
	i, _ := slices.BinarySearchFunc(h.Visits, at+1, func(v Visit, t int64) int { return cmp.Compare(v.At, t) })
	if i == 0 {
		return ""
	}
	return h.Visits[i-1].Page
}

// replaced reports whether a hot update named a file.
func (h *History) replaced(update int64, e *Edit) bool {
	return slices.ContainsFunc(h.Modules, func(m Module) bool {
		return update-around <= m.At && m.At <= update+around && names(m.File, e)
	})
}

// clean returns why the line of a change is not at fault although the code failed in it, "" if it may be. If another change followed,
// the page had run the line before that, by the same input or for as long. If another file was changed with it, or shortly after it, the
// change must have written what failed. If another one was changed shortly before it, it must not be known that it did not.
func clean(e made, before []made, s *Symptom, h *History) string {
	former, update := latest(h.Updates, e.at-slack), h.firstWith(e, s)
	last, sure, others := int64(0), false, []made(nil)
	for _, o := range before {
		if o.at <= min(former, e.at-prompt) || o.Built || isStyle(o.Path) || isProse(o.Path) || !h.loadedChange(o, s) {
			continue
		}
		if o.at > update {
			last = o.at
		}
		if o.at-prompt < update && (o.Place != e.Place || o.Path != e.Path) {
			others = append(others, o)
		}
	}
	earlier := slices.ContainsFunc(s.Earlier, func(t int64) bool { return update <= t && t < last })
	if input := latest(h.Inputs, s.At); last == 0 || earlier {
		// the page ran the line only with all changes, or it failed before the last one
	} else if input >= s.At-prompt {
		for at := latest(h.Inputs, last); at > update; at = latest(h.Inputs, at-1) {
			if h.Did[at].like(h.Did[input]) {
				return Ran
			}
		}
	} else if last-update > s.At-latest(h.Updates, s.At) {
		return Ran
	}
	if earlier {
		others = slices.DeleteFunc(others, func(o made) bool { return o.at > update })
	}
	for _, o := range others {
		sure = sure || o.at > former
	}
	if len(others) == 0 {
		return ""
	}
	if is, known := wrote(e, before, others, s); known && !is || sure && !is {
		return NoEvidence
	}
	return ""
}

// like reports whether two inputs are the same: an edit may have changed one of their names.
func (i Input) like(o Input) bool {
	return i.Type == o.Type && (i.Selector == o.Selector || i.Target == o.Target)
}

// same reports whether two inputs are the same, with the same text.
func (i Input) same(o Input) bool { return i.like(o) && i.Value == o.Value }

// served returns the one change since a server answered a request, whose code failed with the same request, or which only says
// that it failed.
func served(before []made, s *Symptom, h *History) *Cause {
	if !s.Thrown && !s.Unsaid {
		return nil
	}
	answered := int64(0)
	for _, a := range h.Answers {
		if a.Endpoint == s.Endpoint && a.Ended <= s.At {
			answered = max(answered, a.Ended)
		}
	}
	var only *Edit
	for _, e := range lasting(slices.DeleteFunc(slices.Clone(before), func(e made) bool { return e.at <= answered })) {
		switch {
		case e.Built || isStyle(e.Path) || isProse(e.Path):
		case only != nil && (only.Place != e.Place || only.Path != e.Path):
			return nil
		default:
			only = e.Edit
		}
	}
	if answered == 0 || only == nil || isInstalled(only.Path) || isAsset(only.Path) || slices.ContainsFunc(h.Modules, func(m Module) bool { return m.At > answered && names(m.File, only) }) {
		return nil // a page's own code is not what the server ran
	}
	return &Cause{FileChange: only.FileChange, Line: onlyLine(only.FileChange), Evidence: []Evidence{Order}}
}

// unfit reports whether a file is none that a symptom follows from, if nothing but the order speaks for it.
func unfit(path string, s *Symptom) bool {
	return isProse(path) || isStyle(path) && len(s.Named) == 0 && (s.Status >= 500 || len(s.Frames) > 0)
}

// ofCode begins the message of an error that code threw.
var ofCode = lazyregexp.New(`^(?:Uncaught )?(?:\(in promise\) )?(?:Type|Reference|Syntax|Range|Eval|URI)?Error\b`)

// isOfCode reports whether a symptom is an error that code threw and of which no bundler names the files: no style sheet causes it.
func isOfCode(s *Symptom) bool { return len(s.Named) == 0 && ofCode().MatchString(s.Text) }
