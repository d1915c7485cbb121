package debugger

import "tidemark.dev/tidemark/host/internal/tool"

// Tools are the debugging tools.
var Tools = []*tool.Tool[*Inspector]{
	breakpointSetTool,
	breakpointListTool,
	breakpointRemoveTool,
	debuggerPauseTool,
	debuggerResumeTool,
	debuggerStepTool,
	debuggerStateTool,
	debuggerEvaluateTool,
	variablesGetTool,
	snapshotCreateTool,
	snapshotDiffTool,
	snapshotListTool,
	snapshotDeleteTool,
	snapshotClearTool,
	snapshotTraceTool,
}

// Arguments that several tools take.
const (
	tabArgument      = `"tab":{"type":"integer"}`
	threadArguments  = `"thread":{"type":"integer"},` + tabArgument
	captureArguments = `"depth":{"type":"integer","minimum":0,"description":"levels of fields, default 0"},
		"frame":{"type":"integer","minimum":0},
		"scopes":{"type":"array","items":{"type":"string","enum":["local","argument","this","block","closure","module"]},"description":"default: first four"},`
	waitArgument = `"wait_ms":{"type":"integer","description":"wait for the next pause"},`
)
