package observe

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Tools are the tools that compare and name moments.
var Tools = []*tool.Tool[*Observer]{
	tool.New("get_changes_since", (*Observer).Changes),
	tool.New("checkpoint_create", (*Observer).CheckpointCreate),
	tool.New("checkpoint_list", func(e *Observer, _ context.Context, c *checkpoint.Client, _ struct{}) (*CheckpointList, error) {
		return e.CheckpointList(c), nil
	}),
	tool.New("checkpoint_delete", (*Observer).CheckpointDelete),
}

// RawTools are the tools that read entries as they were captured.
var RawTools = []*tool.Tool[*Observer]{
	tool.New("get_browser_logs", (*Observer).Logs),
	tool.New("get_network_bodies", func(e *Observer, _ context.Context, c *checkpoint.Client, p NetworkParams) (*Listing[NetworkEntry], error) {
		return e.Network(c, p)
	}),
	tool.New("get_websocket_events", func(e *Observer, _ context.Context, c *checkpoint.Client, p SocketParams) (*Listing[SocketEntry], error) {
		return e.Sockets(c, p)
	}),
	tool.New("get_enhanced_actions", func(e *Observer, _ context.Context, c *checkpoint.Client, p ActionsParams) (*Listing[ActionEntry], error) {
		return e.Actions(c, p)
	}),
}
