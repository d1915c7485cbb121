// Package cause finds the change of a file after which something first went wrong on a page.
//
// Guarantees:
//   - A cause has evidence: a frame of the error's stack in the lines that changed, a hot update that named the file, or
//     the order, where it is the only change since the page was without the error.
//   - A file that is again as the page had run it is no cause, and nothing that is hidden.
//   - In doubt there is no cause. Nothing is blamed on a change that the page had not loaded, on one after which the page
//     was without the error for a while or after the same request, or while a server has stopped answering.
//   - The same input gives the same result. It needs no clock, no files and no network.
package cause

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// Evidence is what supports a cause.
type Evidence string

// The kinds of evidence, the strongest first.
const (
	Stack     Evidence = "stack"
	HotUpdate Evidence = "hot_update"
	Order     Evidence = "order"
)

// Times in milliseconds.
const (
	// slack is how far the clocks of files and of a page differ.
	slack = 50
	// imports is how long after the answer that one of its modules is missing an import fails, at most: others are still loaded.
	imports = 2000
	// quiet is how long a page is without an error after an update, until the changes before it are not its cause.
	quiet = 200
	// prompt is how long after an update an error is a consequence of it without other evidence.
	prompt = 3000
	// late is how long after an error the update that caused it may be reported.
	late = 1500
	// trigger is how long after the answer of a request an error may follow from it.
	trigger = 1000
	// around is how far from an update the modules are named that it replaced.
	around = 30
	// lookBack is how long before an error the lines of its stack may have been changed.
	lookBack = 30 * 60 * 1000
)

// near is how many lines from a change a frame of a stack still speaks of it.
const near = 3

// Edit is a change of a file.
type Edit struct {
	*event.FileChange
	// Built is true for a file that a program makes. Nobody edits it.
	Built bool
}

// Frame is a line of a file. The file has any name that a page or a bundler gives it.
type Frame struct {
	File string
	Line int
	// Column counts UTF-16 units from 1. It is 0 or 1 where it is not known: the maps of some bundlers have lines alone.
	Column int
}

// Symptom is something that went wrong on a page.
type Symptom struct {
	Tab int
	// Origin is that of its page.
	Origin string
	// At is when it first appeared, in milliseconds since the Unix epoch. Earlier is when the same appeared before.
	At      int64
	Earlier []int64
	// Until is when it ended, 0 for what has no duration.
	Until int64
	// Server is true if it is of the connection to a development server.
	Server bool
	// Frames are those of its stack in the project's own code, the innermost first.
	Frames []Frame
	// Named are files that a bundler names in it. A line is 0 where it names none, and [ofGenerated] where it is none of the file.
	Named []Frame
	// Text is what a message or a failed build says, where it may name other files too.
	Text string
	// Outside is true if its text says that something outside of the project failed.
	Outside bool
	// Status is that of the answer to a request, Thrown is true if that reports an error of the server's code.
	Status int
	Thrown bool
	// Unsaid is true for an answer that only says that its server failed.
	Unsaid bool
	// Missing is the address of a request whose answer says that there is nothing, Imported that of a module that could not be imported.
	Missing, Imported string
	// Endpoint is that of a request.
	Endpoint event.EndpointKey
	// Mended is the time from when a request failed last until it was answered, where it was before it failed now.
	Mended Span
}

// History is what happened in a tab. Its lists are sorted by time.
type History struct {
	// Updates are loads and hot updates, Loads the loads among them, Inputs what a user or an agent did.
	Updates, Loads, Inputs []int64
	// Did is what each of the inputs was, by its time, where that is known.
	Did map[int64]Input
	// Lost is when the page lost its connection to the development server, because the page or the server ended.
	Lost []int64
	// Modules are files that hot updates named, Scripts those that were loaded, by when they were requested.
	Modules, Scripts []Module
	// Missing are scripts that the page's server did not have, by when it answered.
	Missing []Module
	// Errors are when messages of errors appeared.
	Errors []int64
	// Outages are failures of requests that had been answered before, in no order.
	Outages []Span
	// Unsaid are answers that only say that a server failed which had answered before, in no order.
	Unsaid []Span
	// Answers are requests of scripts that were answered, in no order.
	Answers []Answer
	// Visits are the pages that were loaded or navigated to.
	Visits []Visit
	// Frames returns the frames of the project's own code that made a request. Nil is for those as the page has them.
	Frames func(*event.Network) []Frame
}

// Visit is when a page was loaded or navigated to. Page is its address without query and fragment.
type Visit struct {
	At   int64
	Page string
}

// Span is a time in milliseconds since the Unix epoch.
type Span struct{ Began, Ended int64 }

// Answer is a request of a script to an endpoint that was answered.
type Answer struct {
	Span
	Endpoint event.EndpointKey
	// Content is what is known of its content.
	Content Content
	// Request is what was recorded of it.
	Request *event.Network
}

// Input is what a user or an agent did, with what.
type Input struct{ Type, Target, Selector, Value string }

// Module is a file that a hot update named, or a page loaded.
type Module struct {
	At   int64
	File string
}

// Cause is a change with its evidence.
type Cause struct {
	*event.FileChange
	// Line is the line that the evidence is about, 0 where it is about none.
	Line     int
	Evidence []Evidence
}

// Reasons why there is no cause.
const (
	NoChange   = "no file changed before it"
	Outage     = "a server that had answered before did not answer"
	Unsaid     = "a server that had answered before answered that it failed, without a cause"
	Existed    = "the same was there before the change"
	NotLoaded  = "the page had not loaded the change"
	Ran        = "the page had run the change without it"
	Outside    = "its text says that something outside of the project failed"
	NoEvidence = "the evidence does not name one change"
)

// Finder finds causes among changes.
type Finder struct {
	// Edits are the changes in their order.
	Edits []Edit
	// Cut is true where changes before them are left out.
	Cut bool
	Known
}

// Known tells what is known of changes apart from themselves. Each of its functions may be nil.
type Known struct {
	// Elsewhere reports whether a page of an origin that names files, by how their paths end, may be that of another workspace
	// than a change's. Nil is for no other workspace.
	Elsewhere func(e *event.FileChange, origin string, files []string) bool
	// Hidden reports whether a change is of a file that is shown to nobody. Nil is for none.
	Hidden func(e *event.FileChange) bool
	// Reported returns the files that calls are reported to have edited between two times, in the workspace with a root, as it names
	// them, or elsewhere, by their whole paths. Nil is for no reports.
	Reported func(root string, from, to int64) []string
}

// Find returns the cause of a symptom, nil and the reason where there is none.
func (f *Finder) Find(s Symptom, h *History) (*Cause, string) {
	near := func(o Span) bool { return s.At-prompt <= o.Ended && o.Began <= max(s.At, s.Until)+slack }
	if s.Server || slices.ContainsFunc(h.Outages, near) {
		return nil, Outage
	}
	if s.Outside {
		return nil, Outside
	}
	var before []made
	for i := range f.Edits {
		if at, ok := f.Edits[i].madeBefore(&s, h); ok {
			before = append(before, made{&f.Edits[i], at})
		}
	}
	slices.SortStableFunc(before, func(a, b made) int { return cmp.Compare(a.at, b.at) })
	if len(before) == 0 {
		return nil, NoChange
	}
	if slices.ContainsFunc(h.Unsaid, near) { // its code may have failed, or what it needs
		if only := served(before, &s, h); only != nil && !f.Cut && f.supported(only, before, &s, h) {
			return only, ""
		}
		return nil, Unsaid
	}
	found, why := f.among(before, &s, h)
	if gone := removed(before, &s, h); gone != nil {
		if found != nil && found.FileChange == gone.FileChange && found.Evidence[0] != Stack {
			gone.Evidence = append(gone.Evidence, found.Evidence...)
		}
		if f.supported(gone, before, &s, h) {
			return gone, ""
		}
		return nil, NoEvidence
	}
	if found == nil && why == NoEvidence {
		if again := f.reloaded(before, &s, h); again != nil && !denied(again, &s) {
			found, why = again, ""
		}
	}
	if i := slices.IndexFunc(before, func(e made) bool { return found != nil && e.FileChange == found.FileChange }); i >= 0 && ran(before[i], &s, h) {
		return nil, Ran
	}
	if found == nil || !f.supported(found, before, &s, h) {
		return nil, cmp.Or(why, NoEvidence)
	}
	return found, ""
}

// among returns which of the changes before a symptom is the cause.
func (f *Finder) among(before []made, s *Symptom, h *History) (*Cause, string) {
	batch, since := lastLoaded(before, s, h)
	if rest := withoutUndone(before, batch); len(rest) == 0 {
		return nil, NoChange
	} else if len(rest) < len(before) {
		return f.among(rest, s, h)
	}
	if f.Cut && len(batch) == len(before) {
		return nil, NoEvidence
	}
	if len(batch) == 0 {
		if found := cmp.Or(settings(before, s, h), served(before, s, h)); found != nil {
			return found, ""
		}
		return touched(before, s, h)
	}
	if slices.ContainsFunc(s.Earlier, func(at int64) bool { return since <= at && at < batch[0].at-slack }) {
		return nil, Existed
	}
	found, why := loadedWith(batch, before, s, h)
	if found == nil && why == NoEvidence || found != nil && denied(found, s) {
		if found = gone(batch, s); found == nil {
			return nil, NoEvidence
		}
		why = ""
	}
	return found, why
}

// made is a change with the time at which it was made.
type made struct {
	*Edit
	at int64
}

// madeBefore returns when a change was made, false if that was not before a symptom.
func (e *Edit) madeBefore(s *Symptom, h *History) (at int64, ok bool) {
	switch {
	case e.Edited != 0:
		at = e.Edited
	case e.At <= s.At:
		at = e.At
	case e.Since <= s.At: // it may have been before; what the page loaded then says so
		if at = latest(h.Updates, s.At+slack); at < e.Since {
			return 0, false
		}
	default:
		return 0, false
	}
	return at, at <= s.At+slack && at >= s.At-lookBack
}

// latest returns the last of sorted times that is not after a time, 0 if there is none.
func latest(times []int64, until int64) int64 {
	i, _ := slices.BinarySearch(times, until+1)
	if i == 0 {
		return 0
	}
	return times[i-1]
}

// within reports whether one of sorted times is in a span.
func within(times []int64, from, to int64) bool { return latest(times, to) >= from && from <= to }

// lastLoaded returns the changes with which a page was loaded or updated just before a symptom, and since when the page
// was without them. There are none if the symptom came later, or after an input.
func lastLoaded(before []made, s *Symptom, h *History) (batch []made, since int64) {
	batch = last(before, s, h)
	update := after(h.Updates, batch[len(batch)-1].at-slack)
	if update > s.At { // the one before, or the symptom was reported before its update
		if was := after(h.Updates, batch[0].at-slack); was <= s.At {
			update = was
		}
	}
	if update > s.At+late || s.At-prompt > update || within(h.Inputs, update+1, s.At) {
		return nil, 0
	}
	since = latest(h.Updates, batch[0].at-slack)
	for since > 0 && !shows(since, batch[0].Place, s, h) {
		since = latest(h.Updates, since-1)
	}
	return batch, since
}

// last returns the changes since the last update between two of them.
func last(before []made, s *Symptom, h *History) []made {
	first := len(before) - 1
	for ; first > 0; first-- {
		// An update between two changes shows that the first one is not the cause, unless the symptom may still be of it.
		at, shown := before[first].at, latest(h.Updates, before[first].at-quiet)
		if shown > before[first-1].at && (within(h.Updates, at-slack, s.At+slack) || s.At-shown > prompt) {
			break
		}
	}
	return before[first:]
}

// settings returns the one change that took effect with the load that showed a symptom, where all other changes had been
// loaded before.
func settings(before []made, s *Symptom, h *History) *Cause {
	before = byHand(before)
	if len(before) == 0 {
		return nil
	}
	load, batch := latest(h.Loads, s.At+slack), last(before, s, h)
	setup := waiting(batch, before, s, h)
	if len(setup) != 1 || isInstalled(setup[0].Path) || s.At-prompt > load || within(h.Inputs, load+1, s.At) {
		return nil
	}
	if e, _ := blame(before, s.Frames, 0); e != nil || slices.ContainsFunc(batch, func(e made) bool { return !isSetup(e.Path) && !isStyle(e.Path) }) {
		return nil
	}
	loaded := latest(h.Loads, setup[0].At)
	if slices.ContainsFunc(s.Earlier, func(at int64) bool { return loaded <= at && at < load-slack }) {
		return nil // the same was there before
	}
	return &Cause{FileChange: setup[0].FileChange, Line: onlyLine(setup[0].FileChange), Evidence: []Evidence{Order}}
}

// onlyLine returns the line of a change in one place, 0 of another one.
func onlyLine(e *event.FileChange) int {
	if len(e.Lines) != 1 {
		return 0
	}
	return max(1, e.Lines[0].At)
}

// doubtful reports whether a load showed a symptom that an earlier change may have caused: a load runs everything again, also
// what hot updates replaced without running it.
func doubtful(batch, before []made, s *Symptom, h *History) bool {
	last := latest(h.Loads, batch[0].at-slack)
	return within(h.Loads, batch[len(batch)-1].at-slack, s.At+slack) &&
		slices.ContainsFunc(before[:len(before)-len(batch)], func(e made) bool { return e.at > last && !e.Built })
}

// unload is how long before a load the page before it lost its connection to the server because it was left.
const unload = 300

// waiting returns the changes that take effect with a load of the page or a start of the server, if a load showed a symptom
// which may be the first one with them. Other changes may have followed while that load was under way.
func waiting(batch, before []made, s *Symptom, h *History) (list []*Edit) {
	load, batch := latest(h.Loads, s.At+slack), byHand(batch)
	if len(batch) == 0 || load == 0 || load < min(batch[len(batch)-1].at-slack, s.At-prompt) {
		return nil
	}
	last := latest(h.Loads, min(batch[0].at-slack, s.At-prompt, load-1))
	if within(h.Lost, last+1, load-unload) { // the server was started again: loads before that had the former settings
		last = 0
	}
	pending := slices.DeleteFunc(byHand(before), func(e made) bool { return e.at <= last || e.at-slack > load || !isSetup(e.Path) })
	for _, e := range slices.Backward(lasting(pending)) {
		if !slices.ContainsFunc(list, func(o *Edit) bool { return o.Place == e.Place && o.Path == e.Path }) {
			list = append(list, e.Edit)
		}
	}
	return together(list)
}

// byHand leaves out what programs made.
func byHand(list []made) []made {
	return slices.DeleteFunc(slices.Clone(list), func(e made) bool { return e.Built })
}

// together leaves out changes of dependencies that were recorded together with one that says more of what was installed.
func together(list []*Edit) []*Edit {
	return slices.DeleteFunc(slices.Clone(list), func(e *Edit) bool {
		return isDependency(e.Path) && slices.ContainsFunc(list, func(o *Edit) bool {
			return o.Place == e.Place && o.Snapshot == e.Snapshot && isDependency(o.Path) && rank(o.Path) < rank(e.Path)
		})
	})
}

// shows reports whether an update would have shown a symptom. One that replaced only style sheets, or modules that have nothing
// to do with it, would not.
func shows(update int64, place string, s *Symptom, h *History) bool {
	if slices.Contains(h.Loads, update) {
		return true
	}
	files := s.Frames
	if len(files) == 0 {
		files = s.Named
	}
	named := false
	for _, m := range h.Modules {
		if m.At < update-around || m.At > update+around {
			continue
		}
		named = true
		module, _ := Tail(m.File, place)
		if len(files) == 0 && !isStyle(module) || slices.ContainsFunc(files, func(f Frame) bool {
			file, _ := Tail(f.File, place)
			return file != "" && (strings.HasSuffix("/"+file, "/"+module) || strings.HasSuffix("/"+module, "/"+file))
		}) {
			return true
		}
	}
	return !named
}

// after returns the first of sorted times that is not before a time, one that never comes if there is none.
func after(times []int64, from int64) int64 {
	i, _ := slices.BinarySearch(times, from)
	if i == len(times) {
		return math.MaxInt64
	}
	return times[i]
}

// loadedWith returns which of the changes with which a page was loaded is the cause.
func loadedWith(batch, before []made, s *Symptom, h *History) (*Cause, string) {
	loaded := map[*Edit]bool{}
	var edited []*Edit // the last change of each file
	for _, e := range slices.Backward(batch) {
		same := func(o *Edit) bool { return o.Place == e.Place && o.Path == e.Path }
		if !slices.ContainsFunc(edited, same) {
			edited = append(edited, e.Edit)
		}
		loaded[e.Edit] = true
	}
	written := together(slices.DeleteFunc(slices.Clone(edited), func(e *Edit) bool { return e.Built }))
	found := &Cause{}
	if e, line := blame(before, s.Frames, near); e != nil && loaded[e] {
		found.FileChange, found.Line = e.FileChange, line
		found.Evidence = append(found.Evidence, Stack)
	} else if e, line := blame(before, s.Named, near); e != nil && loaded[e] {
		found.FileChange, found.Line = e.FileChange, line
		found.Evidence = append(found.Evidence, Stack)
	}
	if found.FileChange == nil && failing(batch, before, s, h) {
		return nil, NoEvidence
	}
	var updated []*Edit
	for _, e := range written {
		if updates(e, batch, s, h) {
			updated = append(updated, e)
		}
	}
	setup := waiting(batch, before, s, h)
	if found.FileChange == nil && len(setup) > 0 && !slices.ContainsFunc(s.Named, func(n Frame) bool {
		return slices.ContainsFunc(written, func(e *Edit) bool { return names(n.File, e) })
	}) {
		others := slices.ContainsFunc(written, func(e *Edit) bool { return !isSetup(e.Path) && !isStyle(e.Path) })
		if len(setup) > 1 || others {
			return nil, NoEvidence
		}
		updated, written = nil, setup
	}
	if found.FileChange == nil {
		switch {
		case len(updated) == 1:
			found.FileChange = updated[0].FileChange
		case len(written) == 1:
			found.FileChange = written[0].FileChange
		case len(written) == 0: // what programs wrote as the page was loaded says nothing of what was edited before
			return touched(before, s, h)
		default:
			return nil, NoEvidence
		}
		if isInstalled(found.Path) {
			return nil, NoEvidence
		}
		if len(updated) == 0 && !isSetup(found.Path) && doubtful(batch, before, s, h) {
			return nil, NoEvidence
		}
		found.Line = onlyLine(found.FileChange)
	}
	same := func(e *Edit) bool { return e.Place == found.Place && e.Path == found.Path }
	if slices.ContainsFunc(updated, same) {
		found.Evidence = append(found.Evidence, HotUpdate)
	}
	if len(written) == 1 && same(written[0]) {
		found.Evidence = append(found.Evidence, Order)
	}
	if len(found.Evidence) == 1 && found.Evidence[0] == Order && (unfit(found.Path, s) || h.replacedOthers(batch, s)) || isStyle(found.Path) && isOfCode(s) && found.Evidence[0] != Stack {
		return nil, NoEvidence
	}
	return found, ""
}

// failing reports whether the line in which the code failed was changed just before somebody made other changes: the page was
// not without the symptom for long enough.
func failing(batch, before []made, s *Symptom, h *History) bool {
	e, _ := blame(before, s.Frames[:min(len(s.Frames), 1)], 0)
	batch = byHand(batch)
	return e != nil && len(batch) > 0 && slices.ContainsFunc(before, func(b made) bool {
		return b.Edit == e && b.at < batch[0].at && batch[0].at-prompt < after(h.Updates, b.at-slack)
	})
}

// updates reports whether a hot update after the changes, or what a bundler says, names a file.
func updates(e *Edit, batch []made, s *Symptom, h *History) bool {
	for _, n := range s.Named {
		if names(n.File, e) {
			return true
		}
	}
	at := batch[0].at
	for _, b := range batch {
		if b.Edit == e {
			at = b.at
		}
	}
	return slices.ContainsFunc(h.Modules, func(m Module) bool {
		return at-slack <= m.At && m.At <= s.At+late && names(m.File, e)
	})
}

// touched returns the change of the line in which the code failed, for a symptom that came after an input or by itself.
func touched(before []made, s *Symptom, h *History) (*Cause, string) {
	e, line := blame(before, s.Frames, 0)
	if e == nil {
		return nil, NoEvidence
	}
	at, last := int64(0), int64(0) // of the change, and of the one before in the same file
	for _, b := range before {
		switch {
		case b.Edit == e:
			at = b.at
		case at == 0 && b.Place == e.Place && b.Path == e.Path:
			last = b.at
		}
	}
	if !h.loadedChange(made{e, at}, s) {
		return nil, NotLoaded
	}
	if undone(made{e, at}, before, h) || slices.ContainsFunc(s.Earlier, func(t int64) bool { return last <= t && t < at-slack }) {
		return nil, Existed
	}
	if why := clean(made{e, at}, before, s, h); why != "" {
		return nil, why
	}
	return &Cause{FileChange: e.FileChange, Line: line, Evidence: []Evidence{Stack}}, ""
}
