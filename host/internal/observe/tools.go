package observe

import "tidemark.dev/tidemark/host/internal/tool"

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

// paging are the arguments of every raw read. They are brief: an agent pays for them once for each tool.
const paging = `
		"after":{"type":"integer","description":"next of the last answer; default: newest"},
		"limit":{"type":"integer","maximum":1000},
		"tab":{"type":"integer"},
		"max_tokens":{"type":"integer","minimum":100},
		"format":{"type":"string","enum":["lines","json"]}`
