package engine

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
)

// observing are the tools that look.
var observing = []*Tool{
	NewTool("get_changes_since", func(ctx context.Context, e *Engine, c *checkpoint.Client, p ChangesParams) (*diff.Report, error) {
		return e.Changes(ctx, c, p)
	}),
	NewTool("checkpoint_create", func(ctx context.Context, e *Engine, c *checkpoint.Client, p CheckpointParams) (*CheckpointCreated, error) {
		return e.CheckpointCreate(ctx, c, p)
	}),
	NewTool("checkpoint_list", func(_ context.Context, e *Engine, c *checkpoint.Client, _ struct{}) (*CheckpointList, error) {
		return e.CheckpointList(c), nil
	}),
	NewTool("checkpoint_delete", func(ctx context.Context, e *Engine, c *checkpoint.Client, p CheckpointDeleteParams) (*CheckpointDeleted, error) {
		return e.CheckpointDelete(ctx, c, p)
	}),
	NewTool("configure_noise", func(ctx context.Context, e *Engine, c *checkpoint.Client, p NoiseParams) (*NoiseAnswer, error) {
		return e.ConfigureNoise(ctx, c, p)
	}),
	NewTool("get_browser_logs", func(ctx context.Context, e *Engine, c *checkpoint.Client, p LogsParams) (*Page[LogEntry], error) {
		return e.Logs(ctx, c, p)
	}),
	NewTool("get_network_bodies", func(_ context.Context, e *Engine, c *checkpoint.Client, p NetworkParams) (*Page[NetworkEntry], error) {
		return e.Network(c, p)
	}),
	NewTool("get_websocket_events", func(_ context.Context, e *Engine, c *checkpoint.Client, p SocketParams) (*Page[SocketEntry], error) {
		return e.Sockets(c, p)
	}),
	NewTool("get_enhanced_actions", func(_ context.Context, e *Engine, c *checkpoint.Client, p ActionsParams) (*Page[ActionEntry], error) {
		return e.Actions(c, p)
	}),
	NewTool("browser_snapshot", func(ctx context.Context, e *Engine, c *checkpoint.Client, p SnapshotParams) (*Snapshot, error) {
		return e.Snapshot(ctx, c, p)
	}),
	NewTool("browser_tabs", func(ctx context.Context, e *Engine, c *checkpoint.Client, p TabsParams) (*TabList, error) {
		return e.BrowserTabs(ctx, c, p)
	}),
}
