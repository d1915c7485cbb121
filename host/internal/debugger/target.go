package debugger

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/protocol"
)

// Target is a program that agents debug. It sets breakpoints, moves threads, reads variables and records hits where the
// program runs. The inspector does the rest, for all targets alike.
//
// Parameters name the client; the target fills in what identifies itself. Errors are for the agent. A call ends with its
// ctx, or after the time that it asks to wait plus a bound of the target.
type Target interface {
	// ID identifies the target while it exists, such as "tab:3".
	ID() string
	// Name names it in answers, such as "tab 3".
	Name() string
	// Tab is the number of a tab, 0 for another target.
	Tab() int
	// Subject is what events about it are about.
	Subject() event.Subject
	// Open reports whether it still exists.
	Open() bool
	// Code finds the source files of the code that it runs now. Nil means that its scripts are the source files.
	Code() Code

	// State returns its threads. It does not start debugging.
	State(ctx context.Context, p protocol.DebugStateParams) (*protocol.DebugState, error)
	// Scripts returns the code that it has loaded. It starts debugging, as the methods below do.
	Scripts(ctx context.Context, caller protocol.DebugCaller) (*protocol.DebugScripts, error)
	// SetBreakpoint sets a breakpoint, or moves the one with the same id.
	SetBreakpoint(ctx context.Context, p protocol.DebugBreakpointParams) (*protocol.DebugPlaced, error)
	RemoveBreakpoint(ctx context.Context, p protocol.DebugRemoveParams) error
	// Run pauses, resumes or steps a thread and returns the new state.
	Run(ctx context.Context, p protocol.DebugRunParams) (*protocol.DebugState, error)
	Evaluate(ctx context.Context, p protocol.DebugEvaluateParams) (*protocol.DebugValue, error)
	// Variables reads the variables of a paused frame. It runs no code of the program.
	Variables(ctx context.Context, p protocol.DebugVariablesParams) (*protocol.DebugVariables, error)
	// Trace sets a tracepoint, or returns what the one with the same id recorded.
	Trace(ctx context.Context, p protocol.DebugTraceParams) (*protocol.DebugTraced, error)
	// Leave ends debugging for a client that disconnected. If it was the last one, debugging ends: all threads resume and
	// all breakpoints are removed. Else only the client's pauses end and only its breakpoints are removed.
	Leave(ctx context.Context, caller protocol.DebugCaller, last bool, breakpoints []string) error
}

// Code finds the source files of the code that a target runs.
type Code interface {
	// Map returns the source map of a script, nil if it has none. It waits for a map that is being fetched until ctx ends.
	Map(ctx context.Context, script string) *sourcemap.Map
	// Clean makes a name from a source map safe to show; "" if it cannot be shown.
	Clean(name string) string
	// Short returns the address of a script as answers show it.
	Short(script string) string
	// Generated reports whether a place that no map has is in generated code.
	Generated(script string, line, column int) bool
}

// Where names the target of a call. Embed it in the arguments of a tool.
type Where struct {
	// Tab is the number of a tab. 0 is the tab that the client used last.
	Tab int `json:"tab,omitempty"`
}

// Provider finds targets of one kind.
type Provider interface {
	// Find returns the target of a client's call, or nil if the call names none of this kind.
	Find(ctx context.Context, client *checkpoint.Client, at Where) (Target, error)
}

// target returns the target of a client's call: a tab, unless the call names another target.
func (i *Inspector) target(ctx context.Context, client *checkpoint.Client, at Where) (Target, error) {
	for _, p := range i.others {
		if t, err := p.Find(ctx, client, at); t != nil || err != nil {
			return t, err
		}
	}
	return i.tabs.Find(ctx, client, at)
}
