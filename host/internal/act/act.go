// Package act acts on pages for agents: clicks, typing, navigation, waiting, pictures; and says what that caused.
//
// It guarantees: an agent acts on a tab only while no other one does, or did a moment ago, and no person has stopped it; an
// action is done to the element that the agent was shown, or not at all; what is done and what came of it is in the
// answer, what came too late for it in the next one; nothing that is typed is kept.
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
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Hands act on the pages of browsers. Package link implements it.
type Hands interface {
	// Act has a browser do something on a tab, by the browser's own id of it, and returns once what that caused
	// has been told to the store, or an error when no answer came within a time.
	Act(ctx context.Context, instance string, params protocol.ActParams, within time.Duration) (*protocol.ActResult, error)
}

// Times of an action.
const (
	// ReadyTimeout is how long an element may take until it can be acted on; settleTimeout what an action
	// causes until it is answered all the same.
	ReadyTimeout  = 2 * time.Second
	settleTimeout = 5 * time.Second
	// answerGrace is what an answer may take longer than all of its steps were given.
	answerGrace = 5 * time.Second
)

// maxPageTokens bounds what an answer says of the page.
const maxPageTokens = 2000

// masked stands in place of a secret; protocol/redaction.json has it too.
const masked = "[masked]"

// action is a use case that acts.
type action struct {
	tab int
	// what says what is done, for the person and for other agents: without what is typed. Elements that it is done
	// to, by reference, stand where it has %s.
	what string
	to   []string
	// steps are made with the page that the references are of.
	steps func(*references) ([]protocol.ActStep, error)
	// timeout and settle, when not 0, stand for ReadyTimeout and settleTimeout.
	timeout, settle time.Duration
	// blind leaves out what changed on the page.
	blind bool
	// looks is set for an action that causes nothing: it keeps no tab, and no other agent keeps it from one.
	looks bool
	// waits is set for one that looks until something has changed, which is what it tells.
	waits bool
	// leaves is set for one that goes to another page, which is told as a whole.
	leaves bool
	// focus tells where the focus went.
	focus bool
	// otherwise goes on from what became of the steps; nil: that is all.
	otherwise func(context.Context, *actingTab, *protocol.ActResult) (*protocol.ActResult, error)
}

// references turn references into the way to elements.
type references struct {
	tab  int
	page *aria.Page
	seen *aria.Seen
	// meant is the tab that the references belong to, where it has been closed since and this one was not named.
	meant int
}

// path leads to the element of a reference, as the agent was shown it.
func (r *references) path(ref string) ([]protocol.ActNode, error) {
	number, ok := aria.ParseReference(ref)
	if !ok {
		return nil, usererr.Invalid("ref is %q; it must be a reference of browser_snapshot, such as e12", ref)
	}
	if r.meant != 0 {
		return nil, usererr.New(usererr.ReferenceGone, "tab %d, whose references these are, has been closed, and tab %d is another one: call browser_snapshot for its references, or pass the tab that you mean; nothing was done", r.meant, r.tab)
	}
	if r.page.Tree() == nil {
		return nil, usererr.New(usererr.ReferenceGone, "nobody has looked at tab %d yet; call browser_snapshot for its references", r.tab)
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
				if !strings.Contains(shown.Name, masked) { // of a name with a secret in it the page has another one
					n.Name = shown.Name
				}
			}
		}
		path = append(path, n)
	}
	return path, nil
}

// gone is an error of aria's as a caller's mistake.
func gone(err error) error {
	var g *aria.GoneError
	if errors.As(err, &g) {
		return usererr.New(usererr.ReferenceGone, "%s; nothing was done", g.Error())
	}
	return err
}

// act does something on a tab and answers with what it caused.
func (e *Actor) act(ctx context.Context, client *checkpoint.Client, a action) (*Answer, error) {
	id, err := e.pages.WaitForTab(ctx, client, a.tab)
	if err != nil {
		return nil, err
	}
	if e.hands == nil {
		return nil, usererr.New(usererr.NoBrowser, "no browser is connected; open one with `tidemark browser`")
	}
	if err := e.pages.Paused(id); err != nil {
		return nil, err
	}
	leased, release, err := e.permit(ctx, client, id, a)
	if err != nil {
		return nil, err
	}
	done, err := e.actOn(leased, client, id, a)
	release()
	var answer *Answer
	if err == nil {
		answer, err = e.tellActed(ctx, client, done)
	}
	if err != nil || answer.Refused != nil {
		switch why := context.Cause(leased); {
		case errors.Is(why, errStopped):
			return nil, usererr.New(usererr.AgentStopped, "a person stopped this agent meanwhile: do not act in the browser until they allow it again in Tidemark's popup or panel")
		case errors.Is(why, clients.ErrSuspended):
			return nil, clients.ErrSuspended
		}
	}
	return answer, err
}

// said is what is done, with elements as they are called; by their references before it is known which these are.
func (a action) said(r *references) string {
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

// actOn does something on a tab, whose page is locked meanwhile.
func (e *Actor) actOn(ctx context.Context, client *checkpoint.Client, id int, a action) (*finished, error) {
	instance, theirs, ok := e.store.BrowserTab(id)
	if !ok {
		return nil, usererr.New(usererr.TabClosed, "the tab %d has been closed; browser_tabs lists those that are open", id)
	}
	t := e.pages.Tab(id)
	t.Lock()
	defer t.Unlock()
	r := &references{tab: id, page: t.Page, seen: e.pages.SeenBy(t, client)}
	if a.tab == 0 {
		r.meant = e.pages.ClosedBefore(client)
	}
	steps, err := a.steps(r)
	if err != nil {
		return nil, err
	}
	e.pages.Use(client, id)
	if !a.looks {
		e.agents.doing(client, a.said(r))
	}
	began := e.clock().UnixMilli()
	from, first := e.pages.ToldOf(t, client)
	on := &actingTab{actor: e, id: id, instance: instance, browserTab: theirs, tab: t, refs: r, action: a}
	on.before = t.Page.Tree()
	result, err := on.do(ctx, steps)
	if err != nil {
		return nil, err
	}
	var gone error
	if result.Refused == protocol.RefusedGone {
		// The page may have rendered the element anew: then its reference is that of the new one.
		now, err := e.pages.Look(ctx, id, t, false)
		if err != nil {
			return nil, err
		}
		if result.Done == 0 {
			on.before = now
		}
		again, err := a.steps(r)
		switch done := result.Done; {
		case err != nil && done == 0:
			gone = err
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
	if a.otherwise != nil {
		if result, err = a.otherwise(ctx, on, result); err != nil {
			return nil, err
		}
	}
	if on.began == 0 {
		on.began = began
	}
	return e.finish(ctx, client, t, outcome{id: id, action: a, steps: on.steps, result: result, refs: r, names: on.names, gone: gone, before: on.before, follows: on.follows, began: on.began, from: from, first: first})
}

// certain says whether the elements of steps are surely those that the agent was shown.
func (r *references) certain(steps []protocol.ActStep) bool {
	unsure := r.page.Unsure(r.seen.Told())
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

// do has the browser do the steps; before says whether it looks at the page before them too.
func (e *Actor) do(ctx context.Context, id int, instance string, theirs int, steps []protocol.ActStep, a action, look *protocol.AriaParams, before bool) (*protocol.ActResult, error) {
	timeout, settle := a.timeout, a.settle
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
	result, err := e.hands.Act(ctx, instance, protocol.ActParams{
		Tab: theirs, Steps: steps, TimeoutMs: int(timeout.Milliseconds()), SettleMs: int(settle.Milliseconds()), Look: look, Before: before,
	}, within)
	var coded *protocol.Error
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &coded) && coded.Code == protocol.CodeUnknown:
		return nil, usererr.New(usererr.ExtensionOutdated, "the extension in this browser is too old for acting; run `tidemark install` and reload it")
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
	return nil, fmt.Errorf("tab %d: %w; whether the page got the action is not known: call browser_snapshot", id, err)
}

// outcome is what is known of an action before it is answered.
type outcome struct {
	id     int
	action action
	steps  []protocol.ActStep
	result *protocol.ActResult
	refs   *references
	// names are those of the elements of the steps, as the agent knew them.
	names []string
	// gone says what became of an element that nothing was done with; nil where that is not known.
	gone error
	// before is the page as it was before the action; nil when nobody had looked at it.
	before *aria.Tree
	// follows is the page that the result's is relative to.
	follows *aria.Tree
	// began is when the action began to have an effect, in milliseconds since the Unix epoch.
	began int64
	from  capture.Moment
	first bool
}

// finished is what is known of an action when nothing more is asked of the page.
type finished struct {
	outcome
	// v is up to where the client is told.
	v *capture.View
	// answer lacks the consequences that v has.
	answer *Answer
}

// finish reads what an action did to the page.
func (e *Actor) finish(ctx context.Context, client *checkpoint.Client, t *pages.Tab, o outcome) (*finished, error) {
	result := o.result
	late := Late{First: o.first}
	answer := &Answer{
		Tab: o.id, Untrusted: result.Untrusted, Dialog: result.Dialog, Unfinished: result.Waiting, Value: result.Value, Busy: result.Busy,
		Late: &late, Waited: o.action.waits, Image: result.Image, Mime: result.Mime,
	}
	done := &finished{outcome: o, answer: answer}
	if !o.action.blind {
		late.Page, late.Merged = o.meanwhile(e.clock())
	}
	if o.action.leaves && result.Refused == "" {
		o.refs.seen.Reset()
	}
	if result.Dialog == nil && !result.Busy && !o.action.blind {
		tree, err := e.after(ctx, o, t)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && result.Refused == "":
			answer.Unreadable = err.Error()
		case err == nil: // also what was done before a step was refused has changed the page
			answer.Page = o.refs.seen.Caused(t.Page, tree, e.clock(), maxPageTokens, o.action.focus)
			answer.Unchanged = answer.Page == "" && result.Refused == ""
		}
	}
	done.v = e.store.View(e.clock())
	if o.action.looks { // what an action was answered meanwhile is not told again
		if told, first := e.pages.ToldOf(t, client); !first {
			done.from = told
		}
	}
	e.pages.Tell(t, client, done.v.Now())
	if result.Late != nil && !o.first {
		t.Unlocked(func() { late.Made = e.made(ctx, o, *result.Late) })
	}
	answer.Invalid, answer.Ignored = o.objections()
	if result.Refused != "" {
		answer.Refused = o.refusal()
		return done, nil
	}
	t.Unlocked(func() {
		answer.Made = e.made(ctx, o, protocol.ActMade{Opened: result.Opened, Downloads: result.Downloads})
	})
	return done, nil
}

// tellActed completes an answer with what the action caused. The page is not locked meanwhile.
func (e *Actor) tellActed(ctx context.Context, client *checkpoint.Client, done *finished) (*Answer, error) {
	type consequences struct{ caused, late []diff.Consequence }
	c, err := observe.WithPlaces(ctx, observe.PlacesWait, func(bool) (c consequences, places *observe.Places, _ error) {
		places = e.observer.OriginalsIn(done.v)
		c.caused, c.late = e.consequences(client, done.v, done.outcome, places)
		return c, places, nil
	})
	if err != nil {
		return nil, err
	}
	answer := done.answer
	answer.Broke, answer.Requests = broken(c.caused), requests(c.caused)
	if answer.Late.Broke = broken(c.late); answer.Late.empty() {
		answer.Late = nil
	}
	return answer, nil
}

// after is a tab's page as it is after an action: as the browser told with it, else it is looked at.
func (e *Actor) after(ctx context.Context, o outcome, t *pages.Tab) (*aria.Tree, error) {
	if told := o.result.Page; told != nil {
		if tree, err := t.Apply(o.follows, told); err == nil {
			return tree, nil
		}
	}
	return e.pages.Look(ctx, o.id, t, false)
}

// made is what a page opened and downloaded.
func (e *Actor) made(ctx context.Context, o outcome, made protocol.ActMade) Made {
	out := Made{Downloads: made.Downloads}
	instance, _, _ := e.store.BrowserTab(o.id)
	for _, theirs := range made.Opened {
		var opened OpenedTab
		if t := e.knownTab(ctx, instance, theirs); t != nil {
			opened = OpenedTab{ID: t.ID, URL: t.URL}
		}
		out.Opened = append(out.Opened, opened)
	}
	return out
}

// consequences are what an action caused, and what came between the one before and this one.
func (e *Actor) consequences(client *checkpoint.Client, v *capture.View, o outcome, places *observe.Places) (caused, late []diff.Consequence) {
	options := e.rules.Of(client).Options(client.Scope)
	options.Tab, options.Origins = o.id, nil // wherever the action led to
	options.Original = places.Place
	for _, c := range diff.Consequences(o.from, v, o.began, options) {
		switch {
		case c.At >= o.began:
			caused = append(caused, c)
		case !o.first:
			late = append(late, c)
		}
	}
	return caused, late
}

// broken are those that are errors and warnings, errors first.
func broken(list []diff.Consequence) (found []diff.Consequence) {
	for _, severity := range []diff.Severity{diff.Error, diff.Warning} {
		for _, c := range list {
			if c.Severity == severity {
				found = append(found, c)
			}
		}
	}
	return found
}

// requests are the requests that succeeded.
func requests(list []diff.Consequence) (found []diff.Consequence) {
	for _, c := range list {
		if c.Request && c.Text != "" {
			found = append(found, c)
		}
	}
	return found
}

// meanwhile is what changed on the page since the agent was told of it last, and before the action; "" for nothing.
// merged says that this is too much to be told apart from what the action changed.
func (o *outcome) meanwhile(now time.Time) (text string, merged bool) {
	seen := o.refs.seen
	if o.before == nil || seen.Told() == 0 || seen.Knows(o.before.Number) {
		return "", false
	}
	text = seen.Caused(o.refs.page, o.before, now, maxPageTokens, false)
	if !seen.Knows(o.before.Number) {
		return "", true
	}
	return text, false
}
