package regression

import (
	"context"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline"
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

// Course returns the severity of each stretch from one time to another, as a client sees pages that belong to a workspace:
// clean, warning or error, or "" for one of which nothing bad is known and that was not fully observed. A zero end means now.
// Severities of the past are kept as long as the noise rules are the same.
func (f *Finder) Course(ctx context.Context, client *checkpoint.Client, workspace string, from, to []time.Time) []report.Severity {
	scope, rules := ScopeIn(f.Timeline, client, workspace), f.Rules.Of(client)
	v := f.Store.View(f.Clock())
	list := make([]report.Severity, len(from))
	key := func(i int) courseKey { return courseKey{scope.Key(), from[i].UnixNano(), to[i].UnixNano()} }
	var missing []int
	oldest := v.At
	for i := range from {
		if known, ok := rules.Spans.Load(key(i)); ok {
			list[i] = known.(report.Severity)
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
	options := rules.Options(scope)
	options.Include = judging
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
		if list[i] = r.Severity; r.Coverage != nil {
			after = delivered
			if r.Severity == report.Clean {
				list[i] = ""
			}
		}
		if until != nil && v.At.Sub(to[i]) > after && !past.Failed() {
			rules.Spans.Store(key(i), list[i])
		}
	}
	return list
}

// Report returns what the browser reported since a time, as a client sees pages that belong to a workspace.
func (f *Finder) Report(ctx context.Context, client *checkpoint.Client, workspace string, from time.Time) *report.Report {
	options := f.Rules.Of(client).Options(ScopeIn(f.Timeline, client, workspace))
	options.Include = judging
	v := f.Store.View(f.Clock())
	var past *observe.Reading
	if !v.HoldsTime(from.UnixMilli()) {
		v, past = f.Observer.Behind(ctx, v)
	}
	defer past.Close()
	return past.Report(v.MomentsAt([]time.Time{from})[0], v, nil, options)
}

// ScopeIn returns what a client sees of a session in a workspace. Without origins of its own, these are the pages of the
// project, where its file names any. Those of a branch have its ports.
func ScopeIn(t *timeline.Timeline, client *checkpoint.Client, workspace string) checkpoint.Scope {
	scope := client.Scope
	scope.Workspace = workspace
	if len(scope.Origins) > 0 {
		return scope
	}
	scope.Origins = pagesOf(t, workspace)
	return scope
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
