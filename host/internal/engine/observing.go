package engine

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/noiserules"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/host/internal/tool"
)

// observing are the tools that look.
var observing = []*Tool{
	tool.New("get_changes_since", func(ctx context.Context, e *Engine, c *checkpoint.Client, p observe.ChangesParams) (*diff.Report, error) {
		return e.Changes(ctx, c, p)
	}),
	tool.New("checkpoint_create", func(ctx context.Context, e *Engine, c *checkpoint.Client, p observe.CheckpointParams) (*observe.CheckpointCreated, error) {
		return e.CheckpointCreate(ctx, c, p)
	}),
	tool.New("checkpoint_list", func(_ context.Context, e *Engine, c *checkpoint.Client, _ struct{}) (*observe.CheckpointList, error) {
		return e.CheckpointList(c), nil
	}),
	tool.New("checkpoint_delete", func(ctx context.Context, e *Engine, c *checkpoint.Client, p observe.CheckpointDeleteParams) (*observe.CheckpointDeleted, error) {
		return e.CheckpointDelete(ctx, c, p)
	}),
	tool.New("configure_noise", func(ctx context.Context, e *Engine, c *checkpoint.Client, p noiserules.NoiseParams) (*noiserules.NoiseAnswer, error) {
		return e.ConfigureNoise(ctx, c, p)
	}),
	tool.New("get_browser_logs", func(ctx context.Context, e *Engine, c *checkpoint.Client, p observe.LogsParams) (*observe.Page[observe.LogEntry], error) {
		return e.Logs(ctx, c, p)
	}),
	tool.New("get_network_bodies", func(_ context.Context, e *Engine, c *checkpoint.Client, p observe.NetworkParams) (*observe.Page[observe.NetworkEntry], error) {
		return e.Network(c, p)
	}),
	tool.New("get_websocket_events", func(_ context.Context, e *Engine, c *checkpoint.Client, p observe.SocketParams) (*observe.Page[observe.SocketEntry], error) {
		return e.Sockets(c, p)
	}),
	tool.New("get_enhanced_actions", func(_ context.Context, e *Engine, c *checkpoint.Client, p observe.ActionsParams) (*observe.Page[observe.ActionEntry], error) {
		return e.Actions(c, p)
	}),
	tool.New("browser_snapshot", func(ctx context.Context, e *Engine, c *checkpoint.Client, p pages.SnapshotParams) (*pages.Snapshot, error) {
		return e.Snapshot(ctx, c, p)
	}),
	tool.New("browser_tabs", func(ctx context.Context, e *Engine, c *checkpoint.Client, p pages.TabsParams) (*pages.TabList, error) {
		return e.BrowserTabs(ctx, c, p)
	}),
}
