// Package act acts on pages for agents (clicks, typing, navigation, waiting, screenshots) and reports the effects.
//
// It guarantees:
//   - An agent acts on a tab only if no other agent does or did within [leaseFor], and if the user has not stopped it.
//   - An action targets the element that the agent was shown, or nothing is done.
//   - Each answer reports the action and its effects. Effects that come after it are in the next answer.
//   - Typed text is not stored.
package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Hands act on the pages of browsers. Package link implements it.
type Hands interface {
	// Act carries out steps in a tab, given by the browser's own id, and returns when the store has their effects. It
	// returns an error if no answer comes within the given time.
	Act(ctx context.Context, instance string, params protocol.ActParams, within time.Duration) (*protocol.ActResult, error)
}

// Times of an action.
const (
	// ReadyTimeout is how long an element may take to become ready. After settleTimeout an action is answered even if
	// its effects continue.
	ReadyTimeout  = 2 * time.Second
	settleTimeout = 5 * time.Second
	// answerGrace is how much longer an answer may take than the time limits of its steps together.
	answerGrace = 5 * time.Second
)

// maxPageTokens limits the page changes in an answer, maxPageBeside the listing of a new document beside new errors, a
// storm or a flood of requests. What does not fit is pending, and in the next snapshot.
const (
	maxPageTokens = 2000
	maxPageBeside = 250
)

// masked replaces secrets. It is the same in protocol/redaction.json.
const masked = "[masked]"

// action describes one call of a tool of this package.
type action struct {
	tab int
	// what describes the action to the user and to other agents, without typed text. Each %s stands for an element of to.
	what string
	to   []string
	// steps resolves the references and returns the steps.
	steps func(*references) ([]protocol.ActStep, error)
	// timeout and settle, when not 0, replace ReadyTimeout and settleTimeout.
	timeout, settle time.Duration
	// blind omits page changes from the answer.
	blind bool
	// readOnly marks an action without effects. It takes no lease and ignores the leases of other agents.
	readOnly bool
	// waits is what the action waits for, as a sentence that holds afterwards; "" for one that does not wait.
	waits string
	// focus includes focus changes in the answer.
	focus bool
	// followUp continues from the result of the steps. It may be nil.
	followUp func(context.Context, *actingTab, *protocol.ActResult) (*protocol.ActResult, error)
}

// references resolves element references in one tab.
type references struct {
	tab  int
	page *aria.Page
	seen *aria.Seen
	// closedTab is the closed tab that the references may belong to, if the call named no tab; else 0.
	closedTab int
}

// path returns the path to the element of a reference, with role and name as the agent was shown them.
func (r *references) path(ref string) ([]protocol.ActNode, error) {
	number, ok := aria.ParseReference(ref)
	if !ok {
		if ref == "" {
			return nil, usererr.Invalid("ref is missing. Pass a reference from browser_snapshot, such as e12.")
		}
		return nil, usererr.Invalid("ref is %q; it must be a reference from browser_snapshot, such as e12", ref)
	}
	if r.closedTab != 0 {
		return nil, usererr.New(usererr.ReferenceGone, "tab %d, which has these references, was closed, and tab %d is a different one. Nothing was done. Call browser_snapshot for new references, or pass the tab you mean.", r.closedTab, r.tab)
	}
	if r.page.Tree() == nil {
		return nil, usererr.New(usererr.ReferenceGone, "tab %d has no references yet. Call browser_snapshot first.", r.tab)
	}
	elements, err := r.page.Path(number)
	if err != nil {
		return nil, gone(err)
	}
	var path []protocol.ActNode
	for i, e := range elements {
		n := protocol.ActNode{Frame: e.Frame, Document: e.Document, ID: e.ID}
		if i == len(elements)-1 {
			shown := r.seen.Node(number)
			if shown == nil {
				shown = e.Node
			}
			if shown != nil {
				n.Role = shown.Role
				if !strings.Contains(shown.Name, masked) { // the page has the name with the secret
					n.Name = shown.Name
				}
			}
		}
		path = append(path, n)
	}
	return path, nil
}

// missing is an error about a reference whose element is not on the page.
type missing struct {
	error
	// element is its reference, role and name; name is "" if there is none to look for, or another element is like it.
	element, name string
}

func (m *missing) Unwrap() error { return m.error }

// gone converts a [aria.GoneError] to an error for the agent.
func gone(err error) error {
	var g *aria.GoneError
	if !errors.As(err, &g) {
		return err
	}
	m := &missing{error: usererr.New(usererr.ReferenceGone, "%s Nothing was done.", g.Error())}
	if g.Was != nil && g.Successor == nil && !strings.Contains(g.Was.Name, masked) {
		m.name, m.element = g.Was.Name, fmt.Sprintf("%s (%s)", aria.Reference(g.Ref), aria.Brief(g.Was))
	}
	return m
}

// act carries out an action in a tab and reports its effects.
func (a *Actor) act(ctx context.Context, client *checkpoint.Client, act action) (*Answer, error) {
	id, err := a.pages.WaitForTab(ctx, client, act.tab)
	if err != nil {
		return nil, err
	}
	if a.hands == nil {
		return nil, pages.NoBrowser()
	}
	if err := a.pages.Paused(id); err != nil {
		return nil, err
	}
	client.Lock()
	client.HeardLocked() // a new action means that the client got the previous answer
	client.Unlock()
	leased, release, err := a.permit(ctx, client, id, act)
	if err != nil {
		return nil, err
	}
	done, err := a.actOn(leased, client, id, act)
	release()
	var answer *Answer
	if err == nil {
		answer, err = a.addConsequences(ctx, client, done)
	}
	if err != nil || answer.Refused != nil {
		switch why := context.Cause(leased); {
		case errors.Is(why, errStopped):
			return nil, usererr.New(usererr.AgentStopped, "the user stopped this agent during the action. Do not act in the browser until they allow it again in Tidemark's popup or panel.")
		case errors.Is(why, clients.ErrSuspended):
			return nil, clients.ErrSuspended
		}
	}
	return answer, err
}

// describe describes the action with the names of its elements, or with their references if r is nil or has no name.
func (a action) describe(r *references) string {
	if len(a.to) == 0 {
		return a.what
	}
	var named []any
	for _, ref := range a.to {
		name := ref
		if number, ok := aria.ParseReference(ref); ok && r != nil {
			if shown := r.seen.Node(number); shown != nil {
				name = aria.Brief(shown)
			}
		}
		named = append(named, name)
	}
	return fmt.Sprintf(a.what, named...)
}

// actOn carries out an action in a tab. The page is locked during the action, except while the browser works.
func (a *Actor) actOn(ctx context.Context, client *checkpoint.Client, id int, act action) (*finished, error) {
	instance, browserTab, ok := a.store.BrowserTab(id)
	if !ok {
		return nil, pages.Closed(id)
	}
	t := a.pages.Tab(id)
	t.Lock()
	defer t.Unlock()
	r := &references{tab: id, page: t.Page, seen: a.pages.SeenBy(t, client)}
	if act.tab == 0 {
		r.closedTab = a.pages.ClosedBefore(client)
	}
	on := &actingTab{actor: a, id: id, instance: instance, browserTab: browserTab, tab: t, refs: r, action: act}
	steps, err := on.resolved(ctx, client)
	if err != nil {
		return nil, Finder{a}.explained(ctx, client, id, t, err)
	}
	a.pages.Use(client, id)
	if !act.readOnly {
		a.agents.setWhat(client, act.describe(r))
	}
	began := a.clock().UnixMilli()
	from, first := reportedUntil(a, t, id, client)
	on.before = t.Page.Tree()
	fills := r.fills(steps)
	result, err := on.do(ctx, steps)
	if err != nil {
		return nil, err
	}
	var gone error
	if result.Refused == protocol.RefusedGone && a.pages.Left(client, id) == nil {
		// The page may have re-rendered the element. Then the reference belongs to the new one.
		now, err := a.pages.Look(ctx, id, t, false)
		if err != nil {
			return nil, err
		}
		if result.Done == 0 {
			on.before = now
		}
		again, err := act.steps(r)
		switch done := result.Done; {
		case err != nil && done == 0:
			gone = Finder{a}.explained(ctx, client, id, t, err)
		case err == nil && r.certain(again):
			if result, err = on.do(ctx, again[done:]); err != nil {
				return nil, err
			}
			result.Done += done
			on.steps, on.names = again, slices.Concat(make([]string, done), on.names)
		case err == nil:
			on.steps = again
		}
	}
	if act.followUp != nil {
		if result, err = act.followUp(ctx, on, result); err != nil {
			return nil, err
		}
	}
	if on.began == 0 {
		on.began = began
	}
	return a.finish(ctx, client, t, outcome{id: id, action: act, steps: on.steps, result: result, refs: r, names: on.names, gone: gone, before: on.before, follows: on.follows, began: on.began, from: from, first: first, fills: fills})
}

// reportedUntil returns the moment up to which answers have reported a tab's events to a client: those of actions, and those of
// get_changes_since while the tab was in the client's scope. Before the first action, first is true and the moment is now.
func reportedUntil(a *Actor, t *pages.Tab, id int, client *checkpoint.Client) (from capture.Moment, first bool) {
	from, first = a.pages.ReportedUntil(t, client)
	client.Lock()
	covered := client.CoveredLocked()
	client.Unlock()
	if first || !covered.At.After(from.At) {
		return from, first
	}
	whole := a.store.View(a.clock()).SubjectsSince(from.Pos, func(s event.Subject) {
		if s.Tab() == id && !client.Scope.Covers(s) {
			covered = from
		}
	})
	if !whole {
		return from, first
	}
	return covered, first
}

// certain reports whether the elements of steps are certainly those that the agent was shown.
func (r *references) certain(steps []protocol.ActStep) bool {
	unsure := r.page.Unsure(r.seen.Newest())
	for _, s := range steps {
		for _, path := range [][]protocol.ActNode{s.Path, s.To} {
			if len(path) == 0 {
				continue
			}
			last := path[len(path)-1]
			if ref, _ := r.page.At(last.Document, last.ID); slices.Contains(unsure, ref) {
				return false
			}
		}
	}
	return true
}

// do sends steps to the browser. With before, the browser also reads the page before the first step.
func (a *Actor) do(ctx context.Context, id int, instance string, browserTab int, steps []protocol.ActStep, act action, look *protocol.AriaParams, before bool) (*protocol.ActResult, error) {
	timeout, settle := act.timeout, act.settle
	if timeout == 0 {
		timeout = ReadyTimeout
	}
	if settle == 0 {
		settle = settleTimeout
	}
	if len(steps) == 0 {
		return &protocol.ActResult{}, nil
	}
	within := time.Duration(len(steps))*(timeout+settle) + answerGrace
	result, err := a.hands.Act(ctx, instance, protocol.ActParams{
		Tab: browserTab, Steps: steps, TimeoutMs: int(timeout.Milliseconds()), SettleMs: int(settle.Milliseconds()), Look: look, Before: before,
	}, within)
	var coded *protocol.Error
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &coded) && coded.Code == protocol.CodeUnknown:
		return nil, usererr.New(usererr.ExtensionOutdated, "the extension in this browser is too old for acting. Ask the user to run `tidemark install` and to reload it.")
	case errors.As(err, &coded) && coded.Code == protocol.CodeNone:
		return nil, pages.Closed(id)
	case errors.As(err, &coded):
		code := usererr.PageUnavailable
		switch coded.Code {
		case protocol.CodePaused:
			code = usererr.PagePaused
		case protocol.CodeUnwatched:
			code = usererr.NotWatched
		}
		return nil, usererr.New(code, "tab %d: %s", id, coded.Message)
	}
	return nil, usererr.New(usererr.PageUnavailable, "tab %d: %v. The action may have reached the page: call browser_snapshot.", id, err)
}

// outcome is the state of an action whose steps were carried out or refused.
type outcome struct {
	id     int
	action action
	steps  []protocol.ActStep
	result *protocol.ActResult
	refs   *references
	// names are the names of the elements of the steps, as the agent was shown them.
	names []string
	// gone explains a missing element; nil if there is no explanation.
	gone error
	// before is the page before the action; nil if it was never read.
	before *aria.Tree
	// follows is the tree on which the page of the result is based.
	follows *aria.Tree
	// began is when the action began to take effect, in milliseconds since the Unix epoch.
	began int64
	from  capture.Moment
	first bool
	// fills are the fields that the steps fill, or clear: then false.
	fills map[int]bool
}

// finished is an action after its last request to the page.
type finished struct {
	outcome
	// v is the view that the answer reports up to.
	v *capture.View
	// answer is complete except for the consequences in v.
	answer *Answer
}

// finish reads the page after an action and starts the answer.
func (a *Actor) finish(ctx context.Context, client *checkpoint.Client, t *pages.Tab, o outcome) (*finished, error) {
	result := o.result
	if err := a.pages.Left(client, o.id); err != nil {
		return finishOutside(a, client, t, o, err), nil
	}
	late := Late{First: o.first}
	answer := &Answer{
		Tab: o.id, Untrusted: result.Untrusted, Dialog: result.Dialog, Unfinished: counted(result.Waiting), Value: result.Value, Busy: result.Busy,
		Late: &late, Waited: o.action.waits != "", Image: result.Image, Mime: result.Mime,
	}
	done := &finished{outcome: o, answer: answer}
	var read *aria.Tree                                 // after the action
	errorPage := result.Refused == protocol.RefusedLoad // nobody may read it
	reads := result.Dialog == nil && !result.Busy && !o.action.blind && !errorPage
	var tree *aria.Tree
	var err error
	if reads {
		tree, err = after(ctx, a, o, t)
	}
	if !o.action.blind {
		late.Page, late.Merged = o.lateChanges(a.clock(), tree)
	}
	if reads {
		if err == nil && len(tree.Root.Children) == 0 {
			t.Unlocked(func() { untilEmpty(ctx, a, o.id, o.began) })
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case usererr.CodeOf(err) == usererr.PagePaused && result.Refused == "":
			answer.Paused = err.Error()
		case err != nil && result.Refused == "":
			answer.Unreadable = err.Error()
		case err == nil && a.pages.Outside(client, o.id, tree) != nil:
			return finishOutside(a, client, t, o, a.pages.Outside(client, o.id, tree)), nil
		case err == nil: // steps before a refused one may have changed the page
			read = tree
			most := maxPageTokens
			if (o.before == nil || o.before.Document != tree.Document) && o.isTroubled(a, client) {
				most = maxPageBeside
			}
			answer.Page = o.refs.seen.Caused(t.Page, tree, a.clock(), most, o.action.focus)
			answer.Unchanged = answer.Page == "" && result.Refused == ""
		}
	}
	if result.Refused == "" && result.Dialog == nil && !result.Busy && answer.Paused == "" {
		answer.Met = o.action.waits
	}
	reportNow(a, client, t, done)
	if result.Late != nil && !o.first {
		t.Unlocked(func() { late.Made = a.made(ctx, client, o, *result.Late) })
	}
	o.object(answer)
	answer.Unclicked = result.Unclicked
	late.Emptied, answer.Emptied = o.emptied(a, client, done.v, read)
	if result.Refused != "" {
		answer.Refused = o.refusal()
		return done, nil
	}
	t.Unlocked(func() {
		if answer.Paused != "" {
			answer.Changed = a.paused(ctx, client, o.id)
		}
		answer.Made = a.made(ctx, client, o, protocol.ActMade{Opened: result.Opened, Downloads: result.Downloads})
	})
	return done, nil
}

// finishOutside starts the answer of an action after which the tab is outside of the client's origins. It has nothing that
// the browser reports of the page.
func finishOutside(a *Actor, client *checkpoint.Client, t *pages.Tab, o outcome, left error) *finished {
	answer := &Answer{Tab: o.id, Late: &Late{First: o.first}, Waited: o.action.waits != "", Left: left.Error()}
	if o.result.Refused != "" {
		answer.Refused = &Refusal{Reason: protocol.RefusedFailed, Element: o.refusal().Element, Detail: answer.Left, Done: o.result.Done, Steps: len(o.steps)}
	}
	o.result = &protocol.ActResult{}
	done := &finished{outcome: o, answer: answer}
	reportNow(a, client, t, done)
	return done
}

// reportNow makes the answer of an action report up to now.
func reportNow(a *Actor, client *checkpoint.Client, t *pages.Tab, done *finished) {
	done.v = a.store.View(a.clock())
	if done.action.readOnly { // skip events that the answer of an action has reported in the meantime
		if until, first := reportedUntil(a, t, done.id, client); !first {
			done.from = until
		}
	}
	a.pages.MarkReported(t, client, done.v.Now())
}

// addConsequences adds the consequences to an answer. The page is not locked.
func (a *Actor) addConsequences(ctx context.Context, client *checkpoint.Client, done *finished) (*Answer, error) {
	answer := done.answer
	err := give(ctx, a, client, done, func(caused, late []diff.Consequence, places *observe.Places) {
		answer.Broke, answer.Repeated = broken(caused)
		answer.Requests, answer.Flashes = requests(caused), flashes(caused)
		answer.Late.Broke, answer.Late.Repeated = broken(late)
		answer.Late.Requests = slices.DeleteFunc(requests(late), func(c diff.Consequence) bool { return c.Given })
		for i := range answer.Late.Requests {
			answer.Late.Requests[i].Text = answer.Late.Requests[i].WithInitiator()
		}
		for i := range answer.Requests {
			if c := &answer.Requests[i]; c.NeedsInitiator() {
				c.Text = c.WithInitiator()
			}
		}
		answer.Located = observe.Located(a.observer, client, places)
	})
	if answer.Late.empty() {
		answer.Late = nil
	}
	return answer, err
}

// give has add put the consequences of an action into its answer, and marks what the answer shows as given to the client. The
// page is not locked.
func give(ctx context.Context, a *Actor, client *checkpoint.Client, done *finished, add func(caused, late []diff.Consequence, places *observe.Places)) error {
	_, err := observe.WithPlacesWithin(ctx, observe.SettledWait, observe.SettledWait, func(last bool) (*Answer, *observe.Places, error) {
		// One answer at a time for each client, so that none repeats what another has reported.
		end, err := client.Turn(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer end()
		answer, places := done.answer, a.observer.OriginalsIn(done.v)
		caused, late := a.consequences(client, done.v, done.outcome, places)
		if answer.Refused != nil {
			answer.Refused.Blame = done.blame(places, client.Scope.Workspace)
		}
		if last || !places.Waits() {
			add(caused, late, places)
			observe.Give(a.observer, client, answer.given(), nil)
		}
		return answer, places, nil
	})
	return err
}

// after returns a tab's page after an action: the one that the browser sent with the result, else a new read.
func after(ctx context.Context, a *Actor, o outcome, t *pages.Tab) (*aria.Tree, error) {
	if sent := o.result.Page; sent != nil {
		if tree, err := t.Apply(o.follows, sent); err == nil {
			return tree, nil
		}
	}
	return a.pages.Look(ctx, o.id, t, false)
}

// made returns the tabs that a page opened and the files that it downloads.
func (a *Actor) made(ctx context.Context, client *checkpoint.Client, o outcome, made protocol.ActMade) Made {
	out := Made{Downloads: made.Downloads}
	instance, _, _ := a.store.BrowserTab(o.id)
	for _, browserTab := range made.Opened {
		var opened OpenedTab
		if t := a.knownTab(ctx, instance, browserTab); t != nil {
			opened = OpenedTab{ID: t.ID, URL: t.URL}
			if !client.Scope.CoversOrigin(t.Origin) {
				opened = OpenedTab{Outside: true}
			}
		}
		out.Opened = append(out.Opened, opened)
	}
	return out
}

// consequences returns what an action caused, and what happened between the previous answer and the action.
func (a *Actor) consequences(client *checkpoint.Client, v *capture.View, o outcome, places *observe.Places) (caused, late []diff.Consequence) {
	options := a.rules.Of(client).Options(client.Scope)
	places.Explain(&options)
	options.Tab = o.id
	options.Given = client.Given()
	options.Waited = o.action.waits != ""
	for _, c := range diff.Consequences(o.from, v, o.began, options) {
		switch {
		case !c.Before:
			caused = append(caused, c)
		case !o.first:
			late = append(late, c)
		}
	}
	return caused, late
}

// floodOf is from how many alike requests on an action is reported as one that floods its server.
const floodOf = 10

// isTroubled reports whether an action caused errors that the agent was not given yet, a storm, or a flood of requests.
func (o *outcome) isTroubled(a *Actor, client *checkpoint.Client) bool {
	caused, _ := a.consequences(client, a.store.View(a.clock()), *o, nil)
	return slices.ContainsFunc(caused, func(c diff.Consequence) bool {
		return !c.Given && (c.Severity == report.Error || c.Storm || c.Request && c.Count >= floodOf)
	})
}

// requests returns the requests that succeeded.
func requests(list []diff.Consequence) (found []diff.Consequence) {
	for _, c := range list {
		if c.Request && c.Text != "" {
			found = append(found, c)
		}
	}
	return found
}

// lateChanges returns the page changes since the last report to the agent and before the action, or "". If there are too
// many to list apart from the changes of the action, merged is true. A page that the action left is not listed.
func (o *outcome) lateChanges(now time.Time, after *aria.Tree) (text string, merged bool) {
	seen := o.refs.seen
	if o.before == nil || seen.Newest() == 0 || seen.Knows(o.before.Number) {
		return "", false
	}
	if after != nil && after.Document != o.before.Document {
		return seen.Left(o.refs.page, o.before, now, maxPageTokens), false
	}
	text = seen.Caused(o.refs.page, o.before, now, maxPageTokens, false)
	if !seen.Knows(o.before.Number) {
		return "", true
	}
	return text, false
}
