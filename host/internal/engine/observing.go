package engine

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/tool"
)

// observing are the tools that look.
var observing = []*Tool{
	tool.New("get_changes_since", (*Engine).Changes),
	tool.New("checkpoint_create", (*Engine).CheckpointCreate),
	tool.New("checkpoint_list", func(e *Engine, _ context.Context, c *checkpoint.Client, _ struct{}) (*observe.CheckpointList, error) {
		return e.CheckpointList(c), nil
	}),
	tool.New("checkpoint_delete", (*Engine).CheckpointDelete),
	tool.New("configure_noise", (*Engine).ConfigureNoise),
	tool.New("get_browser_logs", (*Engine).Logs),
	tool.New("get_network_bodies", func(e *Engine, _ context.Context, c *checkpoint.Client, p observe.NetworkParams) (*observe.Page[observe.NetworkEntry], error) {
		return e.Network(c, p)
	}),
	tool.New("get_websocket_events", func(e *Engine, _ context.Context, c *checkpoint.Client, p observe.SocketParams) (*observe.Page[observe.SocketEntry], error) {
		return e.Sockets(c, p)
	}),
	tool.New("get_enhanced_actions", func(e *Engine, _ context.Context, c *checkpoint.Client, p observe.ActionsParams) (*observe.Page[observe.ActionEntry], error) {
		return e.Actions(c, p)
	}),
	tool.New("browser_snapshot", (*Engine).Snapshot),
	tool.New("browser_tabs", (*Engine).BrowserTabs),
}
