// Package regression finds the moment of a session after which something broke, and how the browser did between moments.
//
// Guarantees:
//   - A moment that is found has evidence (package cause), or a command failed with its files and not with those before.
//   - Where what was recorded does not say it, the verdict is unknown, with the reason.
//   - An agent's command runs only with the user's grant, in a copy of the project.
package regression

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/observe/standing"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
)

// Finder finds regressions.
type Finder struct {
	Store    *capture.Store
	Rules    *noiserules.Rules
	Observer *observe.Observer
	Timeline *timeline.Timeline
	Edits    observe.Edits
	Clock    func() time.Time
}

// Tools are those of agents.
var Tools = []*tool.Tool[*Finder]{
	tool.New(tool.Definition{
		// A command runs in a copy of the project, and only with a grant that the user gave before.
		Name: "find_regression", Title: "Find what broke", Effect: tool.Adds,
		Description: "Find the first moment after which the browser reported errors, with its file diff. With run, bisect with a command (exit 0: fine) in copies of the project.",
		Arguments: `"from":{"type":"string","description":"good moment, default start"},
			"to":{"type":"string","description":"default now"},
			"run":{"type":"string","description":"shell command"}`,
	}, (*Finder).Find),
}

// Params are the parameters of find_regression.
type Params struct {
	moments.Where
	From string `json:"from"`
	To   string `json:"to"`
	Run  string `json:"run"`
}

// Verdicts of a [Regression].
const (
	Found   = "found"
	Unknown = "unknown"
	Clean   = "clean" // nothing broke
)

// Find finds the first moment of a span after which something broke.
func (f *Finder) Find(ctx context.Context, client *checkpoint.Client, p Params) (*Regression, error) {
	var needed []string
	if p.Run != "" && !client.User {
		needed = append(needed, grants.AgentsRun)
	}
	span, err := timeline.SpanOf(ctx, f.Timeline, client, p.Where, p.From, p.To, needed...)
	if err != nil {
		return nil, err
	}
	a := &Regression{SessionID: span.Session.ID}
	if p.Run != "" {
		noted(a, span.Note)
		return a, f.bisect(ctx, client, span, p, a)
	}
	found, err := f.recorded(ctx, client, span, a)
	noted(a, span.Note)
	if err != nil || found == nil {
		return a, err
	}
	if !span.Own(found) {
		a.Verdict, a.Reason = Unknown, "the change was in another workspace, "+grants.Printable(found.Place)
		return a, nil
	}
	a.Verdict = Found
	before, itself := span.Before(found.Snapshot)
	if err := f.name(ctx, client, before, itself, a); err != nil {
		return a, err
	}
	// The call that made the change may have another moment with the same snapshot, and its snapshot need not be there.
	id, m := timeline.OfChange(f.Timeline, found)
	if m != nil {
		a.Moment, a.Label = m.ID(), m.Label
		noteUnchanged(a, m)
	} else if itself == nil {
		a.Moment = id
	}
	return a, nil
}

// noteUnchanged says which files the label of a moment names that are not among its changes.
func noteUnchanged(a *Regression, m *records.Moment) {
	if a.Diff == nil {
		return
	}
	files := slices.DeleteFunc(timeline.FilesOf(m), func(file string) bool {
		name := compare.Quote(file)
		return slices.ContainsFunc(a.Diff.Files, func(c answers.FileChanged) bool { return c.Path == name || c.OldPath == name })
	})
	if len(files) > 0 {
		noted(a, fmt.Sprintf("The label of %s names %s, of which it has no change.", m.ID(), event.OneLine(strings.Join(files, ", "))))
	}
}

// name adds the moment that broke it, with the changes of its files. Either place is nil where its snapshot is not there.
func (f *Finder) name(ctx context.Context, client *checkpoint.Client, before, itself *moments.Place, a *Regression) (err error) {
	if before != nil {
		a.Before = before.ID()
	} else {
		noted(a, "No snapshot from before the change is there, so no moment to restore and no diff can be named.")
	}
	if itself == nil {
		noted(a, "The snapshot of the change is not there any more, so there is no diff.")
		return nil
	}
	if a.Moment, a.Label = itself.ID(), itself.Label(); before == nil {
		return nil
	}
	if itself.Snapshot.Number > before.Snapshot.Number+1 {
		noted(a, fmt.Sprintf("Snapshots between s%d and s%d are not there any more. The diff has their changes too.", before.Snapshot.Number, itself.Snapshot.Number))
	}
	a.Diff, err = f.Timeline.Diff(ctx, client, timeline.DiffParams{
		Where: moments.Where{Session: a.SessionID}, From: fmt.Sprintf("s%d", before.Snapshot.Number), To: fmt.Sprintf("s%d", itself.Snapshot.Number),
	})
	return err
}

// noted adds sentences to the note of an answer.
func noted(a *Regression, text string) {
	if a.Note != "" && text != "" {
		a.Note = strings.TrimSuffix(a.Note, ".") + ". "
	}
	a.Note += text
}

// trouble is an error in the order in which errors began.
type trouble struct {
	at    int64
	event event.Event
	key   string
	// doubtful is true for one that may have been there before the changes of the span: only a cause makes it one of them. If
	// turned is true too, it is not certain that nothing broke.
	doubtful, turned bool
}

// together is how long after the first error others are of the same break, in milliseconds.
const together = 3000

// Before a span is read what explains it: for so long, or since the last load of its pages if that was not too long ago.
const (
	lookBack    = time.Minute
	maxLookBack = 30 * time.Minute
)

// explained returns when what explains a span begins.
func explained(v *capture.View, span *timeline.Span, o window.Options) time.Time {
	loads := map[int]time.Time{}
	for _, u := range v.Updates.From(0) {
		if at := u.Time(); (u.How == "load" || u.How == "reload") && o.InScope(u.Subject) && at.Before(span.From) {
			loads[u.Tab()] = at.Add(-time.Second)
		}
	}
	began := span.From.Add(-lookBack)
	for _, at := range loads {
		if at.Before(began) && at.After(span.From.Add(-maxLookBack)) && v.HoldsTime(at.UnixMilli()) {
			began = at
		}
	}
	return began
}

// recorded finds the change that introduced the first new error of a span. Without one, the answer has the verdict.
func (f *Finder) recorded(ctx context.Context, client *checkpoint.Client, span *timeline.Span, a *Regression) (*event.FileChange, error) {
	return observe.WithPlaces(ctx, observe.PlacesWait, func(bool) (*event.FileChange, *observe.Places, error) {
		v := f.Store.View(f.Clock())
		places := f.Observer.OriginalsIn(v)
		options := OptionsIn(f.Timeline, f.Rules.Of(client), client, span.Session.Workspace)
		deep, read := v, (*observe.Reading)(nil)
		if !v.HoldsTime(span.From.Add(-lookBack).UnixMilli()) {
			deep, read = f.Observer.Behind(ctx, v)
		}
		defer read.Close()
		start := deep.MomentAt(span.From)
		began := deep.MomentAt(explained(v, span, options))
		// What came later says nothing, and would push out what is read.
		past := cause.ReadUntil(deep, began.Pos, span.To.Add(together*time.Millisecond), options.InScope, f.Edits.Update)
		before := map[string]bool{}
		for _, t := range troubles(began, deep.Until(start), options) {
			before[t.key] = true
		}
		past.Known, past.Frames = knownSince(f.Edits.Known, began.At), places.Asked
		all := troubles(start, deep.Until(deep.MomentAt(span.To)), options)
		var edits []cause.Edit
		for _, e := range past.Edits {
			if span.Has(e.FileChange) == 0 {
				edits = append(edits, e)
			}
		}
		fresh := candidates(all, before, edits, anew(standing.Spells(v, options, originals(places))))
		end := deep.MomentAt(span.To)
		r := f.Observer.Compute(ctx, start, v, &end, options)
		if r.Coverage != nil {
			a.Note = "not fully observed: " + r.Coverage.Note
		}
		found := f.first(fresh, span, past, places, a)
		switch {
		case a.Verdict != Clean:
		case r.DOM != nil && (len(r.DOM.Crashed) > 0 || r.DOM.PageEmptySince != nil):
			a.Verdict, a.Reason = Unknown, "a page crashed or is empty, and no error says why"
			if len(all) > 0 {
				a.Reason = "a page crashed or is empty, and its errors had occurred before"
			}
		case r.Coverage != nil: // clean means observed and clean
			a.Verdict, a.Reason = Unknown, "no new errors were recorded in this time, which was not fully observed"
		case len(all) > 0:
			noted(a, "Errors from before this time occurred again.")
		}
		return found, places, ctx.Err()
	})
}

// troubles returns the errors since a moment, sorted by when they began.
func troubles(from capture.Moment, v *capture.View, o window.Options) (all []trouble) {
	window.Entries(from, v, o, func(e window.Entry) {
		if e.Hidden() {
			return
		}
		switch ev := e.Event.(type) {
		case *event.Console:
			if ev.Level == event.Error {
				all = append(all, trouble{at: ev.At, event: ev, key: fmt.Sprint("console ", ev.Tab(), alike.Text(ev))})
			}
		case *event.Network:
			if ev.Failed() {
				all = append(all, trouble{at: max(cause.Began(ev), 1), event: ev, key: fmt.Sprint("network ", capture.KeyOf(ev))})
			}
		}
	})
	for _, e := range v.DOM().From(from.Pos[capture.DOM]) {
		if e.Op == "appeared" && alike.IsOverlay(e.Element.Selector) && o.InScope(event.InTab(e.Tab(), e.Element.Origin)) {
			all = append(all, trouble{at: e.At, event: e, key: fmt.Sprint("overlay ", e.Tab(), alike.Fingerprint(e.Element.Text))})
		}
	}
	slices.SortStableFunc(all, func(a, b trouble) int { return cmp.Compare(a.at, b.at) })
	return all
}

// made returns when a change was made at the earliest.
func made(e *event.FileChange) int64 { return cmp.Or(e.Edited, e.Since, e.At) }

// maxDoubtful bounds the doubtful errors that are looked at.
const maxDoubtful = 300

// anew returns what reports whether an error began a spell: it had not been there, or it was over, as the list of moments has it.
func anew(spells []standing.Spell) func(t *trouble) bool {
	type beginning struct {
		tab int
		at  int64
	}
	began := map[beginning]bool{}
	for _, s := range spells {
		began[beginning{s.Tab, s.From}] = true
	}
	return func(t *trouble) bool { return began[beginning{t.event.Header().Tab(), t.event.Header().At}] }
}

// candidates returns the new errors of a span. Those that were there before are doubtful after another change or anew, and so are
// those that came before the first one, or of which that is not known. Before are the keys of those before the span.
func candidates(all []trouble, before map[string]bool, edits []cause.Edit, anew func(t *trouble) bool) (list []trouble) {
	if len(edits) == 0 {
		return all
	}
	var times []int64 // when each change was made at the earliest
	certain := int64(math.MaxInt64)
	for _, e := range edits {
		times = append(times, made(e.FileChange))
		certain = min(certain, cmp.Or(e.Edited, e.At))
	}
	slices.Sort(times)
	count := func(until int64) int { // the changes up to a time
		n, _ := slices.BinarySearch(times, until+1)
		return n
	}
	clean := make([]bool, len(times)+1) // the stretch between some changes and the next one
	for i := range clean {
		clean[i] = i > 0
	}
	for _, t := range all {
		clean[count(t.at)] = false
	}
	seen, doubtful := map[string]int{}, 0 // the changes before the last time
	for _, t := range all {
		n := count(t.at)
		last, known := seen[t.key]
		known = known || before[t.key]
		switch seen[t.key] = n; {
		case known && anew(&t):
			t.doubtful, t.turned = true, true
		case known && last == n:
			continue
		case known:
			t.doubtful, t.turned = true, slices.Contains(clean[last+1:n], true)
		case n == 0, t.at < certain:
			t.doubtful, t.turned = true, true
		}
		if t.doubtful {
			if doubtful++; doubtful > maxDoubtful {
				continue
			}
		}
		list = append(list, t)
	}
	return list
}

// slack is how far the clocks of files and of a page differ, in milliseconds.
const slack = 50

// first finds the change that introduced the first error, and puts it into an answer. An error that first appeared without a
// cause has none when it appears again, such as after a reload.
func (f *Finder) first(all []trouble, span *timeline.Span, past *cause.Past, places *observe.Places, a *Regression) *event.FileChange {
	var best *cause.Cause
	var shown, began *trouble
	unsure, why := false, ""
	unnamed := map[string]bool{}
	for i := range all {
		t := &all[i]
		if began != nil && t.at > began.at+together {
			break
		}
		if unnamed[t.key] {
			continue
		}
		found, reason := past.Of(places.Symptom(past, t.event))
		unnamed[t.key] = found == nil && (t.turned || !t.doubtful)
		skip := t.doubtful && found == nil
		if found != nil {
			if in := span.Has(found.FileChange); in > 0 {
				continue
			} else if in < 0 {
				skip, reason = true, "the change was before the first moment"
			}
		}
		if skip {
			if began == nil && !unsure && (t.turned || !t.doubtful) {
				unsure, shown, why = true, t, reason
			}
			continue
		}
		if began == nil {
			began, shown, why = t, t, reason
		}
		if found != nil && made(found.FileChange) <= began.at+slack && (best == nil || len(found.Evidence) > len(best.Evidence)) {
			best, shown = found, t
		}
	}
	if shown == nil {
		a.Verdict, a.Reason = Clean, "no new errors were recorded in this time"
		return nil
	}
	a.Problem = problem(*shown, places)
	if best == nil {
		a.Verdict, a.Reason = Unknown, why
		return nil
	}
	a.IntroducedBy = f.Edits.Introduced(best, true)
	return best.FileChange
}

// problem describes an error.
func problem(t trouble, places *observe.Places) *FirstError {
	p := &FirstError{At: report.Time{Time: time.UnixMilli(t.at).UTC()}}
	switch e := t.event.(type) {
	case *event.Console:
		place, _ := places.Place(e)
		p.Message, p.Source = report.Shorten(event.OneLine(e.Text)), report.Marked(report.PlaceName(place), place.Generated)
	case *event.Network:
		p.Message = fmt.Sprintf("%s %s %d", e.Method, e.URL, e.Status)
		if e.Status < 400 {
			p.Message = fmt.Sprintf("%s %s %s", e.Method, e.URL, e.Error)
		}
		p.Source = report.Marked(places.Initiator(e))
	case *capture.Change:
		p.Message = report.Shorten(event.OneLine(e.Element.Text))
	}
	return p
}
