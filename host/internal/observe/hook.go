package observe

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe/broken"
	"tidemark.dev/tidemark/host/internal/observe/edited"
	"tidemark.dev/tidemark/host/internal/observe/standing"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/window"
)

// HookParams are the parameters of an agent's hook.
type HookParams struct {
	// Session is the id of the agent's session, which has its own cursor.
	Session string `json:"session"`
	// Event is HookStart, HookEdit or HookStop.
	Event string `json:"event"`
	// PatienceMs bounds how long an edit's reload or hot update may take to begin. TimeoutMs bounds the whole answer.
	PatienceMs int `json:"patience_ms,omitempty"`
	TimeoutMs  int `json:"timeout_ms,omitempty"`
	// Workspace is the directory whose changes may have introduced the problems, "" for that of the scope.
	Workspace string `json:"-"`
}

// Events that hooks report.
const (
	HookStart = "start" // the agent's session begins
	HookEdit  = "edit"  // a file was edited
	HookStop  = "stop"  // the agent is about to stop
)

// HookAnswer is what the hook reports to the agent.
type HookAnswer struct {
	// Watched counts the watched tabs.
	Watched int `json:"watched"`
	// Problems are the problems to report, best cause first. Empty means that there is nothing to report.
	Problems []broken.Problem `json:"problems"`
	// Still is true when all of them were reported before and remain.
	Still bool `json:"still,omitempty"`
	// Summary counts new problems, warnings included, and states what was not observed.
	Summary string `json:"summary,omitempty"`
	// Moment says what became of the agent's moment, "" where it sent none.
	Moment string `json:"moment,omitempty"`
	// Recorded says what became of the event in the recording of the conversation, "" where the hook sent none.
	Recorded string `json:"recorded,omitempty"`
}

// hookSession is the state of an agent's session, apart from its cursor.
type hookSession struct {
	// turn is occupied while an answer is made, so that no answer repeats another.
	turn chan struct{}
	// start is the moment at which the session began, zero before that.
	start capture.Moment
	// standing are the texts of problems that existed before the session, by their keys. They are never blamed on it.
	standing map[string]string
	// open are problems that were reported and are not known to be fixed. Unsure are those of an earlier edit that no update has
	// shown to be fixed, though they did not come again, by their keys.
	open   []broken.Problem
	unsure map[string]broken.Problem
	// stopped is true when a stop has reported the open problems.
	stopped bool
}

// Defaults for how long an edit's update may take to begin, for the whole answer, and for how far back a session's
// first hook looks when it did not report a start: the edit has just been made.
const (
	hookPatience = time.Second
	hookTimeout  = 5 * time.Second
	hookLookBack = 10 * time.Second
	// editLead is how long before its hook an edit may have been made.
	editLead = time.Second
	// startSync bounds how long a session's start waits for browsers to deliver pending events.
	startSync = 200 * time.Millisecond
)

// Hook reports the new problems after an edit, or as an agent's session begins or ends: everything that broke since
// the previous hook of this session. It waits only while a tab in scope is watched. project is the path of the
// project's settings file, or "".
func (o *Observer) Hook(ctx context.Context, scope checkpoint.Scope, project string, p HookParams) (*HookAnswer, *checkpoint.Client, error) {
	if strings.TrimSpace(p.Session) == "" || len(p.Session) > maxSession {
		return nil, nil, usererr.Invalid("session has %d characters; it must be the id of the agent's session, 1 to %d long", len(p.Session), maxSession)
	}
	if p.PatienceMs < 0 || p.TimeoutMs < 0 || p.PatienceMs > int(maxTimeout.Milliseconds()) || p.TimeoutMs > int(maxTimeout.Milliseconds()) {
		return nil, nil, usererr.Invalid("patience_ms and timeout_ms must be from 0 to %d", maxTimeout.Milliseconds())
	}
	if p.Event != HookStart && p.Event != HookEdit && p.Event != HookStop {
		return nil, nil, usererr.Invalid("event is %q; it must be %s, %s or %s", p.Event, HookStart, HookEdit, HookStop)
	}
	client := o.clients.Returning("hook "+p.Session, scope)
	o.clients.SetProject(client, project)
	session := o.hooks.of(client)
	options := o.rules.Of(client).Options(scope)
	if p.Event == HookStart && o.browsers != nil {
		o.browsers.Sync(ctx, startSync) // pending events are older than the session
	}
	answer := &HookAnswer{Watched: watched(o.store.View(o.clock()), &options), Problems: []broken.Problem{}}
	if p.Event == HookStart {
		return answer, client, o.hookStart(ctx, client, session, options, answer)
	}
	if answer.Watched == 0 {
		return answer, client, nil
	}
	return answer, client, o.hookLook(ctx, client, session, options, p, answer)
}

// watched counts the watched tabs in scope.
func watched(v *capture.View, o *window.Options) int {
	n := 0
	for _, t := range v.Tabs {
		if t.Watched && o.InScope(t.Subject()) {
			n++
		}
	}
	return n
}

// hookStart sets the session's cursor and reports existing problems.
func (o *Observer) hookStart(ctx context.Context, client *checkpoint.Client, s *hookSession, options window.Options, answer *HookAnswer) error {
	if answer.Watched == 0 {
		return o.beginHooks(ctx, client, s, o.store.View(o.clock()), options)
	}
	r, err := WithPlaces(ctx, defaultTimeout, func(bool) (*report.Report, *Places, error) {
		v := o.store.View(o.clock())
		if err := o.beginHooks(ctx, client, s, v, options); err != nil {
			return nil, nil, err
		}
		places, options := o.OriginalsIn(v), options
		places.Explain(&options)
		return standing.Report(v, options), places, nil
	})
	if err == nil {
		answer.Problems, answer.Summary = append(answer.Problems, broken.In(r)...), r.Summary
	}
	return err
}

// beginHooks begins a session at the end of a view, and moves its client's cursor there.
func (o *Observer) beginHooks(ctx context.Context, client *checkpoint.Client, s *hookSession, v *capture.View, options window.Options) error {
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	s.beginLocked(v, options)
	client.Lock()
	client.LookedLocked(v)
	client.AdvanceLocked(v, nil)
	client.Unlock()
	if o.disk != nil {
		o.disk.ReadersChanged()
	}
	return nil
}

// hookSessions maps clients to their hook sessions.
type hookSessions struct {
	mu  sync.Mutex
	all map[*checkpoint.Client]*hookSession
}

// of returns a client's session.
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

func newHookSession() *hookSession {
	return &hookSession{turn: make(chan struct{}, 1), unsure: map[string]broken.Problem{}}
}

// begin waits for its turn to answer for the session. The returned function ends the turn.
func (s *hookSession) begin(ctx context.Context) (end func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// beginLocked begins a session at the end of a view.
func (s *hookSession) beginLocked(v *capture.View, o window.Options) {
	s.start, s.standing, s.open, s.unsure, s.stopped = v.Now(), map[string]string{}, nil, map[string]broken.Problem{}, false
	for _, p := range broken.In(standing.Report(v, o)) {
		s.standing[p.Key()] = p.Text
	}
}

// hookLook waits until the page has dealt with an edit, and reports what broke.
func (o *Observer) hookLook(ctx context.Context, client *checkpoint.Client, s *hookSession, options window.Options, p HookParams, answer *HookAnswer) error {
	began := o.clock()
	r := &changesRequest{options: options, wait: "settled", timeout: hookTimeout}
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
	recent := standing.UpdatesSince(o.store.View(began), began.Add(-editLead))
	outcome, err := o.settle(ctx, r, max(looked, recent))
	if err != nil {
		return err
	}
	ask := ChangesParams{}
	_, err = WithPlacesWithin(ctx, r.timeout-o.clock().Sub(began), SettledWait, func(last bool) (struct{}, *Places, error) {
		end, err := s.begin(ctx)
		if err != nil {
			return struct{}{}, nil, err
		}
		defer end()
		if s.standing == nil {
			v := o.store.View(o.clock())
			if known { // an earlier daemon knew the client
				s.standing, s.start = map[string]string{}, v.MomentAt(began.Add(-hookLookBack))
			} else {
				s.beginLocked(v.Until(v.MomentAt(began.Add(-hookLookBack))), options)
				ask.Checkpoint = report.Time{Time: began.Add(-hookLookBack)}.String()
			}
		}
		v := o.store.View(o.clock())
		client.Lock()
		since := client.SinceLocked(v.Start(), 0, nil)
		client.Unlock()
		asked, err := o.checkChanges(client, ask)
		if err != nil {
			return struct{}{}, nil, err
		}
		if p.Workspace != "" {
			asked.edited, asked.inEdited = p.Workspace, true
		}
		history := standing.Of(v)
		asked.options.Over = history.Over
		changed, places, err := o.report(ctx, client, *asked, outcome, true, last)
		if changed == nil {
			return struct{}{}, places, err
		}
		s.dropRecoveredLocked(changed.Network)
		all := broken.In(changed)
		s.dropMendedLocked(all, history, options)
		fresh, repeated := s.sortLocked(all)
		if p.Event == HookEdit {
			standing.Earlier(fresh, since, v.MomentAt(edited.Began(v, p.Workspace, since.At, began.Add(-hookLookBack))), v, options)
		}
		lasting := len(s.open) > 0 && notUpdated(v, r, looked) == ""
		if lasting {
			s.keepLastingLocked(since, options, history, broken.IsEmpty(all) || !history.Ran(&options, looked))
		}
		if edited := v.MomentAt(began.Add(-editLead)); edited.At.After(since.At) {
			since = edited
		}
		repeated = s.addFailingLocked(repeated, since, v, options)
		s.answerLocked(fresh, repeated, p.Event, lasting, answer)
		if len(answer.Problems) > 0 {
			answer.Summary = changed.Summary
		}
		return struct{}{}, places, nil
	})
	return err
}

// answerLocked adds the problems of a report to a hook's answer. Lasting is true if an update of the page has shown which of the open
// ones remain. An overlay that does is repeated, though nothing new happens, and so are the errors of a page that is empty.
func (s *hookSession) answerLocked(fresh, repeated []broken.Problem, event string, lasting bool, answer *HookAnswer) {
	var remaining []broken.Problem
	for _, o := range s.open {
		remains := lasting && o.Kind == "overlay" || o.Kind == "console" && broken.IsEmpty(repeated)
		if remains && !slices.ContainsFunc(repeated, func(p broken.Problem) bool { return p.Key() == o.Key() }) {
			remaining = append(remaining, o)
		}
	}
	repeated = append(remaining, repeated...)
	s.openLocked(slices.DeleteFunc(slices.Clone(repeated), s.stands))
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

// maxSession bounds the length of a session's id, which is stored.
const maxSession = 200

// maxOpen bounds the open problems of a session.
const maxOpen = 100

// stands reports whether a problem existed before the session.
func (s *hookSession) stands(p broken.Problem) bool {
	_, is := s.standing[p.Key()]
	return is
}

// sortLocked separates new problems from those reported before. Problems from before the session are in neither list, but for the
// errors of a page that only the session has left empty.
func (s *hookSession) sortLocked(all []broken.Problem) (fresh, repeated []broken.Problem) {
	emptied := slices.ContainsFunc(all, func(p broken.Problem) bool { return p.Kind == broken.Empty && !s.stands(p) })
	for _, p := range all {
		switch key := p.Key(); {
		case s.stands(p) && (p.Kind != "console" || !emptied):
		case slices.ContainsFunc(s.open, func(o broken.Problem) bool { return o.Key() == key }):
			repeated = append(repeated, p)
		case s.isUnsure(p):
			repeated = append(repeated, p)
		default:
			delete(s.standing, key)
			fresh = append(fresh, p)
		}
	}
	return fresh, repeated
}

// isUnsure reports whether a problem is one of an earlier edit that may have been there all the time, and no evidence names another.
func (s *hookSession) isUnsure(p broken.Problem) bool {
	was, is := s.unsure[p.Key()]
	return is && (p.IntroducedBy == nil || p.IntroducedBy.String() == was.IntroducedBy.String())
}

// dropMendedLocked has what a page has shown to be fixed count as new if it breaks once more.
func (s *hookSession) dropMendedLocked(all []broken.Problem, h *standing.History, o window.Options) {
	if !broken.IsEmpty(all) {
		s.open = slices.DeleteFunc(s.open, func(p broken.Problem) bool { return p.Kind == broken.Empty })
	}
	maps.DeleteFunc(s.unsure, func(key string, _ broken.Problem) bool { return h.Mended(key, false) })
	maps.DeleteFunc(s.standing, h.Recovered(all, o))
}

// dropRecoveredLocked has endpoints that succeed again no longer count as broken before the session: if they fail once more, that is new.
func (s *hookSession) dropRecoveredLocked(d *report.NetworkDiff) {
	if d == nil {
		return
	}
	for _, r := range d.Recovered {
		request := event.Method(r.Method) + " " + r.URL + " "
		maps.DeleteFunc(s.standing, func(_, text string) bool { return strings.HasPrefix(text, request) })
	}
}

// addFailingLocked adds to the repeated problems the requests that failed again since a moment, and were reported or failed before the
// session. An edit that leaves an endpoint failing has not fixed it.
func (s *hookSession) addFailingLocked(repeated []broken.Problem, since capture.Moment, v *capture.View, o window.Options) []broken.Problem {
	o.Include = []capture.Section{capture.NetworkSection}
	since.Endpoints = v.Start().Endpoints // so that a known failure is listed
	for _, p := range broken.In(diff.Compute(since, v, o)) {
		is := func(other broken.Problem) bool { return other.Key() == p.Key() }
		if slices.ContainsFunc(repeated, is) {
			continue
		}
		if i := slices.IndexFunc(s.open, is); i >= 0 {
			repeated = append(repeated, s.open[i])
		} else if s.stands(p) {
			repeated = append(repeated, p)
		}
	}
	return repeated
}

// keepLastingLocked drops open problems that an update has fixed. What remains is visibly broken after it: an overlay
// that is still there, a page that is empty, or a request that has failed again. With errors, those of the console remain too: the
// page is empty, or none of its code ran. Other problems may remain, but a request that the page no longer makes must not hold
// up an agent.
func (s *hookSession) keepLastingLocked(since capture.Moment, o window.Options, h *standing.History, errors bool) {
	lasting := h.Lasting(s.start, since, o)
	s.open = slices.DeleteFunc(s.open, func(o broken.Problem) bool {
		key := o.Key()
		if o.Kind == "console" {
			if !errors && !h.Mended(key, false) && len(s.unsure) < maxOpen {
				s.unsure[key] = o
			}
			return !errors
		}
		return o.Kind == "crash" || !slices.ContainsFunc(lasting, func(p broken.Problem) bool { return p.Key() == key })
	})
}

// openLocked puts problems at the front of the open ones.
func (s *hookSession) openLocked(list []broken.Problem) {
	open := slices.DeleteFunc(s.open, func(o broken.Problem) bool {
		return slices.ContainsFunc(list, func(p broken.Problem) bool { return p.Key() == o.Key() })
	})
	s.open = append(slices.Clone(list), open...)
	if len(s.open) > maxOpen {
		s.open = s.open[:maxOpen]
	}
}
