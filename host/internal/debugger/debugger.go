// Package debugger pauses pages for agents and looks into their running code: breakpoints, stepping, variables, snapshots
// of variables, tracepoints.
//
// It guarantees: a pause ends when its owner has gone or its time is over; reading variables runs no code of the page;
// a breakpoint is its agent's own; places are those of the project's files, or marked as generated.
package debugger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// Remote speaks with the debuggers of browsers. Package link implements it.
type Remote interface {
	// Debug puts a method of debugging to a browser and reads its answer, within a time.
	Debug(ctx context.Context, instance, method string, params, answer any, within time.Duration) error
}

// Limits of debugging.
const (
	// DefaultRelease is after how long a pause that nobody ends is ended.
	DefaultRelease = 5 * time.Minute
	debugTimeout   = 10 * time.Second
	// stepWait is how long a step or a pause may take to come about before the answer says that it runs.
	stepWait = 3 * time.Second
	maxWait  = 60 * time.Second
	// mapsWait is how long source maps are waited for that are not there yet.
	mapsWait = 4 * time.Second
)

// debugTabs is what is known of debugged tabs.
type debugTabs struct {
	mu   sync.Mutex
	tabs map[int]*debugTab
	last int // number of the newest breakpoint
	// numbers are those of clients that debug, by which the extension knows whose a pause is; lastClient is the newest.
	numbers    map[*checkpoint.Client]int
	lastClient int
}

// debugTab is the debug session of a tab, from the first call until its last agent has left or the tab is closed.
type debugTab struct {
	breakpoints []*breakpoint
	// told is up to when (by the browser's clock, in milliseconds) each agent knows how pauses ended.
	told map[*checkpoint.Client]int64
	// snapshots are those of the variables, of one session of the browser's debugger; nil when there are none.
	snapshots *variables.Book
	session   int64
	traces    []trace
	// traced is what agents were told of tracepoints last, by id, for the person; the newest at the end.
	traced []tracedAs
}

// withTab is a debugged tab, for a function that holds the lock.
func (d *debugTabs) with(id int, do func(*debugTab)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tabs[id]
	if t == nil {
		if d.tabs == nil {
			d.tabs = map[int]*debugTab{}
		}
		t = &debugTab{told: map[*checkpoint.Client]int64{}}
		d.tabs[id] = t
	}
	do(t)
}

// number is a client's, the same for as long as it is connected.
func (d *debugTabs) number(client *checkpoint.Client) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.numbers == nil {
		d.numbers = map[*checkpoint.Client]int{}
	}
	n, known := d.numbers[client]
	if !known {
		d.lastClient++
		n = d.lastClient
		d.numbers[client] = n
	}
	return n
}

// join notes that a client debugs a tab.
func (d *debugTabs) join(id int, client *checkpoint.Client) {
	d.with(id, func(t *debugTab) {
		if _, known := t.told[client]; !known {
			t.told[client] = 0
		}
	})
}

// debugCall is one call of a tool that debugs: by a client, in a tab.
type debugCall struct {
	e        *Inspector
	client   *checkpoint.Client
	tab      int
	instance string
	caller   protocol.DebugCaller
}

// debug begins a call. An unknown tab is an error; 0 is the client's own.
func (e *Inspector) debug(ctx context.Context, client *checkpoint.Client, tab int) (*debugCall, error) {
	if e.remote == nil {
		return nil, errors.New("there is no browser to debug")
	}
	id, err := e.pages.WaitForTab(ctx, client, tab)
	if err != nil {
		return nil, err
	}
	instance, browserID, ok := e.store.BrowserTab(id)
	if !ok {
		return nil, usererr.New(usererr.TabClosed, "the tab %d has been closed; browser_tabs lists those that are open", id)
	}
	e.pages.Use(client, id)
	return &debugCall{e, client, id, instance, protocol.DebugCaller{
		Tab: browserID, By: e.clientName(client), Client: e.tabs.number(client), ReleaseMs: int(e.release.Milliseconds()), Evaluate: e.evaluate,
	}}, nil
}

// ask puts a method to the tab's browser. What the extension calls a mistake is one of the agent's.
func (c *debugCall) ask(ctx context.Context, method string, params, answer any, extra time.Duration) error {
	err := c.e.remote.Debug(ctx, c.instance, method, params, answer, debugTimeout+extra)
	var coded *protocol.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &coded):
		return fmt.Errorf("tab %d cannot be debugged: %w", c.tab, err)
	case coded.Code == protocol.CodeUnknown:
		return usererr.New(usererr.ExtensionOutdated, "the extension in this browser is too old for debugging; run `tidemark install` and reload it")
	}
	return usererr.New(usererr.PageUnavailable, "tab %d: %s", c.tab, coded.Message)
}

// clientName is what a client calls itself.
func (e *Inspector) clientName(client *checkpoint.Client) string {
	return cmp.Or(e.clients.NameOf(client), "an agent")
}

// DebuggerState is the answer of debugger_state and of the tools that move a thread.
type DebuggerState struct {
	Tab int `json:"tab"`
	// State is running or paused.
	State   string        `json:"state"`
	Threads []ThreadState `json:"threads"`
	// Notes are what the agent ought to know: who else debugs the tab, how a pause ended.
	Notes []string `json:"notes,omitempty"`
	tool.Quotes
}

// ThreadState is one thread.
type ThreadState struct {
	Thread int    `json:"thread"`
	Kind   string `json:"kind"`
	URL    string `json:"url"`
	State  string `json:"state"`
	// Reason is why it is paused, By whose doing that is when it is another agent's or nobody's.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	// Breakpoints are those that were hit.
	Breakpoints []string     `json:"breakpoints,omitempty"`
	Exception   string       `json:"exception,omitempty"`
	Since       *diff.Time   `json:"since,omitempty"`
	Stack       []StackFrame `json:"stack,omitempty"`
	MoreFrames  int          `json:"more_frames,omitempty"`
}

// StackFrame is one frame of a stack, the newest first.
type StackFrame struct {
	// Frame is its number, for tools that take one; absent for what the stack only waits for.
	Frame    *int   `json:"frame,omitempty"`
	Function string `json:"function,omitempty"`
	// Source is file:line:column in the project's file where a source map tells it, else in the script.
	Source string `json:"source"`
	// Generated is true where Source is a place in generated code whose original is not known.
	Generated bool `json:"generated,omitempty"`
	// Script is the place in the script, when Source is another.
	Script string `json:"script,omitempty"`
	Async  string `json:"async,omitempty"`
}

// StateParams are the arguments of debugger_state.
type StateParams struct {
	Thread int `json:"thread,omitempty"`
	WaitMs int `json:"wait_ms,omitempty"`
	Tab    int `json:"tab,omitempty"`
}

// PauseParams are the arguments of debugger_pause.
type PauseParams struct {
	Thread     int    `json:"thread,omitempty"`
	Exceptions string `json:"exceptions,omitempty"`
	Tab        int    `json:"tab,omitempty"`
}

// ResumeParams are the arguments of debugger_resume.
type ResumeParams struct {
	Thread int `json:"thread,omitempty"`
	WaitMs int `json:"wait_ms,omitempty"`
	Tab    int `json:"tab,omitempty"`
}

// StepParams are the arguments of debugger_step.
type StepParams struct {
	Kind   string `json:"kind"`
	Thread int    `json:"thread,omitempty"`
	Tab    int    `json:"tab,omitempty"`
}

// EvaluateParams are the arguments of debugger_evaluate.
type EvaluateParams struct {
	Expression string `json:"expression"`
	Frame      int    `json:"frame,omitempty"`
	Thread     int    `json:"thread,omitempty"`
	Tab        int    `json:"tab,omitempty"`
}

// DebuggerValue is the answer of debugger_evaluate.
type DebuggerValue struct {
	Type  string `json:"type"`
	Value string `json:"value"`
	// Threw is true when the expression threw the value.
	Threw  bool `json:"threw,omitempty"`
	Masked int  `json:"masked,omitempty"`
	tool.Quotes
}

func checkWait(ms int) error {
	if ms < 0 || time.Duration(ms)*time.Millisecond > maxWait {
		return usererr.Invalid("wait_ms is %d; it must be from 0 to %d", ms, maxWait.Milliseconds())
	}
	return nil
}

// checkThread refuses what is no number of a thread or a frame.
func checkNumbers(thread, frame int) error {
	if thread < 0 || frame < 0 {
		return usererr.Invalid("threads count from 1, frames from 0")
	}
	return nil
}

// DebuggerState answers debugger_state.
func (e *Inspector) DebuggerState(ctx context.Context, client *checkpoint.Client, p StateParams) (*DebuggerState, error) {
	if err := errors.Join(checkWait(p.WaitMs), checkNumbers(p.Thread, 0)); err != nil {
		return nil, err
	}
	c, err := e.debug(ctx, client, p.Tab)
	if err != nil {
		return nil, err
	}
	if p.WaitMs > 0 {
		e.tabs.join(c.tab, client) // who waits for a pause wants `debugger` statements to pause, too
	}
	var s protocol.DebugState
	if err := c.ask(ctx, protocol.MethodDebugState, protocol.DebugStateParams{DebugCaller: c.caller, Thread: p.Thread, WaitMs: p.WaitMs}, &s, ms(p.WaitMs)); err != nil {
		return nil, err
	}
	return c.state(ctx, &s, p.Thread), nil
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// DebuggerPause answers debugger_pause.
func (e *Inspector) DebuggerPause(ctx context.Context, client *checkpoint.Client, p PauseParams) (*DebuggerState, error) {
	params := protocol.DebugRunParams{Thread: p.Thread, Kind: "pause", WaitMs: int(stepWait.Milliseconds())}
	switch p.Exceptions {
	case "":
	case "none", "uncaught", "all":
		params.Kind, params.Exceptions, params.WaitMs = "exceptions", p.Exceptions, 0
	default:
		return nil, usererr.Invalid("exceptions is %q; it must be none, uncaught or all", p.Exceptions)
	}
	return e.run(ctx, client, p.Tab, params)
}

// DebuggerResume answers debugger_resume.
func (e *Inspector) DebuggerResume(ctx context.Context, client *checkpoint.Client, p ResumeParams) (*DebuggerState, error) {
	if err := checkWait(p.WaitMs); err != nil {
		return nil, err
	}
	return e.run(ctx, client, p.Tab, protocol.DebugRunParams{Thread: p.Thread, Kind: "resume", WaitMs: p.WaitMs})
}

// DebuggerStep answers debugger_step.
func (e *Inspector) DebuggerStep(ctx context.Context, client *checkpoint.Client, p StepParams) (*DebuggerState, error) {
	if !slices.Contains([]string{"over", "into", "out"}, p.Kind) {
		return nil, usererr.Invalid("kind is %q; it must be over, into or out", p.Kind)
	}
	return e.run(ctx, client, p.Tab, protocol.DebugRunParams{Thread: p.Thread, Kind: p.Kind, WaitMs: int(stepWait.Milliseconds())})
}

// run moves a thread and tells where it stands then.
func (e *Inspector) run(ctx context.Context, client *checkpoint.Client, tab int, p protocol.DebugRunParams) (*DebuggerState, error) {
	if err := checkNumbers(p.Thread, 0); err != nil {
		return nil, err
	}
	c, err := e.debug(ctx, client, tab)
	if err != nil {
		return nil, err
	}
	e.tabs.join(c.tab, client)
	p.DebugCaller = c.caller
	var s protocol.DebugState
	if err := c.ask(ctx, protocol.MethodDebugRun, p, &s, ms(p.WaitMs)); err != nil {
		return nil, c.explain(ctx, err)
	}
	out := c.state(ctx, &s, 0)
	if p.Kind == "pause" && out.State == "running" {
		out.Notes = append(out.Notes, "Nothing ran that could be paused. The request stands: the next statement that runs pauses; debugger_state with wait_ms waits for it.")
	}
	return out, nil
}

// explain adds to a refusal how the last pause ended, when the agent does not know it yet.
func (c *debugCall) explain(ctx context.Context, refusal error) error {
	var s protocol.DebugState
	if !usererr.Is(refusal) || c.ask(ctx, protocol.MethodDebugState, protocol.DebugStateParams{DebugCaller: c.caller}, &s, 0) != nil {
		return refusal
	}
	if notes := c.endings(&s); len(notes) > 0 {
		return usererr.New(usererr.CodeOf(refusal), "%s %s", refusal.Error(), strings.Join(notes, " "))
	}
	return refusal
}

// DebuggerEvaluate answers debugger_evaluate.
func (e *Inspector) DebuggerEvaluate(ctx context.Context, client *checkpoint.Client, p EvaluateParams) (*DebuggerValue, error) {
	if !e.evaluate {
		return nil, usererr.New(usererr.SwitchedOff, "evaluating is off: a person can turn it on with evaluate = true under [debugger] in Tidemark's config.toml; variables_get reads variables without it")
	}
	if err := checkNumbers(p.Thread, p.Frame); err != nil {
		return nil, err
	}
	if strings.TrimSpace(p.Expression) == "" {
		return nil, usererr.Invalid("expression is empty")
	}
	c, err := e.debug(ctx, client, p.Tab)
	if err != nil {
		return nil, err
	}
	var v protocol.DebugValue
	if err := c.ask(ctx, protocol.MethodDebugEvaluate, protocol.DebugEvaluateParams{DebugCaller: c.caller, Thread: p.Thread, Frame: p.Frame, Expression: p.Expression}, &v, 0); err != nil {
		return nil, c.explain(ctx, err)
	}
	return &DebuggerValue{Type: v.Type, Value: v.Value, Threw: v.Threw, Masked: v.Masked}, nil
}

// state is what an agent is told of a tab's state; of all threads, or of one.
func (c *debugCall) state(ctx context.Context, s *protocol.DebugState, only int) *DebuggerState {
	out := &DebuggerState{Tab: c.tab, State: "running", Threads: []ThreadState{}}
	for _, t := range s.Threads {
		if only != 0 && t.ID != only {
			continue
		}
		line := ThreadState{Thread: t.ID, Kind: t.Kind, URL: t.URL, State: "running"}
		if p := t.Paused; p != nil {
			out.State, line.State = "paused", "paused"
			line.Reason, line.Breakpoints, line.Exception = p.Reason, p.Hit, p.Text
			if p.By != c.caller.By {
				line.By = p.By
			}
			since := diff.Time{Time: time.UnixMilli(p.At)}
			line.Since = &since
			line.Stack, line.MoreFrames = c.stack(ctx, p.Frames), p.More
		}
		out.Threads = append(out.Threads, line)
	}
	out.Notes = append(c.endings(s), c.others()...)
	for _, f := range s.Failed {
		out.Notes = append(out.Notes, fmt.Sprintf("The condition of %s threw at %d hit(s), which did not pause: %s.", f.ID, f.Count, strings.TrimSuffix(f.Error, ".")))
	}
	return out
}

// endings are how pauses ended that the agent did not end itself, and has not been told of.
func (c *debugCall) endings(s *protocol.DebugState) []string {
	var told int64
	c.e.tabs.with(c.tab, func(t *debugTab) { told = t.told[c.client] })
	newest := told
	var notes []string
	for _, t := range slices.Concat(s.Threads, s.Gone) {
		r := t.Resumed
		if r == nil || r.At <= told {
			continue
		}
		newest = max(newest, r.At)
		why := endedBy(r.How, c.e.release)
		if r.How == protocol.ResumedGone && t.Kind != protocol.ThreadPage {
			why = "the " + strings.ReplaceAll(t.Kind, "_", " ") + " was ended"
		}
		if why != "" {
			notes = append(notes, fmt.Sprintf("The pause of thread %d ended at %s: %s.", t.ID, diff.Time{Time: time.UnixMilli(r.At)}, why))
		}
	}
	if s.Ended != "" && s.EndedAt > told {
		newest = max(newest, s.EndedAt)
		notes = append(notes, fmt.Sprintf("Debugging ended at %s: %s; its breakpoints are gone.", diff.Time{Time: time.UnixMilli(s.EndedAt)}, s.Ended))
	}
	c.e.tabs.with(c.tab, func(t *debugTab) {
		t.told[c.client] = newest
		if !s.Active {
			t.breakpoints = nil // they are gone with the session: set again, they would attach anew unasked
		}
	})
	return notes
}

// endedBy says in words how a pause ended, "" when an agent ended it.
func endedBy(how string, release time.Duration) string {
	switch how {
	case protocol.ResumedPerson:
		return "the person at the browser resumed it"
	case protocol.ResumedTime:
		return fmt.Sprintf("nobody resumed it for %s, and a page must not hang", release)
	case protocol.ResumedDebugger:
		return "another debugger, such as DevTools, resumed it"
	case protocol.ResumedGone:
		return "the tab went to another page or was closed"
	case protocol.ResumedHost:
		return "Tidemark was restarted"
	case protocol.ResumedLeft:
		return "the agent that had paused it has left"
	case protocol.ResumedWorker:
		return "the browser restarted the extension; breakpoints are set again"
	}
	return ""
}

// others says who else debugs the tab.
func (c *debugCall) others() []string {
	var clients []*checkpoint.Client
	c.e.tabs.with(c.tab, func(t *debugTab) {
		for other := range t.told {
			if other != c.client {
				clients = append(clients, other)
			}
		}
	})
	var names []string
	for _, other := range clients {
		names = append(names, c.e.clientName(other))
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{fmt.Sprintf("Also debugged by %s: what one of you pauses or resumes, the other sees.", strings.Join(names, ", "))}
}

// stack is a stack with original places and names.
func (c *debugCall) stack(ctx context.Context, frames []protocol.DebugFrame) []StackFrame {
	maps := c.maps(ctx, mapsWait)
	var out []StackFrame
	n := 0
	for _, f := range frames {
		at := maps.place(f.URL, f.Line, f.Column)
		line := StackFrame{Function: maps.function(f), Source: at.source, Generated: at.generated, Script: at.script, Async: f.Async}
		if f.Async != "" || n < 0 {
			n = -1 // from here on they are no longer on the stack
		} else {
			at := n
			line.Frame = &at
			n++
		}
		out = append(out, line)
	}
	return out
}

// departure is a debugged tab that a client has left.
type departure struct {
	tab         int
	breakpoints []string
}

// Forget ends what a client that has left debugged: all of it where it was alone, else what was its own. It
// does not wait for the browsers.
func (e *Inspector) Forget(client *checkpoint.Client) {
	if e.remote == nil {
		return
	}
	caller := protocol.DebugCaller{By: client.Name, ReleaseMs: int(e.release.Milliseconds())}
	for _, left := range e.tabs.leave(client, &caller) {
		go e.endDebugging(left, caller) // ends within debugTimeout
	}
}

// leave drops a client, whose number it puts into the caller.
func (d *debugTabs) leave(client *checkpoint.Client, caller *protocol.DebugCaller) (left []departure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	caller.Client = d.numbers[client]
	delete(d.numbers, client)
	for id, t := range d.tabs {
		if _, known := t.told[client]; !known {
			continue
		}
		delete(t.told, client)
		gone := departure{tab: id}
		t.breakpoints = slices.DeleteFunc(t.breakpoints, func(b *breakpoint) bool {
			if b.client == client {
				gone.breakpoints = append(gone.breakpoints, b.ID)
			}
			return b.client == client
		})
		if len(t.told) == 0 {
			delete(d.tabs, id)
		}
		left = append(left, gone)
	}
	return left
}

// endDebugging tells a tab's browser that a client has left. What it paused alone is released, also while another
// client debugs the tab. A browser that is gone has nothing to end.
func (e *Inspector) endDebugging(left departure, caller protocol.DebugCaller) {
	instance, tab, ok := e.store.BrowserTab(left.tab)
	if !ok {
		return
	}
	caller.Tab = tab
	ctx, cancel := context.WithTimeout(context.Background(), debugTimeout)
	defer cancel()
	e.tabs.mu.Lock()
	t := e.tabs.tabs[left.tab]
	shared := t != nil && len(t.told) > 0
	e.tabs.mu.Unlock()
	var answer struct{}
	if !shared {
		_ = e.remote.Debug(ctx, instance, protocol.MethodDebugEnd, caller, &answer, debugTimeout)
		return
	}
	err := e.remote.Debug(ctx, instance, protocol.MethodDebugLeave, caller, &answer, debugTimeout)
	var coded *protocol.Error
	if !errors.As(err, &coded) || coded.Code != protocol.CodeUnknown {
		return
	}
	for _, id := range left.breakpoints { // an older extension knows of breakpoints alone
		_ = e.remote.Debug(ctx, instance, protocol.MethodDebugRemove, protocol.DebugRemoveParams{DebugCaller: caller, ID: id}, &answer, debugTimeout)
	}
}
