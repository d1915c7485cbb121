package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe/blank"
	"tidemark.dev/tidemark/host/internal/observe/edited"
	"tidemark.dev/tidemark/host/internal/observe/standing"
	"tidemark.dev/tidemark/host/internal/rawcost"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/window"
)

// ChangesParams are the arguments of get_changes_since.
type ChangesParams struct {
	Checkpoint string   `json:"checkpoint,omitempty"`
	Include    []string `json:"include,omitempty"`
	Severity   string   `json:"severity,omitempty"`
	Wait       string   `json:"wait,omitempty"`
	TimeoutMs  *int     `json:"timeout_ms,omitempty"`
	Tab        int      `json:"tab,omitempty"`
}

// defaultTimeout and maxTimeout bound a wait.
const defaultTimeout, maxTimeout = 3 * time.Second, 10 * time.Minute

// changesRequest is a checked [ChangesParams].
type changesRequest struct {
	file       *checkpoint.File // the exported state to compare with, or nil
	checkpoint string
	time       time.Time // when checkpoint is a time
	options    window.Options
	wait       string
	timeout    time.Duration
	// fold counts entries that the client was already given instead of listing them, and records what the answer gives.
	fold bool
	// unsynced is why the newest changes of files may be missing, "" if they are not.
	unsynced string
	// edited is the workspace whose changes may have introduced errors. inEdited is whether the client is in it.
	edited   string
	inEdited bool
	// began is when a wait began.
	began time.Time
	// unsure makes a wait for a reload watch the page for a moment even if it was updated before: without a record of the files
	// nobody knows whether that update has the last edit.
	unsure bool
	// edit is when the client's files were edited last, in milliseconds since the Unix epoch, or the time before which that was
	// not; 0 if it is not known.
	edit int64
	// giveUp is when a wait for a reload stops expecting one. Zero means never.
	giveUp time.Time
}

func (o *Observer) checkChanges(client *checkpoint.Client, p ChangesParams) (*changesRequest, error) {
	r := &changesRequest{checkpoint: strings.TrimSpace(p.Checkpoint), timeout: defaultTimeout}
	r.options = o.rules.Of(client).Options(client.Scope)
	r.options.Own = o.own(client)
	r.options.Tab, r.options.Filter = p.Tab, report.Filter(p.Severity)
	for _, name := range p.Include {
		s := capture.Section(name)
		if !slices.Contains(capture.Sections, s) {
			return nil, usererr.Invalid("unknown section %q in include; sections are %s", name, capture.SectionNames())
		}
		if !slices.Contains(r.options.Include, s) {
			r.options.Include = append(r.options.Include, s)
		}
	}
	if !slices.Contains([]report.Filter{"", report.All, report.Warnings, report.ErrorsOnly}, r.options.Filter) {
		return nil, usererr.Invalid("severity is %q; it must be all, warnings or errors_only", p.Severity)
	}
	if r.wait = p.Wait; !slices.Contains([]string{"", "none", "settled", "reload"}, r.wait) {
		return nil, usererr.Invalid("wait is %q; it must be none, settled or reload", p.Wait)
	}
	if p.TimeoutMs != nil {
		if ms := *p.TimeoutMs; ms < 0 || ms > int(maxTimeout.Milliseconds()) {
			return nil, usererr.Invalid("timeout_ms is %d; it must be from 0 to %d", ms, maxTimeout.Milliseconds())
		}
		r.timeout = time.Duration(*p.TimeoutMs) * time.Millisecond
	}
	if r.checkpoint == checkpoint.Now {
		return nil, usererr.Invalid("checkpoint is %q, so there is nothing to compare. Pass a checkpoint or an earlier time, or omit it to read changes since your last call.", r.checkpoint)
	}
	var err error
	r.time, err = o.timeOf(client, r.checkpoint, o.clock())
	r.edited, r.inEdited = Edited(o, client, r.checkpoint)
	return r, err
}

var getChangesSinceTool = tool.New(tool.Definition{
	Name: "get_changes_since", Title: "Browser changes", Effect: tool.Advances,
	Description: "Show what changed in the browser since your last call or a checkpoint. Reports console errors and warnings, failed, recovered, slow and new endpoints, WebSocket errors, error elements, user actions, changed files. Call it after every edit.",
	Arguments: `
		"checkpoint":{"type":"string","description":"checkpoint name or ISO 8601 time; default: since your last call. Only calls without it advance your cursor"},
		"include":{"type":"array","items":{"type":"string","enum":["` + strings.ReplaceAll(capture.SectionNames(), ", ", `","`) + `"]},"description":"default all"},
		"severity":{"type":"string","enum":["all","warnings","errors_only"],"description":"hide lower severities"},
		"wait":{"type":"string","enum":["none","settled","reload"],"description":"settled: until the page is quiet; reload: for a reload or hot update, then settled"},
		"timeout_ms":{"type":"integer","description":"for wait, default 3000"},
		"tab":{"type":"integer","description":"default: all in scope"}`,
}, (*Observer).Changes)

// Changes answers get_changes_since. Without a checkpoint it advances the client's cursor over exactly what the
// answer covers.
func (o *Observer) Changes(ctx context.Context, client *checkpoint.Client, p ChangesParams) (*report.Report, error) {
	return o.changes(ctx, client, p, nil, strings.TrimSpace(p.Checkpoint) == "")
}

// Compare is [Observer.Changes] since an exported state. It advances no cursor.
func (o *Observer) Compare(ctx context.Context, client *checkpoint.Client, p ChangesParams, f *checkpoint.File) (*report.Report, error) {
	p.Checkpoint = ""
	return o.changes(ctx, client, p, f, false)
}

// Follow is [Observer.Changes] for a client that polls. It always advances the client's cursor over what the answer
// covers, so that the next answer continues from there.
func (o *Observer) Follow(ctx context.Context, client *checkpoint.Client, p ChangesParams) (*report.Report, error) {
	return o.changes(ctx, client, p, nil, true)
}

func (o *Observer) changes(ctx context.Context, client *checkpoint.Client, p ChangesParams, file *checkpoint.File, advance bool) (*report.Report, error) {
	r, err := o.checkChanges(client, p)
	if err != nil {
		return nil, err
	}
	r.file, r.fold = file, r.checkpoint == "" && file == nil
	if p.Tab != 0 {
		if err := tabs.Check(o.store.View(o.clock()), client.Scope, p.Tab); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	outcome, err := o.wait(ctx, client, r)
	if err != nil {
		return nil, err
	}
	o.syncFiles(ctx, client, r)
	if r.fold && (len(r.options.Include) == 0 || slices.Contains(r.options.Include, capture.DOMSection)) {
		r.options.Emptied = o.emptied(ctx, client, p.Tab)
	}
	limit := PlacesWait
	if outcome != nil {
		limit = SettledWait
	}
	return WithPlacesWithin(ctx, r.timeout-time.Since(began), limit, func(last bool) (*report.Report, *Places, error) {
		return o.report(ctx, client, *r, outcome, advance, last)
	})
}

// report answers a request as of now. Unless last is set, it returns no report and advances nothing while source maps
// are on their way.
func (o *Observer) report(ctx context.Context, client *checkpoint.Client, r changesRequest, outcome *Settled, advance, last bool) (*report.Report, *Places, error) {
	// One answer at a time for each client, so that none repeats what another has reported.
	end, err := client.Turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	client.Lock()
	client.HeardLocked() // a new call means that the client got the previous answer
	client.Unlock()
	v := o.store.View(o.clock())
	places := o.OriginalsIn(v)
	places.ExplainIn(&r.options, r.edited, r.inEdited)
	if r.unsynced != "" {
		r.options.Introduced = nil // it may be a change that is not recorded yet
	}
	if r.fold {
		r.options.Given, r.options.Late = client.Given(), o.late(client)
	}
	from, v, past, err := o.baseline(ctx, client, &r, v)
	if err != nil {
		return nil, nil, err
	}
	defer past.Close()
	answer := past.Report(from, v, nil, r.options)
	if !last && places.Waits() {
		return nil, places, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err // the client is not waiting any more, and the disk may not have been read
	}
	answer.RawTokens = rawcost.Of(from, v, &r.options)
	if paused := tabs.PausedIn(v, r.options.InScope); paused != "" {
		answer.Unobserved(paused)
	}
	if len(v.Browsers) == 0 && !r.options.Ended && !client.User {
		answer.Unobserved("open the page with browser_open")
	}
	r.addUnsynced(answer)
	client.Lock()
	client.LookedLocked(v)
	switch {
	case advance && (client.ApartLocked(r.options.Tab) || elsewhere(v, from, r.options)):
		client.AdvanceTabLocked(v, r.options.Tab, r.options.Include)
	case advance:
		client.AdvanceLocked(v, r.options.Include)
		if r.options.Tab == 0 && len(r.options.Include) == 0 && answer.SeverityHidden == 0 && answer.Note == "" {
			client.CoverLocked(v.Now())
		}
	}
	name := client.AutoName()
	client.Unlock()
	if shown, over := answer.Given(); r.fold {
		Give(o, client, shown, over)
		answer.Locate(Located(o, client, places))
	} else if advance && o.disk != nil {
		o.disk.ReadersChanged()
	}
	switch answer.Checkpoint = r.checkpoint; {
	case r.file != nil:
		answer.Checkpoint = r.file.Name
	case r.checkpoint == "":
		answer.Checkpoint = name
	}
	outcome.addTo(answer)
	answer.CountTokens()
	return answer, places, nil
}

// elsewhere reports whether a report of one tab leaves out what happened in others since a moment. Then only the tab's cursor
// advances, so that the client's next report of all has that; what it was given already is counted as repeated.
func elsewhere(v *capture.View, from capture.Moment, o window.Options) bool {
	tab, found := o.Tab, false
	o.Tab = 0
	whole := v.SubjectsSince(from.Pos, func(s event.Subject) { found = found || s.Tab() != tab && o.InScope(s) })
	return tab != 0 && (found || !whole)
}

// wait waits as requested, or returns nil when the request has no wait. The client's other calls continue meanwhile. An agent's
// call without one waits only until it is known whether an error left a page empty.
func (o *Observer) wait(ctx context.Context, client *checkpoint.Client, r *changesRequest) (*Settled, error) {
	client.Lock()
	looked, auto, covered := client.LookLocked(), client.AutoName(), client.CoveredLocked()
	client.Unlock()
	if r.wait == "" || r.wait == "none" {
		if o.browsers != nil && !client.User {
			blank.Await(ctx, o.store, o.clock, covered.At, r.options.InScope)
		}
		return nil, nil
	}
	_, err := o.checkpointOf(client, auto, r)
	if err != nil {
		return nil, err // fail before waiting
	}
	if r.wait == "reload" {
		recorded, unsynced := o.recordFiles(ctx, client.Scope.Workspace)
		r.unsure = !recorded || unsynced != ""
		v := o.store.View(o.clock())
		r.edit = edited.Last(v, func(s event.Subject) bool {
			return s.Kind == event.Workspace && client.Scope.Workspace != "" && client.Scope.Covers(s)
		})
		looked = max(looked, standing.UpdatesSince(v, time.UnixMilli(r.edit))) // an earlier update does not have that change
	}
	return o.settle(ctx, r, looked)
}

// syncFiles waits until the changes of the client's files that were made before the call are recorded, if the answer has
// a section of them.
func (o *Observer) syncFiles(ctx context.Context, client *checkpoint.Client, r *changesRequest) {
	included := len(r.options.Include) == 0 || slices.Contains(r.options.Include, capture.FilesSection)
	if included && r.options.Tab == 0 {
		_, r.unsynced = o.recordFiles(ctx, client.Scope.Workspace)
	}
}

// recordFiles waits until the changes that were made in a workspace before the call are recorded. It returns whether the
// workspace is recorded, and why some changes may not be, or "".
func (o *Observer) recordFiles(ctx context.Context, root string) (recorded bool, unsynced string) {
	if o.files == nil || root == "" {
		return false, ""
	}
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	recorded, err := o.files.Sync(ctx, root)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		unsynced = fmt.Sprintf("they were not read within %d ms", syncTimeout.Milliseconds())
	case err != nil:
		unsynced = event.OneLine(err.Error())
	}
	return recorded, unsynced
}

// addUnsynced adds to a report's coverage that changes of files may be missing.
func (r *changesRequest) addUnsynced(answer *report.Report) {
	if r.unsynced != "" {
		answer.Unobserved("the newest changes of files may be missing: " + r.unsynced)
	}
}

// checkpointOf returns the named checkpoint that the request compares with, nil when it names none. auto is the name
// of the client's automatic checkpoint.
func (o *Observer) checkpointOf(client *checkpoint.Client, auto string, r *changesRequest) (*checkpoint.Checkpoint, error) {
	switch r.checkpoint {
	case "", auto, checkpoint.Buffers, checkpoint.Start:
		return nil, nil
	}
	if !r.time.IsZero() {
		return nil, nil
	}
	c, err := o.named.Get(client.Scope.Key(), r.checkpoint)
	return &c, err
}

// baseline returns the moment that the request compares with, and a view that reaches back to it. Where the buffers
// are too short, the view reads the disk too. The caller closes the reading.
func (o *Observer) baseline(ctx context.Context, client *checkpoint.Client, r *changesRequest, v *capture.View) (capture.Moment, *capture.View, *Reading, error) {
	client.Lock()
	auto, unread := client.AutoName(), client.UnreadLocked(r.options.Tab, r.options.Include)
	client.Unlock()
	named, err := o.checkpointOf(client, auto, r)
	if err != nil {
		return capture.Moment{}, nil, nil, err
	}
	var from capture.Moment
	switch {
	case !r.time.IsZero():
		if v.HoldsTime(r.time.UnixMilli()) {
			return v.MomentAt(r.time), v, nil, nil
		}
		deep, past := o.Behind(ctx, v)
		return deep.MomentAt(r.time), deep, past, nil
	case r.file != nil:
		from, r.options.Standing = o.momentOf(r.file, client.Scope, v, v.Start()), true
	case named != nil:
		from, r.options.Standing = named.Moment, true
	case r.checkpoint == checkpoint.Buffers:
		r.options.Beginning = true
		return v.Start(), v, nil, nil
	case r.checkpoint == checkpoint.Start:
		r.options.Beginning = true
		from = v.Start()
	default:
		r.options.Beginning = auto == ""
		from = v.Start()
		if len(unread) > 0 {
			from, r.options.First = window.FirstLookOf(v, &r.options, unread)
		}
		if auto == "" && r.options.First == nil {
			return from, v, nil, nil // it covers what is in the buffers
		}
		client.Lock()
		from = client.SinceLocked(from, r.options.Tab, r.options.Include)
		client.Unlock()
	}
	v, past := o.reach(ctx, from, v, o.foreign(r.file))
	return from, v, past, nil
}

// reach returns a view that reaches back to a moment, and the disk reading that this needs. The caller closes the
// reading. With held set, the report covers only the buffers.
func (o *Observer) reach(ctx context.Context, from capture.Moment, v *capture.View, held bool) (*capture.View, *Reading) {
	if held || v.Holds(from) {
		return v, nil
	}
	return o.Behind(ctx, v)
}

// maxReadings bounds concurrent disk reads. Each keeps two CPUs busy and buffers decoded entries, so more would slow
// all of them down.
const maxReadings = 2

// Reading is an answer's read from disk, or nil when it needs none.
type Reading struct {
	past  Past
	err   error
	ended func()
}

// Behind extends a view by the kept entries that have left the buffers. It waits while [maxReadings] reads are under
// way, until ctx ends. To avoid a deadlock, a caller closes its reading before it begins another.
func (o *Observer) Behind(ctx context.Context, v *capture.View) (*capture.View, *Reading) {
	if o.disk == nil {
		return v, nil
	}
	select {
	case o.readings <- struct{}{}:
	case <-ctx.Done():
		return v, &Reading{err: ctx.Err()}
	}
	past, err := o.disk.Past()
	if err != nil {
		<-o.readings
		return v, &Reading{err: err}
	}
	return v.Behind(past), &Reading{past: past, ended: sync.OnceFunc(func() { past.Close(); <-o.readings })}
}

// Failed reports whether nothing could be read from disk now; it may succeed later.
func (r *Reading) Failed() bool { return r != nil && r.err != nil }

// Close ends the reading.
func (r *Reading) Close() {
	if r != nil && r.past != nil {
		r.ended()
	}
}

// Report covers the time from one moment to another, or to now (nil).
func (r *Reading) Report(from capture.Moment, v *capture.View, until *capture.Moment, o window.Options) *report.Report {
	if until != nil {
		to := *until
		to.Pos[capture.Gaps] = v.Now().Pos[capture.Gaps] // gaps are often recorded only afterwards
		v, o.Ended = v.Until(to), true
	}
	answer := diff.Compute(from, v, o)
	r.addUnread(answer)
	return answer
}

// addUnread adds to a report's coverage what could not be read.
func (r *Reading) addUnread(answer *report.Report) {
	if r == nil {
		return
	}
	if r.err != nil {
		answer.Unobserved("cannot read the journal: " + r.err.Error())
	} else if n := r.past.Lost(); n > 0 {
		answer.Unobserved(fmt.Sprintf("%d journal entries could not be read", n))
	}
}

// addTo adds the outcome of a wait to a report.
func (s *Settled) addTo(r *report.Report) {
	if s == nil {
		return
	}
	r.Settled = &s.OK
	if !s.OK {
		r.UnsettledBecause = s.Because
		r.Summary += "; not settled: " + s.Because
	}
	if r.DOM != nil && len(s.NoDOM) > 0 {
		r.DOMUnavailable = true
	}
	if len(s.noCapture) > 0 {
		r.Unobserved(fmt.Sprintf("%d tab(s) did not answer in time", len(s.noCapture)))
	}
}
