package regression

import (
	"context"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/observe/standing"
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/window"
)

// judging are the sections that have a severity.
var judging = []capture.Section{capture.ConsoleSection, capture.NetworkSection, capture.WebSocketSection, capture.DOMSection}

// arrived is how long ago a stretch ended of which nothing more is expected to arrive.
const arrived = time.Minute

// delivered is the same for a stretch that was not fully observed: what an extension could not send may follow. It is when
// the extension has connected again, which it tries every minute.
const delivered = 15 * time.Minute

// courseKey identifies a stretch in a scope.
type courseKey struct {
	scope    string
	from, to int64
}

// Course returns how each stretch from one time to another went, as a client sees pages that belong to a workspace. A zero end
// means now. What is known of the past is kept as long as the noise rules are the same.
func (f *Finder) Course(ctx context.Context, client *checkpoint.Client, workspace string, from, to []time.Time) []timeline.Stretch {
	rules := f.Rules.Of(client)
	options := OptionsIn(f.Timeline, rules, client, workspace)
	scope := strings.Join(options.Origins, " ") + " but " + strings.Join(options.Others, " ")
	v := f.Store.View(f.Clock())
	list := make([]timeline.Stretch, len(from))
	key := func(i int) courseKey { return courseKey{scope, from[i].UnixNano(), to[i].UnixNano()} }
	var missing []int
	oldest := v.At
	for i := range from {
		if known, ok := rules.Spans.Load(key(i)); ok {
			list[i] = known.(timeline.Stretch)
			continue
		}
		missing = append(missing, i)
		if from[i].Before(oldest) {
			oldest = from[i]
		}
	}
	if len(missing) == 0 {
		return list
	}
	options.Include = judging
	places := f.Observer.OriginalsIn(v)
	spells := standing.Spells(v, options, originals(places))
	var past *observe.Reading
	if !v.HoldsTime(oldest.UnixMilli()) {
		v, past = f.Observer.Behind(ctx, v)
	}
	defer past.Close()
	var times []time.Time
	for _, i := range missing {
		times = append(times, from[i])
		if !to[i].IsZero() {
			times = append(times, to[i])
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	times = slices.Compact(times)
	moments := v.MomentsAt(times)
	at := func(t time.Time) *capture.Moment {
		i, _ := slices.BinarySearchFunc(times, t, time.Time.Compare)
		return &moments[i]
	}
	for _, i := range missing {
		if ctx.Err() != nil || from[i].After(v.At) {
			continue
		}
		var until *capture.Moment
		if !to[i].IsZero() {
			until = at(to[i])
		}
		r := past.Report(*at(from[i]), v, until, options)
		after := arrived
		if list[i].Severity = r.Severity; r.Coverage != nil {
			after = delivered
			if r.Severity == report.Clean {
				list[i].Severity = ""
			}
		}
		end, shown := v.At, v.DOMState
		if until != nil {
			end, shown = to[i], until.DOMState
		}
		if since := brokenSince(spells, from[i].UnixMilli(), end.UnixMilli(), shown, r.Severity); since > 0 {
			list[i] = timeline.Stretch{Severity: report.Error, Since: time.UnixMilli(since).UTC()}
		}
		if until != nil && v.At.Sub(to[i]) > after && !past.Failed() && !places.Waits() {
			rules.Spans.Store(key(i), list[i])
		}
	}
	return list
}

// maxLooked bounds the errors of one list whose original files are looked for.
const maxLooked = 300

// originals returns what returns the original files of an error's code, by the maps that are there. Errors of one place share them.
func originals(places *observe.Places) standing.Originals {
	type place struct {
		tab          int
		url          string
		line, column int
		frame        string
	}
	known := map[place][]string{}
	return func(e event.Event) (files []string) {
		var at place
		switch e := e.(type) {
		case *event.Console:
			at = place{tab: e.Tab(), url: e.URL, line: e.Line, column: e.Column, frame: strings.Join(e.Stack[:min(len(e.Stack), 3)], "\n")}
		case *event.Network:
			at = place{tab: e.Tab(), frame: strings.Join(e.Stack[:min(len(e.Stack), 3)], "\n")}
		}
		if files, ok := known[at]; ok || len(known) >= maxLooked {
			return files
		}
		for _, f := range places.Symptom(&cause.Past{}, e).Frames {
			files = append(files, f.File)
		}
		known[at] = files
		return files
	}
}

// brokenSince returns when what was wrong in a stretch first appeared, 0 if nothing was wrong, or something that came with it.
// Shown has the pages at its end. Severity is that of what was reported in it.
func brokenSince(spells []standing.Spell, from, to int64, shown *capture.DOMState, severity report.Severity) (since int64) {
	seen := false
	for _, s := range spells {
		again := slices.ContainsFunc(s.Seen, func(at int64) bool { return from <= at && at < to })
		switch {
		case from <= s.From && again:
			return 0
		case s.From < from && (again || (s.To == 0 || s.To >= to) && shown.URL(s.Tab) != ""):
			seen = seen || again
			if since == 0 || s.From < since {
				since = s.From
			}
		}
	}
	if severity == report.Error && !seen {
		return 0
	}
	return since
}

// Report returns what the browser reported since a time, as a client sees pages that belong to a workspace.
func (f *Finder) Report(ctx context.Context, client *checkpoint.Client, workspace string, from time.Time) *report.Report {
	options := OptionsIn(f.Timeline, f.Rules.Of(client), client, workspace)
	options.Include = judging
	v := f.Store.View(f.Clock())
	var past *observe.Reading
	if !v.HoldsTime(from.UnixMilli()) {
		v, past = f.Observer.Behind(ctx, v)
	}
	defer past.Close()
	return past.Report(v.MomentsAt([]time.Time{from})[0], v, nil, options)
}

// OptionsIn returns the options of a report on what a client sees of a session in a workspace. Without origins of its own, these
// are the pages of the project, where its file names any. Those of a branch have its ports. Where it names none, they are all
// pages but those that the file of another project names.
func OptionsIn(t *timeline.Timeline, rules *noiserules.InUse, client *checkpoint.Client, workspace string) window.Options {
	scope := client.Scope
	scope.Workspace = workspace
	if len(scope.Origins) == 0 {
		scope.Origins = pagesOf(t, workspace)
	}
	o := rules.Options(scope)
	if len(o.Origins) > 0 {
		return o
	}
	for _, dir := range timeline.Others(t, workspace) {
		if !event.Within(dir, workspace) { // of two projects, one in the other, a page is of both
			o.Others = append(o.Others, pagesOf(t, dir)...)
		}
	}
	return o
}

// pagesOf returns the origins that the file of a project names.
func pagesOf(t *timeline.Timeline, workspace string) []string {
	path := project.Find(workspace)
	if path == "" {
		return nil
	}
	data, err := project.Read(path)
	if err != nil {
		return nil
	}
	settings, err := project.Parse(path, data)
	if err != nil {
		return nil
	}
	of, err := checkpoint.NewScope(project.Shift(settings.Origins, t.Operations.PortsOf(workspace)))
	if err != nil {
		return nil
	}
	return of.Origins
}
