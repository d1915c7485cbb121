package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/tabs"
	"tidemark.dev/tidemark/host/internal/usererr"
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
const (
	defaultTimeout = 3 * time.Second
	maxTimeout     = 10 * time.Minute
)

// changesRequest is a checked [ChangesParams].
type changesRequest struct {
	file       *checkpoint.File // that is compared with, nil for none
	checkpoint string
	time       time.Time // when checkpoint is a time
	options    diff.Options
	wait       string
	timeout    time.Duration
	// slow is set where requests are waited for however long they take.
	slow bool
	// giveUp is when a wait for a reload goes on without one; zero: never.
	giveUp time.Time
}

func (e *Observer) checkChanges(client *checkpoint.Client, p ChangesParams) (*changesRequest, error) {
	r := &changesRequest{checkpoint: strings.TrimSpace(p.Checkpoint), timeout: defaultTimeout}
	r.options = e.rules.Of(client).Options(client.Scope)
	r.options.Own = e.own(client)
	r.options.Tab, r.options.Filter = p.Tab, diff.Filter(p.Severity)
	for _, name := range p.Include {
		s := diff.Section(name)
		if !slices.Contains(capture.Sections, s) {
			return nil, usererr.Invalid("include has %q, which is no section; sections are %s", name, join(capture.Sections))
		}
		if !slices.Contains(r.options.Include, s) {
			r.options.Include = append(r.options.Include, s)
		}
	}
	switch r.options.Filter {
	case "", diff.All, diff.Warnings, diff.ErrorsOnly:
	default:
		return nil, usererr.Invalid("severity is %q; it must be all, warnings or errors_only", p.Severity)
	}
	switch r.wait = p.Wait; r.wait {
	case "", "none", "settled", "reload":
	default:
		return nil, usererr.Invalid("wait is %q; it must be none, settled or reload", p.Wait)
	}
	if p.TimeoutMs != nil {
		if ms := *p.TimeoutMs; ms < 0 || ms > int(maxTimeout.Milliseconds()) {
			return nil, usererr.Invalid("timeout_ms is %d; it must be from 0 to %d", ms, maxTimeout.Milliseconds())
		}
		r.timeout = time.Duration(*p.TimeoutMs) * time.Millisecond
	}
	if checkpoint.LooksLikeTime(r.checkpoint) {
		t, err := checkpoint.ParseTime(r.checkpoint, e.location)
		if err != nil {
			return nil, usererr.Invalid("%s", err.Error())
		}
		if now := e.clock(); t.After(now) {
			return nil, usererr.Invalid("the time %s is in the future; it is %s now", diff.Time{Time: t}, diff.Time{Time: now})
		}
		r.time = t
	}
	return r, nil
}

func join[T ~string](list []T) string {
	var words []string
	for _, s := range list {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

// Changes answers get_changes_since. Without a checkpoint it advances the client's own over what the
// answer covers.
func (e *Observer) Changes(ctx context.Context, client *checkpoint.Client, p ChangesParams) (*diff.Report, error) {
	return e.changes(ctx, client, p, nil, strings.TrimSpace(p.Checkpoint) == "")
}

// Compare is [Observer.Changes] since a state that was exported. It advances nothing.
func (e *Observer) Compare(ctx context.Context, client *checkpoint.Client, p ChangesParams, f *checkpoint.File) (*diff.Report, error) {
	p.Checkpoint = ""
	return e.changes(ctx, client, p, f, false)
}

// Follow is [Observer.Changes] for a reader that follows along: whatever it compares with, its own
// checkpoint advances over what the answer covers, so that the next answer goes on from there.
func (e *Observer) Follow(ctx context.Context, client *checkpoint.Client, p ChangesParams) (*diff.Report, error) {
	return e.changes(ctx, client, p, nil, true)
}

func (e *Observer) changes(ctx context.Context, client *checkpoint.Client, p ChangesParams, file *checkpoint.File, advance bool) (*diff.Report, error) {
	r, err := e.checkChanges(client, p)
	if err != nil {
		return nil, err
	}
	r.file = file
	if err := tabs.Check(e.store.View(e.clock()), client.Scope, p.Tab); err != nil {
		return nil, err
	}
	began := time.Now()
	outcome, err := e.wait(ctx, client, r)
	if err != nil {
		return nil, err
	}
	return WithPlaces(ctx, r.timeout-time.Since(began), func(last bool) (*diff.Report, *Places, error) {
		return e.report(ctx, client, *r, outcome, advance, last)
	})
}

// report answers a request as of now. Unless it is the last answer, it advances nothing when maps are coming, and there
// is no report.
func (e *Observer) report(ctx context.Context, client *checkpoint.Client, r changesRequest, outcome *Settled, advance, last bool) (*diff.Report, *Places, error) {
	// One answer to a client at a time: what one told, the next does not tell again.
	end, err := client.Turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	client.Lock()
	client.HeardLocked() // whoever asks again has heard the answer before
	client.Unlock()
	v := e.store.View(e.clock())
	places := e.OriginalsIn(v)
	r.options.Original = places.Place
	from, v, past, err := e.baseline(ctx, client, &r, v)
	if err != nil {
		return nil, nil, err
	}
	defer past.Close()
	report := past.report(from, v, nil, r.options)
	if !last && places.waits() {
		return nil, places, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err // nobody hears it, and the disk may not have been read
	}
	report.RawTokens = rawTokens(from, v, &r.options)
	if paused := tabs.PausedIn(v, r.options.InScope); paused != "" {
		report.Unobserved(paused)
	}
	client.Lock()
	client.LookedLocked(v)
	if advance {
		client.AdvanceLocked(v, r.options.Include)
	}
	name := client.AutoName()
	client.Unlock()
	if advance && e.disk != nil {
		e.disk.ReadersChanged()
	}
	switch report.Checkpoint = r.checkpoint; {
	case r.file != nil:
		report.Checkpoint = r.file.Name
	case r.checkpoint == "":
		report.Checkpoint = name
	}
	outcome.tell(report)
	report.CountTokens()
	return report, places, nil
}

// wait waits as the request asks; nil when it asks for none. Other calls of the client go on meanwhile.
func (e *Observer) wait(ctx context.Context, client *checkpoint.Client, r *changesRequest) (*Settled, error) {
	if r.wait == "" || r.wait == "none" {
		return nil, nil
	}
	client.Lock()
	looked, auto := client.LookLocked(), client.AutoName()
	client.Unlock()
	_, err := e.checkpointOf(client, auto, r)
	if err != nil {
		return nil, err // before waiting for anything
	}
	return e.settle(ctx, r, looked)
}

// checkpointOf is the named checkpoint that the request compares with, nil when it names none; auto is the name of
// the client's own.
func (e *Observer) checkpointOf(client *checkpoint.Client, auto string, r *changesRequest) (*checkpoint.Checkpoint, error) {
	if r.checkpoint == "" || !r.time.IsZero() || r.checkpoint == auto {
		return nil, nil
	}
	c, err := e.named.Get(client.Scope.Key(), r.checkpoint)
	return &c, err
}

// baseline is the moment that the request compares with, and the view that reaches back to it: where the
// buffers do not, what was kept on disk is read too. The reading is to be closed.
func (e *Observer) baseline(ctx context.Context, client *checkpoint.Client, r *changesRequest, v *capture.View) (capture.Moment, *capture.View, *Reading, error) {
	client.Lock()
	auto, since := client.AutoName(), client.SinceLocked(v, r.options.Include)
	client.Unlock()
	named, err := e.checkpointOf(client, auto, r)
	if err != nil {
		return capture.Moment{}, nil, nil, err
	}
	var from capture.Moment
	switch {
	case !r.time.IsZero():
		if v.HoldsTime(r.time.UnixMilli()) {
			return v.MomentAt(r.time), v, nil, nil
		}
		deep, past := e.Behind(ctx, v)
		return deep.MomentAt(r.time), deep, past, nil
	case r.file != nil:
		from = e.momentOf(r.file, client.Scope, v, v.Start())
	case named != nil:
		from = named.Moment
	case auto == "":
		r.options.Beginning = true
		return v.Start(), v, nil, nil // a first call is about what the buffers hold
	default:
		from = since
	}
	v, past := e.reach(ctx, from, v, e.foreign(r.file))
	return from, v, past, nil
}

// reach is the view that reaches back to a moment, and the reading of the disk that it needs for it, to be
// closed. What is compared with no moment of this journal is about what the buffers hold.
func (e *Observer) reach(ctx context.Context, from capture.Moment, v *capture.View, held bool) (*capture.View, *Reading) {
	if held || v.Holds(from) {
		return v, nil
	}
	return e.Behind(ctx, v)
}

// maxReadings is how many answers read from the disk at once: each keeps two processors busy and holds what
// it decodes ahead, so that more of them would all be slower.
const maxReadings = 2

// Reading is what an answer reads from the disk; nil when it reads nothing.
type Reading struct {
	past  Past
	err   error
	ended func()
}

// Behind is the view with what was kept of the entries that have left the buffers. It waits while
// [maxReadings] others read, as long as ctx; whoever reads must not begin a second reading before the first is closed.
func (e *Observer) Behind(ctx context.Context, v *capture.View) (*capture.View, *Reading) {
	if e.disk == nil {
		return v, nil
	}
	select {
	case e.readings <- struct{}{}:
	case <-ctx.Done():
		return v, &Reading{err: ctx.Err()}
	}
	past, err := e.disk.Past()
	if err != nil {
		<-e.readings
		return v, &Reading{err: err}
	}
	return v.Behind(past), &Reading{past: past, ended: sync.OnceFunc(func() { past.Close(); <-e.readings })}
}

// Close ends the reading.
func (r *Reading) Close() {
	if r != nil && r.past != nil {
		r.ended()
	}
}

// report is about the time from a moment to another in the view that was read, or until now (nil).
func (r *Reading) report(from capture.Moment, v *capture.View, until *capture.Moment, o diff.Options) *diff.Report {
	if until != nil {
		to := *until
		to.Pos.Gaps = v.Now().Pos.Gaps // what was not observed is often known later only
		v, o.Ended = v.Until(to), true
	}
	report := diff.Compute(from, v, o)
	r.tell(report)
	return report
}

// tell puts into a report what could not be read.
func (r *Reading) tell(report *diff.Report) {
	if r == nil {
		return
	}
	if r.err != nil {
		report.Unobserved("the journal cannot be read: " + r.err.Error())
	} else if n := r.past.Lost(); n > 0 {
		report.Unobserved(fmt.Sprintf("%d entries of the journal could not be read", n))
	}
}

// tell puts the outcome of a wait into a report.
func (s *Settled) tell(r *diff.Report) {
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
