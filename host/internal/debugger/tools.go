package debugger

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Tools are the debugging tools.
var Tools = []*tool.Tool[*Inspector]{
	tool.New("breakpoint_set", (*Inspector).BreakpointSet),
	tool.New("breakpoint_list", (*Inspector).BreakpointList),
	tool.New("breakpoint_remove", (*Inspector).BreakpointRemove),
	tool.New("debugger_pause", (*Inspector).DebuggerPause),
	tool.New("debugger_resume", (*Inspector).DebuggerResume),
	tool.New("debugger_step", (*Inspector).DebuggerStep),
	tool.New("debugger_state", (*Inspector).DebuggerState),
	tool.New("debugger_evaluate", (*Inspector).DebuggerEvaluate),
	tool.New("variables_get", (*Inspector).VariablesGet),
	tool.New("snapshot_create", (*Inspector).SnapshotCreate),
	tool.New("snapshot_diff", (*Inspector).SnapshotDiff),
	tool.New("snapshot_list", func(i *Inspector, ctx context.Context, c *checkpoint.Client, _ struct{}) (*VariableSnapshotList, error) {
		return i.SnapshotList(ctx, c), nil
	}),
	tool.New("snapshot_delete", (*Inspector).SnapshotDelete),
	tool.New("snapshot_clear", func(i *Inspector, ctx context.Context, c *checkpoint.Client, _ struct{}) (*VariableSnapshotsRemoved, error) {
		return i.SnapshotClear(ctx, c), nil
	}),
	tool.New("snapshot_trace", (*Inspector).SnapshotTrace),
}
