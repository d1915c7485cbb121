// Package debugger lets agents debug pages: breakpoints, stepping, variables, variable snapshots, tracepoints.
//
// It guarantees: a pause ends when its owner disconnects or its time is up; reading variables does not run the page's
// code; a breakpoint belongs to one agent; places are in the project's files, or marked as generated.
package debugger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Limits of debugging.
const (
	// DefaultRelease is the time after which a pause ends automatically.
	DefaultRelease = 5 * time.Minute
	// stepWait is how long a call waits for a step or a pause before it answers that the thread is running.
	stepWait = 3 * time.Second
	maxWait  = 60 * time.Second
	// mapsWait is how long a call waits for source maps that are being fetched.
	mapsWait = 4 * time.Second
	// leaveTimeout bounds the notification of a target that a client left.
	leaveTimeout = 10 * time.Second
)

// debugCall is one call of a debugging tool by a client.
type debugCall struct {
	inspector *Inspector
	client    *checkpoint.Client
	target    Target
	caller    protocol.DebugCaller
}

// debug begins a call.
func (i *Inspector) debug(ctx context.Context, client *checkpoint.Client, at Where) (*debugCall, error) {
	target, err := i.target(ctx, client, at)
	if err != nil {
		return nil, err
	}
	return &debugCall{i, client, target, protocol.DebugCaller{
		By: i.clientName(client), Client: i.sessions.number(client), ReleaseMs: int(i.release.Milliseconds()), Evaluate: i.evaluate,
	}}, nil
}

// threads returns the current state of the target.
func (c *debugCall) threads(ctx context.Context) (*protocol.DebugState, error) {
	return c.target.State(ctx, protocol.DebugStateParams{DebugCaller: c.caller})
}

// clientName returns the name of a client.
func (i *Inspector) clientName(client *checkpoint.Client) string {
	return cmp.Or(i.clients.NameOf(client), "an agent")
}

// DebuggerState is the answer of debugger_state and of the tools that move a thread.
type DebuggerState struct {
	Tab int `json:"tab"`
	// State is running or paused.
	State   string        `json:"state"`
	Threads []ThreadState `json:"threads"`
	// Notes report other agents of the tab, and how pauses ended.
	Notes []string `json:"notes,omitempty"`
	tool.Quotes
}

// ThreadState is one thread.
type ThreadState struct {
	Thread int    `json:"thread"`
	Kind   string `json:"kind"`
	URL    string `json:"url"`
	State  string `json:"state"`
	// Reason is why it is paused; By names who paused it, if that was not the calling agent.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	// Breakpoints are the breakpoints that were hit.
	Breakpoints []string     `json:"breakpoints,omitempty"`
	Exception   string       `json:"exception,omitempty"`
	Since       *report.Time `json:"since,omitempty"`
	Stack       []StackFrame `json:"stack,omitempty"`
	MoreFrames  int          `json:"more_frames,omitempty"`
	// Changed has the variables of the top frame: `i: 1 → 2` for one that changed since the last answer about a pause in
	// the function, `+ i = 1` for a new one. In the first answer about a function it has all: `i = 1`.
	Changed []string `json:"changed,omitempty"`
}

// StackFrame is one frame of a stack, the newest first.
type StackFrame struct {
	// Frame is its number, for tools that take one; absent for asynchronous callers.
	Frame    *int   `json:"frame,omitempty"`
	Function string `json:"function,omitempty"`
	// Source is file:line:column, in the project's file if a source map has it, else in the script.
	Source string `json:"source"`
	// Generated is true if Source is a place in generated code without a known original.
	Generated bool `json:"generated,omitempty"`
	// Script is the place in the script, if Source is in another file.
	Script string `json:"script,omitempty"`
	Async  string `json:"async,omitempty"`
	// Libraries is the number of successive frames in installed packages that the line stands for, from Frame on. Source names
	// the packages.
	Libraries int `json:"library_frames,omitempty"`
	library   bool
}

// StateParams are the arguments of debugger_state.
type StateParams struct {
	Thread int `json:"thread,omitempty"`
	WaitMs int `json:"wait_ms,omitempty"`
	// AllFrames lists each frame, with its place in the script.
	AllFrames bool `json:"all_frames,omitempty"`
	Where
}

// PauseParams are the arguments of debugger_pause.
type PauseParams struct {
	Thread     int    `json:"thread,omitempty"`
	Exceptions string `json:"exceptions,omitempty"`
	Where
}

// ResumeParams are the arguments of debugger_resume.
type ResumeParams struct {
	Thread int `json:"thread,omitempty"`
	WaitMs int `json:"wait_ms,omitempty"`
	Where
}

// StepParams are the arguments of debugger_step.
type StepParams struct {
	Kind   string `json:"kind"`
	Thread int    `json:"thread,omitempty"`
	Where
}

// EvaluateParams are the arguments of debugger_evaluate.
type EvaluateParams struct {
	Expression string `json:"expression"`
	Frame      int    `json:"frame,omitempty"`
	Thread     int    `json:"thread,omitempty"`
	Where
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

// checkNumbers rejects negative numbers of threads and frames.
func checkNumbers(thread, frame int) error {
	if thread < 0 || frame < 0 {
		return usererr.Invalid("threads count from 1, frames from 0")
	}
	return nil
}

var debuggerStateTool = tool.New(tool.Definition{
	Name: "debugger_state", Title: "Debugger state", Effect: tool.Reads,
	Description: "List threads (page, iframes, workers): running or paused, why, with the stack.",
	Arguments:   waitArgument + `"all_frames":{"type":"boolean","description":"list each frame of libraries"},` + threadArguments,
}, (*Inspector).DebuggerState)

// DebuggerState answers debugger_state.
func (i *Inspector) DebuggerState(ctx context.Context, client *checkpoint.Client, p StateParams) (*DebuggerState, error) {
	if err := errors.Join(checkWait(p.WaitMs), checkNumbers(p.Thread, 0)); err != nil {
		return nil, err
	}
	c, err := i.debug(ctx, client, p.Where)
	if err != nil {
		return nil, err
	}
	if p.WaitMs > 0 {
		i.sessions.join(c.target, client) // so that `debugger` statements pause while it waits
	}
	s, err := c.target.State(ctx, protocol.DebugStateParams{DebugCaller: c.caller, Thread: p.Thread, WaitMs: p.WaitMs})
	if err != nil {
		return nil, err
	}
	out := c.state(ctx, s, p.Thread)
	if !p.AllFrames {
		out.fold()
	}
	return out, nil
}

var debuggerPauseTool = tool.New(tool.Definition{
	Name: "debugger_pause", Title: "Pause", Effect: tool.Adds,
	Description: "Pause a thread now, or (exceptions) whenever an exception is thrown.",
	Arguments: `
		"exceptions":{"type":"string","enum":["none","uncaught","all"]},` + threadArguments,
}, (*Inspector).DebuggerPause)

// DebuggerPause answers debugger_pause.
func (i *Inspector) DebuggerPause(ctx context.Context, client *checkpoint.Client, p PauseParams) (*DebuggerState, error) {
	params := protocol.DebugRunParams{Thread: p.Thread, Kind: "pause", WaitMs: int(stepWait.Milliseconds())}
	switch p.Exceptions {
	case "":
	case "none", "uncaught", "all":
		params.Kind, params.Exceptions, params.WaitMs = "exceptions", p.Exceptions, 0
	default:
		return nil, usererr.Invalid("exceptions is %q; it must be none, uncaught or all", p.Exceptions)
	}
	return i.run(ctx, client, p.Where, params)
}

var debuggerResumeTool = tool.New(tool.Definition{
	Name: "debugger_resume", Title: "Resume", Effect: tool.Adds,
	Description: "Resume a paused thread.",
	Arguments:   waitArgument + threadArguments,
}, (*Inspector).DebuggerResume)

// DebuggerResume answers debugger_resume.
func (i *Inspector) DebuggerResume(ctx context.Context, client *checkpoint.Client, p ResumeParams) (*DebuggerState, error) {
	if err := checkWait(p.WaitMs); err != nil {
		return nil, err
	}
	return i.run(ctx, client, p.Where, protocol.DebugRunParams{Thread: p.Thread, Kind: "resume", WaitMs: p.WaitMs})
}

var debuggerStepTool = tool.New(tool.Definition{
	Name: "debugger_step", Title: "Step", Effect: tool.Adds,
	Description: "Step a paused thread and return its new position.",
	Arguments: `
		"kind":{"type":"string","enum":["over","into","out"]},` + threadArguments,
	Required: []string{"kind"},
}, (*Inspector).DebuggerStep)

// DebuggerStep answers debugger_step.
func (i *Inspector) DebuggerStep(ctx context.Context, client *checkpoint.Client, p StepParams) (*DebuggerState, error) {
	if !slices.Contains([]string{"over", "into", "out"}, p.Kind) {
		return nil, usererr.Invalid("kind is %q; it must be over, into or out", p.Kind)
	}
	return i.run(ctx, client, p.Where, protocol.DebugRunParams{Thread: p.Thread, Kind: p.Kind, WaitMs: int(stepWait.Milliseconds())})
}

// run resumes, pauses or steps a thread and returns its new state.
func (i *Inspector) run(ctx context.Context, client *checkpoint.Client, at Where, p protocol.DebugRunParams) (*DebuggerState, error) {
	if err := checkNumbers(p.Thread, 0); err != nil {
		return nil, err
	}
	c, err := i.debug(ctx, client, at)
	if err != nil {
		return nil, err
	}
	i.sessions.join(c.target, client)
	p.DebugCaller = c.caller
	s, err := c.target.Run(ctx, p)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	out := c.state(ctx, s, 0)
	out.fold()
	switch {
	case out.State != "running":
	case p.Kind == "pause":
		out.Notes = append(out.Notes, "No code ran to pause. The next statement that runs will pause; debugger_state with wait_ms waits for it.")
	case p.Kind != "resume":
		out.Notes = append(out.Notes, fmt.Sprintf("The step ended: it paused nothing within %s. Set a breakpoint where the page continues.", stepWait))
	}
	return out, nil
}

// explain adds to an error how the last pause ended, if the agent does not know it yet.
func (c *debugCall) explain(ctx context.Context, refusal error) error {
	if !usererr.Is(refusal) {
		return refusal
	}
	s, err := c.threads(ctx)
	if err != nil {
		return refusal
	}
	if notes := c.endings(s); len(notes) > 0 {
		return usererr.New(usererr.CodeOf(refusal), "%s %s", refusal.Error(), strings.Join(notes, " "))
	}
	return refusal
}

var debuggerEvaluateTool = tool.New(tool.Definition{
	Name: "debugger_evaluate", Title: "Evaluate", Effect: tool.Adds,
	Description: "Evaluate an expression in a paused frame. Off until the user allows it.",
	Arguments: `
		"expression":{"type":"string"},
		"frame":{"type":"integer","minimum":0,"description":"default 0: top"},` + threadArguments,
	Required: []string{"expression"},
}, (*Inspector).DebuggerEvaluate)

// DebuggerEvaluate answers debugger_evaluate.
func (i *Inspector) DebuggerEvaluate(ctx context.Context, client *checkpoint.Client, p EvaluateParams) (*DebuggerValue, error) {
	if !i.evaluate {
		return nil, usererr.New(usererr.SwitchedOff, "evaluating is off. A user can turn it on in Tidemark's config.toml with evaluate = true under [debugger]. variables_get reads variables without it")
	}
	if err := checkNumbers(p.Thread, p.Frame); err != nil {
		return nil, err
	}
	if strings.TrimSpace(p.Expression) == "" {
		return nil, usererr.Invalid("expression is empty")
	}
	c, err := i.debug(ctx, client, p.Where)
	if err != nil {
		return nil, err
	}
	v, err := c.target.Evaluate(ctx, protocol.DebugEvaluateParams{DebugCaller: c.caller, Thread: p.Thread, Frame: p.Frame, Expression: p.Expression})
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	return &DebuggerValue{Type: v.Type, Value: v.Value, Threw: v.Threw, Masked: v.Masked}, nil
}

// state converts the state of a target to an answer, for all threads or for one.
func (c *debugCall) state(ctx context.Context, s *protocol.DebugState, only int) *DebuggerState {
	out := &DebuggerState{Tab: c.target.Tab(), State: "running", Threads: []ThreadState{}}
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
			since := report.Time{Time: time.UnixMilli(p.At)}
			line.Since = &since
			line.Stack, line.MoreFrames, line.Changed = c.stack(ctx, p.Frames), p.More, c.changed(ctx, &t)
		}
		out.Threads = append(out.Threads, line)
	}
	out.Notes = append(c.endings(s), c.others()...)
	for _, f := range s.Failed {
		out.Notes = append(out.Notes, fmt.Sprintf("The condition of %s failed on %d hit(s), which did not pause: %s.", f.ID, f.Count, strings.TrimSuffix(f.Error, ".")))
	}
	return out
}

// fold shortens the stacks.
func (s *DebuggerState) fold() {
	for i := range s.Threads {
		t := &s.Threads[i]
		var more int
		t.Stack, more = folded(t.Stack)
		t.MoreFrames += more
	}
}

// endings describes how pauses ended that the agent did not end, and marks them as seen.
func (c *debugCall) endings(state *protocol.DebugState) []string {
	var seen int64
	c.inspector.sessions.with(c.target, func(s *session) { seen = s.seen[c.client] })
	newest := seen
	var notes []string
	for _, t := range slices.Concat(state.Threads, state.Gone) {
		r := t.Resumed
		if r == nil || r.At <= seen {
			continue
		}
		newest = max(newest, r.At)
		why := endedBy(r.How, c.inspector.release)
		if r.How == protocol.ResumedGone && t.Kind != protocol.ThreadPage {
			why = "the " + strings.ReplaceAll(t.Kind, "_", " ") + " ended"
		}
		if why != "" {
			notes = append(notes, fmt.Sprintf("The pause of thread %d ended at %s: %s.", t.ID, report.Time{Time: time.UnixMilli(r.At)}, why))
		}
	}
	if state.Ended != "" && state.EndedAt > seen {
		newest = max(newest, state.EndedAt)
		notes = append(notes, fmt.Sprintf("Debugging ended at %s: %s. Its breakpoints were removed.", report.Time{Time: time.UnixMilli(state.EndedAt)}, state.Ended))
	}
	c.inspector.sessions.with(c.target, func(s *session) {
		s.seen[c.client] = newest
		if !state.Active {
			s.breakpoints = nil // the session removed them; setting them again would attach the debugger unasked
		}
	})
	return notes
}

// endedBy describes how a pause ended; "" if an agent ended it.
func endedBy(how string, release time.Duration) string {
	switch how {
	case protocol.ResumedPerson:
		return "the user resumed it"
	case protocol.ResumedTime:
		return fmt.Sprintf("no one resumed it within %s, so Tidemark did", release)
	case protocol.ResumedDebugger:
		return "another debugger, such as DevTools, resumed it"
	case protocol.ResumedGone:
		return "the tab navigated or closed"
	case protocol.ResumedHost:
		return "Tidemark restarted"
	case protocol.ResumedLeft:
		return "the agent that paused it disconnected"
	case protocol.ResumedWorker:
		return "the browser restarted the extension; breakpoints were restored"
	}
	return ""
}

// others returns a note that names the other agents of the target.
func (c *debugCall) others() []string {
	var clients []*checkpoint.Client
	c.inspector.sessions.with(c.target, func(s *session) {
		for other := range s.seen {
			if other != c.client {
				clients = append(clients, other)
			}
		}
	})
	var names []string
	for _, other := range clients {
		names = append(names, c.inspector.clientName(other))
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{fmt.Sprintf("Also debugged by %s: pausing and resuming affect all of you.", strings.Join(names, ", "))}
}

// stack converts frames to frames with original places and names.
func (c *debugCall) stack(ctx context.Context, frames []protocol.DebugFrame) []StackFrame {
	maps := c.maps(ctx, mapsWait)
	var out []StackFrame
	n := 0
	for _, f := range frames {
		at := maps.place(f.URL, f.Line, f.Column)
		line := StackFrame{Function: maps.function(f), Source: at.source, Generated: at.generated, Script: at.script, Async: f.Async, library: at.library}
		if f.Async != "" || n < 0 {
			n = -1 // the frames from here on are asynchronous callers
		} else {
			at := n
			line.Frame = &at
			n++
		}
		out = append(out, line)
	}
	return out
}
