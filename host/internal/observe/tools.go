package observe

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Tools compare and name moments.
var Tools = []*tool.Tool[*Observer]{
	tool.New("get_changes_since", (*Observer).Changes),
	tool.New("checkpoint_create", (*Observer).CheckpointCreate),
	tool.New("checkpoint_list", func(o *Observer, _ context.Context, c *checkpoint.Client, _ struct{}) (*CheckpointList, error) {
		return o.CheckpointList(c), nil
	}),
	tool.New("checkpoint_delete", (*Observer).CheckpointDelete),
}

// RawTools read raw entries.
var RawTools = []*tool.Tool[*Observer]{
	tool.New("get_browser_logs", (*Observer).Logs),
	tool.New("get_network_bodies", func(o *Observer, _ context.Context, c *checkpoint.Client, p NetworkParams) (*Listing[NetworkEntry], error) {
		return o.Network(c, p)
	}),
	tool.New("get_websocket_events", func(o *Observer, _ context.Context, c *checkpoint.Client, p SocketParams) (*Listing[SocketEntry], error) {
		return o.Sockets(c, p)
	}),
	tool.New("get_enhanced_actions", func(o *Observer, _ context.Context, c *checkpoint.Client, p ActionsParams) (*Listing[ActionEntry], error) {
		return o.Actions(c, p)
	}),
}
