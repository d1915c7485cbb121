package debugger

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Tools are the tools that hold a page and look into its running code.
var Tools = []*tool.Tool[*Inspector]{
	tool.New("breakpoint_set", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p BreakpointParams) (*BreakpointLine, error) {
		return e.BreakpointSet(ctx, c, p)
	}),
	tool.New("breakpoint_list", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p BreakpointListParams) (*BreakpointList, error) {
		return e.BreakpointList(ctx, c, p)
	}),
	tool.New("breakpoint_remove", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p BreakpointRemoveParams) (*BreakpointList, error) {
		return e.BreakpointRemove(ctx, c, p)
	}),
	tool.New("debugger_pause", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p PauseParams) (*DebuggerState, error) {
		return e.DebuggerPause(ctx, c, p)
	}),
	tool.New("debugger_resume", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p ResumeParams) (*DebuggerState, error) {
		return e.DebuggerResume(ctx, c, p)
	}),
	tool.New("debugger_step", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p StepParams) (*DebuggerState, error) {
		return e.DebuggerStep(ctx, c, p)
	}),
	tool.New("debugger_state", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p StateParams) (*DebuggerState, error) {
		return e.DebuggerState(ctx, c, p)
	}),
	tool.New("debugger_evaluate", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p EvaluateParams) (*DebuggerValue, error) {
		return e.DebuggerEvaluate(ctx, c, p)
	}),
	tool.New("variables_get", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p VariablesParams) (*Variables, error) {
		return e.VariablesGet(ctx, c, p)
	}),
	tool.New("snapshot_create", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p VariableSnapshotParams) (*VariableSnapshot, error) {
		return e.SnapshotCreate(ctx, c, p)
	}),
	tool.New("snapshot_diff", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p VariableDiffParams) (*VariableDiff, error) {
		return e.SnapshotDiff(ctx, c, p)
	}),
	tool.New("snapshot_list", func(ctx context.Context, e *Inspector, c *checkpoint.Client, _ struct{}) (*VariableSnapshotList, error) {
		return e.SnapshotList(ctx, c), nil
	}),
	tool.New("snapshot_delete", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p VariableSnapshotParam) (*VariableSnapshotsGone, error) {
		return e.SnapshotDelete(ctx, c, p)
	}),
	tool.New("snapshot_clear", func(ctx context.Context, e *Inspector, c *checkpoint.Client, _ struct{}) (*VariableSnapshotsGone, error) {
		return e.SnapshotClear(ctx, c), nil
	}),
	tool.New("snapshot_trace", func(ctx context.Context, e *Inspector, c *checkpoint.Client, p TraceParams) (*Trace, error) {
		return e.SnapshotTrace(ctx, c, p)
	}),
}
