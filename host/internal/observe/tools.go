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
	getNetworkBodiesTool,
	getWebsocketEventsTool,
	getEnhancedActionsTool,
}

// paging are the arguments of every raw read.
const paging = `
		"after":{"type":"integer","minimum":0,"description":"position to continue from: next in the last answer; default: newest"},
		"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"default 100"},
		"tab":{"type":"integer"}`
