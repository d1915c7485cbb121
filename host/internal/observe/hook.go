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
	"tidemark.dev/tidemark/host/internal/usererr"
)

// HookParams are what a hook of an agent asks.
type HookParams struct {
	// Session is the agent's session, which has a place of its own.
	Session string `json:"session"`
	// Event is HookStart, HookEdit or HookStop.
	Event string `json:"event"`
	// PatienceMs is how long an edit's reload or hot update may take to begin; TimeoutMs bounds all.
	PatienceMs int `json:"patience_ms,omitempty"`
	TimeoutMs  int `json:"timeout_ms,omitempty"`
}

// What hooks tell of.
const (
	HookStart = "start" // the session begins
	HookEdit  = "edit"  // a file was edited
	HookStop  = "stop"  // the agent is done
)

// HookAnswer is what is to be told to the agent.
type HookAnswer struct {
	// Watched is how many tabs are watched.
	Watched int `json:"watched"`
	// Problems are what is to be told, the cause first; none: there is nothing to tell.
	Problems []HookProblem `json:"problems"`
	// Still is true when all of them were told before, and are there still.
	Still bool `json:"still,omitempty"`
	// Summary counts what is new, warnings included, and says what was not seen of it.
	Summary string `json:"summary,omitempty"`
}

// HookProblem is one thing that is broken.
type HookProblem struct {
	// Kind is overlay, crash, console or network.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Source is where it comes from, or for a request what it answered before.
	Source string `json:"source,omitempty"`
	// Generated is true where Source is a line of generated code.
	Generated bool `json:"generated,omitempty"`
	Count     int  `json:"count,omitempty"`
	Tab       int  `json:"tab,omitempty"`
}

// key is what makes two problems the same, wherever an edit has moved their line.
func (p HookProblem) key() string { return p.Kind + " " + diff.Fingerprint(p.Text) }

// hookSession is what is known of an agent's session beside its place.
type hookSession struct {
	// turn holds something while an answer is made: what one tells, the next does not tell again.
	turn chan struct{}
	// start is where the session began, the zero Moment before it did.
	start capture.Moment
	// standing are problems that were there before the session: they are nothing that it broke.
	standing map[string]bool
	// open are those that were told and have not been seen to go.
	open []HookProblem
	// stopped is true when a stop has told them.
	stopped bool
}

// How long an edit's update may take to begin, how long the whole answer, and how far back the first hook
// of a session looks that did not tell of its start: the edit has just been made.
const (
	hookPatience = time.Second
	hookTimeout  = 5 * time.Second
	hookLookBack = 10 * time.Second
	// editLead is how long before its hook an edit may have been made.
	editLead = time.Second
	// updateSpan is how far apart the marks of one update may be.
	updateSpan = time.Second
	// startSync is how long a session's start may wait for browsers to deliver what they have.
	startSync = 200 * time.Millisecond
)

// Hook says what an agent is to be told after an edit, or as its session begins or ends: what is broken
// and was not, since the last time that it was asked for this session. It waits only while a tab in scope
// is watched. Project is the path of the settings file of the agent's project, "" for none.
func (e *Observer) Hook(ctx context.Context, scope checkpoint.Scope, project string, p HookParams) (*HookAnswer, *checkpoint.Client, error) {
	if strings.TrimSpace(p.Session) == "" || len(p.Session) > maxSession {
		return nil, nil, usererr.Invalid("session has %d characters; it must be the id of the agent's session, of 1 to %d", len(p.Session), maxSession)
	}
	if p.PatienceMs < 0 || p.TimeoutMs < 0 || p.PatienceMs > int(maxTimeout.Milliseconds()) || p.TimeoutMs > int(maxTimeout.Milliseconds()) {
		return nil, nil, usererr.Invalid("patience_ms and timeout_ms must be from 0 to %d", maxTimeout.Milliseconds())
	}
	if p.Event != HookStart && p.Event != HookEdit && p.Event != HookStop {
		return nil, nil, usererr.Invalid("event is %q; it must be %s, %s or %s", p.Event, HookStart, HookEdit, HookStop)
	}
	client := e.clients.Returning("hook "+p.Session, scope)
	e.clients.InProject(client, project)
	session := e.hooks.of(client)
	options := e.rules.Of(client).Options(scope)
	if p.Event == HookStart && e.browsers != nil {
		e.browsers.Sync(ctx, startSync) // what a browser has reported already is older than the session
	}
	answer := &HookAnswer{Watched: watched(e.store.View(e.clock()), &options), Problems: []HookProblem{}}
	if p.Event == HookStart {
		return answer, client, e.hookStart(ctx, client, session, options, answer)
	}
	if answer.Watched == 0 {
		return answer, client, nil
	}
	return answer, client, e.hookLook(ctx, client, session, options, p, answer)
}

// watched is how many tabs in scope are watched.
func watched(v *capture.View, o *diff.Options) int {
	n := 0
	for _, t := range v.Tabs {
		if t.Watched && o.InScope(t.Origin, t.ID) {
			n++
		}
	}
	return n
}

// hookStart sets the session's place, and tells what is broken already.
func (e *Observer) hookStart(ctx context.Context, client *checkpoint.Client, s *hookSession, o diff.Options, answer *HookAnswer) error {
	if answer.Watched == 0 {
		return e.beginHooks(ctx, client, s, e.store.View(e.clock()), o)
	}
	r, err := WithPlaces(ctx, defaultTimeout, func(bool) (*diff.Report, *Places, error) {
		v := e.store.View(e.clock())
		if err := e.beginHooks(ctx, client, s, v, o); err != nil {
			return nil, nil, err
		}
		places, o := e.OriginalsIn(v), o
		o.Original = places.Place
		return diff.Compute(lastUpdate(v, o), v, o), places, nil
	})
	if err == nil {
		answer.Problems, answer.Summary = append(answer.Problems, problems(r)...), r.Summary
	}
	return err
}

// beginHooks begins a session where a view ends, and puts its client there.
func (e *Observer) beginHooks(ctx context.Context, client *checkpoint.Client, s *hookSession, v *capture.View, o diff.Options) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	s.beginLocked(v, o)
	client.Lock()
	client.LookedLocked(v)
	client.AdvanceLocked(v, nil)
	client.Unlock()
	if e.disk != nil {
		e.disk.ReadersChanged()
	}
	return nil
}

// hookSessions are the sessions of hooks, by the client that each is.
type hookSessions struct {
	mu  sync.Mutex
	all map[*checkpoint.Client]*hookSession
}

// of is the session of a client.
func (h *hookSessions) of(client *checkpoint.Client) *hookSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[*checkpoint.Client]*hookSession{}
	}
	s := h.all[client]
	if s == nil {
		s = newHookSession()
		h.all[client] = s
	}
	return s
}

func (h *hookSessions) forget(client *checkpoint.Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, client)
}

func newHookSession() *hookSession { return &hookSession{turn: make(chan struct{}, 1)} }

// begin waits until no other answer of the session is made. The function that comes back ends the turn.
func (s *hookSession) begin(ctx context.Context) (end func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// beginLocked begins a session where a view ends.
func (s *hookSession) beginLocked(v *capture.View, o diff.Options) {
	s.start, s.standing, s.open, s.stopped = v.Now(), map[string]bool{}, nil, false
	for _, p := range problems(diff.Compute(lastUpdate(v, o), v, o)) {
		s.standing[p.key()] = true
	}
}

// lastUpdate is the moment before the newest navigation or hot update in scope: what came since is the
// state of the page. One update leaves several marks, what it logged between them.
func lastUpdate(v *capture.View, o diff.Options) capture.Moment {
	var began, mark time.Time
	for _, u := range v.Updates.From(0) {
		at := u.Time()
		if !o.InScope(u.Origin, u.Tab) || !at.Before(v.At) {
			continue
		}
		if at.Sub(mark) > updateSpan {
			began = at
		}
		mark = at
	}
	if began.IsZero() {
		return v.Start()
	}
	return v.MomentAt(began.Add(-time.Millisecond))
}

// hookLook waits for what an edit does to the page, and tells what broke.
func (e *Observer) hookLook(ctx context.Context, client *checkpoint.Client, s *hookSession, o diff.Options, p HookParams, answer *HookAnswer) error {
	began := e.clock()
	r := &changesRequest{options: o, wait: "settled", timeout: hookTimeout}
	if p.TimeoutMs > 0 {
		r.timeout = time.Duration(p.TimeoutMs) * time.Millisecond
	}
	if p.Event == HookEdit {
		patience := hookPatience
		if p.PatienceMs > 0 {
			patience = time.Duration(p.PatienceMs) * time.Millisecond
		}
		r.wait, r.giveUp = "reload", began.Add(patience)
	}
	client.Lock()
	looked, known := client.LookLocked(), client.AutoName() != ""
	client.Unlock()
	recent := updatesSince(e.store.View(began), began.Add(-editLead))
	outcome, err := e.settle(ctx, r, max(looked, recent))
	if err != nil {
		return err
	}
	ask := ChangesParams{}
	_, err = WithPlaces(ctx, r.timeout-e.clock().Sub(began), func(last bool) (struct{}, *Places, error) {
		end, err := s.begin(ctx)
		if err != nil {
			return struct{}{}, nil, err
		}
		defer end()
		if s.standing == nil {
			v := e.store.View(e.clock())
			if known { // to an earlier daemon
				s.standing, s.start = map[string]bool{}, v.MomentAt(began.Add(-hookLookBack))
			} else {
				s.beginLocked(v.Until(v.MomentAt(began.Add(-hookLookBack))), o)
				ask.Checkpoint = diff.Time{Time: began.Add(-hookLookBack)}.String()
			}
		}
		v := e.store.View(e.clock())
		client.Lock()
		since := client.SinceLocked(v, nil)
		client.Unlock()
		asked, err := e.checkChanges(client, ask)
		if err != nil {
			return struct{}{}, nil, err
		}
		report, places, err := e.report(ctx, client, *asked, outcome, true, last)
		if report == nil {
			return struct{}{}, places, err
		}
		fresh, repeated := s.sortLocked(problems(report))
		if len(s.open) > 0 && updated(v, r, looked) {
			s.keepLastingLocked(since, v, o)
		}
		s.tellLocked(fresh, repeated, p.Event, answer)
		if len(answer.Problems) > 0 {
			answer.Summary = report.Summary
		}
		return struct{}{}, places, nil
	})
	return err
}

// tellLocked puts the problems of a report into a hook's answer.
func (s *hookSession) tellLocked(fresh, repeated []HookProblem, event string, answer *HookAnswer) {
	s.openLocked(repeated)
	s.openLocked(fresh)
	if event == HookEdit {
		s.stopped = false
	}
	answer.Problems = append(answer.Problems, fresh...)
	switch {
	case len(fresh) > 0:
	case event == HookEdit:
		answer.Problems, answer.Still = append(answer.Problems, repeated...), len(repeated) > 0
	case !s.stopped:
		answer.Problems, answer.Still = append(answer.Problems, s.open...), len(s.open) > 0
	}
	if event == HookStop && len(answer.Problems) > 0 {
		s.stopped = true
	}
}

// maxSession bounds the id of a session, which is kept.
const maxSession = 200

// maxOpen bounds what is remembered of what is broken.
const maxOpen = 100

// updatesSince is the position of the first update that is not before a time.
func updatesSince(v *capture.View, t time.Time) uint64 {
	for pos, u := range v.Updates.From(0) {
		if !u.Time().Before(t) {
			return pos
		}
	}
	return v.Updates.Next()
}

// sortLocked tells what is new from what was told before. What was there before the session is neither.
func (s *hookSession) sortLocked(all []HookProblem) (fresh, repeated []HookProblem) {
	for _, p := range all {
		switch key := p.key(); {
		case s.standing[key]:
		case slices.ContainsFunc(s.open, func(o HookProblem) bool { return o.key() == key }):
			repeated = append(repeated, p)
		default:
			fresh = append(fresh, p)
		}
	}
	return fresh, repeated
}

// keepLastingLocked drops what an update has done away with. Of what is open there remains what can be seen
// to be broken after it: an overlay that is there, a request that has failed again since. Others may be as
// they were, but an agent is not to be held up by a request that its page no longer makes.
func (s *hookSession) keepLastingLocked(since capture.Moment, v *capture.View, o diff.Options) {
	o.Include = []diff.Section{capture.DOMSection}
	lasting := problems(diff.Compute(s.start, v, o))
	o.Include = []diff.Section{capture.NetworkSection}
	since.Endpoints = s.start.Endpoints // so that what fails again is told as if it were new
	lasting = append(lasting, problems(diff.Compute(since, v, o))...)
	s.open = slices.DeleteFunc(s.open, func(o HookProblem) bool {
		return o.Kind == "crash" || !slices.ContainsFunc(lasting, func(p HookProblem) bool { return p.key() == o.key() })
	})
}

// openLocked puts problems that are not open before those that are.
func (s *hookSession) openLocked(list []HookProblem) {
	open := slices.DeleteFunc(s.open, func(o HookProblem) bool {
		return slices.ContainsFunc(list, func(p HookProblem) bool { return p.key() == o.key() })
	})
	s.open = append(slices.Clone(list), open...)
	if len(s.open) > maxOpen {
		s.open = s.open[:maxOpen]
	}
}

// overlays are the selectors of error elements by which development servers say that the page is broken.
var overlays = []string{
	"vite-error-overlay", "nextjs-portal", "#webpack-dev-server-client-overlay", "#rspack-dev-server-client-overlay",
	"rsbuild-error-overlay", "parcel-error-overlay", "#__parcel__error__overlay__", "nuxt-error-overlay",
}

// problems are what is broken by the end of a report's window, what names the cause best first. An
// overlay that went and a request that succeeds by now are not.
func problems(r *diff.Report) []HookProblem {
	var list []HookProblem
	if d := r.DOM; d != nil {
		for _, e := range d.NewErrorElements {
			if e.GoneAt == nil && slices.Contains(overlays, e.Selector) {
				list = append(list, HookProblem{Kind: "overlay", Text: e.Text, Tab: e.Tab})
			}
		}
		for _, c := range d.Crashed {
			list = append(list, HookProblem{Kind: "crash", Text: c.URL, Tab: c.Tab})
		}
	}
	if d := r.Console; d != nil {
		for _, m := range d.NewErrors {
			list = append(list, HookProblem{Kind: "console", Text: m.Message, Source: m.Source, Generated: m.Generated, Count: m.Count, Tab: m.Tab})
		}
	}
	if d := r.Network; d != nil {
		for _, f := range d.Failures {
			if f.NowStatus == 0 {
				p := HookProblem{Kind: "network", Text: fmt.Sprintf("%s %s answers %d", f.Method, f.URL, f.Status), Count: f.Count, Tab: f.Tab}
				if f.Status < 400 { // no answer, or one that broke off
					p.Text = fmt.Sprintf("%s %s fails: %s", f.Method, f.URL, f.Error)
				}
				if f.PreviousStatus != 0 {
					p.Source = fmt.Sprintf("was %d", f.PreviousStatus)
				}
				list = append(list, p)
			}
		}
	}
	return list
}
