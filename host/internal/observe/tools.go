package observe

import (
	"context"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Tools compare and name moments.
var Tools = []*tool.Tool[*Observer]{
	getChangesSinceTool,
	checkpointCreateTool,
	checkpointListTool,
	checkpointDeleteTool,
}

// RawTools read raw entries.
var RawTools = []*tool.Tool[*Observer]{
	getBrowserLogsTool,
	getNetworkRequestsTool,
	getNetworkBodiesTool,
	getWebsocketEventsTool,
	getEnhancedActionsTool,
}

// newRawTool returns the tool of a raw read.
func newRawTool[P, A any](d tool.Definition, read func(context.Context, *Observer, *checkpoint.Client, P) (*A, error)) *tool.Tool[*Observer] {
	return tool.New(d, func(o *Observer, ctx context.Context, client *checkpoint.Client, p P) (*A, error) {
		return read(ctx, o, client, p)
	})
}

// paging are the arguments of every raw read. They are brief: an agent pays for them once for each tool.
const paging = `
		"after":{"type":"integer","description":"next of the last answer"},
		"limit":{"type":"integer"},
		"tab":{"type":"integer"},
		"max_tokens":{"type":"integer"},
		"format":{"type":"string","enum":["lines","json"]}`
